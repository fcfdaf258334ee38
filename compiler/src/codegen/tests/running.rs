//! Generated C compiled with warnings as errors, run, and compared with the interpreter.

use std::sync::Arc;

use super::toolchain::{accepts, buffers};
use super::{emulated, last, options};
use crate::codegen::{Options, harness};
use crate::interpret::draw::Setting;
use crate::interpret::random::Random;
use crate::interpret::rounded::MachineValue;
use crate::interpret::{DEFAULT_BUDGET, Rounded, run};
use crate::loop_ir::Proc;

/// Runs the last proc of the text on drawn inputs, in C and in the interpreter.
pub(super) fn agrees(text: &str, options: &Options, flags: &[&str]) {
    let proc: Arc<Proc> = last(text);
    let mut random = Random::new(7);
    for limit in [1, 5, 9] {
        let setting = Setting::draw(&[&proc], &Default::default(), limit, &mut random).expect("inputs");
        let inputs = setting.inputs(&Rounded, &proc, &mut random);
        let expected = run(&Rounded, &proc, inputs.clone(), DEFAULT_BUDGET).unwrap_or_else(|f| panic!("{}", f.message));
        for buffers in buffers(&proc, options, &inputs, flags) {
            if let Some(difference) = harness::first_difference(&expected, &buffers) {
                panic!("{difference}\n{}", super::output_of(&proc, options).c);
            }
        }
    }
}

pub(super) const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

#[test]
fn windows_and_calls() {
    let text = "
        @proc
        def scale(n: size, m: size, x: [f32][n, m], f: f32):
            for i in seq(0, n):
                for j in seq(0, m):
                    x[i, j] = x[i, j] * f
        @proc
        def dot(n: size, x: [f32][n], y: [f32][n], o: f32):
            o = 0.0
            for i in seq(0, n):
                o += x[i] * y[i]
        @proc
        def p(n: size, A: [f32][n + 2, 5], B: f32[n, 8], c: f32, q: f64):
            scale(n, 2, A[2:n+2, 1:3], c)
            col = B[:, 3]
            part = A[0:n, 4]
            dot(n, col, part, c)
            w = A[1:n+1, :]
            v = w[:, 1:4]
            v[0, 2] += 1.0
            scale(n, 3, v, c)
            t: f32
            t = 2.0
            dot(n, v[:, 1], B[0:n, 0], t)
            q = c + t
            B[n - 1, 7] = t
    ";
    agrees(text, &options(), SANITIZED);
}

#[test]
fn windows_without_elements_point_into_their_buffer() {
    let text = "
        @proc
        def p(n: size, x: f32[n, 4], o: f32):
            w = x[1:n, 2:4]
            for i in seq(0, n - 1):
                w[i, 1] = 3.0
            v = w[n-1:n-1, 1:2]
            for i in seq(1, n):
                u = x[i:n, 0]
                o += u[0]
    ";
    agrees(text, &options(), SANITIZED);
    let c = super::output_of(&last(text), &options()).c;
    assert!(c.contains("n <= 1 ? &x[0] : &x[4 + 2]"), "{c}");
    assert!(c.contains("{ &x[(i) * 4], { 4 } }"), "a window that has elements needs no test\n{c}");
}

#[test]
fn negative_dividends() {
    let text = "
        @proc
        def p(k: index, x: f32[8]):
            assert k >= -20 and k <= 20
            for i in seq(0, 3):
                x[(i - 3) % 8] += 1.0
                x[(k + i) % 8] += 2.0
                x[4 + (i - 3) / 2] += 4.0
                if (k - 5) / 3 < -1:
                    x[0] += 8.0
    ";
    agrees(text, &options(), SANITIZED);
}

#[test]
fn assertions_that_need_helpers_are_assumptions() {
    agrees(
        "
        @proc
        def p(k: index, n: size, x: f32[8]):
            assert k % 4 == 1
            assert k / 2 <= n
            assert n % 3 == 0 and n / 2 < 100 or n == 4
            x[k % 8] = 1.0
    ",
        &options(),
        SANITIZED,
    );
}

#[test]
fn double_negation_and_self_assignment() {
    agrees(
        "
        @proc
        def p(a: f32[4], b: f32[4], s: f64):
            t: f32
            t = a[1]
            t = t
            for k in seq(0, 4):
                a[k] = -(-b[k]) + 1.0 - (-(-t))
            s = s
            if -(-1) < 3:
                s += 1.0
            for i in seq(0, 4):
                if i == i and i <= 2 or i < i:
                    a[i] += 1.0
    ",
        &options(),
        SANITIZED,
    );
}

