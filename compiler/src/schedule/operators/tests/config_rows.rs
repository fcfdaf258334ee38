//! Rows of the operators on configuration state.

use super::Row;
use crate::schedule::testing::{arguments, gap_after};

const SCALED: &str = "
@proc
def f(s: f32, x: f32[8]):
    Cfg.i = 3
    for i in seq(0, 8):
        x[i] = s * x[i]
    Cfg.i = 4
";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            operator: "bind_config",
            text: SCALED,
            arguments: |_| arguments!["s", crate::testing::configs()[0].clone(), "gain"],
            forwards: &[
                ("x[_] = _", "x[i] = Cfg.gain * x[i]"),
                ("s", "Cfg.gain"),
                ("for i in _: _", "for i in seq(0, 8):"),
            ],
            returns: &[("write", "Cfg.gain = s"), ("read", "Cfg.gain")],
        },
        Row {
            operator: "write_config",
            text: SCALED,
            arguments: |all| {
                arguments![gap_after(&all[0], "Cfg.i = 3"), crate::testing::configs()[0].clone(), "on", true]
            },
            forwards: &[
                ("Cfg.i = 3", "Cfg.i = 3"),
                ("for i in _: _", "for i in seq(0, 8):"),
                ("Cfg.i = 4", "Cfg.i = 4"),
            ],
            returns: &[("write", "Cfg.on = True")],
        },
        Row {
            operator: "delete_config",
            text: SCALED,
            arguments: |_| arguments!["Cfg.i = 3"],
            forwards: &[("Cfg.i = 3", "-"), ("for i in _: _", "for i in seq(0, 8):"), ("Cfg.i = 4", "Cfg.i = 4")],
            returns: &[("stmt_cursor", "-")],
        },
    ]
}
