//! Tests of the generator: its programs are typed, run, and differ.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::Arc;

use exo_compiler::analysis::Solver;
use exo_compiler::contract::Limits;
use exo_compiler::cursor::{BlockPlace, Editor, GapPlace, Path, Side, Step as Edge, path};
use exo_compiler::diagnostic::Refusal;
use exo_compiler::interpret::random::Random;
use exo_compiler::interpret::{Options, compare};
use exo_compiler::loop_ir::{Proc, StmtKind, build};
use exo_compiler::pipeline::Compilation;
use exo_compiler::schedule::registry::OPERATORS;
use exo_compiler::schedule::{Arguments, Help, Kind, Obligation, Operator, Parameter, Proposal};
use exo_compiler::source::ModuleId;
use exo_compiler::world::MemoryWorld;

use super::arguments::Chooser;
use super::definition::{Definitions, definition};
use super::front::{Scope, instruction};
use super::generated_c::{Compiled, generated_c};
use super::program::{LIBRARY, generate};
use super::reproduction;
use super::schedule::{Bench, Step, Tally, Verdict};

fn library() -> (Scope, Vec<Arc<Proc>>) {
    let mut scope = Scope::prelude();
    let mut procs = Vec::new();
    for (text, template) in LIBRARY {
        let proc = scope.typed(text).unwrap();
        let proc = Arc::new(match template {
            Some(template) => instruction(proc, template),
            None => proc,
        });
        scope.add_proc(&proc);
        procs.push(proc);
    }
    (scope, procs)
}

#[test]
fn most_programs_are_typed_and_run() {
    let (scope, _) = library();
    let (mut typed, mut clean) = (0, 0);
    let mut random = Random::new(1);
    for seed in 0..400 {
        let text = generate(&mut random, "");
        match scope.typed(&text) {
            Ok(proc) => {
                typed += 1;
                let outcome =
                    compare(&proc, &proc, &Options { seed, rounds: 3, budget: 300_000, ..Options::default() });
                clean += u32::from(outcome.is_equal());
                if std::env::var("SHOW").is_ok() && !outcome.is_equal() {
                    println!("{text}\n{outcome:?}\n");
                }
            }
            Err(message) => {
                if std::env::var("SHOW").is_ok() {
                    println!("{text}\n{message}\n");
                }
            }
        }
    }
    println!("{typed} typed, {clean} ran");
    assert!(typed > 380, "{typed} of 400 programs were typed");
    assert!(clean > 250, "{clean} of 400 programs ran without a fault");
}

#[test]
fn equal_seeds_give_equal_programs() {
    assert_eq!(generate(&mut Random::new(5), ""), generate(&mut Random::new(5), ""));
    assert_ne!(generate(&mut Random::new(5), ""), generate(&mut Random::new(6), ""));
}

#[test]
fn what_the_front_end_accepts_runs_without_a_fault() {
    let (scope, _) = library();
    let mut solver = Solver::new(400_000);
    let mut totals = Definitions::default();
    let mut show = |text: &str, message: &str| {
        if std::env::var("SHOW").is_ok() {
            println!("{text}{message}\n");
        }
    };
    for seed in 0..definitions() {
        if let Err(problem) = definition(&scope, seed, &mut solver, &mut totals, &mut show) {
            panic!("{problem}");
        }
    }
    println!("{totals:?}");
    assert!(totals.accepted > definitions() / 3, "{totals:?}");
    assert!(totals.refused > totals.refused_but_clean, "{totals:?}");
}

fn definitions() -> u64 {
    std::env::var("DEFINITIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// An operator that is wrong on purpose.
struct Wrong {
    edit: fn(&mut Editor, &Path) -> bool,
}

impl Operator for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "stmt", kind: Kind::Stmt, default: None }]
    }

    fn help(&self) -> Help {
        Help { summary: "", text: "", example: "", prints: "" }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut editor = Editor::new(proc);
        if !(self.edit)(&mut editor, arguments.path("stmt")?) {
            return Err(arguments.scheduling("not here"));
        }
        Ok(Proposal::same(editor, Obligation::ByConstruction("it is not")))
    }
}

/// Deletes a statement.
static DELETES: Wrong =
    Wrong { edit: |editor, at| BlockPlace::of_statement(at).is_some_and(|block| editor.delete(&block).is_ok()) };

