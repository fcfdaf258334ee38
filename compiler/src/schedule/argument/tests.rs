//! Tests of argument processing: every kind, cursors, shorthands, fragments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::analysis::solver::Solver;
use crate::cursor::{Editor, Place};
use crate::diagnostic::{Refusal, RefusalKind, codes};
use crate::hardware::memory::Memory;
use crate::print::Names;
use crate::schedule::apply::RawArguments;
use crate::schedule::argument::{RawValue, is_name, process, signature, written};
use crate::schedule::obligation::{Obligation, Proposal};
use crate::schedule::operator::{Arguments, Default, Help, Kind, Matches, Operator, Parameter, Value};
use crate::schedule::procedure::{Cursor, Procedure};
use crate::schedule::testing::*;
use std::sync::Arc;

/// An operator that does nothing, with one parameter of a kind.
struct Probe(&'static [Parameter]);

impl Operator for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.0
    }

    fn help(&self) -> Help {
        Help { summary: "", text: "", example: "", prints: "" }
    }

    fn propose(&self, proc: &Arc<crate::loop_ir::Proc>, _: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        Ok(Proposal::same(Editor::new(proc), Obligation::ByConstruction("nothing")))
    }
}

fn probe(kind: Kind) -> &'static Probe {
    let parameters = Box::leak(Box::new([Parameter { name: "it", kind, default: None }]));
    Box::leak(Box::new(Probe(parameters)))
}

fn value(kind: Kind, procedure: &Procedure, raw: impl Into<RawValue>) -> Result<Value, Refusal> {
    let arguments = RawArguments { positional: vec![raw.into()], ..RawArguments::default() };
    Ok(process(probe(kind), procedure, &arguments)?.values.remove(0).1)
}

/// The code that a processed place stands for.
fn code(procedure: &Procedure, value: Value) -> String {
    let place = match value {
        Value::Path(at) => Place::Node(at),
        Value::Block(block) => Place::Block(block),
        Value::Gap(gap) => Place::Gap(gap),
        Value::Arg(at) => Place::Arg(at),
        Value::List(values) => {
            return values.into_iter().map(|value| code(procedure, value)).collect::<Vec<_>>().join(" | ");
        }
        Value::Expr(expr) => return Names::of(procedure.ir()).expr(&expr),
        other => return format!("{other:?}"),
    };
    now(procedure, &Cursor { procedure: procedure.clone(), place }).unwrap()
}

fn example() -> Procedure {
    procedure(
        "
        @proc
        def inner(a: f32):
            a = 1.0

        @proc
        def f(n: size, x: f32[n], y: f32[n]):
            for i in seq(0, n):
                for j in seq(0, 4):
                    x[i] += 1.0
            for i in seq(1, n):
                for j in seq(0, n):
                    y[i] = x[i] + x[j]
            t: f32
            inner(t)
            t = x[0]
            if n > 2:
                t: f32
                inner(t)
            w = y[0:1]
            w[0] = t
        ",
    )
}

fn reads(kind: Kind, raw: impl Into<RawValue>) -> String {
    let p = example();
    let value = value(kind, &p, raw).unwrap_or_else(|refusal| panic!("{}", refusal.message()));
    code(&p, value)
}

fn fails(kind: Kind, raw: impl Into<RawValue>) -> (RefusalKind, String) {
    let refusal = value(kind, &example(), raw).map(|value| panic!("{value:?}")).unwrap_err();
    assert_eq!(refusal.operator, "probe");
    assert!(refusal.message().starts_with("argument 1 (`it`) of `probe`"), "{}", refusal.message());
    (refusal.kind, refusal.message().to_string())
}

#[test]
fn names_of_loops() {
    assert_eq!(reads(Kind::For, "i"), "for i in seq(0, n):");
    assert_eq!(reads(Kind::For, "i #1"), "for i in seq(1, n):");
    assert_eq!(reads(Kind::For, " i  # 1"), "for i in seq(1, n):");
    assert_eq!(reads(Kind::For, "for j in _: _ #1"), "for j in seq(0, n):");
    assert_eq!(reads(Kind::ForOrIf, "if _: _"), "if n > 2:");
    assert_eq!(fails(Kind::For, "i #2").0, RefusalKind::Scheduling);
    assert_eq!(fails(Kind::For, "x[_] += _").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::For, "if _: _").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::For, "for i in").0, RefusalKind::Parse);
}

