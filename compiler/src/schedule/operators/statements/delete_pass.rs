//! `delete_pass`: statements that do nothing, deleted.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::cursor::editor::NoSuchPlace;
use crate::cursor::path::{self, Path};
use crate::cursor::{BlockPlace, Editor};
use crate::diagnostic::Refusal;
use crate::loop_ir::{Block, Proc, Stmt, StmtKind};
use crate::schedule::{Arguments, Help, Obligation, Operator, Parameter, Proposal};

pub struct DeletePass;

impl Operator for DeletePass {
    fn name(&self) -> &'static str {
        "delete_pass"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn help(&self) -> Help {
        Help {
            summary: "deletes every `pass`, and loops that hold nothing else",
            text: "A body that must not be empty keeps one `pass`.\n\
                   Cursors to what is deleted die.",
            example: "@proc\n\
                      def set(n: size, x: f32):\n\
                      \x20   x = 1.0\n\
                      \x20   for i in seq(0, n):\n\
                      \x20       pass\n\
                      print(delete_pass(set))\n",
            prints: "def set(n: size, x: f32 @ DRAM):\n\
                     \x20   x = 1.0\n",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, _: &mut Solver) -> Result<Proposal, Refusal> {
        let mut edited = Editor::new(proc);
        // Outermost statements that do nothing, last first: deleting one moves none of those still to come.
        let mut idle = Vec::new();
        collect(&proc.body, &Path::root(), false, &mut idle);
        for at in idle.iter().rev() {
            let place = BlockPlace::of_statement(at).ok_or_else(|| arguments.bug(NoSuchPlace))?;
            let list = path::list(edited.proc(), &place.parent, place.orelse).unwrap_or(Block::none());
            // The one `pass` that a body needs stays, and so do cursors to it.
            let is_needed = list.len() == 1
                && !place.orelse
                && list.first().is_some_and(|only| matches!(only.kind, StmtKind::Pass));
            if !is_needed {
                edited.delete(&place).map_err(|gone| arguments.bug(gone))?;
            }
        }
        Ok(Proposal::same(edited, Obligation::ByConstruction("what is deleted does nothing")))
    }
}

/// Whether a statement is a `pass`, or a loop around nothing else.
fn is_idle(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Pass => true,
        StmtKind::For { body, .. } => body.iter().all(is_idle),
        StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::WriteConfig { .. }
        | StmtKind::If { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Call { .. }
        | StmtKind::Window { .. } => false,
    }
}

fn collect(list: &Block, parent: &Path, orelse: bool, idle: &mut Vec<Path>) {
    for (at, stmt) in list.iter().enumerate() {
        let path = parent.child(path::Step::statement(orelse, at));
        if is_idle(stmt) {
            idle.push(path);
            continue;
        }
        match &stmt.kind {
            StmtKind::For { body, .. } => collect(body, &path, false, idle),
            StmtKind::If { body, orelse, .. } => {
                collect(body, &path, false, idle);
                collect(orelse, &path, true, idle);
            }
            StmtKind::Assign { .. }
            | StmtKind::Reduce { .. }
            | StmtKind::Pass
            | StmtKind::WriteConfig { .. }
            | StmtKind::Alloc { .. }
            | StmtKind::Call { .. }
            | StmtKind::Window { .. } => {}
        }
    }
}
