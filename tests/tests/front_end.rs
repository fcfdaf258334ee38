//! Broken modules: mutations of the token streams of real ones. Whatever comes of them, nothing panics, every refusal has a
//! place, and no message shows the inside of the compiler.

#![allow(clippy::indexing_slicing)]

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use exo_compiler::diagnostic::{Diagnostic, codes};
use exo_compiler::interpret::random::Random;
use exo_compiler::pipeline::{Compilation, Limits};
use exo_compiler::source::ModuleId;
use exo_compiler::world::MemoryWorld;
use exo_tests::exo::repository;

/// Files that take longer than a mutation is worth.
const LARGEST: usize = 6000;
const MUTANTS_OF_A_FILE: u64 = 5;

/// Signs of the compiler's own structures in a message.
const INTERNAL: &[&str] = &[
    "Sym(",
    "ExprKind",
    "StmtKind",
    "ExprNode",
    "StmtNode",
    "HostValue",
    "Arc<",
    "RefCell",
    "Span {",
    "Some(",
    "None)",
    "Err(",
    "Ok(",
    "__define__",
    "__quote__",
    "__python_",
    "__module__",
    "load__exo",
    "panicked",
    "unwrap",
    "compiler/src",
    ".rs:",
    "Linear",
    "Formula::",
    "ThinVec",
    "TextRange",
    "Identity(",
];

/// Tokens that have caused trouble, or look as if they could.
const NASTY: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "+=",
    "@",
    "~",
    "~{",
    "->",
    ":=",
    "...",
    "**",
    "//",
    "<=",
    "!=",
    "not",
    "and",
    "lambda",
    "yield",
    "async",
    "with",
    "with exo:",
    "with python:",
    "proc",
    "@proc",
    "seq",
    "par",
    "stride",
    "load",
    "if",
    "else",
    "for",
    "in",
    "def",
    "return",
    "pass",
    "None",
    "True",
    "0",
    "-1",
    "1.5",
    "1e999",
    "9223372036854775808",
    "0x",
    "'",
    "\"",
    "\"\"\"",
    "f\"{",
    "\\",
    "\t",
    "\n",
    "\n    ",
    "\n        ",
    "é",
    "𝕏",
    "\u{0}",
    "\u{200b}",
    "_",
    "__define__",
    "R",
    "f32",
    "bf16",
    "DRAM",
    "x",
    "i",
    "n",
    "slice(0, 1)",
    "inf",
    "{x}",
    "~{x}",
    "x[",
    "x[{i}]",
    "*",
    "#",
    ";",
];

fn modules_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            modules_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "exo") {
            found.push(path);
        }
    }
}

/// Words, numbers, runs of blanks, and single other characters.
fn tokens(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        ' ' => 1,
        _ => 2,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = 2;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if class(c) == last && last < 2 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = class(c);
    }
    tokens
}

fn mutant(original: &[String], random: &mut Random) -> String {
    let mut tokens = original.to_vec();
    for _ in 0..=random.below(3) {
        let place = |random: &mut Random, length: usize| usize::try_from(random.below(length as u64)).unwrap_or(0);
        if tokens.is_empty() {
            break;
        }
        let at = place(random, tokens.len());
        match random.below(8) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = place(random, tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens[at] = original[place(random, original.len())].clone(),
            4 => tokens[at] = NASTY[place(random, NASTY.len())].to_string(),
            5 => tokens.insert(at, NASTY[place(random, NASTY.len())].to_string()),
            6 => {
                let end = (at + 1 + place(random, 12)).min(tokens.len());
                drop(tokens.drain(at..end));
            }
            _ => {
                let end = (at + 1 + place(random, 12)).min(tokens.len());
                let copy = tokens[at..end].to_vec();
                let to = place(random, tokens.len());
                tokens.splice(to..to, copy);
            }
        }
    }
    tokens.concat()
}

/// What is wrong with how a mutant was refused.
fn complaints(diagnostics: &[Diagnostic], mutated: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    // What the mutant itself says may be said of it.
    let signs = || INTERNAL.iter().filter(|sign| !mutated.contains(**sign));
    for diagnostic in diagnostics {
        let placed = diagnostic.primary.as_ref().is_some_and(|label| label.span.file.is_some());
        // A limit may be met where nothing has a place; it names the module then.
        if !placed && diagnostic.code != codes::LIMIT {
            wrong.push(format!("no place: {} {}", diagnostic.code, diagnostic.message));
        }
        let frames = diagnostic.host_stack.iter().filter(|frame| frame.function.starts_with("__"));
        wrong.extend(frames.map(|frame| format!("a call of `{}`", frame.function)));
        let said = [&diagnostic.message].into_iter().chain(&diagnostic.notes).chain(&diagnostic.hints);
        for text in said {
            if let Some(sign) = signs().find(|sign| text.contains(**sign)) {
                wrong.push(format!("`{sign}` in: {text}"));
            }
        }
    }
    wrong
}

fn survivors_are_refused_well(world: &[(ModuleId, String)], module: &ModuleId, text: &str) -> Vec<String> {
    let mut all = MemoryWorld::new();
    for (id, other) in world {
        all = all.with(id.clone(), if id == module { text } else { other });
    }
    let limits = Limits { steps: 400_000, call_depth: 200, heap_bytes: 256 << 20, ..Limits::default() };
    let run = std::panic::catch_unwind(AssertUnwindSafe(|| {
        Compilation::new(Arc::new(all), limits, None).run(module, &mut |_| {})
    }));
    match run {
        Ok(diagnostics) => complaints(&diagnostics, text),
        Err(payload) => {
            let said = payload.downcast_ref::<String>().cloned();
            let said = said.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
            vec![format!("a panic: {}", said.unwrap_or_default())]
        }
    }
}

fn fuzz(mutants: u64, first_seed: u64) {
    let mut paths = Vec::new();
    for folder in ["tests/soundness", "tests/language", "tests/examples", "tests/refusals", "packages/std/src"] {
        modules_below(&repository().join(folder), &mut paths);
    }
    let world: Vec<(ModuleId, String)> = paths
        .iter()
        .filter_map(|path| {
            let below = path.strip_prefix(repository()).ok()?.with_extension("");
            let names: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let (pack, module) = match names.as_slice() {
                [folder, pack, _, module @ ..] if folder == "packages" => (pack.clone(), module.join(".")),
                [folder, part, module @ ..] => (format!("{folder}_{part}"), module.join(".")),
                _ => return None,
            };
            Some((ModuleId::new(&pack, &module), std::fs::read_to_string(path).ok()?))
        })
        .collect();
    assert!(world.len() > 80, "only {} modules", world.len());
    let mut wrong = Vec::new();
    for (at, (module, text)) in world.iter().enumerate().filter(|(_, (_, text))| text.len() <= LARGEST) {
        let original = tokens(text);
        for round in 0..mutants {
            let seed = first_seed + at as u64 * 1000 + round;
            let mutated = mutant(&original, &mut Random::new(seed));
            for complaint in survivors_are_refused_well(&world, module, &mutated) {
                wrong.push(format!("{module}, seed {seed}: {complaint}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} complaints\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn broken_modules_are_refused_with_a_place_and_in_the_users_words() {
    let mutants =
        std::env::var("EXO_FUZZ_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(MUTANTS_OF_A_FILE);
    let seed = std::env::var("EXO_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    // The stack that the binary gives the compiler.
    let run = move || fuzz(mutants, seed);
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    let result = thread.unwrap_or_else(|error| panic!("{error}")).join();
    if let Err(payload) = result {
        std::panic::resume_unwind(payload);
    }
}