#[test]
fn integers_and_conversions() {
    agrees(
        "
        @proc
        def p(a: i8[4], b: i32[4], c: ui16[4], d: f32[4], e: f64[4], f: i64, g: ui32):
            for i in seq(0, 4):
                a[i] = a[i] * 3 + a[3 - i]
                b[i] = a[i]
                b[i] += b[3 - i] * -2
                c[i] = c[i] + 7
                d[i] = b[i]
                e[i] = d[i] * 0.1 + 2
                d[i] += e[i]
            f = f * 1000000
            g = g + 4000000000
    ",
        &options(),
        SANITIZED,
    );
}

#[test]
fn externs() {
    agrees(
        "
        @proc
        def p(x: f32[4], y: f64[4], k: i32[4]):
            for i in seq(0, 4):
                x[i] = relu(x[i] - 1.0) + select(x[i], 0.5, x[i], 3.0) + fmaxf(x[i], 0.25)
                y[i] = relu(y[i] * 2.0) + select(1.0, y[i], 2.0, y[i])
                k[i] = relu(k[i]) + select(k[i], 1, 2, k[i])
    ",
        &options(),
        SANITIZED,
    );
    accepts(
        &[last(
            "
        @proc
        def p(x: f32, y: f64):
            x = sin(x) + sqrt(x) + expf(x) + sigmoid(x)
            y = sin(y) + sqrt(y) + expf(y) + sigmoid(y)
    ",
        )],
        &options(),
        &[],
    );
}

#[test]
fn liveness_through_aliases_and_calls() {
    agrees(
        "
        @proc
        def fill(n: size, x: [f32][n], y: [f32][n]):
            for i in seq(0, n):
                x[i] = y[i] + 1.0
        @proc
        def p(n: size, o: f32[n], d: f32[n]):
            buf: f32[2, n]
            a = buf[1, :]
            fill(n, a, d[0:n])
            b = a[0:n]
            for k in seq(0, n):
                o[k] = b[k]
                inner: f32[n]
                iw = inner[0:n]
                iw[k] = 1.0
                o[k] += iw[k]
    ",
        &options(),
        SANITIZED,
    );
}

#[test]
fn static_stack_and_parallel() {
    agrees(
        "
        @proc
        def p(n: size, x: f32[n, 4]):
            s: f32[4] @ DRAM_STATIC
            z: f32 @ DRAM_STATIC
            z = 1.0
            for i in seq(0, 4):
                s[i] = z
            for i in par(0, n):
                t: f32[4] @ DRAM_STACK
                for j in seq(0, 4):
                    t[j] = x[i, j] + s[j]
                for j in seq(0, 4):
                    x[i, j] = t[3 - j]
    ",
        &options(),
        SANITIZED,
    );
}

#[test]
fn parallel_loops_with_and_without_openmp() {
    let text = "
        @proc
        def p(n: size, x: f32[n]):
            for i in par(0, n):
                x[i] += 1.0
    ";
    accepts(&[last(text)], &options(), &["-fopenmp"]);
    accepts(&[last(text)], &options(), &[]);
}

#[test]
fn unused_things_are_not_warned_about() {
    accepts(
        &[last(
            "
        @proc
        def nothing(n: size, b: bool, s: stride, x: f32[n], w: [f32][n], y: f32):
            pass
        @proc
        def p(n: size, b: bool, s: stride, x: f32[n], w: [f32][n], y: f32, unused: i8):
            a: f32
            c: f32[4] @ DRAM_STACK
            c[0] = 1.0
            d: f32
            d = 2.0
            d += 1.0
            e: f32[n]
            v = w[0:n]
            for i in seq(0, 2):
                pass
            if b:
                pass
            else:
                u = x[0:1]
            nothing(n, b, s, x, w, y)
    ",
        )],
        &options(),
        &[],
    );
}

#[test]
fn words_of_messages_are_no_uses() {
    let text = "
        @proc
        def p(ctxt: f32[4], positive: index, buffer: [f32][4], overlap: bool, n: size):
            for i in seq(0, n):
                pass
    ";
    for checked in [false, true] {
        accepts(&[last(text)], &Options { checked, ..options() }, &[]);
    }
}

