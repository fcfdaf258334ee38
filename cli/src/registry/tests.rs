//! A registry in a folder, as it should be and tampered with.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use clap::Parser as _;
use exo_index::archive::PackFiles;
use exo_index::digest::{Blake3, Sha256};
use exo_index::manifest::PackKind;
use exo_index::registry::build::{index, shard_object};
use exo_index::registry::keys::SecretKey;
use exo_index::registry::layout;
use exo_index::registry::log::append::MemoryLog;
use exo_index::registry::log::tile::Tile;
use exo_index::registry::pointer::Pointer;
use exo_index::registry::root::Root;
use exo_index::registry::shard::PackEntry;
use exo_index::version::Requirement;

use super::*;
use crate::arguments::Arguments;
use crate::cache::Cache;
use crate::environment::Environment;
use crate::policy::now;
use crate::registry::configuration::Configured;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// A registry that is written to `site`, with one pack `a` and as many other leaves in the log as wanted.
struct Site {
    folder: tempfile::TempDir,
    log: MemoryLog,
    pointer: Pointer,
    entry: VersionEntry,
}

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

fn name() -> PackName {
    PackName::parse("a").unwrap()
}

/// What a checker says of the pack.
fn verdict(entry: &VersionEntry) -> Verdict {
    Verdict {
        registry: "packs.example".into(),
        name: name(),
        version: entry.version.clone(),
        archive: entry.archive,
        tree: entry.tree,
        exo: Version::new(0, 1, 0),
        checker: "1".into(),
        solver: "z3".into(),
        dependencies: BTreeMap::new(),
        checked: 5,
        claims: vec![],
        tests: 0,
        instructions: vec![],
        targets: vec![],
        waived: vec![],
        raw_c: None,
        procs: vec![],
        claimed_procs: vec![],
    }
}

impl Site {
    fn new() -> Self {
        Self::checked(None)
    }

    /// With a verdict that a key signed.
    fn checked(signer: Option<&SecretKey>) -> Self {
        let text = "[pack]\nname = \"a\"\nversion = \"1.0.0\"\nkind = \"schedule\"\n";
        let files = BTreeMap::from([
            (MANIFEST_FILE.to_string(), text.as_bytes().to_vec()),
            ("src/lib.exo".to_string(), b"x = 1\n".to_vec()),
        ]);
        let built = archive::build(&PackFiles { files }, &Limits::default()).unwrap();
        let mut entry = VersionEntry {
            version: Version::new(1, 0, 0),
            kind: PackKind::Schedule,
            published: 5,
            archive: built.sha256,
            size: built.bytes.len() as u64,
            tree: built.tree,
            exo: Requirement::ANY,
            dependencies: vec![],
            licence: None,
            description: None,
            api: Blake3::of(b"api"),
            raw_c: None,
            waived: 0,
            claims: 0,
            instructions: 0,
            targets: vec![],
            verdict: None,
            yanked: None,
            quarantined: None,
            log: 0,
        };
        let signed = signer.map(|signer| verdict(&entry).sign(signer).unwrap().to_bytes().unwrap());
        entry.verdict = signed.as_ref().map(|bytes| Sha256::of(bytes));
        let pack = PackEntry {
            name: name(),
            created: 5,
            owners: vec![],
            verified: false,
            deprecated: None,
            advisories: vec![],
            archived: None,
        };
        let (digest, shard) = shard_object(&Shard { pack, versions: vec![entry.clone()] }).unwrap();
        let index = index(&BTreeMap::from([(name(), digest)]));
        let pointer = Pointer {
            origin: "packs.example".into(),
            log_size: 0,
            log_root: Sha256::of(b""),
            version: 0,
            snapshot: index.snapshot,
            root: 1,
            issued: now(),
            expires: now() + 1000,
        };
        let folder = tempfile::tempdir().unwrap();
        let mut site = Site { folder, log: MemoryLog::default(), pointer, entry };
        for object in index.objects.iter().chain([&shard]) {
            site.write(&object.path, &object.bytes);
        }
        site.write(&layout::blob(&built.sha256), &built.bytes);
        if let Some(bytes) = signed {
            site.write(&layout::verdict(&Sha256::of(&bytes)), &bytes);
        }
        let root = Root {
            registry: "packs.example".into(),
            version: 1,
            expires: now() + 1000,
            threshold: 1,
            root_keys: vec![key(1).public()],
            index_keys: vec![key(2).public()],
            verdict_keys: vec![key(3).public()],
        };
        site.write("v1/root/1.json", &root.sign(&[&key(1)]).unwrap().to_bytes().unwrap());
        let leaf = site.entry.publish_leaf(&name()).to_bytes();
        site.publish(&[leaf, b"another".to_vec()]);
        site
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join("site").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn sign(&self, pointer: &Pointer) {
        self.write(layout::LATEST, pointer.sign(&[&key(2)]).unwrap().to_string().as_bytes());
    }

    /// Adds leaves to the log and makes a new pointer.
    fn publish(&mut self, leaves: &[Vec<u8>]) {
        let appended = self.log.append(leaves).unwrap();
        for (tile, bytes) in &appended.tiles {
            self.write(&layout::tile(tile), bytes);
        }
        self.pointer.log_size = appended.size;
        self.pointer.log_root = appended.root;
        self.pointer.version += 1;
        self.sign(&self.pointer);
    }

    fn url(&self) -> String {
        format!("file://{}", self.folder.path().join("site").display())
    }

    fn settings(&self, offline: bool) -> Settings {
        let root = self.folder.path();
        let environment = Environment {
            home: Some(root.join("home")),
            cache_dir: Some(root.join("cache")),
            ..Environment::default()
        };
        let words: &[&str] = if offline { &["exo", "check", "--offline"] } else { &["exo", "check"] };
        let global = Arguments::try_parse_from(words).unwrap().global;
        Settings::resolve(&global, environment).unwrap()
    }

    fn open(&self, offline: bool, pin: Option<&Sha256>) -> Outcome<Client> {
        let settings = self.settings(offline);
        let registry = Configured { root: pin.copied(), ..Configured::of_url(&self.url()) };
        Client::open(&settings, &Terminal::new(&settings), &Cache::open(&settings)?, &registry)
    }

    fn files(&self, client: Client) -> Outcome<BTreeMap<String, Vec<u8>>> {
        packs_of(&Arc::new(client), &name())?[0].unpack()
    }

    fn forget_objects(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path().join("cache"));
    }

