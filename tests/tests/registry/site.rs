//! A static registry made by hand, so that it can also be one that no server would write, and a file server that counts.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use exo_index::digest::Sha256;
use exo_index::name::PackName;
use exo_index::registry::build::{index, shard_object};
use exo_index::registry::envelope::Envelope;
use exo_index::registry::keys::SecretKey;
use exo_index::registry::layout;
use exo_index::registry::log::append::MemoryLog;
use exo_index::registry::log::proof::inclusion_proof;
use exo_index::registry::log::tile::{ReadTile, Tile};
use exo_index::registry::malformed::Malformed;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::root::Root;
use exo_index::registry::shard::{DependencyEntry, PackEntry, Shard, VersionEntry};
use exo_index::registry::snapshot::{Bucket, Snapshot};
use exo_index::registry::trust::{Trust, named_root};
use exo_index::version::{Requirement, Version};
use tempfile::TempDir;

use crate::server::Pack;

pub(crate) const ORIGIN: &str = "packs.example";

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

/// The registry: what it has, and the folder below which it is served.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    log: MemoryLog,
    shards: BTreeMap<PackName, Shard>,
    pub(crate) pointer: Pointer,
}

impl Site {
    /// A registry without packs.
    pub(crate) fn new() -> Self {
        let pointer = Pointer {
            origin: ORIGIN.into(),
            log_size: 0,
            log_root: Sha256::of(b""),
            version: 0,
            snapshot: Sha256::of(b""),
            root: 1,
            issued: now(),
            expires: now() + 1000,
        };
        let folder = tempfile::tempdir().unwrap();
        let site = Self { folder, log: MemoryLog::default(), shards: BTreeMap::new(), pointer };
        let root = site.root(1).sign(&[&key(1)]).unwrap();
        write(site.folder.path(), &layout::root(1), &root.to_bytes().unwrap());
        site
    }

    pub(crate) fn root(&self, version: u64) -> Root {
        Root {
            registry: ORIGIN.into(),
            version,
            expires: now() + 1000,
            threshold: 1,
            root_keys: vec![key(1).public()],
            index_keys: vec![key(2).public()],
            verdict_keys: vec![],
        }
    }

    /// Publishes packs without dependencies, and shows them.
    pub(crate) fn publish(&mut self, packs: &[Pack]) {
        let mut leaves = Vec::new();
        for pack in packs {
            let name = PackName::parse(&pack.name).unwrap();
            let entry = entry(pack, self.log.size() + leaves.len() as u64);
            leaves.push(entry.publish_leaf(&name).to_bytes());
            write(self.folder.path(), &layout::blob(&entry.archive), &pack.archive.bytes);
            let new = || Shard {
                pack: PackEntry {
                    name: name.clone(),
                    created: now(),
                    owners: vec![],
                    verified: false,
                    deprecated: None,
                    advisories: vec![],
                    archived: None,
                },
                versions: vec![],
            };
            self.shards.entry(name.clone()).or_insert_with(new).versions.push(entry);
        }
        self.append(&leaves);
    }

    /// Adds leaves to the log and shows everything as it is now.
    pub(crate) fn append(&mut self, leaves: &[Vec<u8>]) {
        let appended = self.log.append(leaves).unwrap();
        let folder = self.folder.path();
        for (tile, bytes) in &appended.tiles {
            write(folder, &layout::tile(tile), bytes);
        }
        for ((number, width), bytes) in &appended.entries {
            write(folder, &layout::entries(*number, *width), bytes);
        }
        let mut digests = BTreeMap::new();
        for (name, shard) in &self.shards {
            let (digest, object) = shard_object(shard).unwrap();
            write(folder, &object.path, &object.bytes);
            digests.insert(name.clone(), digest);
        }
        let index = index(&digests);
        for object in &index.objects {
            write(folder, &object.path, &object.bytes);
        }
        self.pointer.log_size = appended.size;
        self.pointer.log_root = appended.root;
        self.pointer.snapshot = index.snapshot;
        self.pointer.version += 1;
        self.sign(&self.pointer, &key(2));
    }

    /// Forgets the log, so that what comes next is another history.
    pub(crate) fn forget_log(&mut self) {
        self.log = MemoryLog::default();
        self.shards.clear();
    }

