//! A registry as this machine sees it: nothing is given out that was not checked up to a signature that is believed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use exo_compiler::diagnostic::codes;
use exo_index::archive::Limits;
use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::envelope::Envelope;
use exo_index::registry::evidence::{Evidence, LogProof};
use exo_index::registry::layout;
use exo_index::registry::log::proof::{consistency_proof, inclusion_proof};
use exo_index::registry::log::tile::{ReadTile, Tile};
use exo_index::registry::malformed::Malformed;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::shard::{Shard, VersionEntry};
use exo_index::registry::snapshot::{Bucket, Snapshot, bucket_of};
use exo_index::registry::trust::{Refusal, Remembered, Trust, check_digest, named_root};
use exo_index::registry::verdict::{Verdict, VerdictRefusal};
use exo_index::version::Version;

use crate::cache::Cache;
use crate::failure::{Failure, Outcome};
use crate::filesystem;
use crate::policy::now;
use crate::registry::configuration::Configured;
use crate::registry::transport::Transport;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// The largest pointer or root.
const SMALL: u64 = 1 << 20;
/// The largest snapshot, bucket or shard.
const LARGE: u64 = 64 << 20;
/// More rotations of keys than this since the last visit are not followed.
const MOST_ROOTS: u64 = 1024;

/// A registry whose present state is believed.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) url: String,
    place: Source,
    transport: Transport,
    trust: Trust,
    offline: bool,
    /// Files by their SHA-256, of all registries.
    objects: PathBuf,
    /// The parts of the index that lead to packs, as far as they were read.
    snapshot: OnceLock<Snapshot>,
    buckets: Mutex<BTreeMap<u8, Arc<Bucket>>>,
}

/// Who answers for a registry, for messages: itself, or a mirror of it.
#[derive(Debug)]
struct Source {
    registry: String,
    mirror: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mirror {
            Some(mirror) => write!(f, "mirror `{mirror}` of registry `{}`", self.registry),
            None => write!(f, "registry `{}`", self.registry),
        }
    }
}

impl Source {
    /// Says where a mirror comes from that did something wrong; once.
    fn blamed(&self, failure: Box<Failure>) -> Box<Failure> {
        let Some(mirror) = &self.mirror else { return failure };
        let hint = format!(
            "`mirror = \"{mirror}\"` in the configuration names it; without that line the registry itself is asked"
        );
        if failure.hints.contains(&hint) { failure } else { failure.hint(hint) }
    }
}

/// What came between while a proof was made.
enum Unproven {
    Failed(Box<Failure>),
    Malformed(Malformed),
}

impl From<Malformed> for Unproven {
    fn from(malformed: Malformed) -> Self {
        Unproven::Malformed(malformed)
    }
}

impl Unproven {
    fn failure(self, place: &Source) -> Box<Failure> {
        match self {
            Unproven::Failed(failed) => failed,
            Unproven::Malformed(malformed) => {
                let failure = Failure::refused(format!("{place}: its log cannot be read: {malformed}"));
                place.blamed(failure.code(codes::DIGEST).hint(
                    "a file of the log is damaged, there or on the way: try again, or another mirror; if it stays, tell the \
                     registry's operator, who has `exo-registry verify-all`",
                ))
            }
        }
    }
}

/// Tiles from the registry; what is made of them is a proof that is checked.
struct Tiles<'a> {
    transport: &'a Transport,
    place: &'a Source,
}

impl ReadTile for Tiles<'_> {
    type Error = Unproven;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Unproven> {
        let path = layout::tile(tile);
        match self.transport.get(&path, tile.bytes() as u64) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Unproven::Failed(absent(self.place, &path))),
            Err(failed) => Err(Unproven::Failed(failed)),
        }
    }
}

fn absent(place: &Source, path: &str) -> Box<Failure> {
    place.blamed(
        Failure::environment(format!("{place} lacks `{path}`"))
            .hint("the registry or a mirror of it is incomplete; try again later, or another mirror"),
    )
}

/// What the refusal of a registry looks like to a person. A proof that a mirror serves says nothing against the registry.
fn disbelief(place: &Source, refusal: &Refusal) -> Box<Failure> {
    let is_of_the_log = matches!(refusal, Refusal::NotInLog { .. } | Refusal::SplitView { .. });
    if let (Some(mirror), true) = (&place.mirror, is_of_the_log) {
        let failure = Failure::refused(format!(
            "mirror `{mirror}` serves a log that does not fit what registry `{}` signed: {refusal}",
            place.registry
        ));
        return place.blamed(failure.code(codes::DIGEST).hint(
            "the mirror is damaged or tampered with: take another one; install nothing if the registry itself says the same, and tell its operator",
        ));
    }
    place.blamed(Failure::refused(format!("{place}: {refusal}")).code(codes::DIGEST).hint(refusal.hint()))
}

