//! Tests of merging lockfiles.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use super::merge::{Merge, conflict_marker, merge};

fn pack(name: &str, version: &str, tree: char, needs: &str) -> String {
    let digest = tree.to_string().repeat(64);
    format!(
        "[[pack]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"builtin\"\narchive = \"sha256:{digest}\"\ntree = \"blake3:{digest}\"\n{needs}\n"
    )
}

fn conflict(ours: &str, base: Option<&str>, theirs: &str) -> String {
    let base = base.map(|text| format!("||||||| 0123abc\n{text}")).unwrap_or_default();
    format!("<<<<<<< HEAD\n{ours}{base}=======\n{theirs}>>>>>>> topic\n")
}

fn lock(packs: &str) -> String {
    format!("# Written by exo.\nversion = 1\nexo = \"0.1.0\"\n\n{packs}")
}

fn merged(packs: &str) -> Merge {
    merge(&lock(packs)).unwrap().unwrap()
}

#[test]
fn what_both_say_is_agreed_and_of_the_rest_the_newer_is_preferred() {
    for base in [None, Some(pack("neon", "1.0.0", 'f', ""))] {
        let found = merged(&format!(
            "{}{}{}",
            pack("avx", "1.0.0", 'a', ""),
            conflict(&pack("neon", "1.1.0", 'b', ""), base.as_deref(), &pack("neon", "1.2.0", 'c', "")),
            conflict("", None, &pack("sve", "0.3.0", 'd', "")),
        ));
        assert_eq!(found.agreed.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["avx"]);
        let versions: Vec<String> =
            found.preferred.packs.values().map(|pack| format!("{} {}", pack.name, pack.version)).collect();
        assert_eq!(versions, ["avx 1.0.0", "neon 1.2.0", "sve 0.3.0"]);
        let outcomes: Vec<String> =
            found.disputed.iter().map(|disputed| disputed.outcome(disputed.theirs.as_ref())).collect();
        assert_eq!(
            outcomes,
            ["`neon` is 1.2.0 (ours: 1.1.0, theirs: 1.2.0)", "`sve` is 0.3.0 (ours: none, theirs: 0.3.0)"]
        );
        assert_eq!(found.disputed[0].outcome(None), "`neon` is not needed (ours: 1.1.0, theirs: 1.2.0)");
        assert_eq!(found.to_string(), "both sides agree on 1 of its packs and differ in 2");
    }
}

#[test]
fn a_conflict_inside_of_a_pack_is_read_too() {
    let text = "[[pack]]\nname = \"std\"\n<<<<<<< HEAD\nversion = \"1.0.0\"\n=======\nversion = \"1.1.0\"\n>>>>>>> x\nsource = \"path+../std\"\n";
    let found = merged(text);
    assert_eq!(found.disputed.len(), 1);
    assert_eq!(found.preferred.packs.values().next().unwrap().version.to_string(), "1.1.0");
}

#[test]
fn a_side_that_is_no_whole_lockfile_is_read_for_its_packs() {
    // Git took `neon` from the other branch without a conflict, and what it needs is on that side only.
    let found = merged(&format!(
        "{}{}",
        pack("neon", "1.1.0", 'a', "dependencies = [\"std\"]"),
        conflict("", None, &pack("std", "1.0.0", 'b', "")),
    ));
    assert_eq!((found.agreed.len(), found.disputed.len(), found.preferred.packs.len()), (1, 1, 2));
}

#[test]
fn one_version_with_two_digests_is_refused() {
    let text = lock(&conflict(&pack("neon", "1.1.0", 'a', ""), None, &pack("neon", "1.1.0", 'b', "")));
    let error = merge(&text).unwrap_err();
    assert!(error.message.contains("different digests for `neon 1.1.0`"), "{}", error.message);
    assert_eq!(error.span, conflict_marker(&text));
}

#[test]
fn markers_that_do_not_match_and_sides_that_cannot_be_read_are_told() {
    let told = |text: &str| merge(&lock(text)).unwrap_err().message;
    assert!(told("<<<<<<< a\nx = 1\n").contains("its markers do not match"));
    assert!(told(">>>>>>> a\n").contains("its markers do not match"));
    assert!(told("<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> a\n").contains("its markers do not match"));
    assert!(told("<<<<<<< a\nnonsense\n=======\n>>>>>>> a\n").contains("our side cannot be read"));
    assert_eq!(merge(&lock(&pack("neon", "1.1.0", 'a', ""))).unwrap(), None);
}
