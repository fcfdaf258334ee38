//! Words of the C that users wrote, in templates of instructions and in what functions of memories and externs answer: what such
//! a text declares, or what a macro of it mentions, would capture a variable of that name.
//!
//! The texts are given the names of variables, so they mention those too, and make words of them, such as `x_store`. Everything
//! is lowered once with names that no text can hold by chance: the words without such a name are the texts' own, the others
//! tell what is made of a name. The lowering that counts avoids both.

use std::collections::{BTreeMap, BTreeSet};

use crate::codegen::context::Context;
use crate::codegen::reach::{Function, Reach};
use crate::codegen::template::{self, Piece};
use crate::codegen::unit::{Layout, Unit};
use crate::codegen::{function, source_file};
use crate::hardware::extern_function::ExternKind;
use crate::hardware::memory::Hooks;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::StmtKind;
use crate::loop_ir::visit;

/// Starts the name of every variable in the first lowering; a number and `_` follow.
const MARK: &str = "exo_asked_";

/// The words of user-written C around one function.
#[derive(Clone, Debug, Default)]
pub struct Words {
    own: BTreeSet<String>,
    /// What a text writes before and after the name of a variable, without anything between.
    glued: BTreeSet<(String, String)>,
    /// The same for words made of several names: what comes before the first and after the last.
    joined: BTreeSet<(String, String)>,
}

impl Words {
    /// The name of a variable in the first lowering.
    pub fn marked(number: u64) -> String {
        format!("{MARK}{number}_")
    }

    pub fn add(&mut self, words: impl IntoIterator<Item = String>) {
        for word in words {
            let Some((before, rest)) = word.split_once(MARK) else {
                self.own.insert(word);
                continue;
            };
            match rest.rsplit_once(MARK) {
                Some((_, last)) => self.joined.insert((before.into(), after_number(last).into())),
                None => match after_number(rest) {
                    "" if before.is_empty() => false,
                    after => self.glued.insert((before.into(), after.into())),
                },
            };
        }
    }

    fn extend(&mut self, others: &Words) {
        self.own.extend(others.own.iter().cloned());
        self.glued.extend(others.glued.iter().cloned());
        self.joined.extend(others.joined.iter().cloned());
    }

    /// Whether a text may say this word of itself, or make it of several names.
    pub fn says(&self, word: &str) -> bool {
        self.own.contains(word)
            || self.joined.iter().any(|(before, after)| {
                word.len() > before.len() + after.len()
                    && word.starts_with(before.as_str())
                    && word.ends_with(after.as_str())
            })
    }

    /// What texts make of a variable's name.
    pub fn made_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        self.glued.iter().map(move |(before, after)| format!("{before}{name}{after}"))
    }
}

/// What follows the number of a marked name and the `_` that ends it.
fn after_number(rest: &str) -> &str {
    let end = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    end.strip_prefix('_').unwrap_or(end)
}

/// What one compilation was answered.
#[derive(Debug, Default)]
pub struct ForeignWords {
    /// By the C name of the function that the texts went into.
    functions: BTreeMap<String, Words>,
    /// Of texts that stand before all functions.
    file: Words,
}

impl ForeignWords {
    pub fn of(hooks: &dyn Hooks, emulate: bool, reach: &Reach, context: &Context) -> Self {
        let mut words = ForeignWords::default();
        let mut unit = Unit::new(hooks, emulate, reach, context.clone());
        if !reach.functions.iter().any(|function| asks(&unit, &function.proc) || (!emulate && glues(function))) {
            return words;
        }
        unit.marked = true;
        for function in reach.functions.iter().filter(|function| emulate || function.proc.instr.is_none()) {
            function::lower(&mut unit, function, Declarations::of(&function.proc));
            let mut taken = Words::default();
            taken.add(std::mem::take(&mut unit.answered));
            if std::mem::take(&mut unit.defines_macros) {
                // Where variables are macros, they must not be parts of the path of a config field.
                taken.add(context.words());
            }
            words.functions.insert(function.c_name.clone(), taken);
        }
        source_file::memory_globals(&mut unit);
        words.file.add(std::mem::take(&mut unit.answered_once));
        words
    }

    /// The words that no variable of a function may be called by or give rise to.
    pub fn around(&self, function: &str) -> Words {
        let mut words = self.file.clone();
        if let Some(own) = self.functions.get(function) {
            words.extend(own);
        }
        words
    }
}

/// Whether the template of an instruction writes a parameter's text next to a letter, as a part of a longer word.
fn glues(function: &Function) -> bool {
    let Some(instruction) = &function.proc.instr else { return false };
    // A template that does not parse is refused where it is used.
    let pieces = template::parse(&instruction.template).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    pieces.windows(2).any(|pair| match pair {
        [Piece::Text(text), Piece::Placeholder(_)] => text.ends_with(is_part),
        [Piece::Placeholder(_), Piece::Text(text)] => text.starts_with(is_part),
        [Piece::Placeholder(_), Piece::Placeholder(_)] => true,
        _ => false,
    })
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
