//! Turns of the index: publishes that are ready at the same time become visible together, by one transaction, one write of the files
//! and one signed pointer.
//!
//! Who is ready while a turn is under way waits for the next one, so that turns are as large as there is much to do. Each publish is
//! judged on its own, within a savepoint, in the order in which they were ready; one that is refused leaves no trace in the rows of the others.
//! Where a turn of several fails as a whole, each of them is tried alone, so that one that cannot be written holds nobody up.

use std::collections::BTreeMap;
use std::time::Instant;

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::layout;
use exo_index::registry::log::leaf::Leaf;
use exo_index::registry::verdict::Verdict;
use exo_index::version::Version;
use serde_json::{Value, json};
use sqlx::{Acquire as _, AnyConnection, Row as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::declaration::{Publish, State, finish};
use super::examination::{Examined, diagnostic};
use super::names::View;
use super::refusals::refuse;
use super::verification::Found;
use super::{admission, waiting};
use crate::audit;
use crate::audit::action::Action;
use crate::chance::{self, unsigned};
use crate::database::{self, Rows};
use crate::failure::Failure;
use crate::index::{self, Change};
use crate::service::Service;

/// Publishes in one turn: what is made visible together is also what is done again together.
const MOST: usize = 64;

/// What was found of the packs of a publish.
pub(crate) type Findings = Vec<(Examined, Found)>;

/// What became of a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    Published,
    /// It was a dry run.
    Checked,
    Refused,
    /// Another worker had taken it over after a long pause, and has ended it.
    OfAnother,
}

/// A publish that is ready.
struct Ready {
    publish: Publish,
    found: Findings,
    became: oneshot::Sender<Result<Became, Failure>>,
}

/// Where publishes wait for a turn.
#[derive(Clone)]
pub(crate) struct Turns(mpsc::Sender<Ready>);

/// What comes out at the other end.
pub(crate) struct Waiting(mpsc::Receiver<Ready>);

/// A place to wait for turns.
pub(crate) fn turns() -> (Turns, Waiting) {
    let (enter, leave) = mpsc::channel(MOST);
    (Turns(enter), Waiting(leave))
}

impl Turns {
    /// Lets a publish in by the next turn, or says why not; gives up the worker's place as soon as it waits.
    ///
    /// # Errors
    /// It could not be decided; it may be tried again.
    pub(crate) async fn admit(
        &self,
        publish: Publish,
        found: Findings,
        place: OwnedSemaphorePermit,
    ) -> Result<Became, Failure> {
        let ending = || Failure::new("the server ends");
        let (became, told) = oneshot::channel();
        self.0.send(Ready { publish, found, became }).await.map_err(|_| ending())?;
        drop(place);
        told.await.map_err(|_| ending())?
    }
}

/// Takes turns until it is aborted.
pub(crate) async fn run(service: Service, mut waiting: Waiting) {
    while let Some(first) = waiting.0.recv().await {
        let mut ready = vec![first];
        let start = Instant::now();
        let begun = database::turn(&service.registry.rows).await;
        // Whoever came while others had the turn comes along.
        while ready.len() < MOST
            && let Ok(next) = waiting.0.try_recv()
        {
            ready.push(next);
        }
        let done = match begun {
            Ok(turn) => admit_all(&service, turn, &ready).await,
            Err(failure) => Err(failure),
        };
        service.took("admission", start);
        match done {
            Ok(became) => tell(ready, became.into_iter().map(Ok)),
            Err(failure) if ready.len() == 1 => tell(ready, [Err(failure)]),
            Err(failure) => {
                tracing::warn!(%failure, "a turn of {} publishes failed; each is tried alone", ready.len());
                for alone in ready {
                    let became = admit_alone(&service, &alone).await;
                    tell(vec![alone], [became]);
                }
            }
        }
    }
}

fn tell(ready: Vec<Ready>, became: impl IntoIterator<Item = Result<Became, Failure>>) {
    for (ready, became) in ready.into_iter().zip(became) {
        // A worker that is aborted does not wait any longer.
        let _ = ready.became.send(became);
    }
}

async fn admit_alone(service: &Service, ready: &Ready) -> Result<Became, Failure> {
    let start = Instant::now();
    let turn = database::turn(&service.registry.rows).await?;
    let became = admit_all(service, turn, std::slice::from_ref(ready)).await;
    service.took("admission", start);
    became?.pop().ok_or_else(|| Failure::new("a turn decided nothing"))
}

/// What a turn changes, as far as it is known.
struct Turn {
    /// The time that versions enter with.
    now: i64,
    /// The number of the next leaf.
    position: u64,
    /// The number of the pointer that shows all of it.
    pointer: i64,
    change: Change,
}

/// What one publish changes.
struct Entering {
    names: Vec<PackName>,
    leaves: Vec<Leaf>,
    files: Vec<(String, Vec<u8>)>,
    /// The answer of each pack.
    answers: Vec<Value>,
}

/// Decides about publishes in one transaction, and makes visible what was let in.
async fn admit_all(service: &Service, mut rows: Rows, ready: &[Ready]) -> Result<Vec<Became>, Failure> {
    let registry = &service.registry;
    let row = sqlx::query("SELECT log_size, pointer FROM state WHERE id = 1").fetch_one(&mut *rows).await?;
    let mut turn = Turn {
        now: time_of_publish(&mut rows).await?,
        position: unsigned(row.try_get("log_size")?),
        pointer: row.try_get::<i64, _>("pointer")? + 1,
        change: Change::default(),
    };
    let mut became = Vec::with_capacity(ready.len());
    for one in ready {
        became.push(decide(service, &mut rows, &mut turn, one).await?);
    }
    let visible = became.contains(&Became::Published);
    if visible {
        index::write(registry, &mut rows, turn.change, chance::now()?).await?;
    }
    rows.commit().await?;
    if visible {
        index::show_decided(registry).await?;
    }
    Ok(became)
}

