//! Which buffers a proc reads and writes, through windows and calls: constness of C parameters comes from here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::codegen::reach::{ProcKey, key};
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::{ArgType, Proc};
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::types::Ty;
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// Root buffers of one proc: parameters and allocations.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    pub written: BTreeSet<Sym>,
    /// Read, or passed to a callee that reads. A reduction alone does not count.
    pub read: BTreeSet<Sym>,
}

/// Answers for every proc of a compilation, each computed once.
#[derive(Debug, Default)]
pub struct Usage {
    known: BTreeMap<ProcKey, Arc<Touched>>,
}

impl Usage {
    pub fn of(&mut self, proc: &Arc<Proc>) -> Arc<Touched> {
        if let Some(known) = self.known.get(&key(proc)) {
            return known.clone();
        }
        let declarations = Declarations::of(proc);
        let mut touched = Touched::default();
        visit::each_stmt(&proc.body, &mut |stmt| self.stmt(stmt, &declarations, &mut touched));
        let touched = Arc::new(touched);
        self.known.insert(key(proc), touched.clone());
        touched
    }

    /// Whether `proc` writes its parameter at position `at`.
    pub fn writes_param(&mut self, proc: &Arc<Proc>, at: usize) -> bool {
        let touched = self.of(proc);
        proc.args.get(at).is_some_and(|arg| touched.written.contains(&arg.name))
    }

    fn stmt(&mut self, stmt: &Stmt, declarations: &Declarations, touched: &mut Touched) {
        if let Some(name) = visit::written_by(stmt) {
            touched.written.extend(declarations.root(name));
        }
        if let StmtKind::Call { callee, args } = &stmt.kind {
            self.call(callee, args, declarations, touched);
            return;
        }
        // A window statement only takes an address.
        if matches!(stmt.kind, StmtKind::Window { .. }) {
            return;
        }
        visit::each_own_expr(stmt, &mut |expr| {
            visit::each_expr(expr, &mut |node| match &node.kind {
                ExprKind::Read { name, .. } if node.ty == Ty::Data => touched.read.extend(declarations.root(name)),
                ExprKind::Read { .. }
                | ExprKind::Const(_)
                | ExprKind::ReadConfig(_)
                | ExprKind::Neg(_)
                | ExprKind::Binary { .. }
                | ExprKind::Extern { .. }
                | ExprKind::Window { .. }
                | ExprKind::Stride { .. } => {}
            });
        });
    }

    fn call(&mut self, callee: &Arc<Proc>, args: &[Expr], declarations: &Declarations, touched: &mut Touched) {
        let inside = self.of(callee);
        for (formal, actual) in callee.args.iter().zip(args) {
            if !matches!(formal.ty, ArgType::Data(_)) {
                continue;
            }
            let root = visit::named(actual).and_then(|name| declarations.root(name));
            if inside.written.contains(&formal.name) {
                touched.written.extend(root.clone());
            }
            if inside.read.contains(&formal.name) {
                touched.read.extend(root);
            }
        }
    }
}
