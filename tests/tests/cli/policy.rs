//! Which versions are willing to be used: age, yanks and advisories, the same in every command, with reasons.

use std::time::{SystemTime, UNIX_EPOCH};

use exo_index::calendar;
use exo_tests::command_line::{PACK, Sandbox};

const HOUR: u64 = 60 * 60;

/// `base` in three versions: ten days, five days and two hours old.
fn registry() -> Sandbox {
    let sandbox = Sandbox::new();
    for (version, hours) in [("1.0.0", 240), ("1.1.0", 120), ("1.2.0", 2)] {
        sandbox.pack("base", version, "", &[("src/lib.exo", "one = 1\n")]);
        say(&sandbox, version, &format!("{{\"age\": {}}}", hours * HOUR + 60));
    }
    sandbox
}

/// What the registry says of a version of `base`.
fn say(sandbox: &Sandbox, version: &str, json: &str) {
    sandbox.write(&format!("packs/base-{version}/candidate.json"), json);
}

const POLICY: &str = "[policy]\nmin-age = \"3 days\"\n";

#[test]
fn a_young_version_is_passed_over_and_every_command_says_so() {
    let sandbox = registry();
    sandbox.project(POLICY);
    sandbox.run(&["add", "base"]).exits(0).prints(&["added base 1.1.0"]);
    let reason = "1.2.0 is 2 hours old, and the policy asks for 3 days";
    sandbox
        .run(&["outdated"])
        .exits(0)
        .prints(&["base  1.1.0     1.1.0   1.1.0", &format!("held back: base {reason}")]);
    sandbox.run(&["info", "base"]).exits(0).prints(&["base 1.1.0", "held back", reason]);
    sandbox.run(&["search", "base"]).exits(0).prints(&["base  1.1.0"]);
    sandbox.run(&["update"]).exits(0).prints(&["everything is at the newest version"]);
    let before = sandbox.state();
    let run = sandbox.run(&["add", "base@1.2"]).exits(1);
    run.says(&[
        "error[E0608]: no choice of versions meets all requirements",
        "this project needs `base ^1.2`, but `base 1.2.0` is 2 hours old, and the policy asks for 3 days",
        "add `base` to `exempt` under `[policy]`",
    ]);
    sandbox.run(&["update", "base", "--precise", "1.2.0"]).exits(1).says(&["`base 1.2.0` is 2 hours old"]);
    assert_eq!(sandbox.state(), before);
    sandbox.write("work/Exo.toml", &before.0.replace("[policy]\n", "[policy]\nexempt = [\"base\"]\n"));
    sandbox.run(&["update"]).exits(0).prints(&["base 1.1.0 -> 1.2.0"]);
}

#[test]
fn an_unknown_age_fails_and_packs_of_the_binary_have_none() {
    let sandbox = registry();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        say(&sandbox, version, "{\"age\": \"unknown\"}");
    }
    sandbox.project(POLICY);
    sandbox.run(&["add", "base"]).exits(1).says(&["has no known publish time, and the policy asks for 3 days"]);
    say(&sandbox, "1.0.0", "{}");
    sandbox.run(&["add", "base"]).exits(0).prints(&["added base 1.0.0"]);
}

#[test]
fn a_locked_version_is_held_to_the_policy_too() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nbase = \"1\"\n");
    sandbox.run(&["install"]).exits(0).prints(&["1.2.0"]);
    sandbox.write("work/Exo.toml", &format!("{PACK}[dependencies]\nbase = \"1\"\n{POLICY}"));
    let before = sandbox.state();
    // This command is there to say it.
    let told = sandbox.run(&["outdated"]).exits(0);
    told.prints(&[
        "base  1.2.0     1.1.0   1.1.0",
        "locked: base 1.2.0 is 2 hours old, and the policy asks for 3 days",
    ]);
    let run = sandbox.run(&["install"]).exits(1);
    run.says(&["`base 1.2.0` is locked, and is 2 hours old, and the policy asks for 3 days", "`exo update base`"]);
    sandbox.run(&["install", "--locked"]).exits(1);
    assert_eq!(sandbox.state(), before);
    sandbox.run(&["update", "base"]).exits(0).prints(&["base 1.2.0 -> 1.1.0"]);
    sandbox.run(&["install", "--locked"]).exits(0);
}

