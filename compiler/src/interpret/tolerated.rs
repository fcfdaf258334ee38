//! What C may give for an expression over floats: the value, and how far another legal evaluation may be from it.
//!
//! Arithmetic on floats means that of the reals up to rounding: C may fuse, and instructions may add in another order or
//! flush subnormal results. So each value carries the sum of the magnitudes that went into it, as in the analysis of
//! rounding errors (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). What only moves is exact to the sign
//! of zero, and where no real value is the result (an overflow, an infinity or NaN in arithmetic), anything may come out.

use crate::hardware::extern_function::{ExternFunction, ExternKind};
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::random::Random;
use crate::interpret::rounded::{self, MachineValue, Rounded};
use crate::loop_ir::{BinaryOp, Const};

/// Roundings that one operation of the body may stand for.
const ROUNDINGS: f64 = 8.0;

/// A value with the room around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerated {
    pub value: MachineValue,
    /// The sum of the magnitudes of what was added up to it.
    magnitude: f64,
    /// How far a legal result may be from `value`; infinite where anything may come out.
    slack: f64,
    /// Nothing was computed: even the sign of zero is that of a value that was there before.
    is_moved: bool,
}

impl From<MachineValue> for Tolerated {
    fn from(value: MachineValue) -> Self {
        Tolerated { value, magnitude: value.number().map_or(0.0, f64::abs), slack: 0.0, is_moved: true }
    }
}

impl std::fmt::Display for Tolerated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}

impl Tolerated {
    /// Whether C may give this.
    pub fn allows(&self, have: &MachineValue) -> bool {
        match (&self.value, have) {
            (MachineValue::Poison | MachineValue::Undefined(_), _) => true,
            _ if self.slack == f64::INFINITY => true,
            (MachineValue::Float(want), MachineValue::Float(have)) if self.is_moved && *want == 0.0 => {
                *have == 0.0 && want.is_sign_negative() == have.is_sign_negative()
            }
            (want, have) if want == have => true,
            (want, have) => match (want.number(), have.number()) {
                (Some(want), Some(have)) => (want - have).abs() <= self.slack,
                _ => false,
            },
        }
    }

    /// A result of arithmetic at a precision, before its own rounding is allowed for.
    fn computed(value: MachineValue, magnitude: f64, slack: f64, precision: Precision) -> Self {
        let own = if precision.is_float() { rounding(magnitude, precision) } else { 0.0 };
        let slack = slack + own;
        let is_real = value.number().is_none_or(f64::is_finite) && (magnitude + slack) <= largest(precision);
        let slack = if precision.is_float() && !is_real { f64::INFINITY } else { slack };
        Tolerated { value, magnitude, slack, is_moved: false }
    }

    fn anything(value: MachineValue) -> Self {
        Tolerated { value, magnitude: 0.0, slack: f64::INFINITY, is_moved: false }
    }

    /// Values that it may have, at the ends.
    fn ends(&self) -> Option<(f64, f64)> {
        let value = self.value.number()?;
        self.slack.is_finite().then_some((value - self.slack, value + self.slack))
    }
}

/// What rounding and the flushing of subnormal results change at most.
fn rounding(magnitude: f64, precision: Precision) -> f64 {
    let bits = rounded::significant_bits(precision);
    ROUNDINGS * 2f64.powi(-bits) * magnitude + least_normal(precision)
}

fn least_normal(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => f64::MIN_POSITIVE,
        Precision::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

fn largest(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => f64::MAX,
        Precision::F16 => 65504.0,
        Precision::Bf16 => f64::from(f32::from_bits(0x7f7f_0000)),
        _ => f64::from(f32::MAX),
    }
}

/// Floats and integers of the machine with what C may make of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerant;

impl Domain for Tolerant {
    type Value = Tolerated;

    const ROUNDS: bool = true;

    fn poison(&self) -> Tolerated {
        MachineValue::Poison.into()
    }

    fn is_poison(&self, value: &Tolerated) -> bool {
        Rounded.is_poison(&value.value)
    }

    fn what_is_poison(&self, value: &Tolerated) -> String {
        Rounded.what_is_poison(&value.value)
    }

    fn literal(&self, literal: Const, precision: Precision) -> Tolerated {
        Rounded.literal(literal, precision).into()
    }

    fn stored(&self, value: Tolerated, precision: Precision) -> Tolerated {
        let stored = Rounded.stored(value.value, precision);
        match (value.value, precision.is_float()) {
            // A value of the precision stays as it is.
            (MachineValue::Float(before), true) if MachineValue::Float(before) == stored => {
                Tolerated { value: stored, ..value }
            }
            // A conversion rounds once, to the nearest; the machine may flush a subnormal result.
            (MachineValue::Float(before), true) => {
                let flushed = if before.abs() < least_normal(precision) { least_normal(precision) } else { 0.0 };
                let again = if value.slack > 0.0 { rounding(value.magnitude, precision) } else { 0.0 };
                let overflows = value.slack > 0.0 && value.magnitude + value.slack + again > largest(precision);
                let slack = if overflows { f64::INFINITY } else { value.slack + flushed + again };
                Tolerated { value: stored, slack, ..value }
            }
            (MachineValue::Float(_), false) if value.slack > 0.0 => {
                let ends = value
                    .ends()
                    .map(|(lo, hi)| [lo, hi].map(|end| Rounded.stored(MachineValue::Float(end), precision).number()));
                match ends {
                    Some([Some(lo), Some(hi)]) => Tolerated { value: stored, slack: hi - lo, ..value },
                    Some([Some(_) | None, _]) | None => rounded::out_of_range(precision).into(),
                }
            }
            _ => Tolerated { value: stored, ..value },
        }
    }

