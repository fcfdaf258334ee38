//! `exo test` of instructions: C that is nearly right is refused, on values, sizes, layouts and the ends of buffers.

use exo_tests::command_line::Sandbox;

const MANIFEST: &str = "[pack]\nname = \"nearly\"\nversion = \"0.1.0\"\nkind = \"target\"\nexo = \">=0.1.0\"\n";

/// A memory that only instructions touch, as registers are.
const REGISTERS: &str = r#"S = memory("S", alloc = lambda name, prim_type, shape, srcinfo: "{} {}[{}];".format(prim_type, name, " * ".join(shape)), free = lambda n, p, s, i: "", can_read = False)
"#;

/// A module with these instructions (name, template, parameters and body) and a target that lists them.
struct Instructions {
    text: String,
    names: Vec<String>,
}

impl Instructions {
    fn new() -> Self {
        Instructions { text: REGISTERS.to_string(), names: Vec::new() }
    }

    fn with(mut self, name: &str, template: &str, definition: &str) -> Self {
        self.text.push_str(&format!("@instr(\"{template}\")\ndef {name}{definition}"));
        self.names.push(name.to_string());
        self
    }

    /// `right*` must pass and all others be refused.
    fn are_told_apart(mut self) {
        let listed = self.names.join(", ");
        self.text.push_str(&format!(
            "target = target(name = \"nearly\", cc = cc(flags = [\"-O2\"]), instructions = [{listed}])\n"
        ));
        let sandbox = Sandbox::new();
        sandbox.write("work/Exo.toml", MANIFEST);
        sandbox.write("work/src/lib.exo", &self.text);
        let tested = sandbox.run(&["test"]).exits(1);
        let words: Vec<String> = self
            .names
            .iter()
            .map(|name| match name.starts_with("right") {
                true => format!("conformance::{name} ... ok (native)"),
                false => format!("conformance::{name} ... FAILED"),
            })
            .collect();
        tested.prints(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn copy(precision: &str) -> String {
    format!(
        "(dst: [{precision}][4] @ DRAM, src: [{precision}][4] @ DRAM):\n    assert stride(dst, 0) == 1\n    \
         assert stride(src, 0) == 1\n    for i in seq(0, 4):\n        dst[i] = src[i]\n"
    )
}

/// A loop over the elements of `dst` and `src`, whose element is `t`.
fn each(c_type: &str, result: &str) -> String {
    format!("for (int q = 0; q < 4; q++) {{{{ {c_type} t = (&{{src_data}})[q]; (&{{dst_data}})[q] = {result}; }}}}")
}

#[test]
fn a_copy_of_floats_that_loses_one_value() {
    let losses = [
        "t > 3 ? 0 : t",
        "t > 8 ? 0 : t",
        "t > 100 ? 0 : t",
        "t > 1e6f ? 0 : t",
        "t > 1e30f ? 0 : t",
        "t < -100 ? 0 : t",
        "t == 1.0f ? 0 : t",
        "t != t ? 0 : t",
        "t == 1.0f / 0.0f ? 0 : t",
        "t == 0 ? 0 : t",
        "t > 0 && t < 1e-38f ? 0 : t",
        "t > 0 && t < 1e-20f ? 0 : t",
    ];
    let mut all = Instructions::new().with("right", &each("float", "t"), &copy("f32"));
    for (at, loss) in losses.iter().enumerate() {
        all = all.with(&format!("wrong_{at}"), &each("float", loss), &copy("f32"));
    }
    all.with("wrong_half", &each("float", "(float)(_Float16)t"), &copy("f32"))
        .with("right_f64", &each("double", "t"), &copy("f64"))
        .with("wrong_f64", &each("double", "(float)t"), &copy("f64"))
        .are_told_apart();
}

#[test]
fn a_copy_of_integers_that_loses_one_value() {
    let mut all = Instructions::new();
    for (precision, c_type, losses) in [
        ("i8", "int8_t", ["t > 20", "t > 100", "t == -128", "t == 127"]),
        ("ui8", "uint8_t", ["t > 200", "t > 100", "t == 255", "t == 128"]),
        ("i16", "int16_t", ["t > 100", "t < -30000", "t == -32768", "t == 32767"]),
        ("i32", "int32_t", ["t > 100", "t < -100000000", "t == INT32_MIN", "t == INT32_MAX"]),
        ("i64", "int64_t", ["t > 100", "t > 3000000000", "t == INT64_MIN", "t == INT64_MAX"]),
    ] {
        all = all.with(&format!("right_{precision}"), &each(c_type, "t"), &copy(precision));
        for (at, loss) in losses.iter().enumerate() {
            all = all.with(
                &format!("wrong_{precision}_{at}"),
                &each(c_type, &format!("{loss} ? 0 : t")),
                &copy(precision),
            );
        }
    }
    all.are_told_apart();
}

#[test]
fn arithmetic_that_is_another_or_too_narrow() {
    let of_two = |to: &str, from: &str, statement: &str| {
        format!(
            "(dst: [{to}][4] @ S, a: [{from}][4] @ S, b: [{from}][4] @ S):\n    for i in seq(0, 4):\n        {statement}\n"
        )
    };
    let relu = of_two("f32", "f32", "dst[i] = relu(a[i])");
    let product = of_two("i32", "i8", "dst[i] = a[i] * b[i]");
    let wider = of_two("i32", "ui8", "dst[i] = a[i]");
    let fused = of_two("f32", "f32", "dst[i] += a[i] * b[i]");
    let dot = "(dst: [i32][1] @ S, a: [i8][4] @ S, b: [i8][4] @ S):\n    for i in seq(0, 4):\n        dst[0] += a[i] * b[i]\n";
    let to_int = of_two("i8", "f32", "dst[i] = a[i]");
    let each = |result: &str| {
        format!(
            "for (int q = 0; q < 4; q++) (&{{dst_data}})[q] = {};",
            result.replace("$a", "(&{a_data})[q]").replace("$b", "(&{b_data})[q]").replace("$d", "(&{dst_data})[q]")
        )
    };
    let summed = |c_type: &str| {
        format!(
            "{c_type} sum = 0; for (int q = 0; q < 4; q++) sum += (&{{a_data}})[q] * (&{{b_data}})[q]; (&{{dst_data}})[0] += sum;"
        )
    };
    Instructions::new()
        .with("right_relu", &each("$a > 0 ? $a : 0"), &relu)
        .with("wrong_relu6", &each("$a > 6 ? 6 : $a > 0 ? $a : 0"), &relu)
        .with("right_product", &each("$a * $b"), &product)
        .with("wrong_product", &each("(signed char)($a * $b)"), &product)
        .with("right_wider", &each("$a"), &wider)
        .with("wrong_wider", &each("(signed char)$a"), &wider)
        .with("right_dot", &format!("{{{{ {} }}}}", summed("int")), dot)
        .with("wrong_dot", &format!("{{{{ {} }}}}", summed("short")), dot)
        .with("right_fused", &each("__builtin_fmaf($a, $b, $d)"), &fused)
        .with("wrong_fused", &each("$d + (float)(_Float16)($a * $b)"), &fused)
        .with("right_to_int", &each("$a"), &to_int)
        .with("wrong_to_int", &each("$a + 0.5f"), &to_int)
        .are_told_apart();
}

#[test]
fn one_size_or_index_of_many() {
    let masked = "(n: size, dst: [f32][8] @ S, src: [f32][n] @ DRAM):\n    assert n <= 8\n    \
                  assert stride(src, 0) == 1\n    for i in seq(0, n):\n        dst[i] = src[i]\n";
    let chosen = "(k: index, dst: [f32][1] @ S, src: [f32][8] @ DRAM):\n    assert k >= 0 and k < 8\n    \
                  assert stride(src, 0) == 1\n    dst[0] = src[k]\n";
    let upto = |count: &str| format!("for (int q = 0; q < ({count}); q++) (&{{dst_data}})[q] = (&{{src_data}})[q];");
    let mut all = Instructions::new().with("right_masked", &upto("{n}"), masked).with(
        "right_index",
        "(&{dst_data})[0] = (&{src_data})[{k}];",
        chosen,
    );
    for at in 1..=8 {
        let template = upto(&format!("{{n}} == {at} ? {at} - 1 : {{n}}"));
        all = all.with(&format!("wrong_masked_{at}"), &template, masked);
        let template = format!("(&{{dst_data}})[0] = (&{{src_data}})[({{k}}) == {at} - 1 ? 8 - {at} : {{k}}];");
        // The middle is its own mirror nowhere in 0..8.
        all = all.with(&format!("wrong_index_{at}"), &template, chosen);
    }
    all.are_told_apart();
}

#[test]
fn strides_and_the_ends_of_buffers() {
    let load = |strides: &str| {
        format!(
            "(n: size, dst: [f32][8] @ S, src: [f32][n] @ DRAM):\n    assert n <= 8\n{strides}    \
             for i in seq(0, n):\n        dst[i] = src[i]\n"
        )
    };
    let store = "(n: size, dst: [f32][n] @ DRAM, src: [f32][8] @ S):\n    assert n <= 8\n    \
                 for i in seq(0, n):\n        dst[i] = src[i]\n";
    let dense = "    assert stride(src, 0) == 1\n";
    let copied = "for (int q = 0; q < {n}; q++) (&{dst_data})[q] = (&{src_data})[q];";
    let strided = "for (int q = 0; q < {n}; q++) (&{dst_data})[q] = (&{src_data})[q * {src}.strides[0]];";
    let past = "for (int q = 0; q < 8; q++) {{ float t = *(volatile float *)&(&{src_data})[q]; if (q < {n}) (&{dst_data})[q] = t; }}";
    let before = "for (int q = -1; q < {n}; q++) {{ float t = *(volatile float *)&(&{src_data})[q]; if (q >= 0) (&{dst_data})[q] = t; }}";
    Instructions::new()
        .with("right_dense", copied, &load(dense))
        .with("right_strided", strided, &load(""))
        .with("wrong_strided", copied, &load(""))
        .with("wrong_store", copied, store)
        .with("wrong_past", past, &load(dense))
        .with("wrong_before", before, &load(dense))
        .are_told_apart();
}
