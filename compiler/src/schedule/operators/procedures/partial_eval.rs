//! `partial_eval`: control arguments become constants.

use std::sync::Arc;

use crate::analysis::solver::Solver;
use crate::checks::check_proc;
use crate::cursor::Editor;
use crate::diagnostic::{Diagnostic, Refusal, counted};
use crate::loop_ir::substitute::{Substitution, substitute, substitute_arg_type, substitute_block};
use crate::loop_ir::{ArgType, Control, Expr, Proc, build};
use crate::schedule::apply::RawArguments;
use crate::schedule::argument::RawValue;
use crate::schedule::obligation::{Obligation, Proposal, Relation};
use crate::schedule::operator::{Arguments, Help, Kind, Operator, Parameter, Value};

pub struct PartialEval;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "names", kind: Kind::List(&Kind::Name, None), default: None },
    Parameter { name: "values", kind: Kind::List(&Kind::Int, None), default: None },
];

/// The operator's arguments for `p.partial_eval(8, True)` or `p.partial_eval(n = 8)`: leading values or named ones.
///
/// # Errors
/// Both kinds together, too many values, or a value that is neither an integer nor a bool.
pub fn arguments(
    proc: &Proc,
    positional: Vec<RawValue>,
    named: Vec<(String, RawValue)>,
) -> Result<RawArguments, Refusal> {
    let call = Arguments { operator: "partial_eval", values: Vec::new() };
    if !positional.is_empty() && !named.is_empty() {
        return Err(call.argument("give the values by position or by name, not both"));
    }
    if positional.len() > proc.args.len() {
        let takes = counted(proc.args.len(), "argument");
        let message = format!("`{}` has {takes}, {} given", proc.name, positional.len());
        return Err(call.argument(message));
    }
    let leading = proc.args.iter().map(|arg| arg.name.name().to_string()).zip(positional);
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, value) in leading.chain(named) {
        values.push(match value {
            RawValue::Int(value) => RawValue::Int(value),
            RawValue::Bool(value) if is_bool(proc, &name) => RawValue::Int(i64::from(value)),
            RawValue::Bool(_) => {
                return Err(call.argument(format!("`{name}` is not a bool, so it cannot be fixed to True or False")));
            }
            _ => return Err(call.argument(format!("`{name}` can only be fixed to an integer or a bool"))),
        });
        names.push(RawValue::Text(name));
    }
    Ok(RawArguments { positional: vec![RawValue::List(names), RawValue::List(values)], ..RawArguments::default() })
}

fn is_bool(proc: &Proc, name: &str) -> bool {
    let arg = proc.args.iter().find(|arg| arg.name.name() == name);
    arg.is_some_and(|arg| matches!(arg.ty, ArgType::Control(Control::Bool)))
}

impl Operator for PartialEval {
    fn name(&self) -> &'static str {
        "partial_eval"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn help(&self) -> Help {
        Help {
            summary: "fix control arguments to constants",
            text: "Removes the named `size`, `index` and `bool` arguments (bools are given as 0 and 1) and puts the values \
                in their place. The result is another procedure, which begins a new family. Values that contradict the \
                assertions are refused. As a method: `p.partial_eval(8)` for leading arguments, `p.partial_eval(n = 8)` by \
                name. Statements keep their cursors.",
            example: "\
@proc
def f(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 0.0

print(f.partial_eval(n = 8))
",
            prints: "\
def f(x: f32[8] @ DRAM):
    for i in seq(0, 8):
        x[i] = 0.0
",
        }
    }

    fn propose(&self, proc: &Arc<Proc>, arguments: &Arguments, solver: &mut Solver) -> Result<Proposal, Refusal> {
        let (names, values) = (arguments.texts("names")?, arguments.list("values")?);
        if names.len() != values.len() {
            return Err(arguments.argument("each name needs one value"));
        }
        let mut map = Substitution::new();
        let mut gone = Vec::new();
        for (name, value) in names.iter().zip(values) {
            let Value::Int(value) = value else { return Err(arguments.argument("values are integers")) };
            let found = proc.args.iter().position(|arg| arg.name.name() == *name);
            let Some((at, arg)) = found.and_then(|at| proc.args.get(at).map(|arg| (at, arg))) else {
                return Err(arguments.argument(format!("`{}` has no argument `{name}`", proc.name)));
            };
            map.insert(arg.name.clone(), constant(arguments, name, &arg.ty, *value)?);
            gone.push(at);
        }
        let mut editor = Editor::new(proc);
        let header = editor.header();
        for arg in &mut header.args {
            arg.ty = substitute_arg_type(&arg.ty, &map);
        }
        header.preds = header.preds.iter().map(|pred| substitute(pred, &map)).collect();
        header.body = substitute_block(&header.body, &map);
        gone.sort_unstable();
        gone.dedup();
        for at in gone.into_iter().rev() {
            editor.drop_arg(at).map_err(|none| arguments.bug(none))?;
        }
        sound(editor.proc(), arguments, solver)?;
        let obligation = Obligation::ByConstruction("the result is another procedure, checked as a definition");
        Ok(Proposal::related(editor, obligation, Relation::NewFamily))
    }
}

fn constant(arguments: &Arguments, name: &str, ty: &ArgType, value: i64) -> Result<Expr, Refusal> {
    match ty {
        ArgType::Control(Control::Size) if value < 1 => {
            Err(arguments.scheduling(format!("size `{name}` must be positive, not {value}")))
        }
        ArgType::Control(Control::Size | Control::Index | Control::Int | Control::Stride) => Ok(build::int(value)),
        ArgType::Control(Control::Bool) => match value {
            0 => Ok(build::boolean(false)),
            1 => Ok(build::boolean(true)),
            _ => Err(arguments.argument(format!("`{name}` is a bool"))),
        },
        ArgType::Data(_) => Err(arguments.scheduling(format!("`{name}` is data and cannot be fixed"))),
    }
}

/// A new procedure must pass as a definition: among others, its assertions must not contradict each other.
pub(super) fn sound(proc: &Proc, arguments: &Arguments, solver: &mut Solver) -> Result<(), Refusal> {
    check_proc(proc, solver).map_err(|diagnostics| {
        let mut reasons = diagnostics.into_iter();
        let first = reasons.next();
        let reason = first.as_ref().map_or("the result is not a valid procedure", |first| first.message.as_str());
        let mut refusal = arguments.scheduling(format!("after `{}`, {reason}", arguments.operator));
        if let (Some(headline), Some(first)) = (refusal.diagnostics.first_mut(), first) {
            *headline = Diagnostic { code: headline.code, message: headline.message.clone(), ..first };
        }
        refusal.diagnostics.extend(reasons);
        refusal
    })
}
