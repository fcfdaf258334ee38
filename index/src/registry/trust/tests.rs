//! Every step of trust, and every refusal.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use super::*;
use crate::registry::keys::SecretKey;
use crate::registry::log::append::MemoryLog;
use crate::registry::log::proof::{consistency_proof, inclusion_proof};
use crate::registry::shard::tests::shard;

const NOW: u64 = 1_000_000;

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

fn root(version: u64, root_keys: &[u8], threshold: usize, index_key: u8) -> Root {
    Root {
        registry: "packs.example.org".into(),
        version,
        expires: NOW + 1000,
        threshold,
        root_keys: root_keys.iter().map(|seed| key(*seed).public()).collect(),
        index_keys: vec![key(index_key).public()],
        verdict_keys: vec![],
    }
}

fn first() -> Trust {
    Trust::first(root(1, &[1, 2, 3], 2, 10).sign(&[&key(1), &key(3)]).unwrap(), None).unwrap()
}

fn log(leaves: u64, variant: &str) -> (MemoryLog, Sha256) {
    let mut log = MemoryLog::default();
    let leaves: Vec<Vec<u8>> = (0..leaves).map(|i| format!("{variant} {i}").into_bytes()).collect();
    let root = log.append(&leaves).unwrap().root;
    (log, root)
}

fn pointer(version: u64, log_size: u64) -> Pointer {
    Pointer {
        origin: "packs.example.org".into(),
        log_size,
        log_root: log(log_size, "a").1,
        version,
        snapshot: Sha256::of(b"snapshot"),
        root: 1,
        issued: NOW - 10,
        expires: NOW + 100,
    }
}

fn signed(pointer: &Pointer, by: u8) -> Vec<u8> {
    pointer.sign(&[&key(by)]).unwrap().to_string().into_bytes()
}

fn accepted(trust: Trust, pointer: &Pointer) -> Trust {
    let candidate = trust.consider(&signed(pointer, 10), NOW).unwrap();
    let proof = candidate
        .proof_from()
        .map(|old| consistency_proof(&log(pointer.log_size, "a").0, old, pointer.log_size).unwrap());
    candidate.accept(&proof.unwrap_or_default()).unwrap()
}

fn refused(trust: Trust, pointer: &Pointer) -> Refusal {
    trust.consider(&signed(pointer, 10), NOW).unwrap_err()
}

#[test]
fn goes_forward() {
    let mut trust = accepted(first(), &pointer(1, 0));
    for (version, size) in [(1, 0), (2, 3), (3, 3), (9, 700)] {
        trust = accepted(trust, &pointer(version, size));
        assert_eq!(trust.pointer().unwrap(), &pointer(version, size));
        assert_eq!(Trust::recall(trust.remember()).unwrap(), trust);
    }
    let json = serde_json::to_string(&trust.remember()).unwrap();
    assert_eq!(Trust::recall(serde_json::from_str(&json).unwrap()).unwrap(), trust);
}

#[test]
fn the_first_root_is_the_pinned_one() {
    let envelope = root(1, &[1], 1, 10).sign(&[&key(1)]).unwrap();
    let pin = envelope.payload_digest();
    assert!(Trust::first(envelope.clone(), Some(&pin)).is_ok());
    let pinned = Sha256::of(b"other");
    let refusal = Trust::first(envelope, Some(&pinned)).unwrap_err();
    assert_eq!(refusal, Refusal::OtherRoot { pinned, found: pin });
    let second = root(2, &[1], 1, 10).sign(&[&key(1)]).unwrap();
    assert_eq!(Trust::first(second, None).unwrap_err(), Refusal::RootSequence { expected: 1, found: 2 });
}

#[test]
fn a_root_needs_its_threshold() {
    let lacking = root(1, &[1, 2, 3], 2, 10);
    let mut envelope = lacking.sign(&[&key(1)]).unwrap();
    let refusal = Trust::first(envelope.clone(), None).unwrap_err();
    assert_eq!(refusal, Refusal::RootNotSigned { version: 1, by: 1, signed: 1, needed: 2 });
    // The same key twice, and a stranger's, count for nothing.
    envelope.add_signature(&key(9));
    let first = envelope.signatures[0].clone();
    envelope.signatures.push(first);
    assert!(matches!(Trust::first(envelope.clone(), None), Err(Refusal::RootNotSigned { signed: 1, .. })));
    envelope.add_signature(&key(2));
    assert!(Trust::first(envelope.clone(), None).is_ok());
    envelope.payload = envelope.payload.replace("1001000", "9001000");
    assert!(matches!(Trust::first(envelope, None), Err(Refusal::RootNotSigned { signed: 0, .. })));
}

