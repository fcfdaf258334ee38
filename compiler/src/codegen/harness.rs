//! C programs that run one exported function on given data, and the reading of what they print.
//!
//! Used wherever generated C is compared with the interpreter, which defines the inputs and the expected outputs.

use std::sync::Arc;

use crate::codegen::context::{self, Context};
use crate::codegen::header;
use crate::codegen::unit::WindowStruct;
use crate::codegen::usage::Usage;
use crate::diagnostic::counted;
use crate::hardware::config::{ConfigField, FieldType};
use crate::hardware::precision::Precision;
use crate::interpret::rounded::MachineValue;
use crate::interpret::{Input, Inputs, Outputs, Tensor};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};

/// Elements of known content before and after each buffer; a function that writes there is caught.
const GUARD: usize = 64;

/// A `main.c` that includes `header_name`, fills the buffers, calls `proc`, and prints every buffer and whether the
/// guards around it still hold: once for each entry of `inputs`, one after the other.
///
/// The function must be exported by the header. Uninitialised inputs are filled with zero. What runs leave behind in
/// static memory and in the machine, later runs find there: a proc may not read it before it writes it.
///
/// # Errors
/// The reason, where the inputs do not fit the parameters in number or kind.
pub fn program(proc: &Arc<Proc>, header_name: &str, inputs: &[Inputs<MachineValue>]) -> Result<String, String> {
    let mut runs = String::new();
    let mut calls = String::new();
    let mut has_buffers = false;
    for (k, inputs) in inputs.iter().enumerate() {
        let run = run(proc, header_name, inputs)?;
        has_buffers |= !run.storage.is_empty();
        runs.push_str(&format!("static void run_{k}(void) {{\n{}}}\n\n", run.text(&proc.name)));
        calls.push_str(&format!("    run_{k}();\n"));
    }
    let report = if has_buffers { REPORT } else { "" };
    Ok(format!(
        "#include \"{header_name}\"\n#include <inttypes.h>\n#include <math.h>\n#include <stdio.h>\n\
         #include <string.h>\n\nenum {{ GUARD = {GUARD}, CANARY = 0xA5 }};\n\n{report}{runs}\
         int main(void) {{\n{calls}    return 0;\n}}\n"
    ))
}

fn run(proc: &Arc<Proc>, header_name: &str, inputs: &Inputs<MachineValue>) -> Result<Program, String> {
    if proc.args.len() != inputs.args.len() {
        let (have, want) = (counted(inputs.args.len(), "input"), counted(proc.args.len(), "argument"));
        return Err(format!("`{}` takes {want}, not {have}", proc.name));
    }
    let mut usage = Usage::default();
    let mut program = Program::default();
    program.context(&Context::of_proc(proc, header::library(header_name)), &inputs.config)?;
    for (at, (arg, input)) in proc.args.iter().zip(&inputs.args).enumerate() {
        let constant = !usage.writes_param(proc, at);
        program.argument(at, arg, input, constant)?;
    }
    Ok(program)
}

/// One run.
#[derive(Default)]
struct Program {
    storage: String,
    filling: String,
    arguments: Vec<String>,
    printing: String,
    /// Declaration, initial values, address and printing of the context; empty where there is none.
    state: State,
}

#[derive(Default)]
struct State {
    storage: String,
    filling: String,
    printing: String,
}

impl Program {
    /// Configuration state before and after the call.
    fn context(&mut self, context: &Context, config: &[(ConfigField, Input<MachineValue>)]) -> Result<(), String> {
        if context.type_name() == "void" {
            return Ok(());
        }
        self.state.storage = format!("static {} context;\n", context.type_name());
        for (field, input) in config.iter().filter(|(field, _)| field.config().is_readwrite()) {
            let place = format!("context.{}", context::path(field));
            let (initial, kind) = match (input, field.ty()) {
                (Input::Int(value), _) => (int_literal(*value), "int"),
                (Input::Bool(value), _) => (value.to_string(), "int"),
                (Input::Tensor(tensor), FieldType::Data(precision)) => {
                    let value = tensor.data.first().copied().unwrap_or(MachineValue::Poison);
                    (literal(value, precision), if precision.is_float() { "float" } else { "int" })
                }
                (Input::Tensor(_), _) => return Err(format!("the value for `{field}` is of another kind")),
            };
            self.state.filling.push_str(&format!("    {place} = ({}){initial};\n", field.ty().c_type()));
            self.state.printing.push_str(&match kind {
                "float" => format!("    printf(\"float %a\\n\", (double){place});\n"),
                _ => format!("    printf(\"int %\" PRId64 \"\\n\", (int64_t){place});\n"),
            });
        }
        Ok(())
    }

