//! A failing step as a module that `exo run` runs: the library, the proc, the step, the comparison.

use exo_compiler::cursor::{Path, Place, Side, Step};
use exo_compiler::loop_ir::Proc;
use exo_compiler::print;
use exo_compiler::schedule::Cursor;
use exo_compiler::schedule::apply::RawArguments;
use exo_compiler::schedule::argument::RawValue;

use super::program::LIBRARY;

/// What random procs use besides procs.
const HEADER: &str = "REG = memory(\"REG\", can_read = False)

@config
class Cfg:
    i: index
    j: index
    on: bool
    s: f32

";

/// The module's text. It needs nothing but itself; a step that was wrong makes `check_equal` or the step fail.
pub(super) fn module(operator: &str, before: &Proc, raw: &RawArguments) -> String {
    let mut out = String::from(HEADER);
    for (text, template) in LIBRARY {
        match template {
            Some(template) => out += &format!("@instr({template:?})\n{text}\n"),
            None => out += &format!("@proc\n{text}\n"),
        }
    }
    for (text, _) in LIBRARY {
        let name = text.trim_start_matches("def ").split('(').next().unwrap_or_default();
        out += &format!("{name}_again = rename({name}, \"{name}_again\")\n");
    }
    let plain = Proc { instr: None, ..before.clone() };
    out += &format!("\n@proc\n{}\n", print::proc(&plain));
    let name = &before.name;
    out += &format!("result = {}\nprint(result)\n", call(operator, name, raw));
    if operator == "extract_subproc" {
        out += "result = result[0]\n";
    }
    if !matches!(operator, "partial_eval" | "transpose") {
        out += &format!("check_equal({name}, result)\n");
    }
    out
}

fn call(operator: &str, proc: &str, raw: &RawArguments) -> String {
    let positional = raw.positional.iter().map(|value| written(proc, value));
    match operator {
        "partial_eval" => {
            let list = |name: &str| match raw.named.iter().find(|(given, _)| given == name) {
                Some((_, RawValue::List(values))) => values.iter().map(|value| written(proc, value)).collect(),
                Some(_) | None => Vec::new(),
            };
            let names: Vec<String> = list("names").iter().map(|name| name.trim_matches('"').to_string()).collect();
            let fixed = names.iter().zip(list("values")).map(|(name, value)| format!("{name} = {value}"));
            format!("{proc}.partial_eval({})", fixed.collect::<Vec<_>>().join(", "))
        }
        "transpose" | "add_assertion" => {
            let values = positional.chain(raw.named.iter().map(|(_, value)| written(proc, value)));
            format!("{proc}.{operator}({})", values.collect::<Vec<_>>().join(", "))
        }
        _ => {
            let named = raw.named.iter().map(|(name, value)| format!("{name} = {}", written(proc, value)));
            let values: Vec<String> = std::iter::once(proc.to_string()).chain(positional).chain(named).collect();
            format!("{operator}({})", values.join(", "))
        }
    }
}

/// A value as host code.
fn written(proc: &str, value: &RawValue) -> String {
    match value {
        RawValue::List(values) => {
            format!("[{}]", values.iter().map(|value| written(proc, value)).collect::<Vec<_>>().join(", "))
        }
        RawValue::Cursor(cursor) => place(proc, cursor),
        RawValue::Formatted { text, holes } => {
            let holes: String = holes.iter().map(|hole| format!(", {}", place(proc, hole))).collect();
            format!("FormattedExprStr({text:?}{holes})")
        }
        RawValue::Precision(precision) => format!("\"{}\"", precision.word()),
        RawValue::None
        | RawValue::Text(_)
        | RawValue::Int(_)
        | RawValue::Float(_)
        | RawValue::Bool(_)
        | RawValue::Procedure(_)
        | RawValue::Memory(_)
        | RawValue::Config(_)
        | RawValue::Other(_) => exo_compiler::schedule::argument::written(value),
    }
}

/// A cursor as the navigation that leads to it.
fn place(proc: &str, cursor: &Cursor) -> String {
    match &cursor.place {
        Place::Node(at) => node(proc, at),
        Place::Gap(gap) => {
            let side = if gap.side == Side::Before { "before" } else { "after" };
            format!("{}.{side}()", node(proc, &gap.anchor))
        }
        Place::Block(block) => {
            let list = if block.orelse { "orelse" } else { "body" };
            format!("{}.{list}()[{}:{}]", node(proc, &block.parent), block.lo, block.hi)
        }
        Place::Arg(at) => format!("{proc}.args()[{at}]"),
        Place::ArgList { .. } => format!("{proc}.args()"),
        Place::Exprs { .. } | Place::Invalid => "None".to_string(),
    }
}

fn node(proc: &str, at: &Path) -> String {
    let mut out = proc.to_string();
    for step in &at.0 {
        out += &match step {
            Step::Body(at) => format!(".body()[{at}]"),
            Step::Orelse(at) => format!(".orelse()[{at}]"),
            Step::Cond => ".cond()".to_string(),
            Step::Lo => ".lo()".to_string(),
            Step::Hi => ".hi()".to_string(),
            Step::Value | Step::Right => ".rhs()".to_string(),
            Step::Left => ".lhs()".to_string(),
            Step::Operand => ".arg()".to_string(),
            Step::Idx(at) | Step::Point(at) => format!(".idx()[{at}]"),
            Step::IntervalLo(at) => format!(".idx()[{at}][0]"),
            Step::IntervalHi(at) => format!(".idx()[{at}][1]"),
            Step::Arg(at) => format!(".args()[{at}]"),
            Step::Dim(at) => format!(".shape()[{at}]"),
            Step::ArgDim(arg, at) => format!(".args()[{arg}].shape()[{at}]"),
        };
    }
    out
}
