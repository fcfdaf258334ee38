//! Data as the generated C computes it: floats rounded after each operation, integers wrapping.

use crate::hardware::extern_function::{ExternFunction, ExternKind};
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::random::Random;
use crate::loop_ir::{BinaryOp, Const};

/// A number as C holds it, or poison.
#[derive(Clone, Copy, Debug)]
pub enum MachineValue {
    Poison,
    /// What C leaves open: the result of an operation that it does not define. Counts as poison.
    Undefined(Undefined),
    /// A value of a floating precision; every such value is a double.
    Float(f64),
    /// A value of an integer precision.
    Int(i64),
}

/// An operation without a result in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// A float, or NaN, converted to an integer precision that cannot hold it.
    OutOfRange(Precision),
    /// An integer divided by zero, or the least integer by -1.
    Quotient,
}

/// Bit for bit, so that NaN equals itself; zeros of either sign are equal.
impl PartialEq for MachineValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (MachineValue::Poison, MachineValue::Poison) => true,
            (MachineValue::Undefined(a), MachineValue::Undefined(b)) => a == b,
            (MachineValue::Float(a), MachineValue::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (MachineValue::Int(a), MachineValue::Int(b)) => a == b,
            (MachineValue::Poison | MachineValue::Undefined(_) | MachineValue::Float(_) | MachineValue::Int(_), _) => {
                false
            }
        }
    }
}

impl std::fmt::Display for MachineValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MachineValue::Poison => f.write_str("uninitialised"),
            MachineValue::Undefined(_) => f.write_str("undefined"),
            MachineValue::Float(value) => write!(f, "{value:?}"),
            MachineValue::Int(value) => write!(f, "{value}"),
        }
    }
}

impl MachineValue {
    /// The value as a double; `None` for poison.
    pub fn number(&self) -> Option<f64> {
        match self {
            MachineValue::Poison | MachineValue::Undefined(_) => None,
            MachineValue::Float(value) => Some(*value),
            MachineValue::Int(value) => Some(*value as f64),
        }
    }
}

/// Arithmetic in the precision of the buffers, for comparison with compiled C.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounded;

impl Domain for Rounded {
    type Value = MachineValue;

    const ROUNDS: bool = true;

    fn poison(&self) -> MachineValue {
        MachineValue::Poison
    }

    fn is_poison(&self, value: &MachineValue) -> bool {
        matches!(value, MachineValue::Poison | MachineValue::Undefined(_))
    }

    fn what_is_poison(&self, value: &MachineValue) -> String {
        match value {
            MachineValue::Undefined(Undefined::OutOfRange(precision)) => {
                format!("a number that `{}` cannot hold, which C leaves undefined,", precision.word())
            }
            MachineValue::Undefined(Undefined::Quotient) => {
                "an integer quotient that C leaves undefined, such as one by zero,".to_string()
            }
            MachineValue::Poison | MachineValue::Float(_) | MachineValue::Int(_) => {
                "an uninitialised value".to_string()
            }
        }
    }

    fn literal(&self, literal: Const, precision: Precision) -> MachineValue {
        match literal {
            // The minus of a literal is that of arithmetic, which does not wrap where C computes it as `int`.
            Const::Int(value) if value < 0 && precision.is_unsigned() => {
                self.negated(&convert(MachineValue::Int(value.saturating_neg()), precision), precision)
            }
            Const::Int(value) => convert(MachineValue::Int(value), precision),
            Const::Real(value) if value < 0.0 && precision.is_unsigned() => {
                self.negated(&convert(MachineValue::Float(-value), precision), precision)
            }
            Const::Real(value) => convert(MachineValue::Float(value), precision),
            Const::Bool(value) => convert(MachineValue::Int(i64::from(value)), precision),
        }
    }

    fn stored(&self, value: MachineValue, precision: Precision) -> MachineValue {
        convert(value, precision)
    }

    fn negated(&self, value: &MachineValue, precision: Precision) -> MachineValue {
        match value {
            MachineValue::Poison | MachineValue::Undefined(_) => *value,
            MachineValue::Float(value) => MachineValue::Float(-value),
            MachineValue::Int(value) => MachineValue::Int(promoted(value.wrapping_neg(), precision)),
        }
    }

