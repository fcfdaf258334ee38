//! Tests of the analyses, one file a question.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used, clippy::panic)]

use super::*;
use crate::cursor::path::{self, BlockPlace, Path};
use crate::loop_ir::{BinaryOp, Control, Proc, StmtKind, build, visit};
use crate::print::Names;
use crate::symbol::Sym;
use crate::testing::proc;

mod effect_questions;
mod linear_logic;
mod twin;
mod filling;

/// The path of the first statement whose printed first line starts with `text`.
fn at(proc: &Proc, text: &str) -> Path {
    let names = Names::of(proc);
    let mut found = None;
    path::each_stmt_path(proc, &mut |path, stmt| {
        if found.is_none() && names.headline(stmt).starts_with(text) {
            found = Some(path.clone());
        }
    });
    found.unwrap_or_else(|| panic!("no `{text}`"))
}

fn block(proc: &Proc, text: &str) -> BlockPlace {
    BlockPlace::of_statement(&at(proc, text)).unwrap()
}

/// The symbol of a name, as a parameter or where it is first bound.
fn symbol(proc: &Proc, name: &str) -> Sym {
    let mut found = proc.args.iter().map(|arg| arg.name.clone()).find(|symbol| symbol.name() == name);
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let Some(symbol) = visit::bound_by(stmt)
            && found.is_none()
            && symbol.name() == name
        {
            found = Some(symbol.clone());
        }
    });
    found.unwrap_or_else(|| panic!("no `{name}`"))
}

fn ask(proc: &Proc, question: &Question) -> Result<(), Unproven> {
    question.answer(proc, proc, &mut Solver::new(1_000_000))
}

/// The answer, and that Z3 was not needed for it.
fn ask_fast(proc: &Proc, question: &Question) -> Result<(), Unproven> {
    let mut solver = Solver::new(1_000_000);
    let answer = question.answer(proc, proc, &mut solver);
    assert_eq!(solver.stats().z3, 0, "{question:?}");
    answer
}
