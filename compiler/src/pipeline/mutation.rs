//! The test of the tests: with any one check of the compiler switched off, a file of `tests/soundness` goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::analysis::mutation::{Check, Seen, mute};
use crate::contract::Limits;
use crate::pipeline::Compilation;
use crate::schedule::registry;
use crate::source::ModuleId;
use crate::world::MemoryWorld;

/// Checks that no file of the corpus can tell from one that is switched off, with the reason.
const SURVIVORS: &[(&str, &str)] = &[
    // The front end types a definition before it checks it, and rewrites copy lists of arguments.
    ("a call gives every argument", "typing counts arguments first"),
    ("an argument has its parameter's rank", "typing compares ranks first"),
    ("an argument is of its parameter's kind", "typing compares kinds first"),
    // Operators that refuse the same before they ask, with a message that names the operator's own reason.
    ("a dead buffer is not an argument", "the parameter of `reuse_buffer` takes allocations only"),
    ("procedures that are exchanged take the same arguments", "no step within a family changes parameters"),
    ("the bounds of an interchanged loop are free of the other's iterator", "`reorder_loops` refuses it first"),
    ("reuse_buffer: CallsValid", "`reuse_buffer` wants one precision, memory and rank first"),
    // Decided by the operator with the same question, which is asked again when the step is committed.
    ("inline_assign: Holds", "asked again"),
    ("lift_reduce_constant: Holds", "asked again"),
    ("lift_scope: Equal", "asked again; otherwise the other side gets a loop of its own"),
    ("autofission: Holds", "asked again; otherwise a test takes the place of the loop"),
    ("autofission: Idempotent", "asked again; otherwise the loop stays"),
    ("remove_loop: Holds", "asked again; otherwise a test takes the place of the loop"),
    ("stage_mem: FilledFirst", "asked again; otherwise the buffer is loaded"),
    ("stage_mem: NeverWritten", "asked again; otherwise the buffer is loaded"),
    ("simplify: Holds", "asked again; otherwise the condition stays"),
    ("replace_all: CallsValid", "asked again; a call that is not valid is not made"),
    ("replace_all: CallFits", "asked again; a call that does not fit is not made"),
    ("replace_all: IndependentIterations", "a callee does what the loop did, so no race is new"),
    // Asked twice by one step.
    ("a `par` loop that a step made has no race", "operators that can make a race ask themselves"),
    ("expand_dim: CallsValid", "`BufferInBounds` asks about the calls that the buffer goes to"),
    ("resize_dim: CallsValid", "`BufferInBounds` asks about the calls that the buffer goes to"),
    ("set_window: CallsValid", "the whole definition is checked again"),
    // Cannot fail.
    ("extract_subproc: CallFits", "the new procedure takes what it is given as it is"),
    ("divide_dim: CallsValid", "a divided dimension keeps the strides of the others, and windows along it are refused"),
    ("inline_window: CallsValid", "a call gets the same region as before"),
    ("autolift_alloc: CallsValid", "a lifted buffer goes to calls as it is"),
    ("rewrite_expr: CallsValid", "an equal argument satisfies what the old one did"),
];

/// Folders of source text in which every place that asks for a proof counts, asked by the corpus or not.
const PLACES: [&str; 3] = ["src/analysis", "src/checks", "src/schedule/operators"];

/// How a proof is asked for.
const ASKING: [&str; 9] = [
    ".require(",
    ".require_at_least(",
    "impossible(",
    "first_meeting(",
    "prove(",
    "never(",
    "extent_is_positive(",
    "element(site",
    "window(site",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// One program of the corpus.
struct Program {
    module: ModuleId,
    world: Arc<MemoryWorld>,
}

fn corpus() -> Vec<Program> {
    let folder = root().join("../tests/soundness");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let harness = text(&folder.join("harness.exo"));
    files_below(&folder, ".exo")
        .into_iter()
        .filter(|path| path.parent() == Some(folder.as_path()) && !path.ends_with("harness.exo"))
        .map(|path| {
            let module = ModuleId::new("soundness", path.file_stem().unwrap().to_str().unwrap());
            let world = MemoryWorld::new()
                .with(ModuleId::new("soundness", "harness"), &harness)
                .with(module.clone(), &text(&path));
            Program { module, world: Arc::new(world) }
        })
        .collect()
}

/// `apply` asks about races once more after whatever an operator asked, so the two go off together.
const RACE: Check = Check::Rule("a `par` loop that a step made has no race");

fn switched_off(check: &Check) -> BTreeSet<Check> {
    let twice = matches!(check, Check::Question { kind, .. } if kind == "IndependentIterations");
    std::iter::once(check.clone()).chain(twice.then_some(RACE)).collect()
}

/// What the program says with checks switched off, and what was asked meanwhile. A panic counts as something said.
fn run(program: &Program, off: BTreeSet<Check>) -> (Vec<String>, Seen) {
    mute(off);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut compilation = Compilation::new(program.world.clone(), Limits::default(), None);
        compilation.run(&program.module, &mut |_| {})
    }));
    let said = match outcome {
        Ok(diagnostics) => diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect(),
        Err(_) => vec!["panicked".to_string()],
    };
    (said, mute(BTreeSet::new()))
}

