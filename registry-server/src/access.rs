//! Who asks, and what they may do: tokens, their rights, and the globs of names that they are good for.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use exo_index::name::PackName;
pub(crate) use exo_index::registry::rights::Right;
use sqlx::{AnyPool, Row as _};

use crate::chance;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::organisations::{self, Role};
use crate::request;
use crate::service::Service;

/// How long a session lasts, in seconds.
pub(crate) const SESSION_LIFE: i64 = 12 * 3600;

/// The longest life of a token, in days.
pub(crate) const LONGEST_TOKEN_DAYS: i64 = 365;

/// Whoever a valid token stands for.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) login: String,
    pub(crate) administrator: bool,
    pub(crate) token: String,
    pub(crate) session: bool,
    pub(crate) rights: Vec<Right>,
    pub(crate) packs: Vec<String>,
    pub(crate) expires: i64,
    /// A code of the account's second factor that came along with the request.
    pub(crate) proof: Option<String>,
}

impl Caller {
    /// Whether the token is good for a right on a pack.
    pub(crate) fn may(&self, right: Right, pack: &PackName) -> Result<(), ApiError> {
        if !self.session && !self.rights.contains(&right) {
            return Err(ApiError::forbidden(format!("the token lacks the right `{right}`")).hint(format!(
                "`exo token create NAME --right {right} --for {pack}` makes one that has it, after `exo login`"
            )));
        }
        if !self.session && !self.packs.iter().any(|glob| matches(glob, pack.as_str())) {
            return Err(ApiError::forbidden(format!("the token is not for `{pack}`")).hint(format!(
                "`exo token create NAME --right {right} --for {pack}` makes one that is, after `exo login`"
            )));
        }
        Ok(())
    }

    /// Whether this is a session, which alone may change the account.
    pub(crate) fn must_be_session(&self) -> Result<(), ApiError> {
        if self.session {
            Ok(())
        } else {
            Err(ApiError::forbidden("this needs a session, not a token").hint("log in with `exo login`"))
        }
    }

    /// Whether the session or token is still good, now that nobody else changes the account: the owner may have ended it since the request came
    /// in, and what ended it must not be undone by what was under way.
    ///
    /// # Errors
    /// It has ended, or the database cannot be read.
    pub(crate) async fn must_still_be_there(&self, rows: &mut sqlx::AnyConnection) -> Result<(), ApiError> {
        let found = sqlx::query("SELECT id FROM tokens WHERE id = $1").bind(self.token.clone());
        match found.fetch_optional(rows).await? {
            Some(_) => Ok(()),
            None => Err(ApiError::unauthorized("the session was ended meanwhile").hint("log in again")),
        }
    }

    /// Whether the caller may do what only administrators do, to a pack where it is about one.
    pub(crate) fn must_administer(&self, pack: Option<&PackName>) -> Result<(), ApiError> {
        if !self.administrator {
            return Err(ApiError::forbidden("only an administrator of the registry may do this"));
        }
        match pack {
            _ if self.session => Ok(()),
            Some(pack) => self.may(Right::Admin, pack),
            None if self.rights.contains(&Right::Admin) => Ok(()),
            None => Err(ApiError::forbidden(format!("the token lacks the right `{}`", Right::Admin))),
        }
    }

    /// Whether the caller may do what only administrators do to an organisation: a token has to be for its whole scope.
    pub(crate) fn must_administer_scope(&self, scope: &str) -> Result<(), ApiError> {
        self.must_administer(None)?;
        // No name has a `*`, so that only what stands for anything in a glob fits the one here.
        let whole = format!("@{scope}/*");
        if self.session || self.packs.iter().any(|glob| matches(glob, &whole)) {
            return Ok(());
        }
        let hint = format!(
            "`exo token create NAME --right {} --for '{whole}'` makes one that is, after `exo login`",
            Right::Admin
        );
        Err(ApiError::forbidden(format!("the token is not for all of `@{scope}`")).hint(hint))
    }

