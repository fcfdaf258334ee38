//! Instructions run through their wrappers and compared with their bodies.

use std::sync::Arc;

use super::toolchain::buffers;
use super::{last, options};
use crate::codegen::{conformance, harness};
use crate::interpret::draw::Setting;
use crate::interpret::random::Random;
use crate::interpret::{DEFAULT_BUDGET, Rounded, run};
use crate::loop_ir::Proc;
use crate::print;

/// What a few random runs of an instruction's C differ in from its body, if anything.
fn difference(text: &str, flags: &[&str]) -> Option<String> {
    let wrapper: Arc<Proc> = conformance::wrapper(&last(text)).unwrap();
    let mut random = Random::new(3);
    for _ in 0..3 {
        let setting = Setting::draw(&[&wrapper], &Default::default(), 8, &mut random).expect("inputs");
        let inputs = setting.inputs(&Rounded, &wrapper, &mut random);
        let expected =
            run(&Rounded, &wrapper, inputs.clone(), DEFAULT_BUDGET).unwrap_or_else(|f| panic!("{}", f.message));
        for buffers in buffers(&wrapper, &options(), &inputs, flags) {
            if let Some(difference) = harness::first_difference(&expected, &buffers) {
                return Some(difference);
            }
        }
    }
    None
}

#[test]
fn ordinary_instructions() {
    let copy = |body: &str| {
        format!(
            "@instr(\"for (int i = 0; i < {{n}}; i++) {{{{ {body} }}}}\")
def copy(n: size, dst: [f32][n, 2], src: [f32][n, 2], s: f32):
    assert stride(src, 1) == 1
    for i in seq(0, n):
        dst[i, 1] = src[i, 0] * s
"
        )
    };
    let good = "(&{dst_data})[i * {dst}.strides[0] + {dst}.strides[1]] = (&{src_data})[i * {src}.strides[0]] * *{s};";
    assert_eq!(difference(&copy(good), &[]), None);
    // It forgets the strides of what it writes.
    let wrong = "(&{dst_data})[i * 2 + 1] = (&{src_data})[i * {src}.strides[0]] * *{s};";
    let found = difference(&copy(wrong), &[]).expect("a difference");
    assert!(found.contains("`dst"), "{found}");
}

#[test]
fn the_wrapper_moves_registers_as_bytes() {
    let text = r#"
        @instr("{dst_data} = {src_data};")
        def move(m: size, dst: [f32][m] @ AVX2, src: [f32][8] @ AVX2, k: index, o: [f32][m]):
            assert m <= 8
            assert stride(src, 0) == 1
            assert stride(o, 0) == 1
            for i in seq(0, m):
                dst[i] = src[i]
    "#;
    let wrapper = conformance::wrapper(&last(text)).unwrap();
    let want = "def move_conformance(m: size, dst: f32[8] @ DRAM, src: f32[8] @ DRAM, k: index, o: [f32][m] @ DRAM):
    assert m <= 8
    assert stride(o, 0) == 1
    dst_register: f32[8] @ AVX2
    exo_set_register(dst_register[0:8], dst)
    src_register: f32[8] @ AVX2
    exo_set_register(src_register[0:8], src)
    move(m, dst_register[0:m], src_register[0:8], k, o)
    exo_get_register(dst, dst_register[0:8])
    exo_get_register(src, src_register[0:8])";
    assert_eq!(print::proc(&wrapper), want);
    let unbounded = text.replace("assert m <= 8", "assert m >= 2");
    assert!(conformance::wrapper(&last(&unbounded)).unwrap_err().contains("extent `m`"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn vector_instructions() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("this machine has no AVX2");
        return;
    }
    let add = |template: &str| {
        format!(
            "@instr(\"{template}\")
def add(dst: [f32][8] @ AVX2, a: [f32][8] @ AVX2, src: [f32][8] @ DRAM):
    assert stride(src, 0) == 1
    for i in seq(0, 8):
        dst[i] += a[i] + src[i]
"
        )
    };
    let good = "{dst_data} = _mm256_add_ps({dst_data}, _mm256_add_ps({a_data}, _mm256_loadu_ps(&{src_data})));";
    assert_eq!(difference(&add(good), &["-mavx2"]), None);
    // It assigns instead of adding.
    let wrong = "{dst_data} = _mm256_add_ps({a_data}, _mm256_loadu_ps(&{src_data}));";
    assert!(difference(&add(wrong), &["-mavx2"]).is_some());
}
