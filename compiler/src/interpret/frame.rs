//! Names of one activation, views of buffers, and the evaluation of control expressions.

use std::collections::BTreeMap;

use crate::diagnostic::counted;
use crate::interpret::{Fault, FaultKind};
use crate::loop_ir::{Access, BinaryOp, Const, Expr, ExprKind};
use crate::source::Span;
use crate::symbol::{Identity, Sym};

/// A fault is rare and large, so results carry a pointer to it.
pub type Step<T> = Result<T, Box<Fault>>;

pub(super) fn fault<T>(kind: FaultKind, message: impl Into<String>, span: &Span) -> Step<T> {
    Err(Box::new(Fault::new(kind, message, span)))
}

/// A control value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlValue {
    Int(i64),
    Bool(bool),
}

impl std::fmt::Display for ControlValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ControlValue::Int(value) => write!(f, "{value}"),
            ControlValue::Bool(true) => f.write_str("True"),
            ControlValue::Bool(false) => f.write_str("False"),
        }
    }
}

/// A buffer, or part of one, as a name sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Number of the buffer in the machine.
    pub buffer: usize,
    pub offset: i64,
    pub extents: Vec<i64>,
    pub strides: Vec<i64>,
}

impl View {
    /// The place in the buffer of an index in the view.
    pub fn locate(&self, idx: &[i64], name: &Sym, span: &Span) -> Step<i64> {
        if idx.len() != self.extents.len() {
            let (got, rank) = (counted(idx.len(), "index"), self.extents.len());
            return fault(FaultKind::Malformed, format!("{got} for `{name}` of rank {rank}"), span);
        }
        let mut at = self.offset;
        for (dim, ((index, extent), stride)) in idx.iter().zip(&self.extents).zip(&self.strides).enumerate() {
            if !(0..*extent).contains(index) {
                let message = format!("index {index} of `{name}` is outside 0..{extent} in dimension {dim}");
                return fault(FaultKind::Bounds, message, span);
            }
            at += index * stride;
        }
        Ok(at)
    }

    /// The places of all elements.
    pub fn places(&self) -> Vec<i64> {
        let mut all = vec![self.offset];
        for (extent, stride) in self.extents.iter().zip(&self.strides) {
            all = all.iter().flat_map(|at| (0..*extent).map(move |i| at + i * stride)).collect();
        }
        all
    }

    /// Whether elements lie as in a buffer of its own. The stride of a dimension with one element does not matter.
    pub fn is_dense(&self) -> bool {
        let dense = dense_strides(&self.extents);
        self.extents.iter().zip(&self.strides).zip(&dense).all(|((extent, own), dense)| *extent == 1 || own == dense)
    }
}

/// Strides without gaps, last dimension fastest. Extents whose product leaves 64 bits never get a buffer.
pub fn dense_strides(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    let mut stride = 1i64;
    for (at, extent) in extents.iter().enumerate().rev() {
        if let Some(slot) = strides.get_mut(at) {
            *slot = stride;
        }
        stride = stride.saturating_mul(*extent);
    }
    strides
}

#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    Control(ControlValue),
    View(View),
}

/// The names that are live in one activation of a proc.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    bindings: BTreeMap<Identity, Binding>,
    /// Configuration state: a control value, or the view of a data field; by the field's symbol.
    pub(super) config: ConfigMemory,
}

/// The state of all configuration fields.
pub(super) type ConfigMemory = BTreeMap<Identity, ConfigCell>;

/// One configuration field. Its buffer holds the value of data, and stands for the place of a control value.
#[derive(Clone, Debug)]
pub struct ConfigCell {
    pub(super) buffer: usize,
    pub(super) control: Option<ControlValue>,
}

impl Frame {
    /// A frame without names, in a configuration state.
    pub(super) fn in_state(config: ConfigMemory) -> Self {
        Frame { bindings: BTreeMap::new(), config }
    }

    pub fn bind(&mut self, name: &Sym, binding: Binding) {
        self.bindings.insert(name.identity(), binding);
    }

    pub fn unbind(&mut self, name: &Sym) {
        self.bindings.remove(&name.identity());
    }

    pub fn get(&self, name: &Sym) -> Option<&Binding> {
        self.bindings.get(&name.identity())
    }

    pub fn view(&self, name: &Sym, span: &Span) -> Step<&View> {
        match self.get(name) {
            Some(Binding::View(view)) => Ok(view),
            Some(Binding::Control(_)) => fault(FaultKind::Malformed, format!("`{name}` is not a buffer"), span),
            None => fault(FaultKind::Malformed, format!("`{name}` is not bound here"), span),
        }
    }

