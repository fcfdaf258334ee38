//! Packs from git repositories: what is locked, what is cached, and that a hostile repository can do nothing.

use std::process::Command;

use exo_tests::command_line::{Sandbox, finish, manifest};

/// Runs git in a folder of the sandbox; its output.
fn git(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(sandbox.path(folder)).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", sandbox.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    for setting in ["user.name=t", "user.email=t@example.org", "commit.gpgsign=false", "protocol.file.allow=always"] {
        command.args(["-c", setting]);
    }
    command.args(arguments);
    let run = finish(command).exits(0);
    run.stdout.trim().to_string()
}

fn commit(sandbox: &Sandbox, folder: &str) -> String {
    git(sandbox, folder, &["add", "-A"]);
    git(sandbox, folder, &["commit", "-qm", "x"]);
    git(sandbox, folder, &["rev-parse", "HEAD"])
}

/// A repository with the pack `far` at its top and `inner`, which needs `far`, in a folder.
fn repository() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("far/Exo.toml", &manifest("far", "1.0.0", ""));
    sandbox.write("far/src/lib.exo", "one = 1\n");
    sandbox.write("far/notes.txt", "not part of the pack");
    sandbox.write("far/packs/inner/Exo.toml", &manifest("inner", "0.2.0", "far = { path = \"../..\" }"));
    sandbox.write("far/packs/inner/src/lib.exo", "from far import one\ntwo = one + 1\n");
    git(&sandbox, "far", &["init", "-q", "-b", "main"]);
    let first = commit(&sandbox, "far");
    git(&sandbox, "far", &["tag", "v1"]);
    sandbox.project("");
    (sandbox, first)
}

fn url(sandbox: &Sandbox) -> String {
    format!("file://{}", sandbox.path("far").display())
}

#[test]
fn a_branch_is_locked_to_a_commit_until_update_moves_it() {
    let (sandbox, first) = repository();
    let url = url(&sandbox);
    let run = sandbox.run(&["add", "--git", &url, "--branch", "main"]).exits(0);
    run.prints(&["added far 1.0.0"]).says(&["Fetching branch main of file://"]);
    let (toml, lock) = sandbox.state();
    assert!(toml.contains(&format!("far = {{ git = \"{url}\", branch = \"main\" }}")), "{toml}");
    let lock = lock.unwrap();
    assert!(lock.contains(&format!("source = \"git+{url}?branch=main#{first}\"\ntree = \"blake3:")), "{lock}");
    sandbox.write("work/src/lib.exo", "from far import one\n");
    sandbox.write("far/src/lib.exo", "one = 1\nmore = 2\n");
    let second = commit(&sandbox, "far");
    let run = sandbox.run(&["check", "--offline"]).exits(0);
    assert!(!run.stderr.contains("Fetching"), "{}", run.stderr);
    sandbox.run(&["update"]).exits(0).prints(&[&format!("far 1.0.0: commit {first} -> {second}")]);
    assert!(sandbox.read("work/Exo.lock").contains(&second));
    sandbox.run(&["install", "--locked"]).exits(0);
    sandbox.run(&["tree"]).exits(0).prints(&["far 1.0.0 (git+file://"]);
    sandbox.run(&["outdated", "--offline"]).exits(0);
}

#[test]
fn without_a_name_for_it_the_newest_commit_is_written_down() {
    let (sandbox, first) = repository();
    sandbox.run(&["add", "far", "--git", &url(&sandbox)]).exits(0);
    assert!(sandbox.read("work/Exo.toml").contains(&format!("rev = \"{first}\"")));
    sandbox.run(&["add", "near", "--git", &url(&sandbox)]).exits(1).says(&["is called `far`, not `near`"]);
}

#[test]
fn tags_and_short_commits_name_commits_and_paths_name_packs() {
    let (sandbox, first) = repository();
    sandbox.write("far/src/lib.exo", "one = 11\n");
    commit(&sandbox, "far");
    sandbox
        .run(&["add", "--git", &url(&sandbox), "--tag", "v1", "--path", "packs/inner"])
        .exits(0)
        .prints(&["inner 0.2.0"]);
    let lock = sandbox.read("work/Exo.lock");
    // What it needs from its repository is of the same commit.
    assert_eq!(lock.matches(&format!("#{first}\"")).count(), 2, "{lock}");
    assert!(lock.contains("?tag=v1&path=packs/inner#"), "{lock}");
    sandbox.project("");
    std::fs::remove_file(sandbox.path("work/Exo.lock")).unwrap();
    sandbox.run(&["add", "--git", &url(&sandbox), "--rev", &first[..8]]).exits(0);
    assert!(sandbox.read("work/Exo.lock").contains(&format!("?rev={}#{first}", &first[..8])));
}

