//! Words of the C that functions of memories and externs write: what such a text declares, or what a macro of it mentions,
//! would capture a variable of that name.
//!
//! The functions are given the names of variables, so their answers mention those too. Everything is lowered once with names
//! that no text can hold by chance; the words that remain are the texts' own, and the lowering that counts avoids them.

use std::collections::{BTreeMap, BTreeSet};

use crate::codegen::context::Context;
use crate::codegen::reach::Reach;
use crate::codegen::unit::{Layout, Unit};
use crate::codegen::{function, source_file};
use crate::hardware::extern_function::ExternKind;
use crate::hardware::memory::Hooks;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;

/// Ends the name of every variable in the first lowering.
pub const MARK: &str = "__exo_asked";

/// What one compilation was answered.
#[derive(Debug, Default)]
pub struct ForeignWords {
    /// By the C name of the function that the texts went into.
    functions: BTreeMap<String, BTreeSet<String>>,
    /// Of texts that stand before all functions.
    file: BTreeSet<String>,
}

impl ForeignWords {
    pub fn of(hooks: &dyn Hooks, emulate: bool, reach: &Reach, context: &Context) -> Self {
        let mut words = ForeignWords::default();
        let mut unit = Unit::new(hooks, emulate, reach, context.clone());
        if !reach.functions.iter().any(|function| asks(&unit, &function.proc)) {
            return words;
        }
        unit.marked = true;
        for function in reach.functions.iter().filter(|function| emulate || function.proc.instr.is_none()) {
            function::lower(&mut unit, function, Declarations::of(&function.proc));
            let mut taken = own(std::mem::take(&mut unit.answered));
            if std::mem::take(&mut unit.defines_macros) {
                // Where variables are macros, they must not be parts of the path of a config field.
                taken.extend(context.words());
            }
            words.functions.insert(function.c_name.clone(), taken);
        }
        source_file::memory_globals(&mut unit);
        words.file = own(std::mem::take(&mut unit.answered_once));
        words
    }

    /// The words that no variable of a function may be called by.
    pub fn around(&self, function: &str) -> impl Iterator<Item = &String> {
        self.functions.get(function).into_iter().flatten().chain(&self.file)
    }
}

fn own(mut words: BTreeSet<String>) -> BTreeSet<String> {
    words.retain(|word| !word.contains(MARK));
    words
}

/// Whether any text for this proc comes from functions of a memory or of an extern.
fn asks(unit: &Unit<'_>, proc: &Proc) -> bool {
    let mut found = proc.args.iter().any(|arg| matches!(unit.layout(&arg.mem), Layout::User));
    visit::each_stmt(&proc.body, &mut |stmt| {
        if let StmtKind::Alloc { mem, .. } = &stmt.kind {
            found |= matches!(unit.layout(mem), Layout::User);
        }
    });
    visit::each_extern(&proc.body, &mut |function| found |= function.kind == ExternKind::User);
    found
}