    #[track_caller]
    fn refuses(&self, message: &str, hint: &str) {
        self.forget_objects();
        let failed = self.open(false, None).and_then(|client| self.files(client)).unwrap_err();
        assert!(failed.message.contains(message), "{}", failed.message);
        assert!(failed.hints.iter().any(|text| text.contains(hint)), "{:?}", failed.hints);
    }
}

#[test]
fn a_sound_registry_gives_its_packs_and_goes_on() {
    let mut site = Site::new();
    assert!(site.files(site.open(false, None).unwrap()).unwrap().contains_key("src/lib.exo"));
    site.publish(&vec![b"more".to_vec(); 300]);
    site.forget_objects();
    assert!(site.files(site.open(false, None).unwrap()).is_ok());
    assert!(packs_of(&Arc::new(site.open(false, None).unwrap()), &PackName::parse("b").unwrap()).unwrap().is_empty());
    std::fs::remove_dir_all(site.folder.path().join("site")).unwrap();
    assert!(site.files(site.open(true, None).unwrap()).is_ok(), "offline, all of it is in the cache");
    site.forget_objects();
    let failed = site.open(true, None).and_then(|client| site.files(client)).unwrap_err();
    assert!(failed.message.starts_with("--offline: "), "{}", failed.message);
}

#[test]
fn the_root_is_pinned() {
    let site = Site::new();
    let failed = site.open(false, Some(&Sha256::of(b"other"))).unwrap_err();
    assert!(failed.message.contains("is pinned"), "{}", failed.message);
    // A pin that is given after the first visit holds as well.
    site.open(false, None).unwrap();
    let failed = site.open(false, Some(&Sha256::of(b"other"))).unwrap_err();
    assert!(failed.message.contains("is pinned"), "{}", failed.message);
}

#[test]
fn going_back_is_refused() {
    let mut site = Site::new();
    let old = site.pointer.clone();
    site.publish(&[b"x".to_vec()]);
    site.open(false, None).unwrap();
    site.sign(&old);
    site.refuses("the registry went back: pointer version 1 is below 2", "another network or mirror");
}

