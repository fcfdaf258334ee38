//! The C file: helpers, what instructions, memories and externs need once, prototypes, functions.

use std::collections::BTreeSet;

use crate::codegen::c_tree;
use crate::codegen::checked;
use crate::codegen::function::FunctionText;
use crate::codegen::reach::Function;
use crate::codegen::unit::{Helper, Unit};
use crate::hardware::instruction::Instruction;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;
use crate::symbol::Identity;

/// Compilers without OpenMP warn about its pragmas, although ignoring them is what is wanted.
const QUIET_PRAGMAS: &str = "#if defined(__GNUC__) && !defined(_OPENMP)\n\
                             #pragma GCC diagnostic ignored \"-Wunknown-pragmas\"\n#endif\n";

/// A product of extents that wraps around would give less memory than is used, and an offset from the null pointer may be
/// an address in use: neither may go on.
const ALLOCATE: &str = "#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
static void *exo_allocate(void *(*allocate)(size_t), size_t size, int rank, const int_fast32_t *extents) {
    const size_t most = PTRDIFF_MAX;
    const size_t element = size;
    for (int dim = 0; dim < rank; dim++) {
        if (extents[dim] <= 0 || (uintmax_t)extents[dim] > most / size) abort();
        size *= (size_t)extents[dim];
    }
    void *memory = (uintmax_t)INT_FAST32_MAX >= size / element ? allocate(size) : NULL;
    if (memory == NULL) abort();
    return memory;
}
";

/// Sections before the functions, each with a final newline.
pub fn preamble(unit: &mut Unit<'_>) -> Vec<String> {
    let mut sections = Vec::new();
    if unit.has_parallel_loop {
        sections.push(QUIET_PRAGMAS.to_string());
    }
    if unit.checked {
        sections.push(checked::MACROS.to_string());
    }
    sections.extend(unit.helpers.iter().map(|helper| helper_text(*helper).to_string()));
    let mut seen = BTreeSet::new();
    let instructions: Vec<String> = instructions(unit).map(|instruction| instruction.global.clone()).collect();
    for global in instructions {
        unit.note_raw(&global);
        push_once(&mut sections, &mut seen, &global);
    }
    for global in memory_globals(unit) {
        push_once(&mut sections, &mut seen, &global);
    }
    if unit.needs_math {
        push_once(&mut sections, &mut seen, "#include <math.h>\n");
    }
    for text in unit.extern_globals.values() {
        push_once(&mut sections, &mut seen, text);
    }
    sections
}

fn push_once(sections: &mut Vec<String>, seen: &mut BTreeSet<String>, text: &str) {
    if !text.trim().is_empty() && seen.insert(text.to_string()) {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        sections.push(format!("{text}{newline}"));
    }
}

fn instructions<'u>(unit: &'u Unit<'_>) -> impl Iterator<Item = &'u Instruction> {
    let emulate = unit.emulate;
    unit.reach.functions.iter().filter(move |_| !emulate).filter_map(|function| function.proc.instr.as_ref())
}

/// The global text of every memory of an argument or allocation, sorted by name.
pub fn memory_globals(unit: &mut Unit<'_>) -> Vec<String> {
    let mut memories: std::collections::BTreeMap<(String, Identity), _> = std::collections::BTreeMap::new();
    for function in &unit.reach.functions {
        for arg in &function.proc.args {
            let key = (arg.mem.name().to_string(), arg.mem.identity);
            memories.entry(key).or_insert_with(|| (arg.mem.clone(), arg.span.clone()));
        }
        // The body of an instruction is not part of the output unless it is emulated.
        if function.proc.instr.is_some() && !unit.emulate {
            continue;
        }
        visit::each_stmt(&function.proc.body, &mut |stmt| {
            if let StmtKind::Alloc { mem, .. } = &stmt.kind {
                let key = (mem.name().to_string(), mem.identity);
                memories.entry(key).or_insert_with(|| (mem.clone(), stmt.span.clone()));
            }
        });
    }
    memories.into_values().filter_map(|(memory, span)| unit.memory_global(&memory, &span)).collect()
}

fn helper_text(helper: Helper) -> &'static str {
    match helper {
        // Without the attribute, clang would discard assumptions that mention a call.
        Helper::FloorDiv => {
            "#if defined(__GNUC__)\n__attribute__((const))\n#endif\n\
             static int_fast32_t exo_floor_div(int_fast32_t num, int_fast32_t den) {\n    \
             return num / den - (num % den < 0);\n}\n"
        }
        Helper::FloorMod => {
            "#if defined(__GNUC__)\n__attribute__((const))\n#endif\n\
             static int_fast32_t exo_floor_mod(int_fast32_t num, int_fast32_t den) {\n    \
             return num % den + (num % den < 0 ? den : 0);\n}\n"
        }
        Helper::Allocate => ALLOCATE,
    }
}

/// The comment that stands for an instruction among the functions.
pub fn instruction_comment(proc: &Proc, instruction: &Instruction) -> String {
    let args: Vec<&str> = proc.args.iter().map(|arg| arg.name.name()).collect();
    // Neither the end nor the start of a comment may occur inside.
    let template = instruction.template.replace("*/", "* /").replace("/*", "/ *");
    format!("/* relying on the following instruction...\"\n{}({})\n{template}\n*/\n", proc.name, args.join(","))
}

/// The definition of a function, with its comment.
pub fn definition(function: &Function, text: &FunctionText) -> String {
    let storage = if function.exported { "" } else { "static " };
    format!("{}{storage}{} {{\n{}}}\n", text.comment, text.head, text.body)
}

/// The declaration of a function, with its comment.
pub fn declaration(function: &Function, text: &FunctionText) -> String {
    let storage = if function.exported { "" } else { "static " };
    format!("{}{storage}{};\n", text.comment, text.prototype)
}

/// Everything after the include of the header.
pub fn contents(sections: &[String], forward: &[String], definitions: &[String]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let before = sections.join("\n");
    if !before.is_empty() {
        parts.push(before);
    }
    parts.extend(forward.iter().cloned());
    parts.extend(definitions.iter().cloned());
    parts.join("\n")
}

/// The header's name inside an include line.
pub fn include(header_name: &str) -> String {
    format!("#include \"{}\"\n\n", c_tree::one_line(header_name).replace('"', ""))
}