#[test]
fn what_is_not_there_is_said() {
    let (sandbox, _) = repository();
    let url = url(&sandbox);
    let before = sandbox.state();
    let add = |rest: &[&str]| sandbox.run(&[&["add", "--git", url.as_str()], rest].concat());
    add(&["--branch", "nope"]).exits(1).says(&["has no branch `nope`", "git ls-remote"]);
    add(&["--rev", "0123456"]).exits(1).says(&["no branch or tag of", "`0123456`"]);
    add(&["--tag", "v1", "--path", "src"]).exits(1).says(&["has no Exo.toml in `src`", "--path DIR"]);
    add(&["--branch", "main", "--offline"]).exits(3).says(&["--offline: branch main of"]);
    sandbox
        .run(&["add", "--git", "file:///nowhere/at/all", "--tag", "v1"])
        .exits(3)
        .says(&["cannot fetch `file:///nowhere/at/all`"]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn without_git_the_remedy_is_named() {
    let (sandbox, _) = repository();
    let mut command = sandbox.command("", &["add", "--git", &url(&sandbox), "--tag", "v1"]);
    command.env("PATH", sandbox.path("home"));
    finish(command).exits(3).says(&["by the program `git`, which is not on PATH", "apt install git"]);
}

#[test]
fn a_locked_commit_is_fetched_again_and_must_have_the_locked_files() {
    let (sandbox, first) = repository();
    sandbox.run(&["add", "--git", &url(&sandbox), "--branch", "main"]).exits(0);
    sandbox.write("far/src/lib.exo", "one = 2\n");
    commit(&sandbox, "far");
    std::fs::remove_dir_all(sandbox.path("cache/v1")).unwrap();
    sandbox.run(&["install", "--locked"]).exits(0).says(&[&format!("Fetching commit {first}")]);
    let lock = sandbox.read("work/Exo.lock");
    let at = lock.find("blake3:").unwrap() + 7;
    let digit = if &lock[at..=at] == "0" { "1" } else { "0" };
    sandbox.write("work/Exo.lock", &format!("{}{digit}{}", &lock[..at], &lock[at + 1..]));
    sandbox.run(&["install", "--locked"]).exits(1).says(&["error[E0609]", "is not what Exo.lock recorded"]);
}

#[test]
fn urls_and_names_cannot_be_options_or_other_programs() {
    let (sandbox, _) = repository();
    let marker = sandbox.path("touched");
    let touch = format!("--upload-pack=touch {}", marker.display());
    let before = sandbox.state();
    let add = |url: &str, rest: &[&str]| sandbox.run(&[&["add", "--git", url], rest].concat());
    add(&format!("ext::sh -c touch% {}", marker.display()), &[]).exits(2).says(&["--git: the URL of a git repository"]);
    add("ssh://-oProxyCommand=touch/x", &[]).exits(2).says(&["names no host"]);
    add("http://example.org/x", &[]).exits(2).says(&["protocol `http`", "write `https://`"]);
    add("https://me:hunter2@example.org/x", &[]).exits(2).says(&["carries a login", "credential helper"]);
    add("git@example.org:x/y", &[]).exits(2).says(&["write `ssh://git@example.org/x/y`"]);
    for option in ["--rev", "--tag", "--branch"] {
        let run = add(&url(&sandbox), &[&format!("{option}={touch}")]).exits(2);
        run.says(&[&format!("{option}: `--upload-pack=touch")]);
    }
    sandbox.run(&["add", &format!("--git={touch}")]).exits(2);
    assert_eq!(sandbox.state(), before);
    sandbox.project(&format!("[dependencies]\nfar = {{ git = \"{touch}\", tag = \"v1\" }}\n"));
    sandbox.run(&["install"]).exits(1).says(&["error[E0606]"]);
    assert!(!marker.exists());
}

#[test]
fn links_submodules_hooks_and_settings_of_a_repository_do_nothing() {
    let (sandbox, _) = repository();
    let url = url(&sandbox);
    // A hook and a filter that would run on a checkout.
    sandbox.write("far/.gitattributes", "* filter=evil\n");
    sandbox.write("far/.git/hooks/post-checkout", &format!("#!/bin/sh\ntouch {}\n", sandbox.path("touched").display()));
    sandbox.write("far/.gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ext::sh\n");
    commit(&sandbox, "far");
    git(&sandbox, "far", &["tag", "fine"]);
    sandbox.run(&["add", "--git", &url, "--tag", "fine"]).exits(0);
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("far/src/stolen.exo")).unwrap();
    commit(&sandbox, "far");
    git(&sandbox, "far", &["tag", "link"]);
    sandbox
        .run(&["add", "--git", &url, "--tag", "link"])
        .exits(1)
        .says(&["`src/stolen.exo` in `file://", "is a symbolic link"]);
    std::fs::remove_file(sandbox.path("far/src/stolen.exo")).unwrap();
    git(&sandbox, "far", &["add", "-A"]);
    let head = git(&sandbox, "far", &["rev-parse", "HEAD"]);
    git(&sandbox, "far", &["update-index", "--add", "--cacheinfo", &format!("160000,{head},src/sub")]);
    git(&sandbox, "far", &["commit", "-qm", "x"]);
    git(&sandbox, "far", &["tag", "sub"]);
    sandbox.run(&["add", "--git", &url, "--tag", "sub"]).exits(1).says(&["`src/sub` in `file://", "is a submodule"]);
    assert!(!sandbox.exists("touched"));
    assert!(sandbox.read("work/Exo.toml").contains("tag = \"fine\""));
}

#[test]
fn a_pack_does_not_reach_out_of_its_repository() {
    let (sandbox, _) = repository();
    sandbox.write("far/Exo.toml", &manifest("far", "1.0.0", "secret = { path = \"../work\" }"));
    commit(&sandbox, "far");
    let run = sandbox.run(&["add", "--git", &url(&sandbox), "--branch", "main"]).exits(1);
    run.says(&["takes `secret` from `../work`, which is outside of its repository"]);
    sandbox.write("far/Exo.toml", &manifest("far", "1.0.0", "secret = { path = \"/etc\" }"));
    commit(&sandbox, "far");
    sandbox.run(&["add", "--git", &url(&sandbox), "--branch", "main"]).exits(1).says(&["outside of its repository"]);
}
