//! Expression nodes.

use std::sync::Arc;

use crate::hardware::config::ConfigField;
use crate::hardware::extern_function::ExternFunction;
use crate::loop_ir::types::Ty;
use crate::source::Span;
use crate::symbol::Sym;

/// A shared expression.
pub type Expr = Arc<ExprNode>;

#[derive(Clone, Debug)]
pub struct ExprNode {
    pub kind: ExprKind,
    pub ty: Ty,
    pub span: Span,
    /// Whether configuration state occurs in it; set by the builder.
    pub reads_config: bool,
}

/// Equal when written alike with the same bindings; places in source text do not count.
impl PartialEq for ExprNode {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A control variable, a scalar, one element of a buffer, or (as a call argument) a whole buffer.
    Read {
        name: Sym,
        idx: Vec<Expr>,
    },
    Const(Const),
    Neg(Expr),
    Binary {
        op: BinaryOp,
        lhs: Expr,
        rhs: Expr,
    },
    Extern {
        function: ExternFunction,
        args: Vec<Expr>,
    },
    /// Part of a buffer or window; one access for each of its dimensions.
    Window {
        name: Sym,
        idx: Vec<Access>,
    },
    /// The stride of dimension `dim` of a buffer.
    Stride {
        name: Sym,
        dim: usize,
    },
    /// The value that a configuration field has now.
    ReadConfig(ConfigField),
}

/// How a window treats one dimension of what it is taken from.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    Point(Expr),
    Interval { lo: Expr, hi: Expr },
}

/// A literal. Data literals are reals: `Int` in a data position is the real of that value.
#[derive(Clone, Copy, Debug)]
pub enum Const {
    Int(i64),
    /// The real whose shortest decimal is that of this double.
    Real(f64),
    Bool(bool),
}

impl PartialEq for Const {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Const::Int(a), Const::Int(b)) => a == b,
            (Const::Real(a), Const::Real(b)) => a.to_bits() == b.to_bits(),
            (Const::Bool(a), Const::Bool(b)) => a == b,
            (Const::Int(_) | Const::Real(_) | Const::Bool(_), _) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Floor division on indices, real division on data.
    Div,
    /// The non-negative remainder that belongs to floor division; indices only.
    Mod,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    And,
    Or,
}

impl BinaryOp {
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::Eq => "==",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
        }
    }

    pub fn is_comparison(self) -> bool {
        match self {
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq => true,
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::And
            | BinaryOp::Or => false,
        }
    }
}
