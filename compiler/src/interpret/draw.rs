//! Small random arguments that satisfy the asserts of the procs that are to run on them.

use std::collections::BTreeSet;

use crate::hardware::config::{ConfigField, FieldType};
use crate::hardware::precision::Precision;
use crate::interpret::call::parameter_precision;
use crate::interpret::domain::Domain;
use crate::interpret::frame::{Binding, ConfigCell, ConfigMemory, ControlValue, Frame, View, dense_strides};
use crate::interpret::random::Random;
use crate::interpret::{Input, Inputs, Tensor};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::{ArgType, BinaryOp, Const, Control, DataType, Expr, ExprKind, Proc, visit};

/// Choices of control values that one search tries before it gives up.
const SEARCH_NODES: usize = 4000;

/// Searches before a draw gives up; each one may pick other strides.
const ATTEMPTS: usize = 12;

/// The same where configuration state is drawn too.
const CONFIG_ATTEMPTS: usize = 60;

/// Values that the user chose, by position of the argument.
pub type Given = std::collections::BTreeMap<usize, ControlValue>;

/// How the windows of a draw lie in memory, where the asserts leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// With gaps or without.
    Any,
    /// No dimension has the least stride that it can have.
    Gaps,
}

/// The shapes and control values of one run: everything but the data.
#[derive(Clone, Debug)]
pub struct Setting {
    /// One for each argument, in order.
    bindings: Vec<Binding>,
    /// The configuration fields that the procs use; control values, or `None` for data.
    config: Vec<(ConfigField, Option<ControlValue>)>,
}

impl Setting {
    /// Draws arguments that all procs accept. Their signatures must agree in kinds and ranks. `limit` bounds sizes where
    /// the asserts allow it. `None` when none was found.
    pub fn draw(procs: &[&Proc], given: &Given, limit: i64, random: &mut Random) -> Option<Setting> {
        Setting::laid_out(procs, given, limit, Layout::Any, random)
    }

    /// [`Setting::draw`] with a choice of layouts.
    pub fn laid_out(
        procs: &[&Proc],
        given: &Given,
        limit: i64,
        layout: Layout,
        random: &mut Random,
    ) -> Option<Setting> {
        let first = procs.first()?;
        let (constants, order) = (constants(procs), drawing_order(first));
        let mut search = Search { procs, given, limit, layout, constants, order, nodes: 0, random };
        let used: BTreeSet<ConfigField> = procs.iter().flat_map(|proc| Touched::by_proc(proc).all()).collect();
        // Asserts may tie fields to arguments, so both have to be drawn together, more often when there are fields.
        for _ in 0..if used.is_empty() { ATTEMPTS } else { CONFIG_ATTEMPTS } {
            search.nodes = 0;
            let config: Vec<_> = used.iter().map(|field| (field.clone(), search.field(field))).collect();
            let mut frames = vec![Frame::in_state(memory(&config)); procs.len()];
            let mut bindings = vec![None; first.args.len()];
            if search.assign(0, &mut frames, &mut bindings) {
                return Some(Setting { bindings: bindings.into_iter().collect::<Option<Vec<_>>>()?, config });
            }
        }
        None
    }

    /// The control arguments with their names, as `proc` calls them.
    pub fn controls(&self, proc: &Proc) -> Vec<(String, ControlValue)> {
        proc.args
            .iter()
            .zip(&self.bindings)
            .filter_map(|(arg, binding)| match binding {
                Binding::Control(value) => Some((arg.name.name().to_string(), *value)),
                Binding::View(_) => None,
            })
            .collect()
    }

    /// Inputs of these shapes with random data.
    pub fn inputs<D: Domain>(&self, domain: &D, proc: &Proc, random: &mut Random) -> Inputs<D::Value> {
        self.inputs_of(proc, &mut |_, precision| domain.random(random, precision))
    }

    /// Inputs of these shapes with data from `value`, which is told the position of the argument; fields of the
    /// configuration state come after the arguments.
    pub fn inputs_of<V: Clone>(&self, proc: &Proc, value: &mut dyn FnMut(usize, Precision) -> V) -> Inputs<V> {
        let args = proc
            .args
            .iter()
            .zip(&self.bindings)
            .enumerate()
            .map(|(at, (arg, binding))| match (binding, &arg.ty) {
                (Binding::Control(ControlValue::Int(value)), _) => Input::Int(*value),
                (Binding::Control(ControlValue::Bool(value)), _) => Input::Bool(*value),
                (Binding::View(view), ArgType::Data(ty)) => {
                    let precision = parameter_precision(ty);
                    let count = span_of(&view.extents, &view.strides);
                    let data = (0..count).map(|_| value(at, precision)).collect();
                    Input::Tensor(Tensor { extents: view.extents.clone(), strides: view.strides.clone(), data })
                }
                // A draw gives views to data arguments only.
                (Binding::View(_), ArgType::Control(_)) => Input::Int(0),
            })
            .collect();
        let config = self.config.iter().enumerate().map(|(at, (field, control))| {
            let mut data = |precision| value(proc.args.len() + at, precision);
            (field.clone(), initial(field, *control, &mut data))
        });
        Inputs { args, config: config.collect() }
    }
}

