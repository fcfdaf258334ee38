//! A lockfile in the middle of a merge: both sides are read, what they agree on stays, and `--locked` refuses.

use exo_tests::command_line::{PACK, Sandbox};

/// Two branches: ours updated `base`, theirs added `other`; the text of each side's `Exo.lock` without its head.
fn diverged() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        sandbox.pack("base", version, "", &[("src/lib.exo", "one = 1\n")]);
        sandbox.pack("stable", version, "", &[("src/lib.exo", "one = 1\n")]);
    }
    sandbox.pack("other", "1.0.0", "base = \"1\"", &[("src/lib.exo", "from base import one\n")]);
    sandbox.project("[dependencies]\nbase = \"1\"\nstable = \"1\"\n");
    sandbox.run(&["install"]).exits(0);
    sandbox.run(&["update", "stable", "--precise", "1.0.0"]).exits(0);
    sandbox.run(&["update", "base", "--precise", "1.1.0"]).exits(0);
    let ours = sandbox.read("work/Exo.lock");
    sandbox.run(&["update", "base", "--precise", "1.0.0"]).exits(0);
    sandbox.run(&["add", "other"]).exits(0);
    let theirs = sandbox.read("work/Exo.lock");
    (sandbox, ours, theirs)
}

fn conflict(ours: &str, theirs: &str) -> String {
    format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> topic\n")
}

#[test]
fn both_sides_are_read_and_the_newer_of_two_versions_is_taken() {
    let (sandbox, ours, theirs) = diverged();
    sandbox.write("work/Exo.lock", &conflict(&ours, &theirs));
    sandbox
        .run(&["install", "--locked"])
        .exits(1)
        .says(&["error[E0607]", "Exo.lock contains a merge conflict: both sides agree on 1"]);
    let run = sandbox.run(&["install"]).exits(0);
    run.says(&[
        "Merging Exo.lock: both sides agree on 1 of its packs and differ in 2",
        "`base` is 1.1.0 (ours: 1.1.0, theirs: 1.0.0)",
        "`other` is 1.0.0 (ours: none, theirs: 1.0.0)",
        "Locked Exo.lock",
    ]);
    let lock = sandbox.read("work/Exo.lock");
    assert!(!lock.contains("<<<<"), "{lock}");
    // What both sides had stays, although there is something newer.
    sandbox.run(&["tree", "--locked"]).exits(0).prints(&["base 1.1.0", "other 1.0.0", "stable 1.0.0"]);
    sandbox.run(&["install", "--locked"]).exits(0);
}

#[test]
fn a_pack_that_the_merged_manifest_does_not_need_is_dropped() {
    let (sandbox, ours, theirs) = diverged();
    sandbox.write("work/Exo.toml", &format!("{PACK}[dependencies]\nbase = \"1\"\nstable = \"1\"\n"));
    sandbox.write("work/Exo.lock", &conflict(&ours, &theirs));
    sandbox.run(&["install"]).exits(0).says(&["`other` is not needed (ours: none, theirs: 1.0.0)"]);
    assert!(!sandbox.read("work/Exo.lock").contains("other"));
}

#[test]
fn one_version_with_two_contents_is_refused() {
    let (sandbox, ours, _) = diverged();
    let at = ours.find("tree = \"blake3:").unwrap() + "tree = \"blake3:".len();
    let digit = if &ours[at..=at] == "0" { "1" } else { "0" };
    let changed = format!("{}{digit}{}", &ours[..at], &ours[at + 1..]);
    sandbox.write("work/Exo.lock", &conflict(&ours, &changed));
    let before = sandbox.state();
    sandbox.run(&["install"]).exits(1).says(&["different digests for `base 1.1.0`", "Exo.lock:1:1"]);
    assert_eq!(sandbox.state(), before);
    // Both sides say the same, which is not what the registry has.
    sandbox.write("work/Exo.lock", &conflict(&changed, &changed));
    sandbox.run(&["install"]).exits(1).says(&["error[E0609]", "`base 1.1.0` is not what Exo.lock recorded"]);
}

#[test]
fn a_conflict_in_the_manifest_comes_first() {
    let (sandbox, ours, theirs) = diverged();
    sandbox
        .write("work/Exo.toml", &format!("{PACK}[dependencies]\n<<<<<<< HEAD\nbase = \"1\"\n=======\n>>>>>>> topic\n"));
    sandbox.write("work/Exo.lock", &conflict(&ours, &theirs));
    sandbox
        .run(&["install"])
        .exits(1)
        .says(&["the manifest contains a merge conflict", "Exo.lock is then merged by itself"]);
}
