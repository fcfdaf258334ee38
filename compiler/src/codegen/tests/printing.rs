//! The text of small procs.

use super::{body, emulated, last, options, output, output_of};
use crate::codegen::{compile, proc_text};
use crate::loop_ir::Waiver;
use crate::testing;

const WINDOWS: &str = "
    @proc
    def total(n: size, v: [f32][n], acc: f32):
        for i in seq(0, n):
            acc += v[i]

    @proc
    def colsum(n: size, A: f32[n, 8], out: f32):
        assert n >= 2
        tmp: f32
        tmp = 0.0
        total(n, A[:, 3], tmp)
        row = A[1, 2:6]
        out = tmp + row[0] * 2
        scratch: f64[n, 4]
        for i in par(0, n):
            scratch[i, i % 4] = A[i, 0]
";

#[test]
fn windows_calls_casts_and_parallel_loops() {
    let output = output(WINDOWS);
    let want = r#"#include "lib.h"

#if defined(__GNUC__) && !defined(_OPENMP)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
static void *exo_allocate(void *(*allocate)(size_t), size_t size, int rank, const int_fast32_t *extents) {
    const size_t most = PTRDIFF_MAX;
    const size_t element = size;
    for (int dim = 0; dim < rank; dim++) {
        if (extents[dim] <= 0 || (uintmax_t)extents[dim] > most / size) abort();
        size *= (size_t)extents[dim];
    }
    void *memory = (uintmax_t)INT_FAST32_MAX >= size / element ? allocate(size) : NULL;
    if (memory == NULL) abort();
    return memory;
}

#include <stdio.h>
#include <stdlib.h>

// total(
//     n : size,
//     v : [f32][n] @DRAM,
//     acc : f32 @DRAM
// )
static void total( void *ctxt, int_fast32_t n, struct exo_win_1f32c v, float* acc );

// colsum(
//     n : size,
//     A : f32[n, 8] @DRAM,
//     out : f32 @DRAM
// )
void colsum( void *ctxt, int_fast32_t n, const float* restrict A, float* restrict out ) {
EXO_ASSUME(n >= 2);
float tmp;
tmp = 0.0f;
total(ctxt,n,(struct exo_win_1f32c){ &A[3], { 8 } },&tmp);
struct exo_win_1f32c row = (struct exo_win_1f32c){ &A[8 + 2], { 1 } };
*out = tmp + row.data[0] * 2.0f;
double *scratch = (double*) exo_allocate(malloc, sizeof(*scratch), 2, (int_fast32_t[]){n, 4});
#pragma omp parallel for
for (int_fast32_t i = 0; i < n; i++) {
  scratch[i * 4 + i % 4] = (double)(A[i * 8]);
}
free(scratch);
}

// total(
//     n : size,
//     v : [f32][n] @DRAM,
//     acc : f32 @DRAM
// )
static void total( void *ctxt, int_fast32_t n, struct exo_win_1f32c v, float* restrict acc ) {
(void)ctxt;
for (int_fast32_t i = 0; i < n; i++) {
  *acc += v.data[i * v.strides[0]];
}
}
"#;
    assert_eq!(output.c, want);
}

#[test]
fn the_header_has_structs_and_public_prototypes() {
    let output = output(WINDOWS);
    let end = r#"#ifndef EXO_WIN_1F32C
#define EXO_WIN_1F32C
struct exo_win_1f32c{
    const float * const data;
    const int_fast32_t strides[1];
};
#endif
// colsum(
//     n : size,
//     A : f32[n, 8] @DRAM,
//     out : f32 @DRAM
// )
void colsum( void *ctxt, int_fast32_t n, const float* A, float* out );



#ifdef __cplusplus
}
#endif
#endif  // LIB_H
"#;
    assert!(output.header.ends_with(end), "{}", output.header);
    assert!(output.header.starts_with("\n#pragma once\n#ifndef LIB_H\n#define LIB_H\n"), "{}", output.header);
    assert!(!output.header.contains("total"), "{}", output.header);
}