fn initial<V: Clone>(
    field: &ConfigField,
    control: Option<ControlValue>,
    data: &mut dyn FnMut(Precision) -> V,
) -> Input<V> {
    match (control, field.ty()) {
        (Some(ControlValue::Int(value)), _) => Input::Int(value),
        (Some(ControlValue::Bool(value)), _) => Input::Bool(value),
        (None, FieldType::Data(precision)) => Input::Tensor(Tensor::dense(Vec::new(), vec![data(precision)])),
        (None, FieldType::Size | FieldType::Index | FieldType::Bool | FieldType::Stride) => Input::Int(0),
    }
}

/// The fields as asserts see them.
fn memory(config: &[(ConfigField, Option<ControlValue>)]) -> ConfigMemory {
    config
        .iter()
        .map(|(field, control)| (field.symbol().identity(), ConfigCell { buffer: 0, control: *control }))
        .collect()
}

/// Elements between the first and the last, both included; at most what 64 bits hold.
fn span_of(extents: &[i64], strides: &[i64]) -> i64 {
    let reach = |(extent, stride): (&i64, &i64)| extent.saturating_sub(1).saturating_mul(*stride);
    extents.iter().zip(strides).map(reach).fold(1, i64::saturating_add)
}

/// Control arguments first but strides last, since strides follow from the data arguments between them.
fn drawing_order(proc: &Proc) -> Vec<usize> {
    let rank = |ty: &ArgType| match ty {
        ArgType::Control(Control::Size | Control::Index | Control::Int | Control::Bool) => 0,
        ArgType::Data(_) => 1,
        ArgType::Control(Control::Stride) => 2,
    };
    let mut order: Vec<usize> = (0..proc.args.len()).collect();
    order.sort_by_key(|at| proc.args.get(*at).map_or(0, |arg| rank(&arg.ty)));
    order
}

/// Literals that index code mentions: sizes around them are the interesting ones.
fn constants(procs: &[&Proc]) -> Vec<i64> {
    let mut found = BTreeSet::new();
    let mut note = |expr: &Expr| {
        if let ExprKind::Const(Const::Int(value)) = &expr.kind
            && (2..=64).contains(value)
        {
            found.insert(*value);
        }
    };
    for proc in procs {
        for pred in &proc.preds {
            visit::each_expr(pred, &mut note);
        }
        visit::each_expr_in(&proc.body, &mut note);
    }
    found.into_iter().collect()
}

struct Search<'a> {
    procs: &'a [&'a Proc],
    given: &'a Given,
    limit: i64,
    layout: Layout,
    constants: Vec<i64>,
    order: Vec<usize>,
    nodes: usize,
    random: &'a mut Random,
}

