//! Argument expressions from solved unknowns.

use super::Mismatch;
use super::affine::{Affine, Atoms, Term};
use super::integers::System;
use super::matcher::Matcher;
use super::solutions::Choice;
use crate::loop_ir::{Access, ArgType, Control, Expr, build};

/// One argument for each parameter of the callee.
pub(super) fn build(matcher: &mut Matcher<'_>, system: &System, chosen: &[Choice]) -> Result<Vec<Expr>, Mismatch> {
    let system = settled(matcher, system, chosen)?;
    let callee = matcher.callee;
    let mut arguments = Vec::with_capacity(callee.args.len());
    for (at, arg) in callee.args.iter().enumerate() {
        let argument = match &arg.ty {
            ArgType::Control(control @ (Control::Bool | Control::Stride)) => match matcher.opaque.get(&at) {
                Some(expr) => expr.clone(),
                None if *control == Control::Bool && callee.instr.is_none() => build::boolean(false),
                None => return Err(Mismatch::new(format!("nothing in the block stands for `{}`", arg.name))),
            },
            ArgType::Control(Control::Int | Control::Size | Control::Index) => {
                let value = resolved(&system, &Affine::term(Term::Unknown(at)))?;
                expression(&value, &matcher.atoms)?
            }
            ArgType::Data(ty) => {
                let name = matcher.buffers.get(&at).map(|buffer| buffer.name.clone());
                let name = name.ok_or_else(|| Mismatch::new(format!("nothing stands for `{}`", arg.name)))?;
                match chosen.iter().find(|choice| choice.formal == at) {
                    Some(choice) => build::window(&name, window(matcher, &system, choice, &ty.shape)?),
                    None => build::element(&name, Vec::new()),
                }
            }
        };
        arguments.push(argument);
    }
    Ok(arguments)
}

/// Systems in which a size that nothing in the block fixes is as large as the buffer allows: a window that it is an extent of
/// reaches the end of its buffer. Callees may have asserts about such a size that the least one breaks.
pub(super) fn widened(matcher: &mut Matcher<'_>, system: &System, chosen: &[Choice]) -> Result<Vec<System>, Mismatch> {
    let callee = matcher.callee;
    let mut systems = Vec::new();
    // The text of an instruction may depend on more than its body does.
    if callee.instr.is_some() {
        return Ok(systems);
    }
    for choice in chosen {
        let Some(ArgType::Data(ty)) = callee.args.get(choice.formal).map(|arg| &arg.ty) else { continue };
        let Some(buffer) = matcher.buffers.get(&choice.formal).map(|buffer| buffer.name.clone()) else { continue };
        let Some(extents) = matcher.caller.shape(&buffer) else { continue };
        let intervals = choice.points.iter().enumerate().filter(|(_, is_point)| !**is_point);
        for ((dim, _), own) in intervals.zip(&ty.shape) {
            let own = matcher.callee_form(own)?;
            let is_free = system.resolve(&own).is_some_and(|form| form == own && own.unknowns().count() == 1);
            let Some(extent) = extents.get(dim).filter(|_| is_free) else { continue };
            let end = matcher.caller_form(extent)?;
            let low = Affine::term(Term::Unknown(choice.first + dim));
            let mut wide = system.clone();
            let equation = low.plus(1, &own).and_then(|high| high.minus(&end));
            if equation.is_some_and(|equation| wide.add(&equation, &matcher.atoms)) {
                systems.push(wide);
            }
        }
    }
    Ok(systems)
}

fn window(
    matcher: &mut Matcher<'_>,
    system: &System,
    choice: &Choice,
    shape: &[Expr],
) -> Result<Vec<Access>, Mismatch> {
    let mut extents = shape.iter();
    let mut accesses = Vec::with_capacity(choice.points.len());
    for (dim, is_point) in choice.points.iter().enumerate() {
        let lo = resolved(system, &Affine::term(Term::Unknown(choice.first + dim)))?;
        if *is_point {
            accesses.push(Access::Point(expression(&lo, &matcher.atoms)?));
            continue;
        }
        let extent = extents.next().ok_or_else(|| Mismatch::new("a window has too many intervals"))?;
        let extent = matcher.callee_form(extent)?;
        let extent = resolved(system, &extent)?;
        let hi = lo.plus(1, &extent).ok_or_else(|| Mismatch::new("a coefficient is too large"))?;
        let (lo, hi) = (expression(&lo, &matcher.atoms)?, expression(&hi, &matcher.atoms)?);
        accesses.push(Access::Interval { lo, hi });
    }
    Ok(accesses)
}

