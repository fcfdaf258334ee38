//! Before a pack gets into a project: what is said of new names and of targets, finding packs where there are only files, one version
//! looked at, and a registry that is another than the one that was locked.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use exo_tests::command_line::{Run, Sandbox, finish};

use crate::authors::{author, home, write_pack};
use crate::server::{Pack, Server};
use crate::site::{FileServer, Site};

const TARGET: &str = "four = memory(\"FOUR\", base = DRAM)\n\n\
                      @instr(\"{y_data} = {x_data};\")\ndef copy1(y: f32 @ DRAM, x: f32 @ DRAM):\n    y = x\n\n\
                      target = target(name = \"plain\", cc = cc())\n";

/// A registry with `base`, published just now.
fn server() -> (Server, Sandbox) {
    let server = Server::start();
    let ada = author(&server, "ada");
    write_pack(&ada, "", "base", "1.0.0", "", "one = 1\n");
    ada.run(&["publish"]).exits(0);
    (server, ada)
}

/// Runs a command on a terminal of its own, and types a line.
fn at_a_terminal(sandbox: &Sandbox, arguments: &[&str], typed: &str) -> Run {
    let exo = sandbox.command("", arguments);
    let line: Vec<String> = std::iter::once(exo.get_program())
        .chain(exo.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(sandbox.path("work")).env_clear();
    script
        .envs(exo.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TERM", "dumb")
        .env("SHELL", "/bin/sh");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // `script` ends when its input does, so the line is typed and the input kept open until the command is through.
    stdin.write_all(format!("{typed}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    // A terminal has one stream.
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Run { code: output.status.code(), stdout: said.clone(), stderr: said }
}

#[test]
fn a_new_name_is_introduced_with_its_age_its_owners_and_its_downloads() {
    let (server, _ada) = server();
    let user = home(&server);
    user.project("[dependencies]\n");
    let added = user.run(&["add", "base"]).exits(0);
    added.says(&["`base 1.0.0` is new: its first version is ", " old; owner ada, ", " download"]);
    // What is in the project already is no newcomer.
    let again = user.run(&["add", "base"]).exits(0);
    assert!(!again.stderr.contains("is new"), "{}", again.stderr);
    // A registry of files cannot say who owns a pack.
    let mut site = Site::new();
    site.publish(&[Pack::new("tiles", "1.0.0")]);
    let mut user = Sandbox::new();
    user.set("EXO_REGISTRY", &format!("file://{}", site.folder.path().display()));
    user.project("[dependencies]\n");
    let added = user.run(&["add", "tiles"]).exits(0);
    added.says(&["`tiles 1.0.0` is new", "its owners and downloads are not known here"]);
}

#[test]
fn a_person_decides_about_a_newcomer() {
    let (server, _ada) = server();
    let user = home(&server);
    user.project("[dependencies]\n");
    let before = user.state();
    let refused = at_a_terminal(&user, &["add", "base"], "n").exits(1);
    refused.says(&["`base 1.0.0` is new", "add this? [y/N]", "nothing was added", "exo add --yes"]);
    assert_eq!(user.state(), before);
    at_a_terminal(&user, &["add", "base"], "y").exits(0).says(&["add this? [y/N]", "added base 1.0.0"]);
    assert!(user.read("work/Exo.toml").contains("base = \"1.0.0\""));
    user.run(&["remove", "base"]).exits(0);
    let agreed = at_a_terminal(&user, &["add", "--yes", "base"], "").exits(0);
    assert!(agreed.stdout.contains("is new") && !agreed.stdout.contains("[y/N]"), "{}", agreed.stdout);
}

#[test]
fn a_target_is_introduced_with_its_raw_c_and_a_version_of_it_can_be_looked_at() {
    let (server, ada) = server();
    ada.write(
        "work/Exo.toml",
        &ada.read("work/Exo.toml").replace("\"base\"", "\"plain\"").replace("\"schedule\"", "\"target\""),
    );
    ada.write("work/src/lib.exo", TARGET);
    ada.run(&["publish"]).exits(0);
    let user = home(&server);
    user.project("[dependencies]\n");
    let added = user.run(&["add", "plain"]).exits(0);
    added.says(&["`plain 1.0.0` is a target: what its ", " of raw C do is believed", "`plain 1.0.0` is new"]);
    let about = user.run(&["info", "plain@1.0.0"]).exits(0);
    about.prints(&[
        "plain 1.0.0 (target)",
        "checked ",
        "1 instruction",
        ", raw C",
        "owners        ada",
        "`exo add plain@=1.0.0` adds this version",
    ]);
    let json = user.run(&["info", "plain@1.0.0", "--format", "json"]).exits(0).json();
    assert_eq!((&json["version"], &json["checked"]["raw_c"]), (&"1.0.0".into(), &true.into()));
    assert_eq!(json["registry"]["owners"][0], "ada");
    user.run(&["info", "plain@2.0.0"]).exits(1).says(&["error[E0608]: `plain` has no version 2.0.0", "it has 1.0.0"]);
    user.run(&["info", "plain@x"]).exits(2).says(&["`x` is no version", "exo info neon@1.1.0"]);
}

#[test]
fn files_are_searched_by_their_index_and_silence_is_no_answer() {
    let server = Server::start();
    let session = server.account("ada");
    server.publish(&session, &[Pack::new("base", "1.0.0"), Pack::new("tiles", "1.0.0")]);
    let folder = tempfile::tempdir().unwrap();
    server.operate("export-static", &[folder.path().to_str().unwrap()]);
    let files = FileServer::start(folder.path(), None);
    let mut user = Sandbox::new();
    for url in [format!("file://{}", folder.path().display()), files.url.clone()] {
        user.set("EXO_REGISTRY", &url);
        let found = user.run(&["search", "answers", "tiles"]).exits(0);
        found
            .prints(&[&format!("in registry {url}:"), "tiles  1.0.0  schedule  Answers of tiles"])
            .says(&["has no search", "no keywords"]);
        user.run(&["search", "--kind", "target"]).exits(1).prints(&["no pack is of kind target"]);
        assert_eq!(user.run(&["search", "base", "--format", "json"]).exits(0).json()[0]["registry"], url.as_str());
    }
    // Nobody answers there: whether there is such a pack is not known.
    user.set("EXO_REGISTRY", "http://127.0.0.1:1");
    let silent = user.run(&["search", "tiles"]).exits(3);
    silent.prints(&["no pack of those that come with exo is about tiles"]).says(&["cannot reach `http://127.0.0.1:1"]);
    user.pack("tiles-here", "1.0.0", "", &[]);
    user.run(&["search", "tiles"]).exits(3).prints(&["tiles-here"]);
    user.run(&["search"]).exits(2).says(&["nothing was said", "exo search conv"]);
}

#[test]
fn a_registry_is_known_by_its_keys_and_not_by_its_url_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("site");
    let show = |site: &Site| {
        let _ = std::fs::remove_file(&place);
        std::os::unix::fs::symlink(site.folder.path(), &place).unwrap();
    };
    let site = |version: &str| {
        let mut site = Site::new();
        site.publish(&[Pack::new("base", version)]);
        site
    };
    let first = site("1.0.0");
    show(&first);
    let somebody = || {
        let mut user = Sandbox::new();
        user.set("EXO_REGISTRY", &format!("file://{}", place.display()));
        user.project("[dependencies]\nbase = \"1\"\n");
        user
    };
    let user = somebody();
    user.run(&["install"]).exits(0);
    let lock = user.read("work/Exo.lock");
    assert!(lock.contains(&format!("\nroot = \"{}\"\n", first.pin())), "{lock}");
    // The first root of another registry says when it was made, if nothing else.
    std::thread::sleep(Duration::from_millis(1100));
    let other = site("1.0.0");
    assert_ne!(other.pin(), first.pin());
    show(&other);
    for command in [&["update"][..], &["install"], &["outdated"], &["add", "base"]] {
        let colleague = somebody();
        colleague.write("work/Exo.lock", &lock);
        let refused = finish(colleague.command("", command));
        if refused.code == Some(0) {
            panic!("{command:?}: {}", refused.stdout);
        }
        refused.says(&[
            "error[E0607]: registry `file://",
            "is another one than Exo.lock was made with",
            &format!("its first root is {}", other.pin()),
            &format!("`base` is locked from {}", first.pin()),
            "somebody may stand in for it",
            "`exo remove` for all of its packs, and `exo add` them again",
        ]);
        assert_eq!(colleague.read("work/Exo.lock"), lock);
    }
    // A lockfile from before says nothing of it, and is taken as it is.
    let old =
        lock.lines().filter(|line| !line.starts_with("root = ")).map(|line| format!("{line}\n")).collect::<String>();
    show(&first);
    let user = somebody();
    user.write("work/Exo.lock", &old);
    user.run(&["install", "--locked"]).exits(0);
    assert_eq!(user.read("work/Exo.lock"), old);
}
