//! Procs for tests, written as text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ruff_python_ast::{Decorator, Expr as Syntax, Stmt as SyntaxStmt};

use crate::diagnostic::Diagnostic;
use crate::hardware::config::{Config, FieldType};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::instruction::Instruction;
use crate::hardware::memory::{Memory, MemoryDefinition, MemoryKind};
use crate::hardware::precision::Precision;
use crate::loop_ir::Proc;
use crate::source::SourceFile;
use crate::symbol::Identity;
use crate::typecheck::{self, HostValue};

/// A register memory: C may not read single elements. Every call gives the same one.
pub(crate) fn avx2() -> Memory {
    static AVX2: OnceLock<Memory> = OnceLock::new();
    AVX2.get_or_init(|| {
        Memory::new(MemoryDefinition {
            identity: Identity::fresh(),
            name: "AVX2".into(),
            base: None,
            kind: MemoryKind::User,
            can_read: false,
            capacity: None,
            copies: None,
        })
    })
    .clone()
}

/// The configs `Cfg` and `Dev` that test text may use. Every call gives the same ones.
pub(crate) fn configs() -> Vec<Config> {
    static CONFIGS: OnceLock<Vec<Config>> = OnceLock::new();
    let fields = || {
        vec![
            ("n".to_string(), FieldType::Size),
            ("i".to_string(), FieldType::Index),
            ("on".to_string(), FieldType::Bool),
            ("pitch".to_string(), FieldType::Stride),
            ("gain".to_string(), FieldType::Data(Precision::F32)),
        ]
    };
    CONFIGS.get_or_init(|| vec![Config::new("Cfg", fields(), true), Config::new("Dev", fields(), true)]).clone()
}

/// What test text may mention: the builtin memories and externs, the memory `AVX2`, and the configs.
pub(crate) fn known() -> BTreeMap<String, HostValue> {
    let memories = [Memory::dram(), Memory::dram_stack(), Memory::dram_static(), Memory::mdram(), avx2()];
    let memories = memories.into_iter().map(|memory| (memory.name().to_string(), HostValue::Memory(memory)));
    let externs = ExternFunction::builtin().iter().map(|f| (f.name.clone(), HostValue::Extern(f.clone())));
    let fields = configs().into_iter().flat_map(|config| config.fields());
    let fields = fields.map(|field| (field.to_string(), HostValue::ConfigField(field)));
    let configs = configs().into_iter().map(|config| (config.name().to_string(), HostValue::Config(config)));
    memories.chain(externs).chain(configs).chain(fields).collect()
}

/// The procs of a module of `@proc` and `@instr("...")` definitions; each may call earlier ones.
pub(crate) fn procs(text: &str) -> Vec<Arc<Proc>> {
    procs_with(text, known()).unwrap_or_else(|errors| panic!("{}", messages(&errors)))
}

/// One proc, the last of the text.
pub(crate) fn proc(text: &str) -> Proc {
    let all = procs(text);
    Proc::clone(all.last().expect("a definition"))
}

/// Like [`procs`], with other host names, and with the refusals of the first refused definition.
pub(crate) fn procs_with(
    text: &str,
    mut known: BTreeMap<String, HostValue>,
) -> Result<Vec<Arc<Proc>>, Vec<Diagnostic>> {
    let text = dedent(text);
    let file = SourceFile::new("test.exo", text.as_str());
    let module = ruff_python_parser::parse_module(&text).expect("Python syntax").into_syntax();
    let mut procs = Vec::new();
    for stmt in &module.body {
        let SyntaxStmt::FunctionDef(function) = stmt else { panic!("only definitions in test text") };
        let instruction = function.decorator_list.first().and_then(instruction);
        let proc = Arc::new(typecheck::definition(&file, function, instruction, &known)?);
        known.insert(proc.name.to_string(), HostValue::Proc(proc.clone()));
        procs.push(proc);
    }
    Ok(procs)
}

/// All messages and hints, one a line.
pub(crate) fn messages(errors: &[Diagnostic]) -> String {
    let lines = errors.iter().flat_map(|error| {
        let place = error.primary.as_ref().map_or(String::new(), |label| format!("{:?}: ", label.span));
        std::iter::once(format!("{place}{}", error.message)).chain(error.hints.iter().map(|hint| format!("  {hint}")))
    });
    lines.collect::<Vec<String>>().join("\n")
}

fn instruction(decorator: &Decorator) -> Option<Instruction> {
    let Syntax::Call(call) = &decorator.expression else { return None };
    let text = |at: usize| match call.arguments.args.get(at) {
        Some(Syntax::StringLiteral(text)) => text.value.to_str().to_string(),
        _ => String::new(),
    };
    Some(Instruction { template: text(0), global: text(1) })
}

/// Removes the indentation that all lines share.
pub(crate) fn dedent(text: &str) -> String {
    let text = text.trim_start_matches('\n');
    let lead = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let lines: Vec<&str> = text.lines().map(|line| line.get(lead..).unwrap_or("")).collect();
    lines.join("\n") + "\n"
}
