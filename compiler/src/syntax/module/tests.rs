//! Tests of taking modules apart: the Starlark text runs, keeps its lines, and maps back to the source.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::Value;

use crate::diagnostic::{Diagnostic, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::module::{DefinitionKind, ImportedNames, Rendered, SplitModule, split};
use crate::testing::{dedent, messages};

fn taken_apart(text: &str) -> SplitModule {
    let file = SourceFile::new("m.exo", dedent(text));
    split(&file).unwrap_or_else(|errors| panic!("{}", messages(&errors)))
}

fn star(module: &SplitModule) -> Rendered {
    module.render(&|import| match import.module.as_str() {
        "pack" => vec!["alpha".into(), "beta".into()],
        _ => Vec::new(),
    })
}

/// The Starlark text; it parses and has as many lines as the source.
fn rendered(text: &str) -> String {
    let module = taken_apart(text);
    let rendered = star(&module).text;
    assert_eq!(rendered.lines().count(), module.file.text.lines().count(), "{rendered}");
    if let Err(error) = AstModule::parse("m", rendered.clone(), &Dialect::Extended) {
        panic!("{error}\n{rendered}");
    }
    rendered
}

fn line(text: &str, number: usize) -> String {
    rendered(text).lines().nth(number - 1).unwrap().to_string()
}

#[starlark_module]
fn prelude(builder: &mut GlobalsBuilder) {
    fn __module__(name: &str) -> starlark::Result<String> {
        Ok(format!("module {name}"))
    }
}

/// Evaluates a module in which definitions give their captures, and returns the printed value of `result`.
fn evaluated(text: &str) -> String {
    let text = rendered(text);
    let text =
        format!("def __define__(index, captures, *args, **kwargs): return (index, captures, args, kwargs)\n{text}");
    let ast = AstModule::parse("m", text, &Dialect::Extended).unwrap();
    let globals: Globals = GlobalsBuilder::extended_by(&[LibraryExtension::StructType]).with(prelude).build();
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        if let Err(error) = evaluator.eval_module(ast, &globals) {
            panic!("{error}");
        }
        let value: Value = module.get("result").unwrap();
        value.to_repr()
    })
}

fn refused(text: &str) -> Vec<Diagnostic> {
    let file = SourceFile::new("m.exo", dedent(text));
    match split(&file) {
        Ok(module) => panic!("accepted:\n{}", star(&module).text),
        Err(errors) => errors,
    }
}

fn source_text(span: &Span) -> String {
    let file = span.file.as_ref().unwrap();
    file.text[span.start as usize..span.end as usize].to_string()
}

#[test]
fn host_code_passes_unchanged() {
    let text = "\
def f(p, *args, n = 3, **kwargs):
    \"\"\"Does it.\"\"\"
    if n > 3 and not p:
        return [x * 2 for x in args if x != 3]
    elif n == 1:
        pass
    for i, j in enumerate(args):
        if i: continue
        kwargs[str(i)] = (j, lambda y, z = 1: y if z else -y)
    return {\"a\": n, **kwargs} if False else p.q[1:2](n = n)
";
    let plain = text.replace(", **kwargs} if", "} if");
    assert_eq!(rendered(&plain), plain);
}

#[test]
fn definitions_become_one_assignment() {
    let text = "
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, n):
                x[i] = 0.0

        y = f
    ";
    let module = taken_apart(text);
    assert_eq!(star(&module).text, "f = __define__(0, {})\n\n\n\n\ny = f\n    \n".replace("    \n", "\n"));
    assert_eq!(module.definitions.len(), 1);
    assert_eq!(module.definitions[0].kind, DefinitionKind::Proc);
    assert_eq!(source_text(&module.definitions[0].span), "f");
}