    /// The globs of names that the caller is held to; `None` where there are none.
    pub(crate) fn held_to(&self) -> Option<&[String]> {
        (!self.session).then_some(&self.packs)
    }

    /// Whether the caller may act as owner of a pack.
    pub(crate) async fn must_own(
        &self,
        rows: &mut sqlx::AnyConnection,
        right: Right,
        pack: &PackName,
    ) -> Result<(), ApiError> {
        let as_administrator = self.administrator && (self.session || self.rights.contains(&Right::Admin));
        if as_administrator || owns(rows, &self.login, right, pack).await? {
            return Ok(());
        }
        Err(ApiError::forbidden(format!("`{}` does not own `{pack}`", self.login))
            .hint(format!("an owner can change that: `exo owner list {pack}`, `exo owner add {pack} {}`", self.login)))
    }
}

/// That there is no such account.
pub(crate) fn no_account(login: &str) -> ApiError {
    ApiError::absent(
        format!("there is no account `{login}`"),
        "a login is wanted, as the pages of packs show it; whoever has none signs up first",
    )
}

/// Whether there is an account that is not closed.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn is_account(rows: &mut sqlx::AnyConnection, login: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT login FROM accounts WHERE login = $1 AND disabled = 0").bind(login.to_owned());
    Ok(found.fetch_optional(rows).await?.is_some())
}

/// Whether there is an account of this login, closed ones too: nobody takes over their name.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn was_account(rows: &mut sqlx::AnyConnection, login: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT login FROM accounts WHERE login = $1").bind(login.to_owned());
    Ok(found.fetch_optional(rows).await?.is_some())
}

/// Whether an account owns a pack, itself or as a member of the organisation whose scope it is in, as far as a right goes.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn owns(
    rows: &mut sqlx::AnyConnection,
    login: &str,
    right: Right,
    pack: &PackName,
) -> Result<bool, Failure> {
    if let Some(scope) = pack.vendor() {
        let publishes = matches!(right, Right::PublishNew | Right::PublishUpdate);
        match organisations::role(&mut *rows, scope, login).await? {
            Some(Role::Owner) => return Ok(true),
            Some(Role::Publisher) if publishes => return Ok(true),
            Some(Role::Publisher) | None => {}
        }
    }
    let found = sqlx::query("SELECT login FROM owners WHERE name = $1 AND login = $2")
        .bind(pack.as_str().to_owned())
        .bind(login.to_owned())
        .fetch_optional(rows)
        .await?;
    Ok(found.is_some())
}

/// Whether a name fits a glob, in which `*` stands for any number of characters.
pub(crate) fn matches(glob: &str, name: &str) -> bool {
    match glob.split_once('*') {
        None => glob == name,
        Some((before, after)) => name
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|tail| matches(after, tail)))),
    }
}

/// A glob as `LIKE … ESCAPE '!'` of SQL reads it.
pub(crate) fn like(glob: &str) -> String {
    glob.replace('!', "!!").replace('_', "!_").replace('%', "!%").replace('*', "%")
}

