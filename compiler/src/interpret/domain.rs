//! What a run needs to know about data values; control values are always integers and booleans.

use crate::hardware::extern_function::ExternFunction;
use crate::hardware::precision::Precision;
use crate::interpret::random::Random;
use crate::loop_ir::{BinaryOp, Const};

/// A domain of data values. `precision` is the one that the generated C computes in.
///
/// Every operation on poison (an uninitialised value) gives poison; moving poison does not look at it.
pub trait Domain {
    type Value: Clone + PartialEq + std::fmt::Debug + std::fmt::Display;

    /// Whether results depend on precisions at all.
    const ROUNDS: bool;

    fn poison(&self) -> Self::Value;
    fn is_poison(&self, value: &Self::Value) -> bool;

    /// What a poisoned value is, with an article, for messages.
    fn what_is_poison(&self, _value: &Self::Value) -> String {
        "an uninitialised value".to_string()
    }

    fn literal(&self, literal: Const, precision: Precision) -> Self::Value;

    /// What is left of a value when it is stored in a buffer of this precision.
    fn stored(&self, value: Self::Value, precision: Precision) -> Self::Value;

    fn negated(&self, value: &Self::Value, precision: Precision) -> Self::Value;

    /// `+`, `-`, `*` or `/`; `None` for an operation that data does not have.
    fn binary(&self, op: BinaryOp, lhs: &Self::Value, rhs: &Self::Value, precision: Precision) -> Option<Self::Value>;

    /// `None` when the extern has no meaning in this domain.
    fn call(&self, function: &ExternFunction, args: &[Self::Value], precision: Precision) -> Option<Self::Value>;

    /// A random input.
    fn random(&self, random: &mut Random, precision: Precision) -> Self::Value;
}
