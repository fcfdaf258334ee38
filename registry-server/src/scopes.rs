//! Whose a scope is: a pack `@scope/name` begins with a member of the organisation of that name, else with the account of that
//! name, or with somebody who owns a pack there already.

use exo_index::name::PackName;
use sqlx::{AnyConnection, Row as _};

use crate::failure::Failure;
use crate::organisations::{self, Role};

/// Why somebody may not begin a pack, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotYours {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Why an account may not publish the first version of a pack of this name; `None` when it may, or the name has no scope.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn refusal(
    rows: &mut AnyConnection,
    name: &PackName,
    login: &str,
) -> Result<Option<NotYours>, Failure> {
    let Some(scope) = name.vendor().filter(|scope| *scope != login) else { return Ok(None) };
    let members = organisations::members(rows, scope).await?;
    if let Some((first, _)) = members.iter().find(|(_, role)| *role == Role::Owner) {
        return Ok((!members.iter().any(|(member, _)| member == login)).then(|| NotYours {
            message: format!("the scope `@{scope}` belongs to the organisation `{scope}`"),
            hint: format!("ask `{first}` to let you in with `exo owner add @{scope} {login} --publisher`"),
        }));
    }
    let owners = owners(rows, scope).await?;
    if owners.iter().any(|owner| owner == login) {
        return Ok(None);
    }
    let account = sqlx::query("SELECT login FROM accounts WHERE login = $1")
        .bind(scope.to_owned())
        .fetch_optional(&mut *rows)
        .await?;
    let own = match PackName::parse(&format!("@{login}/{}", name.base())) {
        Ok(own) => format!("or publish it as `{own}`"),
        Err(_) => "or publish it without a scope".to_owned(),
    };
    let (message, hint) = match (account.is_some(), owners.as_slice()) {
        (true, _) => (
            format!("the scope `@{scope}` belongs to the account `{scope}`"),
            format!(
                "ask `{scope}` to publish `{name}` first and to let you in with `exo owner add {name} {login}`, {own}"
            ),
        ),
        (false, [first, ..]) => (
            format!("the scope `@{scope}` belongs to those who own its packs"),
            format!("ask `{first}` to let you in with `exo owner add PACK {login}`, {own}"),
        ),
        (false, []) => (
            format!("the scope `@{scope}` belongs to nobody, and a scope is that of the account of its name"),
            format!("ask the administrator of this registry for the account `{scope}`, {own}"),
        ),
    };
    Ok(Some(NotYours { message, hint }))
}

/// The owners of the packs of a scope, each once, by name.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn owners(rows: &mut AnyConnection, scope: &str) -> Result<Vec<String>, Failure> {
    // A scope has no character that `LIKE` gives a meaning to.
    let found = sqlx::query("SELECT DISTINCT login FROM owners WHERE name LIKE $1 ORDER BY login")
        .bind(format!("@{scope}/%"))
        .fetch_all(rows)
        .await?;
    found.iter().map(|row| Ok(row.try_get("login")?)).collect()
}

/// A pack of a scope that somebody does not own.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn unowned(rows: &mut AnyConnection, scope: &str, login: &str) -> Result<Option<String>, Failure> {
    let found = sqlx::query("SELECT name FROM packs WHERE name LIKE $1 AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.name = packs.name AND o.login = $2) ORDER BY name LIMIT 1")
        .bind(format!("@{scope}/%"))
        .bind(login.to_owned())
        .fetch_optional(rows)
        .await?;
    Ok(found.map(|row| row.try_get("name")).transpose()?)
}
