//! Statement nodes.

use std::sync::Arc;

use crate::hardware::config::ConfigField;
use crate::hardware::memory::Memory;
use crate::loop_ir::expression::Expr;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::types::DataType;
use crate::source::Span;
use crate::symbol::Sym;

/// A shared statement. Analyses cache facts by the address of the shared node.
pub type Stmt = Arc<StmtNode>;

/// Statements in order. The body of a proc, loop or branch is never empty: use `Pass`.
pub type Block = Vec<Stmt>;

#[derive(Clone, Debug)]
pub struct StmtNode {
    pub kind: StmtKind,
    pub span: Span,
    /// What it and everything below it, callees included, has to do with configuration state; set by the builder.
    pub config: ConfigUse,
}

/// Whether code depends on configuration state (asserts of callees count) and whether it may change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfigUse {
    pub reads: bool,
    pub writes: bool,
}

impl ConfigUse {
    pub fn or(self, other: ConfigUse) -> ConfigUse {
        ConfigUse { reads: self.reads || other.reads, writes: self.writes || other.writes }
    }
}

/// Equal when written alike with the same bindings; places in source text do not count.
impl PartialEq for StmtNode {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    Assign {
        name: Sym,
        idx: Vec<Expr>,
        rhs: Expr,
    },
    /// `name[idx] += rhs`.
    Reduce {
        name: Sym,
        idx: Vec<Expr>,
        rhs: Expr,
    },
    Pass,
    /// `orelse` is empty when there is no `else`.
    If {
        cond: Expr,
        body: Block,
        orelse: Block,
    },
    /// `for iter in mode(lo, hi)`, half open, step 1. The iterator is bound in `body` only.
    For {
        iter: Sym,
        lo: Expr,
        hi: Expr,
        body: Block,
        mode: LoopMode,
    },
    /// Live until the end of the enclosing block.
    Alloc {
        name: Sym,
        ty: DataType,
        mem: Memory,
    },
    Call {
        callee: Arc<Proc>,
        args: Vec<Expr>,
    },
    /// An alias: `name = base[...]`; `rhs` is always `ExprKind::Window`.
    Window {
        name: Sym,
        rhs: Expr,
    },
    /// `Config.field = rhs`.
    WriteConfig {
        field: ConfigField,
        rhs: Expr,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopMode {
    Seq,
    Par,
}

impl LoopMode {
    pub fn word(self) -> &'static str {
        match self {
            LoopMode::Seq => "seq",
            LoopMode::Par => "par",
        }
    }
}
