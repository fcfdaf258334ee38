//! Configuration state in C: the context struct, reads and writes, and what has no place there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use super::running::{SANITIZED, agrees};
use super::{body, options, output};
use crate::codegen::{Options, compile};
use crate::diagnostic::codes;
use crate::hardware::config::{Config, FieldType};
use crate::testing::{known, messages, procs_with};
use crate::typecheck::HostValue;

const SETUP: &str = "
    @proc
    def setup(n: size, w: [i8][n, 16], g: f32):
        assert stride(w, 1) == 1
        Cfg.gain = g * 0.5
        Cfg.n = n
        Cfg.on = n < 4
        Cfg.pitch = stride(w, 0)
        if Cfg.on:
            w[0, 1] = Cfg.gain
";

#[test]
fn fields_are_members_of_the_context() {
    let output = output(SETUP);
    let context = "typedef struct lib_Context { 

    struct Cfg {
        int_fast32_t n;
        int_fast32_t i;
        bool on;
        int_fast32_t pitch;
        float gain;
    } Cfg;

} lib_Context;
";
    assert!(output.header.contains(context), "{}", output.header);
    let want = "// assert stride(w, 1) == 1
ctxt->Cfg.gain = *g * 0.5f;
ctxt->Cfg.n = n;
ctxt->Cfg.on = n < 4;
ctxt->Cfg.pitch = w.strides[0];
if (ctxt->Cfg.on) {
  w.data[1] = (int8_t)(ctxt->Cfg.gain);
}
";
    assert_eq!(body(SETUP), want);
    assert!(output.c.contains("void setup( lib_Context *ctxt, int_fast32_t n, struct exo_win_2i8 w, "));
}

#[test]
fn a_bound_is_read_once() {
    let text = "
        @proc
        def p(n: size, x: f32[n]):
            Cfg.n = n
            for i in seq(0, Cfg.n):
                Cfg.n = i
                x[i] = Cfg.gain
            for i in seq(0, Cfg.n - Cfg.n):
                x[0] = 1.0
    ";
    let want = "ctxt->Cfg.n = n;
const int_fast32_t i_end = ctxt->Cfg.n;
for (int_fast32_t i = 0; i < i_end; i++) {
  ctxt->Cfg.n = i;
  x[i] = ctxt->Cfg.gain;
}
for (int_fast32_t i = 0; i < ctxt->Cfg.n - ctxt->Cfg.n; i++) {
  x[0] = 1.0f;
}
";
    assert_eq!(body(text), want);
}

#[test]
fn c_and_the_interpreter_agree_on_the_state() {
    agrees(SETUP, &options(), SANITIZED);
    let text = "
        @proc
        def inner(k: index, x: f32):
            assert Cfg.i >= 0
            if Cfg.on:
                x = x + Dev.gain
            Dev.gain = x * 2.0
            Cfg.i = k + Cfg.i / 2
        @proc
        def p(n: size, x: f32[n], v: f32):
            Cfg.i = 0
            for k in seq(0, n):
                inner(k, v)
                x[k] = Dev.gain
                Cfg.on = k % 2 == 0
                if Cfg.i < n and Cfg.i >= 0:
                    x[Cfg.i] = 1.0
            Cfg.n = n
            for k in seq(0, Cfg.n):
                Cfg.n = k + 1
                x[k] += 1.0
            Cfg.i = Cfg.i
            Dev.pitch = 3
    ";
    agrees(text, &options(), SANITIZED);
}

/// The last proc of a text that may also use the configs `Hid` (without memory) and another `Cfg`.
fn compiled(text: &str, emulate: bool) -> Result<String, Vec<crate::diagnostic::Code>> {
    let mut names: BTreeMap<String, HostValue> = known();
    let fields = || {
        vec![
            ("s".to_string(), FieldType::Stride),
            ("double".to_string(), FieldType::Data(crate::hardware::precision::Precision::F32)),
        ]
    };
    for (alias, config) in [("Hid", Config::new("Hid", fields(), false)), ("Other", Config::new("Cfg", fields(), true))]
    {
        for field in config.fields() {
            names.insert(format!("{alias}.{}", field.name()), HostValue::ConfigField(field));
        }
    }
    let procs = procs_with(text, names).unwrap_or_else(|errors| panic!("{}", messages(&errors)));
    let options = Options { emulate, ..options() };
    compile(&procs[procs.len() - 1..], &options, &super::TestHooks)
        .map(|output| output.header + &output.c)
        .map_err(|errors| errors.iter().map(|error| error.code).collect())
}

#[test]
fn state_without_memory_belongs_to_instructions() {
    let text = "
        @instr(\"set({s});\")
        def set(s: stride):
            Hid.s = s
        @proc
        def p(x: [f32][4]):
            set(stride(x, 0))
            Cfg.i = 3
    ";
    let c = compiled(text, false).unwrap();
    assert!(c.contains("// config 'Hid' is not materialized\n\n"), "{c}");
    assert!(c.contains("set((x.strides[0]));"), "{c}");
    let c = compiled(text, true).unwrap();
    assert!(c.contains("    struct Hid {\n        int_fast32_t s;\n        float double_1;\n    } Hid;\n"), "{c}");
    let direct = "
        @proc
        def p(x: [f32][4]):
            Hid.s = stride(x, 0)
    ";
    assert_eq!(compiled(direct, false).unwrap_err(), [codes::CONFIG]);
    let asserted = "
        @proc
        def p(x: [f32][4]):
            assert Hid.s == 3
            pass
    ";
    assert_eq!(compiled(asserted, false).unwrap_err(), [codes::CONFIG]);
    let twice = "
        @proc
        def p(x: [f32][4]):
            Other.s = stride(x, 0)
            Cfg.i = 3
    ";
    assert_eq!(compiled(twice, false).unwrap_err(), [codes::CONFIG]);
}
