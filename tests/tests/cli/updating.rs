//! Moving on and looking around: update, lock, outdated, why, info, search, audit, completions.

use exo_tests::command_line::Sandbox;

/// `base` in three versions and `user` on top of it; the project asks for `user` and, loosely, for `base`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        sandbox.pack("base", version, "", &[("src/lib.exo", &format!("version = \"{version}\"\n"))]);
    }
    sandbox.pack("user", "1.0.0", "base = \"1\"\n", &[("src/lib.exo", "from base import version\n")]);
    sandbox.project("[dependencies]\nuser = \"1\"\nbase = \"1\"\n");
    sandbox
}

#[test]
fn update_moves_within_the_manifest_and_precise_moves_anywhere_in_it() {
    let sandbox = project();
    sandbox.run(&["install"]).exits(0);
    assert!(sandbox.read("work/Exo.lock").contains("version = \"1.1.0\""));
    sandbox.run(&["update", "base", "--precise", "1.0.0"]).exits(0).prints(&["base 1.1.0 -> 1.0.0"]);
    assert!(sandbox.read("work/Exo.lock").contains("version = \"1.0.0\""));
    // Installing again keeps what is locked, although there is something newer.
    sandbox.run(&["install"]).exits(0).prints(&["1.0.0"]);
    let outdated = sandbox.run(&["outdated"]).exits(0);
    outdated.prints(&["pack  locked  allowed  newest", "base  1.0.0     1.1.0   2.0.0"]);
    sandbox.run(&["update"]).exits(0).prints(&["base 1.0.0 -> 1.1.0"]);
    sandbox.run(&["update"]).exits(0).prints(&["everything is at the newest version that Exo.toml allows"]);
    let json = sandbox.run(&["outdated", "--format", "json"]).exits(0).json();
    assert_eq!(json[0]["newest"], "2.0.0");
}

#[test]
fn updates_that_cannot_be_leave_the_lockfile_as_it_was() {
    let sandbox = project();
    sandbox.run(&["install"]).exits(0);
    let before = sandbox.state();
    sandbox.run(&["update", "base", "--precise", "2.0.0"]).exits(1).says(&["base", "2.0.0"]);
    sandbox.run(&["update", "bse"]).exits(1).says(&["`bse` is not among the packs", "did you mean `base`"]);
    sandbox.run(&["update", "--precise", "1.0.0"]).exits(2);
    sandbox.run(&["update", "base", "--precise", "one"]).exits(2).says(&["--precise"]);
    sandbox.run(&["update", "--locked"]).exits(2).says(&["which `exo update` has to"]);
    assert_eq!(sandbox.state(), before);
}

/// A target `chip` whose second version has other raw C.
fn with_chips() -> Sandbox {
    let sandbox = Sandbox::new();
    let lib = |text: &str| {
        format!(
            "@instr(\"{text}\")\ndef set(x: [f32][1]):\n    x[0] = 0.0\n\ntarget = target(name = \"t\", instructions = [set])\n"
        )
    };
    sandbox.pack("chip", "1.0.0", "", &[("src/lib.exo", &lib("*(&{x_data}) = 0;"))]);
    sandbox.pack("chip", "1.1.0", "", &[("src/lib.exo", &lib("*(&{x_data}) = 0.0f;"))]);
    sandbox
}

#[test]
fn new_raw_c_is_accepted_or_the_update_is_refused() {
    let sandbox = with_chips();
    sandbox.project("[dependencies]\nchip = \"1\"\n");
    sandbox.run(&["install"]).exits(0);
    sandbox.run(&["update", "chip", "--precise", "1.0.0", "--accept-raw-c"]).exits(0);
    let before = sandbox.state();
    let refused = sandbox.run(&["update"]).exits(1);
    refused.says(&[
        "raw C changes, which is trusted and cannot be proven",
        "chip 1.0.0 -> 1.1.0: raw C",
        "--accept-raw-c",
        "Exo.lock is as it was",
    ]);
    assert_eq!(sandbox.state(), before);
    sandbox.run(&["update", "--accept-raw-c"]).exits(0).prints(&["chip 1.0.0 -> 1.1.0"]);
    let audit = sandbox.run(&["audit"]).exits(0);
    audit.prints(&["chip  1.1.0         0      1", "0 waived checks and 1 piece of raw C are trusted"]);
    sandbox.run(&["audit", "--deny", "waived,raw-c"]).exits(4).says(&["--deny", "raw-c: chip 1.1.0 (1)"]);
    sandbox.run(&["audit", "--deny", "waived"]).exits(0);
}

