//! Index arithmetic that C would compute in too few bits: worked out where it is on literals, refused where it may leave 64 bits.

use super::running::{SANITIZED, agrees};
use super::{TestHooks, body, emulated, errors, last, messages, options};
use crate::codegen::{Options, compile};
use crate::diagnostic::codes;

#[test]
fn literals_do_not_meet_in_an_int() {
    let text = "
        @proc
        def inner(k: index, x: f32[8]):
            assert k >= 0
            assert k < 8
            x[k] = 2.0
        @proc
        def p(n: size, x: f32[8]):
            assert n < 65536 * 65536
            assert n >= 1
            for i in seq(0, 8):
                if i < 65536 * 65536:
                    x[i] = 1.0
                else:
                    x[i] = 3.0
            for i in seq(65536 * 65536, 65536 * 65536 + 4):
                x[i - 4294967296] = 4.0
            for i in seq(2000000000 + 2000000000, (2147483647 + 3) / 4 * 8):
                if i == 4000000001:
                    x[5] = 5.0
                if i >= 4000000002:
                    x[6] = 6.0
            inner(65536 * 65536 - 4294967289, x)
            if n * (300 * 200) > 2147483647 - 2147483648 * 4:
                x[4] = 7.0
    ";
    // Not so many rounds where it runs.
    let short = text.replace("(2147483647 + 3) / 4 * 8", "4000000000 + 3");
    agrees(&short, &options(), SANITIZED);
    agrees(&short, &options(), &["-O2", "-Werror=overflow"]);
    agrees(&short, &emulated(), SANITIZED);
    let c = body(text);
    for line in [
        "EXO_ASSUME(n < 4294967296);",
        "if (i < 4294967296) {",
        "i = 4000000000; i < 4294967296; i++",
        "inner(ctxt,7,x);",
    ] {
        assert!(c.contains(line), "{line}\n{c}");
    }
}

/// `--checked` computes on extents too.
#[test]
fn extents_do_not_meet_in_an_int() {
    let text = "
        @proc
        def p(x: i8[5, 50000, 50000], y: i8[4]):
            x[0, 0, 0] = y[0]
            y[1] = 0.0
    ";
    let checked = Options { checked: true, ..options() };
    let c = compile(&[last(text)], &checked, &TestHooks).unwrap_or_else(|errors| panic!("{}", messages(&errors))).c;
    assert!(c.contains("x + 12500000000") && !c.contains("50000) *"), "{c}");
    let text = "
        @proc
        def p(x: f32[8]):
            t: f32[40000, 50000] @ DRAM_STATIC
            t[39999, 49999] = x[0]
            x[1] = t[39999, 49999]
    ";
    assert!(body(text).contains("static float t[2000000000];"), "{}", body(text));
}

#[test]
fn what_may_leave_64_bits_is_refused_wherever_it_stands() {
    for statement in [
        "for i in seq(0, (92233720368547758 * n + 7) / 92233720368547758):\n        x[i] = 1.0",
        "for i in seq(0, n):\n        x[(92233720368547758 * i + 7) / 92233720368547758] = 1.0",
        "for i in seq(0, n):\n        if 4611686018427387904 * i >= 0:\n            x[i] = 1.0",
        "for i in seq(9223372036854775800, 9223372036854775800 + n):\n        x[i - 9223372036854775800] = 1.0",
        "t: f32[n * 1000000000000]\n    x[0] = 1.0",
        "x[0] = x[4611686018427387904 * n - 4611686018427387904 * n]",
        "w = x[0:(92233720368547758 * n) / 92233720368547758]\n    w[0] = 1.0",
        "Cfg.n = n * 1000000",
        "twice(n * 2097152)",
        "x[0] = 1.0\n    once(4611686018427387904 * n - 4611686018427387904 * n)",
    ] {
        let text = format!(
            "
@proc
def once(k: index):
    pass
@proc
def twice(k: index):
    if k * 1000000 > 7:
        pass
@proc
def p(n: size, x: f32[n]):
    {statement}
"
        );
        let errors = errors(&text);
        assert!(errors.iter().all(|error| error.code == codes::MAGNITUDE), "{statement}: {}", messages(&errors));
    }
}

/// Sizes that an assert bounds, and those that loops and calls bound, leave room for large factors.
#[test]
fn what_is_bounded_passes() {
    for statement in [
        "if n * 1000000 < 7:\n        x[0] = 1.0",
        "for i in seq(0, (n + 65535) / 65536):\n        if 65536 * i < n:\n            x[65536 * i] = 1.0",
        "for i in seq(0, 64):\n        if 72057594037927936 * i < 7:\n            x[0] = 1.0",
        "small(n)",
        "small(4)",
        "Cfg.n = 4 * n",
    ] {
        let text = format!(
            "
@proc
def small(k: size):
    assert k <= 1000
    if k * 1000000000000 > 7:
        pass
@proc
def p(n: size, x: f32[n]):
    assert n <= 1000
    {statement}
"
        );
        compile(&[last(&text)], &options(), &TestHooks)
            .unwrap_or_else(|errors| panic!("{statement}: {}", messages(&errors)));
    }
}
