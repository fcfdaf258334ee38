//! What has no C, and is said so with a place.

use super::{TestHooks, errors, last, messages, options};
use crate::codegen::compile;
use crate::diagnostic::{Code, codes};
use crate::testing;

fn refused(code: Code, message: &str, text: &str) {
    let errors = errors(text);
    let found = errors.iter().any(|error| error.code == code && error.message.contains(message));
    assert!(found, "{}", messages(&errors));
    assert!(errors.iter().all(|error| error.primary.is_some()));
}

#[test]
fn precisions_must_agree_in_an_expression() {
    let text = "
        @proc
        def p(a: f32, b: f64, o: f32):
            o = a + b
    ";
    refused(codes::PRECISION, "operands of precisions `f32` and `f64`", text);
    let text = "
        @proc
        def p(a: f32, b: f64, o: f32):
            o = select(a, 1.0, b, a)
    ";
    refused(codes::PRECISION, "operands of precisions", text);
}

#[test]
fn literals_must_be_values_of_their_precision() {
    for (ty, value) in
        [("i32", "3.7"), ("i8", "300"), ("ui8", "-256"), ("ui8", "256"), ("f32", "1e300"), ("f16", "70000.0")]
    {
        let text = format!("@proc\ndef p(o: {ty}):\n    o = {value}\n");
        assert_eq!(errors(&text)[0].code, codes::PRECISION, "{value} as {ty}");
    }
    for (ty, value) in [
        ("i32", "3.0"),
        ("i8", "-128"),
        ("i8", "--128"),
        ("ui8", "255"),
        ("ui8", "-1"),
        ("f32", "0.1"),
        ("f64", "1e300"),
    ] {
        let text = format!("@proc\ndef p(o: {ty}):\n    o = {value}\n");
        assert!(compile(&[last(&text)], &options(), &TestHooks).is_ok(), "{value} as {ty}");
    }
}

#[test]
fn buffers_fit_the_address_space() {
    for declaration in ["t: f32[n, 4611686018427387904]", "t: i8[3037000500, 3037000500] @ DRAM_STACK"] {
        let text = format!("@proc\ndef p(n: size, o: f32):\n    {declaration}\n    o = 0.0\n");
        refused(codes::MEMORY, "`t` is too large for any machine", &text);
    }
    refused(
        codes::MEMORY,
        "`x` is too large for any machine",
        "
        @proc
        def p(x: f32[5000000000, 5000000000]):
            x[0, 0] = 1.0
    ",
    );
    let text = "@proc\ndef p(n: size, x: f32[n, 1000000000, 1000000000]):\n    x[0, 0, 0] = 1.0\n";
    assert!(compile(&[last(text)], &options(), &TestHooks).is_ok());
}

#[test]
fn arrays_have_literal_extents_and_registers_are_not_read() {
    refused(
        codes::MEMORY,
        "DRAM_STACK holds buffers of literal extents only",
        "
        @proc
        def p(n: size):
            x: f32[n] @ DRAM_STACK
    ",
    );
    refused(
        codes::MEMORY,
        "AVX2 cannot read single elements",
        "
        @proc
        def p(o: f32):
            x: f32[8] @ AVX2
            o = x[0]
    ",
    );
    refused(
        codes::MEMORY,
        "AVX2 cannot write single elements",
        "
        @proc
        def p():
            x: f32[8] @ AVX2
            x[0] = 1.0
    ",
    );
    refused(
        codes::MEMORY,
        "AVX2 cannot reduce into single elements",
        "
        @proc
        def p():
            x: f32[8] @ AVX2
            x[0] += 1.0
    ",
    );
    refused(
        codes::MEMORY,
        "AVX2 registers hold eight floats",
        "
        @proc
        def p():
            x: f32[4] @ AVX2
    ",
    );
}

#[test]
fn static_buffers_are_not_shared_by_parallel_iterations() {
    refused(
        codes::MEMORY,
        "static buffer `t` would be shared",
        "
        @proc
        def p(n: size, x: f32[n]):
            for i in par(0, n):
                t: f32[4] @ DRAM_STATIC
                t[0] = 1.0
                x[i] = t[0]
    ",
    );
    refused(
        codes::MEMORY,
        "static buffer `t` would be shared",
        "
        @proc
        def inner(x: [f32][1]):
            t: f32[4] @ DRAM_STATIC
            t[0] = 1.0
            x[0] = t[0]
        @proc
        def p(n: size, x: f32[n]):
            for j in seq(0, 2):
                for i in par(0, n):
                    inner(x[i:i+1])
    ",
    );
}

#[test]
fn templates_name_their_parameters() {
    for (template, message) in [
        ("f({y});", "names `{y}`, which no parameter provides"),
        ("f({x_int});", "names `{x_int}`"),
        ("f({x!r});", "placeholder `{x!r}`"),
        ("f(}});}", "a single `}`"),
        ("f({x);", "is not closed"),
    ] {
        let text = format!("@instr(\"{template}\")\ndef f(x: f32):\n    x = 1.0\n@proc\ndef p(o: f32):\n    f(o)\n");
        refused(codes::TEMPLATE, message, &text);
    }
}

#[test]
fn exported_names_are_unique_and_possible() {
    let one = last("@proc\ndef p(x: f32):\n    x = 1.0\n");
    let two = last("@proc\ndef p(x: f32):\n    x = 2.0\n");
    let errors = compile(&[one.clone(), two], &options(), &TestHooks).unwrap_err();
    assert_eq!(errors[0].code, codes::EXPORT);
    assert!(compile(&[one.clone(), one], &options(), &TestHooks).is_ok(), "one proc twice is no clash");
    for name in ["main", "free", "register", "sqrt", "y0", "_relu_float"] {
        refused(codes::EXPORT, "cannot be the name", &format!("@proc\ndef {name}(x: f32):\n    x = 1.0\n"));
    }
    // Inside, such names are fine.
    let text = "
        @proc
        def free(x: f32):
            x = 1.0
        @proc
        def p(x: f32):
            free(x)
    ";
    let all = testing::procs(text);
    let c = compile(&all[1..], &options(), &TestHooks).unwrap().c;
    assert!(c.contains("static void free_1(") && c.contains("\nfree_1(ctxt,x);"), "{c}");
}

#[test]
fn functions_have_no_name_of_one_that_user_written_c_calls_or_defines() {
    let program = |global: &str, helper: &str, exported: &str| {
        format!(
            "@instr(\"step(&{{x_data}});\", \"{global}\")\ndef f(x: [f32][1]):\n    x[0] = 1.0\n@proc\ndef {helper}(x: f32[1]):\n    f(x[0:1])\n\
             @proc\ndef {exported}(x: f32[1]):\n    {helper}(x)\n"
        )
    };
    let defines = "static void more (float *x) {{ x[0] = once(x[0]); }}";
    for (helper, exported) in [("step", "p"), ("q", "step"), ("more", "p"), ("q", "once")] {
        refused(codes::EXPORT, "is also a function in the C of", &program(defines, helper, exported));
    }
    let mentions = "/* more(x) */ // once(x) is not called\\nstatic const char *more = \\\"once(\\\\\\\"x)\\\";";
    for (helper, exported) in [("once", "p"), ("q", "once")] {
        let text = program(mentions, helper, exported);
        assert!(compile(&[last(&text)], &options(), &TestHooks).is_ok(), "{helper}, {exported}");
    }
    // The name of an instruction is no function's.
    let text = program("", "q", "p").replace("def f(", "def step(").replace("    f(", "    step(");
    assert!(compile(&[last(&text)], &options(), &TestHooks).is_ok());
}
