//! What the checker says of a version: claims, instructions with their C, what it waives and what it takes on trust.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use exo_index::archive::PackFiles;
use exo_index::registry::verdict::Verdict;

use super::super::format;
use super::super::render;
use super::super::trouble::PageError;
use super::super::visitor::Frame;
use super::{Shown, Whole};
use crate::chance::signed;
use crate::compatibility::{self, Known};
use crate::contents::{self, Findings};
use crate::registry::Registry;

/// One instruction.
struct InstructionRow {
    name: String,
    /// Where it is defined: path, line, and the address of that.
    place: Option<(String, String)>,
    /// `None` where the registry did not keep it.
    template: Option<String>,
    global: String,
}

/// A module whose functions write C.
struct Module {
    path: String,
    address: String,
}

/// What was found, and who says so.
struct Word {
    checker: String,
    checked: String,
    tests: u64,
    procs: usize,
    claims: Vec<String>,
    waived: Vec<String>,
    raw_c: Option<String>,
    address: String,
}

/// What a checker made of the version since.
struct Again {
    checker: String,
    at: String,
    outcome: String,
    detail: Vec<String>,
}

/// Words of a person for the outcome of a check.
fn said(known: Known) -> Again {
    let outcome = match known.outcome.as_str() {
        "verified" => "verifies".to_owned(),
        "changed" => "verifies, with other counts".to_owned(),
        compatibility::UNSETTLED => match known.again {
            Some(again) => format!("not settled; tried again from {}", format::time(again)),
            None => "not settled".to_owned(),
        },
        _ => "does not verify".to_owned(),
    };
    Again {
        checker: format!("exo {}, {}", known.checker.exo, known.checker.solver),
        at: format::time(known.at),
        outcome,
        detail: known.detail.lines().map(str::to_owned).collect(),
    }
}

#[derive(Template)]
#[template(path = "pack_checks.html")]
struct Checks<'a> {
    frame: &'a Frame,
    pack: &'a Shown,
    word: Option<Word>,
    instructions: Vec<InstructionRow>,
    modules: Vec<Module>,
    again: Vec<Again>,
    skipped: Vec<String>,
}

/// Where procs are defined: the first line that says so of each name.
fn definitions(files: &PackFiles) -> BTreeMap<String, (String, usize)> {
    let mut places = BTreeMap::new();
    for (path, bytes) in files.files.iter().filter(|(path, _)| path.starts_with("src/")) {
        for (line, text) in String::from_utf8_lossy(bytes).lines().enumerate() {
            let definition = text.trim_start().strip_prefix("def ").and_then(|rest| rest.split_once('('));
            if let Some((name, _)) = definition {
                places.entry(name.trim().to_owned()).or_insert_with(|| (path.clone(), line + 1));
            }
        }
    }
    places
}

/// The file of a module.
fn module_file(path: &str) -> String {
    format!("src/{}.exo", path.replace('.', "/"))
}

/// The instructions of a verdict, with the C that the checker saw of them.
fn instructions(pack: &Shown, verdict: &Verdict, findings: &Findings, files: &PackFiles) -> Vec<InstructionRow> {
    let places = definitions(files);
    let row = |(at, name): (usize, &String)| {
        let seen = findings.instructions.get(at).filter(|seen| seen.name == *name);
        InstructionRow {
            name: name.clone(),
            place: places
                .get(name)
                .map(|(path, line)| (format!("{path}:{line}"), format!("{}#L{line}", pack.file_address(path)))),
            template: seen.map(|seen| seen.template.clone()),
            global: seen.map(|seen| seen.global.clone()).unwrap_or_default(),
        }
    };
    verdict.instructions.iter().enumerate().map(row).collect()
}

pub(super) async fn page(registry: &Registry, whole: Whole<'_>) -> Result<Response, PageError> {
    let pack = whole.pack;
    let verdict = contents::verdict(registry, pack.name(), &pack.entry).await?;
    let findings = contents::findings(registry, pack.name(), &pack.entry.version).await?.unwrap_or_default();
    let files = contents::files(registry, &pack.entry).await?;
    let mut known = compatibility::of_pack(&mut *registry.rows.acquire().await?, pack.name()).await?;
    known.retain(|known| known.version == pack.entry.version.to_string());
    let module = |path: &String| Module { path: module_file(path), address: pack.file_address(&module_file(path)) };
    let checks = Checks {
        frame: whole.frame,
        pack,
        instructions: verdict.as_ref().map_or_else(Vec::new, |verdict| instructions(pack, verdict, &findings, &files)),
        modules: findings.c_modules.iter().map(module).collect(),
        again: known.into_iter().map(said).collect(),
        skipped: findings.skipped.clone(),
        word: verdict.zip(pack.entry.verdict).map(|(verdict, digest)| Word {
            checker: match verdict.solver.is_empty() {
                true => format!("exo {}", verdict.exo),
                false => format!("exo {}, {}", verdict.exo, verdict.solver),
            },
            checked: format::time(signed(verdict.checked)),
            tests: verdict.tests,
            procs: verdict.procs.len(),
            claims: verdict.claims,
            waived: verdict.waived,
            raw_c: verdict.raw_c.map(|digest| digest.to_string()),
            address: format!("/{}", exo_index::registry::layout::verdict(&digest)),
        }),
    };
    render(&checks)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_of_definitions() {
        let text = b"# def no(x)\n@instr(\"a\")\ndef load(x: f32):\n    pass\n\ndef load(y: f32):\n    pass\n".to_vec();
        let files = PackFiles {
            files: [("src/a/b.exo".to_owned(), text), ("tests/t.exo".to_owned(), b"def test():\n".to_vec())].into(),
        };
        let places = definitions(&files);
        assert_eq!(places.get("load"), Some(&("src/a/b.exo".to_owned(), 3)));
        assert_eq!(places.len(), 1);
        assert_eq!(module_file("a.b"), "src/a/b.exo");
    }
}