/// Not `exo update` alone moves packs.
#[test]
fn no_command_changes_raw_c_without_a_word() {
    let sandbox = with_chips();
    sandbox.pack("user", "1.0.0", "chip = \"=1.0.0\"\n", &[]);
    sandbox.pack("user", "1.1.0", "chip = \"=1.1.0\"\n", &[]);
    sandbox.project("[dependencies]\nuser = \"=1.0.0\"\n");
    sandbox.run(&["install"]).exits(0);
    let before = sandbox.state();
    let refused = sandbox.run(&["add", "user@1.1"]).exits(1);
    refused.says(&["raw C changes", "chip 1.0.0 -> 1.1.0: raw C", "Exo.lock is as it was", "--accept-raw-c"]);
    assert_eq!(sandbox.state(), before);
    sandbox.project("[dependencies]\nuser = \"=1.1.0\"\n");
    for command in ["install", "build", "check"] {
        let refused = sandbox.run(&[command]).exits(1);
        refused.says(&["raw C changes", "chip 1.0.0 -> 1.1.0: raw C", "`exo update chip --accept-raw-c`"]);
    }
    // Settling versions verifies nothing, and does not make them accepted.
    sandbox.run(&["lock"]).exits(0).prints(&["chip 1.0.0 -> 1.1.0"]);
    sandbox.run(&["install"]).exits(1).says(&["raw C changes"]);
    sandbox.run(&["update", "chip", "--accept-raw-c"]).exits(0);
    sandbox.run(&["install"]).exits(0);
    sandbox.run(&["add", "user@=1.0", "--accept-raw-c"]).exits(0).says(&["Updated chip 1.1.0 -> 1.0.0"]);
}

/// What is in a folder of the user's own is not locked, so there is nothing to accept.
#[test]
fn a_pack_that_is_taken_from_a_folder_needs_no_acceptance() {
    let sandbox = with_chips();
    sandbox.project("[dependencies]\nchip = \"=1.0.0\"\n");
    sandbox.run(&["install"]).exits(0);
    sandbox.project("[dependencies]\nchip = { path = \"../packs/chip-1.1.0\" }\n");
    sandbox.run(&["install"]).exits(0).says(&["Updated chip 1.0.0 -> 1.1.0"]);
}

#[test]
fn lock_writes_versions_and_installs_nothing() {
    let sandbox = project();
    sandbox.run(&["lock"]).exits(0).prints(&["added base 1.1.0", "added user 1.0.0"]).says(&["Locked Exo.lock"]);
    assert!(!sandbox.exists("cache/v1/trees"), "something was installed");
    sandbox.run(&["lock", "--locked"]).exits(0);
    sandbox.write("work/Exo.toml", &sandbox.read("work/Exo.toml").replace("base = \"1\"", "base = \"2\""));
    sandbox.run(&["lock", "--locked"]).exits(1).says(&["--locked: Exo.lock does not fit"]);
}

#[test]
fn why_shows_the_chains() {
    let sandbox = project();
    let why = sandbox.run(&["why", "base"]).exits(0);
    why.prints(&["mine -> base 1.1.0\nmine -> user 1.0.0 -> base 1.1.0\n"]);
    sandbox.run(&["why", "usr"]).exits(1).says(&["`usr` is not among the packs", "did you mean `user`"]);
}

#[test]
fn packs_are_found_and_described() {
    let sandbox = project();
    sandbox.run(&["search", "bas"]).exits(0).prints(&["  base  2.0.0  schedule"]);
    sandbox.run(&["search", "nothing-like-it"]).exits(1).prints(&["no pack is about nothing-like-it"]);
    sandbox.run(&["info", "user"]).exits(0).prints(&["user 1.0.0 (schedule)", "dependencies  base ^1", "exo add user"]);
    sandbox.run(&["info", "base"]).exits(0).prints(&["versions      2.0.0, 1.1.0, 1.0.0"]);
    sandbox.run(&["info", "bsae"]).exits(1).says(&[
        "there is no pack `bsae`",
        "did you mean `base`",
        "no registry was asked: `EXO_REGISTRY=URL`",
    ]);
    let json = sandbox.run(&["info", "user", "--format", "json"]).exits(0).json();
    assert!(json["dependencies"]["base"].is_string());
}

#[test]
fn completions_name_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        sandbox.run(&["completions", shell]).exits(0).prints(&["outdated"]);
    }
    sandbox.run(&["completions", "csh"]).exits(2).says(&["csh"]);
}
