//! `exo package`: what goes into an archive, what stands in the way of it, and that the same files give the same bytes.

use exo_tests::command_line::Sandbox;

const ABOUT: &str =
    "description = \"Answers\"\nlicense = \"MIT\"\nexo = \">=0.1\"\nrepository = \"https://example.org/mine\"\n";

/// A pack that is ready to be published.
fn ready() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.pack("base", "1.2.0", "", &[("src/lib.exo", "one = 1\n")]);
    sandbox.project("");
    sandbox.write("work/Exo.toml", &manifest("base = \"1.2\"\n"));
    sandbox.write("work/src/lib.exo", "from base import one\nanswer = one + 41\n");
    sandbox.write(
        "work/tests/basic.exo",
        "from mine import answer\n\ndef test_answer():\n    assert_true(answer == 42)\n",
    );
    sandbox.write("work/README.md", "# mine\n\nKnows the answer.\n");
    sandbox.write("work/CHANGELOG.md", "## 0.1.0\n");
    sandbox.write("work/LICENSE", "MIT\n");
    sandbox
}

fn manifest(dependencies: &str) -> String {
    format!(
        "[pack]\nname = \"mine\"\nversion = \"0.1.0\"\nkind = \"schedule\"\n{ABOUT}\n[dependencies]\n{dependencies}"
    )
}

#[test]
fn the_same_files_give_the_same_archive() {
    let sandbox = ready();
    sandbox.write("work/notes.txt", "not part of the pack");
    let run = sandbox.run(&["package"]).exits(0);
    run.prints(&["work/build/package/mine-0.1.0.tar.zst", "6 files in", "1 test passed", "sha256 "]);
    let first = std::fs::read(sandbox.path("work/build/package/mine-0.1.0.tar.zst")).unwrap();
    // Other times, another folder, another order of writing.
    let other = ready();
    std::fs::remove_file(other.path("work/src/lib.exo")).unwrap();
    other.write("work/src/lib.exo", &sandbox.read("work/src/lib.exo"));
    let json = other.run(&["package", "-o", "../out", "--format", "json"]).exits(0).json();
    assert_eq!(std::fs::read(other.path("out/mine-0.1.0.tar.zst")).unwrap(), first);
    assert_eq!(json["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(json["files"].as_array().unwrap().len(), 6);
    assert_eq!(json["tests"], 1);
}

#[test]
fn list_shows_files_with_sizes_and_writes_nothing() {
    let sandbox = ready();
    let run = sandbox.run(&["package", "--list"]).exits(0);
    run.prints(&["  Exo.toml ", "  README.md         26\n", "  src/lib.exo ", "6 files, "]);
    assert!(!sandbox.exists("work/build") && !sandbox.exists("work/Exo.lock"));
}

#[test]
fn everything_in_the_way_is_listed_at_once() {
    let sandbox = ready();
    sandbox.write("work/Exo.toml", "[pack]\nname = \"mine\"\nversion = \"0.1.0\"\nkind = \"schedule\"\n\n[dependencies]\nbase = { path = \"../base\" }\n");
    sandbox.write("work/README.md", "# mine\n");
    sandbox.write("work/src/lib.exo", "# ok\nKEY = \"AKIAABCDEFGHIJ234567\"\n");
    let run = sandbox.run(&["package"]).exits(1);
    run.says(&[
        "error[E0610]: `mine 0.1.0` cannot be published: 5 reasons",
        "README.md: the README is empty",
        "Exo.toml: the pack has no description",
        "Exo.toml: the pack has no licence",
        "Exo.toml:7: `base` comes from the folder `../base`, which nobody else has",
        "src/lib.exo:2: this looks like an access key of AWS",
        "base = { path = \"../base\", version = \"…\" }",
    ]);
    assert!(!sandbox.exists("work/build"));
    sandbox.run(&["package", "--list"]).exits(0).says(&["src/lib.exo:2: this looks like"]);
}

#[test]
fn a_fresh_project_is_told_what_it_lacks() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "fresh", "--kind", "schedule"]).exits(0);
    sandbox.run_in("fresh", &["package"]).exits(1).says(&["the README is the one that `exo new` wrote", "no licence"]);
}

#[test]
fn what_does_not_verify_by_itself_is_not_packaged() {
    let sandbox = ready();
    sandbox.write("work/tests/basic.exo", "def test_answer():\n    assert_true(1 == 2)\n");
    sandbox.run(&["package"]).exits(4).says(&["`mine 0.1.0` does not verify", "test_answer"]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn folders_with_versions_become_versions() {
    let sandbox = ready();
    sandbox.write("base/Exo.toml", &exo_tests::command_line::manifest("base", "1.2.0", ""));
    sandbox.write("base/src/lib.exo", "one = 1\n");
    sandbox.write("work/Exo.toml", &manifest("base = { path = \"../base\", version = \"1.2\" }\n"));
    let here = sandbox.run(&["package", "--format", "json"]).exits(0).json();
    sandbox.write("work/Exo.toml", &manifest("base = \"1.2\"\n"));
    let there = sandbox.run(&["package", "--format", "json"]).exits(0).json();
    assert_eq!(here["sha256"], there["sha256"]);
}
