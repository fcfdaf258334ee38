//! Schedules in tests: operators by name on procs written as text, each step compared with the interpreter and re-read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::analysis::solver::Solver;
use crate::checks::check_proc;
use crate::cursor::{GapPlace, Path, Place, Side, path};
use crate::diagnostic::Refusal;
use crate::hardware::config::Config;
use crate::hardware::memory::Memory;
use crate::hardware::precision::Precision;
use crate::interpret::compare::{Options, compare};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::{Proc, StmtKind, visit};
use crate::print;
use crate::schedule::apply::{RawArguments, apply as apply_operator};
use crate::schedule::argument::RawValue;
use crate::schedule::procedure::{Cursor, Procedure};
use crate::schedule::registry;
use crate::schedule::results::{Returned, described};
use crate::syntax::find::find;
use crate::syntax::pattern::Pattern;
use crate::testing::{dedent, known, messages, procs, procs_with};
use crate::typecheck::HostValue;

/// Z3 units for one question in tests.
const UNITS: u32 = 2_000_000;

impl From<&str> for RawValue {
    fn from(text: &str) -> Self {
        RawValue::Text(text.to_string())
    }
}

impl From<i64> for RawValue {
    fn from(value: i64) -> Self {
        RawValue::Int(value)
    }
}

impl From<bool> for RawValue {
    fn from(value: bool) -> Self {
        RawValue::Bool(value)
    }
}

impl From<&Cursor> for RawValue {
    fn from(cursor: &Cursor) -> Self {
        RawValue::Cursor(cursor.clone())
    }
}

impl From<Cursor> for RawValue {
    fn from(cursor: Cursor) -> Self {
        RawValue::Cursor(cursor)
    }
}

impl From<Config> for RawValue {
    fn from(config: Config) -> Self {
        RawValue::Config(config)
    }
}

impl From<Memory> for RawValue {
    fn from(memory: Memory) -> Self {
        RawValue::Memory(memory)
    }
}

impl From<Precision> for RawValue {
    fn from(precision: Precision) -> Self {
        RawValue::Precision(precision)
    }
}

impl From<&Procedure> for RawValue {
    fn from(procedure: &Procedure) -> Self {
        RawValue::Procedure(procedure.clone())
    }
}

impl<T: Into<RawValue>, const N: usize> From<[T; N]> for RawValue {
    fn from(values: [T; N]) -> Self {
        RawValue::List(values.into_iter().map(Into::into).collect())
    }
}

/// Arguments of a call: `arguments!["i", 4i64, ["io", "ii"]; tail = "cut"]`.
macro_rules! arguments {
    ($($value:expr),* $(; $($name:ident = $named:expr),*)?) => {
        $crate::schedule::apply::RawArguments {
            positional: vec![$($crate::schedule::argument::RawValue::from($value)),*],
            named: vec![$($((stringify!($name).to_string(), $crate::schedule::argument::RawValue::from($named))),*)?],
            ..$crate::schedule::apply::RawArguments::default()
        }
    };
}
pub(crate) use arguments;

/// The last proc of a text, as the beginning of a history.
pub(crate) fn procedure(text: &str) -> Procedure {
    Procedure::new(procs(text).last().expect("a definition").clone())
}

/// Applies an operator by name, and nothing else.
pub(crate) fn apply(operator: &str, procedure: &Procedure, arguments: RawArguments) -> Result<Procedure, Refusal> {
    let operator = registry::find(operator).unwrap_or_else(|| panic!("no operator `{operator}`"));
    apply_operator(operator, procedure, arguments, &mut Solver::new(UNITS))
}

/// Applies an operator that must accept; the result must compute the same and read back as it is printed.
pub(crate) fn step(operator: &str, procedure: &Procedure, arguments: RawArguments) -> Procedure {
    let after = match apply(operator, procedure, arguments) {
        Ok(after) => after,
        Err(refusal) => panic!("{}\n{}", messages(&refusal.diagnostics), refusal.diagnostics[0].notes.join("\n")),
    };
    same(procedure.ir(), after.ir());
    reads_back(after.ir());
    after
}

/// Applies an operator that must refuse; the refusal.
pub(crate) fn refused(operator: &str, procedure: &Procedure, arguments: RawArguments) -> Refusal {
    match apply(operator, procedure, arguments) {
        Ok(after) => panic!("`{operator}` accepted, giving\n{}", print::proc(after.ir())),
        Err(refusal) => refusal,
    }
}