#[test]
fn an_old_state_is_refused() {
    let mut site = Site::new();
    site.pointer.expires = now() - 86_400;
    site.publish(&[]);
    site.refuses("the registry's pointer expired 24 hours ago", "clock");
    site.pointer.expires = now() + 100_000;
    site.pointer.issued = now() + 7300;
    site.publish(&[]);
    site.refuses("after this machine's time", "check this machine's clock");
}

#[test]
fn another_history_is_refused() {
    let mut site = Site::new();
    site.open(false, None).unwrap();
    site.log = MemoryLog::default();
    site.publish(&vec![b"other".to_vec(); 5]);
    site.refuses("does not continue the log of 2 entries seen before", "install nothing");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let site = Site::new();
    for path in [layout::snapshot(&site.pointer.snapshot), layout::blob(&site.entry.archive)] {
        let good = std::fs::read(site.folder.path().join("site").join(&path)).unwrap();
        site.write(&path, b"tampered");
        site.refuses("was asked for", "damaged or tampered with");
        std::fs::remove_file(site.folder.path().join("site").join(&path)).unwrap();
        site.refuses(&format!("registry `{}` lacks `v1/", site.url()), "incomplete");
        site.write(&path, &good);
    }
    assert!(site.files(site.open(false, None).unwrap()).is_ok());
}

#[test]
fn a_damaged_tile_names_the_registry_and_what_to_do() {
    let site = Site::new();
    let tile = layout::tile(&Tile { level: 0, index: 0, width: 2 });
    let good = std::fs::read(site.folder.path().join("site").join(&tile)).unwrap();
    site.write(&tile, good.get(1..).unwrap());
    site.refuses(&format!("registry `{}`: its log cannot be read: ", site.url()), "another mirror");
}

#[test]
fn a_verdict_counts_by_the_key_of_verdicts_only() {
    let asked = |site: &Site, offline| {
        let packs = packs_of(&Arc::new(site.open(offline, None).unwrap()), &name()).unwrap();
        packs[0].signed().map(|signed| signed.map(|signed| signed.verdict.checker.clone()))
    };
    let site = Site::checked(Some(&key(3)));
    assert_eq!(asked(&site, false).unwrap().as_deref(), Some("1"));
    assert_eq!(asked(&site, true).unwrap().as_deref(), Some("1"), "it is in the cache");
    let place = layout::verdict(&site.entry.verdict.unwrap());
    let good = std::fs::read(site.folder.path().join("site").join(&place)).unwrap();
    site.write(&place, &String::from_utf8(good).unwrap().replace("\\\"tests\\\":0", "\\\"tests\\\":9").into_bytes());
    site.forget_objects();
    let failed = asked(&site, false).unwrap_err();
    assert!(failed.message.contains("was asked for"), "{}", failed.message);
    std::fs::remove_file(site.folder.path().join("site").join(&place)).unwrap();
    assert!(asked(&site, false).unwrap_err().message.contains("lacks `v1/verdict/"));
    assert_eq!(asked(&Site::new(), false).unwrap(), None);
    // Neither the key of pointers, nor that of roots, nor a stranger's.
    for other in [1, 2, 9] {
        let failed = asked(&Site::checked(Some(&key(other))), false).unwrap_err();
        assert!(
            failed.message.contains("the verdict on `a 1.0.0`: no key of the registry signed it"),
            "{}",
            failed.message
        );
        assert_eq!(failed.code, Some(codes::DIGEST));
    }
}

#[test]
fn a_version_outside_the_log_is_refused() {
    let mut site = Site::new();
    site.log = MemoryLog::default();
    site.publish(&[b"another".to_vec(), b"and another".to_vec()]);
    site.refuses("does not stand in the registry's log", "do not install");
}

#[test]
fn an_unreachable_registry_says_so() {
    let site = Site::new();
    let settings = site.settings(false);
    let cache = Cache::open(&settings).unwrap();
    let open = |url: &str| Client::open(&settings, &Terminal::new(&settings), &cache, &Configured::of_url(url));
    let failed = open("http://127.0.0.1:9").unwrap_err();
    assert!(failed.message.starts_with("cannot fetch `http://127.0.0.1:9/v1/latest`"), "{}", failed.message);
    assert_eq!(failed.exit, crate::failure::Exit::Environment);
    let failed = open("ftp://x").unwrap_err();
    assert!(failed.message.contains("is not the URL of a registry"));
}