    fn argument(&mut self, at: usize, arg: &Arg, input: &Input<MachineValue>, constant: bool) -> Result<(), String> {
        match (&arg.ty, input) {
            (ArgType::Control(_), Input::Int(value)) => self.arguments.push(int_literal(*value)),
            (ArgType::Control(_), Input::Bool(value)) => self.arguments.push(value.to_string()),
            (ArgType::Data(ty), Input::Tensor(tensor)) => {
                let precision = ty.precision.concrete();
                self.buffer(at, precision, tensor);
                let pointer = format!("buffer_{at} + GUARD");
                self.arguments.push(match ty.is_window {
                    false => pointer,
                    true => {
                        let window = WindowStruct { rank: ty.rank(), precision, constant }.name();
                        let strides: Vec<String> = tensor.strides.iter().map(|s| int_literal(*s)).collect();
                        format!("(struct {window}){{ {pointer}, {{ {} }} }}", strides.join(", "))
                    }
                });
            }
            (ArgType::Control(_), Input::Tensor(_)) | (ArgType::Data(_), Input::Int(_) | Input::Bool(_)) => {
                return Err(format!("the input for `{}` is of another kind", arg.name));
            }
        }
        Ok(())
    }

    fn buffer(&mut self, at: usize, precision: Precision, tensor: &Tensor<MachineValue>) {
        let (ty, count) = (precision.c_type(), tensor.data.len());
        let (element, store) = match precision {
            Precision::Bf16 => ("exo_bf16_to_float", "exo_bf16_from_double".to_string()),
            _ => ("", format!("({ty})")),
        };
        let (wide, print) = match precision.is_float() {
            true => ("double", "printf(\" %a\", (double)"),
            false => ("int64_t", "printf(\" %\" PRId64, (int64_t)"),
        };
        let values: Vec<String> = tensor.data.iter().map(|value| literal(*value, precision)).collect();
        self.storage.push_str(&format!(
            "static {ty} buffer_{at}[GUARD + {count} + GUARD];\nstatic const {wide} data_{at}[{count}] = {{ {} }};\n",
            values.join(", ")
        ));
        self.filling.push_str(&format!(
            "    memset(buffer_{at}, CANARY, sizeof buffer_{at});\n    \
             for (size_t i = 0; i < {count}; i++) buffer_{at}[GUARD + i] = {store}(data_{at}[i]);\n"
        ));
        let kind = if precision.is_float() { "float" } else { "int" };
        self.printing.push_str(&format!(
            "    printf(\"{kind}\");\n    \
             for (size_t i = 0; i < {count}; i++) {print}{element}(buffer_{at}[GUARD + i]));\n    \
             printf(\"\\n\");\n    \
             report({at}, buffer_{at}, sizeof buffer_{at}, sizeof buffer_{at}[0]);\n"
        ));
    }

    /// The body of the function that makes this run.
    fn text(&self, name: &str) -> String {
        let Program { storage, filling, arguments, printing, state } = self;
        let context = if state.storage.is_empty() { "NULL" } else { "&context" };
        let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
        // A later run may crash, and what is not flushed is lost then.
        format!(
            "{storage}{}{filling}{}    {name}({context}{arguments});\n{printing}{}    printf(\"done\\n\");\n    \
             fflush(stdout);\n",
            state.storage, state.filling, state.printing
        )
    }
}

const REPORT: &str = "static void report(int at, const void *buffer, size_t size, size_t element) {
    const unsigned char *bytes = buffer;
    for (size_t i = 0; i < GUARD * element; i++) {
        if (bytes[i] != CANARY || bytes[size - 1 - i] != CANARY) {
            printf(\"overrun %d\\n\", at);
            return;
        }
    }
}

";

fn int_literal(value: i64) -> String {
    match value {
        // The literal 9223372036854775808 has no signed type.
        i64::MIN => "(-9223372036854775807 - 1)".to_string(),
        other => other.to_string(),
    }
}

fn literal(value: MachineValue, precision: Precision) -> String {
    match (value, precision.is_float()) {
        (MachineValue::Poison | MachineValue::Undefined(_), _) => "0".to_string(),
        (MachineValue::Int(value), _) => int_literal(value),
        (MachineValue::Float(value), true) => hex_float(value),
        (MachineValue::Float(value), false) => int_literal(value as i64),
    }
}

