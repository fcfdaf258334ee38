//! May two adjacent runs of statements be swapped?

use crate::analysis::conditions::{Unproven, misplaced};
use crate::analysis::effects::{AccessKind, Cell, Effects};
use crate::analysis::facts::Facts;
use crate::analysis::mutation;
use crate::analysis::overlap::{self, Meeting};
use crate::analysis::solver::Solver;
use crate::cursor::path::{self, BlockPlace};
use crate::loop_ir::{Block, Proc, StmtKind, visit};
use crate::print::Names;
use crate::profile::Phase;
use crate::symbol::Sym;

/// Facts at the start of a block, and what the block does.
pub(crate) fn block_effects(proc: &Proc, place: &BlockPlace, solver: &mut Solver) -> Option<(Facts, Effects)> {
    let block = path::block(proc, place)?;
    let facts = Facts::at(proc, &place.statement(0));
    let effects = effects_in(&block, place, &facts, solver);
    Some((facts, effects))
}

/// What a block does where `facts` hold.
pub(crate) fn effects_in(block: &Block, place: &BlockPlace, facts: &Facts, solver: &mut Solver) -> Effects {
    let _span = solver.span(Phase::Effects);
    let mut scope = facts.scope.clone();
    crate::analysis::effects::of_block(block, &place.parent, place.orelse, place.lo, &mut scope, &mut solver.callees)
}

/// Pairs that keep their result in either order: two reads, or two reductions.
pub(crate) fn order_matters(a: &Cell, b: &Cell) -> bool {
    match (a.kind, b.kind) {
        (AccessKind::Read, AccessKind::Read) | (AccessKind::Reduce, AccessKind::Reduce) => false,
        (AccessKind::Read, AccessKind::Write | AccessKind::Reduce)
        | (AccessKind::Reduce, AccessKind::Read | AccessKind::Write)
        | (AccessKind::Write, AccessKind::Read | AccessKind::Write | AccessKind::Reduce) => true,
    }
}

/// Answers [`Question::Commute`](crate::analysis::conditions::Question::Commute).
pub(crate) fn commute(
    proc: &Proc,
    first: &BlockPlace,
    second: &BlockPlace,
    solver: &mut Solver,
) -> Result<(), Unproven> {
    let (Some(a), Some(b)) = (path::block(proc, first), path::block(proc, second)) else {
        return Err(misplaced("both runs of statements"));
    };
    let adjacent = first.parent == second.parent && first.orelse == second.orelse && first.hi == second.lo;
    if !adjacent {
        return Err(misplaced("two adjacent runs of statements"));
    }
    if let Some(name) =
        declared_and_used(&a, &b).filter(|_| !mutation::passes("a declaration stays before its uses", false))
    {
        return Err(scoping(proc, &name).at(&second.statement(0)));
    }
    let facts = Facts::at(proc, &first.statement(0));
    let whole = BlockPlace { hi: second.hi, ..first.clone() };
    // One walk, so that the second run sees what the first declares.
    let Some((_, both)) = block_effects(proc, &whole, solver) else { return Err(misplaced("the statements")) };
    let (mut x, mut y) = (Effects::default(), Effects::default());
    for cell in both.cells {
        let position = cell.at.0.get(first.parent.0.len()).and_then(|step| step.in_list());
        if position.is_some_and(|(_, at)| at < first.hi) { x.cells.push(cell) } else { y.cells.push(cell) }
    }
    overlap::first_meeting(&facts, &x, &y, &[], &order_matters, solver)
        .map_err(|meeting| conflict(proc, &meeting, "the two statements are independent"))
}

/// A name that `a` declares for its own list and `b` mentions.
pub(crate) fn declared_and_used(a: &Block, b: &Block) -> Option<Sym> {
    a.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Alloc { name, .. } | StmtKind::Window { name, .. } => {
            visit::block_mentions(b, name).then(|| name.clone())
        }
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Call { .. } => None,
    })
}

pub(crate) fn scoping(proc: &Proc, name: &Sym) -> Unproven {
    let names = Names::of(proc);
    Unproven::new(format!("`{}` stays declared where it is used", names.get(name)))
        .hint("move the declaration out first, with lift_alloc or inline_window")
}

/// Says which two accesses may meet.
pub(crate) fn conflict(proc: &Proc, meeting: &Meeting, claim: &str) -> Unproven {
    let names = Names::of(proc);
    let say = |cell: &Cell| {
        let line = path::stmt(proc, &cell.at).map_or(String::new(), |stmt| names.headline(stmt));
        format!("`{line}` {} `{}`", cell.kind.verb(), names.get(&cell.root))
    };
    let condition = format!("{claim}: {} and {} at the same element", say(&meeting.first), say(&meeting.second));
    Unproven::new(condition).at(&meeting.second.at).with(&meeting.why, &names)
}