    fn binary(
        &self,
        op: BinaryOp,
        lhs: &MachineValue,
        rhs: &MachineValue,
        precision: Precision,
    ) -> Option<MachineValue> {
        match (lhs, rhs) {
            (MachineValue::Poison, _) | (_, MachineValue::Poison) => Some(MachineValue::Poison),
            (MachineValue::Undefined(_), _) => Some(*lhs),
            (_, MachineValue::Undefined(_)) => Some(*rhs),
            (MachineValue::Int(a), MachineValue::Int(b)) => int_binary(op, *a, *b, precision),
            (MachineValue::Float(_), _) | (_, MachineValue::Float(_)) => {
                float_binary(op, lhs.number()?, rhs.number()?).map(|value| MachineValue::Float(round(value, precision)))
            }
        }
    }

    fn call(&self, function: &ExternFunction, args: &[MachineValue], precision: Precision) -> Option<MachineValue> {
        if let Some(poison) = args.iter().find(|arg| self.is_poison(arg)) {
            return Some(*poison);
        }
        // C functions take their arguments at the precision, which is narrower than that of arithmetic on small integers.
        let args: Vec<MachineValue> = args.iter().map(|arg| convert(*arg, precision)).collect();
        match (function.kind, args.as_slice()) {
            (ExternKind::Relu, [x]) => {
                let zero = convert(MachineValue::Int(0), precision);
                return Some(if less(&zero, x) { *x } else { zero });
            }
            (ExternKind::Select, [x, v, y, z]) => return Some(if less(x, v) { *y } else { *z }),
            _ => {}
        }
        let numbers: Vec<f64> = args.iter().filter_map(MachineValue::number).collect();
        let value = match (function.kind, numbers.as_slice()) {
            (ExternKind::Sin, [x]) => x.sin(),
            (ExternKind::Exp, [x]) => x.exp(),
            (ExternKind::Fmax, [x, y]) => x.max(*y),
            (ExternKind::Sigmoid, [x]) => 1.0 / (1.0 + (-x).exp()),
            (ExternKind::Sqrt, [x]) => x.sqrt(),
            (
                ExternKind::Sin
                | ExternKind::Relu
                | ExternKind::Select
                | ExternKind::Exp
                | ExternKind::Fmax
                | ExternKind::Sigmoid
                | ExternKind::Sqrt
                | ExternKind::User,
                _,
            ) => return None,
        };
        Some(convert(MachineValue::Float(value), precision))
    }

    /// Quarters of small numbers: sums and products of a few of them are exact in every floating precision.
    fn random(&self, random: &mut Random, precision: Precision) -> MachineValue {
        match precision {
            Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => {
                MachineValue::Float(random.between(-16, 16) as f64 / 4.0)
            }
            Precision::I8 | Precision::I16 | Precision::I32 | Precision::I64 => {
                MachineValue::Int(random.between(-9, 9))
            }
            Precision::Ui8 | Precision::Ui16 | Precision::Ui32 => MachineValue::Int(random.between(0, 15)),
        }
    }
}

/// `a < b` of values of one precision; integers of 64 bits are more than a float can tell apart.
fn less(a: &MachineValue, b: &MachineValue) -> bool {
    match (a, b) {
        (MachineValue::Int(a), MachineValue::Int(b)) => a < b,
        _ => a.number() < b.number(),
    }
}

/// Conversion as an assignment in C does it; a float outside an integer's range is undefined there.
fn convert(value: MachineValue, precision: Precision) -> MachineValue {
    match (value, precision.is_float()) {
        (MachineValue::Poison | MachineValue::Undefined(_), _) => value,
        (MachineValue::Float(value), true) => MachineValue::Float(round(value, precision)),
        (MachineValue::Int(value), true) => MachineValue::Float(round_int(value, precision)),
        (MachineValue::Int(value), false) => MachineValue::Int(wrapped(value, precision)),
        (MachineValue::Float(value), false) => {
            let (lo, hi) = int_range(precision);
            // The end of 64 bits rounds up as a float, so it is outside.
            let inside = value.trunc() >= lo as f64 && value.trunc() < hi as f64 + 1.0;
            match inside {
                true => MachineValue::Int(value as i64),
                false => out_of_range(precision),
            }
        }
    }
}

