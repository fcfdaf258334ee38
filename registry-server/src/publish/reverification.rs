//! Verifies every version again with a checker that has not seen it: what comes of it is the compatibility matrix.
//!
//! It begins when a server starts with another checker, and goes on in the background, one version at a time, while nobody
//! publishes. Signed verdicts stay as they are: they say what was found at the publish.

use std::time::Duration;

use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use serde_json::Value;

use super::declaration::Declared;
use super::examination::examine_archive;
use super::refusals::cut;
use super::verification::{Found, NoVerdict, verify};
use crate::chance;
use crate::compatibility::{self, Checker, Outcome};
use crate::contents;
use crate::failure::Failure;
use crate::index;
use crate::leases;
use crate::service::Service;

/// The pause between two looks for versions that the checker has not seen.
const PERIOD: Duration = Duration::from_secs(600);

/// The pause while somebody publishes.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name of the lease, and for how many seconds it is taken: longer than one version can take.
const LEASE: (&str, i64) = ("reverification", 900);

/// Reasons against a version that are kept.
const REASONS: usize = 5;

/// The longest of them, in bytes.
const LONGEST_REASON: usize = 500;

/// Works until it is aborted.
pub(crate) async fn run(service: Service) {
    loop {
        if let Err(failure) = round(&service).await {
            tracing::error!(%failure, "versions could not be verified again");
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Verifies all versions that the checker has not seen; one that cannot be looked at is told and left for the next round.
async fn round(service: &Service) -> Result<(), Failure> {
    let checker = Checker::of(&service.exo).await?;
    for (name, version) in compatibility::pending(&service.registry.rows, &checker).await? {
        while is_busy(service).await? {
            tokio::time::sleep(PATIENCE).await;
        }
        if !leases::take(&service.registry.rows, LEASE.0, LEASE.1, chance::now()?).await? {
            return Ok(());
        }
        let looked = look(service, &checker, &name, &version).await;
        leases::give_back(&service.registry.rows, LEASE.0).await?;
        match looked {
            Ok(()) => service.count("reverified"),
            Err(failure) => tracing::error!(%failure, %name, %version, "a version could not be verified again"),
        }
    }
    Ok(())
}

/// Whether somebody waits for a publish to be checked.
async fn is_busy(service: &Service) -> Result<bool, Failure> {
    let waits = sqlx::query("SELECT 1 FROM publishes WHERE state = 'checking' LIMIT 1");
    Ok(waits.fetch_optional(&service.registry.rows).await?.is_some())
}

async fn look(service: &Service, checker: &Checker, name: &PackName, version: &Version) -> Result<(), Failure> {
    let mut rows = service.registry.rows.acquire().await?;
    let shard = index::shard(&mut rows, name).await?;
    drop(rows);
    // It was deleted meanwhile.
    let Some(entry) = shard.as_ref().and_then(|shard| shard.version(version)) else { return Ok(()) };
    let signed = contents::verdict(&service.registry, name, entry).await?;
    let (outcome, detail) = match signed {
        Some(signed) if is_by(&signed, checker) => (Outcome::Verified, String::new()),
        signed => {
            let bytes = service.registry.blobs.need(&layout::blob(&entry.archive)).await?;
            let size = bytes.len() as u64;
            let declared = Declared { name: name.clone(), version: version.clone(), sha256: entry.archive, size };
            let examined = tokio::task::spawn_blocking(move || examine_archive(&declared, &bytes)).await?;
            match examined {
                Err(reasons) => (Outcome::Refused, told(&reasons)),
                Ok(pack) => match verify(service, &pack, std::slice::from_ref(&pack)).await {
                    Ok(found) => compared(signed.as_ref(), &found),
                    Err(NoVerdict::Refused(reasons)) => (Outcome::Refused, told(&reasons)),
                    Err(NoVerdict::Unsettled(reason)) => return Err(Failure::new(reason.to_string())),
                    Err(NoVerdict::Failed(failure)) => return Err(failure),
                },
            }
        }
    };
    let now = chance::now()?;
    compatibility::keep(&service.registry.rows, (name, version), checker, now, (outcome, &detail)).await
}

/// Whether a verdict was signed for what this very checker found.
fn is_by(signed: &Verdict, checker: &Checker) -> bool {
    signed.exo.to_string() == checker.exo && signed.checker == checker.checker && signed.solver == checker.solver
}

/// What is counted now beside what was signed at the publish.
fn compared(signed: Option<&Verdict>, found: &Found) -> (Outcome, String) {
    let Some(signed) = signed else { return (Outcome::Verified, String::new()) };
    let number = |list: &[String]| list.len().to_string();
    let raw_c = |digest: Option<String>| digest.unwrap_or_else(|| "none".to_owned());
    let counts = [
        ("claims", number(&signed.claims), number(&found.claims)),
        ("tests", signed.tests.to_string(), found.tests.to_string()),
        ("instructions", number(&signed.instructions), number(&found.instructions)),
        ("targets", number(&signed.targets), number(&found.targets)),
        ("waived checks", number(&signed.waived), number(&found.waived)),
        ("raw C", raw_c(signed.raw_c.map(|digest| digest.to_string())), raw_c(found.raw_c_digest.clone())),
    ];
    let changes = counts.into_iter().filter(|(_, then, now)| then != now);
    let lines: Vec<String> = changes.map(|(what, then, now)| format!("{what}: {then} then, {now} now")).collect();
    match lines.is_empty() {
        true => (Outcome::Verified, String::new()),
        false => (Outcome::Changed, lines.join("\n")),
    }
}

/// The first reasons against a version.
fn told(reasons: &[Value]) -> String {
    let lines = reasons.iter().filter_map(|reason| reason.get("message")?.as_str());
    lines.take(REASONS).map(|line| cut(line, LONGEST_REASON)).collect::<Vec<_>>().join("\n")
}