#[test]
fn unsound_roots_are_refused() {
    let sound = root(1, &[1, 2], 1, 10);
    assert!(Root { threshold: 0, ..sound.clone() }.sign(&[]).is_err());
    assert!(Root { threshold: 3, ..sound.clone() }.sign(&[]).is_err());
    assert!(Root { index_keys: vec![], ..sound.clone() }.sign(&[]).is_err());
    assert!(root(1, &[1, 1], 2, 10).sign(&[]).is_err());
    assert!(root(0, &[1], 1, 10).sign(&[]).is_err());
}

#[test]
fn keys_are_rotated_by_old_and_new_keys() {
    let next = root(2, &[2, 4], 2, 11);
    let both = next.sign(&[&key(2), &key(3), &key(4)]).unwrap();
    let trust = accepted(first(), &pointer(5, 3)).next_root(both).unwrap();
    let moved = Pointer { root: 2, ..pointer(6, 3) };
    assert!(trust.clone().consider(&signed(&moved, 11), NOW).is_ok());
    assert_eq!(trust.clone().consider(&signed(&moved, 10), NOW).unwrap_err(), Refusal::WrongKey);
    let back = trust.consider(&signed(&pointer(6, 3), 11), NOW).unwrap_err();
    assert_eq!(back, Refusal::Rollback { what: "root number", remembered: 2, found: 1 });
    let only_new = next.sign(&[&key(2), &key(4)]).unwrap();
    let refusal = first().next_root(only_new).unwrap_err();
    assert_eq!(refusal, Refusal::RootNotSigned { version: 2, by: 1, signed: 1, needed: 2 });
    let only_old = next.sign(&[&key(2), &key(3)]).unwrap();
    let refusal = first().next_root(only_old).unwrap_err();
    assert_eq!(refusal, Refusal::RootNotSigned { version: 2, by: 2, signed: 1, needed: 2 });
    let skipped = root(3, &[1], 1, 10).sign(&[&key(1), &key(2)]).unwrap();
    assert_eq!(first().next_root(skipped).unwrap_err(), Refusal::RootSequence { expected: 2, found: 3 });
    let other = Root { registry: "evil.example".into(), ..next }.sign(&[&key(2), &key(3), &key(4)]).unwrap();
    assert!(matches!(first().next_root(other), Err(Refusal::OtherRegistry { .. })));
}

#[test]
fn a_pointer_names_a_root_that_is_known() {
    let ahead = Pointer { root: 2, ..pointer(1, 0) };
    assert_eq!(refused(first(), &ahead), Refusal::RootSequence { expected: 2, found: 1 });
    assert_eq!(named_root(&signed(&ahead, 10)).unwrap(), 2);
}

#[test]
fn wrong_key_and_wrong_registry() {
    let trust = first();
    assert_eq!(trust.clone().consider(&signed(&pointer(1, 0), 1), NOW).unwrap_err(), Refusal::WrongKey);
    let text = String::from_utf8(signed(&pointer(1, 0), 10)).unwrap().replace("pointer 1", "pointer 2");
    assert_eq!(trust.clone().consider(text.as_bytes(), NOW).unwrap_err(), Refusal::WrongKey);
    let other = Pointer { origin: "evil.example".into(), ..pointer(1, 0) };
    assert!(matches!(refused(trust.clone(), &other), Refusal::OtherRegistry { .. }));
    assert!(matches!(trust.consider(b"<html>", NOW), Err(Refusal::Malformed(_))));
}

#[test]
fn freeze_and_clock() {
    let trust = first();
    let pointer = pointer(1, 0);
    let at = |now| trust.clone().consider(&signed(&pointer, 10), now);
    assert!(at(pointer.expires + CLOCK_TOLERANCE).is_ok());
    let late = pointer.expires + CLOCK_TOLERANCE + 1;
    assert_eq!(at(late).unwrap_err(), Refusal::Expired { what: "pointer", expires: pointer.expires, now: late });
    assert!(at(pointer.issued - CLOCK_TOLERANCE).is_ok());
    let early = pointer.issued - CLOCK_TOLERANCE - 1;
    assert_eq!(at(early).unwrap_err(), Refusal::FromTheFuture { issued: pointer.issued, now: early });
    let lasting = Pointer { expires: NOW + 100_000, ..pointer.clone() };
    let refusal = trust.clone().consider(&signed(&lasting, 10), NOW + 5000).unwrap_err();
    assert!(matches!(refusal, Refusal::Expired { what: "root", .. }));
}

