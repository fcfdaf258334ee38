//! What a published version holds, read back from the store: its files, its verdict, and what the checker saw besides.

use exo_index::archive::{self, Limits, PackFiles};
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::shard::VersionEntry;
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row as _};

use crate::failure::Failure;
use crate::publish::verification::Found;
use crate::registry::Registry;

/// What the checker saw and the signed verdict leaves out. It is for readers: no client decides by it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Findings {
    pub(crate) instructions: Vec<Instruction>,
    /// Paths of the modules whose functions write C.
    pub(crate) c_modules: Vec<String>,
    /// Tests, or parts of them, that the registry does not run, with the reason.
    pub(crate) skipped: Vec<String>,
}

/// An instruction with the C that it stands for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) template: String,
    /// What it needs at the head of a file; often nothing.
    pub(crate) global: String,
}

/// Writes down what the checker saw.
pub(crate) async fn keep(
    rows: &mut AnyConnection,
    name: &PackName,
    version: &Version,
    found: &Found,
) -> Result<(), Failure> {
    let instruction = |(name, (template, global)): (&String, &(String, String))| Instruction {
        name: name.clone(),
        template: template.clone(),
        global: global.clone(),
    };
    let findings = Findings {
        instructions: found.instructions.iter().zip(&found.templates).map(instruction).collect(),
        c_modules: found.c_modules.clone(),
        skipped: found.skipped.clone(),
    };
    sqlx::query("INSERT INTO findings (name, version, findings) VALUES ($1, $2, $3)")
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .bind(serde_json::to_string(&findings)?)
        .execute(rows)
        .await?;
    Ok(())
}

/// What the checker saw of a version; `None` for one that was published before that was kept.
pub(crate) async fn findings(
    registry: &Registry,
    name: &PackName,
    version: &Version,
) -> Result<Option<Findings>, Failure> {
    let found = sqlx::query("SELECT findings FROM findings WHERE name = $1 AND version = $2")
        .bind(name.as_str().to_owned())
        .bind(version.to_string())
        .fetch_optional(&registry.rows)
        .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some(serde_json::from_str(&row.try_get::<String, _>("findings")?)?))
}

/// The files of a version.
///
/// # Errors
/// The archive is missing, or is not the one that was published.
pub(crate) async fn files(registry: &Registry, entry: &VersionEntry) -> Result<PackFiles, Failure> {
    let bytes = registry.blobs.need(&layout::blob(&entry.archive)).await?;
    let (archive, tree) = (entry.archive, entry.tree);
    let read = move || archive::read_verified(&bytes, &archive, &tree, &Limits::default());
    tokio::task::spawn_blocking(read)
        .await?
        .map_err(|error| Failure::new(format!("the archive {}: {error}", entry.archive)))
}

/// The signed verdict on a version; `None` when there is none.
///
/// # Errors
/// It is missing, or not signed by this registry for this version.
pub(crate) async fn verdict(
    registry: &Registry,
    name: &PackName,
    entry: &VersionEntry,
) -> Result<Option<Verdict>, Failure> {
    let Some(digest) = &entry.verdict else { return Ok(None) };
    let bytes = registry.blobs.need(&layout::verdict(digest)).await?;
    let verdict = Verdict::read(&bytes, &registry.root().await?, name, entry)
        .map_err(|refusal| Failure::new(format!("the verdict on `{name} {}`: {refusal:?}", entry.version)))?;
    Ok(Some(verdict))
}
