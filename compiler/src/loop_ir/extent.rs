//! How large a tree may become: past that, every walk over it takes too long or overflows the stack.

use crate::loop_ir::expression::Expr;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::visit;

/// Statements and expressions that one proc may hold, each counted at every place where it stands.
pub const MOST_NODES: usize = 1 << 20;

/// Levels that one place may be nested: statements and expressions together.
pub const MOST_LEVELS: usize = 1000;

/// The limit that a proc exceeds, in words. Looks at no more than the permitted number of nodes, however large the tree
/// is: a tree of shared nodes can stand for more of them than could ever be visited.
pub fn exceeded(proc: &Proc) -> Option<String> {
    let mut left = Left { nodes: MOST_NODES, too_deep: false };
    let inside = left.block(&proc.body, 0);
    if left.too_deep {
        return Some(format!("more than {MOST_LEVELS} levels of nesting"));
    }
    (!inside).then(|| format!("more than {MOST_NODES} statements and expressions"))
}

struct Left {
    nodes: usize,
    too_deep: bool,
}

impl Left {
    /// False when a limit is exceeded.
    fn enter(&mut self, level: usize) -> bool {
        self.too_deep |= level > MOST_LEVELS;
        let Some(nodes) = self.nodes.checked_sub(1) else { return false };
        self.nodes = nodes;
        !self.too_deep
    }

    fn block(&mut self, block: &[Stmt], level: usize) -> bool {
        block.iter().all(|stmt| self.stmt(stmt, level))
    }

    fn stmt(&mut self, stmt: &Stmt, level: usize) -> bool {
        let mut inside = self.enter(level);
        visit::each_own_expr(stmt, &mut |expr| inside = inside && self.expr(expr, level + 1));
        inside
            && match &stmt.kind {
                StmtKind::If { body, orelse, .. } => self.block(body, level + 1) && self.block(orelse, level + 1),
                StmtKind::For { body, .. } => self.block(body, level + 1),
                StmtKind::Assign { .. }
                | StmtKind::Reduce { .. }
                | StmtKind::Pass
                | StmtKind::WriteConfig { .. }
                | StmtKind::Alloc { .. }
                | StmtKind::Call { .. }
                | StmtKind::Window { .. } => true,
            }
    }

    fn expr(&mut self, expr: &Expr, level: usize) -> bool {
        let mut inside = self.enter(level);
        visit::each_child(expr, &mut |child| inside = inside && self.expr(child, level + 1));
        inside
    }
}