const VECTOR: &str = r#"
    @instr("{dst_data} = _mm256_loadu_ps(&{src_data});")
    def load(dst: [f32][8] @ AVX2, src: [f32][8] @ DRAM):
        assert stride(src, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]
    @instr("_mm256_storeu_ps(&{dst_data}, {src_data});")
    def store(dst: [f32][8] @ DRAM, src: [f32][8] @ AVX2):
        assert stride(dst, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]
    @instr("{out_data} = _mm256_broadcast_ss({val});")
    def broadcast(out: [f32][8] @ AVX2, val: f32):
        for i in seq(0, 8):
            out[i] = val
    @instr("{dst_data} = _mm256_add_ps({dst_data}, _mm256_mul_ps({a_data}, {b_data}));")
    def multiply_add(dst: [f32][8] @ AVX2, a: [f32][8] @ AVX2, b: [f32][8] @ AVX2):
        for i in seq(0, 8):
            dst[i] += a[i] * b[i]
    @proc
    def p(n: size, x: f32[n, 16], w: [f32][8], s: f32):
        assert stride(w, 0) == 1
        acc: f32[2, 8] @ AVX2
        sv: f32[8] @ AVX2
        broadcast(sv, s)
        unread: f32[8] @ AVX2
        load(unread, w)
        for j in seq(0, 2):
            part = acc[j, :]
            load(part, w)
            for i in seq(0, n):
                t: f32[8] @ AVX2
                row = x[i, 8 * j:8 * j + 8]
                load(t[0:8], row)
                multiply_add(part, t, sv)
            store(x[0, 8 * j:8 * j + 8], acc[j, 0:8])
            store(w, part)
"#;

#[test]
fn vector_registers() {
    agrees(VECTOR, &emulated(), SANITIZED);
    if cfg!(target_arch = "x86_64") {
        accepts(&[last(VECTOR)], &options(), &["-mavx2"]);
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        agrees(VECTOR, &options(), &["-mavx2"]);
    }
}

#[test]
fn the_harness_sees_writes_outside() {
    let stdout = "float 0x1p+0 -0x1.8p-1 inf nan 0x0p+0 0x0.0000000000001p-1022\nint -3 4\ndone\n";
    let parsed = harness::parse(stdout).unwrap();
    let tiny = f64::from_bits(1);
    let want = [1.0, -0.75, f64::INFINITY, f64::NAN, 0.0, tiny].map(MachineValue::Float).to_vec();
    assert_eq!(parsed, vec![want, vec![MachineValue::Int(-3), MachineValue::Int(4)]]);
    assert!(harness::parse("float 0x1p+0\noverrun 2\ndone\n").unwrap_err().contains("argument 2"));
    assert!(harness::parse("float 0x1p+0\n").unwrap_err().contains("end"));
    assert!(harness::parse("hello\ndone\n").is_err());
}

#[test]
fn scalars_are_not_read_before_they_have_a_value() {
    let text = "
        @proc
        def add(a: f32, x: [f32][2]):
            a += x[0]
        @proc
        def p(n: size, x: f32[n + 1], y: f32[n + 1]):
            t: f32
            u: f32
            s: f32 @ DRAM_STACK
            for i in seq(0, n + 1):
                if i == 0:
                    t = x[0]
                    u = 0.0
                    s = 1.0
                add(u, x[n - 1:n + 1])
                s += u
                y[i] = t + s
    ";
    let c = super::output_of(&last(text), &options()).c;
    for declared in ["float t = 0;", "float u = 0;", "float s = 0;"] {
        assert!(c.contains(declared), "{c}");
    }
    agrees(text, &options(), SANITIZED);
    agrees(text, &options(), &["-O3"]);
    let text = "
        @proc
        def half(a: f32, x: f32):
            a = x * 0.5
        @proc
        def p(x: f32[8], y: f32[8]):
            for i in seq(0, 8):
                t: f32
                u: f32
                if i < 4:
                    t = x[i]
                else:
                    t = -x[i]
                half(u, t)
                y[i] = t + u
    ";
    let c = super::output_of(&last(text), &options()).c;
    assert!(c.contains("float t;\n") && c.contains("float u;\n"), "{c}");
    agrees(text, &options(), SANITIZED);
}

/// A product of extents that wraps around would allocate too little: the program ends instead.
#[test]
fn sizes_that_wrap_around_end_the_program() {
    let text = "
        @proc
        def p(n: size, m: size, x: f32[1]):
            t: f64[n, m] @ MEMORY
            t[n - 1, m - 1] = x[0]
            x[0] = t[n - 1, m - 1] + 1.0
    ";
    for memory in ["DRAM", "MDRAM"] {
        let text = text.replace("MEMORY", memory);
        agrees(&text, &options(), SANITIZED);
        let proc = last(&text);
        for (n, m, ends) in [("4294967296", "4294967296", true), ("2305843009213693953", "8", true), ("3", "5", false)]
        {
            let main = format!(
                "#include \"lib.h\"\nint main(void) {{ float x = 1; p((void *)0, {n}, {m}, &x); return x != 2; }}\n"
            );
            let all = super::toolchain::aborts(&proc, &options(), &main);
            assert!(all.iter().all(|aborts| *aborts == ends), "{n} * {m} in {memory}: {all:?}");
        }
    }
}
