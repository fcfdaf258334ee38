//! Where cursors go in each step, and what each step hands back: spec/02, 3.7 as a table with a row for every operator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod code_rows;
mod config_rows;
mod data_rows;
mod loop_rows;

use std::collections::BTreeSet;

use crate::diagnostic::codes;
use crate::schedule::apply::RawArguments;
use crate::schedule::procedure::{ForwardError, Procedure};
use crate::schedule::registry::OPERATORS;
use crate::schedule::testing::*;
use crate::testing::procs;

/// One step.
struct Row {
    operator: &'static str,
    /// Definitions; the step is one of the last.
    text: &'static str,
    /// The arguments, given all definitions.
    arguments: fn(&[Procedure]) -> RawArguments,
    /// Patterns in the old proc, and what their cursors point to in the new one; `-` where they are gone.
    forwards: &'static [(&'static str, &'static str)],
    /// What `rc = True` hands back; `-` for an invalid cursor.
    returns: &'static [(&'static str, &'static str)],
}

fn rows() -> Vec<Row> {
    [loop_rows::rows(), code_rows::rows(), data_rows::rows(), config_rows::rows()].into_iter().flatten().collect()
}

/// The text of one row against the table, as far as they differ.
fn differences(row: &Row) -> Vec<String> {
    let all: Vec<Procedure> = procs(row.text).into_iter().map(Procedure::new).collect();
    let before = all.last().unwrap();
    let after = match apply(row.operator, before, (row.arguments)(&all)) {
        Ok(after) => after,
        Err(refusal) => return vec![format!("{}: {}", row.operator, refusal.message())],
    };
    let mut wrong = Vec::new();
    for (pattern, expected) in row.forwards {
        let found = now(&after, &cursor(before, pattern)).unwrap_or("-".to_string());
        if found != *expected {
            wrong.push(format!("{}: `{pattern}` goes to `{found}`, not `{expected}`", row.operator));
        }
    }
    let found = returned(&after);
    let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (*name, text.as_str())).collect();
    if found != row.returns {
        wrong.push(format!("{} returns {found:?}, not {:?}", row.operator, row.returns));
    }
    wrong
}

#[test]
fn cursors_go_where_the_table_says() {
    let wrong: Vec<String> = rows().iter().flat_map(differences).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operator_has_a_row() {
    let rows: BTreeSet<&str> = rows().iter().map(|row| row.operator).collect();
    let missing: Vec<&str> = OPERATORS.iter().map(|operator| operator.name()).filter(|n| !rows.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Where Exo has a flag for it, and where Exo checks nothing.
#[test]
fn few_operators_take_their_condition_on_trust() {
    let has_flag = |name: &&str| {
        let operator = OPERATORS.iter().find(|operator| operator.name() == *name).unwrap();
        operator.parameters().iter().any(|parameter| parameter.name == "unsafe_skip_check")
    };
    let found: Vec<&str> = OPERATORS.iter().map(|operator| operator.name()).filter(has_flag).collect();
    assert_eq!(found, ["fission", "fuse", "remove_loop", "add_loop", "add_unsafe_guard"]);
    let p = procedure(
        "
        @proc
        def f(n: size, m: index, x: f32):
            x = 1.0
        ",
    );
    refused("add_unsafe_guard", &p, arguments!["x = _", "m < 3"]);
    let waived = apply("add_unsafe_guard", &p, arguments!["x = _", "m < 3"; unsafe_skip_check = true]).unwrap();
    let steps: Vec<&str> = waived.ir().lineage.waived.iter().map(|waiver| waiver.step.as_str()).collect();
    assert_eq!(
        steps,
        [
            "add_unsafe_guard(f, \"x = _\", \"m < 3\", unsafe_skip_check = True): the condition holds wherever the block \
          is reached"
        ]
    );
}

#[test]
fn cursors_of_unrelated_procs_are_told_apart() {
    let text = "
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, n):
                x[i] = 1.0
    ";
    let (p, other) = (procedure(text), procedure(text));
    let one = cursor(&p, "for i in _: _");
    assert_eq!(other.forward(&one).unwrap_err(), ForwardError::Unrelated);
    // A later version is no ancestor, nor is one of another branch.
    let q = step("cut_loop", &p, arguments!["i", 1i64]);
    let r = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]]);
    for (version, cursor) in [(&p, cursor(&q, "for i in _: _")), (&r, cursor(&q, "for i in _: _")), (&other, one)] {
        let refusal = refused("parallelize_loop", version, arguments![cursor]);
        assert_eq!(refusal.diagnostics[0].code, codes::UNRELATED_CURSOR, "{}", refusal.message());
    }
    let unrolled = step("unroll_loop", &step("cut_loop", &p, arguments!["i", 1i64]), arguments!["i"]);
    let gone = refused("parallelize_loop", &unrolled, arguments![cursor(&p, "for i in _: _")]);
    assert_eq!(gone.diagnostics[0].code, codes::INVALID_CURSOR, "{}", gone.message());
}
