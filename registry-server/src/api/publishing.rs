//! The steps of a publish: prepare, upload, commit, and asking how it went.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use exo_index::archive::Limits;
use exo_index::digest::Sha256;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{pack_name, version};
use crate::access::{Caller, Right};
use crate::chance::{self, signed};
use crate::error::ApiError;
use crate::index;
use crate::limits::{self, Kind};
use crate::publish::admission;
use crate::publish::declaration::{Declared, Publish, State as Stage, load};
use crate::publish::{queue, waiting, worker};
use crate::request;
use crate::scopes::{self, NotYours};
use crate::service::Service;

/// Packs in one publish.
const MOST_PACKS: usize = 256;

/// Seconds that an answer is held back at most: proxies on the way give up on one after a minute.
const LONGEST_WAIT: u64 = 30;

#[derive(Deserialize)]
pub(super) struct NewPublish {
    packs: Vec<NewPack>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
pub(super) struct NewPack {
    name: String,
    version: String,
    sha256: String,
    size: u64,
}

impl NewPublish {
    /// The declared packs, each once.
    fn declared(&self) -> Result<Vec<Declared>, ApiError> {
        if self.packs.is_empty() || self.packs.len() > MOST_PACKS {
            return Err(ApiError::malformed(format!("a publish is of 1 to {MOST_PACKS} packs")));
        }
        let mut declared = Vec::new();
        let mut names = BTreeSet::new();
        for pack in &self.packs {
            let name = pack_name(&pack.name)?;
            if !names.insert(name.clone()) {
                return Err(ApiError::malformed(format!("`{name}` is declared twice")));
            }
            if pack.size > Limits::default().archive_bytes {
                return Err(ApiError::too_large(format!(
                    "the archive of `{name}` is larger than {} bytes",
                    Limits::default().archive_bytes
                )));
            }
            let sha256 = pack.sha256.parse::<Sha256>().map_err(|error| ApiError::malformed(error.to_string()))?;
            declared.push(Declared { name, version: version(&pack.version)?, sha256, size: pack.size });
        }
        Ok(declared)
    }
}

/// Whether the caller may publish every pack of a publish, as it is now.
async fn may_publish(service: &Service, caller: &Caller, packs: &[Declared]) -> Result<(), ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    for pack in packs {
        if admission::exists(&mut rows, &pack.name).await? {
            caller.may(Right::PublishUpdate, &pack.name)?;
            caller.must_own(&mut rows, Right::PublishUpdate, &pack.name).await?;
            if let Some((message, hint)) = admission::archived(&mut rows, &pack.name).await? {
                return Err(ApiError::conflict(message).hint(hint));
            }
        } else {
            caller.may(Right::PublishNew, &pack.name)?;
            if let Some(NotYours { message, hint }) = scopes::refusal(&mut rows, &pack.name, &caller.login).await? {
                return Err(ApiError::forbidden(message).hint(hint));
            }
        }
    }
    Ok(())
}

pub(super) async fn prepare(
    State(service): State<Service>,
    caller: Caller,
    Json(body): Json<NewPublish>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let declared = body.declared()?;
    // A publish that a power cut takes before it was committed is begun again by its author.
    let passing = &service.registry.passing;
    limits::of_account(passing, Kind::Publish, &caller.login).await?;
    may_publish(&service, &caller, &declared).await?;
    let id = chance::id()?;
    let mut new = passing.begin().await?;
    sqlx::query("INSERT INTO publishes (id, login, dry_run, state, created, lease, result, token, address) VALUES ($1, $2, $3, 'open', $4, 0, '', $5, $6)")
        .bind(id.clone())
        .bind(caller.login)
        .bind(i64::from(body.dry_run))
        .bind(chance::now()?)
        .bind(caller.token)
        .bind(request::address())
        .execute(&mut *new)
        .await?;
    for pack in &declared {
        sqlx::query("INSERT INTO publish_packs (publish, name, version, sha256, size) VALUES ($1, $2, $3, $4, $5)")
            .bind(id.clone())
            .bind(pack.name.as_str().to_owned())
            .bind(pack.version.to_string())
            .bind(pack.sha256.to_string())
            .bind(signed(pack.size))
            .execute(&mut *new)
            .await?;
    }
    new.commit().await?;
    let missing: Vec<String> = declared.iter().map(|pack| pack.sha256.to_string()).collect();
    Ok((StatusCode::CREATED, Json(json!({ "session": id, "missing": missing }))))
}

