//! Tests of the lockfile.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::manifest::Manifest;

fn name(text: &str) -> PackName {
    PackName::parse(text).unwrap()
}

fn locked(pack: &str, version: &str, source: LockedSource, dependencies: &[&str]) -> LockedPack {
    let fixed = !matches!(source, LockedSource::Path(_));
    let published = matches!(source, LockedSource::Registry(_)).then_some(1_700_000_000);
    LockedPack {
        name: name(pack),
        version: Version::parse(version).unwrap(),
        source,
        archive: fixed.then(|| Sha256::of(pack.as_bytes())),
        tree: fixed.then(|| Blake3::of(pack.as_bytes())),
        raw_c: (pack == "neon").then(|| Blake3::of(b"c")),
        published,
        log: published.map(|_| 12),
        root: published.map(|_| Sha256::of(b"root")),
        dependencies: dependencies.iter().map(|dependency| name(dependency)).collect(),
    }
}

fn sample() -> Lockfile {
    let mut lock = Lockfile::new(Version::new(0, 1, 0));
    lock.insert(locked("std", "1.0.0", LockedSource::Path("../std".into()), &[]));
    lock.insert(locked("neon", "1.1.2", LockedSource::Builtin, &["std"]));
    lock.insert(locked(
        "@arm/sve",
        "2.0.0",
        LockedSource::Registry("https://packs.example.org".into()),
        &["std", "neon"],
    ));
    let git = format!("git+https://e.org/a?branch=main&path=p/q#{}", "0123456789".repeat(4)).parse().unwrap();
    lock.insert(locked("far", "0.1.0-rc.1", git, &[]));
    lock
}

#[test]
fn text_is_canonical_and_reads_back() {
    let lock = sample();
    let text = lock.to_string();
    assert_eq!(Lockfile::parse(&text).unwrap(), lock);
    assert_eq!(Lockfile::parse(&text).unwrap().to_string(), text);
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with("name")).collect();
    assert_eq!(names, ["name = \"@arm/sve\"", "name = \"far\"", "name = \"neon\"", "name = \"std\""]);
}

#[test]
fn a_publish_time_is_of_a_registry() {
    let text = sample().to_string();
    assert_eq!(text.matches("\npublished = 1700000000\n").count(), 1);
    assert_eq!(text.matches("\nlog = 12\n").count(), 1);
    let root = format!("root = \"sha256:{}\"\n", Sha256::of(b"root"));
    let before = text.replace(&format!("published = 1700000000\nlog = 12\n{root}"), "");
    let older = &Lockfile::parse(&before).unwrap().packs[&name("@arm/sve")];
    assert_eq!((older.published, older.log, older.root), (None, None, None), "older lockfiles have none");
    let moved = text.replace("registry+https://packs.example.org", "builtin");
    assert!(Lockfile::parse(&moved).unwrap_err().message.contains("`@arm/sve` is of no registry"));
}

#[test]
fn text_does_not_change_between_releases() {
    let mut lock = Lockfile::new(Version::new(0, 1, 0));
    lock.insert(locked("std", "1.0.0", LockedSource::Path("../std".into()), &[]));
    lock.insert(locked("neon", "1.1.2", LockedSource::Builtin, &["std"]));
    let expected = format!(
        "# Written by exo. Change Exo.toml instead, then run `exo install`.\nversion = 1\nexo = \"0.1.0\"\n\n[[pack]]\n\
         name = \"neon\"\nversion = \"1.1.2\"\nsource = \"builtin\"\narchive = \"sha256:{}\"\ntree = \"blake3:{}\"\n\
         raw-c = \"blake3:{}\"\ndependencies = [\n    \"std\",\n]\n\n[[pack]]\nname = \"std\"\nversion = \"1.0.0\"\n\
         source = \"path+../std\"\n",
        Sha256::of(b"neon"),
        Blake3::of(b"neon"),
        Blake3::of(b"c")
    );
    assert_eq!(lock.to_string(), expected);
}

#[test]
fn refuses_newer_formats_by_name() {
    let text = sample().to_string().replace("version = 1\n", "version = 2\nfuture = true\n");
    let error = Lockfile::parse(&text).unwrap_err();
    assert!(error.message.contains("format 2 is newer"), "{error}");
    assert!(error.hint.unwrap().contains("update exo"));
    assert!(Lockfile::parse("version = 0\nexo = \"0.1.0\"\n").is_err());
    assert!(Lockfile::parse("exo = \"0.1.0\"\n").is_err());
}

