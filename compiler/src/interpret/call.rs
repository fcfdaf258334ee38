//! Entering a proc: binding of arguments, its preconditions, and a whole run from inputs to outputs.

use std::collections::BTreeSet;

use crate::diagnostic::counted;
use crate::hardware::precision::Precision;
use crate::interpret::domain::Domain;
use crate::interpret::frame::{Binding, ConfigMemory, ControlValue, Frame, Step, View, dense_strides, fault};
use crate::interpret::machine::{Buffer, Machine};
use crate::interpret::{FaultKind, Input, Inputs, Outputs, Tensor};
use crate::loop_ir::{Arg, ArgType, Control, DataType, Expr, ExprKind, Proc};
use crate::source::Span;

/// Who hands the arguments over, and so what is at fault when they do not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Outside,
    Proc,
}

impl Caller {
    fn kind(self, kind: FaultKind) -> FaultKind {
        match self {
            Caller::Outside => FaultKind::Inputs,
            Caller::Proc => kind,
        }
    }
}

impl<D: Domain> Machine<'_, D> {
    pub(super) fn call(&mut self, callee: &Proc, args: &[Expr], frame: &mut Frame, span: &Span) -> Step<()> {
        let mut actuals = Vec::with_capacity(args.len());
        for (formal, actual) in callee.args.iter().zip(args) {
            actuals.push(match &formal.ty {
                ArgType::Control(_) => Binding::Control(frame.control(actual)?),
                ArgType::Data(_) => Binding::View(actual_view(actual, frame)?),
            });
        }
        if args.len() != callee.args.len() {
            let takes = counted(callee.args.len(), "argument");
            let message = format!("`{}` takes {takes}, not {}", callee.name, args.len());
            return fault(FaultKind::Malformed, message, span);
        }
        let mut inner = enter(callee, &actuals, std::mem::take(&mut frame.config), Caller::Proc, span)?;
        let calls_outside = self.shared.len();
        self.shared.extend(overlaps(callee, &actuals));
        self.block(&callee.body, &mut inner)?;
        self.shared.truncate(calls_outside);
        frame.config = inner.config;
        Ok(())
    }

    /// Runs a proc from inputs to outputs.
    pub(super) fn run(mut self, proc: &Proc, inputs: Inputs<D::Value>) -> Step<Outputs<D::Value>> {
        if inputs.args.len() != proc.args.len() {
            let takes = counted(proc.args.len(), "argument");
            let message = format!("`{}` takes {takes}, not {}", proc.name, inputs.args.len());
            return fault(FaultKind::Inputs, message, &proc.span);
        }
        let (memory, fields) = self.config_memory(proc, inputs.config)?;
        let mut actuals = Vec::with_capacity(proc.args.len());
        let mut poisoned = Vec::new();
        for (formal, input) in proc.args.iter().zip(inputs.args) {
            actuals.push(self.input(formal, input, &mut poisoned)?);
        }
        let mut frame = enter(proc, &actuals, memory, Caller::Outside, &proc.span)?;
        self.block(&proc.body, &mut frame)?;
        let mut tensors = Vec::new();
        for (formal, actual) in proc.args.iter().zip(actuals) {
            if let Binding::View(view) = actual {
                tensors.push(self.output(formal, view, &poisoned)?);
            }
        }
        let config = self.config_outputs(fields, &frame.config, &proc.span)?;
        Ok(Outputs { tensors, config })
    }

    /// Turns an input into a binding; tensors get a buffer. Buffers whose input was uninitialised somewhere are noted.
    fn input(&mut self, formal: &Arg, input: Input<D::Value>, poisoned: &mut Vec<usize>) -> Step<Binding> {
        match (input, &formal.ty) {
            (Input::Int(value), ArgType::Control(_)) => Ok(Binding::Control(ControlValue::Int(value))),
            (Input::Bool(value), ArgType::Control(_)) => Ok(Binding::Control(ControlValue::Bool(value))),
            (Input::Tensor(tensor), ArgType::Data(ty)) => {
                let buffer = self.buffers.len();
                if tensor.indices().iter().any(|idx| tensor.get(idx).is_none())
                    || tensor.extents.len() != tensor.strides.len()
                {
                    let message = format!("the data given for `{}` does not fill its extents", formal.name);
                    return fault(FaultKind::Inputs, message, &formal.span);
                }
                if tensor.elements().iter().any(|value| self.domain.is_poison(value)) {
                    poisoned.push(buffer);
                }
                let precision = ty.precision.concrete();
                let data = tensor.data.into_iter().map(|value| self.domain.stored(value, precision)).collect();
                self.buffers.push(Buffer { precision, data });
                Ok(Binding::View(View { buffer, offset: 0, extents: tensor.extents, strides: tensor.strides }))
            }
            (Input::Int(_) | Input::Bool(_) | Input::Tensor(_), ArgType::Control(_) | ArgType::Data(_)) => {
                fault(FaultKind::Inputs, format!("wrong kind of value for `{}`", formal.name), &formal.span)
            }
        }
    }

    /// Takes a tensor out again. Poison in it is a fault unless the input already had some.
    fn output(&mut self, formal: &Arg, view: View, poisoned: &[usize]) -> Step<(String, Tensor<D::Value>)> {
        let data = self.buffers.get_mut(view.buffer).map(|buffer| std::mem::take(&mut buffer.data)).unwrap_or_default();
        let tensor = Tensor { extents: view.extents, strides: view.strides, data };
        if !poisoned.contains(&view.buffer) {
            for idx in tensor.indices() {
                if let Some(poison) = tensor.get(&idx).filter(|value| self.domain.is_poison(value)) {
                    let what = self.domain.what_is_poison(poison);
                    let message = format!("{what} reaches the output `{}` at {idx:?}", formal.name);
                    return fault(FaultKind::Uninitialised, message, &formal.span);
                }
            }
        }
        Ok((formal.name.name().to_string(), tensor))
    }
}

