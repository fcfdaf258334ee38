//! Verifies every version again with a checker that has not seen it: what comes of it is the compatibility matrix.
//!
//! It begins when a server starts with another checker, and goes on in the background, one version at a time, while nobody
//! publishes. Signed verdicts stay as they are: they say what was found at the publish. Where the checker comes to no answer, because a
//! limit was reached or something ended it, nothing is settled, and it is tried again after a pause that grows.

use std::time::Duration;

use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::shard::VersionEntry;
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use serde_json::Value;

use super::declaration::Declared;
use super::examination::examine_archive;
use super::refusals::cut;
use super::verification::{Choice, Found, NoVerdict, verify};
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

/// The name of the lease, and for how many seconds it is taken at a time.
const LEASE: (&str, i64) = ("reverification", 6);

/// The pause while another replica is at it, or one that was killed seems to be.
const TAKEN: Duration = Duration::from_secs(7);

/// Reasons against a version that are kept.
const REASONS: usize = 5;

/// The longest of them, in bytes.
const LONGEST_REASON: usize = 500;

/// Works until it is aborted.
pub(crate) async fn run(service: Service) {
    if let Err(failure) = compatibility::forget_limits(&service.registry.rows).await {
        tracing::error!(%failure, "what an earlier release took for refusals could not be taken back");
    }
    loop {
        let pause = match leases::hold(&service.registry.passing, LEASE, round(&service)).await {
            Ok(Some(())) => PERIOD,
            Ok(None) => TAKEN,
            Err(failure) => {
                tracing::error!(%failure, "versions could not be verified again");
                PERIOD
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Verifies all versions that the checker has not seen; one that cannot be looked at is told and left for the next round.
async fn round(service: &Service) -> Result<(), Failure> {
    let checker = Checker::of(&service.exo).await?;
    for (name, version) in compatibility::pending(&service.registry.rows, &checker, chance::now()?).await? {
        while is_busy(service).await? {
            tokio::time::sleep(PATIENCE).await;
        }
        match look(service, &checker, &name, &version).await {
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
    let looked = match signed {
        Some(signed) if is_by(&signed, checker) => Ok((Outcome::Verified, String::new())),
        signed => looked_at(service, name, entry, signed.as_ref()).await?,
    };
    let (rows, now) = (&service.registry.rows, chance::now()?);
    match looked {
        Ok((outcome, detail)) => compatibility::keep(rows, (name, version), checker, now, (outcome, &detail)).await,
        Err(why) => compatibility::put_off(rows, (name, version), checker, now, &why).await,
    }
}

/// What the checker makes of a version now, or why it came to no answer.
async fn looked_at(
    service: &Service,
    name: &PackName,
    entry: &VersionEntry,
    signed: Option<&Verdict>,
) -> Result<Result<(Outcome, String), String>, Failure> {
    let bytes = service.registry.blobs.need(&layout::blob(&entry.archive)).await?;
    let (version, size) = (entry.version.clone(), bytes.len() as u64);
    let declared = Declared { name: name.clone(), version, sha256: entry.archive, size };
    let pack = match tokio::task::spawn_blocking(move || examine_archive(&declared, &bytes)).await? {
        Ok(pack) => pack,
        Err(reasons) => return Ok(Ok((Outcome::Refused, told(&reasons)))),
    };
    let together = std::slice::from_ref(&pack);
    let choice = Choice::gather(service, together).await?;
    match verify(service, &choice, &pack, together).await {
        Ok(found) => Ok(Ok(compared(signed, &found))),
        Err(NoVerdict::Refused(reasons)) => Ok(Ok((Outcome::Refused, told(&reasons)))),
        Err(NoVerdict::Limit(reasons)) => Ok(Err(told(&reasons))),
        Err(NoVerdict::Unsettled(reason)) => Ok(Err(told(&[reason]))),
        Err(NoVerdict::Failed(failure)) => Err(failure),
    }
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
