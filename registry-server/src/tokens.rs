//! The tokens of an account: made with rights on names, listed, ended. The API and the pages both come here.

use exo_index::visible::is_line;
use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row as _};

use crate::access::{self, Caller, LONGEST_TOKEN_DAYS, Right};
use crate::audit::Entry;
use crate::audit::action::Action;
use crate::chance;
use crate::database;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::limits::{self, Kind};
use crate::second_factor;
use crate::service::Service;

/// The longest name of a token, in bytes.
const LONGEST_NAME: usize = 100;

/// Tokens of one account, those that have expired lately among them.
const MOST: usize = 100;

/// A token that is asked for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NewToken {
    pub(crate) name: String,
    pub(crate) rights: Vec<String>,
    pub(crate) packs: Vec<String>,
    pub(crate) expires_days: i64,
}

/// A token that was made. Its text is known now and never again.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) expires: i64,
}

/// Makes a token.
///
/// # Errors
/// The caller may not make it, or it asks for something that there is not.
pub(crate) async fn make(service: &Service, caller: &Caller, new: NewToken) -> Result<Made, ApiError> {
    caller.must_be_session()?;
    if new.rights.is_empty() {
        return Err(ApiError::malformed("a token without a right is good for nothing: choose one"));
    }
    let mut rights = Vec::new();
    for word in &new.rights {
        let right = Right::parse(word).ok_or_else(|| ApiError::malformed(format!("`{word}` is no right")))?;
        rights.push(right);
    }
    if rights.contains(&Right::Admin) && !caller.administrator {
        return Err(ApiError::forbidden("only an administrator's token can have the right `admin`"));
    }
    if !(1..=LONGEST_TOKEN_DAYS).contains(&new.expires_days) {
        return Err(ApiError::malformed(format!("a token lasts 1 to {LONGEST_TOKEN_DAYS} days")));
    }
    if !is_line(&new.name, LONGEST_NAME) {
        return Err(ApiError::malformed(format!(
            "the name of a token is one line of at most {LONGEST_NAME} bytes, without characters that cannot be seen"
        )));
    }
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_@/*".contains(&byte);
    let sound =
        |glob: &String| (1..=100).contains(&glob.len()) && glob.bytes().all(letter) && glob.matches('*').count() <= 2;
    if new.packs.is_empty() || new.packs.len() > 50 || !new.packs.iter().all(sound) {
        return Err(ApiError::malformed("a token needs 1 to 50 globs of names, such as `*` or `@arm/*`"));
    }
    limits::of_account(&service.registry.rows, Kind::Tokens, &caller.login).await?;
    // Before a code is used up; and again when nobody else makes any.
    find_room(&list(service, caller).await?, &new.name)?;
    second_factor::prove(service, caller).await?;
    let mut turn = database::turn(&service.registry.rows).await?;
    caller.must_still_be_there(&mut turn).await?;
    if let Some(replaced) = find_room(&of_account(&mut turn, &caller.login).await?, &new.name)? {
        sqlx::query("DELETE FROM tokens WHERE id = $1").bind(replaced).execute(&mut *turn).await?;
    }
    let (id, token, expires) =
        access::issue(&mut turn, &caller.login, &new.name, Some((&rights, &new.packs)), new.expires_days).await?;
    let entry = Entry::new(&caller.login, Action::Token, &new.name);
    let entry = entry.detail(format!("{id}: {} for {}", new.rights.join(" "), new.packs.join(" ")));
    entry.write(&mut turn).await?;
    turn.commit().await?;
    Ok(Made { id, token, expires })
}

/// Whether two names of tokens are one to whoever reads them.
fn are_alike(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.trim().to_lowercase();
    plain(one) == plain(other)
}

/// Whether an account may have a token of some name besides these; gives the id of one that has expired and makes room for it.
///
/// # Errors
/// One of the name is still good: which of the two a list means nobody could tell, and the wrong one would be ended. Or there are too many.
fn find_room(tokens: &[Listed], name: &str) -> Result<Option<String>, ApiError> {
    let namesake = tokens.iter().find(|token| are_alike(&token.name, name));
    if let Some(token) = namesake
        && token.expires > chance::now()?
    {
        return Err(ApiError::conflict(format!("the account has a token called `{}` already", token.name))
            .hint("choose another name, or end that one first"));
    }
    if namesake.is_none() && tokens.len() >= MOST {
        return Err(
            ApiError::conflict(format!("the account has {MOST} tokens already")).hint("end those that nobody uses")
        );
    }
    Ok(namesake.map(|token| token.id.clone()))
}

/// A token as its owner sees it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) rights: Vec<String>,
    pub(crate) packs: Vec<String>,
    pub(crate) created: i64,
    pub(crate) expires: i64,
}

/// The caller's tokens, without sessions.
///
/// # Errors
/// The caller is a token itself.
pub(crate) async fn list(service: &Service, caller: &Caller) -> Result<Vec<Listed>, ApiError> {
    caller.must_be_session()?;
    Ok(of_account(&mut *service.registry.rows.acquire().await?, &caller.login).await?)
}

/// The tokens of an account, without sessions.
async fn of_account(rows: &mut AnyConnection, login: &str) -> Result<Vec<Listed>, Failure> {
    let found = sqlx::query("SELECT id, name, rights, packs, created, expires FROM tokens WHERE login = $1 AND session = 0 ORDER BY created, id")
        .bind(login.to_owned())
        .fetch_all(rows)
        .await?;
    let mut tokens = Vec::new();
    for row in found {
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        tokens.push(Listed {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            rights: words(row.try_get("rights")?),
            packs: words(row.try_get("packs")?),
            created: row.try_get("created")?,
            expires: row.try_get("expires")?,
        });
    }
    Ok(tokens)
}

/// Ends one of the caller's tokens.
///
/// # Errors
/// The caller has no such token, or is a token itself.
pub(crate) async fn end(service: &Service, caller: &Caller, id: String) -> Result<(), ApiError> {
    caller.must_be_session()?;
    let mut rows = service.registry.rows.begin().await?;
    let ended = sqlx::query("DELETE FROM tokens WHERE id = $1 AND login = $2 RETURNING name")
        .bind(id.clone())
        .bind(caller.login.clone())
        .fetch_optional(&mut *rows)
        .await?;
    let ended =
        ended.ok_or_else(|| ApiError::absent("there is no such token of yours", "`/api/v1/tokens` lists them"))?;
    let name: String = ended.try_get("name")?;
    Entry::new(&caller.login, Action::TokenEnd, &name).detail(id).write(&mut rows).await?;
    Ok(rows.commit().await?)
}