#[test]
fn names_of_nested_loops() {
    assert_eq!(reads(Kind::NestedFor, "i j"), "for i in seq(0, n):");
    assert_eq!(reads(Kind::NestedFor, "i j #1"), "for i in seq(1, n):");
    assert_eq!(reads(Kind::NestedFor, "i"), "for i in seq(0, n):");
    assert_eq!(fails(Kind::NestedFor, "ij").0, RefusalKind::Scheduling);
    assert_eq!(fails(Kind::NestedFor, "j i").0, RefusalKind::Scheduling);
    let (kind, message) = fails(Kind::NestedFor, "j");
    assert_eq!(kind, RefusalKind::Argument);
    assert!(message.contains("exactly one loop"), "{message}");
}

#[test]
fn declarations_and_calls() {
    assert_eq!(reads(Kind::Alloc, "t"), "t: f32 @ DRAM");
    assert_eq!(reads(Kind::Alloc, "t #1"), "t_1: f32 @ DRAM");
    assert_eq!(reads(Kind::Alloc, "t: _"), "t: f32 @ DRAM");
    assert_eq!(fails(Kind::Alloc, "x").0, RefusalKind::Scheduling);
    assert_eq!(reads(Kind::ArgOrAlloc, "x"), "x");
    assert_eq!(reads(Kind::ArgOrAlloc, "t #1"), "t_1: f32 @ DRAM");
    assert_eq!(fails(Kind::ArgOrAlloc, "x #1").0, RefusalKind::Scheduling);
    assert_eq!(fails(Kind::ArgOrAlloc, "z: _").0, RefusalKind::Scheduling);
    assert_eq!(reads(Kind::Arg, "y"), "y");
    assert_eq!(fails(Kind::Arg, "t").0, RefusalKind::Scheduling);
    assert_eq!(reads(Kind::Call, "inner"), "inner(t)");
    assert_eq!(reads(Kind::Call, "inner #1"), "inner(t_1)");
    assert_eq!(reads(Kind::Call, "inner(_)"), "inner(t)");
    assert_eq!(reads(Kind::WindowStmt, "w = _"), "w = y[0:1]");
    assert_eq!(fails(Kind::WindowStmt, "t = _").0, RefusalKind::Argument);
    let callee = Procedure::new(crate::testing::procs("@proc\ndef inner(a: f32):\n    a = 2.0\n")[0].clone());
    assert_eq!(reads(Kind::Call, &callee), "inner(t)");
}

#[test]
fn statements_blocks_and_gaps() {
    let p = example();
    assert_eq!(reads(Kind::Stmt, "t = _"), "t = x[0]");
    assert_eq!(reads(Kind::Block(None), "t: _; inner(_)"), "t: f32 @ DRAM; inner(t)");
    assert_eq!(reads(Kind::Block(Some(1)), "t = _"), "t = x[0]");
    assert_eq!(fails(Kind::Block(Some(2)), "t = _").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::Stmt, "t: _; inner(_)").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::Stmt, "x[_]").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::Gap, "t = _").0, RefusalKind::Argument);
    assert_eq!(fails(Kind::Assign, "x[_] += _").0, RefusalKind::Argument);
    assert_eq!(reads(Kind::AssignOrReduce, "x[_] += _"), "x[i] += 1.0");
    let gap = gap_after(&p, "t = _");
    assert_eq!(code(&p, value(Kind::Gap, &p, &gap).unwrap()), "t = x[0]");
    let statement = cursor(&p, "t = _");
    assert_eq!(code(&p, value(Kind::Block(None), &p, &statement).unwrap()), "t = x[0]");
    let invalid = Cursor { procedure: p.clone(), place: Place::Invalid };
    assert_eq!(value(Kind::Stmt, &p, invalid).unwrap_err().kind, RefusalKind::InvalidCursor);
}

#[test]
fn expressions() {
    let p = example();
    assert_eq!(reads(Kind::Expr, "x[_]"), "x[i]");
    assert_eq!(reads(Kind::Exprs(Matches::All), "x[_]"), "x[i] | x[j] | x[0]");
    assert_eq!(reads(Kind::Exprs(Matches::First), "x[_]"), "x[i]");
    assert_eq!(reads(Kind::Exprs(Matches::All), "x[_] #1"), "x[j]");
    assert_eq!(reads(Kind::ListOrOne(&Kind::Expr), "x[_]"), "x[i]");
    assert_eq!(fails(Kind::Expr, "t = _").0, RefusalKind::Argument);
    let all = cursors(&p, "x[_]");
    assert_eq!(code(&p, value(Kind::Exprs(Matches::All), &p, [&all[1], &all[0]]).unwrap()), "x[j] | x[i]");
    assert_eq!(code(&p, value(Kind::Exprs(Matches::All), &p, &all[2]).unwrap()), "x[0]");
}

