//! Known answers, and tiles and proofs against a tree computed in the plain way.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use proptest::prelude::*;

use super::append::{Appended, MemoryLog, append};
use super::hash::{Frontier, empty_root, leaf_hash, node_hash};
use super::leaf::{Event, Leaf, OrganisationChange};
use super::proof::{consistency_holds, consistency_proof, inclusion_holds, inclusion_proof, root_from_tiles};
use super::tile::{ReadTile as _, Tile, entries_bytes, entries_path, read_entries};
use crate::digest::{Blake3, Sha256};
use crate::name::PackName;
use crate::registry::rights::Role;
use crate::version::Version;

/// The definition of RFC 6962, 2.1, word for word.
fn plain_root(leaves: &[Vec<u8>]) -> Sha256 {
    match leaves {
        [] => empty_root(),
        [leaf] => leaf_hash(leaf),
        more => {
            let mut k = 1;
            while k * 2 < more.len() {
                k *= 2;
            }
            node_hash(&plain_root(&more[..k]), &plain_root(&more[k..]))
        }
    }
}

fn leaves(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("leaf {i}").into_bytes()).collect()
}

fn log_of(count: usize) -> (MemoryLog, Appended) {
    let mut log = MemoryLog::default();
    let appended = log.append(&leaves(count)).unwrap();
    (log, appended)
}