/// The view that a data argument passes: a whole buffer, a window, or one element.
fn actual_view(actual: &Expr, frame: &Frame) -> Step<View> {
    match &actual.kind {
        ExprKind::Read { name, idx } if idx.is_empty() => Ok(frame.view(name, &actual.span)?.clone()),
        ExprKind::Read { name, idx } => {
            let points: Vec<_> = idx.iter().cloned().map(crate::loop_ir::Access::Point).collect();
            frame.window(name, &points, &actual.span)
        }
        ExprKind::Window { name, idx } => frame.window(name, idx, &actual.span),
        ExprKind::Const(_)
        | ExprKind::ReadConfig(_)
        | ExprKind::Neg(_)
        | ExprKind::Binary { .. }
        | ExprKind::Extern { .. }
        | ExprKind::Stride { .. } => fault(FaultKind::Malformed, "a data argument must name a buffer", &actual.span),
    }
}

/// Elements that two arguments of one call share: the callee may read them through both, but not write them.
pub(super) struct Shared {
    pub(super) buffer: usize,
    pub(super) places: BTreeSet<i64>,
    /// Which arguments of which callee.
    pub(super) what: String,
}

fn overlaps(callee: &Proc, actuals: &[Binding]) -> Vec<Shared> {
    let views: Vec<(&Arg, &View)> = callee
        .args
        .iter()
        .zip(actuals)
        .filter_map(|(formal, actual)| match actual {
            Binding::View(view) => Some((formal, view)),
            Binding::Control(_) => None,
        })
        .collect();
    let mut found = Vec::new();
    for (at, (first, view)) in views.iter().enumerate() {
        for (second, other) in views.iter().skip(at + 1).filter(|(_, other)| other.buffer == view.buffer) {
            let one: BTreeSet<i64> = view.places().into_iter().collect();
            let places: BTreeSet<i64> = other.places().into_iter().filter(|place| one.contains(place)).collect();
            if !places.is_empty() {
                let what = format!("arguments `{}` and `{}` of `{}`", first.name, second.name, callee.name);
                found.push(Shared { buffer: view.buffer, places, what });
            }
        }
    }
    found
}

/// Binds arguments in a new frame and checks everything that the proc assumes about them.
fn enter(proc: &Proc, actuals: &[Binding], config: ConfigMemory, caller: Caller, span: &Span) -> Step<Frame> {
    let mut frame = Frame::in_state(config);
    for (formal, actual) in proc.args.iter().zip(actuals) {
        let binding = match (&formal.ty, actual) {
            (ArgType::Control(control), Binding::Control(value)) => {
                check_control(formal, *control, *value, caller, span)?;
                actual.clone()
            }
            (ArgType::Data(ty), Binding::View(view)) => {
                Binding::View(check_view(proc, formal, ty, view, &frame, caller, span)?)
            }
            (ArgType::Control(_), Binding::View(_)) | (ArgType::Data(_), Binding::Control(_)) => {
                return fault(FaultKind::Malformed, format!("wrong kind of argument for `{}`", formal.name), span);
            }
        };
        frame.bind(&formal.name, binding);
    }
    for pred in &proc.preds {
        if !frame.boolean(pred)? {
            let condition = crate::print::Names::of(proc).expr(pred);
            let message = format!("`{}` asserts {condition}, which does not hold", proc.name);
            return fault(caller.kind(FaultKind::Assertion), message, span);
        }
    }
    Ok(frame)
}

fn check_control(formal: &Arg, control: Control, value: ControlValue, caller: Caller, span: &Span) -> Step<()> {
    match (control, value) {
        (Control::Size, ControlValue::Int(value)) if value <= 0 => {
            let message = format!("size `{}` is {value}, which is not positive", formal.name);
            fault(caller.kind(FaultKind::Extent), message, span)
        }
        (Control::Size | Control::Index | Control::Int | Control::Stride, ControlValue::Int(_))
        | (Control::Bool, ControlValue::Bool(_)) => Ok(()),
        (Control::Size | Control::Index | Control::Int | Control::Stride, ControlValue::Bool(_))
        | (Control::Bool, ControlValue::Int(_)) => {
            fault(caller.kind(FaultKind::Malformed), format!("wrong kind of value for `{}`", formal.name), span)
        }
    }
}

/// The view as the callee sees it; a dense parameter is addressed by its own shape.
fn check_view(
    proc: &Proc,
    formal: &Arg,
    ty: &DataType,
    view: &View,
    frame: &Frame,
    caller: Caller,
    span: &Span,
) -> Step<View> {
    let extents = match frame.extents(&ty.shape, &formal.name, span) {
        Ok(extents) => extents,
        Err(mut fault) => {
            fault.kind = caller.kind(fault.kind);
            return Err(fault);
        }
    };
    if extents != view.extents {
        let message =
            format!("`{}` of `{}` has extents {extents:?}, but is given {:?}", formal.name, proc.name, view.extents);
        return fault(caller.kind(FaultKind::Shape), message, span);
    }
    let mut own = view.clone();
    if !ty.is_window {
        if !view.is_dense() {
            let message =
                format!("`{}` of `{}` must be dense, but is given strides {:?}", formal.name, proc.name, view.strides);
            return fault(caller.kind(FaultKind::Shape), message, span);
        }
        own.strides = dense_strides(&extents);
    }
    Ok(own)
}

/// The precision that C gives a parameter.
pub(super) fn parameter_precision(ty: &DataType) -> Precision {
    ty.precision.concrete()
}
