//! `exo check`: evaluates and checks this pack, proves its claims, composes its kernels, and writes nothing.

use serde_json::{Value, json};

use crate::commands::examination::{Examination, examine};
use crate::commands::ready::ready;
use crate::failure::{Exit, Outcome, count};
use crate::install::verdict::digest_of_report;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let found = examine(settings, terminal, &ready)?;
    terminal.diagnostics(&found.report.diagnostics);
    let digest = digest_of_report(&found.report);
    terminal.answer(|| text(&found, digest.as_deref()), || document(&found, digest.as_deref()));
    if found.left_out > 0 {
        let parts = count(found.left_out, "part");
        terminal.detail(&format!("{parts} of tests need C and were not run; `exo test` runs them"));
    }
    Ok(Exit::Done)
}

fn document(found: &Examination, digest: Option<&str>) -> Value {
    let report = &found.report;
    json!({
        "procs": report.procs.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect::<Vec<_>>(),
        "instructions": report.instructions.iter().map(|instruction| &instruction.name).collect::<Vec<_>>(),
        "memories": report.memories,
        "targets": report.targets,
        "waived": found.waived.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "claims": found.claims,
        "tests": found.tests,
        "kernels": found.kernels,
        "raw_c": { "pieces": report.raw_c.len(), "digest": digest },
        "modules": found.sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "diagnostics": crate::report::json::diagnostics(&report.diagnostics),
    })
}

fn text(found: &Examination, digest: Option<&str>) -> String {
    let report = &found.report;
    let mut text = format!(
        "{} in {}, {}, {}, {}\n{} proven, {} passed, {} composed\n{}, {} of raw C\n",
        count(report.procs.len(), "proc"),
        count(found.sources.len(), "module"),
        count(report.instructions.len(), "instruction"),
        count(report.memories.len(), "memory").replace("memorys", "memories"),
        count(report.targets.len(), "target"),
        count(found.claims.len(), "claim"),
        count(found.tests, "test"),
        count(found.kernels, "kernel"),
        count(found.waived.len(), "waived check"),
        count(report.raw_c.len(), "piece"),
    );
    for waived in &found.waived {
        text.push_str(&format!("  waived {waived}\n"));
    }
    if let Some(digest) = digest {
        text.push_str(&format!("  raw C digest: blake3:{digest}\n"));
    }
    text
}
