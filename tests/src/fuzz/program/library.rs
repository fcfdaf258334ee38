//! The procs that random code calls and that `replace` may find, in an order in which each calls only earlier ones.

/// Procs that generated code calls and that `replace` may find. An entry is an instruction when it has a template.
pub const LIBRARY: &[(&str, Option<&str>)] = &[
    (
        "def copy4(d: [f32][4] @ DRAM, s: [f32][4] @ DRAM):
    assert stride(d, 0) == 1
    assert stride(s, 0) == 1
    for t in seq(0, 4):
        d[t] = s[t]
",
        Some("copy4({d_data}, {s_data});"),
    ),
    (
        "def zero4(d: [f32][4] @ DRAM):
    for t in seq(0, 4):
        d[t] = 0.0
",
        Some("zero4({d_data});"),
    ),
    (
        "def fma4(d: [f32][4] @ DRAM, a: [f32][4] @ DRAM, b: [f32][4] @ DRAM):
    assert stride(d, 0) == 1
    for t in seq(0, 4):
        d[t] += a[t] * b[t]
",
        Some("fma4({d_data}, {a_data}, {b_data});"),
    ),
    (
        "def hint4(d: [f32][4] @ DRAM):
    pass
",
        None,
    ),
    (
        "def add_row(n: size, d: [f32][n] @ DRAM, s: [f32][n] @ DRAM):
    for t in seq(0, n):
        d[t] += s[t]
",
        None,
    ),
    (
        "def fill_row(n: size, d: [f32][n] @ DRAM, c: f32 @ DRAM):
    for t in seq(0, n):
        d[t] = c
",
        None,
    ),
    (
        "def masked(n: size, w: index, d: [f32][n] @ DRAM):
    assert w >= 0
    for t in seq(0, n):
        if t < w:
            d[t] = 2.0 * d[t]
",
        Some("masked({n}, {w}, {d_data});"),
    ),
    (
        "def bump(d: f32 @ DRAM):
    d += 1.0
",
        None,
    ),
    (
        "def nothing(d: [f32][4] @ DRAM):
    pass
",
        Some("nothing({d_data});"),
    ),
    (
        "def reverse(n: size, d: [f32][n] @ DRAM, s: [f32][n] @ DRAM):
    w = s[0:n]
    for t in seq(0, n):
        d[t] = w[n - 1 - t]
",
        None,
    ),
    (
        "def nested(n: size, d: [f32][n] @ DRAM, s: [f32][n] @ DRAM):
    add_row(n, d, s)
    if n > 2:
        v = d[1:n]
        v[0] += 1.0
    else:
        d[0] += 2.0
",
        None,
    ),
    (
        "def smooth(n: size, d: [f32][n] @ DRAM):
    t: f32[n + 1] @ DRAM
    t[0] = 0.0
    for i in seq(0, n):
        t[i + 1] = d[i]
    for i in seq(0, n):
        d[i] = t[i + 1] + t[i]
",
        None,
    ),
    (
        "def par_scale(n: size, d: [f32][n] @ DRAM, flag: bool):
    for t in par(0, n):
        if flag:
            d[t] = 2.0 * d[t]
",
        None,
    ),
    (
        "def flip(n: size, m: size, d: [f32][n, m] @ DRAM, s: [f32][n, m] @ DRAM):
    for i in seq(0, n):
        for j in seq(0, m):
            d[i, j] += s[n - 1 - i, j]
",
        None,
    ),
    (
        "def pitched(n: size, d: [f32][n] @ DRAM):
    if stride(d, 0) == 4:
        d[0] += 1.0
    else:
        d[0] += 2.0
",
        None,
    ),
    (
        "def deep_pitched(n: size, d: [f32][n] @ DRAM):
    w = d[0:n]
    if n > 1:
        pitched(n - 1, w[1:n])
    if stride(w, 0) == 1:
        d[0] = 3.0
",
        None,
    ),
    (
        "def load4(d: [f32][4] @ REG, s: [f32][4] @ DRAM):
    assert stride(s, 0) == 1
    for t in seq(0, 4):
        d[t] = s[t]
",
        Some("load4({d_data}, {s_data});"),
    ),
    (
        "def store4(d: [f32][4] @ DRAM, s: [f32][4] @ REG):
    assert stride(d, 0) == 1
    for t in seq(0, 4):
        d[t] = s[t]
",
        Some("store4({d_data}, {s_data});"),
    ),
    (
        "def mac4(d: [f32][4] @ REG, a: [f32][4] @ REG, b: [f32][4] @ REG):
    for t in seq(0, 4):
        d[t] += a[t] * b[t]
",
        Some("mac4({d_data}, {a_data}, {b_data});"),
    ),
    (
        "def set_cfg(v: index):
    Cfg.i = v
",
        Some("set_cfg({v});"),
    ),
    (
        "def use_cfg(n: size, d: [f32][n] @ DRAM):
    if Cfg.i >= 0 and Cfg.i < n:
        d[Cfg.i] += Cfg.s
",
        None,
    ),
];
