//! Data for runs of C: values at the edges of each precision, and random ones over its whole range.

use std::collections::BTreeMap;

use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::random::Random;
use crate::interpret::rounded::{self, MachineValue, Rounded};

/// How far from zero the data of a run goes. Some code has a meaning on small values only, such as a float that becomes
/// an integer, so each spread has a narrower one to fall back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All integers of an argument are the least, or all the greatest: what adds them up must be wide enough.
    Ends,
    /// Edges and the whole range; infinities and NaN among floats.
    Whole,
    /// The same as far as 30, 14 and 6 bits reach; random floats stay as far from zero the other way.
    Bits30,
    Bits14,
    Bits6,
    /// Values whose sums and products are exact in every precision.
    Small,
    /// Those without zero, for code that divides.
    SmallNonzero,
    /// One and minus one, and halves among floats: for code whose sums a narrow type has to hold.
    Units,
}

impl Spread {
    /// What to try where the run of this spread has no meaning.
    pub fn narrower(self) -> Option<Spread> {
        match self {
            Spread::Ends => Some(Spread::Whole),
            Spread::Whole => Some(Spread::Bits30),
            Spread::Bits30 => Some(Spread::Bits14),
            Spread::Bits14 => Some(Spread::Bits6),
            Spread::Bits6 => Some(Spread::Small),
            Spread::Small => Some(Spread::SmallNonzero),
            Spread::SmallNonzero => Some(Spread::Units),
            Spread::Units => None,
        }
    }

    fn bits(self) -> Option<i32> {
        match self {
            Spread::Whole => Some(i32::MAX),
            Spread::Bits30 => Some(30),
            Spread::Bits14 => Some(14),
            Spread::Bits6 => Some(6),
            Spread::Ends | Spread::Small | Spread::SmallNonzero | Spread::Units => None,
        }
    }
}

/// A source of values that deals every edge to every argument before it deals one again.
pub struct Values {
    random: Random,
    decks: BTreeMap<(usize, Precision), Deck>,
}

/// The edges of one argument in random order.
struct Deck {
    left: Vec<MachineValue>,
    dealt: bool,
}

impl Values {
    pub fn new(seed: u64) -> Self {
        Values { random: Random::new(seed), decks: BTreeMap::new() }
    }

    /// Whether some argument has not seen all of its edges yet.
    pub fn is_undealt(&self) -> bool {
        self.decks.values().any(|deck| !deck.dealt)
    }

    /// An element of the argument at this position.
    pub fn next(&mut self, argument: usize, precision: Precision, spread: Spread) -> MachineValue {
        if spread == Spread::Ends && !precision.is_float() {
            let (least, greatest) = rounded::int_range(precision);
            return MachineValue::Int(if argument.is_multiple_of(2) { greatest } else { least });
        }
        if spread == Spread::Units {
            return self.unit(precision);
        }
        let Some(bits) = spread.bits() else {
            loop {
                let value = Rounded.random(&mut self.random, precision);
                if spread != Spread::SmallNonzero || value.number() != Some(0.0) {
                    return value;
                }
            }
        };
        if spread == Spread::Whole && self.decks.get(&(argument, precision)).is_none_or(|deck| !deck.dealt) {
            return self.deal(argument, precision);
        }
        match self.random.below(8) {
            0 => Rounded.random(&mut self.random, precision),
            1 | 2 => {
                let reached: Vec<_> = edges(precision).into_iter().filter(|value| reaches(*value, bits)).collect();
                self.random.pick(&reached).copied().unwrap_or(MachineValue::Int(0))
            }
            _ => self.wide(precision, bits),
        }
    }

    fn unit(&mut self, precision: Precision) -> MachineValue {
        let is_negative = self.random.one_in(2);
        if precision.is_float() {
            let size = if self.random.one_in(2) { 1.0 } else { 0.5 };
            return MachineValue::Float(if is_negative { -size } else { size });
        }
        let is_signed = rounded::int_range(precision).0 < 0;
        MachineValue::Int(if is_negative && is_signed { -1 } else { 1 })
    }

