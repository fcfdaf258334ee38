//! The running server: what handlers share, the routes, the work in the background, and how it ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tower_http::timeout::TimeoutLayer;

use crate::accounts;
use crate::api;
use crate::compatibility::Checker;
use crate::configuration::Serve;
use crate::connections;
use crate::efforts::Efforts;
use crate::failure::Failure;
use crate::index;
use crate::kept::Kept;
use crate::limits::{self, Visits};
use crate::mails::delivery::{self, Office};
use crate::pages;
use crate::pruning::Pruner;
use crate::publish::bundled::Bundled;
use crate::publish::ended::Ends;
use crate::publish::folders::{self, Folders};
use crate::publish::names::Names;
use crate::publish::publisher::Publisher;
use crate::publish::reverification;
use crate::publish::turns::{self, Turns};
use crate::registry::Registry;
use crate::request;
use crate::search::table::Table;

/// Publishes that are checked at the same time; each check is a process with memory of its own.
const MOST_WORKERS: usize = 4;

/// How long requests under way may take when the server is told to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The pause between two rounds of work in the background.
const PAUSE: Duration = Duration::from_secs(5);

/// Every how many rounds search reads all packs again, and folders that were left are looked for.
const RELOAD: u64 = 12;

/// What every handler has.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) registry: Registry,
    /// The program that checks packs.
    pub(crate) exo: PathBuf,
    /// The packs that come with it.
    pub(crate) bundled: Arc<Bundled>,
    /// The names that are taken.
    pub(crate) names: Names,
    /// Where packs are laid out for the checker.
    pub(crate) folders: Folders,
    /// Where publishes wait to be made visible.
    pub(crate) turns: Turns,
    /// Tells who waits for the end of a publish.
    pub(crate) ends: Ends,
    /// What was served lately of the files that never change.
    pub(crate) kept: Kept,
    /// Where texts of packs are made into pages.
    pub(crate) rendering: Efforts,
    /// Where versions are compared.
    pub(crate) comparing: Efforts,
    /// What search looks through.
    pub(crate) table: Table,
    pub(crate) open_sign_up: bool,
    /// Whether the proxy before this server says where requests come from.
    pub(crate) behind_proxy: bool,
    /// What an address may ask for in a minute without saying who it is; 0 for no end.
    pub(crate) most_anonymous: i64,
    /// How long all packs of one publish together may take to be verified.
    pub(crate) publish_time: Duration,
    /// What addresses asked for.
    pub(crate) visits: Visits,
    /// Told when a publish waits for the worker.
    pub(crate) wake: Arc<Notify>,
    /// What happened, by kind.
    pub(crate) counters: IntCounterVec,
    /// How long the work of the background took, in seconds, by kind.
    pub(crate) durations: HistogramVec,
}

impl Service {
    /// Counts something for `/metrics`.
    pub(crate) fn count(&self, what: &str) {
        self.counters.with_label_values(&[what]).inc();
    }

    /// Notes for `/metrics` that some work took the time from `start` until now.
    pub(crate) fn took(&self, what: &str, start: Instant) {
        self.durations.with_label_values(&[what]).observe(start.elapsed().as_secs_f64());
    }
}

/// Makes and registers what `/metrics` shows.
fn measures() -> Result<(IntCounterVec, HistogramVec), prometheus::Error> {
    let counters = IntCounterVec::new(Opts::new("exo_registry_events_total", "What happened, by kind"), &["event"])?;
    let spent = HistogramOpts::new("exo_registry_work_seconds", "How long work on a publish took, by kind");
    let durations = HistogramVec::new(spent, &["work"])?;
    prometheus::register(Box::new(counters.clone()))?;
    prometheus::register(Box::new(durations.clone()))?;
    Ok((counters, durations))
}

/// The program that checks packs: the one that was named, or the `exo` beside this program.
///
/// # Errors
/// It is not known where this program is.
pub(crate) fn checking_program(named: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let own = std::env::current_exe()?;
    Ok(own.parent().map(|folder| folder.join("exo")).unwrap_or_else(|| PathBuf::from("exo")))
}

/// The registry and the packs that come with its checker. Most of a start is waiting for these, which have nothing to do with each
/// other; only where there is no registry nothing is set up before it is known that the program checks packs.
async fn parts(arguments: &Serve, exo: &Path) -> Result<(Registry, Bundled), Failure> {
    let place = &arguments.place;
    if !place.data.join("keys").is_dir() {
        Checker::of(exo).await?;
        std::fs::create_dir_all(&place.data)?;
    }
    let registry = Registry::open(place, arguments.origin.as_deref());
    let (registry, checker, bundled) = tokio::join!(registry, Checker::of(exo), Bundled::of(exo, &place.data));
    // What cannot check would refuse every pack, or let in every one: that is told first.
    checker?;
    Ok((registry?, bundled?))
}

