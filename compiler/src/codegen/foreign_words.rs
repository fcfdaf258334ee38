//! Words of the C that users wrote, in templates of instructions and in what functions of memories and externs answer: what such
//! a text declares, or what a macro of it mentions, would capture a variable of that name.
//!
//! The texts are given the names of variables, so they mention those too, and make words of them, such as `x_store`. Everything
//! is lowered once with names that no text can hold by chance: the words without such a name are the texts' own, the others
//! tell what is made of a name. What macros paste is read off their definitions, and a lowering with the names that would be taken
//! shows what texts make of them in other ways. The lowering that counts avoids all of it.

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
    /// Words that texts make of names of variables, as what they write before, between and after the names.
    made: BTreeSet<Vec<String>>,
    /// The same for what macros make of their arguments, which may be numbers too.
    pasted: BTreeSet<Vec<String>>,
}

impl Words {
    /// The name of a variable in the first lowering.
    pub fn marked(number: usize) -> String {
        format!("{MARK}{number}_")
    }

    pub fn add(&mut self, words: impl IntoIterator<Item = String>) {
        for word in words {
            let (start, names) = match word.split_once(MARK) {
                None => {
                    self.own.insert(word);
                    continue;
                }
                Some((start, rest)) => (start, rest.split(MARK)),
            };
            let pieces: Vec<String> =
                std::iter::once(start).chain(names.map(after_number)).map(str::to_string).collect();
            // The name alone is no word of the text's own.
            if pieces.len() > 2 || pieces.iter().any(|piece| !piece.is_empty()) {
                self.made.insert(pieces);
            }
        }
    }

    fn extend(&mut self, others: &Words) {
        self.own.extend(others.own.iter().cloned());
        self.made.extend(others.made.iter().cloned());
        self.pasted.extend(others.pasted.iter().cloned());
    }

    /// Whether a variable of this name would be captured by the texts, or what they make of it would capture another one. `live` are the
    /// names of the variables beside it.
    pub fn are_disturbed_by(&self, name: &str, live: &BTreeSet<String>) -> bool {
        if self.own.contains(name) {
            return true;
        }
        if self.made.is_empty() && self.pasted.is_empty() {
            return false;
        }
        let is_name = |word: &str| word == name || live.contains(word);
        let is_argument = |word: &str| is_name(word) || (!word.is_empty() && word.bytes().all(|c| c.is_ascii_digit()));
        let is_made = |word: &str| {
            self.made.iter().any(|pieces| makes(pieces, word, &is_name))
                || self.pasted.iter().any(|pieces| makes(pieces, word, &is_argument))
        };
        live.iter().chain(&self.own).map(String::as_str).chain([name, "ctxt"]).any(is_made)
    }

    /// What texts make of a variable's name alone.
    pub fn made_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        self.made.iter().chain(&self.pasted).filter_map(move |pieces| match pieces.as_slice() {
            [before, after] => Some(format!("{before}{name}{after}")),
            _ => None,
        })
    }
}

/// Whether a word consists of these pieces with names between them.
fn makes(pieces: &[String], word: &str, is_name: &dyn Fn(&str) -> bool) -> bool {
    let Some((first, more)) = pieces.split_first() else { return false };
    let Some(rest) = word.strip_prefix(first.as_str()) else { return false };
    match more {
        [] => rest.is_empty(),
        [last] => rest.strip_suffix(last.as_str()).is_some_and(is_name),
        _ => (1..rest.len()).any(|end| {
            let parts = rest.split_at_checked(end).filter(|(name, _)| is_name(name));
            parts.is_some_and(|(_, rest)| makes(more, rest, is_name))
        }),
    }
}

/// What follows the number of a marked name and the `_` that ends it.
fn after_number(rest: &str) -> &str {
    let end = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    end.strip_prefix('_').unwrap_or(end)
}

/// A word of the marked lowering with the names that variables have otherwise, by number.
fn named(word: &str, names: &[String]) -> String {
    let mut out = String::new();
    let mut parts = word.split(MARK);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let after = after_number(part);
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number = part.get(..digits).and_then(|digits| digits.parse::<usize>().ok());
        out.push_str(number.and_then(|number| names.get(number.checked_sub(1)?)).map_or("", String::as_str));
        out.push_str(after);
    }
    out
}

/// How often a function is lowered to see which words its texts have for the names that it gets.
const TRIES: usize = 4;