impl Search<'_> {
    /// A value for a control field: one that an assert asks for now and then, a small one otherwise.
    fn field(&mut self, field: &ConfigField) -> Option<ControlValue> {
        let least = match field.ty() {
            FieldType::Data(_) => return None,
            FieldType::Bool => return Some(ControlValue::Bool(self.random.one_in(2))),
            FieldType::Size | FieldType::Index => -2,
            FieldType::Stride => 1,
        };
        let asked = self.procs.iter().flat_map(|proc| equalities(proc)).find_map(|(lhs, rhs)| {
            [(&lhs, &rhs), (&rhs, &lhs)].into_iter().find_map(|(side, other)| match &side.kind {
                ExprKind::ReadConfig(found) if found == field => crate::loop_ir::build::int_value(other),
                _ => None,
            })
        });
        match asked {
            Some(value) if !self.random.one_in(4) => Some(ControlValue::Int(value)),
            Some(_) | None => self.numbers(least).into_iter().next().map(ControlValue::Int),
        }
    }

    /// Binds the arguments from position `depth` of the order on; undoes nothing on failure but bindings are overwritten.
    fn assign(&mut self, depth: usize, frames: &mut [Frame], bindings: &mut [Option<Binding>]) -> bool {
        let Some(at) = self.order.get(depth).copied() else { return self.holds(frames) == Some(true) };
        for candidate in self.candidates(at, frames) {
            self.nodes += 1;
            if self.nodes > SEARCH_NODES {
                return false;
            }
            for (proc, frame) in self.procs.iter().zip(frames.iter_mut()) {
                if let Some(arg) = proc.args.get(at) {
                    frame.bind(&arg.name, candidate.clone());
                }
            }
            if self.holds(frames) != Some(false) && self.assign(depth + 1, frames, bindings) {
                if let Some(slot) = bindings.get_mut(at) {
                    *slot = Some(candidate);
                }
                return true;
            }
            for (proc, frame) in self.procs.iter().zip(frames.iter_mut()) {
                if let Some(arg) = proc.args.get(at) {
                    frame.unbind(&arg.name);
                }
            }
        }
        false
    }

    /// Whether all asserts hold; `None` while some cannot be evaluated yet and none is broken.
    fn holds(&self, frames: &[Frame]) -> Option<bool> {
        let mut known = true;
        for (proc, frame) in self.procs.iter().zip(frames) {
            for pred in &proc.preds {
                match frame.boolean(pred) {
                    Ok(true) => {}
                    Ok(false) => return Some(false),
                    Err(_) => known = false,
                }
            }
        }
        known.then_some(true)
    }

    fn candidates(&mut self, at: usize, frames: &[Frame]) -> Vec<Binding> {
        let Some(arg) = self.procs.first().and_then(|proc| proc.args.get(at)) else { return Vec::new() };
        if let Some(value) = self.given.get(&at) {
            return vec![Binding::Control(*value)];
        }
        let ints = |values: Vec<i64>| values.into_iter().map(|v| Binding::Control(ControlValue::Int(v))).collect();
        match &arg.ty {
            ArgType::Control(Control::Bool) => {
                let first = self.random.one_in(2);
                vec![Binding::Control(ControlValue::Bool(first)), Binding::Control(ControlValue::Bool(!first))]
            }
            ArgType::Control(Control::Size) => ints(self.numbers(1)),
            ArgType::Control(Control::Index | Control::Int) => ints(self.numbers(-4)),
            ArgType::Control(Control::Stride) => ints(self.stride_values(at, frames)),
            ArgType::Data(_) => self.view(at, frames).map(Binding::View).into_iter().collect(),
        }
    }

    /// Small numbers from `least` on in random order, mixed with those around the literals of the code, then larger ones
    /// for asserts that need them.
    fn numbers(&mut self, least: i64) -> Vec<i64> {
        let limit = self.limit.max(1);
        let mut values: Vec<i64> = (least..=limit).collect();
        for constant in &self.constants {
            for value in [constant - 1, *constant, constant + 1, 2 * constant, 2 * constant + 1] {
                if value >= least && value <= 2 * limit {
                    values.push(value);
                }
            }
        }
        self.random.shuffle(&mut values);
        let mut rest: Vec<i64> = self.constants.iter().flat_map(|c| [*c, c + 1, 2 * c, 3 * c, c - 1]).collect();
        rest.extend(limit + 1..=limit + 64);
        rest.extend([96, 128, 192, 256, 512, 1024]);
        rest.extend((least.min(0) - 16..least).rev().filter(|_| least < 1));
        values.extend(rest.into_iter().filter(|value| *value >= least || least < 1));
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(*value));
        values
    }

    /// What equalities say about a stride parameter, or small strides.
    fn stride_values(&mut self, at: usize, frames: &[Frame]) -> Vec<i64> {
        for (proc, frame) in self.procs.iter().zip(frames) {
            for (lhs, rhs) in equalities(proc) {
                for (side, other) in [(&lhs, &rhs), (&rhs, &lhs)] {
                    let ExprKind::Read { name, .. } = &side.kind else { continue };
                    if proc.args.get(at).is_some_and(|arg| arg.name == *name)
                        && let Ok(value) = frame.int(other)
                    {
                        return vec![value];
                    }
                }
            }
        }
        let mut values: Vec<i64> = (1..=8).collect();
        self.random.shuffle(&mut values);
        values
    }

    /// A view of the declared extents; windows get gaps and orders of dimensions that the asserts leave free.
    fn view(&mut self, at: usize, frames: &[Frame]) -> Option<View> {
        let mut extents: Option<Vec<i64>> = None;
        let mut is_window = true;
        for (proc, frame) in self.procs.iter().zip(frames) {
            let arg = proc.args.get(at)?;
            let ArgType::Data(ty) = &arg.ty else { return None };
            let own = frame.extents(&ty.shape, &arg.name, &arg.span).ok()?;
            if extents.as_ref().is_some_and(|extents| *extents != own) {
                return None;
            }
            extents = Some(own);
            is_window &= ty.is_window;
        }
        let extents = extents?;
        let strides = if is_window { self.strides(at, &extents, frames)? } else { dense_strides(&extents) };
        // A tensor that no comparison should have to fill is not worth a run.
        (span_of(&extents, &strides) <= 1 << 22).then_some(View { buffer: 0, offset: 0, extents, strides })
    }

    fn strides(&mut self, at: usize, extents: &[i64], frames: &[Frame]) -> Option<Vec<i64>> {
        let mut strides: Vec<Option<i64>> = vec![None; extents.len()];
        for (proc, frame) in self.procs.iter().zip(frames) {
            for (lhs, rhs) in equalities(proc) {
                for (side, other) in [(&lhs, &rhs), (&rhs, &lhs)] {
                    let ExprKind::Stride { name, dim } = &side.kind else { continue };
                    if proc.args.get(at).is_some_and(|arg| arg.name == *name)
                        && let (Ok(value), Some(slot)) = (frame.int(other), strides.get_mut(*dim))
                    {
                        *slot = Some(value);
                    }
                }
            }
        }
        // Innermost first, mostly; each free dimension steps over everything placed before it.
        let mut order: Vec<usize> = (0..extents.len()).rev().collect();
        if self.random.one_in(4) {
            self.random.shuffle(&mut order);
        }
        order.sort_by_key(|dim| strides.get(*dim).copied().flatten().is_none());
        let gaps = match self.layout {
            Layout::Gaps => Some((1, 2)),
            Layout::Any => (!self.random.one_in(3)).then_some((0, 2)),
        };
        let mut covered = 1i64;
        for dim in order {
            let (extent, slot) = (extents.get(dim)?, strides.get_mut(dim)?);
            let gap = gaps.map_or(0, |(least, most)| self.random.between(least, most));
            let stride = slot.unwrap_or(covered + gap);
            *slot = Some(stride);
            covered = covered.max((extent - 1).checked_mul(stride)?.checked_add(covered)?);
        }
        let strides = strides.into_iter().collect::<Option<Vec<_>>>()?;
        distinct(extents, &strides).then_some(strides)
    }
}

