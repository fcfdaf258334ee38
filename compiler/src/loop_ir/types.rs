//! Types of object code: control values and data.

use crate::hardware::precision::Precision;
use crate::loop_ir::expression::Expr;

/// The type of a control parameter or of a control expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// An integer literal in an index position. Never written by users.
    Int,
    /// A strictly positive integer.
    Size,
    /// Any integer.
    Index,
    Bool,
    /// An opaque stride; only equality is allowed.
    Stride,
}

impl Control {
    pub fn word(self) -> &'static str {
        match self {
            Control::Int => "int",
            Control::Size => "size",
            Control::Index => "index",
            Control::Bool => "bool",
            Control::Stride => "stride",
        }
    }

    /// Whether values are integers of index arithmetic.
    pub fn is_indexable(self) -> bool {
        match self {
            Control::Int | Control::Size | Control::Index => true,
            Control::Bool | Control::Stride => false,
        }
    }
}

/// The type of an expression.
///
/// Data expressions carry neither precision nor shape: both belong to the declaration of the buffer and are looked up
/// there, so that no rewrite of a declaration can leave a stale copy behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Control(Control),
    Data,
}

impl Ty {
    pub const INT: Ty = Ty::Control(Control::Int);
    pub const SIZE: Ty = Ty::Control(Control::Size);
    pub const INDEX: Ty = Ty::Control(Control::Index);
    pub const BOOL: Ty = Ty::Control(Control::Bool);
    pub const STRIDE: Ty = Ty::Control(Control::Stride);

    pub fn is_indexable(self) -> bool {
        match self {
            Ty::Control(control) => control.is_indexable(),
            Ty::Data => false,
        }
    }
}

/// The declared type of a buffer: a scalar when `shape` is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct DataType {
    pub precision: Precision,
    /// Extents, outermost first; index-like expressions.
    pub shape: Vec<Expr>,
    /// A window parameter `[f32][n, m]`: arbitrary strides. Never true for allocations.
    pub is_window: bool,
}

impl DataType {
    pub fn scalar(precision: Precision) -> Self {
        DataType { precision, shape: Vec::new(), is_window: false }
    }

    pub fn tensor(precision: Precision, shape: Vec<Expr>) -> Self {
        DataType { precision, shape, is_window: false }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}
