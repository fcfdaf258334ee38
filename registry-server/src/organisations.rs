//! Organisations: scopes that several accounts share. Owners say who is a member; they and publishers publish.

use sqlx::{AnyConnection, Row as _};

use crate::failure::Failure;

/// What a member may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything that an owner of its packs may, and say who is a member.
    Owner,
    /// Publish packs of the scope, and versions of them.
    Publisher,
}

impl Role {
    /// The role's word in the protocol.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Publisher => "publisher",
        }
    }

    /// Reads the word.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Owner, Self::Publisher].into_iter().find(|role| role.as_str() == text)
    }
}

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
    let member = |row: &sqlx::any::AnyRow| {
        let role: String = row.try_get("role")?;
        let role = Role::parse(&role).ok_or_else(|| Failure::new(format!("`{role}` is no role of a member")))?;
        Ok((row.try_get("login")?, role))
    };
    found.iter().map(member).collect()
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

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn words_of_roles() {
        for role in [Role::Owner, Role::Publisher] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("admin"), None);
    }
}