    fn deal(&mut self, argument: usize, precision: Precision) -> MachineValue {
        let random = &mut self.random;
        let deck = self.decks.entry((argument, precision)).or_insert_with(|| {
            let mut left = edges(precision);
            random.shuffle(&mut left);
            Deck { left, dealt: false }
        });
        let value = deck.left.pop().unwrap_or(MachineValue::Int(0));
        deck.dealt = deck.left.is_empty();
        value
    }

    /// Any magnitude is as likely as any other.
    fn wide(&mut self, precision: Precision, bits: i32) -> MachineValue {
        if precision.is_float() {
            let (least, most) = exponents(precision);
            let exponent = self.random.between(i64::from(least.max(-bits)), i64::from(most.min(bits) - 1));
            let fraction = 1.0 + self.random.below(1 << 52) as f64 / 2f64.powi(52);
            let sign = if self.random.one_in(2) { -1.0 } else { 1.0 };
            return MachineValue::Float(rounded::round(sign * fraction * 2f64.powi(exponent as i32), precision));
        }
        let (lo, hi) = rounded::int_range(precision);
        let is_signed = lo < 0;
        let width = 64 - hi.leading_zeros() + u32::from(is_signed);
        let width = self.random.between(1, i64::from(width)).min(i64::from(bits)) as u32;
        let word = self.random.next_u64();
        let unused = 64 - width;
        MachineValue::Int(if is_signed { word as i64 >> unused } else { (word >> unused) as i64 })
    }
}

fn reaches(value: MachineValue, bits: i32) -> bool {
    bits == i32::MAX || value.number().is_some_and(|value| value.abs() < 2f64.powi(bits))
}

/// Exponents of the least normal number and of the largest one.
fn exponents(precision: Precision) -> (i32, i32) {
    match precision {
        Precision::F64 => (-1022, 1023),
        Precision::F16 => (-14, 15),
        _ => (-126, 127),
    }
}

/// Where code that is nearly right goes wrong.
fn edges(precision: Precision) -> Vec<MachineValue> {
    if precision.is_float() { float_edges(precision) } else { int_edges(precision) }
}

fn int_edges(precision: Precision) -> Vec<MachineValue> {
    let (lo, hi) = rounded::int_range(precision);
    let powers = (1..63).filter(|bit| [1, 3].contains(bit) || bit % 8 >= 7 || bit % 8 == 0);
    let near = powers.flat_map(|bit| [-1, 0, 1].map(|apart| (1i64 << bit) + apart));
    let mut all: Vec<i64> = near.flat_map(|value| [value, -value]).chain([0, 1, -1, lo, hi, lo + 1, hi - 1]).collect();
    all.retain(|value| (lo..=hi).contains(value));
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(MachineValue::Int).collect()
}

fn float_edges(precision: Precision) -> Vec<MachineValue> {
    let (least, most) = exponents(precision);
    let smallest = 2f64.powi(least);
    let bits = rounded::significant_bits(precision);
    // Not exact in any narrower format: those have 8, 11 and 24 bits.
    let between = [8, 11, 24].into_iter().filter(|narrow| *narrow < bits).map(|narrow| 1.0 + 2f64.powi(-narrow));
    let below_two = 2.0 - 2f64.powi(1 - bits);
    let magnitudes = [
        0.0,
        2f64.powi(least - bits + 1),
        smallest - 2f64.powi(least - bits + 1),
        smallest,
        2f64.powi(least / 2),
        0.1,
        0.5,
        1.0,
        below_two,
        7.0,
        100.0,
        1000.5,
        2f64.powi((most / 2).min(most)),
        below_two * 2f64.powi(most),
        f64::INFINITY,
    ];
    let whole = [15, 16, 31, 32, 63].into_iter().filter(|bit| *bit < most).map(|bit| 2f64.powi(bit));
    let mut all: Vec<f64> = magnitudes.into_iter().chain(between).chain(whole).flat_map(|v| [v, -v]).collect();
    all.push(f64::NAN);
    all.into_iter().map(|value| MachineValue::Float(rounded::round(value, precision))).collect()
}