/// What one compilation was answered.
#[derive(Debug, Default)]
pub struct ForeignWords {
    /// By the C name of the function that the texts went into.
    functions: BTreeMap<String, Words>,
    /// Of texts that stand before all functions.
    file: Words,
    /// A function whose texts have other words each time that its variables get other names.
    pub unsettled: Option<String>,
}

/// What the texts inside of one function say, where all variables are marked.
struct Answers {
    words: BTreeSet<String>,
    define_macros: bool,
}

fn answers(unit: &mut Unit<'_>, function: &Function) -> Answers {
    function::lower(unit, function, Declarations::of(&function.proc));
    let words = std::mem::take(&mut unit.answered);
    Answers { words, define_macros: std::mem::take(&mut unit.defines_macros) }
}

impl ForeignWords {
    pub fn of(hooks: &dyn Hooks, emulate: bool, reach: &Reach, context: &Context) -> Self {
        let mut words = ForeignWords::default();
        let mut unit = Unit::new(hooks, emulate, reach, context.clone());
        if !reach.functions.iter().any(|function| asks(&unit, &function.proc) || (!emulate && glues(function))) {
            return words;
        }
        unit.marked = true;
        source_file::memory_globals(&mut unit);
        let lowered = reach.functions.iter().filter(|function| emulate || function.proc.instr.is_none());
        let answers: Vec<(&Function, Answers)> =
            lowered.map(|function| (function, answers(&mut unit, function))).collect();
        words.file.add(std::mem::take(&mut unit.answered_once));
        let globals = reach.functions.iter().filter(|_| !emulate).filter_map(|function| function.proc.instr.as_ref());
        let texts = unit.take_raw().into_iter().chain(globals.map(|instruction| instruction.global.clone()));
        words.file.pasted = texts.flat_map(|text| template::pasted(&text)).collect();
        for (function, answers) in answers {
            words.settle(hooks, emulate, reach, context, (function, &answers));
        }
        words
    }

    /// Lowers a function with the names that it would get. A text that makes a word of a name in another way than by writing something
    /// beside it, in capitals say, has words then that the marked text does not account for; those are avoided too.
    fn settle(
        &mut self,
        hooks: &dyn Hooks,
        emulate: bool,
        reach: &Reach,
        context: &Context,
        (function, answers): (&Function, &Answers),
    ) {
        if answers.words.is_empty() {
            return;
        }
        let mut taken = Words::default();
        taken.add(answers.words.iter().cloned());
        if answers.define_macros {
            // Where variables are macros, they must not be parts of the path of a config field.
            taken.add(context.words());
        }
        for _ in 0..TRIES {
            let mut unit = Unit::new(hooks, emulate, reach, context.clone());
            let functions = BTreeMap::from([(function.c_name.clone(), taken.clone())]);
            unit.foreign = ForeignWords { functions, file: self.file.clone(), unsettled: None };
            let names = function::lower(&mut unit, function, Declarations::of(&function.proc)).variables;
            let accounted: BTreeSet<String> = answers.words.iter().map(|word| named(word, &names)).collect();
            let strange =
                unit.answered.into_iter().filter(|word| !accounted.contains(word) && !taken.own.contains(word));
            let strange: Vec<String> = strange.collect();
            if strange.is_empty() {
                self.functions.insert(function.c_name.clone(), taken);
                return;
            }
            taken.add(strange);
        }
        self.unsettled = Some(function.c_name.clone());
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

/// Whether the template of an instruction writes a parameter's text next to a letter, as a part of a longer word, or a macro of it may.
fn glues(function: &Function) -> bool {
    let Some(instruction) = &function.proc.instr else { return false };
    if instruction.global.contains("##") {
        return true;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::scope::Scope;
    use crate::symbol::Sym;

    #[test]
    fn a_name_that_macros_may_make_is_given_up_and_told() {
        let define = |pasted: &str| format!("#define M(a, b) {pasted}\n");
        let scope = |texts: &[&str]| {
            let pasted = texts.iter().flat_map(|text| template::pasted(&define(text))).collect();
            let mut scope = Scope::new(Words { pasted, ..Words::default() }, false);
            scope.bind(&Sym::new("t"));
            let second = scope.bind(&Sym::new("t"));
            (second, scope.crowded().map(str::to_string))
        };
        assert_eq!(scope(&["a##_x"]), ("t_1".to_string(), None));
        assert_eq!(scope(&["a##_##b"]), ("t_v1".to_string(), None));
        assert_eq!(scope(&["a##_##b", "a##_v##b"]).1, Some("t".to_string()));
    }
}