/// Decides about one publish, and writes its rows.
async fn decide(service: &Service, rows: &mut Rows, turn: &mut Turn, ready: &Ready) -> Result<Became, Failure> {
    let id = &ready.publish.id;
    match standing(rows, id).await? {
        Standing::Ended => return Ok(Became::OfAnother),
        Standing::Revoked => {
            refuse(rows, &ready.publish, revoked(&ready.publish)).await?;
            return Ok(Became::Refused);
        }
        Standing::Waits => {}
    }
    let mut step = rows.begin().await?;
    let judged = enter(service, &mut step, turn, ready).await?;
    match judged {
        Ok(entering) if !ready.publish.dry_run => {
            let answer = json!({ "packs": entering.answers, "pointer": turn.pointer, "diagnostics": [] });
            if !finish(&mut step, id, State::Published, &answer).await? {
                step.rollback().await?;
                return Ok(Became::OfAnother);
            }
            step.commit().await?;
            turn.position += entering.leaves.len() as u64;
            turn.change.packs.extend(entering.names);
            turn.change.leaves.extend(entering.leaves);
            turn.change.files.extend(entering.files);
            Ok(Became::Published)
        }
        Ok(entering) => {
            step.rollback().await?;
            let answer = json!({ "packs": entering.answers, "pointer": null, "diagnostics": [] });
            finish(rows, id, State::Checked, &answer).await?;
            Ok(Became::Checked)
        }
        Err(reasons) => {
            step.rollback().await?;
            refuse(rows, &ready.publish, reasons).await?;
            Ok(Became::Refused)
        }
    }
}

/// Where a publish stands when its turn has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Waits,
    /// The token or session that it was begun with is there no longer.
    Revoked,
    /// Another worker has ended it.
    Ended,
}

/// Whether a publish is still to be decided, and whoever began it may still do so. A token whose time is over meanwhile was good when it was
/// used; one that was taken back may have been in the wrong hands. Publishes of before tokens were written down have none.
async fn standing(rows: &mut AnyConnection, id: &str) -> Result<Standing, Failure> {
    let query = "SELECT CASE WHEN p.token = '' OR t.id IS NOT NULL THEN 1 ELSE 0 END AS good FROM publishes p \
                 LEFT JOIN tokens t ON t.id = p.token WHERE p.id = $1 AND p.state = 'checking'";
    let Some(row) = sqlx::query(query).bind(id.to_owned()).fetch_optional(rows).await? else {
        return Ok(Standing::Ended);
    };
    Ok(if row.try_get::<i64, _>("good")? == 1 { Standing::Waits } else { Standing::Revoked })
}

/// What the owner of the account reads, who may be the one that took the token back.
fn revoked(publish: &Publish) -> Vec<Value> {
    let hint = "publish it again with a token or session that is good; where this one was stolen, look at the log of the account for what else it did";
    let reason = |pack| {
        let message = "the token or session that began the publish was ended before its turn came";
        diagnostic(pack, "token", message, Some(hint))
    };
    publish.packs.iter().map(reason).collect()
}

/// Writes the rows of the packs of a publish, or says what stands against it.
async fn enter(
    service: &Service,
    rows: &mut AnyConnection,
    turn: &Turn,
    Ready { publish, found, .. }: &Ready,
) -> Result<Result<Entering, Vec<Value>>, Failure> {
    let mut reasons: Vec<Value> = Vec::new();
    let mut entering = Entering { names: Vec::new(), leaves: Vec::new(), files: Vec::new(), answers: Vec::new() };
    for ((pack, verified), position) in found.iter().zip(turn.position..) {
        // Again under the lock: another publish may have come first.
        let against = admission::reasons_against(service, rows, View::Uncommitted, pack, &publish.login).await?;
        reasons.extend(against);
        reasons.extend(admission::dependencies_gone(rows, pack, verified, found, &service.bundled).await?);
        let bump = admission::bump(rows, pack, verified).await?;
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
        let declared = &pack.declared;
        let bytes = verdict(service, pack, verified, turn.now)?;
        let digest = Sha256::of(&bytes);
        let targets = admission::targets(rows, pack, verified, found, &service.bundled).await?;
        let when = (turn.now, position);
        let entry = admission::admit(rows, pack, verified, targets, digest, &publish.login, when).await?;
        entering.leaves.push(entry.publish_leaf(&declared.name));
        audit::note_publish(rows, publish, Action::Publish, declared, "").await?;
        entering.answers.push(json!({
            "name": declared.name.as_str(), "version": declared.version.to_string(),
            "required_bump": bump.map(|(required, _, _)| required.bump.as_str()),
            "verdict": (!publish.dry_run).then(|| digest.to_string()), "log": (!publish.dry_run).then_some(position),
        }));
        entering.names.push(declared.name.clone());
        if !publish.dry_run {
            let archive = service.registry.blobs.need(&waiting(&publish.id, &declared.sha256)).await?;
            entering.files.push((layout::blob(&declared.sha256), archive));
            entering.files.push((layout::verdict(&digest), bytes));
        }
    }
    Ok(if reasons.is_empty() { Ok(entering) } else { Err(reasons) })
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