/// Swaps two statements that need not commute.
static SWAPS: Wrong = Wrong {
    edit: |editor, at| {
        let Some(next) = at.sibling(1) else { return false };
        let Some(block) = BlockPlace::of_statement(&next) else { return false };
        editor.move_block(&block, &GapPlace { anchor: at.clone(), side: Side::Before }).is_ok()
    },
};

/// Drops the last iteration of a loop.
static SHORTENS: Wrong = Wrong {
    edit: |editor, at| {
        let Some(stmt) = path::stmt(editor.proc(), at).cloned() else { return false };
        let StmtKind::For { lo, hi, .. } = &stmt.kind else { return false };
        let shorter = build::sub(hi.clone(), build::int(1));
        build::int_value(lo) == Some(0) && editor.replace_expr(&at.child(Edge::Hi), shorter).is_ok()
    },
};

#[test]
fn wrong_operators_are_found_and_shrunk() {
    for wrong in [&DELETES, &SWAPS, &SHORTENS] {
        let mut bench = Bench::new();
        let mut tally = Tally::default();
        let failure = (0..60).find_map(|seed| bench.schedule(seed, wrong, &mut tally).err());
        let failure = failure.expect("a wrong operator must not pass sixty schedules");
        assert_eq!(failure.operator, "wrong");
        assert!(failure.before.lines().count() <= 14, "not shrunk:\n{failure}");
    }
}

/// A failure comes with a module that shows it, so such a module has to run.
#[test]
fn reproductions_run() {
    let mut bench = Bench::new();
    let mut tally = Tally::default();
    let mut ran = 0;
    for seed in 0..3 * OPERATORS.len() as u64 {
        let mut random = Random::new(seed);
        let operator = OPERATORS[seed as usize % OPERATORS.len()];
        let procedure = bench.program(&mut random, operator.name(), &mut tally);
        let library = bench.library().to_vec();
        let Some(raw) = Chooser::new(&procedure, &library, &mut random).arguments(operator) else { continue };
        if !matches!(bench.step(operator, &procedure, &raw, 1), Step::Accepted(_, Verdict::Right)) {
            continue;
        }
        let text = reproduction::module(operator.name(), procedure.ir(), &raw);
        let module = ModuleId::new("fuzz", "main");
        let world = MemoryWorld::new().with(module.clone(), &text);
        let said = Compilation::new(Arc::new(world), Limits::default(), None).run(&module, &mut |_| {});
        let said: Vec<String> = said.into_iter().map(|diagnostic| diagnostic.message).collect();
        assert!(said.is_empty(), "{}\n{text}", said.join("\n"));
        ran += 1;
    }
    assert!(ran > 20, "{ran} reproductions ran");
}

/// Random arguments find something to accept and something to refuse for every operator.
#[test]
fn every_operator_is_accepted_and_refused() {
    let mut bench = Bench::new();
    let mut tally = Tally::default();
    let tried = |tally: &Tally, name: &str| {
        tally.operators.get(name).is_some_and(|count| count.accepted > 0 && count.refused > 0)
    };
    for (at, focus) in OPERATORS.iter().enumerate() {
        for round in 0..120 {
            if tried(&tally, focus.name()) {
                break;
            }
            if let Err(failure) = bench.schedule((at + round * OPERATORS.len()) as u64, *focus, &mut tally) {
                panic!("{failure}");
            }
        }
    }
    let untried: Vec<_> = OPERATORS.iter().map(|op| op.name()).filter(|name| !tried(&tally, name)).collect();
    assert!(untried.is_empty(), "never accepted or never refused: {untried:?}\n{tally:?}");
}

#[test]
fn scheduled_procs_compute_the_same_as_c() {
    let mut bench = Bench::new();
    let mut totals = Compiled::default();
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..8 {
        if let Err(problem) = generated_c(&mut bench, seed, "cc", directory.path(), &mut totals) {
            panic!("{problem}");
        }
    }
    assert!(totals.runs > 4, "{totals:?}");
}

#[test]
fn random_schedules_are_refused_or_right() {
    let mut bench = Bench::new();
    let mut tally = Tally::default();
    for seed in 0..60 {
        let focus = OPERATORS[seed as usize % OPERATORS.len()];
        if let Err(failure) = bench.schedule(seed, focus, &mut tally) {
            panic!("{failure}");
        }
    }
    let accepted: u64 = tally.operators.values().map(|count| count.accepted).sum();
    let refused: u64 = tally.operators.values().map(|count| count.refused).sum();
    assert!(accepted > 100 && refused > 100, "{tally:?}");
}
