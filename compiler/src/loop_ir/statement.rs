//! Statement nodes.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::hardware::config::ConfigField;
use crate::hardware::memory::Memory;
use crate::loop_ir::block::Block;
use crate::loop_ir::expression::Expr;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::summary::Summary;
use crate::loop_ir::types::DataType;
use crate::source::Span;
use crate::symbol::Sym;

/// A shared statement. Analyses cache facts by the address of the shared node.
pub type Stmt = Arc<StmtNode>;

/// A statement with everything in it. Its parts are read as fields (`stmt.kind`) and changed by [`StmtNode::kind_mut`] only.
#[derive(Debug)]
pub struct StmtNode {
    parts: StmtParts,
    summary: OnceLock<Summary>,
}

/// The parts of a statement.
#[derive(Clone, Debug)]
pub struct StmtParts {
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

impl StmtNode {
    pub fn new(kind: StmtKind, span: Span, config: ConfigUse) -> Self {
        StmtNode { parts: StmtParts { kind, span, config }, summary: OnceLock::new() }
    }

    /// Notes what the statement has to do with configuration state, which a summary takes over.
    pub fn set_config(&mut self, config: ConfigUse) {
        self.summary = OnceLock::new();
        self.parts.config = config;
    }

    /// For a change in place; what was known about the node is forgotten.
    pub fn kind_mut(&mut self) -> &mut StmtKind {
        self.summary = OnceLock::new();
        &mut self.parts.kind
    }

    /// Facts about the statement and everything in it, worked out at the first call.
    pub fn summary(&self) -> Summary {
        *self.summary.get_or_init(|| Summary::of(self))
    }
}

impl Deref for StmtNode {
    type Target = StmtParts;

    fn deref(&self) -> &StmtParts {
        &self.parts
    }
}

/// Nodes are copied to be changed, so the copy starts without facts.
impl Clone for StmtNode {
    fn clone(&self) -> Self {
        StmtNode::new(self.parts.kind.clone(), self.parts.span.clone(), self.parts.config)
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