/// A double as an exact C literal.
fn hex_float(value: f64) -> String {
    if value.is_nan() {
        return "NAN".to_string();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}INFINITY");
    }
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) & 0x7ff {
        0 if fraction == 0 => format!("{sign}0x0p+0"),
        0 => format!("{sign}0x0.{fraction:013x}p-1022"),
        exponent => format!("{sign}0x1.{fraction:013x}p{:+}", exponent as i64 - 1023),
    }
}

/// What each run of a program printed, in order. The last text may be cut short.
pub fn runs(stdout: &str) -> impl Iterator<Item = &str> {
    stdout.split_inclusive("done\n")
}

/// Reads what one run printed: the elements of every data parameter in order, gaps between strides included.
///
/// # Errors
/// A write outside a buffer, or output that is cut short or not this program's.
pub fn parse(stdout: &str) -> Result<Vec<Vec<MachineValue>>, String> {
    let mut buffers = Vec::new();
    let mut done = false;
    for line in stdout.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("float") => buffers.push(words.map(parse_float).collect::<Result<Vec<_>, String>>()?),
            Some("int") => buffers.push(words.map(parse_int).collect::<Result<Vec<_>, String>>()?),
            Some("overrun") => {
                let at = words.next().unwrap_or("?");
                return Err(format!("the function wrote outside the buffer of argument {at}"));
            }
            Some("done") => done = true,
            Some(_) | None => return Err(format!("the program printed `{line}`")),
        }
    }
    if done { Ok(buffers) } else { Err("the program did not come to its end".to_string()) }
}

fn parse_int(word: &str) -> Result<MachineValue, String> {
    word.parse().map(MachineValue::Int).map_err(|_| format!("`{word}` is no integer"))
}

fn parse_float(word: &str) -> Result<MachineValue, String> {
    let (negative, magnitude) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let value = match magnitude {
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        hex => parse_hex(hex),
    };
    let value = value.ok_or_else(|| format!("`{word}` is no number"))?;
    Ok(MachineValue::Float(if negative { -value } else { value }))
}

/// A number as `%a` prints it; `None` for other text. At most 53 significant bits, so nothing is rounded.
fn parse_hex(word: &str) -> Option<f64> {
    let (mantissa, exponent) = word.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // Two factors, because one power of two may be too small for a double although the value is not.
    let half = (exponent - 4 * places) / 2;
    Some(digits as f64 * 2f64.powi(half) * 2f64.powi(exponent - 4 * places - half))
}

/// What the program should print by the interpreter: data arguments, then the fields of the context.
pub fn places(expected: &Outputs<MachineValue>) -> Vec<(String, Tensor<MachineValue>)> {
    let scalar = |value: MachineValue| Tensor::dense(Vec::new(), vec![value]);
    let fields = expected.config.iter().filter(|(field, _)| field.config().is_readwrite()).map(|(field, value)| {
        let value = match value {
            Input::Int(value) => scalar(MachineValue::Int(*value)),
            Input::Bool(value) => scalar(MachineValue::Int(i64::from(*value))),
            Input::Tensor(tensor) => tensor.clone(),
        };
        (field.to_string(), value)
    });
    expected.tensors.iter().cloned().chain(fields).collect()
}

/// The first place where the program's buffers are not what the interpreter says, in words. Values that the
/// interpreter leaves uninitialised may be anything.
pub fn first_difference(expected: &Outputs<MachineValue>, buffers: &[Vec<MachineValue>]) -> Option<String> {
    let places = places(expected);
    if places.len() != buffers.len() {
        return Some(format!("C printed {} instead of {}", counted(buffers.len(), "buffer"), places.len()));
    }
    for ((name, tensor), buffer) in places.iter().zip(buffers) {
        if tensor.data.len() != buffer.len() {
            return Some(format!("`{name}` has {} instead of {}", counted(buffer.len(), "element"), tensor.data.len()));
        }
        for (at, (want, have)) in tensor.data.iter().zip(buffer).enumerate() {
            if want != have && !matches!(want, MachineValue::Poison | MachineValue::Undefined(_)) {
                let place = tensor.indices().into_iter().find(|idx| offset(idx, &tensor.strides) == at);
                return Some(match place {
                    Some(idx) => format!("`{name}{idx:?}` is {have} in C and {want} in the interpreter"),
                    None => format!("element {at} of `{name}`, between its rows, is {have} in C and was {want}"),
                });
            }
        }
    }
    None
}

fn offset(idx: &[i64], strides: &[i64]) -> usize {
    let at: i64 = idx.iter().zip(strides).map(|(i, stride)| i * stride).sum();
    usize::try_from(at).unwrap_or(usize::MAX)
}