/// The system with every unknown fixed. What nothing depends on may be anything: a size becomes 1, the rest 0. The text of
/// an instruction may depend on more than its body does, so that it gets no made-up argument.
fn settled(matcher: &Matcher<'_>, system: &System, chosen: &[Choice]) -> Result<System, Mismatch> {
    let mut system = system.clone();
    let unsolvable = || Mismatch::new("the equations have no integer solution");
    let fix = |system: &mut System, unknown: usize, value: i128| {
        let equation = Affine::term(Term::Unknown(unknown)).minus(&Affine::constant(value)).ok_or_else(unsolvable)?;
        if system.add(&equation, &matcher.atoms) { Ok(()) } else { Err(unsolvable()) }
    };
    for (at, arg) in matcher.callee.args.iter().enumerate() {
        let unknown = Affine::term(Term::Unknown(at));
        let number = matches!(arg.ty, ArgType::Control(Control::Int | Control::Size | Control::Index));
        if matches!(arg.ty, ArgType::Control(_)) && system.resolve(&unknown).as_ref() == Some(&unknown) {
            if number && matcher.callee.instr.is_some() && !matcher.speaks_of(at) {
                return Err(Mismatch::new(format!("nothing in the block says what `{}` is", arg.name)));
            }
            fix(&mut system, at, i128::from(arg.ty == ArgType::Control(Control::Size)))?;
        }
    }
    let own = 0..matcher.callee.args.len();
    let dims = chosen.iter().flat_map(|choice| choice.first..choice.first + choice.points.len());
    for unknown in own.chain(dims) {
        let value = system.resolve(&Affine::term(Term::Unknown(unknown))).ok_or_else(unsolvable)?;
        for (free, _) in value.unknowns() {
            fix(&mut system, free, 0)?;
        }
    }
    Ok(system)
}

fn resolved(system: &System, form: &Affine) -> Result<Affine, Mismatch> {
    system.resolve(form).ok_or_else(|| Mismatch::new("a coefficient is too large"))
}

/// An affine form as an expression: terms in order of appearance, positive ones first, then the constant.
fn expression(form: &Affine, atoms: &Atoms) -> Result<Expr, Mismatch> {
    let too_large = |_| Mismatch::new("a coefficient is too large");
    let constant = i64::try_from(form.constant).map_err(too_large)?;
    let mut terms = Vec::new();
    for (atom, coefficient) in form.atoms() {
        let variable = atoms.expr(atom).ok_or_else(|| Mismatch::new("an unknown variable"))?;
        terms.push((i64::try_from(coefficient).map_err(too_large)?, variable.clone()));
    }
    terms.sort_by_key(|(coefficient, _)| *coefficient < 0);
    let mut sum: Option<Expr> = None;
    for (coefficient, variable) in terms {
        let magnitude = coefficient.checked_abs().ok_or_else(|| Mismatch::new("a coefficient is too large"))?;
        let product = if magnitude == 1 { variable } else { build::mul(build::int(magnitude), variable) };
        sum = Some(match (sum, coefficient < 0) {
            (None, false) => product,
            (None, true) if constant != 0 => build::sub(build::int(constant), product),
            (None, true) => build::neg(product),
            (Some(sum), false) => build::add(sum, product),
            (Some(sum), true) => build::sub(sum, product),
        });
    }
    let starts_negative = form.atoms().all(|(_, coefficient)| coefficient < 0);
    Ok(match sum {
        None => build::int(constant),
        // A form without positive terms was started from its constant.
        Some(sum) if constant == 0 || starts_negative => sum,
        Some(sum) if constant < 0 => {
            build::sub(sum, build::int(constant.unsigned_abs().try_into().map_err(too_large)?))
        }
        Some(sum) => build::add(sum, build::int(constant)),
    })
}