/// Runs `work` on every item with two threads and the stack that evaluation needs.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..items.len());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            std::thread::Builder::new()
                .stack_size(256 << 20)
                .spawn_scoped(scope, || {
                    loop {
                        let Some(at) = next.lock().unwrap().next() else { return };
                        let result = work(&items[at]);
                        results.lock().unwrap().push((at, result));
                    }
                })
                .unwrap();
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Places of the source text that ask for a proof: file and line. A function that passes its caller's place on asks for
/// none of its own.
fn places() -> BTreeSet<(String, u32)> {
    let mut found = BTreeSet::new();
    for path in PLACES.iter().flat_map(|folder| files_below(&root().join(folder), ".rs")) {
        let file = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if file.contains("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut tracked, mut passes_on) = (false, false);
        for (at, line) in text.lines().enumerate() {
            if line.contains("#[track_caller]") {
                tracked = true;
            } else if line.contains("fn ") {
                (passes_on, tracked) = (tracked, false);
            } else if !passes_on && ASKING.iter().any(|asking| line.contains(asking)) {
                found.insert((file.clone(), at as u32 + 1));
            }
        }
    }
    found
}

/// Questions that the text of an operator's file names: operator and kind.
fn questions() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for path in files_below(&root().join("src/schedule/operators"), ".rs") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if registry::find(&name).is_none() {
            continue;
        }
        for rest in std::fs::read_to_string(&path).unwrap().split("Question::").skip(1) {
            let kind: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            // A pattern only looks at a question.
            if rest[kind.len()..].starts_with(" {") && !rest[kind.len()..].starts_with(" { .. }") {
                found.insert((name.clone(), kind));
            }
        }
    }
    found
}

/// `analysis/commute.rs: commute #0` for a line: names that outlive an edit elsewhere in the file.
fn place_name(file: &str, line: u32, lines: &BTreeSet<u32>) -> String {
    let file = file.strip_prefix("compiler/").unwrap_or(file);
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    let text: Vec<&str> = text.lines().collect();
    let function = |line: u32| {
        let before = text.iter().take(line as usize).enumerate().rev();
        before.into_iter().find(|(_, text)| text.contains("fn ")).map_or((0, "?"), |(at, text)| {
            let name = text.split("fn ").nth(1).unwrap_or_default();
            (at, name.split(['(', '<']).next().unwrap_or_default())
        })
    };
    let (start, name) = function(line);
    let number = lines.iter().filter(|other| **other < line && function(**other).0 == start).count();
    format!("{}: {name} #{number}", file.strip_prefix("src/").unwrap_or(file))
}

fn named(check: &Check, lines: &BTreeMap<String, BTreeSet<u32>>) -> String {
    match check {
        Check::Rule(name) => (*name).to_string(),
        Check::Question { operator, kind } => format!("{operator}: {kind}"),
        Check::Proof { file, line } => {
            let none = BTreeSet::new();
            place_name(file, *line, lines.get(file.strip_prefix("compiler/").unwrap_or(file)).unwrap_or(&none))
        }
    }
}

#[test]
fn a_check_that_is_switched_off_is_missed() {
    let programs = corpus();
    let baseline = in_parallel(&programs, |program| run(program, BTreeSet::new()));
    // What goes wrong from here on is meant to.
    std::panic::set_hook(Box::new(|_| {}));
    let mut checks: BTreeMap<Check, Vec<usize>> = BTreeMap::new();
    for (at, (said, seen)) in baseline.iter().enumerate() {
        assert!(said.is_empty(), "{}: {}", programs[at].module, said.join("\n"));
        seen.asked.iter().for_each(|check| {
            checks.entry(check.clone()).or_default();
        });
        seen.failed.iter().for_each(|check| checks.entry(check.clone()).or_default().push(at));
    }
    let mut lines: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for check in checks.keys() {
        if let Check::Proof { file, line } = check {
            lines.entry(file.strip_prefix("compiler/").unwrap_or(file).to_string()).or_default().insert(*line);
        }
    }
    let unasked: Vec<(String, u32)> = places()
        .into_iter()
        .filter(|(file, line)| !lines.get(file).is_some_and(|known| known.contains(line)))
        .collect();
    for (file, line) in &unasked {
        lines.entry(file.clone()).or_default().insert(*line);
    }
    let checks: Vec<(Check, Vec<usize>)> = checks.into_iter().collect();
    let killers = in_parallel(&checks, |(check, files)| {
        files.iter().find(|at| !run(&programs[**at], switched_off(check)).0.is_empty()).copied()
    });
    let _ = std::panic::take_hook();
    let mut survivors: Vec<String> = unasked.iter().map(|(file, line)| place_name(file, *line, &lines[file])).collect();
    let asked = |operator: &str, kind: &str| {
        checks
            .iter()
            .any(|(check, _)| matches!(check, Check::Question { operator: o, kind: k } if *o == operator && k == kind))
    };
    let silent = questions().into_iter().filter(|(operator, kind)| !asked(operator, kind));
    survivors.extend(silent.map(|(operator, kind)| format!("{operator}: {kind}")));
    let total = checks.len() + survivors.len();
    for ((check, _), killer) in checks.iter().zip(&killers) {
        match killer {
            Some(at) => println!("killed by {:<14} {}", programs[*at].module.to_string(), named(check, &lines)),
            None => survivors.push(named(check, &lines)),
        }
    }
    survivors.iter().for_each(|name| println!("survives: {name}"));
    println!("mutation score: {} of {total} checks are missed when they are switched off", total - survivors.len());
    let unexplained: Vec<&String> =
        survivors.iter().filter(|name| !SURVIVORS.iter().any(|(known, _)| known == name)).collect();
    let gone: Vec<&str> =
        SURVIVORS.iter().map(|(known, _)| *known).filter(|known| !survivors.iter().any(|name| name == known)).collect();
    assert!(unexplained.is_empty(), "no file of tests/soundness misses: {unexplained:#?}");
    assert!(gone.is_empty(), "excused, but missed by a file now: {gone:#?}");
}