/// The least and the largest integer of a precision.
pub(super) fn int_range(precision: Precision) -> (i64, i64) {
    match precision {
        Precision::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Precision::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Precision::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Precision::Ui8 => (0, i64::from(u8::MAX)),
        Precision::Ui16 => (0, i64::from(u16::MAX)),
        Precision::Ui32 => (0, i64::from(u32::MAX)),
        Precision::I64 | Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => {
            (i64::MIN, i64::MAX)
        }
    }
}

fn wrapped(value: i64, precision: Precision) -> i64 {
    match precision {
        Precision::I8 => i64::from(value as i8),
        Precision::I16 => i64::from(value as i16),
        Precision::I32 => i64::from(value as i32),
        Precision::Ui8 => i64::from(value as u8),
        Precision::Ui16 => i64::from(value as u16),
        Precision::Ui32 => i64::from(value as u32),
        Precision::I64 | Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => value,
    }
}

/// Narrow integers are computed as `int`.
fn promoted(value: i64, precision: Precision) -> i64 {
    match precision {
        Precision::I8 | Precision::I16 | Precision::I32 | Precision::Ui8 | Precision::Ui16 => i64::from(value as i32),
        Precision::Ui32 => i64::from(value as u32),
        Precision::I64 | Precision::R | Precision::F16 | Precision::F32 | Precision::F64 | Precision::Bf16 => value,
    }
}

fn int_binary(op: BinaryOp, a: i64, b: i64, precision: Precision) -> Option<MachineValue> {
    let value = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        // Undefined in C.
        BinaryOp::Div if b == 0 || overflows(a, b, precision) => {
            return Some(MachineValue::Undefined(Undefined::Quotient));
        }
        BinaryOp::Div => a.wrapping_div(b),
        BinaryOp::Mod
        | BinaryOp::Lt
        | BinaryOp::Gt
        | BinaryOp::Le
        | BinaryOp::Ge
        | BinaryOp::Eq
        | BinaryOp::And
        | BinaryOp::Or => return None,
    };
    Some(MachineValue::Int(promoted(value, precision)))
}

/// The one quotient of signed integers that does not fit.
fn overflows(a: i64, b: i64, precision: Precision) -> bool {
    let least = if precision == Precision::I64 { i64::MIN } else { i64::from(i32::MIN) };
    b == -1 && a == least && precision != Precision::Ui32
}

fn float_binary(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Sub => Some(a - b),
        BinaryOp::Mul => Some(a * b),
        BinaryOp::Div => Some(a / b),
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

/// Bits of the significand of a floating precision, the leading one included.
pub(super) fn significant_bits(precision: Precision) -> i32 {
    match precision {
        Precision::F64 => 53,
        Precision::F16 => 11,
        Precision::Bf16 => 8,
        Precision::R
        | Precision::F32
        | Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => 24,
    }
}

/// The result of a conversion from a float that the integer precision cannot hold.
pub(super) fn out_of_range(precision: Precision) -> MachineValue {
    MachineValue::Undefined(Undefined::OutOfRange(precision))
}

/// To the nearest value of the precision, ties to even.
///
/// For one operation on values of the precision, rounding the double result gives what rounding the exact result gives:
/// a double has more than twice the bits of an f32 and two to spare (Figueroa 1995).
pub(super) fn round(value: f64, precision: Precision) -> f64 {
    match precision {
        Precision::F64 => value,
        Precision::R | Precision::F32 => f64::from(value as f32),
        Precision::F16 => narrow(value, 11, -14, 65504.0),
        Precision::Bf16 => narrow(value, 8, -126, f64::from(f32::from_bits(0x7f7f_0000))),
        Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => value,
    }
}

/// A 64-bit integer may have more bits than a double, so it is rounded once, not twice.
fn round_int(value: i64, precision: Precision) -> f64 {
    match precision {
        Precision::R | Precision::F32 => f64::from(value as f32),
        Precision::F16
        | Precision::F64
        | Precision::Bf16
        | Precision::I8
        | Precision::I16
        | Precision::I32
        | Precision::I64
        | Precision::Ui8
        | Precision::Ui16
        | Precision::Ui32 => round(value as f64, precision),
    }
}

/// Rounds to a format with `bits` bits of significand, smallest normal exponent `least` and largest value `largest`.
fn narrow(value: f64, bits: i32, least: i32, largest: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let quantum = 2f64.powi(exponent.max(least) - (bits - 1));
    let rounded = (value / quantum).round_ties_even() * quantum;
    if rounded.abs() > largest { f64::INFINITY.copysign(value) } else { rounded }
}
