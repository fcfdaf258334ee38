//! What must be written down: the map names every module, and the commands that documents show exist.

use exo_tests::command_line::Sandbox;
use exo_tests::exo::repository;

use crate::none;
use crate::sources::sources;

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_map_names_every_module() {
    let map = read("ARCHITECTURE.md");
    let mut missing = Vec::new();
    for source in sources().iter().filter(|source| !source.test && source.crate_name() != "tests") {
        let Some((folder, below)) = source.path.split_once("/src/") else { continue };
        let Some(name) = below.strip_suffix(".rs").filter(|name| !name.contains('/')) else { continue };
        if !matches!(name, "lib" | "main") && !map.contains(&format!("`{name}`")) {
            missing.push(format!("{folder}: {name}"));
        }
    }
    none("modules that ARCHITECTURE.md does not name", missing);
}

/// Words that follow `word` at the start of a command line or of inline code.
fn commands(text: &str, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in [format!("\n{word} "), format!("`{word} "), format!("$ {word} ")] {
        for rest in text.split(start.as_str()).skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase()).collect();
            if !name.is_empty() {
                found.push(name);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn make_targets_in_documents_exist() {
    let makefile = read("Makefile");
    let mut missing = Vec::new();
    let mut seen = 0;
    for document in ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ".ci/run"] {
        for target in commands(&read(document), "make") {
            seen += 1;
            if !makefile.contains(&format!("\n{target}:")) {
                missing.push(format!("{document}: make {target}"));
            }
        }
    }
    none("targets that the Makefile lacks", missing);
    assert!(seen >= 3, "the documents name no make targets: they are read wrongly");
}

#[test]
fn exo_commands_in_documents_exist() {
    let sandbox = Sandbox::new();
    let mut verbs: Vec<String> = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]
        .iter()
        .flat_map(|path| commands(&read(path), "exo"))
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    assert!(verbs.len() >= 3, "the documents name no exo commands: they are read wrongly");
    let known = |verb: &String| sandbox.run(&[verb.as_str(), "--help"]).code == Some(0);
    none("commands that exo lacks", verbs.into_iter().filter(|verb| !known(verb)).collect());
}