/// Both procs compute the same on drawn inputs.
pub(crate) fn same(before: &Proc, after: &Proc) {
    let modulo = before.lineage.modulo(&after.lineage);
    let comparison = compare(before, after, &Options { rounds: 8, modulo, ..Options::default() });
    assert!(comparison.is_equal(), "{comparison:?}\n{}\n{}", print::proc(before), print::proc(after));
}

/// The printed proc passes the front end and prints the same again.
pub(crate) fn reads_back(proc: &Proc) {
    let text = print::proc(proc);
    let mut names = known();
    for field in Touched::by_proc(proc).all() {
        names.insert(field.to_string(), HostValue::ConfigField(field));
    }
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Call { callee, .. } = &stmt.kind {
            names.insert(callee.name.to_string(), HostValue::Proc(callee.clone()));
        }
    });
    let again = procs_with(&format!("@proc\n{text}\n"), names)
        .unwrap_or_else(|errors| panic!("does not read back: {}\n{text}", messages(&errors)));
    let again = again.last().unwrap();
    assert_eq!(print::proc(again), text);
    if let Err(errors) = check_proc(again, &mut Solver::new(UNITS)) {
        panic!("does not pass the checks of definitions: {}\n{text}", messages(&errors));
    }
}

/// The proc prints as given (indentation that all lines share aside).
pub(crate) fn prints(procedure: &Procedure, expected: &str) {
    assert_eq!(print::proc(procedure.ir()), dedent(expected).trim_end());
}

/// All matches of a pattern, as an argument.
pub(crate) fn all(procedure: &Procedure, pattern: &str) -> RawValue {
    RawValue::List(cursors(procedure, pattern).iter().map(RawValue::from).collect())
}

/// The matches of a pattern.
pub(crate) fn cursors(procedure: &Procedure, pattern: &str) -> Vec<Cursor> {
    let pattern = Pattern::parse(pattern, &|_| false).unwrap();
    let places = find(procedure.ir(), None, &pattern).unwrap();
    places.into_iter().map(|place| Cursor { procedure: procedure.clone(), place }).collect()
}

/// The first match of a pattern.
pub(crate) fn cursor(procedure: &Procedure, pattern: &str) -> Cursor {
    cursors(procedure, pattern).into_iter().next().unwrap_or_else(|| panic!("no match for {pattern}"))
}

/// The gap after the first match of a statement pattern.
pub(crate) fn gap_after(procedure: &Procedure, pattern: &str) -> Cursor {
    let Place::Node(anchor) = cursor(procedure, pattern).place else { panic!("{pattern} is not one statement") };
    Cursor { procedure: procedure.clone(), place: Place::Gap(GapPlace { anchor, side: Side::After }) }
}

/// What the last step hands back with `rc = True`: names, and what stands there, `-` for an invalid cursor.
pub(crate) fn returned(procedure: &Procedure) -> Vec<(&'static str, String)> {
    let step = procedure.step().expect("a step");
    let names = described(registry::find(step.operator).expect("an operator"));
    assert_eq!(names.len(), step.results.len(), "{}", step.operator);
    let show = |place: &Place| {
        let cursor = Cursor { procedure: procedure.clone(), place: place.clone() };
        if *place == Place::Invalid { "-".to_string() } else { now(procedure, &cursor).expect("a place") }
    };
    let text = |result: &Returned| match result {
        Returned::One(place) => show(place),
        Returned::Many(places) => places.iter().map(show).collect::<Vec<_>>().join(" | "),
    };
    names.iter().zip(&step.results).map(|((name, _), result)| (*name, text(result))).collect()
}

/// The first line of the statement (or the text of the expression) that a cursor of an ancestor now points to; `None`
/// when it is gone.
pub(crate) fn now(procedure: &Procedure, cursor: &Cursor) -> Option<String> {
    let place = procedure.forward(cursor).ok()?.place;
    let names = print::Names::of(procedure.ir());
    let line = |at: &Path| match path::node(procedure.ir(), at).expect("a place that exists") {
        path::Node::Stmt(stmt) => names.headline(stmt),
        path::Node::Expr(expr) => names.expr(expr),
        path::Node::Proc(proc) => proc.name.to_string(),
    };
    Some(match place {
        Place::Node(at) => line(&at),
        Place::Block(block) => (0..block.len()).map(|k| line(&block.statement(k))).collect::<Vec<_>>().join("; "),
        Place::Gap(gap) => line(&gap.anchor),
        Place::Arg(at) => procedure.ir().args[at].name.to_string(),
        Place::ArgList { .. } | Place::Exprs { .. } | Place::Invalid => "?".to_string(),
    })
}
