//! Tests of the commit: history, lineage, and operators that propose nonsense.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::path::{Path, Step};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, build};
use crate::schedule::apply::{RawArguments, apply as apply_operator};
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::{Arguments, Help, Operator, Parameter};
use crate::schedule::registry::OPERATORS;
use crate::schedule::testing::*;

const NOTHING: Help = Help { summary: "", text: "", example: "", prints: "" };

/// Copies the first statement without renaming what it binds.
struct Duplicate;

impl Operator for Duplicate {
    fn name(&self) -> &'static str {
        "duplicate"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn help(&self) -> Help {
        NOTHING
    }

    fn propose(&self, proc: &Arc<Proc>, _: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut edited = Editor::new(proc);
        edited.insert_at(&Path::root(), false, 0, Block::one(proc.body[0].clone())).unwrap();
        Ok(Proposal::same(edited, Obligation::ByConstruction("not true")))
    }
}

/// Leaves a use of a name that is not in scope.
struct Unbind;

impl Operator for Unbind {
    fn name(&self) -> &'static str {
        "unbind"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn help(&self) -> Help {
        NOTHING
    }

    fn propose(&self, proc: &Arc<Proc>, _: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut edited = Editor::new(proc);
        edited.unwrap(&Path::root().child(Step::Body(0)), false).unwrap();
        Ok(Proposal::same(edited, Obligation::ByConstruction("not true")))
    }
}

/// Begins a new family.
struct Stranger;

impl Operator for Stranger {
    fn name(&self) -> &'static str {
        "stranger"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn help(&self) -> Help {
        NOTHING
    }

    fn propose(&self, proc: &Arc<Proc>, _: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut edited = Editor::new(proc);
        let whole = BlockPlace { parent: Path::root(), orelse: false, lo: 0, hi: proc.body.len() };
        edited.replace(&whole, Block::one(build::pass())).unwrap();
        let obligation = Obligation::ByConstruction("another procedure");
        Ok(Proposal::related(edited, obligation, Relation::NewFamily))
    }
}

const LOOP: &str = "
    @proc
    def f(n: size, x: f32[n]):
        for i in seq(0, n):
            x[i] = 1.0
";

#[test]
fn ill_formed_results_are_never_committed() {
    let p = procedure(LOOP);
    let mut solver = Solver::new(1000);
    for (operator, law) in [(&Duplicate as &dyn Operator, "bound twice"), (&Unbind, "outside its scope")] {
        let refusal = apply_operator(operator, &p, RawArguments::default(), &mut solver).unwrap_err();
        assert!(refusal.message().contains(law), "{}", refusal.message());
        assert!(refusal.diagnostics[0].hints[0].contains("bug of the operator"));
    }
}

#[test]
fn families() {
    let p = procedure(LOOP);
    let q = apply_operator(&Stranger, &p, RawArguments::default(), &mut Solver::new(1000)).unwrap();
    assert_ne!(q.ir().lineage.family, p.ir().lineage.family);
    assert_eq!(q.ir().lineage.family, q.ir().lineage.precision_class);
    let r = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]]);
    assert_eq!(r.ir().lineage.family, p.ir().lineage.family);
    assert_eq!(r.ir().lineage.precision_class, p.ir().lineage.precision_class);
}

#[test]
fn history_records_the_calls() {
    let p = procedure(LOOP);
    let q = step("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; tail = "cut"]);
    let r = step("reorder_stmts", &q, arguments!["for io in _: _\nfor ii in _: _"]);
    let calls: Vec<String> = r
        .history()
        .iter()
        .filter_map(|version| version.step().map(|step| format!("{}({})", step.operator, step.arguments.written())))
        .collect();
    assert_eq!(
        calls,
        [
            "reorder_stmts(\"for io in _: _\\nfor ii in _: _\")",
            "divide_loop(\"i\", 4, [\"io\", \"ii\"], tail = \"cut\")"
        ]
    );
}

#[test]
fn refusals_carry_what_explains_them() {
    let p = procedure(LOOP);
    let refusal = refused("divide_loop", &p, arguments!["i", 4i64, ["io", "ii"]; perfect = true]);
    let first = &refusal.diagnostics[0];
    assert_eq!(first.message, "`divide_loop` cannot show that n % 4 == 0");
    assert!(first.notes[0].starts_with("it fails for n = "), "{:?}", first.notes);
    assert!(first.notes[1].contains("for i in seq(0, n):  # <-- NODE"), "{:?}", first.notes);
    assert_eq!(first.notes[2], "refused: divide_loop(f, \"i\", 4, [\"io\", \"ii\"], perfect = True)");
}

#[test]
fn every_operator_is_registered_once_and_documented() {
    let mut names = BTreeSet::new();
    for operator in OPERATORS {
        assert!(names.insert(operator.name()), "{}", operator.name());
        let help = operator.help();
        assert!(!help.summary.is_empty() && !help.text.is_empty(), "{}", operator.name());
        assert!(help.example.contains("print("), "{}", operator.name());
        assert!(!help.prints.is_empty(), "{}", operator.name());
        let parameters: BTreeSet<_> = operator.parameters().iter().map(|parameter| parameter.name).collect();
        assert_eq!(parameters.len(), operator.parameters().len(), "{}", operator.name());
    }
}
