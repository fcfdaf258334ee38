//! `exo show KERNEL`: the proc after each step of its schedule, or what each step changed, as text or as a page.

use exo_compiler::pipeline::KernelOutput;
use serde_json::json;
use similar::TextDiff;

use crate::arguments::Show;
use crate::commands::composition::{self, Form};
use crate::commands::ready::ready;
use crate::commands::trace_page::{self, Subject};
use crate::evaluation::refused;
use crate::failure::{Exit, Failure, Outcome, count};
use crate::filesystem;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

pub(super) fn run(arguments: &Show, settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let ready = ready(settings, terminal)?;
    let targets: Vec<String> = arguments.target.iter().cloned().collect();
    // Instructions as their bodies: the steps can be looked at where the memories still refuse to become C.
    let form = Form { emulate: true, checked: false };
    let jobs = composition::jobs(settings, &ready, std::slice::from_ref(&arguments.kernel), &targets, form)?;
    let [job] = jobs.as_slice() else {
        let targets: Vec<String> = jobs.iter().map(|job| format!("--target {}", job.target)).collect();
        return Err(Failure::usage(format!("kernel `{}` has {}", arguments.kernel, count(jobs.len(), "target")))
            .hint(format!("choose one: {}", targets.join(", "))));
    };
    let mut results = composition::build(settings, terminal, &ready, std::slice::from_ref(job))?;
    let result = results.pop().ok_or_else(|| Failure::bug("a kernel gave no result"))?;
    let output =
        result.map_err(|diagnostics| refused(diagnostics, &format!("kernel `{}` was refused", arguments.kernel)))?;
    let steps = steps(&output);
    if let Some(file) = &arguments.trace {
        let pack = &ready.project.manifest.pack;
        let pack = format!("{} {}", pack.name.value, pack.version.value);
        let page = trace_page::page(&Subject { pack, kernel: &arguments.kernel, target: &job.target }, &steps);
        filesystem::write_output(&settings.directory.join(file), page.as_bytes())?;
        let (file, made) = (file.display().to_string(), steps.len().saturating_sub(1));
        terminal.answer(
            || format!("{file}\n"),
            || json!({ "kernel": arguments.kernel, "target": job.target, "file": file, "steps": made }),
        );
        return Ok(Exit::Done);
    }
    let last = steps.len().saturating_sub(1);
    if let Some(wanted) = arguments.step.filter(|wanted| *wanted > last) {
        return Err(Failure::refused(format!(
            "the schedule has {}, so there is no step {wanted}",
            count(last, "step")
        ))
        .hint("step 0 is the algorithm"));
    }
    let shown: Vec<&Step<'_>> =
        steps.iter().filter(|step| arguments.step.is_none_or(|wanted| step.number == wanted)).collect();
    terminal.answer(
        || shown.iter().map(|step| step.text(arguments.diff)).collect(),
        || json!({ "kernel": arguments.kernel, "target": job.target, "steps": shown.iter().map(|step| step.json()).collect::<Vec<_>>() }),
    );
    Ok(Exit::Done)
}

/// A proc and the operator that made it from the one before.
pub(super) struct Step<'a> {
    pub(super) number: usize,
    pub(super) operator: &'a str,
    pub(super) arguments: &'a str,
    pub(super) place: &'a str,
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

fn steps(output: &KernelOutput) -> Vec<Step<'_>> {
    let mut before = output.algorithm.as_str();
    let mut steps = vec![Step { number: 0, operator: "", arguments: "", place: "", before, after: before }];
    for (number, step) in output.trace.iter().enumerate() {
        steps.push(Step {
            number: number + 1,
            operator: &step.operator,
            arguments: &step.arguments,
            place: &step.place,
            before,
            after: &step.proc,
        });
        before = &step.proc;
    }
    steps
}

fn unified(before: &str, after: &str) -> String {
    let line_ended = |text: &str| if text.ends_with('\n') { text.to_string() } else { format!("{text}\n") };
    let (before, after) = (line_ended(before), line_ended(after));
    TextDiff::from_lines(&before, &after).unified_diff().context_radius(CONTEXT).to_string()
}

impl Step<'_> {
    /// Such as `step 3: unroll_loop(<for i in seq(0, 4)>)`.
    pub(super) fn name(&self) -> String {
        match self.number {
            0 => "algorithm".to_string(),
            number => format!("step {number}: {}({})", self.operator, self.arguments),
        }
    }

    /// What the step changed, as a unified difference; empty where it changed nothing.
    pub(super) fn difference(&self) -> String {
        unified(self.before, self.after)
    }

    fn title(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!("  # {}", self.place) };
        format!("# {}{place}", self.name())
    }

    fn text(&self, diff: bool) -> String {
        if !diff || self.number == 0 {
            return format!("{}\n{}\n\n", self.title(), self.after.trim_end());
        }
        let changes = self.difference();
        if changes.is_empty() {
            format!("{}\n(no change)\n\n", self.title())
        } else {
            format!("{}\n{changes}\n", self.title())
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "step": self.number, "operator": self.operator, "arguments": self.arguments, "place": self.place,
            "proc": self.after, "diff": if self.number == 0 { String::new() } else { self.difference() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shows_what_it_changed() {
        let step = Step {
            number: 2,
            operator: "rename",
            arguments: "p, \"g\"",
            place: "src/lib.exo:4:1",
            before: "def f():\n    pass",
            after: "def g():\n    pass",
        };
        let text = step.text(true);
        assert!(text.starts_with("# step 2: rename(p, \"g\")  # src/lib.exo:4:1\n"), "{text}");
        assert!(text.contains("-def f():\n+def g():\n     pass\n"), "{text}");
        assert!(!text.contains("No newline"), "{text}");
        let same = Step { after: step.before, ..step };
        assert!(same.text(true).contains("(no change)"));
    }
}