#[test]
fn cursors_that_are_gone() {
    let p = example();
    let body = cursor(&p, "x[_] += _");
    let q = step("unroll_loop", &p, arguments!["j"]);
    let refusal = value(Kind::Stmt, &q, &body).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::InvalidCursor);
    assert_eq!(refusal.diagnostics[0].code, codes::INVALID_CURSOR);
    let newer = cursor(&q, "t = _");
    assert_eq!(value(Kind::Stmt, &p, &newer).unwrap_err().kind, RefusalKind::InvalidCursor);
}

#[test]
fn new_expressions_and_windows() {
    static PARAMETERS: &[Parameter] = &[
        Parameter { name: "at", kind: Kind::Stmt, default: None },
        Parameter { name: "it", kind: Kind::NewExpr("at"), default: Some(Default::Int(3)) },
        Parameter { name: "window", kind: Kind::Window("at"), default: Some(Default::None) },
    ];
    static PROBE: Probe = Probe(PARAMETERS);
    let p = example();
    let run = |arguments| process(&PROBE, &p, &arguments);
    let expr = |arguments| code(&p, run(arguments).unwrap().get("it").unwrap().clone());
    assert_eq!(expr(arguments!["y[_] = _"]), "3");
    assert_eq!(expr(arguments!["y[_] = _", "i + 2 * j"]), "i + 2 * j");
    assert_eq!(expr(arguments!["y[_] = _", 7i64]), "7");
    assert_eq!(expr(arguments!["y[_] = _", RawValue::Float(0.5)]), "0.5");
    let holes = vec![cursors(&p, "x[_]")[1].clone()];
    let formatted = RawValue::Formatted { text: "_ + 1.0".to_string(), holes };
    assert_eq!(expr(arguments!["y[_] = _", formatted]), "x[j] + 1.0");
    for (text, kind) in [("k", RefusalKind::Parse), ("i +", RefusalKind::Parse), ("_", RefusalKind::Parse)] {
        let refusal = run(arguments!["y[_] = _", text]).unwrap_err();
        assert_eq!(refusal.kind, kind, "{text}");
        assert!(refusal.message().starts_with("argument 2 (`it`) of `probe`"), "{}", refusal.message());
    }
    assert_eq!(run(arguments!["t = _", "i"]).unwrap_err().kind, RefusalKind::Parse);
    assert_eq!(expr(arguments!["t = _", true]), "True");
    assert_eq!(run(arguments!["t = _", ["i"]]).unwrap_err().kind, RefusalKind::Argument);
    let window = run(arguments!["y[_] = _"; window = "x[0:i]"]).unwrap();
    assert!(matches!(window.get("window").unwrap(), Value::Window { idx, .. } if idx.len() == 1));
    assert_eq!(run(arguments!["y[_] = _"; window = "x[0:i"]).unwrap_err().kind, RefusalKind::Parse);
    assert_eq!(run(arguments!["y[_] = _"; window = 3i64]).unwrap_err().kind, RefusalKind::Argument);
}

#[test]
fn plain_values() {
    let memory = RawValue::Memory(Memory::dram());
    assert!(fails(Kind::Name, "2x").1.contains("`2x` is not one"));
    assert!(fails(Kind::Int, "2").1.contains("needs an integer, not the text \"2\""));
    assert!(fails(Kind::Bool, 1i64).1.contains("needs True or False"));
    assert!(fails(Kind::Memory, "DRAM").1.contains("needs a memory"));
    assert!(fails(Kind::Text, memory).1.contains("the memory `DRAM`"));
    assert!(fails(Kind::Procedure, "f").1.contains("needs a procedure"));
    assert!(fails(Kind::List(&Kind::Int, None), 1i64).1.contains("needs a list"));
    assert!(fails(Kind::List(&Kind::Int, None), ["a"]).1.contains("needs an integer"));
    assert!(matches!(value(Kind::Optional(&Kind::Int), &example(), RawValue::None), Ok(Value::None)));
    assert!(fails(Kind::Int, RawValue::None).1.contains("not None"));
    assert!(is_name("_x1") && !is_name("_") && !is_name("1x") && !is_name("in") && !is_name("") && !is_name("ä"));
}

#[test]
fn calls_as_text() {
    let p = example();
    let arguments = arguments!["i", &cursor(&p, "t = _"), ["a", "b"]; tail = "cut"];
    assert_eq!(arguments.written(), "\"i\", <t = x[0]>, [\"a\", \"b\"], tail = \"cut\"");
    assert_eq!(written(&RawValue::None), "None");
    let divide = crate::schedule::registry::find("divide_loop").unwrap();
    assert_eq!(
        signature(divide),
        "divide_loop(p, loop_cursor, div_const, new_iters, tail = \"guard\", perfect = False)"
    );
}
