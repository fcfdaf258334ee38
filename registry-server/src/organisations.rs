//! Organisations: scopes that several accounts share. Owners say who is a member; they and publishers publish.

pub(crate) use exo_index::registry::rights::Role;
use sqlx::{AnyConnection, Row as _};

use crate::failure::Failure;

/// Whether there is an organisation.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn exists(rows: &mut AnyConnection, name: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT name FROM organisations WHERE name = $1").bind(name.to_owned());
    Ok(found.fetch_optional(rows).await?.is_some())
}

/// The members of an organisation, by login; none where there is no such organisation, since the last owner cannot leave.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn members(rows: &mut AnyConnection, name: &str) -> Result<Vec<(String, Role)>, Failure> {
    let found = sqlx::query("SELECT login, role FROM members WHERE organisation = $1 ORDER BY login")
        .bind(name.to_owned())
        .fetch_all(rows)
        .await?;
    found.iter().map(|row| Ok((row.try_get("login")?, read_role(row)?))).collect()
}

fn read_role(row: &sqlx::any::AnyRow) -> Result<Role, Failure> {
    let role: String = row.try_get("role")?;
    Role::parse(&role).ok_or_else(|| Failure::new(format!("`{role}` is no role of a member")))
}

/// What an account may do in an organisation; `None` for one that is no member.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn role(rows: &mut AnyConnection, name: &str, login: &str) -> Result<Option<Role>, Failure> {
    let found = members(rows, name).await?.into_iter().find(|(member, _)| member == login);
    Ok(found.map(|(_, role)| role))
}

/// Makes somebody a member, or changes the role.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn set(rows: &mut AnyConnection, name: &str, login: &str, role: Role) -> Result<(), Failure> {
    sqlx::query("INSERT INTO members (organisation, login, role) VALUES ($1, $2, $3) ON CONFLICT (organisation, login) DO UPDATE SET role = excluded.role")
        .bind(name.to_owned())
        .bind(login.to_owned())
        .bind(role.as_str())
        .execute(rows)
        .await?;
    Ok(())
}

/// The organisations that an account is a member of, by name, with its role.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn memberships(rows: &mut AnyConnection, login: &str) -> Result<Vec<(String, Role)>, Failure> {
    let found = sqlx::query("SELECT organisation, role FROM members WHERE login = $1 ORDER BY organisation")
        .bind(login.to_owned())
        .fetch_all(rows)
        .await?;
    found.iter().map(|row| Ok((row.try_get("organisation")?, read_role(row)?))).collect()
}

/// Whether an administrator of the registry has said that they know who an organisation is.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn is_verified(rows: &mut AnyConnection, name: &str) -> Result<bool, Failure> {
    let found = sqlx::query("SELECT name FROM verified_organisations WHERE name = $1").bind(name.to_owned());
    Ok(found.fetch_optional(rows).await?.is_some())
}