    fn negated(&self, value: &Tolerated, precision: Precision) -> Tolerated {
        Tolerated { value: Rounded.negated(&value.value, precision), is_moved: false, ..*value }
    }

    fn binary(&self, op: BinaryOp, lhs: &Tolerated, rhs: &Tolerated, precision: Precision) -> Option<Tolerated> {
        let value = Rounded.binary(op, &lhs.value, &rhs.value, precision)?;
        let (Some(a), Some(b)) = (lhs.value.number(), rhs.value.number()) else { return Some(value.into()) };
        let (magnitude, slack) = match op {
            BinaryOp::Mul => {
                (lhs.magnitude * rhs.magnitude, a.abs() * rhs.slack + b.abs() * lhs.slack + lhs.slack * rhs.slack)
            }
            // As far as the divisor stays away from zero.
            BinaryOp::Div => {
                let least = (b.abs() - rhs.slack).max(0.0);
                (lhs.magnitude / least, (lhs.slack + (a / b).abs() * rhs.slack) / least)
            }
            _ => (lhs.magnitude + rhs.magnitude, lhs.slack + rhs.slack),
        };
        if slack.is_nan() || magnitude.is_nan() {
            return Some(Tolerated::anything(value));
        }
        Some(Tolerated::computed(value, magnitude, slack, precision))
    }

    fn call(&self, function: &ExternFunction, args: &[Tolerated], precision: Precision) -> Option<Tolerated> {
        let plain: Vec<MachineValue> = args.iter().map(|arg| arg.value).collect();
        let value = Rounded.call(function, &plain, precision)?;
        let is_nan = |arg: &Tolerated| arg.value.number().is_some_and(f64::is_nan);
        match (function.kind, args) {
            // C and the machines order NaN in ways of their own.
            (ExternKind::Relu | ExternKind::Fmax, _) if args.iter().any(is_nan) => Some(Tolerated::anything(value)),
            (ExternKind::Relu | ExternKind::Fmax, _) => {
                let slack = args.iter().map(|arg| arg.slack).fold(0.0, f64::max);
                let magnitude = args.iter().map(|arg| arg.magnitude).fold(0.0, f64::max);
                Some(Tolerated { value, magnitude, slack, is_moved: false })
            }
            (ExternKind::Select, [x, v, y, z]) => Some(selected(value, [x, v], [y, z])),
            _ => Some(self.approximated(function, args, value, precision)),
        }
    }

    fn random(&self, random: &mut Random, precision: Precision) -> Tolerated {
        Rounded.random(random, precision).into()
    }
}

/// `select(x, v, y, z)`: which of the two it is may be open.
fn selected(value: MachineValue, [x, v]: [&Tolerated; 2], [y, z]: [&Tolerated; 2]) -> Tolerated {
    let room = x.slack + v.slack;
    let (Some(a), Some(b)) = (x.value.number(), v.value.number()) else { return Tolerated::anything(value) };
    if a.is_nan() || b.is_nan() || room == f64::INFINITY {
        return Tolerated::anything(value);
    }
    if room > 0.0 && (a - b).abs() <= room {
        let apart = y.value.number().zip(z.value.number()).map_or(f64::INFINITY, |(y, z)| (y - z).abs());
        let slack = apart + y.slack.max(z.slack);
        let slack = if slack.is_nan() { f64::INFINITY } else { slack };
        return Tolerated { value, magnitude: y.magnitude.max(z.magnitude), slack, is_moved: false };
    }
    let chosen = if a < b { y } else { z };
    Tolerated { value, is_moved: false, ..*chosen }
}

impl Tolerant {
    /// A function of the C library, whose last bits are its own.
    fn approximated(
        self,
        function: &ExternFunction,
        args: &[Tolerated],
        value: MachineValue,
        precision: Precision,
    ) -> Tolerated {
        let at = |pick: fn((f64, f64)) -> f64| {
            let args: Option<Vec<MachineValue>> =
                args.iter().map(|arg| arg.ends().map(|ends| MachineValue::Float(pick(ends)))).collect();
            args.and_then(|args| Rounded.call(function, &args, precision)?.number())
        };
        let apart = |other: Option<f64>| other.zip(value.number()).map(|(other, value)| (other - value).abs());
        let (below, above) = (apart(at(|ends| ends.0)), apart(at(|ends| ends.1)));
        let Some((slack, number)) = below.zip(above).map(|(a, b)| a.max(b)).zip(value.number()) else {
            return Tolerated::anything(value);
        };
        // Large arguments of periodic functions are reduced in ways of their own.
        let is_plain = args.iter().all(|arg| arg.value.number().is_some_and(|value| value.abs() < 1e4));
        if !is_plain || !number.is_finite() || slack.is_nan() {
            return Tolerated::anything(value);
        }
        let room = slack + 16.0 * rounding(number.abs().max(1.0), precision);
        Tolerated { value, magnitude: number.abs(), slack: room, is_moved: false }
    }
}
