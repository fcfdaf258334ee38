//! Exact data: a prime field in which equality is equality over the reals, but for a chance of about 2^-61.

use crate::hardware::extern_function::{ExternFunction, ExternKind};
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::random::{Random, mix};
use crate::loop_ir::{BinaryOp, Const};

/// The Mersenne prime 2^61 - 1.
pub const PRIME: u64 = (1 << 61) - 1;

/// An element of the field, or poison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    Poison,
    Number(u64),
}

impl std::fmt::Display for FieldValue {
    /// Small integers as such (negative ones too), others as residues.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FieldValue::Poison => f.write_str("uninitialised"),
            FieldValue::Number(n) if *n > PRIME - 1_000_000 => write!(f, "-{}", PRIME - n),
            FieldValue::Number(n) if *n < 1_000_000 => write!(f, "{n}"),
            FieldValue::Number(n) => write!(f, "{n} (mod 2^61 - 1)"),
        }
    }
}

/// Data as elements of the field; precisions mean nothing and externs are uninterpreted functions.
///
/// A polynomial identity over the rationals holds in the field; one that fails over the rationals fails at random points
/// of the field with probability at least 1 - degree/2^61 (Schwartz and Zippel).
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Domain for Exact {
    type Value = FieldValue;

    const ROUNDS: bool = false;

    fn poison(&self) -> FieldValue {
        FieldValue::Poison
    }

    fn is_poison(&self, value: &FieldValue) -> bool {
        *value == FieldValue::Poison
    }

    fn literal(&self, literal: Const, _precision: Precision) -> FieldValue {
        match literal {
            Const::Int(value) => FieldValue::Number(from_int(value)),
            Const::Real(value) => FieldValue::Number(from_real(value)),
            Const::Bool(value) => FieldValue::Number(u64::from(value)),
        }
    }

    fn stored(&self, value: FieldValue, _precision: Precision) -> FieldValue {
        value
    }

    fn negated(&self, value: &FieldValue, _precision: Precision) -> FieldValue {
        match value {
            FieldValue::Poison => FieldValue::Poison,
            FieldValue::Number(n) => FieldValue::Number(sub(0, *n)),
        }
    }

    fn binary(&self, op: BinaryOp, lhs: &FieldValue, rhs: &FieldValue, _precision: Precision) -> Option<FieldValue> {
        let (FieldValue::Number(a), FieldValue::Number(b)) = (lhs, rhs) else { return Some(FieldValue::Poison) };
        let value = match op {
            BinaryOp::Add => add(*a, *b),
            BinaryOp::Sub => sub(*a, *b),
            BinaryOp::Mul => mul(*a, *b),
            // A quotient by zero is some value that depends on the dividend alone.
            BinaryOp::Div if *b == 0 => hash("/0", &[*a]),
            BinaryOp::Div => mul(*a, inverse(*b)),
            BinaryOp::Mod
            | BinaryOp::Lt
            | BinaryOp::Gt
            | BinaryOp::Le
            | BinaryOp::Ge
            | BinaryOp::Eq
            | BinaryOp::And
            | BinaryOp::Or => return None,
        };
        Some(FieldValue::Number(value))
    }

    fn call(&self, function: &ExternFunction, args: &[FieldValue], _precision: Precision) -> Option<FieldValue> {
        let mut numbers = Vec::with_capacity(args.len() + 1);
        // A pack's extern may share its name with one of the prelude.
        numbers.push(u64::from(function.kind == ExternKind::User));
        for arg in args {
            match arg {
                FieldValue::Poison => return Some(FieldValue::Poison),
                FieldValue::Number(n) => numbers.push(*n),
            }
        }
        Some(FieldValue::Number(hash(&function.name, &numbers)))
    }

    fn random(&self, random: &mut Random, _precision: Precision) -> FieldValue {
        FieldValue::Number(random.below(PRIME))
    }
}

fn reduce(wide: u128) -> u64 {
    let folded = (wide & u128::from(PRIME)) + (wide >> 61);
    let folded = (folded & u128::from(PRIME)) + (folded >> 61);
    let folded = folded as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

fn add(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) + u128::from(b))
}

fn sub(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) + u128::from(PRIME - b))
}

fn mul(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, square);
        }
        square = mul(square, square);
        exponent >>= 1;
    }
    result
}

/// By Fermat; zero has none and gives zero.
fn inverse(value: u64) -> u64 {
    power(value, PRIME - 2)
}

fn from_int(value: i64) -> u64 {
    let magnitude = reduce(u128::from(value.unsigned_abs()));
    if value < 0 { sub(0, magnitude) } else { magnitude }
}

/// The rational that the shortest decimal of a double spells: 0.1 is a tenth.
fn from_real(value: f64) -> u64 {
    if !value.is_finite() {
        return hash("not finite", &[value.to_bits()]);
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut number = 0;
    let mut scale = exponent.parse::<i64>().unwrap_or(0);
    let mut after_point = false;
    for c in mantissa.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                number = add(mul(number, 10), u64::from(digit));
                scale -= i64::from(after_point);
            }
            None => after_point |= c == '.',
        }
    }
    let ten = power(10, scale.unsigned_abs());
    let scaled = mul(number, if scale < 0 { inverse(ten) } else { ten });
    if value.is_sign_negative() { sub(0, scaled) } else { scaled }
}

/// An uninterpreted function of a name and numbers, with values spread over the field.
fn hash(name: &str, numbers: &[u64]) -> u64 {
    let mut state = mix(name.len() as u64 ^ 0x5bd1_e995);
    for byte in name.bytes() {
        state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    for number in numbers {
        state = mix(state.rotate_left(17) ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    reduce(u128::from(mix(state)))
}
