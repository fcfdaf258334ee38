//! Tests of the operators on configuration state: what may be added and removed, and modulo what.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::hardware::config::Config;
use crate::schedule::Procedure;
use crate::schedule::testing::{arguments, cursor, gap_after, prints, procedure, refused, same, step};
use crate::testing::{configs, messages};

fn cfg() -> Config {
    configs().remove(0)
}

/// The fields modulo which two versions are equal.
fn modulo(p: &Procedure, q: &Procedure) -> Vec<String> {
    p.ir().lineage.modulo(&q.ir().lineage).iter().map(ToString::to_string).collect()
}

fn reason(refusal: &crate::diagnostic::Refusal) -> String {
    messages(&refusal.diagnostics)
}

#[test]
fn a_redundant_write_goes_without_a_trace() {
    let p = procedure(
        "@proc\ndef f(n: size, x: f32[n]):\n    Cfg.i = 3\n    for k in seq(0, n):\n        Cfg.i = 3\n        x[k] = 1.0\n",
    );
    let q = step("delete_config", &p, arguments![&cursor(&p, "Cfg.i = _ #1")]);
    assert!(modulo(&p, &q).is_empty());
    prints(&q, "def f(n: size, x: f32[n] @ DRAM):\n    Cfg.i = 3\n    for k in seq(0, n):\n        x[k] = 1.0\n");
}

#[test]
fn a_shadowed_write_goes_without_a_trace() {
    let p = procedure("@proc\ndef f(n: size, x: f32[n]):\n    Cfg.i = 3\n    x[0] = 1.0\n    Cfg.i = 4\n");
    let q = step("delete_config", &p, arguments!["Cfg.i = _"]);
    assert!(modulo(&p, &q).is_empty());
    // Not when the second write may not happen.
    let p = procedure("@proc\ndef f(n: size, x: f32[n]):\n    Cfg.i = 3\n    if n > 4:\n        Cfg.i = 4\n");
    let q = step("delete_config", &p, arguments!["Cfg.i = _"]);
    assert_eq!(modulo(&p, &q), ["Cfg.i"]);
}

#[test]
fn the_last_write_leaves_its_field_open() {
    let p = procedure("@proc\ndef f(x: f32):\n    Cfg.i = 3\n    x = 1.0\n");
    let q = step("delete_config", &p, arguments!["Cfg.i = _"]);
    assert_eq!(modulo(&p, &q), ["Cfg.i"]);
    // Putting it back does not make up for it.
    let r = step("write_config", &q, arguments![gap_after(&q, "x = _"), cfg(), "i", 3i64]);
    assert_eq!(modulo(&p, &r), ["Cfg.i"]);
    assert_eq!(modulo(&q, &r), ["Cfg.i"]);
}

#[test]
fn a_write_that_is_read_stays() {
    let p = procedure("@proc\ndef f(x: f32[4]):\n    assert Cfg.n == 1\n    Cfg.i = 3\n    x[Cfg.i] = 1.0\n");
    assert!(reason(&refused("delete_config", &p, arguments!["Cfg.i = _"])).contains("`Cfg.i` is not read any more"));
    let p = procedure("@proc\ndef g():\n    assert Cfg.i == 3\n    pass\n@proc\ndef f():\n    Cfg.i = 3\n    g()\n");
    refused("delete_config", &p, arguments!["Cfg.i = _"]);
    let p = procedure(
        "@proc\ndef f(n: size, x: f32[n]):\n    for k in seq(0, n):\n        x[k] = Cfg.gain\n        Cfg.gain = 2.0\n",
    );
    refused("delete_config", &p, arguments!["Cfg.gain = _"]);
    let p = procedure("@proc\ndef f(x: f32):\n    Cfg.i = 3\n    x = 1.0\n");
    refused("delete_config", &p, arguments!["x = _"]);
}

/// D32: a scalar is not one value for all time.
#[test]
fn a_scalar_that_changed_is_another_value() {
    let p =
        procedure("@proc\ndef f(x: f32, y: f32):\n    Cfg.gain = x\n    x = 2.0\n    Cfg.gain = x\n    y = Cfg.gain\n");
    refused("delete_config", &p, arguments!["Cfg.gain = _ #1"]);
    let p =
        procedure("@proc\ndef f(x: f32, y: f32):\n    Cfg.gain = x\n    y = 2.0\n    Cfg.gain = x\n    y = Cfg.gain\n");
    let q = step("delete_config", &p, arguments!["Cfg.gain = _ #1"]);
    assert!(modulo(&p, &q).is_empty());
}

