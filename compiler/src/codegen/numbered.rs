//! Memories of numbered units (tiles): which unit each live buffer has, and where a number would mean something else.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::memory::Memory;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::{LoopMode, Stmt, StmtKind};
use crate::loop_ir::visit;
use crate::symbol::{Identity, Sym};

/// The units of the numbered memories of one function, and who has them.
#[derive(Default)]
pub struct Units {
    taken: BTreeMap<Identity, Vec<Option<Sym>>>,
}

impl Units {
    /// The lowest unit that is free, now taken by `name`.
    ///
    /// # Errors
    /// The buffers that have all `units`.
    pub fn take(&mut self, memory: &Memory, units: usize, name: &Sym) -> Result<usize, Vec<Sym>> {
        let taken = self.taken.entry(memory.identity).or_insert_with(|| vec![None; units]);
        match taken.iter_mut().enumerate().find(|(_, holder)| holder.is_none()) {
            Some((unit, holder)) => {
                *holder = Some(name.clone());
                Ok(unit)
            }
            None => Err(taken.iter().flatten().cloned().collect()),
        }
    }

    pub fn release(&mut self, memory: &Memory, name: &Sym) {
        let holders = self.taken.get_mut(&memory.identity).into_iter().flatten();
        for holder in holders.filter(|holder| holder.as_ref() == Some(name)) {
            *holder = None;
        }
    }
}

/// Appends what numbers cannot express: a callee would number its buffers anew while the caller's are live, and the
/// iterations of a parallel loop run on processors with units of their own.
pub fn check(proc: &Proc, declarations: &Declarations, errors: &mut Vec<Diagnostic>) {
    let own = allocated(&proc.body);
    visit::each_stmt(&proc.body, &mut |stmt| match &stmt.kind {
        StmtKind::Call { callee, .. } if callee.instr.is_none() => {
            for memory in own.iter().filter(|memory| allocates(callee, memory)) {
                errors.push(
                    Diagnostic::error(
                        codes::MEMORY,
                        format!("`{}` and `{}` both have buffers in {}", proc.name, callee.name, memory.name()),
                    )
                    .at(&stmt.span, format!("`{}` numbers them from the first unit again", callee.name))
                    .hint("inline the call"),
                );
            }
        }
        StmtKind::For { body, mode: LoopMode::Par, .. } => not_from_outside(body, stmt, declarations, errors),
        StmtKind::Call { .. }
        | StmtKind::For { .. }
        | StmtKind::Alloc { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Reduce { .. }
        | StmtKind::Pass
        | StmtKind::If { .. }
        | StmtKind::Window { .. } => {}
    });
}

fn not_from_outside(body: &[Stmt], par: &Stmt, declarations: &Declarations, errors: &mut Vec<Diagnostic>) {
    let mut inside = Vec::new();
    visit::each_stmt(body, &mut |stmt| {
        if let StmtKind::Alloc { name, .. } = &stmt.kind {
            inside.push(name.clone());
        }
        let mut mention = |name: &Sym| {
            let Some(root) = declarations.root(name) else { return };
            let numbered = declarations.memory(&root).is_some_and(|memory| memory.units.is_some());
            if numbered && !inside.contains(&root) {
                errors.push(
                    Diagnostic::error(
                        codes::MEMORY,
                        format!("`{root}` is one processor's, and the iterations of a `par` loop run on others"),
                    )
                    .at(&stmt.span, "used here")
                    .label(&par.span, "parallel loop")
                    .hint("allocate it inside the loop"),
                );
                inside.push(root);
            }
        };
        visit::written_by(stmt).into_iter().for_each(&mut mention);
        visit::each_own_expr(stmt, &mut |expr| {
            visit::each_expr(expr, &mut |node| visit::named(node).into_iter().for_each(&mut mention));
        });
    });
}

/// The numbered memories that statements allocate in.
fn allocated(body: &[Stmt]) -> Vec<Memory> {
    let mut found: Vec<Memory> = Vec::new();
    visit::each_stmt(body, &mut |stmt| {
        if let StmtKind::Alloc { mem, .. } = &stmt.kind
            && mem.units.is_some()
            && !found.contains(mem)
        {
            found.push(mem.clone());
        }
    });
    found
}

/// Whether a proc or what it calls allocates in a memory.
fn allocates(proc: &Arc<Proc>, memory: &Memory) -> bool {
    let mut found = false;
    visit::each_stmt(&proc.body, &mut |stmt| {
        found = found
            || match &stmt.kind {
                StmtKind::Alloc { mem, .. } => mem == memory,
                StmtKind::Call { callee, .. } => callee.instr.is_none() && allocates(callee, memory),
                StmtKind::For { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::If { .. }
                | StmtKind::Window { .. } => false,
            };
    });
    found
}