    pub(crate) fn sign(&self, pointer: &Pointer, by: &SecretKey) {
        write(self.folder.path(), layout::LATEST, pointer.sign(&[by]).unwrap().to_string().as_bytes());
    }

    pub(crate) fn pin(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join(layout::root(1))).unwrap();
        format!("sha256:{}", Envelope::parse("the root", &bytes).unwrap().payload_digest())
    }
}

fn entry(pack: &Pack, log: u64) -> VersionEntry {
    VersionEntry {
        version: Version::parse(&pack.version).unwrap(),
        kind: exo_index::manifest::PackKind::Schedule,
        published: now(),
        archive: pack.archive.sha256,
        size: pack.archive.bytes.len() as u64,
        tree: pack.archive.tree,
        exo: Requirement::parse(">=0.1").unwrap(),
        dependencies: Vec::<DependencyEntry>::new(),
        licence: None,
        description: None,
        api: exo_index::digest::Blake3::of(b"api"),
        raw_c: None,
        waived: 0,
        claims: 0,
        instructions: 0,
        targets: vec![],
        verdict: None,
        yanked: None,
        quarantined: None,
        log,
    }
}

pub(crate) fn write(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

struct Tiles<'a>(&'a Path);

impl ReadTile for Tiles<'_> {
    type Error = Malformed;

    fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Malformed> {
        Ok(std::fs::read(self.0.join(layout::tile(tile))).unwrap())
    }
}

/// Follows everything that the pointer of a folder leads to, as one who visits it first; how many packs there are. `None` without a pointer.
#[track_caller]
pub(crate) fn whole(folder: &Path) -> Option<usize> {
    let note = std::fs::read(folder.join(layout::LATEST)).ok()?;
    let file = |path: String| std::fs::read(folder.join(&path)).unwrap_or_else(|_| panic!("{path} is missing"));
    let hashed = |path: String, digest: &Sha256| {
        let bytes = file(path);
        assert_eq!(Sha256::of(&bytes), *digest);
        bytes
    };
    let root = |number| Envelope::parse("a root", &file(layout::root(number))).unwrap();
    let mut trust = Trust::first(root(1), None).unwrap();
    for number in 2..=named_root(&note).unwrap() {
        trust = trust.next_root(root(number)).unwrap();
    }
    let trust = trust.consider(&note, now()).unwrap().accept(&[]).unwrap();
    let pointer = trust.pointer().unwrap();
    let snapshot = Snapshot::parse(&hashed(layout::snapshot(&pointer.snapshot), &pointer.snapshot)).unwrap();
    let mut packs = 0;
    for number in 0..=u8::MAX {
        let Some(digest) = snapshot.bucket(number) else { continue };
        for (name, digest) in Bucket::parse(&hashed(layout::bucket(&digest), &digest), number).unwrap().0 {
            packs += 1;
            for entry in &Shard::parse(&hashed(layout::shard(&digest), &digest), &name).unwrap().versions {
                hashed(layout::blob(&entry.archive), &entry.archive);
                let proof = inclusion_proof(&Tiles(folder), entry.log, pointer.log_size).unwrap();
                trust.check_inclusion(&name, entry, &proof).unwrap();
            }
        }
    }
    Some(packs)
}

/// All files below a folder with their bytes; those of the mirror's own lock and drafts are left out.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.starts_with(folder.join("v1")) {
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A file server, for as long as the process runs.
pub(crate) struct FileServer {
    pub(crate) url: String,
    /// The head of each request.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl FileServer {
    /// Serves a folder. The request of the number `silent_at`, and all after it, get no answer.
    pub(crate) fn start(folder: &Path, silent_at: Option<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (folder, log) = (folder.to_path_buf(), Arc::clone(&heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, log) = (folder.clone(), Arc::clone(&log));
                std::thread::spawn(move || answer(&stream, &folder, &log, silent_at));
            }
        });
        Self { url, heads }
    }

    pub(crate) fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn answer(stream: &TcpStream, folder: &Path, log: &Mutex<Vec<String>>, silent_at: Option<usize>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    let number = {
        let mut log = log.lock().unwrap();
        log.push(head.to_lowercase());
        log.len()
    };
    if silent_at.is_some_and(|at| number >= at) {
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let path = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, bytes) = match std::fs::read(folder.join(path)) {
        Ok(bytes) => ("200 OK", bytes),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", bytes.len());
    let mut stream = stream;
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes));
}