const REGISTERS: &str = r#"
    @instr("{dst_data} = _mm256_loadu_ps(&{src_data});", "/* load */")
    def load(dst: [f32][8] @ AVX2, src: [f32][8] @ DRAM):
        assert stride(src, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]

    @instr("_mm256_storeu_ps(&{dst_data}, {src_data});", "/* load */")
    def store(dst: [f32][8] @ DRAM, src: [f32][8] @ AVX2):
        assert stride(dst, 0) == 1
        for i in seq(0, 8):
            dst[i] = src[i]

    @proc
    def copy(n: size, x: f32[n, 8], y: f32[n, 8]):
        r: f32[2, 8] @ AVX2
        w = r[1, 0:8]
        for i in seq(0, n):
            load(w, x[i, 0:8])
            store(y[i, 0:8], r[1, 0:8])
"#;

#[test]
fn instructions_are_their_templates() {
    let want = "__m256 r[2];
for (int_fast32_t i = 0; i < n; i++) {
  r[1] = _mm256_loadu_ps(&x[(i) * 8]);
  _mm256_storeu_ps(&y[(i) * 8], r[1]);
}
";
    assert_eq!(body(REGISTERS), format!("(void)ctxt;\n{want}"));
    let output = output(REGISTERS);
    assert_eq!(output.c.matches("/* load */").count(), 1, "globals are emitted once: {}", output.c);
    let comment =
        "/* relying on the following instruction...\"\nload(dst,src)\n{dst_data} = _mm256_loadu_ps(&{src_data});\n*/\n";
    assert!(output.c.contains(comment), "{}", output.c);
    assert!(output.raw_c.iter().any(|raw| raw == "#include <immintrin.h>\n"), "{:?}", output.raw_c);
    assert!(output.raw_c.iter().any(|raw| raw == "/* load */"), "{:?}", output.raw_c);
}

#[test]
fn names_that_an_instruction_declares_do_not_capture_the_callers() {
    let text = r##"
    @instr("{{ float half = {src_data}; for (int lane = 0; lane < 4; lane++) {dst_data} = half; }}",
           "#include <half.h>\n#define WIDTH 4")
    def fill(dst: [f32][1], src: [f32][1]):
        dst[0] = src[0]
    @proc
    def p(h: size, x: f32[h], WIDTH: f32[h]):
        half: f32[h]
        for lane in seq(0, h):
            half[lane] = x[lane]
            fill(WIDTH[lane:lane + 1], half[lane:lane + 1])
"##;
    let c = output(text).c;
    assert!(c.contains("float half = half_1[lane_1];"), "{c}");
    assert!(c.contains("WIDTH_1[lane_1] = half;"), "{c}");
    assert!(c.contains("int_fast32_t h,"), "names of included headers stay free: {c}");
}

#[test]
fn emulation_emits_bodies_and_plain_arrays() {
    let output = output_of(&last(REGISTERS), &emulated());
    assert!(output.c.contains("static void load( void *ctxt, struct exo_win_1f32 dst, struct exo_win_1f32c src )"));
    assert!(output.c.contains("float r[2 * 8];\n"), "{}", output.c);
    assert!(output.c.contains("dst.data[i * dst.strides[0]] = src.data[i];"), "{}", output.c);
    assert!(!output.c.contains("mm256"), "{}", output.c);
    assert!(output.raw_c.is_empty(), "{:?}", output.raw_c);
}

#[test]
fn whole_windows_are_arguments_of_instructions() {
    let text = r#"
        @instr("copy8({dst}, {src}, &{dst_data}, {dst_int}, {k});")
        def copy8(k: index, dst: [f32][8], src: [f32][8]):
            for i in seq(0, 8):
                dst[i] = src[i]
        @proc
        def p(a: [f32][8], b: f32[8]):
            v = b[0:8]
            copy8(1 + 2, a, v)
    "#;
    let want = "copy8(((struct exo_win_1f32){ &a.data[0], { a.strides[0] } }), \
                ((struct exo_win_1f32c){ &v.data[0], { v.strides[0] } }), &a.data[0], a, (1 + 2));\n";
    assert!(body(text).ends_with(want), "{}", body(text));
}

