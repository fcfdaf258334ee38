//! Arguments as text: for messages, and for the record of a schedule.

use crate::cursor::Place;
use crate::cursor::path::{self, Node};
use crate::diagnostic::counted;
use crate::print::Names;
use crate::schedule::argument::RawValue;
use crate::schedule::procedure::Cursor;

/// What kind of value this is, with an article.
pub(super) fn kind(value: &RawValue) -> String {
    match value {
        RawValue::None => "None".to_string(),
        RawValue::Text(text) => format!("the text {text:?}"),
        RawValue::Int(value) => format!("the integer {value}"),
        RawValue::Float(value) => format!("the number {value:?}"),
        RawValue::Bool(true) => "True".to_string(),
        RawValue::Bool(false) => "False".to_string(),
        RawValue::List(values) => format!("a list of {}", values.len()),
        RawValue::Cursor(cursor) => format!("a cursor to {}", target(cursor)),
        RawValue::Procedure(procedure) => format!("the procedure `{}`", procedure.ir().name),
        RawValue::Memory(memory) => format!("the memory `{}`", memory.name()),
        RawValue::Precision(precision) => format!("the precision {}", precision.word()),
        RawValue::Config(config) => format!("the config `{}`", config.name()),
        RawValue::Formatted { .. } => "a formatted expression".to_string(),
        RawValue::Other(name) => name.clone(),
    }
}

/// What a cursor points to, with an article where it is no code.
pub(super) fn target(cursor: &Cursor) -> String {
    match &cursor.place {
        Place::Invalid => "nothing".to_string(),
        Place::Block(block) => format!("a block of {}", counted(block.len(), "statement")),
        Place::Gap(_) => "a gap between statements".to_string(),
        Place::Arg(_) => format!("the argument {}", shown(cursor)),
        Place::ArgList { .. } => "a list of arguments".to_string(),
        Place::Exprs { .. } => "a list of expressions".to_string(),
        Place::Node(_) => shown(cursor),
    }
}

/// An argument as a user would write it; a cursor by what it points to, between angle brackets.
pub fn written(value: &RawValue) -> String {
    match value {
        RawValue::None => "None".to_string(),
        RawValue::Text(text) => format!("{text:?}"),
        RawValue::Int(value) => value.to_string(),
        RawValue::Float(value) => format!("{value:?}"),
        RawValue::Bool(true) => "True".to_string(),
        RawValue::Bool(false) => "False".to_string(),
        RawValue::List(values) => {
            let values: Vec<String> = values.iter().map(written).collect();
            format!("[{}]", values.join(", "))
        }
        RawValue::Cursor(cursor) => format!("<{}>", shown(cursor)),
        RawValue::Procedure(procedure) => procedure.ir().name.to_string(),
        RawValue::Memory(memory) => memory.name().to_string(),
        RawValue::Precision(precision) => precision.word().to_string(),
        RawValue::Config(config) => config.name().to_string(),
        RawValue::Formatted { text, holes } => {
            let holes: Vec<String> = holes.iter().map(|hole| format!(", <{}>", shown(hole))).collect();
            format!("FormattedExprStr({text:?}{})", holes.concat())
        }
        RawValue::Other(name) => format!("<{name}>"),
    }
}

/// The code that a cursor points to, on one line.
fn shown(cursor: &Cursor) -> String {
    let proc = cursor.procedure.ir();
    let names = Names::of(proc);
    let headline = |at: &path::Path| match path::node(proc, at) {
        Some(Node::Stmt(stmt)) => names.headline(stmt).trim_end_matches(':').to_string(),
        Some(Node::Expr(expr)) => names.expr(expr),
        Some(Node::Proc(proc)) => proc.name.to_string(),
        None => "nothing".to_string(),
    };
    match &cursor.place {
        Place::Invalid => "nothing".to_string(),
        Place::Node(at) => headline(at),
        Place::Gap(gap) => match gap.side {
            path::Side::Before => format!("before {}", headline(&gap.anchor)),
            path::Side::After => format!("after {}", headline(&gap.anchor)),
        },
        Place::Block(block) if block.len() == 1 => headline(&block.statement(0)),
        Place::Block(block) => format!("{}; ... {} statements", headline(&block.statement(0)), block.len()),
        Place::Arg(at) => proc.args.get(*at).map_or("nothing".to_string(), |arg| names.get(&arg.name).to_string()),
        Place::ArgList { .. } => "arguments".to_string(),
        Place::Exprs { parent, .. } => format!("expressions of {}", headline(parent)),
    }
}
