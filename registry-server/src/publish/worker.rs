//! The worker that takes waiting publishes, checks them, and hands them over to be made visible.
//!
//! A publish is leased, not taken: when its worker dies, the lease runs out and another one starts over. Nothing is visible before
//! the one transaction at the end, so starting over is safe. Which one is next, `queue` decides.

use std::time::{Duration, Instant};

use exo_index::archive::PackFiles;
use exo_index::digest::Sha256;
use serde_json::Value;
use sqlx::Row as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use super::declaration::{Publish, load};
use super::examination::{Examined, diagnostic, examine_archive};
use super::names::View;
use super::queue::{self, LEASE, Place, Places};
use super::refusals::refuse;
use super::turns::{Became, Findings};
use super::verification::{self, Choice, NoVerdict, verify};
use super::{admission, failing, waiting};
use crate::chance;
use crate::failure::Failure;
use crate::service::Service;

/// The lease of a publish that has ended and left no uploads.
const SWEPT: i64 = -1;

/// Publishes that are tidied away at once; the others wait a little.
const TIDIED: i64 = 100;

/// A publish that nobody commits is forgotten after this, in seconds.
const OPEN_LIFE: i64 = 86_400;

/// Works until it is aborted, on at most so many publishes at the same time and one more where an account has nothing in work; those that
/// wait for their turn do not count.
pub(crate) async fn run(service: Service, most: usize) {
    let places = Places::new(most);
    let mut working = JoinSet::new();
    loop {
        while working.try_join_next().is_some() {}
        let Ok(place) = places.take().await else { return };
        match next(&service, &place).await {
            Ok(Some(id)) => {
                let service = service.clone();
                working.spawn(async move { work(&service, &id, place.permit).await });
            }
            Ok(None) => {
                let pause = tokio::time::sleep(Duration::from_secs(1));
                tokio::select! {
                    () = service.wake.notified() => {}
                    () = places.better(&place) => {}
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

/// Leases the publish whose turn it is.
async fn next(service: &Service, place: &Place) -> Result<Option<String>, Failure> {
    // A lease that a power cut takes has run out by the time that the machine is up again.
    queue::next(&service.registry.passing, place.spare, chance::now()?).await
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
        result = check_or_give_up(service, id, place) => result,
        () = renewal => Ok(()),
    };
    service.took("publish", start);
    if let Err(failure) = result {
        // It stays in its state; the lease runs out, and it is tried again.
        tracing::error!(%failure, publish = id, "a publish could not be checked");
    }
}

/// Checks a publish, and ends it where the registry fails at that again and again.
async fn check_or_give_up(service: &Service, id: &str, place: OwnedSemaphorePermit) -> Result<(), Failure> {
    let mut rows = service.registry.rows.acquire().await?;
    let Some(publish) = load(&mut rows, id).await? else { return Ok(()) };
    drop(rows);
    let Err(failure) = check(service, &publish, place).await else { return Ok(()) };
    if failing::tried(service, &publish, &failure).await? {
        service.ends.tell(id);
        service.count("refused");
        sweep(service, &publish).await?;
    }
    Ok(())
}

async fn check(service: &Service, publish: &Publish, place: OwnedSemaphorePermit) -> Result<(), Failure> {
    let start = Instant::now();
    let found = findings(service, publish).await;
    service.took("examination", start);
    let became = match found {
        Ok(found) => service.turns.admit(publish.clone(), found, place).await?,
        Err(NoVerdict::Refused(reasons) | NoVerdict::Limit(reasons)) => {
            let mut rows = service.registry.rows.acquire().await?;
            refuse(&mut rows, publish, reasons).await?;
            Became::Refused
        }
        Err(NoVerdict::Unsettled(reason)) => {
            let mut rows = service.registry.rows.acquire().await?;
            refuse(&mut rows, publish, vec![reason]).await?;
            Became::Refused
        }
        Err(NoVerdict::Failed(failure)) => return Err(failure),
    };
    service.ends.tell(&publish.id);
    match became {
        Became::Published => service.count("published"),
        Became::Refused => service.count("refused"),
        Became::Checked | Became::OfAnother => {}
    }
    sweep(service, publish).await
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

/// Examines and verifies all packs; all reasons against any of them that cost little to find are told at once.
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
    let mut found = verified(service, &examined).await?;
    for (pack, _) in &mut found {
        // What waits for its turn needs them no more.
        pack.files = PackFiles::default();
    }
    Ok(found)
}

/// Verifies packs one after the other until one is refused: what that costs has an end, for each and for all of them together.
async fn verified(service: &Service, examined: &[Examined]) -> Result<Findings, NoVerdict> {
    let choice = Choice::gather(service, examined).await?;
    let unmet: Vec<Value> =
        examined.iter().filter_map(|pack| verification::dependencies(&choice, pack).err()).collect();
    if !unmet.is_empty() {
        return Err(NoVerdict::Refused(unmet));
    }
    let until = Instant::now() + service.publish_time;
    let mut found = Vec::new();
    for (number, pack) in examined.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        let verdict = match tokio::time::timeout(left, verify(service, &choice, pack, examined)).await {
            Ok(verdict) => verdict,
            Err(_) => Err(NoVerdict::Limit(vec![took_too_long(service, pack, (number, examined.len()))])),
        };
        found.push((pack.clone(), verdict.map_err(|none| and_no_further(none, examined, number))?));
    }
    Ok(found)
}

/// That the time of a whole publish was over while one of its packs was verified.
fn took_too_long(service: &Service, pack: &Examined, (before, all): (usize, usize)) -> Value {
    let seconds = service.publish_time.as_secs();
    let message = format!(
        "all packs of a publish together may take {seconds} seconds to be verified, and that was over during this one; {before} of {all} were done"
    );
    let hint = match all {
        1 => "make what the tests of the pack claim smaller, or split the pack",
        _ => "publish fewer packs at once, first those that the others depend on",
    };
    diagnostic(&pack.declared, "checker", message, Some(hint))
}

/// A refusal of one of several packs, with a word on those behind it: what they cost is not spent on a publish that is refused anyway.
fn and_no_further(none: NoVerdict, examined: &[Examined], number: usize) -> NoVerdict {
    let (NoVerdict::Refused(mut reasons) | NoVerdict::Limit(mut reasons)) = none else { return none };
    if let Some(next) = examined.get(number + 1) {
        let rest = examined.len() - number - 1;
        let message = format!(
            "the checker stopped at the first refusal, before `{}`: not verified yet: {rest}",
            next.declared.name
        );
        reasons.push(diagnostic(
            &next.declared,
            "not-verified",
            message,
            Some("mend what is refused, and publish again"),
        ));
    }
    NoVerdict::Refused(reasons)
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