/// A publish of the caller's; others are told that there is none.
async fn own(service: &Service, caller: &Caller, id: &str) -> Result<Publish, ApiError> {
    let mut rows = service.registry.rows.acquire().await?;
    let found = load(&mut rows, id).await?.filter(|publish| publish.login == caller.login);
    found.ok_or_else(|| {
        ApiError::absent(
            "there is no such publish of yours",
            "`POST /api/v1/publish` begins one, which is kept for a day",
        )
    })
}

/// An open publish of the caller's, of packs that the caller may publish.
async fn open(service: &Service, caller: &Caller, id: &str) -> Result<Publish, ApiError> {
    let publish = own(service, caller, id).await?;
    may_publish(service, caller, &publish.packs).await?;
    if publish.state != Stage::Open {
        return Err(ApiError::conflict(format!("the publish is {}, not open", publish.state.as_str())));
    }
    Ok(publish)
}

pub(super) async fn upload(
    State(service): State<Service>,
    caller: Caller,
    Path((id, sha256)): Path<(String, String)>,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let publish = open(&service, &caller, &id).await?;
    let sha256 = sha256.parse::<Sha256>().map_err(|error| ApiError::malformed(error.to_string()))?;
    let declared = publish.packs.iter().find(|pack| pack.sha256 == sha256);
    let declared = declared.ok_or_else(|| {
        ApiError::absent(
            "no pack of this publish has that digest",
            "`missing` in the answer of `POST /api/v1/publish` lists those that are awaited",
        )
    })?;
    if body.len() as u64 != declared.size || Sha256::of(&body) != sha256 {
        return Err(ApiError::malformed(format!("the upload is not the declared archive of `{}`", declared.name))
            .hint("it was cut short or changed on its way: upload it again"));
    }
    service.registry.blobs.put_passing(&waiting(&publish.id, &sha256), body.to_vec()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How long the answer may be held back until the publish has ended, in seconds.
#[derive(Deserialize)]
pub(super) struct Patience {
    #[serde(default)]
    wait: u64,
}

impl Patience {
    fn time(&self) -> Duration {
        Duration::from_secs(self.wait.min(LONGEST_WAIT))
    }
}

pub(super) async fn commit(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
    Query(patience): Query<Patience>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let publish = open(&service, &caller, &id).await?;
    for pack in &publish.packs {
        if !service.registry.blobs.has(&waiting(&publish.id, &pack.sha256)).await? {
            return Err(ApiError::conflict(format!("the archive of `{}` is not uploaded", pack.name)));
        }
    }
    let watch = service.ends.watch();
    // Who waits is told of the end only, which lasts; who goes away relies on what is said here.
    let rows = if patience.wait > 0 { &service.registry.passing } else { &service.registry.rows };
    let since = queue::waiting_since(chance::now()?);
    // A lease that somebody holds stays theirs.
    let done = sqlx::query("UPDATE publishes SET state = 'checking', lease = CASE WHEN lease > $1 THEN lease ELSE $2 END WHERE id = $3 AND state = 'open'")
        .bind(since)
        .bind(since)
        .bind(id)
        .execute(rows)
        .await?;
    if done.rows_affected() == 0 {
        return Err(ApiError::conflict("the publish is committed already"));
    }
    service.wake.notify_one();
    let publish = Publish { state: Stage::Checking, ..publish };
    let publish = watch.wait(&service, publish, patience.time()).await?;
    let status = if publish.state == Stage::Checking { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(told(&service, &publish).await?)))
}

pub(super) async fn state(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
    Query(patience): Query<Patience>,
) -> Result<Json<Value>, ApiError> {
    let watch = service.ends.watch();
    let publish = own(&service, &caller, &id).await?;
    let publish = watch.wait(&service, publish, patience.time()).await?;
    Ok(Json(told(&service, &publish).await?))
}

/// What is said of a publish.
async fn told(service: &Service, publish: &Publish) -> Result<Value, ApiError> {
    let mut answer: Value = if publish.result.is_empty() {
        let packs: Vec<Value> = publish
            .packs
            .iter()
            .map(|pack| json!({ "name": pack.name.as_str(), "version": pack.version.to_string(), "required_bump": null, "verdict": null, "log": null }))
            .collect();
        json!({ "packs": packs, "pointer": null, "diagnostics": [] })
    } else {
        serde_json::from_str(&publish.result)?
    };
    if matches!(publish.state, Stage::Published | Stage::Refused) {
        // The rows come first: whoever reads "published" here, or that a version is published already, finds it in the index.
        index::show_latest(&service.registry).await?;
    }
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("state".to_owned(), json!(publish.state.as_str()));
    }
    Ok(answer)
}

pub(super) async fn abandon(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let publish = open(&service, &caller, &id).await?;
    worker::forget(&service, &publish.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
