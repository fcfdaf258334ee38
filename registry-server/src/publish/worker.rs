//! The worker that takes waiting publishes, checks them, and hands them over to be made visible.
//!
//! A publish is leased, not taken: when its worker dies, the lease runs out and another one starts over. Nothing is visible before
//! the one transaction at the end, so starting over is safe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exo_index::archive::PackFiles;
use exo_index::digest::Sha256;
use serde_json::Value;
use sqlx::Row as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::declaration::{Publish, load};
use super::examination::{diagnostic, examine_archive};
use super::names::View;
use super::refusals::refuse;
use super::turns::{Became, Findings};
use super::verification::{NoVerdict, verify};
use super::{admission, waiting};
use crate::chance;
use crate::failure::Failure;
use crate::service::Service;

/// How long a lease lasts without being renewed, in seconds.
const LEASE: i64 = 6;

/// The lease of a publish that has ended and left no uploads.
const SWEPT: i64 = -1;

/// Publishes that are tidied away at once; the others wait a little.
const TIDIED: i64 = 100;

/// A publish that nobody commits is forgotten after this, in seconds.
const OPEN_LIFE: i64 = 86_400;

/// Works until it is aborted, on at most so many publishes at the same time; those that wait for their turn do not count.
pub(crate) async fn run(service: Service, most: usize) {
    let places = Arc::new(Semaphore::new(most));
    let mut working = JoinSet::new();
    loop {
        while working.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match next(&service).await {
            Ok(Some(id)) => {
                let service = service.clone();
                working.spawn(async move { work(&service, &id, place).await });
            }
            Ok(None) => {
                drop(place);
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
    // A lease that a power cut takes has run out by the time that the machine is up again.
    let rows = &service.registry.passing;
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
async fn work(service: &Service, id: &str, place: OwnedSemaphorePermit) {
    let renewal = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let until = chance::now().unwrap_or(0) + LEASE;
            let renewed = sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state = 'checking'")
                .bind(until)
                .bind(id.to_owned());
            if let Err(error) = renewed.execute(&service.registry.passing).await {
                tracing::warn!(%error, "a lease could not be renewed");
            }
        }
    };
    let start = Instant::now();
    let result = tokio::select! {
        result = check(service, id, place) => result,
        () = renewal => Ok(()),
    };
    service.took("publish", start);
    if let Err(failure) = result {
        // It stays in its state; the lease runs out, and it is tried again.
        tracing::error!(%failure, publish = id, "a publish could not be checked");
    }
}

async fn check(service: &Service, id: &str, place: OwnedSemaphorePermit) -> Result<(), Failure> {
    let mut rows = service.registry.rows.acquire().await?;
    let Some(publish) = load(&mut rows, id).await? else { return Ok(()) };
    drop(rows);
    let start = Instant::now();
    let found = findings(service, &publish).await;
    service.took("examination", start);
    let became = match found {
        Ok(found) => service.turns.admit(publish.clone(), found, place).await?,
        Err(NoVerdict::Refused(reasons)) => {
            let mut rows = service.registry.rows.acquire().await?;
            refuse(&mut rows, &publish, reasons).await?;
            Became::Refused
        }
        Err(NoVerdict::Unsettled(reason)) => return Err(Failure::new(format!("a publish was not settled: {reason}"))),
        Err(NoVerdict::Failed(failure)) => return Err(failure),
    };
    service.ends.tell(id);
    match became {
        Became::Published => service.count("published"),
        Became::Refused => service.count("refused"),
        Became::Checked | Became::OfAnother => {}
    }
    sweep(service, &publish).await
}

/// Removes the uploads of a publish that has ended, and notes that there are none. Whoever looks for what is left does it again where a
/// power cut takes the note.
async fn sweep(service: &Service, publish: &Publish) -> Result<(), Failure> {
    for pack in &publish.packs {
        service.registry.blobs.remove(&waiting(&publish.id, &pack.sha256)).await?;
    }
    sqlx::query("UPDATE publishes SET lease = $1 WHERE id = $2 AND state NOT IN ('open', 'checking')")
        .bind(SWEPT)
        .bind(publish.id.clone())
        .execute(&service.registry.passing)
        .await?;
    Ok(())
}

/// Examines and verifies all packs; all reasons against any of them are told at once.
async fn findings(service: &Service, publish: &Publish) -> Result<Findings, NoVerdict> {
    let mut examined = Vec::new();
    let mut reasons: Vec<Value> = Vec::new();
    for declared in &publish.packs {
        // An upload is not told to the disk at once; what a power cut left of it is not what was declared.
        let upload = service.registry.blobs.get(&waiting(&publish.id, &declared.sha256)).await?;
        let Some(bytes) = upload.filter(|bytes| Sha256::of(bytes) == declared.sha256) else {
            let message =
                format!("the upload of `{}` was lost when the machine of the registry stopped", declared.name);
            reasons.push(diagnostic(declared, "upload", message, Some("publish it again")));
            continue;
        };
        let subject = declared.clone();
        match tokio::task::spawn_blocking(move || examine_archive(&subject, &bytes)).await? {
            Ok(pack) => examined.push(pack),
            Err(more) => reasons.extend(more),
        }
    }
    let mut rows = service.registry.rows.acquire().await?;
    for pack in &examined {
        let against = admission::reasons_against(service, &mut rows, View::Committed, pack, &publish.login).await?;
        reasons.extend(against);
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
            Err(NoVerdict::Unsettled(reason)) => reasons.push(reason),
            Err(failed) => return Err(failed),
        }
    }
    for (pack, _) in &mut found {
        // What waits for its turn needs them no more.
        pack.files = PackFiles::default();
    }
    if reasons.is_empty() { Ok(found) } else { Err(NoVerdict::Refused(reasons)) }
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