impl Client {
    /// Believes the registry's present state, or, offline, the one remembered. What is remembered is of the registry, whatever mirror it
    /// was seen through, so that no mirror can lead back behind what another one has shown.
    pub(crate) fn open(
        settings: &Settings,
        terminal: &Terminal,
        cache: &Cache,
        registry: &Configured,
    ) -> Outcome<Self> {
        let url = registry.url.as_str();
        let place = Source { registry: url.to_string(), mirror: registry.mirror.clone() };
        let transport = Transport::of(registry.mirror.as_deref().unwrap_or(url), terminal.tells())?;
        let pin = registry.root.as_ref();
        let file = memory_of(settings, url)?;
        let remembered = recall(&file)?;
        if let Some(trust) = &remembered {
            trust.check_pin(pin).map_err(|refusal| disbelief(&place, &refusal))?;
        }
        let trust = match remembered {
            Some(trust) if settings.offline => trust,
            None if settings.offline => {
                return Err(Failure::environment(format!("--offline: registry `{url}` was never visited"))
                    .hint("run the command once without --offline"));
            }
            remembered => {
                let trust = advance(terminal, &transport, (url, &place), remembered, pin);
                let trust = trust.map_err(|failed| place.blamed(failed))?;
                remember(&file, &trust)?;
                trust
            }
        };
        let objects = cache.root.join("objects");
        let (snapshot, buckets) = (OnceLock::new(), Mutex::default());
        Ok(Client {
            url: url.to_string(),
            place,
            transport,
            trust,
            offline: settings.offline,
            objects,
            snapshot,
            buckets,
        })
    }

    /// Which registry it is, whatever its URL and its present keys: the digest of its first root, as far as that was ever seen.
    pub(crate) fn root(&self) -> Option<&Sha256> {
        self.trust.first_root()
    }

    fn disbelief(&self, refusal: &Refusal) -> Box<Failure> {
        disbelief(&self.place, refusal)
    }

    fn pointer(&self) -> Outcome<&Pointer> {
        self.trust.pointer().ok_or_else(|| Failure::bug("a registry without a pointer was believed"))
    }

    /// Something by its hash: from the cache, else from the registry; checked in both cases.
    fn object(&self, what: &'static str, path: &str, digest: &Sha256, limit: u64) -> Outcome<Vec<u8>> {
        let kept = self.objects.join(digest.to_string());
        if let Ok(bytes) = filesystem::read_bytes(&kept)
            && Sha256::of(&bytes) == *digest
        {
            return Ok(bytes);
        }
        if self.offline {
            return Err(Failure::environment(format!("--offline: {what} is not in the cache"))
                .note(format!("it is `{path}` of registry `{}`", self.url))
                .hint("run the command once without --offline"));
        }
        let bytes = self.transport.get(path, limit)?.ok_or_else(|| absent(&self.place, path))?;
        check_digest(what, digest, &bytes).map_err(|refusal| self.disbelief(&refusal))?;
        filesystem::create_directory(&self.objects)?;
        filesystem::write_cached(&kept, &bytes)?;
        Ok(bytes)
    }

    /// What the registry says of a pack; `None` when it has none of that name.
    pub(crate) fn shard(&self, name: &PackName) -> Outcome<Option<Shard>> {
        let Some(bucket) = self.bucket(bucket_of(name))? else { return Ok(None) };
        let Some(digest) = bucket.0.get(name) else { return Ok(None) };
        let bytes = self.object("the index of a pack", &layout::shard(digest), digest, LARGE)?;
        Shard::parse(&bytes, name).map(Some).map_err(|malformed| self.malformed(malformed))
    }

    fn malformed(&self, malformed: Malformed) -> Box<Failure> {
        self.disbelief(&Refusal::Malformed(malformed))
    }

    fn snapshot(&self) -> Outcome<&Snapshot> {
        if let Some(snapshot) = self.snapshot.get() {
            return Ok(snapshot);
        }
        let snapshot = Snapshot::parse(&self.snapshot_bytes()?).map_err(|malformed| self.malformed(malformed))?;
        Ok(self.snapshot.get_or_init(|| snapshot))
    }

    fn snapshot_bytes(&self) -> Outcome<Vec<u8>> {
        let digest = self.pointer()?.snapshot;
        self.object("the snapshot", &layout::snapshot(&digest), &digest, LARGE)
    }