#[test]
fn division_and_modulus_are_floor() {
    let text = "
        @proc
        def idx(n: size, k: index, x: f32[n + 4, 3]):
            assert k >= 0 and k < n
            for i in seq(0, n):
                x[(i + 3) / 4, i % 3] = 1.0
                x[i + (k + 1) / 2 - k / 2, 2] += x[n - 1 - i, 0]
                x[i, (k - 7) % 3] = 1.0
    ";
    let want = "(void)ctxt;
EXO_ASSUME(k >= 0 && k < n);
for (int_fast32_t i = 0; i < n; i++) {
  x[((i + 3) / 4) * 3 + i % 3] = 1.0f;
  x[(i + exo_floor_div((k + 1), 2) - exo_floor_div(k, 2)) * 3 + 2] += x[(n - 1 - i) * 3];
  x[i * 3 + exo_floor_mod((k - 7), 3)] = 1.0f;
}
";
    assert_eq!(body(text), want);
}

#[test]
fn constant_divisions_are_folded_as_integers() {
    let text = "
        @proc
        def p(n: size, x: f32[8]):
            x[7 / 2] = 1.0
            x[0 / 3] = 1.0
            x[(-7) / 2 + 6] = 1.0
            x[(-7) % 8] = 1.0
            for i in seq(0, n / 2):
                if i % 2 == 0 and i < n or i == 3:
                    x[0] = 2.0
    ";
    let want = "(void)ctxt;
x[3] = 1.0f;
x[0] = 1.0f;
x[2] = 1.0f;
x[1] = 1.0f;
for (int_fast32_t i = 0; i < ((n) / (2)); i++) {
  if ((i % 2 == 0 && i < n) || i == 3) {
    x[0] = 2.0f;
  }
}
";
    assert_eq!(body(text), want);
}

#[test]
fn signs_never_meet() {
    let text = "
        @proc
        def p(a: f32[4], b: f32[4]):
            for k in seq(0, 4):
                a[k] = -(-b[k])
                a[k] = 1.0 - (-(-b[k]))
                a[k] = -(a[k] - -1.0) * 2
    ";
    let want = "(void)ctxt;
for (int_fast32_t k = 0; k < 4; k++) {
  a[k] = -(-b[k]);
  a[k] = 1.0f - -(-b[k]);
  a[k] = -(a[k] - -1.0f) * 2.0f;
}
";
    assert_eq!(body(text), want);
}

