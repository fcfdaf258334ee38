//! `exo new` and `exo init`: what they make, and what they leave alone.

use exo_tests::command_line::Sandbox;

#[test]
fn new_makes_a_whole_project() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "edge-kernels"]).exits(0).says(&["Created", "cd edge-kernels"]);
    for file in ["Exo.toml", "README.md", "CHANGELOG.md", ".gitignore", "src/lib.exo", "tests/basic.exo"] {
        assert!(sandbox.exists(&format!("work/edge-kernels/{file}")), "{file}");
    }
    assert!(sandbox.read("work/edge-kernels/Exo.toml").contains("name = \"edge-kernels\""));
    assert!(sandbox.read("work/edge-kernels/tests/basic.exo").contains("from edge_kernels import"));
    let left: Vec<_> = std::fs::read_dir(sandbox.path("work")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn new_takes_the_kind_and_the_vendor() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "@arm/simd", "--kind", "target"]).exits(0);
    let manifest = sandbox.read("work/simd/Exo.toml");
    assert!(manifest.contains("name = \"@arm/simd\"") && manifest.contains("kind = \"target\""), "{manifest}");
}

#[test]
fn new_refuses_a_taken_folder_and_a_wrong_name() {
    let sandbox = Sandbox::new();
    sandbox.write("work/taken/notes.txt", "mine");
    sandbox.run(&["new", "taken"]).exits(1).says(&["is already there", "exo init"]);
    assert_eq!(sandbox.read("work/taken/notes.txt"), "mine");
    sandbox.run(&["new", "Edge_Kernels"]).exits(2).says(&["`edge-kernels` would be a valid name"]);
    assert!(!sandbox.exists("work/edge-kernels"));
}

#[test]
fn init_keeps_what_is_there() {
    let sandbox = Sandbox::new();
    sandbox.write("work/mine/src/lib.exo", "x = 1\n");
    sandbox.write("work/mine/README.md", "my words\n");
    sandbox.run_in("mine", &["init", "--kind", "schedule"]).exits(0);
    assert_eq!(sandbox.read("work/mine/src/lib.exo"), "x = 1\n");
    assert_eq!(sandbox.read("work/mine/README.md"), "my words\n");
    assert!(sandbox.read("work/mine/Exo.toml").contains("name = \"mine\""));
    assert!(!sandbox.exists("work/mine/tests/basic.exo"));
    assert!(!sandbox.exists("work/mine/.exo-journal"));
    sandbox.run_in("mine", &["init"]).exits(1).says(&["already is a project"]);
}

#[test]
fn init_asks_for_a_name_where_the_folder_has_none_to_give() {
    let sandbox = Sandbox::new();
    sandbox.write("work/3 things/notes", "");
    sandbox.run_in("3 things", &["init"]).exits(2).says(&["--name NAME"]);
    sandbox.run_in("3 things", &["init", "--name", "three"]).exits(0);
}
