//! The C program that times a kernel beside its algorithm, each on data of its own.

use std::sync::Arc;

use crate::codegen::unit::WindowStruct;
use crate::codegen::usage::Usage;
use crate::hardware::precision::Precision;
use crate::interpret::frame::{ControlValue, dense_strides};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};

/// How a kernel is timed: rounds, each of which times one batch of calls of the kernel and one of its algorithm.
#[derive(Clone, Debug)]
pub struct TimingProtocol {
    /// Rounds that are made however long they take.
    pub least_rounds: u32,
    pub most_rounds: u32,
    /// Time after which no further round begins, in seconds.
    pub seconds: f64,
    /// A batch has so many calls that it takes at least this, in microseconds, so that the clock's own steps do not count,
    pub batch_microseconds: u32,
    /// but not more calls than this: data is put back between batches only.
    pub most_calls: u32,
}

/// One argument of a call, with its value or its extents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    Control(ControlValue),
    Data(Vec<i64>),
}

/// A function that is timed, and the header that declares it.
pub struct Side<'a> {
    pub proc: &'a Arc<Proc>,
    pub header: &'a str,
    /// One for each argument, in order.
    pub given: Vec<Given>,
}

/// A `main.c` that prints `0 SECONDS` and `1 SECONDS` for a call of the first and of the second function, once a round.
///
/// Each function has buffers of its own, filled with the same numbers in -1..1 (integers in -4..4 without 0, by
/// which kernels may divide, or 1..7 where they have no sign). Before each batch of calls what the function writes is put back, so that values neither grow without end nor become
/// subnormal, which would be timed instead of the function.
pub fn program(sides: &[Side<'_>; 2], protocol: &TimingProtocol) -> String {
    let includes: String = sides.iter().map(|side| format!("#include \"{}\"\n", side.header)).collect();
    let functions: String = sides.iter().enumerate().map(|(at, side)| Function::of(at, side).text(side)).collect();
    let TimingProtocol { least_rounds, most_rounds, seconds, batch_microseconds, most_calls } = protocol;
    format!(
        "#define _POSIX_C_SOURCE 200809L\n{includes}#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\
         #include <time.h>\n\n{CLOCK}{functions}\
         static double exo_timed(int side, long calls) {{\n    (side ? exo_restore_1 : exo_restore_0)();\n    double start = exo_now();\n    \
         (side ? exo_call_1 : exo_call_0)(calls);\n    return exo_now() - start;\n}}\n\n\
         static long exo_batch(int side) {{\n    long calls = 1;\n    \
         while (exo_timed(side, calls) < {batch_microseconds}e-6 && calls < {most_calls}) calls *= 2;\n    return calls;\n}}\n\n\
         int main(void) {{\n    exo_fill_0();\n    exo_fill_1();\n    long calls[2] = {{ exo_batch(0), exo_batch(1) }};\n    double start = exo_now();\n    \
         for (int round = 0; round < {most_rounds} && (round < {least_rounds} || exo_now() - start < {seconds}); round++) {{\n        \
         for (int k = 0; k < 2; k++) {{\n            int side = (round + k) % 2;\n            \
         printf(\"%d %.9e\\n\", side, exo_timed(side, calls[side]) / (double)calls[side]);\n        }}\n    }}\n    \
         printf(\"calls %ld %ld\\n\", calls[0], calls[1]);\n    return 0;\n}}\n"
    )
}

const CLOCK: &str = "static uint32_t exo_state;

static uint32_t exo_draw(void) {
    exo_state ^= exo_state << 13;
    exo_state ^= exo_state >> 17;
    exo_state ^= exo_state << 5;
    return exo_state;
}

static double exo_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

";

/// The C around one function.
#[derive(Default)]
struct Function {
    at: usize,
    storage: String,
    filling: String,
    restoring: String,
    arguments: String,
}

impl Function {
    fn of(at: usize, side: &Side<'_>) -> Self {
        let mut function = Function { at, ..Function::default() };
        let mut usage = Usage::default();
        for (position, (arg, given)) in side.proc.args.iter().zip(&side.given).enumerate() {
            match given {
                Given::Control(ControlValue::Int(value)) => function.arguments.push_str(&format!(", {value}")),
                Given::Control(ControlValue::Bool(value)) => function.arguments.push_str(&format!(", {value}")),
                Given::Data(extents) => {
                    let written = usage.writes_param(side.proc, position);
                    function.buffer(position, arg, extents, written);
                }
            }
        }
        function
    }

    fn buffer(&mut self, position: usize, arg: &Arg, extents: &[i64], written: bool) {
        let ArgType::Data(ty) = &arg.ty else { return };
        let precision = ty.precision.concrete();
        let (name, c_type) = (format!("exo_data_{}_{position}", self.at), precision.c_type());
        let count = extents.iter().copied().fold(1i64, i64::saturating_mul);
        // As aligned as the widest vectors and a line of the cache, so that no run depends on where the linker puts it.
        self.storage.push_str(&format!("static _Alignas(64) {c_type} {name}[{count}];\n"));
        self.filling.push_str(&format!("    for (long i = 0; i < {count}; i++) {name}[i] = {};\n", drawn(precision)));
        if written {
            self.storage.push_str(&format!("static {c_type} exo_first_{name}[{count}];\n"));
            self.filling.push_str(&format!("    memcpy(exo_first_{name}, {name}, sizeof {name});\n"));
            self.restoring.push_str(&format!("    memcpy({name}, exo_first_{name}, sizeof {name});\n"));
        }
        let argument = match ty.is_window {
            false => name,
            true => {
                let window = WindowStruct { rank: ty.rank(), precision, constant: !written }.name();
                let strides: Vec<String> = dense_strides(extents).iter().map(ToString::to_string).collect();
                format!("(struct {window}){{ {name}, {{ {} }} }}", strides.join(", "))
            }
        };
        self.arguments.push_str(&format!(", {argument}"));
    }

    fn text(&self, side: &Side<'_>) -> String {
        let Function { at, storage, filling, restoring, arguments } = self;
        format!(
            "{storage}\nstatic void exo_fill_{at}(void) {{\n    exo_state = 1;\n{filling}}}\n\nstatic void exo_restore_{at}(void) {{\n{restoring}}}\n\n\
             static void exo_call_{at}(long calls) {{\n    for (long i = 0; i < calls; i++) {}(NULL{arguments});\n}}\n\n",
            side.proc.name
        )
    }
}

/// A number for an element, as C.
fn drawn(precision: Precision) -> String {
    match precision {
        Precision::Bf16 => "exo_bf16_from_double((double)exo_draw() / 2147483648.0 - 1.0)".to_string(),
        Precision::R | Precision::F16 | Precision::F32 | Precision::F64 => {
            format!("({})((double)exo_draw() / 2147483648.0 - 1.0)", precision.c_type())
        }
        Precision::I8 | Precision::I16 | Precision::I32 | Precision::I64 => {
            format!("({})((int)(exo_draw() % 4 + 1) * (exo_draw() % 2 ? 1 : -1))", precision.c_type())
        }
        Precision::Ui8 | Precision::Ui16 | Precision::Ui32 => format!("({})(exo_draw() % 7 + 1)", precision.c_type()),
    }
}
