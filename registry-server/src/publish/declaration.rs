//! The rows of a publish: what was declared, and how far it is.

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::version::Version;
use sqlx::{AnyConnection, Row as _};

use crate::chance::unsigned;
use crate::failure::Failure;

/// A pack as its author declared it.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) name: PackName,
    pub(crate) version: Version,
    pub(crate) sha256: Sha256,
    pub(crate) size: u64,
}

/// How far a publish is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Checking,
    Refused,
    Published,
    /// A dry run that would have been published.
    Checked,
}

impl State {
    const ALL: [Self; 5] = [Self::Open, Self::Checking, Self::Refused, Self::Published, Self::Checked];

    /// The word of the protocol.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Checking => "checking",
            Self::Refused => "refused",
            Self::Published => "published",
            Self::Checked => "checked",
        }
    }
}

/// A publish.
#[derive(Debug, Clone)]
pub(crate) struct Publish {
    pub(crate) id: String,
    pub(crate) login: String,
    pub(crate) dry_run: bool,
    pub(crate) state: State,
    /// The answer to whoever asks how it went, in JSON; empty before that is known.
    pub(crate) result: String,
    pub(crate) packs: Vec<Declared>,
}

/// Reads a publish.
pub(crate) async fn load(rows: &mut AnyConnection, id: &str) -> Result<Option<Publish>, Failure> {
    let found = sqlx::query("SELECT login, dry_run, state, result FROM publishes WHERE id = $1")
        .bind(id.to_owned())
        .fetch_optional(&mut *rows)
        .await?;
    let Some(row) = found else { return Ok(None) };
    let word: String = row.try_get("state")?;
    let state = State::ALL.into_iter().find(|state| state.as_str() == word);
    let state = state.ok_or_else(|| Failure::new(format!("`{word}` is no state of a publish")))?;
    let declared =
        sqlx::query("SELECT name, version, sha256, size FROM publish_packs WHERE publish = $1 ORDER BY name")
            .bind(id.to_owned())
            .fetch_all(&mut *rows)
            .await?;
    let mut packs = Vec::with_capacity(declared.len());
    for pack in declared {
        packs.push(Declared {
            name: PackName::parse(&pack.try_get::<String, _>("name")?)?,
            version: Version::parse(&pack.try_get::<String, _>("version")?)?,
            sha256: pack.try_get::<String, _>("sha256")?.parse()?,
            size: unsigned(pack.try_get("size")?),
        });
    }
    Ok(Some(Publish {
        id: id.to_owned(),
        login: row.try_get("login")?,
        dry_run: row.try_get::<i64, _>("dry_run")? == 1,
        state,
        result: row.try_get("result")?,
        packs,
    }))
}

/// Ends a publish with an answer. Only one that is being checked can end, so that an answer never changes.
pub(crate) async fn finish(
    rows: &mut AnyConnection,
    id: &str,
    state: State,
    result: &serde_json::Value,
) -> Result<bool, Failure> {
    let done = sqlx::query("UPDATE publishes SET state = $1, result = $2 WHERE id = $3 AND state = 'checking'")
        .bind(state.as_str())
        .bind(result.to_string())
        .bind(id.to_owned())
        .execute(rows)
        .await?;
    Ok(done.rows_affected() == 1)
}
