//! Archives made by hand to do harm, each of which must be refused for the reason given, and the good ones beside them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::io::Read as _;

use proptest::prelude::*;

use super::*;

const MANIFEST: &[u8] = b"[pack]\nname = \"p\"\nversion = \"1.0.0\"\nkind = \"schedule\"\n";

/// A header as tar programs write it, then changed at will, with a checksum that is right.
fn header(name: &[u8], flag: u8, size: usize, change: impl FnOnce(&mut [u8; 512])) -> Vec<u8> {
    let mut block = [0u8; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(if flag == b'5' { b"0000755\0" } else { b"0000644\0" });
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = flag;
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[329..337].copy_from_slice(b"0000000\0");
    block[337..345].copy_from_slice(b"0000000\0");
    change(&mut block);
    mend(&mut block);
    block.to_vec()
}

fn mend(block: &mut [u8; 512]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// An entry with contents.
fn entry(name: &str, flag: u8, contents: &[u8]) -> Vec<u8> {
    changed(name.as_bytes(), flag, contents, |_| {})
}

fn changed(name: &[u8], flag: u8, contents: &[u8], change: impl FnOnce(&mut [u8; 512])) -> Vec<u8> {
    let mut bytes = header(name, flag, contents.len(), change);
    bytes.extend(contents);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// A link of some kind.
fn link(name: &str, flag: u8, to: &str) -> Vec<u8> {
    header(name.as_bytes(), flag, 0, |block| block[157..157 + to.len()].copy_from_slice(to.as_bytes()))
}

/// A tar of the manifest, then some entries, then the end.
fn tar_of(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entry("Exo.toml", b'0', MANIFEST);
    tar.extend(entries.concat());
    tar.extend([0; 1024]);
    tar
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

/// Why an archive with these entries after the manifest is refused.
fn refusal(entries: &[Vec<u8>]) -> Refusal {
    refusal_of(&zst(&tar_of(entries)))
}

fn refusal_of(archive: &[u8]) -> Refusal {
    read(archive, &Limits::default()).expect_err("accepted").refusal
}

fn files(list: &[(&str, &[u8])]) -> PackFiles {
    let mut files = PackFiles::default();
    files.files.insert("Exo.toml".into(), MANIFEST.to_vec());
    for (path, contents) in list {
        files.files.insert((*path).to_owned(), contents.to_vec());
    }
    files
}

#[test]
fn reads_what_it_builds_and_builds_the_same_again() {
    let pack = files(&[
        ("README.md", b"# p"),
        ("src/lib.exo", b"x = 1\n"),
        ("src/deep/er.exo", b""),
        ("tests/t.exo", &[7; 512]),
    ]);
    let built = build(&pack, &Limits::default()).unwrap();
    assert_eq!(build(&pack, &Limits::default()).unwrap(), built);
    let back = read_verified(&built.bytes, &built.sha256, &built.tree, &Limits::default()).unwrap();
    assert_eq!(back, pack);
    assert_eq!(back.tree(), built.tree);
}

#[test]
fn hand_made_archives_of_plain_files_and_directories_are_accepted() {
    let entries = [
        entry("src/", b'5', b""),
        entry("src/a.exo", b'0', b"a"),
        entry("src/b/", b'5', b""),
        entry("src/b/c.exo", b'0', b"c"),
    ];
    let read = read(&zst(&tar_of(&entries)), &Limits::default()).unwrap();
    assert_eq!(read, files(&[("src/a.exo", b"a"), ("src/b/c.exo", b"c")]));
}

#[test]
fn another_tar_reader_sees_the_same_files() {
    let long = format!("src/{}/{}.exo", "d".repeat(80), "f".repeat(60));
    let pack = files(&[("src/lib.exo", b"x = 1\n"), (&long, b"long"), ("tests/t.exo", &[7; 513])]);
    let built = build(&pack, &Limits::default()).unwrap();
    let mut archive = tar::Archive::new(zstd::stream::read::Decoder::new(built.bytes.as_slice()).unwrap());
    let mut seen = PackFiles::default();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        assert_eq!((entry.header().mode().unwrap(), entry.header().mtime().unwrap()), (0o644, 0));
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        seen.files.insert(entry.path().unwrap().to_str().unwrap().to_owned(), contents);
    }
    assert_eq!(seen, pack);
}

#[test]
fn refuses_links_whatever_they_are_for() {
    let file = || entry("src/a.exo", b'0', b"a");
    let cases: [(&str, Vec<Vec<u8>>); 7] = [
        // A hard link that makes a later write land elsewhere.
        ("RUSTSEC-2018-0002", vec![link("src/a.exo", b'1', "/etc/passwd"), file()]),
        // A symbolic link through which a directory is made outside.
        ("RUSTSEC-2021-0080", vec![link("src", b'2', "/tmp"), entry("src/x/", b'5', b"")]),
        // A symbolic link, then a directory of that name, whose mode goes to the link's target.
        ("RUSTSEC-2026-0067", vec![link("src/x", b'2', "/etc"), entry("src/x/", b'5', b"")]),
        // The marker of a finished unpacking as a symbolic link.
        ("CVE-2022-36113", vec![link(".cargo-ok", b'2', "/home/user/.bashrc")]),
        // A symbolic link one level up, into a neighbour's directory.
        ("CVE-2026-5223", vec![link("src/up", b'2', ".."), entry("src/up/lib.exo", b'0', b"x")]),
        ("a link after the file it names", vec![file(), link("src/b.exo", b'1', "src/a.exo")]),
        ("a link with contents", vec![changed(b"src/a.exo", b'2', b"x", |_| {})]),
    ];
    for (advisory, entries) in cases {
        let refusal = refusal(&entries);
        assert!(matches!(refusal, Refusal::EntryKind(b'1' | b'2')), "{advisory}: {refusal}");
    }
}

#[test]
fn refuses_extended_headers_whatever_they_say() {
    let pax = |text: &str| entry("PaxHeaders/a", b'x', text.as_bytes());
    let inner = tar_of(&[entry("src/hidden.exo", b'0', b"evil")]);
    let cases: [(&str, Vec<Vec<u8>>); 7] = [
        // The size of the extended header against that of the plain one: the inner tar is seen by one reader only.
        (
            "CVE-2025-62518",
            vec![
                pax("16 size=0002048\n"),
                changed(b"src/a.exo", b'0', &inner, |b| b[124..136].copy_from_slice(b"00000000000\0")),
            ],
        ),
        ("RUSTSEC-2026-0068", vec![pax("10 size=1\n"), entry("src/a.exo", b'0', &inner)]),
        ("RUSTSEC-2026-0112 and -0145", vec![pax("13 path=src\n\0\n"), entry("src/a.exo", b'0', b"a")]),
        ("records with impossible lengths", vec![pax("999 path=a\n"), entry("src/a.exo", b'0', b"a")]),
        ("a global header", vec![entry("g", b'g', b"13 size=4096\n"), entry("src/a.exo", b'0', b"a")]),
        ("a long name of GNU", vec![entry("././@LongLink", b'L', b"/etc/passwd\0"), entry("src/a.exo", b'0', b"a")]),
        ("a long link of GNU", vec![entry("././@LongLink", b'K', b"/etc/passwd\0"), link("src/a", b'2', "x")]),
    ];
    for (advisory, entries) in cases {
        let refusal = refusal(&entries);
        assert!(matches!(refusal, Refusal::EntryKind(b'x' | b'g' | b'L' | b'K')), "{advisory}: {refusal}");
    }
}

#[test]
fn refuses_every_other_kind_of_entry() {
    for flag in (0..=255u8).filter(|flag| !matches!(flag, b'0' | b'5')) {
        assert_eq!(refusal(&[entry("src/a.exo", flag, b"")]), Refusal::EntryKind(flag));
    }
}

/// A change to a header.
type Change = fn(&mut [u8; 512]);

#[test]
fn refuses_headers_that_are_not_plain_ustar() {
    let with = |change: Change| refusal(&[changed(b"src/a.exo", b'0', b"a", change)]);
    assert_eq!(with(|b| b[257..265].fill(0)), Refusal::NotUstar);
    assert_eq!(with(|b| b[257..265].copy_from_slice(b"ustar  \0")), Refusal::NotUstar);
    let fields: [(&str, Change); 12] = [
        // CVE-2023-38497: modes that others can write, and set-user-id.
        ("mode", |b| b[100..108].copy_from_slice(b"0000666\0")),
        ("mode", |b| b[100..108].copy_from_slice(b"0004755\0")),
        ("uid", |b| b[108..116].copy_from_slice(b"0001750\0")),
        ("gid", |b| b[116..124].copy_from_slice(b"0001750\0")),
        ("mtime", |b| b[136..148].copy_from_slice(b"14000000000\0")),
        ("size", |b| b[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
        ("size", |b| b[124..136].copy_from_slice(b"         1 \0")),
        ("size", |b| b[124..136].copy_from_slice(b"-0000000001\0")),
        ("size", |b| b[124..136].copy_from_slice(b"0000000001\0\0")),
        ("uname", |b| b[265..269].copy_from_slice(b"root")),
        ("linkname", |b| b[157..161].copy_from_slice(b"/etc")),
        ("devmajor", |b| b[329..337].copy_from_slice(b"0000001\0")),
    ];
    for (field, change) in fields {
        assert_eq!(with(change), Refusal::Field(field));
    }
    // The same path in another division is another header for the same file.
    let divided = changed(b"a.exo", b'0', b"a", |b| b[345..348].copy_from_slice(b"src"));
    assert_eq!(refusal(&[divided]), Refusal::Field("name"));
    // Bytes in the unused end of the header.
    assert_eq!(with(|b| b[511] = 1).code(), "field");
    assert_eq!(refusal(&[changed(b"src/", b'5', &[0; 512], |_| {})]), Refusal::Field("size"));
    assert_eq!(refusal(&[entry("src", b'5', b"")]), Refusal::Field("name"));
}

#[test]
fn refuses_a_wrong_checksum() {
    let mut bad = entry("src/a.exo", b'0', b"a");
    bad[0] = b't';
    assert_eq!(refusal(&[bad]), Refusal::Checksum);
}

#[test]
fn refuses_paths_that_lead_elsewhere() {
    use PathProblem::*;
    let cases: [(&[u8], PathProblem); 22] = [
        (b"../a.exo", Parent),
        (b"src/../../a.exo", Parent),
        (b"src/..", Parent),
        (b"/etc/passwd", Absolute),
        (b"//src/a.exo", Absolute),
        (b"src\\a.exo", Backslash),
        (b"C:\\a.exo", Backslash),
        (b"C:/a.exo", Character(':')),
        (b"src/a.exo:stream", Character(':')),
        (b"src/\xff.exo", NotUtf8),
        (b"src/a\0b.exo", Nul),
        ("src/é.exo".as_bytes(), Character('é')),
        (b"src/a\n.exo", Character('\n')),
        (b"src/a .exo", Character(' ')),
        (b"src//a.exo", NotNormal),
        (b"./src/a.exo", NotNormal),
        (b"src/.git/a.exo", Hidden),
        (b"src/a.exo.", TrailingDot),
        (b"src/nul.exo", WindowsDevice),
        (b"src/COM1/a.exo", WindowsDevice),
        (b"build.rs", NotInPacks),
        (b"src/run.sh", NotInPacks),
    ];
    for (path, problem) in cases {
        assert_eq!(refusal(&[changed(path, b'0', b"a", |_| {})]), Refusal::Path(problem), "{}", path.escape_ascii());
    }
    assert_eq!(refusal(&[entry("docs/", b'5', b"")]), Refusal::Path(NotInPacks));
    assert_eq!(refusal(&[entry("/", b'5', b"")]), Refusal::Path(Empty));
    assert_eq!(refusal(&[changed(b"", b'0', b"a", |_| {})]), Refusal::Path(Empty));
    let hidden = changed(b"src/a.exo", b'0', b"a", |b| b[346] = b'x');
    assert_eq!(refusal(&[hidden]), Refusal::Path(Nul));
}

#[test]
fn refuses_entries_that_meet() {
    let file = |path: &str| entry(path, b'0', b"a");
    assert_eq!(refusal(&[file("src/a.exo"), file("src/a.exo")]), Refusal::Duplicate);
    assert_eq!(refusal(&[file("Exo.toml")]), Refusal::Duplicate);
    assert_eq!(refusal(&[entry("src/", b'5', b""), entry("src/", b'5', b"")]), Refusal::Duplicate);
    assert_eq!(refusal(&[file("src/A.exo"), file("src/a.exo")]), Refusal::CaseCollision("src/A.exo".into()));
    assert_eq!(refusal(&[file("src/D/x.exo"), file("src/d/y.exo")]), Refusal::CaseCollision("src/D".into()));
    assert_eq!(refusal(&[file("src/a.exo"), file("src/a.exo/b.exo")]), Refusal::FileAndDirectory);
    assert_eq!(refusal(&[file("src/b.exo"), file("src/a.exo")]), Refusal::Order);
}

#[test]
fn refuses_bytes_beside_the_archive() {
    let tar = tar_of(&[entry("src/a.exo", b'0', b"a")]);
    let good = zst(&tar);
    assert!(read(&good, &Limits::default()).is_ok());
    // In the tar: after the end, and between the two blocks of the end.
    assert_eq!(refusal_of(&zst(&[&tar[..], &[0; 512]].concat())), Refusal::TrailingBytes);
    assert_eq!(refusal_of(&zst(&[&tar[..], b"x"].concat())), Refusal::TrailingBytes);
    let hidden = [&tar[..tar.len() - 512], &entry("src/b.exo", b'0', b"b")].concat();
    assert_eq!(refusal_of(&zst(&hidden)), Refusal::TrailingBytes);
    // Around the frame: rubbish, a second frame, a skippable frame on either side.
    let skippable = [&0x184d_2a50_u32.to_le_bytes()[..], &4u32.to_le_bytes(), b"evil"].concat();
    for after in [b"x".to_vec(), good.clone(), skippable.clone()] {
        assert_eq!(refusal_of(&[good.clone(), after].concat()), Refusal::TrailingBytes);
    }
    assert!(read(&[skippable, good.clone()].concat(), &Limits::default()).is_err());
    let mut padded = entry("src/a.exo", b'0', b"a");
    *padded.last_mut().unwrap() = 1;
    assert_eq!(refusal(&[padded]), Refusal::Padding);
}

#[test]
fn refuses_what_ends_too_early() {
    let tar = tar_of(&[entry("src/a.exo", b'0', b"a")]);
    for end in [0, 100, 512, 1000, tar.len() - 1024, tar.len() - 512, tar.len() - 1] {
        assert_eq!(refusal_of(&zst(&tar[..end])), Refusal::Truncated, "{end}");
    }
    let huge = header(b"src/a.exo", b'0', 4 << 20, |_| {});
    assert_eq!(refusal(&[huge]), Refusal::Truncated);
    let good = zst(&tar);
    for end in 0..good.len() {
        assert!(read(&good[..end], &Limits::default()).is_err(), "{end}");
    }
    assert_eq!(refusal_of(b"not zstd at all").code(), "compression");
    assert_eq!(refusal_of(&tar).code(), "compression");
}

#[test]
fn refuses_an_archive_without_a_manifest() {
    let tar = [entry("src/a.exo", b'0', b"a"), vec![0; 1024]].concat();
    assert_eq!(refusal_of(&zst(&tar)), Refusal::NoManifest);
    assert_eq!(refusal_of(&zst(&[0; 1024])), Refusal::NoManifest);
    assert_eq!(build(&PackFiles::default(), &Limits::default()).unwrap_err().refusal, Refusal::NoManifest);
}

#[test]
fn holds_every_limit() {
    let small = Limits {
        archive_bytes: 4096,
        total_bytes: 8192,
        file_bytes: 1000,
        entries: 4,
        ratio: 50,
        ratio_floor: 4096,
        window_log: 23,
    };
    let refused = |entries: &[Vec<u8>]| read(&zst(&tar_of(entries)), &small).expect_err("accepted").refusal;
    let file = |n: usize, size: usize| entry(&format!("src/{n}.exo"), b'0', &vec![b' '; size]);
    assert!(read(&zst(&tar_of(&[file(1, 1000)])), &small).is_ok());
    assert_eq!(refused(&[file(1, 1001)]), Refusal::TooLarge { what: "a file", limit: 1000 });
    let four: Vec<Vec<u8>> = (1..=4).map(|n| file(n, 0)).collect();
    assert_eq!(refused(&four), Refusal::TooLarge { what: "the number of entries", limit: 4 });
    // CVE-2022-36114: a bomb.
    let bomb = zst(&vec![0; 100_000_000]);
    assert!(bomb.len() < 16384);
    assert_eq!(refusal_of(&bomb), Refusal::Ratio { limit: 200 });
    let limits = Limits { ratio: 1_000_000, ..Limits::default() };
    let total = Refusal::TooLarge { what: "the expanded archive", limit: 64 << 20 };
    assert_eq!(read(&bomb, &limits).unwrap_err().refusal, total);
    let big = vec![7; 5000];
    assert_eq!(read(&big, &small).unwrap_err().refusal, Refusal::TooLarge { what: "the archive", limit: 4096 });
}

#[test]
fn refuses_frames_that_ask_for_much_memory() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    std::io::Write::write_all(&mut encoder, &tar_of(&[])).unwrap();
    let archive = encoder.finish().unwrap();
    assert!(zstd::stream::decode_all(archive.as_slice()).is_ok());
    assert_eq!(refusal_of(&archive).code(), "compression");
}

#[test]
fn builds_nothing_that_it_would_refuse() {
    let limits = Limits { file_bytes: 1000, entries: 3, ..Limits::default() };
    let refused = |list: &[(&str, &[u8])]| build(&files(list), &limits).expect_err("built").refusal;
    assert_eq!(refused(&[("../a.exo", b"")]), Refusal::Path(PathProblem::Parent));
    assert_eq!(refused(&[("src/a.py", b"")]), Refusal::Path(PathProblem::NotInPacks));
    assert_eq!(refused(&[("src/a.exo", b""), ("src/A.exo", b"")]).code(), "case-collision");
    assert_eq!(refused(&[("src/a.exo", &[0; 1001])]).code(), "too-large");
    assert_eq!(refused(&[("src/a.exo", b""), ("src/b.exo", b""), ("src/c.exo", b"")]).code(), "too-large");
    let long = format!("src/{}.exo", "a".repeat(100));
    assert_eq!(refused(&[(&long, b"")]), Refusal::Path(PathProblem::TooLong));
    let tight = Limits { ratio: 2, ratio_floor: 0, ..Limits::default() };
    assert_eq!(build(&files(&[]), &tight).unwrap_err().refusal, Refusal::Ratio { limit: 2 });
}

#[test]
fn compares_digests_before_anything_else() {
    let built = build(&files(&[]), &Limits::default()).unwrap();
    let other = Sha256::of(b"");
    let error = read_verified(b"rubbish", &other, &built.tree, &Limits::default()).unwrap_err();
    assert_eq!(error.refusal.code(), "archive-digest");
    let error = read_verified(&built.bytes, &built.sha256, &Blake3::of(b""), &Limits::default()).unwrap_err();
    assert_eq!(error.refusal.code(), "tree-digest");
}

#[test]
fn messages_name_the_entry_and_cannot_harm_a_terminal() {
    let error =
        read(&zst(&tar_of(&[changed(b"src/\x1b[2J.exo", b'0', b"a", |_| {})])), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "path contains `\\u{1b}` (entry `src/\\x1b[2J.exo`)");
    let error = read(&zst(&tar_of(&[link("src/a.exo", b'2', "x")])), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "entry is a symbolic link, not a regular file or directory (entry `src/a.exo`)");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pack_survives_the_journey(
        list in prop::collection::btree_map("(src|tests)/([a-c]{1,3}/){0,2}[d-g]{1,4}\\.exo", prop::collection::vec(any::<u8>(), 0..1200), 0..8)
    ) {
        let mut pack = PackFiles { files: list };
        pack.files.insert("Exo.toml".into(), MANIFEST.to_vec());
        let built = build(&pack, &Limits::default()).unwrap();
        prop_assert_eq!(read_verified(&built.bytes, &built.sha256, &built.tree, &Limits::default()).unwrap(), pack);
    }

    /// A changed byte anywhere in the tar is refused, or is a byte of some file's contents.
    #[test]
    fn a_changed_byte_is_refused_or_seen(at in any::<prop::sample::Index>(), flip in 1u8..) {
        let pack = files(&[("src/lib.exo", b"x = 1\n"), ("tests/t.exo", b"y = 2\n")]);
        let mut tar = tar_of(&[entry("src/lib.exo", b'0', b"x = 1\n"), entry("tests/t.exo", b'0', b"y = 2\n")]);
        prop_assert_eq!(&read(&zst(&tar), &Limits::default()).unwrap(), &pack);
        let at = at.index(tar.len());
        tar[at] ^= flip;
        if let Ok(read) = read(&zst(&tar), &Limits::default()) {
            prop_assert_ne!(read, pack);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(blocks in prop::collection::vec(prop_oneof![
        Just(entry("src/a.exo", b'0', b"a")),
        Just(vec![0u8; 512]),
        prop::collection::vec(any::<u8>(), 0..700),
    ], 0..6)) {
        let tar = blocks.concat();
        let _ = read(&zst(&tar), &Limits::default());
        let _ = read(&tar, &Limits::default());
    }
}