#[test]
fn yanked_versions_and_those_with_advisories_are_kept_but_not_chosen() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nbase = \"1\"\n");
    sandbox.run(&["install"]).exits(0).prints(&["1.2.0"]);
    say(&sandbox, "1.2.0", "{\"yanked\": \"wrong lanes\"}");
    sandbox
        .run(&["install", "--locked"])
        .exits(0)
        .says(&["`base 1.2.0` is locked, and is yanked: wrong lanes; `exo update base`"]);
    say(&sandbox, "1.1.0", "{\"advisories\": {\"EXO-7\": \"reads past the end\"}}");
    sandbox.run(&["update"]).exits(0).prints(&["base 1.2.0 -> 1.0.0"]);
    let run = sandbox.run(&["add", "base@>=1.1"]).exits(1);
    run.says(&["`base 1.2.0` is yanked (wrong lanes) and `base 1.1.0` has the advisory EXO-7 (reads past the end)"]);
    sandbox.project("[dependencies]\nbase = \"1\"\n[policy]\nallow-advisories = [\"EXO-7\"]\n");
    sandbox.run(&["update"]).exits(0).prints(&["base 1.0.0 -> 1.1.0"]);
}

#[test]
fn a_policy_that_means_nothing_is_a_mistake() {
    let sandbox = registry();
    sandbox.project("[policy]\nmin-age = \"3 dyas\"\nexcept = []\n");
    sandbox.run(&["tree"]).exits(1).says(&["`3 dyas` is no span of time", "`except`", "`\"3 days\"`"]);
}

#[test]
fn a_project_looks_at_its_registry_as_of_a_time() {
    let sandbox = registry();
    // Versions of the test registry have an age, so that times are relative: 1.1.0 came between these two.
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let ago = |hours: u64| calendar::rfc3339(now - i64::try_from(hours * HOUR).unwrap());
    let (early, late) = (ago(150), ago(100));
    sandbox.project(&format!("[policy]\nas-of = \"{early}\"\n"));
    sandbox.run(&["add", "base"]).exits(0).prints(&["added base 1.0.0"]);
    let told = format!(", and the policy is as of {early}");
    sandbox.run(&["outdated"]).exits(0).prints(&["held back: base 1.2.0 was published on ", &told]);
    sandbox.run(&["add", "base@1.1"]).exits(1).says(&[
        "`base 1.2.0` was published on ",
        &told,
        "change `as-of` under `[policy]`",
    ]);
    // The option is for one update, and the lockfile keeps what it found.
    let dependency = "[dependencies]\nbase = \"1\"\n";
    sandbox.write("work/Exo.toml", &format!("{PACK}{dependency}"));
    sandbox.run(&["update", "--as-of", &late]).exits(0).prints(&["base 1.0.0 -> 1.1.0"]);
    sandbox.run(&["install", "--locked"]).exits(0);
    sandbox
        .run(&["update", "--as-of", "yesterday"])
        .exits(2)
        .says(&["--as-of: `yesterday` is no date such as `2026-11-30`"]);
    // What is locked already is held to a time that the manifest names.
    sandbox.write("work/Exo.toml", &format!("{PACK}{dependency}[policy]\nas-of = \"{early}\"\n"));
    sandbox.run(&["install"]).exits(1).says(&[
        "`base 1.1.0` is locked, and was published on",
        &told,
        "`exo update base`",
    ]);
    sandbox.write("work/Exo.toml", &format!("{PACK}[policy]\nas-of = \"2026-02-30\"\n"));
    sandbox.run(&["tree"]).exits(1).says(&["`2026-02-30` is no date such as", "in UTC"]);
}
