//! `exo package`: the archive of this pack, made as a publish makes it, after the checks that a publish makes here.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::arguments::Package;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::filesystem;
use crate::install::summary::columns;
use crate::install::verdict::Verdict;
use crate::packaging::{self, Packed};
use crate::project::Project;
use crate::registry::configuration::Registries;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Package, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let project = Project::open(settings)?;
    let registries = Registries::read(settings)?;
    let packed = packaging::pack(&project, &registries, registries.in_use()?.as_ref())?;
    if arguments.list {
        for found in &packed.findings {
            terminal.warning(&found.to_string());
        }
        terminal.answer(|| list(&packed), || json(&packed, None, None));
        return Ok(Exit::Done);
    }
    packed.refuse_unready()?;
    packed.advise(terminal);
    let verdicts = packaging::verify(settings, terminal, &[(&packed, &project)])?;
    let verdict = verdicts.into_iter().next().ok_or_else(|| Failure::bug("verification gave no verdict"))?;
    let folder = match &arguments.output {
        Some(given) => settings.directory.join(given),
        None => project.layout.build().join("package"),
    };
    filesystem::create_directory(&folder)?;
    let path = folder.join(packed.file_name());
    filesystem::write_output(&path, &packed.archive.bytes)?;
    terminal.answer(|| text(&packed, &verdict, &path), || json(&packed, Some(&verdict), Some(&path)));
    Ok(Exit::Done)
}

/// `1234 bytes`, `12.3 KiB`.
fn size(bytes: usize) -> String {
    if bytes < 10_000 { format!("{bytes} bytes") } else { format!("{:.1} KiB", bytes as f64 / 1024.0) }
}

fn list(packed: &Packed) -> String {
    let rows: Vec<[String; 2]> =
        packed.files.files.iter().map(|(path, contents)| [path.clone(), contents.len().to_string()]).collect();
    let total: usize = packed.files.files.values().map(Vec::len).sum();
    format!(
        "{}\n{}, {}, {} compressed\n",
        columns(&rows, 1),
        count(rows.len(), "file"),
        size(total),
        size(packed.archive.bytes.len())
    )
}

fn text(packed: &Packed, verdict: &Verdict, path: &std::path::Path) -> String {
    format!(
        "{}\n{} in {}, {} proven, {} passed\nsha256 {}\ntree   {}\n",
        path.display(),
        count(packed.files.files.len(), "file"),
        size(packed.archive.bytes.len()),
        count(verdict.claims.len(), "claim"),
        count(verdict.tests, "test"),
        packed.archive.sha256,
        packed.archive.tree,
    )
}

fn json(packed: &Packed, verdict: Option<&Verdict>, path: Option<&PathBuf>) -> Value {
    let files = packed
        .archive
        .files
        .iter()
        .map(|file| json!({ "path": file.path, "size": file.length, "blake3": file.digest.to_string() }));
    json!({
        "name": packed.manifest.pack.name.value.as_str(),
        "version": packed.manifest.pack.version.value.to_string(),
        "archive": path,
        "size": packed.archive.bytes.len(),
        "sha256": packed.archive.sha256.to_string(),
        "tree": packed.archive.tree.to_string(),
        "files": files.collect::<Vec<_>>(),
        "findings": packed.findings.iter().map(|found| found.to_string()).collect::<Vec<_>>(),
        "claims": verdict.map(|verdict| &verdict.claims),
        "tests": verdict.map(|verdict| verdict.tests),
    })
}
