//! The worker that takes waiting publishes, one at a time, checks them, and makes them visible.
//!
//! A publish is leased, not taken: when its worker dies, the lease runs out and another one starts over. Nothing is visible before
//! the one transaction at the end, so starting over is safe.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::log::leaf::Leaf;
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::declaration::{Publish, State, finish, load};
use super::examination::{Examined, diagnostic, examine_archive};
use super::verification::{Found, NoVerdict, verify};
use super::{admission, waiting};
use crate::audit;
use crate::chance::{self, unsigned};
use crate::database::{self, Rows};
use crate::failure::Failure;
use crate::index;
use crate::service::Service;

/// How long a lease lasts without being renewed, in seconds.
const LEASE: i64 = 6;

/// The lease of a publish that has ended and left no uploads.
const SWEPT: i64 = -1;

/// Publishes that are tidied away at once; the others wait a little.
const TIDIED: i64 = 100;

/// A publish that nobody commits is forgotten after this, in seconds.
const OPEN_LIFE: i64 = 86_400;

/// Works until it is aborted.
pub(crate) async fn run(service: Service) {
    loop {
        match next(&service).await {
            Ok(Some(id)) => work(&service, &id).await,
            Ok(None) => {
                let pause = tokio::time::sleep(Duration::from_secs(1));
                tokio::select! {
                    () = service.wake.notified() => {}
                    () = pause => {}
                }
            }
            Err(failure) => {
                tracing::error!(%failure, "the worker cannot look for work");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Leases the oldest publish that waits.
async fn next(service: &Service) -> Result<Option<String>, Failure> {
    let now = chance::now()?;
    let rows = &service.registry.rows;
    let found =
        sqlx::query("SELECT id FROM publishes WHERE state = 'checking' AND lease < $1 ORDER BY created LIMIT 8")
            .bind(now)
            .fetch_all(rows)
            .await?;
    for row in found {
        let id: String = row.try_get("id")?;
        let leased = sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state = 'checking' AND lease < $3")
            .bind(now + LEASE)
            .bind(id.clone())
            .bind(now)
            .execute(rows)
            .await?;
        if leased.rows_affected() == 1 {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Works on one publish, and renews its lease meanwhile.
async fn work(service: &Service, id: &str) {
    let renewal = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let until = chance::now().unwrap_or(0) + LEASE;
            let renewed = sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state = 'checking'")
                .bind(until)
                .bind(id.to_owned());
            if let Err(error) = renewed.execute(&service.registry.rows).await {
                tracing::warn!(%error, "a lease could not be renewed");
            }
        }
    };
    let start = Instant::now();
    let result = tokio::select! {
        result = check(service, id) => result,
        () = renewal => Ok(()),
    };
    service.took("publish", start);
    if let Err(failure) = result {
        // It stays in its state; the lease runs out, and it is tried again.
        tracing::error!(%failure, publish = id, "a publish could not be checked");
    }
}

/// What was found of the packs of a publish.
type Findings = Vec<(Examined, Found)>;

async fn check(service: &Service, id: &str) -> Result<(), Failure> {
    let mut rows = service.registry.rows.acquire().await?;
    let Some(publish) = load(&mut rows, id).await? else { return Ok(()) };
    drop(rows);
    let outcome = match findings(service, &publish).await {
        Ok(found) => admit(service, &publish, &found).await,
        Err(no_verdict) => Err(no_verdict),
    };
    match outcome {
        Ok(()) => {
            index::show_latest(&service.registry).await?;
            service.count("published");
        }
        Err(NoVerdict::Refused(reasons)) => {
            let mut rows = service.registry.rows.acquire().await?;
            finish(&mut rows, id, State::Refused, &json!({ "packs": [], "pointer": null, "diagnostics": &reasons }))
                .await?;
            audit::note_refused(&mut rows, &publish, &reasons).await?;
            service.count("refused");
        }
        Err(NoVerdict::Failed(failure)) => return Err(failure),
    }
    sweep(service, &publish).await
}

/// Removes the uploads of a publish that has ended, and notes that there are none.
async fn sweep(service: &Service, publish: &Publish) -> Result<(), Failure> {
    for pack in &publish.packs {
        service.registry.blobs.remove(&waiting(&publish.id, &pack.sha256)).await?;
    }
    sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state NOT IN ('open', 'checking')")
        .bind(SWEPT)
        .bind(publish.id.clone())
        .execute(&service.registry.rows)
        .await?;
    Ok(())
}

/// Examines and verifies all packs; all reasons against any of them are told at once.
async fn findings(service: &Service, publish: &Publish) -> Result<Findings, NoVerdict> {
    let mut examined = Vec::new();
    let mut reasons: Vec<Value> = Vec::new();
    for declared in &publish.packs {
        let bytes = service.registry.blobs.need(&waiting(&publish.id, &declared.sha256)).await?;
        let subject = declared.clone();
        match tokio::task::spawn_blocking(move || examine_archive(&subject, &bytes)).await? {
            Ok(pack) => examined.push(pack),
            Err(more) => reasons.extend(more),
        }
    }
    let mut rows = service.registry.rows.acquire().await?;
    for pack in &examined {
        reasons.extend(admission::reasons_against(&mut rows, pack, &publish.login, &service.bundled).await?);
    }
    drop(rows);
    if !reasons.is_empty() {
        return Err(NoVerdict::Refused(reasons));
    }
    let mut found = Vec::new();
    for pack in &examined {
        match verify(service, pack, &examined).await {
            Ok(verdict) => found.push((pack.clone(), verdict)),
            Err(NoVerdict::Refused(more)) => reasons.extend(more),
            Err(failed) => return Err(failed),
        }
    }
    if reasons.is_empty() { Ok(found) } else { Err(NoVerdict::Refused(reasons)) }
}

/// Signs what was found about a pack.
fn verdict(service: &Service, pack: &Examined, found: &Found, now: i64) -> Result<Vec<u8>, Failure> {
    let subject = &found.subject;
    let mut dependencies = BTreeMap::new();
    for (name, tree) in &subject.dependencies {
        dependencies.insert(PackName::parse(name)?, tree.parse()?);
    }
    let verdict = Verdict {
        registry: service.registry.origin.clone(),
        name: pack.declared.name.clone(),
        version: pack.declared.version.clone(),
        archive: pack.declared.sha256,
        tree: pack.tree,
        exo: Version::parse(&subject.exo)?,
        checker: format!("{} {}", subject.checker, subject.checker_digest),
        solver: subject.solver.clone(),
        dependencies,
        checked: unsigned(now),
        claims: found.claims.clone(),
        tests: found.tests,
        instructions: found.instructions.clone(),
        targets: found.targets.clone(),
        waived: found.waived.clone(),
        raw_c: found.raw_c_digest.as_deref().map(str::parse).transpose()?,
        procs: found.procs.clone(),
        claimed_procs: found.claimed_procs.clone(),
    };
    Ok(verdict.sign(&service.registry.keys.verdict)?.to_bytes()?)
}

/// The time that versions enter with: never before that of an earlier one, or a clock that was set back would let a new version look
/// older than it is to those who wait with new ones.
async fn time_of_publish(rows: &mut Rows) -> Result<i64, Failure> {
    let newest: Option<i64> =
        sqlx::query("SELECT MAX(published) AS newest FROM versions").fetch_one(&mut **rows).await?.try_get("newest")?;
    let now = chance::now()?;
    if newest.is_some_and(|newest| newest > now) {
        tracing::warn!("the clock is behind the newest version's time, which is used instead");
    }
    Ok(newest.map_or(now, |newest| newest.max(now)))
}

/// Makes the packs visible in one transaction, or says why not.
async fn admit(service: &Service, publish: &Publish, found: &Findings) -> Result<(), NoVerdict> {
    let registry = &service.registry;
    let mut turn = database::turn(&registry.rows).await?;
    let now = time_of_publish(&mut turn).await?;
    let mut reasons: Vec<Value> = Vec::new();
    let mut answers: Vec<Value> = Vec::new();
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut verdicts = Vec::new();
    let first = index::log_size(&mut turn).await?;
    for ((pack, verified), position) in found.iter().zip(first..) {
        // Again under the lock: another publish may have come first.
        reasons.extend(admission::reasons_against(&mut turn, pack, &publish.login, &service.bundled).await?);
        let bump = admission::bump(&mut turn, pack, verified).await?;
        if let Some((required, raised, before)) = &bump
            && *raised < required.bump
        {
            let lowest = required.bump.lowest_after(before);
            let hint =
                format!("raise `version` in Exo.toml further: {lowest} is the lowest that will do after {before}");
            reasons.push(diagnostic(&pack.declared, "bump", required.to_string(), Some(&hint)));
        }
        if !reasons.is_empty() {
            continue;
        }
        let bytes = verdict(service, pack, verified, now)?;
        let digest = Sha256::of(&bytes);
        verdicts.push((pack.declared.sha256, digest, bytes));
        let targets = admission::targets(&mut turn, pack, verified, found, &service.bundled).await?;
        let entry =
            admission::admit(&mut turn, pack, verified, targets, digest, &publish.login, (now, position)).await?;
        leaves.push(entry.publish_leaf(&pack.declared.name));
        audit::note_publish(&mut turn, publish, "publish", &pack.declared, "").await?;
        answers.push(json!({
            "name": pack.declared.name.as_str(), "version": pack.declared.version.to_string(),
            "required_bump": bump.map(|(required, _, _)| required.bump.as_str()),
            "verdict": (!publish.dry_run).then(|| digest.to_string()), "log": (!publish.dry_run).then_some(position),
        }));
    }
    if !reasons.is_empty() {
        return Err(NoVerdict::Refused(reasons));
    }
    if publish.dry_run {
        turn.rollback().await?;
        let mut rows = registry.rows.acquire().await?;
        finish(
            &mut rows,
            &publish.id,
            State::Checked,
            &json!({ "packs": answers, "pointer": null, "diagnostics": [] }),
        )
        .await?;
        return Ok(());
    }
    let mut files = Vec::new();
    for (archive, digest, verdict) in verdicts {
        files.push((layout::blob(&archive), registry.blobs.need(&waiting(&publish.id, &archive)).await?));
        files.push((layout::verdict(&digest), verdict));
    }
    registry.blobs.put_all(files).await?;
    let names: Vec<_> = found.iter().map(|(pack, _)| pack.declared.name.clone()).collect();
    index::write(registry, &mut turn, &names, &leaves, chance::now()?).await?;
    let pointer: i64 =
        sqlx::query("SELECT pointer FROM state WHERE id = 1").fetch_one(&mut *turn).await?.try_get("pointer")?;
    let answer = json!({ "packs": answers, "pointer": pointer, "diagnostics": [] });
    // Another worker may have taken over after a long pause: then the rows are its, and these are given up.
    if finish(&mut turn, &publish.id, State::Published, &answer).await? {
        turn.commit().await?;
    }
    Ok(())
}

/// Forgets what nobody committed, and removes the uploads that a killed worker left.
pub(crate) async fn tidy(service: &Service) -> Result<(), Failure> {
    let before = chance::now()? - OPEN_LIFE;
    let rows = &service.registry.rows;
    for row in sqlx::query("SELECT id FROM publishes WHERE state = 'open' AND created < $1 ORDER BY created LIMIT $2")
        .bind(before)
        .bind(TIDIED)
        .fetch_all(rows)
        .await?
    {
        let id: String = row.try_get("id")?;
        forget(service, &id).await?;
    }
    // A lease that may still be held is somebody's work.
    for row in
        sqlx::query("SELECT id FROM publishes WHERE state NOT IN ('open', 'checking') AND lease >= 0 AND lease < $1 ORDER BY lease LIMIT $2")
            .bind(chance::now()? - LEASE)
            .bind(TIDIED)
            .fetch_all(rows)
            .await?
    {
        let id: String = row.try_get("id")?;
        let mut connection = rows.acquire().await?;
        let publish = load(&mut connection, &id).await?;
        drop(connection);
        if let Some(publish) = publish {
            sweep(service, &publish).await?;
        }
    }
    Ok(())
}

/// Removes an open publish with its uploads.
pub(crate) async fn forget(service: &Service, id: &str) -> Result<(), Failure> {
    let mut rows = service.registry.rows.acquire().await?;
    let Some(publish) = load(&mut rows, id).await? else { return Ok(()) };
    for pack in &publish.packs {
        service.registry.blobs.remove(&waiting(id, &pack.sha256)).await?;
    }
    sqlx::query("DELETE FROM publish_packs WHERE publish = $1").bind(id.to_owned()).execute(&mut *rows).await?;
    sqlx::query("DELETE FROM publishes WHERE id = $1").bind(id.to_owned()).execute(&mut *rows).await?;
    Ok(())
}