    /// A bucket of the index; `None` when no pack is in it.
    fn bucket(&self, number: u8) -> Outcome<Option<Arc<Bucket>>> {
        let died = |_| Failure::bug("a thread died while it read the index");
        if let Some(bucket) = self.buckets.lock().map_err(died)?.get(&number) {
            return Ok(Some(Arc::clone(bucket)));
        }
        let Some(bytes) = self.bucket_bytes(number)? else { return Ok(None) };
        let bucket = Bucket::parse(&bytes, number).map_err(|malformed| self.malformed(malformed))?;
        let bucket = Arc::new(bucket);
        self.buckets.lock().map_err(died)?.insert(number, Arc::clone(&bucket));
        Ok(Some(bucket))
    }

    fn bucket_bytes(&self, number: u8) -> Outcome<Option<Vec<u8>>> {
        let digest = self.snapshot()?.bucket(number);
        let read = |digest| self.object("a bucket of the index", &layout::bucket(&digest), &digest, LARGE);
        digest.map(read).transpose()
    }

    /// What shows elsewhere, without a network, that some versions were published: roots, pointer, the way to each pack, and proofs.
    pub(crate) fn evidence(&self, packs: &[(&PackName, &Version)]) -> Outcome<Evidence> {
        let malformed = |malformed: Malformed| self.disbelief(&Refusal::Malformed(malformed));
        let size = self.pointer()?.log_size;
        let remembered = self.trust.remember();
        let roots = (1..=self.trust.root().version).map(|number| {
            let path = layout::root(number);
            let bytes = self.transport.get(&path, SMALL)?.ok_or_else(|| absent(&self.place, &path))?;
            Envelope::parse("a root", &bytes).map_err(malformed)
        });
        let pointer = remembered.pointer.unwrap_or_default();
        let mut evidence = Evidence::new(self.url.clone(), roots.collect::<Outcome<_>>()?, pointer);
        let tiles = Tiles { transport: &self.transport, place: &self.place };
        for (name, version) in packs {
            let lacks = || {
                Failure::refused(format!("{} has no `{name} {version}`", self.place))
                    .code(codes::DIGEST)
                    .hint("what is locked and what the registry has differ; do not use this version before its operator explains it")
            };
            let shard = self.shard(name)?.ok_or_else(lacks)?;
            let entry = shard.version(version).ok_or_else(lacks)?;
            let path = inclusion_proof(&tiles, entry.log, size).map_err(|unproven| unproven.failure(&self.place))?;
            evidence.proofs.push(LogProof { name: (*name).clone(), version: (*version).clone(), path });
            self.way_to(name)?.iter().for_each(|bytes| evidence.add_object(bytes));
        }
        Ok(evidence)
    }

    /// The files that lead to a pack: snapshot, bucket and shard.
    fn way_to(&self, name: &PackName) -> Outcome<Vec<Vec<u8>>> {
        let number = bucket_of(name);
        let shard = self.bucket(number)?.and_then(|bucket| bucket.0.get(name).copied());
        let shard = shard.map(|digest| self.object("the index of a pack", &layout::shard(&digest), &digest, LARGE));
        Ok([Some(self.snapshot_bytes()?), self.bucket_bytes(number)?, shard.transpose()?]
            .into_iter()
            .flatten()
            .collect())
    }

    /// The names of all packs, as far as they come within some time: for the one question what a wrong name was meant to be.
    ///
    /// # Errors
    /// The index cannot be had, or is not sound.
    pub(crate) fn names(&self, within: Duration) -> Outcome<Vec<PackName>> {
        let start = Instant::now();
        let mut names = Vec::new();
        for number in 0..=u8::MAX {
            if start.elapsed() > within {
                break;
            }
            names.extend(self.bucket(number)?.iter().flat_map(|bucket| bucket.0.keys().cloned()));
        }
        Ok(names)
    }

    /// Refuses a version that was not published through the log.
    pub(crate) fn check_logged(&self, name: &PackName, entry: &VersionEntry) -> Outcome<()> {
        let size = self.pointer()?.log_size;
        let tiles = Tiles { transport: &self.transport, place: &self.place };
        let proof = inclusion_proof(&tiles, entry.log, size).map_err(|unproven| unproven.failure(&self.place))?;
        self.trust.check_inclusion(name, entry, &proof).map_err(|refusal| self.disbelief(&refusal))
    }