/// Makes a token; gives its id and its text, which is not stored.
pub(crate) async fn issue(
    rows: &mut sqlx::AnyConnection,
    login: &str,
    name: &str,
    grant: Option<(&[Right], &[String])>,
    days: i64,
) -> Result<(String, String, i64), Failure> {
    let now = chance::now()?;
    let (id, text) = (chance::id()?, chance::secret("exo_")?);
    let expires = if grant.is_some() { now + days * 86_400 } else { now + SESSION_LIFE };
    let (rights, packs) = match grant {
        Some((rights, packs)) => {
            (rights.iter().map(|right| right.as_str()).collect::<Vec<_>>().join(" "), packs.join(" "))
        }
        None => (String::new(), String::new()),
    };
    sqlx::query("INSERT INTO tokens (id, hash, login, name, session, rights, packs, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        .bind(id.clone())
        .bind(chance::stored(&text))
        .bind(login.to_owned())
        .bind(name.to_owned())
        .bind(i64::from(grant.is_none()))
        .bind(rights)
        .bind(packs)
        .bind(now)
        .bind(expires)
        .execute(rows)
        .await?;
    Ok((id, text, expires))
}

/// The token that a request shows, good or not.
pub(crate) fn shown(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(str::trim)
}

/// The caller that a token stands for; `None` when it is unknown, expired, or of a closed account.
pub(crate) async fn caller(rows: &AnyPool, token: &str) -> Result<Option<Caller>, Failure> {
    let found = sqlx::query("SELECT t.id, t.login, t.session, t.rights, t.packs, t.expires, a.administrator FROM tokens t JOIN accounts a ON a.login = t.login WHERE t.hash = $1 AND t.expires > $2 AND a.disabled = 0")
        .bind(chance::stored(token))
        .bind(chance::now()?)
        .fetch_optional(rows)
        .await?;
    let Some(row) = found else { return Ok(None) };
    request::showed(row.try_get("id")?);
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    Ok(Some(Caller {
        login: row.try_get("login")?,
        administrator: row.try_get::<i64, _>("administrator")? == 1,
        token: row.try_get("id")?,
        session: row.try_get::<i64, _>("session")? == 1,
        rights: words(row.try_get("rights")?).iter().filter_map(|word| Right::parse(word)).collect(),
        packs: words(row.try_get("packs")?),
        expires: row.try_get("expires")?,
        proof: None,
    }))
}

/// Whether a token was good once, and its time is over.
async fn has_expired(rows: &AnyPool, token: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT id FROM tokens WHERE hash = $1 AND expires <= $2")
        .bind(chance::stored(token))
        .bind(chance::now()?)
        .fetch_optional(rows)
        .await?;
    Ok(found.is_some())
}

impl FromRequestParts<Service> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, ApiError> {
        let token = shown(&parts.headers)
            .ok_or_else(|| ApiError::unauthorized("this needs a token").hint("send `Authorization: Bearer exo_…`"))?;
        let found = caller(&service.registry.rows, token).await?;
        match found {
            Some(caller) => {
                let proof = parts.headers.get("exo-code").and_then(|value| value.to_str().ok()).map(str::to_owned);
                Ok(Caller { proof, ..caller })
            }
            // Who has the token may know that much of it.
            None if has_expired(&service.registry.rows, token).await? => {
                Err(ApiError::unauthorized("the token has expired"))
            }
            None => Err(ApiError::unauthorized("the token is unknown, or was taken back")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, name, fits) in [
            ("*", "neon", true),
            ("neon", "neon", true),
            ("neon", "neon2", false),
            ("@arm/*", "@arm/neon", true),
            ("@arm/*", "@army/neon", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("", "neon", false),
        ] {
            assert_eq!(matches(glob, name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn globs_in_sql() {
        assert_eq!(like("a*"), "a%");
        assert_eq!(like("@x/a_b%!*"), "@x/a!_b!%!!%");
    }

    #[tokio::test]
    async fn a_token_ends_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let rows = crate::database::open(None, folder.path()).await.unwrap();
        let (password, made) = ("correct horse battery".to_owned(), crate::audit::action::Action::Account);
        let ada = crate::accounts::New { login: "ada", password, administrator: false, made, email: None };
        crate::accounts::create(&rows, ada).await.unwrap();
        let packs = ["*".to_owned()];
        let grant = Some((&[Right::Yank][..], &packs[..]));
        let mut connection = rows.acquire().await.unwrap();
        let (_, good, _) = issue(&mut connection, "ada", "t", grant, 1).await.unwrap();
        let (_, old, _) = issue(&mut connection, "ada", "t", grant, -1).await.unwrap();
        assert_eq!(caller(&rows, &good).await.unwrap().unwrap().login, "ada");
        assert!(caller(&rows, &old).await.unwrap().is_none() && has_expired(&rows, &old).await.unwrap());
        assert!(!has_expired(&rows, &good).await.unwrap() && !has_expired(&rows, "exo_unknown").await.unwrap());
    }
}
