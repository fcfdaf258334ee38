//! Whether two procs compute the same: both run on the same random inputs, exact ones and, where integers wrap alike, those of C.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::fit;
use crate::hardware::config::{ConfigField, FieldType};
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::draw::{Given, Setting, same_signature};
use crate::interpret::exact::Exact;
use crate::interpret::frame::ControlValue;
use crate::interpret::random::Random;
use crate::interpret::rounded::Rounded;
use crate::interpret::{DEFAULT_BUDGET, Fault, FaultKind, Input, Inputs, Outputs, run};
use crate::loop_ir::computation;
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::{ArgType, Control, Proc, StmtKind, visit};
use crate::source::Span;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Values for control arguments by name (booleans as 0 and 1); all combinations run. Others are drawn.
    pub sizes: BTreeMap<String, Vec<i64>>,
    pub seed: u64,
    /// Runs for each combination of `sizes`.
    pub rounds: usize,
    /// Steps of one run.
    pub budget: u64,
    /// Configuration fields whose final values may differ.
    pub modulo: BTreeSet<ConfigField>,
}

impl Default for Options {
    fn default() -> Self {
        Options { sizes: BTreeMap::new(), seed: 0, rounds: 4, budget: DEFAULT_BUDGET, modulo: BTreeSet::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Control arguments of a run, by name.
pub type Sizes = Vec<(String, ControlValue)>;

/// What a comparison found.
#[derive(Clone, Debug)]
pub enum Comparison {
    /// All outputs agreed in this many runs (at least one).
    Equal { runs: usize },
    /// An element of an argument differs.
    Unequal { sizes: Sizes, buffer: String, index: Vec<i64>, left: String, right: String },
    /// One of the procs did what no correct program does.
    Fault { side: Side, sizes: Sizes, fault: Fault },
    /// The given sizes break an assert, or name no control argument.
    BadSizes { message: String },
    /// No arguments were found that satisfy the asserts. Nothing was compared.
    NoDraw { message: String },
    /// The signatures differ. Nothing was compared.
    Incomparable { message: String },
}

impl Comparison {
    pub fn is_equal(&self) -> bool {
        matches!(self, Comparison::Equal { .. })
    }
}

/// How sizes read in a message: `n = 4, m = 2`.
pub fn describe(sizes: &Sizes) -> String {
    sizes.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Bounds of drawn sizes, round after round: the smallest corner cases first, then tails of common tile sizes.
const LIMITS: [i64; 4] = [3, 6, 11, 20];

/// Runs both procs on the same random inputs, as often as `options` says.
pub fn compare(p: &Proc, q: &Proc, options: &Options) -> Comparison {
    if !same_signature(p, q) {
        let message = format!("`{}` and `{}` do not take the same arguments", p.name, q.name);
        return Comparison::Incomparable { message };
    }
    let combinations = match combinations(p, &options.sizes) {
        Ok(combinations) => combinations,
        Err(message) => return Comparison::BadSizes { message },
    };
    let mut random = Random::new(options.seed);
    let wraps = p.lineage.precision_class == q.lineage.precision_class && computes_integers(p) && computes_integers(q);
    let mut runs = 0;
    for given in &combinations {
        let mut exhausted = None;
        let mut done = 0;
        for round in 0..options.rounds.max(1) {
            let limit = LIMITS.get(round % LIMITS.len()).copied().unwrap_or(3);
            let Some(setting) = Setting::draw(&[p, q], given, limit, &mut random) else {
                return no_draw(p, q, given);
            };
            let inputs = setting.inputs(&Exact, p, &mut random);
            let mut run = one_run(&Exact, p, q, inputs, options);
            if wraps && matches!(run, Run::Equal) {
                let inputs = setting.inputs(&Rounded, p, &mut random);
                run = match one_run(&Rounded, p, q, inputs, options) {
                    // These inputs say nothing: a division by zero has no value in C.
                    Run::Fault(Side::Left, _) => Run::Equal,
                    other => other,
                };
            }
            match run {
                Run::Equal => done += 1,
                Run::Unequal { buffer, index, left, right } => {
                    return Comparison::Unequal { sizes: setting.controls(p), buffer, index, left, right };
                }
                Run::Fault(side, fault) if fault.kind == FaultKind::Budget => {
                    exhausted = Some(Comparison::Fault { side, sizes: setting.controls(p), fault });
                }
                Run::Fault(side, fault) => return Comparison::Fault { side, sizes: setting.controls(p), fault },
            }
        }
        // Some drawn sizes may be too large to run; without a single complete run nothing is known.
        match exhausted {
            Some(fault) if done == 0 => return fault,
            Some(_) | None => runs += done,
        }
    }
    Comparison::Equal { runs }
}

fn no_draw(p: &Proc, q: &Proc, given: &Given) -> Comparison {
    if given.is_empty() {
        let message = format!("no small arguments satisfy the asserts of `{}` and `{}`", p.name, q.name);
        return Comparison::NoDraw { message };
    }
    let sizes: Sizes = given
        .iter()
        .filter_map(|(at, value)| p.args.get(*at).map(|arg| (arg.name.name().to_string(), *value)))
        .collect();
    let asserts = match p.name == q.name {
        true => format!("an assert of `{}` may not hold", p.name),
        false => format!("an assert of `{}` or `{}` may not hold", p.name, q.name),
    };
    let message =
        format!("no arguments fit the sizes {}: {asserts}, or a buffer is too large to run", describe(&sizes));
    Comparison::BadSizes { message }
}

/// All combinations of the given values; one empty combination when nothing is given.
fn combinations(p: &Proc, sizes: &BTreeMap<String, Vec<i64>>) -> Result<Vec<Given>, String> {
    let mut all = vec![Given::new()];
    for (name, values) in sizes {
        let found = p.args.iter().enumerate().find(|(_, arg)| arg.name.name() == name);
        let Some((at, arg)) = found else { return Err(format!("`{}` has no argument `{name}`", p.name)) };
        let ArgType::Control(control) = &arg.ty else { return Err(format!("`{name}` is not a control argument")) };
        if values.is_empty() {
            return Err(format!("no value is given for `{name}`"));
        }
        let mut next = Vec::new();
        for given in &all {
            for value in values {
                let mut given = given.clone();
                given.insert(at, control_value(*control, name, *value)?);
                next.push(given);
            }
        }
        all = next;
    }
    Ok(all)
}

fn control_value(control: Control, name: &str, value: i64) -> Result<ControlValue, String> {
    match (control, value) {
        (Control::Bool, 0 | 1) => Ok(ControlValue::Bool(value == 1)),
        (Control::Bool, _) => Err(format!("`{name}` is a bool and cannot be {value}")),
        (Control::Size, i64::MIN..=0) => Err(format!("size `{name}` must be positive and cannot be {value}")),
        (Control::Int | Control::Size | Control::Index | Control::Stride, _) => Ok(ControlValue::Int(value)),
    }
}

enum Run {
    Equal,
    Unequal { buffer: String, index: Vec<i64>, left: String, right: String },
    Fault(Side, Fault),
}

/// Whether all data is of integers. Their arithmetic wraps, which is exact, so that two procs with the same precisions
/// must agree in C too, to the bit. Floats round, and a step may change how. What mixes precisions, and calls that do not
/// fit, have no C.
fn computes_integers(proc: &Proc) -> bool {
    let declarations = Declarations::of(proc);
    let integer = |precision: Precision| !precision.is_float();
    let args = proc.args.iter().all(|arg| match &arg.ty {
        ArgType::Data(ty) => integer(ty.precision),
        ArgType::Control(_) => true,
    });
    let mut all = args;
    visit::each_stmt(&proc.body, &mut |stmt| {
        all &= match &stmt.kind {
            StmtKind::Alloc { ty, .. } => integer(ty.precision),
            StmtKind::Call { callee, args } => {
                fit::misfits(callee, args, &declarations).is_empty() && computes_integers(callee)
            }
            StmtKind::Assign { rhs, .. } | StmtKind::Reduce { rhs, .. } | StmtKind::WriteConfig { rhs, .. } => {
                computation::disagreement(rhs, &declarations).is_none()
            }
            StmtKind::Pass | StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Window { .. } => true,
        };
    });
    all && Touched::by_proc(proc).all().iter().all(|field| match field.ty() {
        FieldType::Data(precision) => integer(precision),
        FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride => true,
    })
}

fn one_run<D: Domain>(domain: &D, p: &Proc, q: &Proc, inputs: Inputs<D::Value>, options: &Options) -> Run {
    let left = match run(domain, p, inputs.clone(), options.budget) {
        Ok(outputs) => outputs,
        Err(fault) => return Run::Fault(Side::Left, fault),
    };
    let right = match run(domain, q, inputs, options.budget) {
        Ok(outputs) => outputs,
        Err(fault) => return Run::Fault(Side::Right, fault),
    };
    difference(domain, &left, &right, &options.modulo)
}

fn difference<D: Domain>(
    domain: &D,
    left: &Outputs<D::Value>,
    right: &Outputs<D::Value>,
    modulo: &BTreeSet<ConfigField>,
) -> Run {
    for ((name, a), (_, b)) in left.tensors.iter().zip(&right.tensors) {
        for index in a.indices() {
            if a.get(&index) != b.get(&index) {
                let text = |value: Option<&_>| value.map_or_else(String::new, ToString::to_string);
                let (left, right) = (text(a.get(&index)), text(b.get(&index)));
                return Run::Unequal { buffer: name.clone(), index, left, right };
            }
        }
    }
    // Both started with values for the fields of both.
    for ((field, a), (_, b)) in left.config.iter().zip(&right.config).filter(|((field, _), _)| !modulo.contains(field))
    {
        // Both started with values, so whatever is uninitialised was put there.
        for (side, end) in [(Side::Left, a), (Side::Right, b)] {
            if let Input::Tensor(tensor) = end
                && let Some(poison) = tensor.data.iter().find(|value| domain.is_poison(value))
            {
                let message = format!("{} reaches the field `{field}`", domain.what_is_poison(poison));
                return Run::Fault(side, Fault::new(FaultKind::Uninitialised, message, &Span::none()));
            }
        }
        if a != b {
            return Run::Unequal { buffer: field.to_string(), index: Vec::new(), left: value(a), right: value(b) };
        }
    }
    Run::Equal
}

/// A value of a field in words.
fn value<V: ToString>(value: &Input<V>) -> String {
    match value {
        Input::Int(value) => value.to_string(),
        Input::Bool(value) => ControlValue::Bool(*value).to_string(),
        Input::Tensor(tensor) => tensor.data.first().map_or_else(String::new, ToString::to_string),
    }
}