    /// What the registry's own checker found about a version, as it signed it; `None` where it has not checked, and
    /// offline where that was not seen before.
    pub(crate) fn verdict(&self, name: &PackName, entry: &VersionEntry) -> Outcome<Option<Verdict>> {
        let Some(digest) = &entry.verdict else { return Ok(None) };
        if self.offline && !self.objects.join(digest.to_string()).is_file() {
            return Ok(None);
        }
        let bytes = self.object("a verdict", &layout::verdict(digest), digest, LARGE)?;
        let unsound = |why: VerdictRefusal| {
            let why = match why {
                VerdictRefusal::Malformed(malformed) => malformed.to_string(),
                VerdictRefusal::NotSigned => "no key of the registry signed it".to_string(),
                VerdictRefusal::OtherSubject { field } => format!("it is about another {field}"),
            };
            Failure::refused(format!("{}: the verdict on `{name} {}`: {why}", self.place, entry.version))
                .code(codes::DIGEST)
                .hint("tell the registry's operator")
        };
        Verdict::read(&bytes, self.trust.root(), name, entry).map(Some).map_err(unsound)
    }

    /// The archive of a version, which is shown to have been published through the log.
    pub(crate) fn archive(&self, name: &PackName, entry: &VersionEntry) -> Outcome<Vec<u8>> {
        let limit = Limits::default().archive_bytes;
        if !self.offline {
            self.check_logged(name, entry)?;
        }
        self.object("the archive", &layout::blob(&entry.archive), &entry.archive, limit)
    }
}

/// What this user's machine remembers of a registry.
pub(crate) fn known(settings: &Settings, url: &str) -> Outcome<Option<Trust>> {
    recall(&memory_of(settings, url)?)
}

/// The file in which this user's machine remembers a registry.
fn memory_of(settings: &Settings, url: &str) -> Outcome<PathBuf> {
    Ok(memories(settings)?.join(format!("{}.json", Sha256::of(url.as_bytes()))))
}

/// The folder of what this user's machine remembers of registries.
///
/// # Errors
/// There is none.
pub(crate) fn memories(settings: &Settings) -> Outcome<PathBuf> {
    let environment = &settings.environment;
    let data = environment.xdg_data_home.clone().filter(|path| path.is_absolute());
    let data =
        data.or_else(|| environment.home.as_ref().map(|home| settings.directory.join(home).join(".local/share")));
    let data = data.ok_or_else(|| {
        Failure::environment("there is no folder to remember registries in: neither XDG_DATA_HOME nor HOME is set")
            .hint("set XDG_DATA_HOME to a folder that exo may write to")
    })?;
    Ok(data.join("exo/trust"))
}

fn recall(file: &std::path::Path) -> Outcome<Option<Trust>> {
    let Some(text) = filesystem::read_optional(file)? else {
        return Ok(None);
    };
    let damaged = |why: String| {
        Failure::environment(format!("`{}` is damaged: {why}", file.display())).hint(
            "it remembers what was seen of a registry; restore it, or delete it to begin to trust the registry anew",
        )
    };
    let remembered: Remembered = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    Trust::recall(remembered).map(Some).map_err(|refusal| damaged(refusal.to_string()))
}

fn remember(file: &std::path::Path, trust: &Trust) -> Outcome<()> {
    let text = serde_json::to_string(&trust.remember()).map_err(|error| Failure::bug(error.to_string()))?;
    if filesystem::read_optional(file)?.as_deref() == Some(text.as_str()) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        filesystem::create_directory(folder)?;
    }
    filesystem::write_atomic(file, text.as_bytes())
}

/// From what is remembered to what the registry serves now, by the steps of the protocol.
fn advance(
    terminal: &Terminal,
    transport: &Transport,
    (url, place): (&str, &Source),
    remembered: Option<Trust>,
    pin: Option<&Sha256>,
) -> Outcome<Trust> {
    let get = |path: &str| transport.get(path, SMALL)?.ok_or_else(|| absent(place, path));
    let refused = |refusal: Refusal| disbelief(place, &refusal);
    let malformed = |malformed: Malformed| disbelief(place, &Refusal::Malformed(malformed));
    let root = |number: u64| Envelope::parse("a root", &get(&layout::root(number))?).map_err(malformed);
    let note = get(layout::LATEST)?;
    let newest = named_root(&note).map_err(malformed)?;
    let mut trust = match remembered {
        Some(trust) => trust,
        None => {
            let first = root(1)?;
            if pin.is_none() {
                terminal.note(&format!(
                    "registry `{url}` is visited for the first time; its root is sha256:{}",
                    first.payload_digest()
                ));
            }
            Trust::first(first, pin).map_err(refused)?
        }
    };
    let last = newest.min(trust.root().version.saturating_add(MOST_ROOTS));
    for number in trust.root().version + 1..=last {
        trust = trust.next_root(root(number)?).map_err(refused)?;
    }
    let candidate = trust.consider(&note, now()).map_err(refused)?;
    let proof = match candidate.proof_from() {
        None => Vec::new(),
        Some(old) => consistency_proof(&Tiles { transport, place }, old, candidate.pointer().log_size)
            .map_err(|unproven| unproven.failure(place))?,
    };
    candidate.accept(&proof).map_err(refused)
}