#[test]
fn instructions_keep_their_arguments() {
    let text = "
        PREFIX = \"v\"
        @instr(
            f\"{PREFIX}add({{dst}});\",
            c_global = \"#include <v.h>\",
        )
        def vadd(dst: [f32][8] @ DRAM):
            for i in seq(0, 8):
                dst[i] += 1.0
        result = vadd
    ";
    assert_eq!(evaluated(text), r##"(0, {}, ("vadd({dst});",), {"c_global": "#include <v.h>"})"##);
}

#[test]
fn captures_are_what_the_body_mentions() {
    let text = "
        N = 4
        T = \"f32\"
        mems = [\"m\"]
        lib = struct(g = \"g\", K = 7)
        unused = 1
        @proc
        def f(n: size, x: T[n] @ mems[0], y: {T}, z: f64 @ DRAM):
            assert n > N
            w: [f32] @ lib.g
            for i in seq(0, {N + 1}):
                lib.g(x, i)
                x[lib.K * i] = sin(y)
        result = f
    ";
    assert_eq!(
        evaluated(text),
        r#"(0, {113: ([], m.lambda), 192: ([], m.lambda), "T": "f32", "mems[0]": "m", "N": 4, "lib.g": "g", "lib.K": 7}, (), {})"#
    );
}

#[test]
fn names_of_the_definition_are_not_captured() {
    let text = "
        i = 1
        x = 2
        w = 3
        y = 4
        N = 5
        def unrelated(n): return n
        @proc
        def f(n: size, x: f32[n]):
            for i in seq(0, i):
                w = x[i:n]
                y: f32
                y = w[i]
            x[0] = y
        result = f
    ";
    // The bound of the loop and the last `y` mean the host's; everything else is the definition's own.
    assert_eq!(evaluated(text), r#"(0, {"i": 1, "y": 4}, (), {})"#);
}

#[test]
fn definitions_in_functions_and_loops_capture_their_scope() {
    let text = "
        K = 1
        def make(n, name):
            m = n * 2
            @proc
            def inner(x: f32[m]):
                x[K] = later
                inner(x)
            later = 3
            return inner
        result = []
        for v in [1, 2]:
            @proc
            def f(x: f32[v]):
                g(x)
            result.append(f)
        result.append(make(5, \"a\"))
        g = 1
    ";
    // `later` and `g` have no value yet where the definition stands; the recursive name is not bound.
    assert_eq!(evaluated(text), r#"[(1, {"v": 1}, (), {}), (1, {"v": 2}, (), {}), (0, {"m": 10, "K": 1}, (), {})]"#);
}

#[test]
fn earlier_definitions_of_one_name_are_captured() {
    let text = "
        @proc
        def f(x: f32):
            pass
        @proc
        def f(x: f32):
            f(x)
        result = f
    ";
    assert_eq!(evaluated(text), r#"(1, {"f": (0, {}, (), {})}, (), {})"#);
}

#[test]
fn star_imports_supply_names_for_captures() {
    let text = "
        from pack import *
        from other import *
        @proc
        def f(x: f32[alpha] @ beta):
            gamma(x)
    ";
    let module = taken_apart(text);
    let text = star(&module).text;
    assert_eq!(text.lines().next().unwrap(), r#"load("pack", alpha = "alpha", beta = "beta")"#);
    assert_eq!(text.lines().nth(1).unwrap(), "pass");
    assert_eq!(text.lines().nth(2).unwrap(), r#"f = __define__(0, {"alpha": alpha, "beta": beta})"#);
}

#[test]
fn imports() {
    let text = "
        from exo import proc, DRAM
        from exo import *
        from neon import (
            Neon,
            neon_vld_4xf32 as vld,
        )
        from a.b import c
        from .sibling import d
        from . import tiling, other as o
        import std
        import a.b as ab, std as s
        x = 1
    ";
    let module = taken_apart(text);
    let text = rendered(text);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    assert_eq!(
        lines,
        [
            "pass",
            "pass",
            r#"load("neon", Neon = "Neon", vld = "neon_vld_4xf32")"#,
            "",
            "",
            "",
            r#"load("a.b", c = "c")"#,
            r#"load(".sibling", d = "d")"#,
            r#"tiling = __module__(".tiling"); o = __module__(".other")"#,
            r#"std = __module__("std")"#,
            r#"ab = __module__("a.b"); s = __module__("std")"#,
            "x = 1",
        ]
    );
    let modules: Vec<&str> = module.imports.iter().map(|import| import.module.as_str()).collect();
    assert_eq!(modules, ["neon", "a.b", ".sibling", ".tiling", ".other", "std", "a.b", "std"]);
    let ImportedNames::Named(names) = &module.imports[0].names else { panic!() };
    assert_eq!((names[1].name.as_str(), names[1].local.as_str()), ("neon_vld_4xf32", "vld"));
    assert_eq!(source_text(&names[1].span), "neon_vld_4xf32 as vld");
}

#[test]
fn f_strings_take_any_expression() {
    let text = r#"
        a = [1, "x"]
        n = 3
        result = [
            f"{a[0] + 1}-{{}}-{a!r}",
            f"{'nested ' + f'{n}'}" "plain {}" f'{n if n > 2 else "no"}',
            f"{n = }",
            f"""two
        {n}
        lines {len(
            a
        )}""",
            f"\t\"{n:d}{(lambda: 4)()}",
            rf"\d{n}",
            f"",
        ]
    "#;
    assert_eq!(
        evaluated(text),
        r#"["2-{}-[1, \"x\"]", "nested 3plain {}3", "n = 3", "two\n3\nlines 2", "\t\"34", "\\d3", ""]"#
    );
}

#[test]
fn strings_keep_their_value() {
    let text = r#"
        result = [
            "a" 'b'
            "c",
            r"\d\"" R"\n" u"u",
            "\N{BULLET}" "",
            """x
        y""" "z",
            1_000 + 0x_ff, 1_0.5,
        ]
    "#;
    assert_eq!(evaluated(text), r#"["abc", "\\d\\\"\\nu", "\u2022", "x\nyz", 1255, 10.5]"#);
}

#[test]
fn bare_tuples_annotations_and_generators() {
    let text = "
        def f(a: int, b: list[int] = [1], *c: str) -> tuple[int, int]:
            x: int
            y: dict[str, int] = {}
            y[1, 2] = a
            return a, len(b),
        p, = [1]
        q = 1, 2
        for i, j in (1, 2), (3, 4):
            p += i * j
        d = {(1, 2): 3}
        result = p, q, f(1), d[1, 2], sorted(x for x in (3, 1)), [y for y in (z for z in q)]
    ";
    assert_eq!(evaluated(text), "(15, (1, 2), (1, 1), 3, [1, 3], [1, 2])");
    assert_eq!(line(text, 1), "def f(a     , b            = [1], *c     )                   :");
}

#[test]
fn load_is_an_ordinary_name() {
    let text = "
        from pack import load
        from other import store as load
        def g(load, n):
            return load(n)
        x = struct(load = 1)
        y = x.load + g(load = load, n = 2)
        @proc
        def load(n: size, x: f32[n]):
            load(n, x)
    ";
    let text = rendered(text);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], r#"load("pack", load__exo = "load__exo")"#);
    assert_eq!(lines[1], r#"load("other", load__exo = "store")"#);
    assert_eq!(lines[3], "    return load__exo(n)");
    assert_eq!(lines[5], "y = x.load__exo + g(load__exo = load__exo, n = 2)");
    assert_eq!(lines[6], r#"load__exo = __define__(0, {"load": load__exo})"#);
}

#[test]
fn rendered_places_map_back() {
    let text = "
        a = f\"{left}\" + right
        from pack import *; tail = [
            one, two]
        @proc
        def f(x: f32[n1]):
            pass
        n1 = f(bad)
    ";
    let module = taken_apart(text);
    let rendered = star(&module);
    let back = |needle: &str| {
        let at = rendered.text.find(needle).unwrap_or_else(|| panic!("{needle} in {}", rendered.text));
        source_text(&rendered.span(at as u32, (at + needle.len()) as u32))
    };
    for needle in ["left", "right", "tail", "one", "two", "bad", "f(bad)"] {
        assert_eq!(back(needle), needle);
    }
    assert_eq!(back("load(\"pack\""), "from pack import *");
    assert!(back("__define__(0").starts_with("@proc"));
    let two = rendered.span_at(2, 9);
    assert_eq!(source_text(&two), "t");
    let span = rendered.span_at(0, rendered.text.find("left").unwrap());
    assert_eq!(source_text(&span), "l");
}

#[test]
fn characters_are_counted_not_bytes() {
    let module = taken_apart("x = \"ä€\" + f\"{y}\" + z\n");
    let rendered = star(&module);
    let column = rendered.text.chars().position(|c| c == 'z').unwrap();
    assert_eq!(source_text(&rendered.span_at(0, column)), "z");
}

#[test]
fn python_that_starlark_lacks() {
    for (text, what, remedy) in [
        ("while x: pass", "`while`", "repeat"),
        ("try:\n    f()\nexcept E:\n    pass", "`try`", "attempt"),
        ("raise E()", "`raise`", "fail"),
        ("class A: pass", "`class`", "struct"),
        ("@config\nclass C:\n    a: f32 = 1.0", "initial value", "any value"),
        ("@config\nclass C(B):\n    a: f32", "base", "fields of its own"),
        ("@config\nclass C:\n    def f(self): pass", "a statement in a config", "list of fields"),
        ("with a as b: pass", "`with`", "functions"),
        ("x = a is None", "`is`", "=="),
        ("def f():\n    yield 1", "`yield`", "list"),
        ("def f():\n    global x", "`global`", "dict"),
        ("def f():\n    nonlocal x", "`nonlocal`", "dict"),
        ("del x", "`del`", "pop"),
        ("a, *b = c", "unpacking", "slice"),
        ("x = [*a]", "unpacking", "slice"),
        ("x = {**a}", "`**` in a dict", "|"),
        ("assert x", "`assert`", "fail"),
        ("x = a ** 2", "`**`", "<<"),
        ("x **= 2", "`**=`", "out"),
        ("x = a < b < c", "a chained comparison", "and"),
        ("x = {1, 2}", "a set literal", "set("),
        ("x = {a for a in b}", "a set comprehension", "set("),
        ("x = y = 1", "a chained assignment", "one assignment"),
        ("if (x := 3): pass", "`:=`", "assign"),
        ("match x:\n    case 1: pass", "`match`", "elif"),
        ("async def f(): pass", "`async`", "leave"),
        ("for x in y:\n    pass\nelse:\n    pass", "the `else` of a loop", "flag"),
        ("def f(a, /): pass", "positional-only", "`/`"),
        ("@wrap\ndef f(): pass", "decorator `@wrap`", "f = wrap(f)"),
        ("@instr\ndef f(x: f32): pass", "without arguments", "template"),
        ("@proc\n@proc\ndef f(x: f32): pass", "second decorator", "function"),
        ("x = f\"{y:>3}\"", "format specification", "before"),
        ("x = f\"{y!a}\"", "`!a`", "!r"),
        ("x = ...", "`...`", "pass"),
        ("x = 1j", "complex", "real"),
        ("x = a[1:2, 3]", "slice among", "one after"),
        ("x = f(*a, b = 1)", "after `*args`", "all other"),
        ("def f():\n    import a", "inside a block", "top level"),
        ("if x:\n    from a import b", "inside a block", "top level"),
        ("import a.b", "dotted module", "as b"),
        ("from ..a import b", "above the pack", "by name"),
        ("x: dict[str,\n        int] = 3", "several lines", "one line"),
        ("@proc\ndef f(x: f32 @ a(\n  1)): pass", "several lines", "name"),
        ("type X = int", "`type`", "leave"),
    ] {
        let errors = refused(text);
        let all = messages(&errors);
        assert!(all.contains(what) && all.contains(remedy), "{text}: {all}");
        assert!(
            errors.iter().all(|error| error.primary.is_some() && error.code == codes::NOT_IN_DIALECT),
            "{text}: {all}"
        );
    }
}

#[test]
fn private_names_are_not_imported() {
    let errors = refused("from a import _b, c");
    assert_eq!((errors.len(), errors[0].code), (1, codes::IMPORT));
}

#[test]
fn all_mistakes_are_reported() {
    assert_eq!(refused("while x: pass\ny = a ** 2\ndel z\n").len(), 3);
}

#[test]
fn syntax_errors_have_places() {
    let errors = refused("x = 1\ny = (2 +\n");
    assert_eq!(errors[0].code, codes::SYNTAX);
    assert!(errors[0].primary.as_ref().unwrap().span.start >= 6);
    let errors = refused("def f(:\n    pass\nx = ]\n");
    assert!(errors.len() >= 2);
}

#[test]
fn deep_text_is_refused_and_the_deepest_accepted_text_runs() {
    for text in ["(".repeat(100_000), "-".repeat(100_000), vec!["1"; 100_000].join("+")] {
        assert_eq!(refused(&format!("x = {text}"))[0].code, codes::SYNTAX);
    }
    let depth = 95;
    let text = format!("result = {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(evaluated(&text), "1");
    let text = format!("result = {}1", "- ".repeat(180));
    assert_eq!(evaluated(&text), "1");
}

#[test]
fn the_examples_of_the_project_are_readable() {
    // A definition, host code and object code of each kind in one module.
    let text = "
        from avx2 import AVX2, mm256_loadu_ps
        def _alloc(new_name, prim_type, shape, srcinfo):
            return f\"{prim_type} {new_name}[{' * '.join(shape)}];\"
        TILE = memory(\"TILE\", alloc = _alloc, free = lambda new_name, prim_type, shape, srcinfo: \"\", can_read = False)
        @instr(\"mma(&{C_data}, {C}.strides[0]);\")
        def mma(C: [f32][16, 16] @ TILE, A: [f32][16, 16] @ AVX2):
            assert stride(A, 1) == 1
            for i in seq(0, 16):
                mm256_loadu_ps(C[i, 0:8], A[i, 0:8])
        print(mma, len(mma.find(\"for i in _: _\", many = True)))
        r = attempt(divide_loop, mma, \"i\", 4, [\"io\", \"ii\"], perfect = True)
    ";
    assert_eq!(
        line(text, 5),
        "mma = __define__(0, {\"TILE\": TILE, \"AVX2\": AVX2, \"mm256_loadu_ps\": mm256_loadu_ps}, \
         \"mma(&{C_data}, {C}.strides[0]);\")"
    );
}
