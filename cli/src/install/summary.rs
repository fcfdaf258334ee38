//! One screen about an installation: versions, what was verified, what was cached, how long it took.

use std::time::{Duration, Instant};

use exo_compiler::pipeline;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::count;
use crate::install::agreement::Agreement;
use crate::install::plan::Instance;
use crate::install::verification::Verified;

/// What is told of one pack.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    name: String,
    version: String,
    source: String,
    claims: usize,
    tests: usize,
    instructions: usize,
    waived: usize,
    raw_c: usize,
    skipped: Vec<String>,
    cached: bool,
    took: Duration,
    /// How it compares with the verdict that a registry signed.
    agreement: Option<String>,
}

/// What one pack asks to be trusted with.
pub(crate) struct Trusted {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Checks that were waived.
    pub(crate) waived: usize,
    /// Pieces of raw C.
    pub(crate) raw_c: usize,
    /// Tests, and parts of tests, that verification could not run.
    pub(crate) unrun: usize,
}

/// Rows in dependency order.
pub(crate) struct Summary {
    rows: Vec<Row>,
    start: Instant,
    took: Duration,
}

fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

impl Summary {
    pub(crate) fn new(start: Instant) -> Self {
        Summary { rows: Vec::new(), start, took: Duration::ZERO }
    }

    /// The same again, told by an install that began at `start`.
    pub(crate) fn again(start: Instant, rows: Vec<Row>) -> Self {
        Summary { rows, start, took: start.elapsed() }
    }

    /// What another install would tell in the same way; `None` where something was done here, or more was said than the table.
    pub(crate) fn to_repeat(&self) -> Option<Vec<Row>> {
        let quiet = |row: &Row| row.cached && matches!(row.agreement.as_deref(), None | Some("equal"));
        self.rows.iter().all(quiet).then(|| self.rows.clone())
    }

    pub(crate) fn add(&mut self, instance: &Instance, result: &Verified, agreement: &Agreement) {
        let verdict = &result.verdict;
        self.rows.push(Row {
            name: instance.name.to_string(),
            version: instance.version.to_string(),
            source: instance.source().to_string(),
            claims: verdict.claims.len(),
            tests: verdict.tests,
            instructions: verdict.instructions.len(),
            waived: verdict.waived.len(),
            raw_c: verdict.raw_c,
            skipped: verdict.skipped.clone(),
            cached: result.cached,
            took: result.took,
            agreement: agreement.word().map(str::to_string),
        });
    }

    /// What each pack asks to be trusted with.
    pub(crate) fn trusted(&self) -> Vec<Trusted> {
        let trusted = |row: &Row| Trusted {
            name: row.name.clone(),
            version: row.version.clone(),
            waived: row.waived,
            raw_c: row.raw_c,
            unrun: row.skipped.len(),
        };
        self.rows.iter().map(trusted).collect()
    }

    pub(crate) fn finish(&mut self) {
        self.took = self.start.elapsed();
    }

    pub(crate) fn text(&self) -> String {
        let header = ["pack", "version", "claims", "tests", "instructions", "waived", "raw C", "verified"];
        let mut table = vec![header.map(str::to_string)];
        for row in &self.rows {
            table.push([
                row.name.clone(),
                row.version.clone(),
                row.claims.to_string(),
                row.tests.to_string(),
                row.instructions.to_string(),
                row.waived.to_string(),
                row.raw_c.to_string(),
                if row.cached { "cached".into() } else { seconds(row.took) },
            ]);
        }
        let mut text = String::new();
        if !self.rows.is_empty() {
            text.push_str(&layout(&table));
            text.push('\n');
        }
        text.push_str(&self.footer());
        text
    }

    fn footer(&self) -> String {
        let cached = self.rows.iter().filter(|row| row.cached).count();
        let claims: usize = self.rows.iter().map(|row| row.claims).sum();
        let mut text = format!(
            "{} verified ({cached} cached), {} proven, in {} with checker {}, {}\n",
            count(self.rows.len(), "pack"),
            count(claims, "claim"),
            seconds(self.took),
            pipeline::checker_version(),
            pipeline::solver_version(),
        );
        let skipped: usize = self.rows.iter().map(|row| row.skipped.len()).sum();
        if skipped > 0 {
            text.push_str(&format!(
                "{} of tests need C or dev-dependencies and were not run here; `exo verify -v` lists them\n",
                count(skipped, "part")
            ));
        }
        text
    }

    /// What was skipped, for `-v`.
    pub(crate) fn skipped(&self) -> impl Iterator<Item = String> {
        self.rows.iter().flat_map(|row| row.skipped.iter().map(|part| format!("{}: skipped {part}", row.name)))
    }

    pub(crate) fn json(&self) -> Value {
        let packs = self.rows.iter().map(|row| {
            json!({
                "name": row.name, "version": row.version, "source": row.source, "claims": row.claims,
                "tests": row.tests, "instructions": row.instructions, "waived": row.waived, "raw_c": row.raw_c,
                "skipped": row.skipped, "registry_verdict": row.agreement, "cached": row.cached, "milliseconds": row.took.as_millis() as u64,
            })
        });
        json!({
            "packs": packs.collect::<Vec<_>>(),
            "milliseconds": self.took.as_millis() as u64,
            "checker": pipeline::checker_version(),
            "solver": pipeline::solver_version(),
        })
    }
}

/// A table whose first two columns stand to the left, and the numbers after them to the right.
pub(crate) fn layout<const N: usize>(table: &[[String; N]]) -> String {
    columns(table, 2)
}

/// A table whose first `left` columns stand to the left, and the others to the right.
pub(crate) fn columns<const N: usize>(table: &[[String; N]], left: usize) -> String {
    let mut widths = [0; N];
    for row in table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in table {
        let mut line = String::from(" ");
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            if at < left {
                line.push_str(&format!(" {cell}{padding} "))
            } else {
                line.push_str(&format!(" {padding}{cell} "))
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::layout;

    #[test]
    fn columns_line_up() {
        let cells = |row: [&str; 3]| row.map(str::to_string);
        let text = layout(&[cells(["pack", "version", "n"]), cells(["neon-conv2d", "1.0.0", "12"])]);
        assert_eq!(text, "  pack         version   n\n  neon-conv2d  1.0.0    12\n");
    }
}