#[test]
fn rollback() {
    let trust = accepted(first(), &pointer(5, 7));
    let refusal = refused(trust.clone(), &pointer(4, 7));
    assert_eq!(refusal, Refusal::Rollback { what: "pointer version", remembered: 5, found: 4 });
    let refusal = refused(trust, &pointer(6, 6));
    assert_eq!(refusal, Refusal::Rollback { what: "log size", remembered: 7, found: 6 });
}

#[test]
fn a_damaged_pointer_at_the_first_visit_is_no_rollback() {
    let text = String::from_utf8(signed(&pointer(1, 0), 10)).unwrap();
    let damaged = text.replace("root 1", "root 0");
    assert_ne!(damaged, text);
    let refusal = first().consider(damaged.as_bytes(), NOW).unwrap_err();
    assert_eq!(refusal, Refusal::WrongKey);
    assert!(refusal.hint().contains("damaged"));
}

#[test]
fn split_view() {
    let trust = accepted(first(), &pointer(5, 7));
    let other = Pointer { snapshot: Sha256::of(b"other"), ..pointer(5, 7) };
    assert_eq!(refused(trust.clone(), &other), Refusal::TwoPointers { version: 5 });
    let (other_log, other_root) = log(9, "b");
    let rewritten = Pointer { log_root: other_root, ..pointer(6, 9) };
    let candidate = trust.clone().consider(&signed(&rewritten, 10), NOW).unwrap();
    assert_eq!(candidate.proof_from(), Some(7));
    let proof = consistency_proof(&other_log, 7, 9).unwrap();
    assert_eq!(candidate.accept(&proof).unwrap_err(), Refusal::SplitView { remembered: 7, found: 9 });
    let same_size = Pointer { log_root: log(7, "b").1, ..pointer(6, 7) };
    let candidate = trust.consider(&signed(&same_size, 10), NOW).unwrap();
    assert_eq!(candidate.accept(&[]).unwrap_err(), Refusal::SplitView { remembered: 7, found: 7 });
}

#[test]
fn mix_and_match() {
    let digest = Sha256::of(b"snapshot");
    assert!(check_digest("the snapshot", &digest, b"snapshot").is_ok());
    let refusal = check_digest("the snapshot", &digest, b"other").unwrap_err();
    assert_eq!(refusal, Refusal::MixAndMatch { what: "the snapshot", expected: digest, found: Sha256::of(b"other") });
}

#[test]
fn inclusion() {
    let shard = shard("neon", &[("1.0.0", 2)]);
    let (name, entry) = (&shard.pack.name, &shard.versions[0]);
    let mut log = MemoryLog::default();
    let leaves = [b"x".to_vec(), b"y".to_vec(), entry.publish_leaf(name).to_bytes(), b"z".to_vec()];
    let log_root = log.append(&leaves).unwrap().root;
    let pointer = Pointer { log_root, ..pointer(1, 4) };
    let trust = first().consider(&signed(&pointer, 10), NOW).unwrap().accept(&[]).unwrap();
    let proof = inclusion_proof(&log, 2, 4).unwrap();
    assert!(trust.check_inclusion(name, entry, &proof).is_ok());
    let not_in_log = Refusal::NotInLog { name: name.clone(), version: entry.version.clone() };
    let mut other = entry.clone();
    other.archive = Sha256::of(b"other archive");
    assert_eq!(trust.check_inclusion(name, &other, &proof).unwrap_err(), not_in_log);
    other = entry.clone();
    other.log = 1;
    assert_eq!(trust.check_inclusion(name, &other, &proof).unwrap_err(), not_in_log);
    assert_eq!(first().check_inclusion(name, entry, &proof).unwrap_err(), not_in_log);
}

#[test]
fn refusals_say_what_to_do() {
    let expired = Refusal::Expired { what: "pointer", expires: NOW, now: NOW + 3 * 86_400 };
    assert_eq!(expired.to_string(), "the registry's pointer expired 3 days ago");
    assert!(expired.hint().contains("clock"));
    let future = Refusal::FromTheFuture { issued: NOW + 7200, now: NOW };
    assert_eq!(future.to_string(), "the registry's pointer was issued 2 hours after this machine's time");
}
