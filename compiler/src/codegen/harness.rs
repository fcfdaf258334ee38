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
use crate::interpret::tolerated::Tolerated;
use crate::interpret::{Input, Inputs, Outputs, Tensor};
use crate::loop_ir::procedure::{Arg, ArgType, Proc};

/// Elements of known content at the side of each buffer that no page guards; a function that writes there is caught.
const GUARD: usize = 64;

/// Of so many runs, one has its buffers at the beginning of a page, so that what lies before them cannot be read; in
/// the others it is what lies behind them.
const ONE_AT_THE_BEGINNING: usize = 4;

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
        let at_end = k % ONE_AT_THE_BEGINNING != ONE_AT_THE_BEGINNING - 1;
        let run = run(proc, header_name, inputs, at_end)?;
        has_buffers |= !run.storage.is_empty();
        runs.push_str(&format!("static void run_{k}(void) {{\n{}}}\n\n", run.text(&proc.name)));
        calls.push_str(&format!("    run_{k}();\n"));
    }
    let (begin, buffers) = if has_buffers { ("    watch();\n", BUFFERS) } else { ("", "") };
    let count = proc.args.len();
    Ok(format!(
        "#define _DEFAULT_SOURCE\n#include \"{header_name}\"\n#include <inttypes.h>\n#include <math.h>\n\
         #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n\
         enum {{ GUARD = {GUARD}, CANARY = 0xA5, ARGUMENTS = {count} }};\n\n{buffers}{runs}\
         int main(void) {{\n{begin}{calls}    return 0;\n}}\n"
    ))
}

fn run(proc: &Arc<Proc>, header_name: &str, inputs: &Inputs<MachineValue>, at_end: bool) -> Result<Program, String> {
    if proc.args.len() != inputs.args.len() {
        let (have, want) = (counted(inputs.args.len(), "input"), counted(proc.args.len(), "argument"));
        return Err(format!("`{}` takes {want}, not {have}", proc.name));
    }
    let mut usage = Usage::default();
    let mut program = Program { at_end, ..Program::default() };
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
    /// Whether buffers end where a page ends, rather than begin where one begins.
    at_end: bool,
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
        self.state.storage = format!("    static {} context;\n", context.type_name());
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
                let pointer = format!("buffer_{at}");
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
            "    static const {wide} data_{at}[{count}] = {{ {} }};\n    {ty} *const buffer_{at} = place({at}, {count} * sizeof({ty}), sizeof({ty}), {});\n",
            values.join(", "),
            i32::from(self.at_end),
        ));
        self.filling
            .push_str(&format!("    for (size_t i = 0; i < {count}; i++) buffer_{at}[i] = {store}(data_{at}[i]);\n"));
        let kind = if precision.is_float() { "float" } else { "int" };
        self.printing.push_str(&format!(
            "    printf(\"{kind}\");\n    \
             for (size_t i = 0; i < {count}; i++) {print}{element}(buffer_{at}[i]));\n    \
             printf(\"\\n\");\n    \
             report({at});\n"
        ));
    }

    /// The body of the function that makes this run.
    fn text(&self, name: &str) -> String {
        let Program { storage, filling, arguments, printing, state, at_end: _ } = self;
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

/// Where buffers lie: next to a page that cannot be touched, so that a function that reads or writes there ends at once.
const BUFFERS: &str = "static struct { unsigned char *low, *begin, *end, *high; } places[ARGUMENTS];

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static unsigned char *between_guards(size_t size) {
    unsigned char *all = mmap(NULL, size + 2 * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (all == MAP_FAILED) exit(1);
    mprotect(all, page_size(), PROT_NONE);
    mprotect(all + page_size() + size, page_size(), PROT_NONE);
    return all + page_size();
}

static void touched(int number, siginfo_t *info, void *context) {
    const unsigned char *address = info->si_addr;
    (void)context;
    for (int at = 0; at < ARGUMENTS; at++) {
        if (places[at].low && address >= places[at].low - page_size() && address < places[at].high + page_size()) {
            printf(\"touched %d\\n\", at);
            fflush(stdout);
            _exit(0);
        }
    }
    signal(number, SIG_DFL);
}

static void watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}
#else
static size_t page_size(void) { return 4096; }
static unsigned char *between_guards(size_t size) {
    unsigned char *all = malloc(size);
    if (!all) exit(1);
    return all;
}
static void watch(void) {}
#endif

static void *place(int at, size_t size, size_t element, int at_end) {
    size_t pages = (size + GUARD * element) / page_size() + 1;
    unsigned char *low = between_guards(pages * page_size()), *high = low + pages * page_size();
    memset(low, CANARY, pages * page_size());
    places[at].low = low;
    places[at].high = high;
    places[at].begin = at_end ? high - size : low;
    places[at].end = places[at].begin + size;
    return places[at].begin;
}

static void report(int at) {
    int holds = 1;
    for (const unsigned char *byte = places[at].low; byte < places[at].begin; byte++) holds &= *byte == CANARY;
    for (const unsigned char *byte = places[at].end; byte < places[at].high; byte++) holds &= *byte == CANARY;
    if (!holds) printf(\"overrun %d\\n\", at);
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
            Some("touched") => {
                let at = words.next().unwrap_or("?");
                return Err(format!("the function reads or writes outside the buffer of argument {at}"));
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

/// What the interpreter says of one value that C prints.
pub trait Expectation: Clone + std::fmt::Display + From<MachineValue> {
    /// Whether C may print this. Where the interpreter leaves a value uninitialised, it may be anything.
    fn allows(&self, have: &MachineValue) -> bool;
}

impl Expectation for MachineValue {
    fn allows(&self, have: &MachineValue) -> bool {
        self == have || matches!(self, MachineValue::Poison | MachineValue::Undefined(_))
    }
}

impl Expectation for Tolerated {
    fn allows(&self, have: &MachineValue) -> bool {
        Tolerated::allows(self, have)
    }
}

/// What the program should print by the interpreter: data arguments, then the fields of the context.
fn places<V: Expectation>(expected: &Outputs<V>) -> Vec<(String, Tensor<V>)> {
    let scalar = |value: i64| Tensor::dense(Vec::new(), vec![V::from(MachineValue::Int(value))]);
    let fields = expected.config.iter().filter(|(field, _)| field.config().is_readwrite()).map(|(field, value)| {
        let value = match value {
            Input::Int(value) => scalar(*value),
            Input::Bool(value) => scalar(i64::from(*value)),
            Input::Tensor(tensor) => tensor.clone(),
        };
        (field.to_string(), value)
    });
    expected.tensors.iter().cloned().chain(fields).collect()
}

/// The first place where the program's buffers are not what the interpreter says, in words.
pub fn first_difference<V: Expectation>(expected: &Outputs<V>, buffers: &[Vec<MachineValue>]) -> Option<String> {
    let places = places(expected);
    if places.len() != buffers.len() {
        return Some(format!("C printed {} instead of {}", counted(buffers.len(), "buffer"), places.len()));
    }
    for ((name, tensor), buffer) in places.iter().zip(buffers) {
        if tensor.data.len() != buffer.len() {
            return Some(format!("`{name}` has {} instead of {}", counted(buffer.len(), "element"), tensor.data.len()));
        }
        for (at, (want, have)) in tensor.data.iter().zip(buffer).enumerate() {
            if !want.allows(have) {
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
