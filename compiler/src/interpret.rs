//! The slow twin: runs LoopIR directly, checks everything while it runs, and compares two procs.
//!
//! Nothing here is shared with the analyses, so that a mistake in one cannot hide in the other.

pub mod random;
pub mod domain;
pub mod exact;
pub mod rounded;
pub mod tolerated;
pub mod values;
pub mod frame;
pub mod machine;
pub mod call;
pub mod configuration;
pub mod assignments;
pub mod draw;
pub mod compare;

#[cfg(test)]
mod tests;

use crate::hardware::config::ConfigField;
use crate::loop_ir::Proc;
use crate::source::Span;

pub use compare::{Comparison, Options, compare};
pub use domain::Domain;
pub use exact::Exact;
pub use rounded::Rounded;

/// What a run did that no correct program does, or why it could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An index outside the extent of the window or buffer that it was applied to.
    Bounds,
    /// A size, an extent of a buffer or a window that is not positive, or a loop that ends before it starts.
    Extent,
    /// A shape, rank or layout at a call that is not what the callee declares.
    Shape,
    /// An assert of a callee that does not hold at the call.
    Assertion,
    /// A callee that writes an element which two of its arguments share.
    Aliasing,
    /// Two iterations of a `par` loop that touch one element, at least one of them writing.
    Race,
    /// An uninitialised value that reached an output.
    Uninitialised,
    /// Inputs that the proc does not accept: a wrong kind or shape, or an assert that they break.
    Inputs,
    /// Index arithmetic left the 64-bit integers.
    Overflow,
    /// The step budget is used up.
    Budget,
    /// An extern without a numeric meaning here.
    Unsupported,
    /// The tree itself is wrong: a name that is not bound, a value of the wrong kind.
    Malformed,
}

/// A failed run: what, in words, and the place in the object code.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    pub span: Span,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>, span: &Span) -> Self {
        Fault { kind, message: message.into(), span: span.clone() }
    }
}

/// Elements of a buffer or window, with the way they lie in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<V> {
    /// Outermost first; empty for a scalar.
    pub extents: Vec<i64>,
    /// In elements, one for each dimension.
    pub strides: Vec<i64>,
    /// Everything between the first and the last element, gaps included.
    pub data: Vec<V>,
}

impl<V: Clone> Tensor<V> {
    /// A tensor without gaps, last dimension fastest. `data` must have as many elements as the extents say.
    pub fn dense(extents: Vec<i64>, data: Vec<V>) -> Self {
        let strides = frame::dense_strides(&extents);
        Tensor { extents, strides, data }
    }

    /// The element at a multi-index.
    pub fn get(&self, idx: &[i64]) -> Option<&V> {
        let at: i64 = idx.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum();
        self.data.get(usize::try_from(at).ok()?)
    }

    /// All multi-indices, last dimension fastest.
    pub fn indices(&self) -> Vec<Vec<i64>> {
        let mut all = vec![Vec::new()];
        for extent in &self.extents {
            all = all
                .into_iter()
                .flat_map(|prefix: Vec<i64>| {
                    (0..*extent).map(move |i| prefix.iter().copied().chain(std::iter::once(i)).collect())
                })
                .collect();
        }
        all
    }

    /// The elements in the order of [`Tensor::indices`], gaps left out.
    pub fn elements(&self) -> Vec<V> {
        self.indices().iter().filter_map(|idx| self.get(idx).cloned()).collect()
    }
}

/// One actual argument of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<V> {
    /// A `size`, `index` or `stride`.
    Int(i64),
    Bool(bool),
    Tensor(Tensor<V>),
}

/// Actual arguments in the order of the proc's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs<V> {
    pub args: Vec<Input<V>>,
    /// The configuration state before the run; data fields as tensors without dimensions. A field that is not here
    /// starts as 0, `False` or uninitialised.
    pub config: Vec<(ConfigField, Input<V>)>,
}

impl<V> Input<V> {
    fn map<W>(&self, value: &dyn Fn(&V) -> W) -> Input<W> {
        match self {
            Input::Int(number) => Input::Int(*number),
            Input::Bool(truth) => Input::Bool(*truth),
            Input::Tensor(Tensor { extents, strides, data }) => Input::Tensor(Tensor {
                extents: extents.clone(),
                strides: strides.clone(),
                data: data.iter().map(value).collect(),
            }),
        }
    }
}

impl<V> Inputs<V> {
    /// The same inputs in another domain.
    pub fn map<W>(&self, value: &dyn Fn(&V) -> W) -> Inputs<W> {
        Inputs {
            args: self.args.iter().map(|input| input.map(value)).collect(),
            config: self.config.iter().map(|(field, input)| (field.clone(), input.map(value))).collect(),
        }
    }
}

/// All data arguments after a run, in the order of the parameters, with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs<V> {
    pub tensors: Vec<(String, Tensor<V>)>,
    /// The configuration state after the run, of the fields that were given and of those that the proc uses.
    pub config: Vec<(ConfigField, Input<V>)>,
}

/// Steps that suffice for the small sizes that comparisons draw: a statement, an element of an allocation or an
/// expression node is one step.
pub const DEFAULT_BUDGET: u64 = 20_000_000;

/// Runs a proc. `budget` is the number of steps after which the run is given up.
pub fn run<D: Domain>(
    domain: &D,
    proc: &Proc,
    inputs: Inputs<D::Value>,
    budget: u64,
) -> Result<Outputs<D::Value>, Fault> {
    machine::Machine::new(domain, budget).run(proc, inputs).map_err(|fault| *fault)
}
