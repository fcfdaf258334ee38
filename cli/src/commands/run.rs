//! `exo run FILE [-- ARGS]`: evaluates a module; what it prints goes to stdout.

use std::sync::Arc;

use crate::arguments::Run;
use crate::c_toolchain::CToolchain;
use crate::commands::ready::world_of_files;
use crate::evaluation::{has_errors, refused, with_compiler};
use crate::failure::{Exit, Failure, Outcome};
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(super) fn run(arguments: &Run, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let files = world_of_files(settings, terminal, &[&arguments.file])?;
    let module = files.modules.into_iter().next().ok_or_else(|| Failure::bug("one file gave no module"))?;
    let runner = Arc::new(CToolchain::new(&settings.environment));
    let mut printed = Vec::new();
    let json = terminal.is_json();
    let diagnostics = with_compiler(files.world, &settings.limits, Some(runner), |compilation| {
        compilation.set_arguments(arguments.arguments.clone());
        compilation.run(&module, &mut |line| if json { printed.push(line.to_string()) } else { terminal.line(line) })
    })?;
    if has_errors(&diagnostics) {
        return Err(refused(diagnostics, &format!("`{}` was refused", arguments.file.display())));
    }
    terminal.diagnostics(&diagnostics);
    if json {
        terminal.json(&serde_json::json!({
            "printed": printed,
            "diagnostics": crate::report::json::diagnostics(&diagnostics),
        }));
    }
    Ok(Exit::Done)
}
