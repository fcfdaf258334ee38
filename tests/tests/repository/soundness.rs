//! The table of `tests/soundness/README.md`: every entry of the lists of known defects is a file there or has a reason.

use std::collections::{BTreeMap, BTreeSet};

use exo_tests::exo::repository;

use crate::none;

/// The lists: what their entries are called, from the first to the last number, and the numbers that were never given.
const LISTS: [(&str, u32, u32, &[u32]); 6] = [
    ("D", 1, 54, &[38]),
    ("A01-", 1, 8, &[]),
    ("E01-", 1, 43, &[]),
    ("S", 1, 25, &[]),
    ("F", 1, 28, &[]),
    ("P", 1, 8, &[]),
];

/// Shorter is no reason.
const SHORTEST_REASON: usize = 20;

/// The rows of the tables: entry, files, what holds or why there is no file.
fn rows() -> Vec<(String, Vec<String>, String)> {
    let path = repository().join("tests/soundness/README.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.splitn(3, '|').map(str::trim).collect();
        let [entry, files, what] = cells.as_slice() else { return None };
        let named = entry.chars().next().is_some_and(|first| first.is_ascii_uppercase());
        let files = files.split('`').skip(1).step_by(2).map(str::to_string).collect();
        named.then(|| ((*entry).to_string(), files, (*what).to_string()))
    });
    rows.collect()
}

fn entries() -> BTreeSet<String> {
    let numbered = LISTS.iter().flat_map(|(name, first, last, gaps)| {
        (*first..=*last).filter(|number| !gaps.contains(number)).map(move |number| format!("{name}{number}"))
    });
    numbered.collect()
}

#[test]
fn every_known_defect_is_a_test_or_has_a_reason() {
    let folder = repository().join("tests/soundness");
    let mut table: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (entry, files, what) in rows() {
        wrong.extend(
            files.iter().filter(|file| !folder.join(file).is_file()).map(|file| format!("{entry}: no file {file}")),
        );
        if files.is_empty() && what.len() < SHORTEST_REASON {
            wrong.push(format!("{entry}: neither a file nor a reason"));
        }
        if table.insert(entry.clone(), (files, what)).is_some() {
            wrong.push(format!("{entry}: twice"));
        }
    }
    let entries = entries();
    wrong.extend(entries.iter().filter(|entry| !table.contains_key(*entry)).map(|entry| format!("{entry}: no row")));
    wrong.extend(table.keys().filter(|entry| !entries.contains(*entry)).map(|entry| format!("{entry}: in no list")));
    none("rows of tests/soundness/README.md that are wrong", wrong);
}

#[test]
fn files_with_the_name_of_an_entry_are_in_its_row() {
    let folder = repository().join("tests/soundness");
    let rows = rows();
    let entries = entries();
    let mut missing = Vec::new();
    for below in ["", "c/"] {
        let files = std::fs::read_dir(folder.join(below)).unwrap_or_else(|error| panic!("{below}: {error}"));
        for file in files {
            let name = file.unwrap_or_else(|error| panic!("{error}")).file_name().to_string_lossy().into_owned();
            let Some(entry) = name.strip_suffix(".exo").filter(|entry| entries.contains(*entry)) else { continue };
            let file = format!("{below}{name}");
            if !rows.iter().any(|(row, files, _)| row == entry && files.contains(&file)) {
                missing.push(file);
            }
        }
    }
    none("files that their rows do not name", missing);
}