/// Whether different indices are different places, by the usual sufficient condition.
fn distinct(extents: &[i64], strides: &[i64]) -> bool {
    let mut dims: Vec<(i64, i64)> =
        strides.iter().copied().zip(extents.iter().copied()).filter(|(_, extent)| *extent > 1).collect();
    dims.sort_unstable();
    let mut covered = 1;
    dims.into_iter().all(|(stride, extent)| {
        let apart = stride >= covered;
        covered = extent.saturating_sub(1).saturating_mul(stride).saturating_add(covered);
        apart
    })
}

/// The equalities that must hold for the asserts of a proc to hold.
fn equalities(proc: &Proc) -> Vec<(Expr, Expr)> {
    let mut found = Vec::new();
    let mut rest: Vec<&Expr> = proc.preds.iter().collect();
    while let Some(pred) = rest.pop() {
        if let ExprKind::Binary { op, lhs, rhs } = &pred.kind {
            match op {
                BinaryOp::And => rest.extend([lhs, rhs]),
                BinaryOp::Eq => found.push((lhs.clone(), rhs.clone())),
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Mod
                | BinaryOp::Lt
                | BinaryOp::Gt
                | BinaryOp::Le
                | BinaryOp::Ge
                | BinaryOp::Or => {}
            }
        }
    }
    found
}

/// Whether two procs can run on the same inputs: the same kinds and ranks in the same order.
pub fn same_signature(p: &Proc, q: &Proc) -> bool {
    let rank = |ty: &DataType| ty.rank();
    p.args.len() == q.args.len()
        && p.args.iter().zip(&q.args).all(|(a, b)| match (&a.ty, &b.ty) {
            (ArgType::Control(a), ArgType::Control(b)) => a == b || (a.is_indexable() && b.is_indexable()),
            (ArgType::Data(a), ArgType::Data(b)) => rank(a) == rank(b),
            (ArgType::Control(_), ArgType::Data(_)) | (ArgType::Data(_), ArgType::Control(_)) => false,
        })
}
