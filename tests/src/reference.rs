//! The reference pages that are made from the compiler itself: one of operators, one of error codes.

use std::fmt::Write as _;

use exo_compiler::diagnostic::codes;
use exo_compiler::pipeline::{self, OperatorHelp};

/// Where the pages stand, and what must stand there.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![("docs/reference/operators.md", operators()), ("docs/reference/errors.md", errors())]
}

const MADE: &str = "<!-- Made by `make reference` from the compiler; change it there. -->";

fn operators() -> String {
    let operators = pipeline::operators();
    let mut page = format!(
        "# Scheduling operators\n\n{MADE}\n\nEach takes a proc and returns a new one that computes the same, or refuses. \
         `exo help OPERATOR` prints one entry.\n\nEach also takes `rc = True` and then returns the proc and a record of cursors into it, \
         under the names that its entry gives: `p, made = divide_loop(p, \"i\", 8, [\"io\", \"ii\"], rc = True)` and then \
         `made.inner`, or `p, (outer, inner, tail) = ...`. What a step did not make is an invalid cursor. A few take \
         `unsafe_skip_check = True`, which takes their condition on trust: it is recorded, printed in the C, counted by \
         `exo check`, and denied in dependencies.\n\n| operator | |\n|---|---|\n"
    );
    for operator in &operators {
        let _ = writeln!(page, "| [`{0}`](#{0}) | {1} |", operator.name, operator.summary.replace('|', "\\|"));
    }
    for operator in &operators {
        page.push_str(&operator_entry(operator));
    }
    page
}

fn operator_entry(operator: &OperatorHelp) -> String {
    let mut entry = format!(
        "\n## {}\n\n```python\n{}\n```\n\n{}.\n\n",
        operator.name,
        operator.signature,
        capitalised(operator.summary.trim_end_matches('.'))
    );
    for paragraph in operator.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let _ = writeln!(entry, "{paragraph}\n");
    }
    let _ = writeln!(entry, "{}\n", results(operator));
    if !operator.example.is_empty() {
        let _ = writeln!(entry, "```python\n{}\n```\n\nprints\n", operator.example.trim_end());
        let _ = writeln!(entry, "```python\n{}\n```", operator.prints.trim_end());
    }
    entry
}

fn results(operator: &OperatorHelp) -> String {
    let results: Vec<String> = operator.results.iter().map(|(name, meaning)| format!("`{name}` ({meaning})")).collect();
    match results.is_empty() {
        true => "With `rc = True`: an empty record.".to_string(),
        false => format!("With `rc = True`: {}.", results.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn errors() -> String {
    let mut page = format!("# Error codes\n\n{MADE}\n\n`exo explain CODE` prints one entry.\n");
    for entry in codes::ALL {
        let _ = write!(page, "\n## {}: {}\n\n{}\n", entry.code, entry.title, entry.explanation);
    }
    page
}
