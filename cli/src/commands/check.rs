//! `exo check`: evaluates and checks this pack, and counts what a reader wants to know of it; makes no C.

use serde_json::json;

use crate::commands::ready::ready;
use crate::evaluation::{has_errors, refused, with_compiler};
use crate::failure::{Exit, Outcome, count};
use crate::install::verdict::raw_c_digest;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let (sources, tests) = ready.world.modules(&ready.id)?;
    terminal
        .status("Checking", &format!("{} {}", ready.project.manifest.pack.name.value, count(sources.len(), "module")));
    let report = with_compiler(ready.world.clone(), &settings.limits, None, |compilation| compilation.check(&sources))?;
    if has_errors(&report.diagnostics) {
        return Err(refused(report.diagnostics, "this pack was refused"));
    }
    terminal.diagnostics(&report.diagnostics);
    let digest = raw_c_digest(&report.raw_c);
    terminal.answer(
        || {
            let mut text = format!(
                "{} in {}, {}, {}, {}\n{}, {} of raw C\n",
                count(report.procs.len(), "proc"),
                count(sources.len(), "module"),
                count(report.instructions.len(), "instruction"),
                count(report.memories.len(), "memory").replace("memorys", "memories"),
                count(report.targets.len(), "target"),
                count(report.waived.len(), "waived check"),
                count(report.raw_c.len(), "piece"),
            );
            for waived in &report.waived {
                text.push_str(&format!("  waived: {waived}\n"));
            }
            if let Some(digest) = &digest {
                text.push_str(&format!("  raw C digest: blake3:{digest}\n"));
            }
            text
        },
        || {
            json!({
                "procs": report.procs.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect::<Vec<_>>(),
                "instructions": report.instructions.iter().map(|instruction| &instruction.name).collect::<Vec<_>>(),
                "memories": report.memories,
                "targets": report.targets,
                "waived": report.waived,
                "raw_c": { "pieces": report.raw_c.len(), "digest": digest },
                "modules": sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "diagnostics": crate::report::json::diagnostics(&report.diagnostics),
            })
        },
    );
    if !tests.is_empty() {
        terminal.detail(&format!("{} of tests were not run; `exo test` runs them", count(tests.len(), "module")));
    }
    Ok(Exit::Done)
}
