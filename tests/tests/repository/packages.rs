//! The bundled packs: each is whole, and its manifest is one that `exo` accepts.

use exo_index::manifest::Manifest;
use exo_tests::exo::repository;

use crate::none;
use crate::sources::files_below;

#[test]
fn each_pack_is_whole() {
    let folder = repository().join("packages");
    let mut findings = Vec::new();
    let mut packs = 0;
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let pack = entry.unwrap_or_else(|error| panic!("{error}")).path();
        if !pack.is_dir() {
            continue;
        }
        packs += 1;
        let name = pack.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for file in ["Exo.toml", "README.md", "CHANGELOG.md", "src/lib.exo"] {
            if !pack.join(file).is_file() {
                findings.push(format!("{name}: no {file}"));
            }
        }
        if !pack.join("tests").is_dir() || files_below(&pack.join("tests"), ".exo").is_empty() {
            findings.push(format!("{name}: no test"));
        }
        let text = std::fs::read_to_string(pack.join("Exo.toml")).unwrap_or_default();
        match Manifest::parse(&text) {
            Ok(manifest) if manifest.pack.name.value.as_str() != name => {
                findings.push(format!("{name}: its manifest calls it {}", manifest.pack.name.value));
            }
            Ok(manifest) => {
                let changes = std::fs::read_to_string(pack.join("CHANGELOG.md")).unwrap_or_default();
                if !changes.contains(&format!("## {}", manifest.pack.version.value)) {
                    findings.push(format!("{name}: CHANGELOG.md says nothing about {}", manifest.pack.version.value));
                }
            }
            Err(errors) => findings.push(format!("{name}: {errors:?}")),
        }
    }
    none("packs that are not whole", findings);
    assert!(packs >= 5, "only {packs} packs in {}", folder.display());
}