#[test]
fn a_buffer_lives_as_long_as_its_windows() {
    let text = "
        @proc
        def p(n: size, o: f32[4]):
            buf: f32[n + 3]
            view = buf[0:4]
            for k in seq(0, 4):
                buf[k] = 3.0
            for k in seq(0, 4):
                o[k] = view[k]
            o[0] = 1.0
            unused: f32[n]
            o[1] = 1.0
    ";
    let text = body(text);
    let use_at = text.find("o[k] = view.data").unwrap();
    let free_at = text.find("free(buf);").unwrap();
    assert!(use_at < free_at && free_at < text.find("o[0]").unwrap(), "{text}");
    assert!(
        text.contains(
            "float *unused = (float*) exo_allocate(malloc, sizeof(*unused), 1, (int_fast32_t[]){n});\nfree(unused);\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("float *buf = (float*) exo_allocate(malloc, sizeof(*buf), 1, (int_fast32_t[]){n + 3});"),
        "{text}"
    );
}

#[test]
fn reserved_words_and_clashes_are_renamed() {
    let text = "
        @proc
        def callee(x: [f32][4]):
            x[0] = 1.0
        @proc
        def p(double: size, free: f32[double], ctxt: [f32][double], callee_: f32):
            register: f32[double]
            for i in seq(0, double):
                register[i] = ctxt[i]
                free[i] = register[i]
            for i in seq(0, 2):
                for i in seq(0, 3):
                    i_1: f32
                    i_1 = 1.0
                    callee_ = i_1
    ";
    let want = "float *register_1 = (float*) exo_allocate(malloc, sizeof(*register_1), 1, (int_fast32_t[]){double_1});
for (int_fast32_t i = 0; i < double_1; i++) {
  register_1[i] = ctxt_1.data[i * ctxt_1.strides[0]];
  free_1[i] = register_1[i];
}
free(register_1);
for (int_fast32_t i = 0; i < 2; i++) {
  for (int_fast32_t i_1 = 0; i_1 < 3; i_1++) {
    float i_2;
    i_2 = 1.0f;
    *callee_ = i_2;
  }
}
";
    assert_eq!(body(text), format!("(void)ctxt;\n{want}"));
}

#[test]
fn memories_of_scalars_and_arrays() {
    let text = "
        @proc
        def p(o: f32):
            a: f32 @ DRAM_STATIC
            b: f32[2, 3] @ DRAM_STATIC
            c: f32 @ DRAM_STACK
            d: i8[4] @ DRAM_STACK
            a = 1.0
            b[1, 2] = a
            c = b[1, 2]
            o = c
            d[0] = 3
    ";
    let want = "(void)ctxt;
static float a;
static float b[2 * 3];
float c;
int8_t d[4];
(void)d;
a = 1.0f;
b[5] = a;
c = b[5];
*o = c;
d[0] = ((int8_t) 3);
";
    assert_eq!(body(text), want);
}

#[test]
fn mutable_windows_become_constant_ones_at_calls() {
    let text = "
        @proc
        def look(v: [f32][4], o: f32):
            o = v[1]
        @proc
        def p(w: [f32][4], x: f32[8], o: f32):
            w[0] = 1.0
            look(w, o)
            alias = x[2:6]
            alias[0] = 2.0
            look(alias, o)
            look(x[0:4], o)
    ";
    let want = "w.data[0] = 1.0f;
look(ctxt,(struct exo_win_1f32c){ w.data, { w.strides[0] } },o);
struct exo_win_1f32 alias = (struct exo_win_1f32){ &x[2], { 1 } };
alias.data[0] = 2.0f;
look(ctxt,(struct exo_win_1f32c){ alias.data, { alias.strides[0] } },o);
look(ctxt,(struct exo_win_1f32c){ &x[0], { 1 } },o);
";
    assert_eq!(body(text), want);
}

#[test]
fn asserted_strides_are_literals() {
    let text = "
        @proc
        def p(n: size, w: [f32][n, 16], s: stride):
            assert stride(w, 1) == 1
            assert stride(w, 0) == s
            w[0, 1] = 2.0
            w[n - 1, 0] = 2.0
    ";
    let want = "(void)ctxt;
// assert stride(w, 1) == 1
EXO_ASSUME(w.strides[0] == s);
w.data[1] = 2.0f;
w.data[(n - 1) * w.strides[0]] = 2.0f;
";
    assert_eq!(body(text), want);
}

#[test]
fn externs_follow_the_precision() {
    let text = "
        @proc
        def p(x: f32, y: f64, o: f32, q: f64):
            o = sin(x) + relu(x * 2.0)
            o = expf(x + 1.0) + fmaxf(x, 0.0) + sigmoid(x)
            q = sin(y) + sqrt(y) + sigmoid(y) + expf(y)
            o = select(x, 1.0, x, 3.0)
    ";
    let want = "(void)ctxt;
*o = sinf((float)(*x)) + _relu_float((float)(*x * 2.0f));
*o = expf((float)(*x + 1.0f)) + fmaxf((float)(*x), (float)(0.0f)) + _sigmoid_float((float)*x);
*q = sin((double)(*y)) + sqrt((double)(*y)) + _sigmoid_double((double)*y) + exp((double)(*y));
*o = _select_float((float)*x, (float)1.0f, (float)*x, (float)3.0f);
";
    assert_eq!(body(text), want);
    let c = output(text).c;
    for helper in ["static float _relu_float(", "static float _sigmoid_float(", "static double _sigmoid_double("] {
        assert_eq!(c.matches(helper).count(), 1, "{c}");
    }
    assert!(!c.contains("_relu_double"), "{c}");
    assert_eq!(c.matches("#include <math.h>").count(), 1, "{c}");
}

#[test]
fn literals_take_the_precision_of_their_expression() {
    let text = "
        @proc
        def p(a: f64[4], b: f32[4], c: i32[4], d: R[4]):
            a[0] = (1.5 + 2) + b[0]
            a[1] = 1e20
            a[2] = 1e-7 * a[3]
            c[0] = c[1] * 3
            c[1] = b[1]
            d[0] = 0.1 + d[1]
            b[0] = 1e-60
    ";
    let want = "(void)ctxt;
a[0] = (double)(1.5f + 2.0f + b[0]);
a[1] = 1e+20;
a[2] = 1e-07 * a[3];
c[0] = (int32_t)((uint32_t)(c[1]) * ((int32_t) 3));
c[1] = (int32_t)(b[1]);
d[0] = 0.1f + d[1];
b[0] = 0.0f;
";
    assert_eq!(body(text), want);
}

#[test]
fn equal_names_are_told_apart_and_the_order_is_fixed() {
    let first = testing::procs(
        "
        @proc
        def helper(x: f32):
            x = 1.0
        @proc
        def one(x: f32):
            helper(x)
    ",
    );
    let second = testing::procs(
        "
        @proc
        def helper(x: f32):
            x = 2.0
        @proc
        def two(x: f32):
            helper(x)
    ",
    );
    let exported = [second[1].clone(), first[1].clone()];
    let c = compile(&exported, &options(), &super::TestHooks).unwrap().c;
    // First use decides: `two` is given first.
    let two = &c[c.find("\nvoid two(").unwrap()..];
    assert!(two.contains("\nhelper(ctxt,x);"), "{c}");
    assert!(c.contains("\nhelper_1(ctxt,x);"), "{c}");
    assert_eq!(c, compile(&exported, &options(), &super::TestHooks).unwrap().c);
}

#[test]
fn a_reader_gets_the_text_without_guards() {
    let text = proc_text(&last(WINDOWS), &super::TestHooks).unwrap();
    assert!(text.starts_with("\n#ifndef EXO_WIN_1F32C"), "{text}");
    assert!(!text.contains("#include \"") && !text.contains("#pragma once"), "{text}");
    assert!(text.contains("free(scratch);"), "{text}");
}

#[test]
fn waived_checks_are_named() {
    let mut proc = (*last(
        "
        @proc
        def p(x: f32):
            x = 1.0
    ",
    ))
    .clone();
    let waiver = |pack: &str| Waiver { pack: pack.into(), step: "fuse(p, \"i\",\n \"j\") \\".to_string() };
    proc.lineage.waived = std::sync::Arc::new(vec![waiver(""), waiver("tiles")]);
    let c = output_of(&std::sync::Arc::new(proc), &options()).c;
    assert!(
        c.contains(
            "// )\n// waived in fuse(p, \"i\",  \"j\") \n// waived by `tiles` in fuse(p, \"i\",  \"j\") \nvoid p("
        ),
        "{c}"
    );
}

#[test]
fn offsets_are_chains_and_windows_keep_their_factors() {
    let text = "
        @proc
        def p(n: size, m: size, A: f32[n, m, 8], o: f32[n + 1, m + 1]):
            t: f32[n, 2 * m, 3]
            w = A[n / 2, 0:m, :]
            for i in seq(0, n / 2):
                for j in seq(0, m):
                    w[j, 2 * 3] = o[i + 1, j]
                    t[i, 2 * j + 1, 0] = -A[i, j, 1]
            v = t[0:n, m:2 * m, 0]
            v[0, 0] = 1.0
    ";
    let want = "(void)ctxt;
float *t = (float*) exo_allocate(malloc, sizeof(*t), 3, (int_fast32_t[]){n, 2 * m, 3});
struct exo_win_2f32 w = (struct exo_win_2f32){ &A[((n / 2)) * (m * 8)], { 8, 1 } };
for (int_fast32_t i = 0; i < ((n) / (2)); i++) {
  for (int_fast32_t j = 0; j < m; j++) {
    w.data[j * w.strides[0] + 6 * w.strides[1]] = o[(i + 1) * (m + 1) + j];
    t[i * 2 * m * 3 + (2 * j + 1) * 3] = -A[i * m * 8 + j * 8 + 1];
  }
}
struct exo_win_2f32 v = (struct exo_win_2f32){ &t[(m) * 3], { 2 * m * 3, 3 } };
v.data[0] = 1.0f;
free(t);
";
    assert_eq!(body(text), want);
}
