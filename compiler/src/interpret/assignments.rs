//! The control arguments that a proc is tried with: all that its asserts allow where they are few, else the edges of
//! each parameter and some between.

use std::collections::BTreeSet;

use crate::interpret::draw::Given;
use crate::interpret::frame::{Binding, ControlValue, Frame};
use crate::interpret::random::Random;
use crate::loop_ir::{ArgType, Const, Control, Expr, ExprKind, Proc, visit};

/// Combinations that are looked at.
const LOOKED_AT: usize = 4096;

/// Assignments of the control parameters that break no assert as far as these alone can tell, at most `most`. With
/// several parameters the edges of each are among them: first where all are greatest, then where all are least.
pub fn assignments(proc: &Proc, most: usize, random: &mut Random) -> Vec<Given> {
    let parameters = parameters(proc);
    let mut allowed: Vec<Given> =
        combinations(&parameters, random).into_iter().filter(|given| holds(proc, given)).collect();
    allowed.sort_by_key(|given| given.values().map(number).collect::<Vec<_>>());
    allowed.dedup();
    let mut chosen: Vec<Given> = Vec::new();
    let mut choose = |given: Option<&Given>| {
        if let Some(given) = given
            && chosen.len() < most
            && !chosen.contains(given)
        {
            chosen.push(given.clone());
        }
    };
    let total = |given: &&Given| given.values().map(number).sum::<i64>();
    choose(allowed.iter().max_by_key(total));
    choose(allowed.iter().min_by_key(total));
    for (at, _) in &parameters {
        let value = |given: &&Given| given.get(at).map_or(0, number);
        choose(allowed.iter().max_by_key(value));
        choose(allowed.iter().min_by_key(value));
    }
    let mut rest: Vec<&Given> = allowed.iter().collect();
    random.shuffle(&mut rest);
    rest.into_iter().for_each(|given| choose(Some(given)));
    chosen
}

fn number(value: &ControlValue) -> i64 {
    match value {
        ControlValue::Int(value) => *value,
        ControlValue::Bool(value) => i64::from(*value),
    }
}

/// The control parameters but strides, which follow from the layouts of the data, each with values that no assert on it
/// alone forbids.
fn parameters(proc: &Proc) -> Vec<(usize, Vec<ControlValue>)> {
    let literals = literals(proc);
    let numbers = |least: i64| {
        let near = literals.iter().flat_map(|literal| [literal - 1, *literal, literal + 1]);
        let numbers: BTreeSet<i64> = (least..=17).chain(near).filter(|value| *value >= least).collect();
        numbers.into_iter().map(ControlValue::Int).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for (at, arg) in proc.args.iter().enumerate() {
        let mut values = match &arg.ty {
            ArgType::Control(Control::Size) => numbers(1),
            ArgType::Control(Control::Index | Control::Int) => numbers(-4),
            ArgType::Control(Control::Bool) => vec![ControlValue::Bool(false), ControlValue::Bool(true)],
            ArgType::Control(Control::Stride) | ArgType::Data(_) => continue,
        };
        values.retain(|value| holds(proc, &Given::from([(at, *value)])));
        found.push((at, values));
    }
    found
}

/// Integers of the asserts and the body that sizes may be near to.
fn literals(proc: &Proc) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    let mut note = |expr: &Expr| {
        if let ExprKind::Const(Const::Int(value)) = &expr.kind
            && (-1024..=1024).contains(value)
        {
            found.insert(*value);
        }
    };
    proc.preds.iter().for_each(|pred| visit::each_expr(pred, &mut note));
    visit::each_expr_in(&proc.body, &mut note);
    found
}

/// All combinations, or random ones where they are too many.
fn combinations(parameters: &[(usize, Vec<ControlValue>)], random: &mut Random) -> Vec<Given> {
    let count = parameters.iter().try_fold(1usize, |count, (_, values)| count.checked_mul(values.len()));
    if count.is_none_or(|count| count > LOOKED_AT) {
        let mut one = || parameters.iter().filter_map(|(at, values)| Some((*at, *random.pick(values)?))).collect();
        return (0..LOOKED_AT).map(|_| one()).collect();
    }
    let mut all = vec![Given::new()];
    for (at, values) in parameters {
        let with = |given: Given| {
            values.iter().map(move |value| {
                let mut given = given.clone();
                given.insert(*at, *value);
                given
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// Whether no assert is broken; those that need more than the given arguments do not count.
fn holds(proc: &Proc, given: &Given) -> bool {
    let mut frame = Frame::default();
    for (at, value) in given {
        if let Some(arg) = proc.args.get(*at) {
            frame.bind(&arg.name, Binding::Control(*value));
        }
    }
    proc.preds.iter().all(|pred| !matches!(frame.boolean(pred), Ok(false)))
}
