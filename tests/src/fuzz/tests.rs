//! Tests of the generator: its programs are typed, run, and differ.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::Arc;

use exo_compiler::analysis::Solver;
use exo_compiler::interpret::random::Random;
use exo_compiler::interpret::{Options, compare};
use exo_compiler::loop_ir::Proc;

use super::definition::{Definitions, definition};
use super::front::{Scope, instruction};
use super::program::{LIBRARY, generate};

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
