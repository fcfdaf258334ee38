//! Data expressions as C at one precision: reads, literals, arithmetic, externs.

use crate::codegen::bfloat;
use crate::codegen::c_tree::{CExpr, COp};
use crate::codegen::function::FunctionLowering;
use crate::codegen::wrapping;
use crate::hardware::config::FieldType;
use crate::hardware::precision::Precision;
use crate::loop_ir::expression::{BinaryOp, Const, Expr, ExprKind};
use crate::source::Span;
use crate::symbol::Sym;

impl FunctionLowering<'_, '_> {
    /// A data expression; all of it is of `precision` (checked before).
    pub fn data(&mut self, expr: &Expr, precision: Precision) -> CExpr {
        match &expr.kind {
            ExprKind::Read { name, idx } => {
                let value = self.stored(name, idx, &expr.span);
                if self.precision(name) == Precision::Bf16 { bfloat::read(value) } else { value }
            }
            ExprKind::Const(value) => self.literal(value, precision),
            ExprKind::ReadConfig(field) => {
                let value = self.field(field);
                if field.ty() == FieldType::Data(Precision::Bf16) { bfloat::read(value) } else { value }
            }
            ExprKind::Neg(operand) => wrapping::negated(self.data(operand, precision), precision),
            ExprKind::Binary { op, lhs, rhs } => match arithmetic(*op) {
                Some(op) => {
                    let (lhs, rhs) = (self.data(lhs, precision), self.data(rhs, precision));
                    wrapping::binary(op, lhs, rhs, precision)
                }
                None => self.malformed_data(expr),
            },
            ExprKind::Extern { function, args } => {
                let args = args.iter().map(|arg| self.data(arg, precision)).collect();
                self.unit.extern_call(function, args, precision, &expr.span)
            }
            ExprKind::Window { .. } | ExprKind::Stride { .. } => self.malformed_data(expr),
        }
    }

    /// An element as it is stored.
    pub fn stored(&mut self, name: &Sym, idx: &[Expr], span: &Span) -> CExpr {
        let Some(memory) = self.declarations.memory(name) else {
            return self.row_major(name, idx, span);
        };
        if !self.unit.reads(&memory) {
            let place = self.row_major(name, idx, span);
            self.unit.cannot(&memory, "read single elements", span, Some(&place.text()));
            return place;
        }
        let place = self.element(name, idx, span);
        self.unit.read(&memory, place, span)
    }

    fn malformed_data(&mut self, expr: &Expr) -> CExpr {
        self.unit.malformed("a control value in a data position", &expr.span);
        CExpr::Int(0)
    }

    fn literal(&mut self, value: &Const, precision: Precision) -> CExpr {
        let real = match value {
            Const::Real(value) => *value,
            Const::Int(value) => *value as f64,
            Const::Bool(value) => return CExpr::Bool(*value),
        };
        if !real.is_finite() {
            self.unit.needs_math = true;
        }
        literal(value, real, precision)
    }
}

fn arithmetic(op: BinaryOp) -> Option<COp> {
    match op {
        BinaryOp::Add => Some(COp::Add),
        BinaryOp::Sub => Some(COp::Sub),
        BinaryOp::Mul => Some(COp::Mul),
        BinaryOp::Div => Some(COp::Div),
        BinaryOp::Mod
        | BinaryOp::Lt
        | BinaryOp::Gt
        | BinaryOp::Le
        | BinaryOp::Ge
        | BinaryOp::Eq
        | BinaryOp::And
        | BinaryOp::Or => None,
    }
}

/// A literal at a precision that can hold it; `real` is its value.
fn literal(value: &Const, real: f64, precision: Precision) -> CExpr {
    let negative = real.is_sign_negative();
    let magnitude = match precision {
        Precision::R | Precision::F32 => float_token(real.abs(), "f"),
        Precision::F64 => float_token(real.abs(), ""),
        // Arithmetic on it is that of `float`.
        Precision::Bf16 => float_token(bfloat::rounded(real).abs(), "f"),
        Precision::F16 => {
            let token = float_token(real.abs(), "");
            let signed = if negative { CExpr::Neg(Box::new(token)) } else { token };
            return cast_literal(signed, precision);
        }
        Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => {
            // Checked before: an integer within range.
            let exact = match value {
                Const::Int(value) => *value,
                Const::Real(_) | Const::Bool(_) => real as i64,
            };
            // The minus is that of arithmetic, as in `-x`: it is not lost where the precision has no negative values.
            return match exact < 0 && precision.is_unsigned() {
                true => CExpr::Neg(Box::new(cast_literal(CExpr::Int(exact.saturating_neg()), precision))),
                false => cast_literal(CExpr::Int(exact), precision),
            };
        }
    };
    if negative { CExpr::Neg(Box::new(magnitude)) } else { magnitude }
}

/// `((int8_t) 3)`: C has no suffix for these types.
fn cast_literal(value: CExpr, precision: Precision) -> CExpr {
    CExpr::token(format!("(({}) {})", precision.c_type(), value.text()))
}

/// The shortest decimal of a non-negative double, with at least one digit after the point.
///
/// With the suffix `f` a value below the least float is written as zero, which is what it rounds to.
fn float_token(value: f64, suffix: &str) -> CExpr {
    if value.is_nan() {
        return CExpr::token("NAN");
    }
    if value.is_infinite() {
        return CExpr::token("INFINITY");
    }
    let value = if suffix == "f" && value as f32 == 0.0 { 0.0 } else { value };
    let text = format!("{value:?}");
    let text = match text.split_once('e') {
        None => text,
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
    };
    CExpr::token(format!("{text}{suffix}"))
}