    /// The value of a control expression.
    pub fn control(&self, expr: &Expr) -> Step<ControlValue> {
        match &expr.kind {
            ExprKind::Const(Const::Int(value)) => Ok(ControlValue::Int(*value)),
            ExprKind::Const(Const::Bool(value)) => Ok(ControlValue::Bool(*value)),
            ExprKind::Read { name, idx } if idx.is_empty() => match self.get(name) {
                Some(Binding::Control(value)) => Ok(*value),
                Some(Binding::View(_)) => {
                    fault(FaultKind::Malformed, format!("data `{name}` decides control"), &expr.span)
                }
                None => fault(FaultKind::Malformed, format!("`{name}` is not bound here"), &expr.span),
            },
            ExprKind::ReadConfig(field) => {
                match self.config.get(&field.symbol().identity()).and_then(|cell| cell.control) {
                    Some(value) => Ok(value),
                    None => fault(FaultKind::Malformed, format!("`{field}` has no control value here"), &expr.span),
                }
            }
            ExprKind::Neg(operand) => match self.int(operand)?.checked_neg() {
                Some(value) => Ok(ControlValue::Int(value)),
                None => overflow(&expr.span),
            },
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs, &expr.span),
            ExprKind::Stride { name, dim } => match self.view(name, &expr.span)?.strides.get(*dim) {
                Some(stride) => Ok(ControlValue::Int(*stride)),
                None => fault(FaultKind::Malformed, format!("`{name}` has no dimension {dim}"), &expr.span),
            },
            ExprKind::Const(Const::Real(_))
            | ExprKind::Read { .. }
            | ExprKind::Extern { .. }
            | ExprKind::Window { .. } => fault(FaultKind::Malformed, "data in a control expression", &expr.span),
        }
    }

    pub fn int(&self, expr: &Expr) -> Step<i64> {
        match self.control(expr)? {
            ControlValue::Int(value) => Ok(value),
            ControlValue::Bool(_) => fault(FaultKind::Malformed, "a boolean where an index is needed", &expr.span),
        }
    }

    pub fn boolean(&self, expr: &Expr) -> Step<bool> {
        match self.control(expr)? {
            ControlValue::Bool(value) => Ok(value),
            ControlValue::Int(_) => fault(FaultKind::Malformed, "an index where a boolean is needed", &expr.span),
        }
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr, span: &Span) -> Step<ControlValue> {
        let value = match op {
            BinaryOp::And => return Ok(ControlValue::Bool(self.boolean(lhs)? && self.boolean(rhs)?)),
            BinaryOp::Or => return Ok(ControlValue::Bool(self.boolean(lhs)? || self.boolean(rhs)?)),
            BinaryOp::Eq => return Ok(ControlValue::Bool(self.control(lhs)? == self.control(rhs)?)),
            BinaryOp::Lt => return Ok(ControlValue::Bool(self.int(lhs)? < self.int(rhs)?)),
            BinaryOp::Gt => return Ok(ControlValue::Bool(self.int(lhs)? > self.int(rhs)?)),
            BinaryOp::Le => return Ok(ControlValue::Bool(self.int(lhs)? <= self.int(rhs)?)),
            BinaryOp::Ge => return Ok(ControlValue::Bool(self.int(lhs)? >= self.int(rhs)?)),
            BinaryOp::Add => self.int(lhs)?.checked_add(self.int(rhs)?),
            BinaryOp::Sub => self.int(lhs)?.checked_sub(self.int(rhs)?),
            BinaryOp::Mul => self.int(lhs)?.checked_mul(self.int(rhs)?),
            BinaryOp::Div | BinaryOp::Mod => {
                let (value, divisor) = (self.int(lhs)?, self.int(rhs)?);
                if divisor <= 0 {
                    return fault(FaultKind::Malformed, format!("division of an index by {divisor}"), span);
                }
                // For a positive divisor, Euclid's quotient is the floor and the remainder is not negative.
                Some(if op == BinaryOp::Div { value.div_euclid(divisor) } else { value.rem_euclid(divisor) })
            }
        };
        match value {
            Some(value) => Ok(ControlValue::Int(value)),
            None => overflow(span),
        }
    }

    /// The part of a view that a window expression takes.
    pub fn window(&self, name: &Sym, idx: &[Access], span: &Span) -> Step<View> {
        let base = self.view(name, span)?;
        if idx.len() != base.extents.len() {
            return fault(FaultKind::Malformed, format!("window of `{name}` with {} accesses", idx.len()), span);
        }
        let mut view = View { buffer: base.buffer, offset: base.offset, extents: Vec::new(), strides: Vec::new() };
        for (dim, ((access, extent), stride)) in idx.iter().zip(&base.extents).zip(&base.strides).enumerate() {
            let (lo, hi) = match access {
                Access::Point(point) => {
                    let point = self.int(point)?;
                    (point, point.saturating_add(1))
                }
                Access::Interval { lo, hi } => (self.int(lo)?, self.int(hi)?),
            };
            if hi < lo {
                let message = format!("window {lo}:{hi} of `{name}` ends before it starts in dimension {dim}");
                return fault(FaultKind::Extent, message, span);
            }
            if lo < 0 || hi > *extent {
                let message = format!("window {lo}:{hi} of `{name}` is outside 0..{extent} in dimension {dim}");
                return fault(FaultKind::Bounds, message, span);
            }
            view.offset += lo * stride;
            match access {
                Access::Point(_) => {}
                Access::Interval { .. } => {
                    view.extents.push(hi - lo);
                    view.strides.push(*stride);
                }
            }
        }
        Ok(view)
    }

    /// Extents of a declaration, all of which must be positive.
    pub fn extents(&self, shape: &[Expr], name: &Sym, span: &Span) -> Step<Vec<i64>> {
        let mut extents = Vec::with_capacity(shape.len());
        for extent in shape {
            let value = self.int(extent)?;
            if value <= 0 {
                return fault(FaultKind::Extent, format!("extent {value} of `{name}` is not positive"), span);
            }
            extents.push(value);
        }
        Ok(extents)
    }
}

fn overflow<T>(span: &Span) -> Step<T> {
    fault(FaultKind::Overflow, "index arithmetic leaves 64 bits", span)
}
