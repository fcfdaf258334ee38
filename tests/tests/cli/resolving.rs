//! Versions: what is chosen, what is refused and why, and what `--locked` holds.

use exo_tests::command_line::{PACK, Sandbox};

fn registry() -> Sandbox {
    let sandbox = Sandbox::new();
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        sandbox.pack("std", version, "", &[("src/lib.exo", "one = 1\n")]);
    }
    sandbox.pack("neon", "1.1.0", "std = \"1\"", &[("src/lib.exo", "from std import one\n")]);
    sandbox.pack("new-neon", "3.0.0", "std = \"2\"", &[("src/lib.exo", "from std import one\n")]);
    sandbox
}

#[test]
fn tree_shows_versions_and_who_needs_them() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nneon = \"1\"\n");
    let run = sandbox.run(&["tree"]).exits(0);
    assert_eq!(run.stdout, "mine 0.1.0\n└── neon 1.1.0\n    └── std 1.2.0\n");
    let run = sandbox.run(&["tree", "-i", "std"]).exits(0);
    assert_eq!(run.stdout, "std 1.2.0\n└── neon 1.1.0\n    └── mine 0.1.0\n");
    sandbox.run(&["tree", "-i", "sdt"]).exits(1).says(&["did you mean `std`"]);
    assert_eq!(sandbox.run(&["tree", "--format", "json"]).exits(0).json()["packs"][0]["name"], "neon");
}

#[test]
fn an_unknown_pack_is_answered_with_near_names() {
    let sandbox = registry();
    sandbox.project("");
    let before = sandbox.state();
    sandbox.run(&["add", "noen"]).exits(1).says(&["error[E0608]", "no pack `noen`", "did you mean `neon`"]);
    assert_eq!(sandbox.state(), before);
    sandbox.run(&["add", "neon@one"]).exits(2).says(&["not a version requirement"]);
    sandbox.write("work/Exo.toml", &format!("{PACK}[dependencies]\nnoen = \"1\"\n"));
    sandbox.run(&["tree"]).exits(1).says(&["there is no pack `noen`", "`neon`"]);
}

#[test]
fn conflicting_requirements_are_told_with_the_chain() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nneon = \"1\"\n");
    let before = sandbox.state();
    let run = sandbox.run(&["add", "new-neon"]).exits(1);
    run.says(&["error[E0608]", "std", "`neon", "`new-neon"]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn locked_says_what_disagrees() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nneon = \"1\"\n");
    sandbox.run(&["tree", "--locked"]).exits(1).says(&["error[E0607]", "there is no Exo.lock", "without --locked"]);
    let lock = |exo: &str| {
        format!(
            "version = 1\nexo = \"{exo}\"\n\n[[pack]]\nname = \"neon\"\nversion = \"0.9.0\"\nsource = \"path+../neon\"\n"
        )
    };
    sandbox.write("work/Exo.lock", &lock(env!("CARGO_PKG_VERSION")));
    sandbox.run(&["tree", "--locked"]).exits(1).says(&["`neon` is locked from `path+../neon`"]);
    sandbox.write("work/Exo.lock", &lock("0.0.7"));
    sandbox.run(&["check", "--frozen"]).exits(1).says(&["made by exo 0.0.7", "use exo 0.0.7"]);
    sandbox.run(&["add", "std", "--locked"]).exits(2).says(&["refuse to change Exo.lock"]);
    assert_eq!(sandbox.read("work/Exo.lock"), lock("0.0.7"));
}

#[test]
fn a_damaged_lockfile_is_shown_at_its_place() {
    let sandbox = registry();
    sandbox.project("");
    sandbox.write("work/Exo.lock", "version = 1\n<<<<<<< ours\nexo = \"0.1.0\"\n=======\n>>>>>>> theirs\n");
    sandbox.run(&["tree"]).exits(1).says(&["error[E0607]", "merge conflict", "Exo.lock:2:1", "exo install"]);
}

#[test]
fn path_packs_are_followed_and_their_mistakes_placed() {
    let sandbox = registry();
    sandbox.project("[dependencies]\nmine-too = { path = \"../other\" }\n");
    sandbox.run(&["tree"]).exits(1).says(&["takes `mine-too` from `../other`, where there is no Exo.toml"]);
    sandbox
        .write("other/Exo.toml", &exo_tests::command_line::manifest("mine-too", "0.3.0", "deep = { path = \"deep\" }"));
    sandbox.write("other/deep/Exo.toml", &exo_tests::command_line::manifest("wrong", "0.1.0", ""));
    sandbox.run(&["tree"]).exits(1).says(&["takes `deep` from `../other/deep`, where the pack is called `wrong`"]);
    sandbox.write("other/deep/Exo.toml", &exo_tests::command_line::manifest("deep", "0.1.0", "std = \"2\""));
    let run = sandbox.run(&["tree"]).exits(0);
    assert_eq!(
        run.stdout,
        "mine 0.1.0\n└── mine-too 0.3.0 (path+../other)\n    └── deep 0.1.0 (path+../other/deep)\n        └── std 2.0.0\n"
    );
}

#[test]
fn a_pack_for_another_exo_is_not_chosen() {
    let sandbox = registry();
    sandbox.pack("std", "1.9.0", "", &[("src/lib.exo", "")]);
    let path = "packs/std-1.9.0/Exo.toml";
    sandbox.write(path, &sandbox.read(path).replace("kind =", "exo = \">=99\"\nkind ="));
    sandbox.project("[dependencies]\nstd = \"1\"\n");
    sandbox.run(&["tree"]).exits(0).prints(&["std 1.2.0"]);
}

#[test]
fn a_lockfile_that_fits_does_not_hide_that_a_pack_is_for_another_exo() {
    let sandbox = registry();
    let path_pack = exo_tests::command_line::manifest("near", "0.1.0", "");
    sandbox.write("near/Exo.toml", &path_pack);
    sandbox.write("near/src/lib.exo", "");
    sandbox.project("[dependencies]\nstd = \"1\"\nnear = { path = \"../near\" }\n");
    sandbox.run(&["install"]).exits(0);
    sandbox.write("near/Exo.toml", &path_pack.replace("kind =", "exo = \">=99\"\nkind ="));
    for command in [&["check"][..], &["install", "--locked"][..]] {
        sandbox.run(command).exits(1).says(&["near", "`>=99`", "exo 0.1.0"]);
    }
    sandbox.write("near/Exo.toml", &path_pack);
    sandbox.run(&["check"]).exits(0);
    let own = sandbox.read("work/Exo.toml");
    sandbox.write("work/Exo.toml", &own.replace("kind =", "exo = \">=99\"\nkind ="));
    for command in [&["check"][..], &["install", "--locked"][..]] {
        sandbox.run(command).exits(1).says(&["`>=99`", "exo 0.1.0"]);
    }
}
