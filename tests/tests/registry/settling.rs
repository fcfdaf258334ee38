//! Installing again without a network where nothing has changed: what was found before is told again, and every change is noticed.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use exo_tests::command_line::{Run, Sandbox, manifest};

use crate::server::Pack;
use crate::site::Site;

/// Something that another install has to look at.
type Change = (&'static str, fn(&Sandbox));

const AGAIN: [&str; 2] = ["install", "--frozen"];

/// The one file that a project's last install left.
fn kept(user: &Sandbox) -> Option<PathBuf> {
    let folder = fs::read_dir(user.path("cache/v1/settled")).ok()?;
    let files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() <= 1, "{files:?}");
    files.into_iter().next()
}

/// Marks what is kept, so that it shows when it is told.
fn mark(user: &Sandbox) {
    let file = kept(user).expect("an answer is kept");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"claims\":0"), "{text}");
    fs::write(file, text.replacen("\"claims\":0", "\"claims\":4711", 1)).unwrap();
}

fn is_told_again(run: &Run) -> bool {
    run.stdout.contains("4711")
}

/// A project with two packs of a registry, installed until its answer is kept.
fn settled() -> (Site, Sandbox) {
    let mut site = Site::new();
    site.publish(&[Pack::new("base", "1.0.0"), Pack::new("tiles", "1.0.0")]);
    let mut user = Sandbox::new();
    user.set("EXO_REGISTRY", &format!("file://{}", site.folder.path().display()));
    user.project("");
    user.run(&["add", "base", "tiles"]).exits(0);
    assert_eq!(kept(&user), None);
    // The times of files that were written a moment ago say nothing yet.
    std::thread::sleep(Duration::from_millis(2100));
    user.run(&AGAIN).exits(0);
    (site, user)
}

#[test]
fn what_was_found_is_told_again_where_nothing_has_changed() {
    let (_site, user) = settled();
    let long = user.run(&["install", "--frozen", "-v"]).exits(0);
    let short = user.run(&AGAIN).exits(0);
    let table = |run: &Run| run.stdout.split("2 packs verified").next().unwrap().to_owned();
    assert_eq!(table(&short), table(&long));
    mark(&user);
    assert!(is_told_again(&user.run(&AGAIN).exits(0)));
    // Who may change the lockfile, asks for details, for the network or for a check of everything gets the long way.
    for other in [
        &["install", "--offline"][..],
        &["install", "--frozen", "-v"],
        &["install"],
        &["verify", "--offline"],
        &["check", "--frozen"],
    ] {
        assert!(!is_told_again(&user.run(other)), "{other:?}");
    }
}

#[test]
fn every_change_is_noticed() {
    let changes: [Change; 8] = [
        ("the manifest", |user| {
            let text = user.read("work/Exo.toml");
            user.write("work/Exo.toml", &format!("{text}\n# changed\n"));
        }),
        ("the lockfile", |user| {
            let text = user.read("work/Exo.lock");
            user.write("work/Exo.lock", &text.replace("\n\n", "\n"));
        }),
        ("the configuration", |user| user.write("home/.config/exo/config.toml", "# changed\n")),
        ("a workspace around it", |user| user.write("Exo.toml", "[workspace]\nmembers = [\"work\"]\n")),
        ("what is remembered of the registry", |user| {
            let folder = user.path("home/.local/share/exo/trust");
            let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }),
        ("a file of a pack", |user| {
            let trees = fs::read_dir(user.path("cache/v1/trees")).unwrap();
            let tree = trees.map(|entry| entry.unwrap().path()).next().unwrap();
            fs::write(tree.join("files/src/lib.exo"), "one = 2\n").unwrap();
        }),
        ("the listing of a pack", |user| {
            let trees = fs::read_dir(user.path("cache/v1/trees")).unwrap();
            let tree = trees.map(|entry| entry.unwrap().path()).next().unwrap();
            fs::write(tree.join("listing"), "damaged").unwrap();
        }),
        ("vendored packs", |user| user.write("work/Exo.vendor", "vendor\n")),
    ];
    for (what, change) in changes {
        let (_site, user) = settled();
        mark(&user);
        assert!(is_told_again(&user.run(&AGAIN).exits(0)), "{what}");
        change(&user);
        assert!(!is_told_again(&user.run(&AGAIN)), "{what}");
    }
}

#[test]
fn a_changed_file_of_a_pack_is_named() {
    let (_site, user) = settled();
    let trees = fs::read_dir(user.path("cache/v1/trees")).unwrap();
    let tree = trees.map(|entry| entry.unwrap().path()).next().unwrap();
    fs::write(tree.join("files/src/lib.exo"), "one = 2\n").unwrap();
    user.run(&AGAIN).exits(1).says(&["src/lib.exo", "is not what was installed"]);
}

#[test]
fn an_answer_that_cannot_be_read_is_none() {
    let (_site, user) = settled();
    let file = kept(&user).expect("an answer is kept");
    for damage in ["", "{}", "not JSON"] {
        fs::write(&file, damage).unwrap();
        user.run(&AGAIN).exits(0).prints(&["2 packs verified"]);
        mark(&user);
        assert!(is_told_again(&user.run(&AGAIN).exits(0)), "{damage}");
    }
    user.run(&["cache", "prune", "--days", "0"]).exits(0);
    assert_eq!(kept(&user), None);
}

#[test]
fn a_project_with_a_folder_of_its_own_is_looked_at_anew() {
    let (_site, user) = settled();
    user.write("near/Exo.toml", &manifest("near", "1.0.0", ""));
    user.write("near/src/lib.exo", "one = 1\n");
    user.run(&["add", "near", "--path", "../near", "--offline"]).exits(0);
    fs::remove_file(kept(&user).unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    user.run(&AGAIN).exits(0);
    assert_eq!(kept(&user), None);
}