#[test]
fn known_answers_of_rfc_6962() {
    assert_eq!(empty_root().to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    // SHA-256 of one zero byte: the leaf of no bytes.
    assert_eq!(leaf_hash(b"").to_string(), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    assert_eq!(leaf_hash(b"ab"), Sha256::of(b"\0ab"));
    let (a, b, c) = (leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c"));
    let ab = Sha256::of(&[b"\x01".as_slice(), a.as_bytes(), b.as_bytes()].concat());
    let abc = Sha256::of(&[b"\x01".as_slice(), ab.as_bytes(), c.as_bytes()].concat());
    let mut frontier = Frontier::default();
    assert_eq!(frontier.root(), empty_root());
    for (leaf, root) in [(a, a), (b, ab), (c, abc)] {
        frontier.append(leaf);
        assert_eq!(frontier.root(), root);
    }
    assert_eq!(frontier.size(), 3);
}

#[test]
fn proofs_of_rfc_6962_section_2_1_3() {
    // The tree of seven leaves of the RFC: PATH(0) = [b, h, l], PATH(3) = [c, g, l], PATH(4) = [f, j, k], PATH(6) = [i, k].
    let (log, appended) = log_of(7);
    let d: Vec<Sha256> = leaves(7).iter().map(|leaf| leaf_hash(leaf)).collect();
    let (g, h, i) = (node_hash(&d[0], &d[1]), node_hash(&d[2], &d[3]), node_hash(&d[4], &d[5]));
    let j = d[6];
    let (k, l) = (node_hash(&g, &h), node_hash(&i, &j));
    assert_eq!(appended.root, node_hash(&k, &l));
    assert_eq!(inclusion_proof(&log, 0, 7).unwrap(), [d[1], h, l]);
    assert_eq!(inclusion_proof(&log, 3, 7).unwrap(), [d[2], g, l]);
    assert_eq!(inclusion_proof(&log, 4, 7).unwrap(), [d[5], j, k]);
    assert_eq!(inclusion_proof(&log, 6, 7).unwrap(), [i, k]);
    assert_eq!(consistency_proof(&log, 3, 7).unwrap(), [d[2], d[3], g, l]);
    assert_eq!(consistency_proof(&log, 4, 7).unwrap(), [l]);
    assert_eq!(consistency_proof(&log, 6, 7).unwrap(), [i, j, k]);
    assert!(inclusion_proof(&log, 7, 7).is_err());
    assert!(consistency_proof(&log, 8, 7).is_err());
}

#[test]
fn tiles_have_the_paths_of_tlog_tiles() {
    let path = |level, index, width| Tile { level, index, width }.path();
    assert_eq!(path(0, 0, 256), "tile/0/000");
    assert_eq!(path(1, 999, 1), "tile/1/999.p/1");
    assert_eq!(path(2, 1_234_067, 256), "tile/2/x001/x234/067");
    assert_eq!(entries_path(1000, 5), "tile/entries/x001/000.p/5");
    assert_eq!(Tile::holding(0, 256, 257), Some(Tile { level: 0, index: 1, width: 1 }));
    assert_eq!(Tile::holding(1, 0, 255), None);
    assert_eq!(Tile::holding(9, 0, u64::MAX), None);
}

#[test]
fn a_damaged_tile_gives_no_proof() {
    let (log, appended) = log_of(300);
    let tile = Tile::holding(0, 5, 300).unwrap();
    let mut bytes = log.read_tile(&tile).unwrap();
    assert!(tile.hashes(&bytes[1..]).is_err());
    bytes[6 * 32] ^= 1;
    struct Damaged(MemoryLog, Tile, Vec<u8>);
    impl super::tile::ReadTile for Damaged {
        type Error = crate::registry::malformed::Malformed;
        fn read_tile(&self, tile: &Tile) -> Result<Vec<u8>, Self::Error> {
            if *tile == self.1 { Ok(self.2.clone()) } else { self.0.read_tile(tile) }
        }
    }
    let proof = inclusion_proof(&Damaged(log.clone(), tile, bytes), 5, 300).unwrap();
    let leaf = leaf_hash(&leaves(300)[5]);
    assert!(!inclusion_holds(&leaf, 5, 300, &proof, &appended.root));
    assert!(inclusion_holds(&leaf, 5, 300, &inclusion_proof(&log, 5, 300).unwrap(), &appended.root));
}

#[test]
fn large_logs_have_tiles_of_tiles() {
    let (log, appended) = log_of(256 * 256 + 3);
    assert_eq!(appended.root, root_from_tiles(&log, log.size()).unwrap());
    assert!(appended.tiles.contains_key(&Tile { level: 2, index: 0, width: 1 }));
    let mut frontier = Frontier::default();
    leaves(256 * 256 + 3).iter().for_each(|leaf| frontier.append(leaf_hash(leaf)));
    assert_eq!(appended.root, frontier.root());
}

#[test]
fn leaves_read_back() {
    let name = || PackName::parse("@arm/neon").unwrap();
    let version = || Version::new(1, 2, 3);
    let (archive, tree) = (Sha256::of(b"a"), Blake3::of(b"t"));
    let events = [
        Event::Publish { name: name(), version: version(), archive, tree },
        Event::Yank { name: name(), version: version() },
        Event::Unyank { name: name(), version: version() },
        Event::Owner { name: name(), login: "ada".into(), added: true },
        Event::Owner { name: name(), login: "ada".into(), added: false },
        Event::Deprecate { name: name(), deprecated: true },
        Event::Archive { name: name(), archived: true },
        Event::Archive { name: name(), archived: false },
        Event::Advisory { name: name(), id: "EXO-1".into(), digest: archive },
        Event::Quarantine { name: name(), version: Version::new(1, 0, 0) },
        Event::Release { name: name(), version: Version::new(1, 0, 0) },
        Event::Delete { name: name(), version: Version::new(1, 0, 0) },
        Event::AdvisoryWithdrawn { name: name(), id: "EXO-1".into() },
        Event::Organisation { name: "lab".into(), change: OrganisationChange::Created },
        Event::Organisation { name: "lab".into(), change: OrganisationChange::Verified },
        Event::Organisation { name: "lab".into(), change: OrganisationChange::Unverified },
        Event::Member { organisation: "lab".into(), login: "ada".into(), role: Some(Role::Owner) },
        Event::Member { organisation: "lab".into(), login: "ada".into(), role: Some(Role::Publisher) },
        Event::Member { organisation: "lab".into(), login: "ada".into(), role: None },
    ];
    for event in events {
        let leaf = Leaf { event, time: 7 };
        assert_eq!(Leaf::parse(&leaf.to_bytes()).unwrap(), leaf);
        assert!(Leaf::parse(&[leaf.to_bytes(), b"\n".to_vec()].concat()).is_err());
    }
    let text = Leaf { event: Event::Publish { name: name(), version: version(), archive, tree }, time: 7 }.to_string();
    assert_eq!(text, format!("exo-log 1\npublish\n@arm/neon 1.2.3\narchive {archive}\ntree {tree}\ntime 7"));
    assert!(Leaf::parse(text.replace("time 7", "time 07").as_bytes()).is_err());
    for wrong in [
        "member\nlab ada king",
        "member\nLab ada owner",
        "organisation\nlab close",
        "organisation\n@lab/x create",
        "member\nlab owner",
    ] {
        assert!(Leaf::parse(format!("exo-log 1\n{wrong}\ntime 7").as_bytes()).is_err(), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn tiles_and_proofs_agree_with_the_definition(parts in prop::collection::vec(0usize..300, 1..5), at in any::<prop::sample::Index>(), old in any::<prop::sample::Index>()) {
        let all = leaves(parts.iter().sum());
        let mut log = MemoryLog::default();
        let mut done = 0;
        for part in parts {
            let appended = log.append(&all[done..done + part]).unwrap();
            done += part;
            prop_assert_eq!(appended.root, plain_root(&all[..done]));
            for ((index, width), bytes) in &appended.entries {
                let from = *index as usize * 256;
                prop_assert_eq!(read_entries(bytes, *width).unwrap(), all[from..from + usize::from(*width)].to_vec());
            }
        }
        let (size, root) = (all.len() as u64, plain_root(&all));
        let old = old.index(all.len() + 1);
        let old_root = plain_root(&all[..old]);
        let old_size = old as u64;
        let proof = consistency_proof(&log, old_size, size).unwrap();
        prop_assert!(consistency_holds((old_size, &old_root), (size, &root), &proof));
        if old > 0 {
            let wrong = leaf_hash(b"wrong");
            prop_assert!(!consistency_holds((old_size, &wrong), (size, &root), &proof));
            prop_assert!(!consistency_holds((old_size, &old_root), (size, &wrong), &proof));
            let longer = [proof.clone(), vec![wrong]].concat();
            prop_assert!(!consistency_holds((old_size, &old_root), (size, &root), &longer));
            prop_assert!(!consistency_holds((size + 1, &old_root), (size, &root), &proof));
        }
        if size > 0 {
            let index = at.index(all.len());
            let leaf = leaf_hash(&all[index]);
            let proof = inclusion_proof(&log, index as u64, size).unwrap();
            prop_assert!(inclusion_holds(&leaf, index as u64, size, &proof, &root));
            prop_assert!(!inclusion_holds(&leaf_hash(b"wrong"), index as u64, size, &proof, &root));
            if size > 1 {
                prop_assert!(!inclusion_holds(&leaf, index as u64, size, &proof, &leaf));
                prop_assert!(!inclusion_holds(&leaf, (index as u64 + 1) % size, size, &proof, &root));
                prop_assert!(!inclusion_holds(&leaf, index as u64, size, &proof[1..], &root));
            }
        }
    }
}

#[test]
fn entries_are_counted() {
    let bytes = entries_bytes(&leaves(2)).unwrap();
    assert!(read_entries(&bytes, 1).is_err());
    assert!(read_entries(&bytes, 3).is_err());
    assert!(read_entries(&bytes[..bytes.len() - 1], 2).is_err());
    assert!(entries_bytes(&[vec![0; 65_536]]).is_err());
    assert!(append(&MemoryLog::default(), 0, &[]).unwrap().tiles.is_empty());
}