/// Serves until the process is told to end.
///
/// # Errors
/// The registry cannot be opened or the address not be had.
pub(crate) async fn serve(arguments: &Serve) -> Result<(), Failure> {
    let exo = checking_program(arguments.exo.as_ref())?;
    let (counters, durations) = measures().map_err(|error| Failure::new(format!("metrics: {error}")))?;
    let (registry, bundled) = parts(arguments, &exo).await?;
    let office = Office::of(arguments, &registry)?;
    let bundled = Arc::new(bundled);
    let (open_sign_up, behind_proxy) = (arguments.open_sign_up, arguments.behind_proxy);
    let (turns, waiting) = turns::turns();
    let service = Service {
        registry,
        exo,
        names: Names::beside(&bundled),
        bundled,
        folders: Folders::default(),
        turns,
        ends: Ends::default(),
        kept: Kept::default(),
        rendering: Efforts::default(),
        comparing: Efforts::default(),
        table: Table::default(),
        open_sign_up,
        behind_proxy,
        most_anonymous: arguments.anonymous_limit,
        publish_time: Duration::from_secs(arguments.publish_time),
        visits: Visits::default(),
        wake: Arc::default(),
        counters,
        durations,
    };
    let listener = TcpListener::bind(arguments.listen).await.map_err(|error| no_address(arguments.listen, &error))?;
    let address = listener.local_addr()?;
    if let Some(code) = accounts::first_code(&service.registry.rows).await? {
        say!("one-time code for the first account (an administrator's): {code}");
        say!("  make it at http://{address}/sign-up?code={code}");
        say!(
            "  or: curl http://{address}/api/v1/accounts -H 'content-type: application/json' -d '{{\"login\": \"…\", \"password\": \"…\", \"code\": \"{code}\"}}'"
        );
    }
    say!("listening on http://{address}");
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_WORKERS));
    let _publisher = Publisher::start(service.clone(), waiting, workers)?;
    let background = [
        tokio::spawn(read_ahead(service.clone())),
        tokio::spawn(renew(service.clone())),
        tokio::spawn(reverification::run(service.clone())),
        tokio::spawn(delivery::run(service.clone(), office)),
    ];
    let ending = Arc::new(Notify::new());
    let (told, ends) = (ending.clone(), service.ends.clone());
    let server = connections::serve(listener, router(service), async move {
        end_signal().await;
        ends.end();
        told.notify_one();
    });
    let late = async {
        ending.notified().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        () = server => {}
        () = late => tracing::warn!("some requests did not end in time"),
    }
    background.iter().for_each(|work| work.abort());
    Ok(())
}

/// All routes.
pub(crate) fn router(service: Service) -> Router {
    let behind_proxy = service.behind_proxy;
    api::routes()
        .merge(pages::routes(&service))
        .layer(DefaultBodyLimit::max(api::LARGEST_BODY))
        .layer(TimeoutLayer::with_status_code(axum::http::StatusCode::REQUEST_TIMEOUT, Duration::from_secs(60)))
        .layer(from_fn(api::refusals::uniform))
        .layer(from_fn_with_state(service.clone(), api::refusals::without_null))
        .layer(from_fn_with_state(service.clone(), limits::throttled))
        .layer(from_fn_with_state(behind_proxy, request::identified))
        .with_state(service)
}

/// Why there is no listening at an address, and what to do about it.
fn no_address(address: SocketAddr, error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps a registry that runs already; end it, or name another port with --listen"
                .to_owned()
        }
        std::io::ErrorKind::PermissionDenied => {
            "this user may not listen there; name a port above 1023 with --listen".to_owned()
        }
        std::io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; name one that it has with --listen".to_owned()
        }
        _ => error.to_string(),
    };
    Failure::new(format!("cannot listen on {address}: {why}"))
}

/// Returns when the process is told to end.
async fn end_signal() {
    let interrupt = tokio::signal::ctrl_c();
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => drop(interrupt.await),
    }
}

/// Reads what searching and publishing look things up in, so that nobody has to wait for it; whoever comes before that reads it too.
async fn read_ahead(service: Service) {
    let found = service.table.read_ahead(&service.registry.rows).await;
    let names = async {
        let mut rows = service.registry.rows.acquire().await?;
        service.names.catch_up(&mut rows).await
    };
    if let Err(failure) = found.and(names.await) {
        tracing::error!(%failure, "what the registry holds could not be read ahead");
    }
}

/// Keeps the pointer and the table of search fresh, and removes what is of no more use.
async fn renew(service: Service) {
    if let Err(failure) = service.registry.blobs.remove_drafts().await {
        tracing::error!(%failure, "drafts that killed processes left could not be removed");
    }
    let mut pruner = Pruner::default();
    for round in 0_u64.. {
        if round % RELOAD == RELOAD - 1
            && let Err(failure) = service.table.reload(&service.registry.rows).await
        {
            tracing::error!(%failure, "the packs could not be read for search");
        }
        if round % RELOAD == 0 {
            remove_left_folders(&service).await;
        }
        if let Err(failure) = index::renew(&service.registry).await {
            tracing::error!(%failure, "the pointer could not be renewed");
        }
        if let Err(failure) = pruner.turn(&service).await {
            tracing::error!(%failure, "what is of no more use could not be removed");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes the folders of killed processes, in which packs were laid out.
async fn remove_left_folders(service: &Service) {
    let data = service.registry.data.clone();
    let removed = tokio::task::spawn_blocking(move || folders::remove_left(&data)).await;
    match removed.map_err(Failure::from).and_then(|removed| Ok(removed?)) {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "folders that killed processes left were removed"),
        Err(failure) => tracing::error!(%failure, "folders that killed processes left could not be removed"),
    }
}