#[test]
fn writes_are_added() {
    let p =
        procedure("@proc\ndef f(s: [f32][8, 8], n: size, x: f32[n]):\n    for k in seq(0, n):\n        x[k] = 1.0\n");
    let q = step("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "pitch", "stride(s, 0)"]);
    assert_eq!(modulo(&p, &q), ["Cfg.pitch"]);
    step("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "i", "k + n"]);
    step("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "on", true]);
    step("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "gain", "x[k]"]);
    let wrong = refused("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "on", 1i64]);
    assert!(reason(&wrong).contains("the field `Cfg.on` is a `bool`"), "{}", reason(&wrong));
    let wrong = refused("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "off", 1i64]);
    assert!(reason(&wrong).contains("needs a field of `Cfg`"), "{}", reason(&wrong));
    refused("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "gain", "x[k + 1]"]);
    let p = procedure("@proc\ndef f(x: f32[4]):\n    for k in seq(0, 4):\n        x[k] = Cfg.gain\n");
    refused("write_config", &p, arguments![gap_after(&p, "x[_] = _"), cfg(), "gain", 1.5]);
}

impl From<f64> for crate::schedule::argument::RawValue {
    fn from(value: f64) -> Self {
        crate::schedule::argument::RawValue::Float(value)
    }
}

#[test]
fn a_value_is_read_back_from_a_field() {
    let p = procedure("@proc\ndef f(s: f32, x: f32[4]):\n    for k in seq(0, 4):\n        x[k] = s * x[k] + s\n");
    let q = step("bind_config", &p, arguments!["s", cfg(), "gain"]);
    prints(
        &q,
        "def f(s: f32 @ DRAM, x: f32[4] @ DRAM):\n    for k in seq(0, 4):\n        Cfg.gain = s\n        x[k] = Cfg.gain * x[k] + s\n",
    );
    assert_eq!(modulo(&p, &q), ["Cfg.gain"]);
    // Out of the loop, as Gemmini's schedules do.
    let q = step("fission", &q, arguments![gap_after(&q, "Cfg.gain = _")]);
    let q = step("remove_loop", &q, arguments!["k"]);
    prints(
        &q,
        "def f(s: f32 @ DRAM, x: f32[4] @ DRAM):\n    Cfg.gain = s\n    for k in seq(0, 4):\n        x[k] = Cfg.gain * x[k] + s\n",
    );
    same(p.ir(), q.ir());
    let p = procedure("@proc\ndef f(s: f64, x: f64[4]):\n    for k in seq(0, 4):\n        x[k] = s\n");
    assert!(reason(&refused("bind_config", &p, arguments!["s", cfg(), "gain"])).contains("another precision"));
    let p = procedure("@proc\ndef f(s: f32, x: f32):\n    x = Cfg.gain + s\n");
    refused("bind_config", &p, arguments!["s", cfg(), "gain"]);
    let p = procedure("@proc\ndef f(b: bool, n: size, x: f32):\n    if b:\n        x = 1.0\n");
    let q = step("bind_config", &p, arguments!["b", cfg(), "on"]);
    prints(&q, "def f(b: bool, n: size, x: f32 @ DRAM):\n    Cfg.on = b\n    if Cfg.on:\n        x = 1.0\n");
}

#[test]
fn callers_take_over_what_a_callee_leaves() {
    let p = procedure("@proc\ndef g(x: f32):\n    Cfg.i = 3\n    x = 1.0\n");
    let q = step("delete_config", &p, arguments!["Cfg.i = _"]);
    let caller = |body: &str| {
        let text = format!("@proc\ndef f(y: f32):\n    {}\n", body.replace('\n', "\n    "));
        let mut names = crate::testing::known();
        names.insert("g".to_string(), crate::typecheck::HostValue::Proc(p.ir().clone()));
        Procedure::new(crate::testing::procs_with(&text, names).unwrap().pop().unwrap())
    };
    let f = caller("g(y)\ny = 2.0");
    let swapped = step("call_eqv", &f, arguments!["g(_)", &q]);
    assert_eq!(modulo(&f, &swapped), ["Cfg.i"]);
    let f = caller("g(y)\nCfg.i = 4");
    assert!(modulo(&f, &step("call_eqv", &f, arguments!["g(_)", &q])).is_empty());
    let f = caller("Cfg.i = 3\ng(y)");
    assert!(modulo(&f, &step("call_eqv", &f, arguments!["g(_)", &q])).is_empty());
    let f = caller("g(y)\nif Cfg.i == 3:\n    y = 2.0");
    refused("call_eqv", &f, arguments!["g(_)", &q]);
}
