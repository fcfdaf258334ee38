//! Tests of the script host: modules evaluated from text, as users write them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, codes};
use crate::pipeline::{Compilation, Limits};
use crate::source::ModuleId;
use crate::world::MemoryWorld;

/// What a module prints, and its diagnostics.
fn run_in(world: MemoryWorld, text: &str, limits: Limits) -> (String, Vec<Diagnostic>) {
    let main = ModuleId::new("", "main");
    let world = Arc::new(world.with(main.clone(), text));
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || {
            let mut out = String::new();
            let diagnostics = Compilation::new(world, limits, None).run(&main, &mut |text| {
                out.push_str(text);
                out.push('\n');
            });
            (out, diagnostics)
        })
        .unwrap()
        .join()
        .unwrap()
}

fn run(text: &str) -> (String, Vec<Diagnostic>) {
    run_in(MemoryWorld::new(), text, Limits::default())
}

fn prints(text: &str, expected: &str) {
    let (out, diagnostics) = run(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(out, expected);
}

/// The only diagnostic of a module.
fn refused(text: &str) -> Diagnostic {
    let (_, mut diagnostics) = run(text);
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    diagnostics.remove(0)
}

const COPY: &str = "
@proc
def copy(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]
";

#[test]
fn prints_a_definition() {
    prints(
        &format!("{COPY}\nprint(copy)\nprint(copy.name(), copy.args()[0].name())\n"),
        "def copy(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):\n    for i in seq(0, n):\n        y[i] = x[i]\ncopy n\n",
    );
}

#[test]
fn captures_numbers_precisions_and_memories() {
    prints(
        "
T = f64
N = 4
mems = [DRAM_STACK]
def make(k):
    @proc
    def fill(x: T[N]):
        a: T[k] @ mems[0]
        for i in seq(0, N):
            x[i] = 0.0
    return fill
print(make(3))
",
        "def fill(x: f64[4] @ DRAM):\n    a: f64[3] @ DRAM_STACK\n    for i in seq(0, 4):\n        x[i] = 0.0\n",
    );
}

#[test]
fn cursors_navigate_and_over_an_edge_is_invalid() {
    prints(
        &format!(
            "{COPY}
loop = copy.find_loop('i')
print(loop.kind, loop.name(), loop.body()[0].kind, len(loop.body()))
print(bool(loop.next()), loop.parent().kind, loop.hi().type(), loop.body()[0].rhs().type())
r = attempt(lambda: loop.next().name())
print(r.ok, r.error.kind)
r = attempt(copy.find, 'for k in _: _')
print(r.ok, r.error.kind, r.error.operator)
print(loop)
"
        ),
        "for i assign 1\nFalse invalid size f32\nFalse invalid_cursor\nFalse scheduling find\n\
         def copy(n: size, x: f32[n] @ DRAM, y: f32[n] @ DRAM):\n    for i in seq(0, n):  # <-- NODE\n        y[i] = x[i]\n",
    );
}

#[test]
fn types_of_gaps_and_of_configuration_reads() {
    let text = "@config\nclass C:\n    s: f64\n\n@proc\ndef p(x: f64[1]):\n    x[0] = C.s\n\ns = p.find(\"x[_] = _\")\nprint(s.before().type(), s.after().type(), s.rhs().type())\n";
    prints(text, "Before After f64\n");
}

#[test]
fn refused_definitions_are_reported_together() {
    let (_, diagnostics) = run("
@proc
def a(x: f32[4]):
    x[4] = 0.0

@proc
def b(x: f32[4]):
    x[5] = 0.0

print('not reached')
");
    assert_eq!(diagnostics.len(), 2, "{diagnostics:#?}");
    assert!(diagnostics.iter().all(|d| d.code == codes::BOUNDS));
}

#[test]
fn a_refused_definition_inside_attempt_is_data() {
    prints(
        "
def make(at):
    @proc
    def a(x: f32[4]):
        x[at] = 0.0
    return a
r = attempt(make, 4)
print(r.ok, r.error.kind, r.error.operator)
print(attempt(make, 3).ok)
",
        "False bounds a\nTrue\n",
    );
}

#[test]
fn a_refused_definition_that_a_step_is_given_is_called_one() {
    let text = "@proc\ndef f(x: f32[4]):\n    x[4] = 0.0\nprint(attempt(simplify, f).error.message)\n";
    let (out, diagnostics) = run_in(MemoryWorld::new(), text, Limits::default());
    assert!(out.contains("a refused definition") && !out.contains("type"), "{out}");
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
}

#[test]
fn imports_across_packs_and_modules() {
    let world = MemoryWorld::new()
        .with(ModuleId::new("lib", "lib"), "from .inner import *\nfrom .inner import k as j\n")
        .with(ModuleId::new("lib", "inner"), "k = 3\n_hidden = 4\ndef f(x):\n    return x + k\n");
    let text = "import lib\nfrom lib import f, j\nfrom lib.inner import k\nprint(f(1), j, k, lib.f(2))\n";
    let (out, diagnostics) = run_in(world, text, Limits::default());
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(out, "4 3 3 5\n");
}

#[test]
fn import_errors_name_the_place_and_the_remedy() {
    let world = MemoryWorld::new().with(ModuleId::new("lib", "lib"), "scale = 1\n");
    let (_, diagnostics) = run_in(world, "from lib import scall\n", Limits::default());
    assert_eq!(diagnostics[0].message, "`lib` does not define `scall`");
    assert_eq!(diagnostics[0].hints, ["similar names: scale"]);
    assert!(diagnostics[0].primary.is_some());
    assert_eq!(refused("from absent import x\n").code, codes::IMPORT);
    let world = MemoryWorld::new().with(ModuleId::new("lib", "lib"), "scale = 1\n");
    let (_, diagnostics) = run_in(world, "from lib import divide_loop\n", Limits::default());
    assert_eq!(diagnostics[0].hints, ["`divide_loop` needs no import: every module has it"]);
}

#[test]
fn modules_that_import_each_other_are_refused() {
    let world = MemoryWorld::new()
        .with(ModuleId::new("a", "lib"), "from b import y\nx = 1\n")
        .with(ModuleId::new("b", "lib"), "from a import x\ny = 1\n");
    let (_, diagnostics) = run_in(world, "from a import x\n", Limits::default());
    assert_eq!(diagnostics[0].message, "modules import each other: `a` imports `b` imports `a`");
}

#[test]
fn endless_loops_and_recursion_hit_limits() {
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let text = "def f():\n    for i in range(1000000):\n        pass\nf()\n";
    let (_, diagnostics) = run_in(MemoryWorld::new(), text, limits);
    assert_eq!((diagnostics[0].code, diagnostics.len()), (codes::LIMIT, 1), "{diagnostics:#?}");
    assert!(diagnostics[0].message.contains("steps"));
    let deep = refused("def f(n):\n    return f(n + 1)\nf(0)\n");
    assert_eq!(deep.code, codes::LIMIT, "{deep:#?}");
    assert!(deep.message.contains("call depth"));
    let limits = Limits { heap_bytes: 8 << 20, ..Limits::default() };
    let text = "def f():\n    x = []\n    for i in range(100000):\n        x.append(str(i) * 200)\n    return x\nf()\n";
    let (_, diagnostics) = run_in(MemoryWorld::new(), text, limits);
    assert_eq!(diagnostics[0].code, codes::LIMIT, "{diagnostics:#?}");
}

#[test]
fn a_value_too_large_for_the_heap_is_a_limit() {
    let outcome =
        crate::script::load::contained(|| -> starlark::Result<()> { panic!("AlignedSize must not exceed u32::MAX") });
    let found = crate::script::errors::diagnostics(&outcome.unwrap_err(), &|_| None);
    assert_eq!(found[0].code, codes::LIMIT);
}

#[test]
fn fail_and_host_errors_pass_through_attempt() {
    assert_eq!(refused("attempt(lambda: fail('no'))\n").code, codes::FAILED);
    let error = refused("attempt(lambda: [][3])\n");
    assert_eq!(error.code, codes::HOST);
    assert!(error.primary.is_some());
}

#[test]
fn libraries_refuse_and_retry() {
    prints(
        "
def down(n):
    if n == 0:
        refuse('at the bottom')
    return n - 1
print(repeat(down)(5), try_do(down, 0), attempt(down, 0).error.message)
",
        "0 0 at the bottom\n",
    );
}

#[test]
fn a_target_answers_for_what_it_lacks() {
    prints(
        "
target = target(name = 'toy', vectors = {'f32': vector(memory = DRAM, lanes = 4)})
v = target.vectors['f32']
print(has(v, 'masked_load'), v.lanes, has(v, 'lanes'))
r = attempt(lambda: v.masked_load())
print(r.ok, r.error.message)
print(attempt(target.vector, f64).error.message)
bigger = extend(target, name = 'toy2')
print(bigger.name, bigger.vectors['f32'].lanes)
",
        "False 4 True\nFalse target `toy` has no masked load for f32\ntarget `toy` has no vectors of f64\ntoy2 4\n",
    );
}

#[test]
fn a_name_of_the_prelude_may_be_bound_again_and_exported() {
    let world = MemoryWorld::new().with(ModuleId::new("toy", "lib"), "target = target(name = 'toy')\nsin = 3\n");
    let (out, diagnostics) = run_in(world, "from toy import target, sin\nprint(target.name, sin)\n", Limits::default());
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(out, "toy 3\n");
}

#[test]
fn f_strings_take_any_expression() {
    prints("x = [1, 2]\nprint(f\"{', '.join([str(v + 1) for v in x])}: {x[0]}\")\n", "2, 3: 1\n");
}

#[test]
fn steps_hand_back_cursors() {
    prints(
        &format!(
            "{COPY}
p, made = divide_loop(copy, 'i', 4, ['io', 'ii'], tail = 'cut', rc = True)
print(made.outer.name(), made.inner.name(), made.tail.kind, len(made), made[1] == made.inner, made)
q, (outer, inner, tail) = divide_loop(copy, 'i', 4, ['io', 'ii'], rc = True)
print(outer.name(), inner.name(), bool(tail), tail.kind)
r, made = bind_expr(q, 'x[_]', 't', rc = True)
print(made.alloc.kind, made.assign.rhs().text(), [read.text() for read in made.reads])
s, made = stage_mem(copy, 'y[_] = _', 'x[i]', 't', rc = True)
print(made.load.text(), bool(made.store), hasattr(made, 'load'))
s, made = rename(r, 'g', rc = True)
print(s.name(), len(made), hasattr(made, 'x'))
p, sub, made = extract_subproc(copy, 'y[_] = _', 'sub', rc = True)
print(made.call.name(), sub.name(), type(divide_loop(copy, 'i', 4, ['io', 'ii'], rc = False)))
"
        ),
        "io ii for 3 True cursors(outer, inner, tail)\nio ii False invalid\n\
         alloc x[4 * io + ii] [\"t\"]\nt = x[i] False True\ng 0 False\nsub sub proc\n",
    );
    let refusal = refused(&format!("{COPY}\nrename(copy, 'g', rc = 1)\n"));
    assert_eq!(refusal.message, "argument `rc` of `rename` must be True or False, not an integer");
}

/// The line and the marked text of a diagnostic.
fn marked(diagnostic: &Diagnostic) -> (usize, String) {
    let span = &diagnostic.primary.as_ref().unwrap().span;
    let file = span.file.as_ref().unwrap();
    (file.line_column(span.start).0, file.text[span.start as usize..span.end as usize].to_string())
}

#[test]
fn mistakes_in_patterns_are_shown_where_they_are_written() {
    let bad = refused(&format!("{COPY}\ncopy.find('y[ = _')\n"));
    assert_eq!((bad.code, marked(&bad)), (codes::PATTERN, (7, "[".to_string())), "{bad:#?}");
    let unknown = refused(&format!("{COPY}\ncut_loop(copy, 'i', 'n + m')\n"));
    assert_eq!(marked(&unknown), (7, "m".to_string()), "{unknown:#?}");
    let short = refused(&format!("{COPY}\nmm = copy\ncut_loop(mm, 'i', 'm')\n"));
    let at = short.primary.as_ref().unwrap().span.clone();
    assert!(at.file.unwrap().text[..at.start as usize].ends_with("'i', '"), "{:?}", short.primary);
    // Through a library function: in the call that spells the text out.
    let text = format!("{COPY}\ndef cut(p, at):\n    return cut_loop(p, 'i', at)\n\ncut(copy, 'n + m')\n");
    let through = refused(&text);
    assert_eq!(marked(&through), (10, "m".to_string()), "{through:#?}");
    // Made by host code: the call is shown, and the text in a note.
    let made = refused(&format!("{COPY}\ncut_loop(copy, 'i', 'n + ' + 'm')\n"));
    assert_eq!(marked(&made).0, 7);
    assert!(made.notes[0].contains("`n + m`, at character 5"), "{:?}", made.notes);
}

#[test]
fn places_of_every_kind_have_a_text() {
    prints(
        &format!(
            "{COPY}
print(copy.body().text())
print(copy.body()[0].body().text(), copy.args()[0].text(), copy.args()[1:].text())
print(copy.find('y[_] = _').idx().text())
"
        ),
        "for i in seq(0, n):\ny[i] = x[i] n x, y\ni\n",
    );
    let gap = refused(&format!("{COPY}\ncopy.body()[0].before().text()\n"));
    assert_eq!(gap.message, "a cursor of kind `gap` has no `text`");
}

#[test]
fn names_that_are_nearly_right() {
    let method = refused(&format!("{COPY}\ncopy.divide_loop('i', 4, ['io', 'ii'])\n"));
    assert!(method.hints[0].contains("`divide_loop(p, ...)`"), "{:?}", method.hints);
    let old = refused(&format!("{COPY}\nsplit_loop(copy, 'i', 4)\n"));
    assert_eq!(old.hints, ["the operator is called `divide_loop`"]);
    assert!(refused("dvide_loop(1)\n").hints[0].contains("similar name: `divide_loop`"));
    assert!(refused("quux(1)\n").hints[0].contains("exo help operators"));
    let size = refused(&format!("{COPY}\ncopy.partial_eval(n = True)\n"));
    assert!(size.message.contains("`n` is not a bool"), "{}", size.message);
    let nest = refused(&format!("{COPY}\nreorder_loops(copy, 'i')\n"));
    assert!(nest.hints[0].contains("no loop in the body of the loop over `i`"), "{:?}", nest.hints);
    let keyword = "
m = memory(name = 'POOL', base = DRAM)
print(m)
";
    let (_, diagnostics) = run(keyword);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
}

#[test]
fn a_call_in_the_wrong_memory_is_said_the_right_way_round() {
    let refusal = refused(
        "
@proc
def zero(x: [f32][8] @ DRAM_STACK):
    for i in seq(0, 8):
        x[i] = 0.0

@proc
def f(y: f32[8]):
    for i in seq(0, 8):
        y[i] = 0.0

replace(f, 'for i in _: _', zero)
",
    );
    assert_eq!(refusal.message, "after `replace`, `zero` takes `x` in DRAM_STACK, not in DRAM");
}

#[test]
fn a_comparison_without_sizes_says_no_sizes() {
    let proc = |name: &str, value: &str| format!("@proc\ndef {name}(x: f32[1]):\n    x[0] = {value}\n\n");
    let differ = refused(&format!("{}{}check_equal(p, q)\n", proc("p", "1.0"), proc("q", "2.0")));
    assert!(differ.notes.iter().any(|note| note == "1 and 2"), "{:?}", differ.notes);
    let long = crate::testing::proc("@proc\ndef p(x: f32[1]):\n    for i in seq(0, 10000):\n        x[0] = 1.0\n");
    let options = crate::interpret::Options { budget: 100, ..Default::default() };
    let endless = &super::testing::compared("check_equal", &long, &long, &options).unwrap_err().diagnostics[0];
    assert_eq!(endless.message, "`p` goes wrong: the step budget is used up");
    assert!(endless.notes.is_empty(), "{:?}", endless.notes);
    assert!(endless.hints.iter().any(|hint| hint.contains("`sizes`")), "{:?}", endless.hints);
}
