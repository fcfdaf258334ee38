//! Does a block leave a window of a buffer alone, under every name?

use crate::analysis::commute::block_effects;
use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::facts::Verified;
use crate::analysis::filling::element;
use crate::analysis::overlap;
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace};
use crate::loop_ir::{Access, Proc};
use crate::print::Names;
use crate::symbol::Sym;

/// Answers [`Question::Untouched`](crate::analysis::conditions::Question::Untouched).
pub(crate) fn untouched(
    proc: &Proc,
    block: &BlockPlace,
    buffer: &Sym,
    window: &[Access],
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let Some((facts, effects)) = block_effects(proc, block, solver) else { return Err(misplaced("the statements")) };
    let Some(element) = element(&facts, buffer, window) else {
        return Err(misplaced("a window with affine bounds"));
    };
    for cell in effects.of_root(&element.root) {
        match overlap::impossible(&facts, overlap::meeting(cell, &element), solver) {
            Verified::Yes => {}
            why => {
                let names = Names::of(proc);
                let line = path::stmt(proc, &cell.at).map_or(String::new(), |stmt| names.headline(stmt));
                let what = if window.is_empty() { "it" } else { "that part of it" };
                let condition =
                    format!("`{}` is left alone, but `{line}` {} {what}", names.get(buffer), cell.kind.verb());
                return Err(Unproven::new(condition).at(&cell.at).with(&why, &names));
            }
        }
    }
    Ok(())
}