#[test]
fn refuses_unsound_texts() {
    let text = sample().to_string();
    let tree = format!("tree = \"blake3:{}\"\n", Blake3::of(b"neon"));
    let archive = format!("archive = \"sha256:{}\"\n", Sha256::of(b"neon"));
    let cases = [
        (text.replace("name = \"far\"", "name = \"neon\""), "locked twice"),
        (text.replace("name = \"far\"", "name = \"FAR\""), "FAR"),
        (text.replace(&tree, ""), "without `tree`"),
        (text.replace(&archive, ""), "without `archive`"),
        (text.replace("sha256:", "md5:"), "must start with `sha256:`"),
        (text.replace(&tree, "tree = \"blake3:00\"\n"), "64 lower-case"),
        (text.replace("source = \"builtin\"", "source = \"floppy\""), "not a source"),
        (text.replace(&format!("#{}", "0123456789".repeat(4)), ""), "names no commit"),
        (text.replace("exo = ", "exe = "), "cannot be read"),
        (text.replace("raw-c", "rawc"), "cannot be read"),
        (text.replace("    \"std\",\n", "    \"std\",\n    \"std\",\n"), "twice"),
        (text.replace("    \"std\",\n", "    \"gone\",\n"), "not locked"),
        (text.replace("name = \"std\"", "name = \"@x/std\""), "not locked"),
    ];
    for (text, part) in cases {
        let error = Lockfile::parse(&text).expect_err(part);
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn points_at_a_merge_conflict() {
    let text = sample().to_string().replace("version = \"1.1.2\"", "<<<<<<< ours\nversion = \"1.1.2\"\n=======\n");
    let error = Lockfile::parse(&text).unwrap_err();
    assert_eq!(&text[error.span.unwrap()], "<<<<<<< ours");
}

fn manifest(dependencies: &str) -> Manifest {
    Manifest::parse(&format!(
        "[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"kernel\"\n[dependencies]\n{dependencies}\n"
    ))
    .unwrap()
}

#[test]
fn agrees_with_a_manifest_it_fits() {
    let fits = manifest(
        "far = { git = \"https://e.org/a\", branch = \"main\", path = \"p/q\" }\n\"@arm/sve\" = { version = \"2\", registry = \"https://packs.example.org\" }\n",
    );
    assert_eq!(sample().disagreements(&fits), []);
}

#[test]
fn names_every_disagreement() {
    let lock = sample();
    let other = manifest("neon = \"1.2\"\nstd = \"1\"\ngemmini = \"1\"\n");
    let texts: Vec<String> = lock.disagreements(&other).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "`@arm/sve 2.0.0` is locked, but nothing needs it",
            "`far 0.1.0-rc.1` is locked, but nothing needs it",
            "`gemmini ^1` is not locked",
            "`neon 1.1.2` is locked, but the manifest needs `^1.2`",
            "`std` is locked from `path+../std`, but the manifest takes it from the registry in use",
        ]
    );
}

#[test]
fn a_git_source_is_what_the_manifest_asks_for() {
    let mut lock = Lockfile::new(Version::new(0, 1, 0));
    let commit = "0123456789".repeat(4);
    let git = format!("git+https://u/x?branch=main#{commit}").parse().unwrap();
    lock.insert(locked("far", "0.1.0-rc.1", git, &[]));
    let differ = |rest: &str| lock.disagreements(&manifest(&format!("far = {{ {rest} }}"))).len();
    assert_eq!(differ("git = \"https://u/x\", branch = \"main\""), 0);
    assert_eq!(differ("git = \"https://u/x\", branch = \"next\""), 1);
    assert_eq!(differ("git = \"https://u/x\", rev = \"0123456\""), 1);
    assert_eq!(differ("git = \"https://u/y\", branch = \"main\""), 1);
    assert_eq!(differ("git = \"https://u/x\", branch = \"main\", path = \"p\""), 1);
    for wrong in ["git+https://u/x?branch=main#0123", "git+https://u/x?rev=1123456#COMMIT", "git+https://u/x#COMMIT"] {
        assert!(wrong.replace("COMMIT", &commit).parse::<LockedSource>().is_err(), "{wrong}");
    }
}

#[test]
fn follows_dependencies_both_ways() {
    let lock = sample();
    let sve = name("@arm/sve");
    let reached: Vec<&str> = lock.reachable([&sve]).into_iter().map(PackName::as_str).collect();
    assert_eq!(reached, ["@arm/sve", "neon", "std"]);
    let std = name("std");
    let users: Vec<&str> = lock.dependents(&std).map(|pack| pack.name.as_str()).collect();
    assert_eq!(users, ["@arm/sve", "neon"]);
    assert_eq!(lock.nearest("noen"), ["neon"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lockfile_reads_back(
        packs in prop::collection::btree_map("(@[a-c]{1,2}/)?[d-h]{1,3}-x", ("[^#\\PC]{1,8}|\\PC{1,8}", 0..4u8, prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 0..6)
    ) {
        let names: Vec<&String> = packs.keys().collect();
        let mut lock = Lockfile::new(Version::new(0, 1, 0));
        for (pack, (text, kind, needs)) in &packs {
            let source = match kind {
                0 => LockedSource::Builtin,
                1 => LockedSource::Registry(text.clone()),
                2 => LockedSource::Path(text.clone()),
                _ => format!("git+https://h/x?tag=v1#{}", "ab".repeat(20)).parse().unwrap(),
            };
            let mut entry = locked(pack, "1.0.0", source, &[]);
            let needs = needs.iter().map(|index| names[index.index(names.len())]).filter(|needed| *needed != pack);
            entry.dependencies = needs.map(|needed| name(needed)).collect();
            lock.insert(entry);
        }
        let text = lock.to_string();
        prop_assert_eq!(Lockfile::parse(&text).unwrap(), lock);
    }

    #[test]
    fn damaged_lockfiles_are_refused_or_read(at in any::<prop::sample::Index>(), byte in 0u8..128) {
        let mut bytes = sample().to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let text = String::from_utf8(bytes).unwrap();
        if let Err(error) = Lockfile::parse(&text) {
            prop_assert!(!error.message.is_empty());
            prop_assert!(error.span.is_none_or(|span| text.get(span).is_some()));
        }
    }
}
