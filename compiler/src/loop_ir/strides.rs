//! Who asks for the strides of a buffer: the code itself, or a callee of what it is handed.

use std::collections::BTreeSet;

use crate::loop_ir::block::Block;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::expression::{Expr, ExprKind};
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;
use crate::symbol::Sym;

/// One place where a stride of a buffer or window is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The buffer or window, as the code names it.
    pub name: &'a Sym,
    /// The callee that asks for strides of what it is handed.
    pub callee: Option<&'a Proc>,
}

/// Calls `f` on each place of a block where a stride is asked for. Asserts of callees do not count: calls are checked for them.
pub fn each_asked(block: &Block, f: &mut dyn FnMut(Asked<'_>)) {
    let mut search = Search { silent: BTreeSet::new() };
    search.block(block, f);
}

/// A search that goes into each callee once for each of its parameters.
struct Search {
    /// Callees, by address, and the parameters of which they ask for no stride.
    silent: BTreeSet<(usize, Sym)>,
}

impl Search {
    fn block(&mut self, block: &Block, f: &mut dyn FnMut(Asked<'_>)) {
        visit::each_stmt_where(block, &|summary| summary.strides, &mut |stmt| {
            visit::each_own_expr(stmt, &mut |expr| {
                visit::each_expr(expr, &mut |node| {
                    if let ExprKind::Stride { name, .. } = &node.kind {
                        f(Asked { name, callee: None });
                    }
                });
            });
            if let StmtKind::Call { callee, args } = &stmt.kind {
                self.call(callee, args, f);
            }
        });
    }

    fn call(&mut self, callee: &Proc, args: &[Expr], f: &mut dyn FnMut(Asked<'_>)) {
        if !callee.body.summary().strides {
            return;
        }
        for (formal, actual) in callee.args.iter().zip(args) {
            let Some(handed) = visit::named(actual) else { continue };
            if self.asks(callee, &formal.name) {
                f(Asked { name: handed, callee: Some(callee) });
            }
        }
    }

    /// Whether a callee asks for a stride of a parameter, or of a window of it.
    fn asks(&mut self, callee: &Proc, formal: &Sym) -> bool {
        let key = (std::ptr::from_ref(callee) as usize, formal.clone());
        if self.silent.contains(&key) {
            return false;
        }
        let declarations = Declarations::of(callee);
        let mut asks = false;
        self.block(&callee.body, &mut |asked| asks |= declarations.root(asked.name).as_ref() == Some(formal));
        if !asks {
            self.silent.insert(key);
        }
        asks
    }
}
