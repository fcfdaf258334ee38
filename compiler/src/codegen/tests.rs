//! Tests of code generation: printed text, and compilers and processors that have the last word.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod configuration;
mod conformance;
mod magnitude;
mod printing;
mod refusals;
mod running;
mod toolchain;

use std::sync::Arc;

use crate::codegen::{Options, Output, compile};
use crate::diagnostic::{Diagnostic, Refusal, RefusalKind, codes};
use crate::hardware::extern_function::ExternFunction;
use crate::hardware::memory::{Hooks, Memory, MemoryQuestion};
use crate::loop_ir::Proc;
use crate::testing;

/// Writes C for the memory `AVX2` of the test prelude: registers of eight floats, by intrinsics.
pub(super) struct TestHooks;

impl Hooks for TestHooks {
    fn memory(&self, memory: &Memory, question: &MemoryQuestion<'_>) -> Result<Option<String>, Refusal> {
        if memory.name() != "AVX2" {
            return Ok(None);
        }
        Ok(match question {
            MemoryQuestion::Global => Some("#include <immintrin.h>\n".into()),
            MemoryQuestion::Alloc { name, shape, .. } => match shape.split_last() {
                Some((last, rest)) if last == "8" => {
                    let rest: String = rest.iter().map(|extent| format!("[{extent}]")).collect();
                    Some(format!("__m256 {name}{rest};"))
                }
                _ => {
                    let error = Diagnostic::error(codes::MEMORY, "AVX2 registers hold eight floats");
                    return Err(Refusal::new(RefusalKind::Memory, "AVX2", error));
                }
            },
            MemoryQuestion::Free { .. } => Some(String::new()),
            MemoryQuestion::Window { base, indices, .. } => {
                let all: String = indices[..indices.len() - 1].iter().map(|index| format!("[{index}]")).collect();
                Some(format!("{base}{all}"))
            }
            MemoryQuestion::Read { .. } | MemoryQuestion::Write { .. } | MemoryQuestion::Reduce { .. } => None,
        })
    }

    fn defines(&self, memory: &Memory, function: &str) -> bool {
        memory.name() == "AVX2" && ["global_", "alloc", "free", "window"].contains(&function)
    }

    fn extern_call(&self, _: &ExternFunction, arguments: &[String], c_type: &str) -> Result<String, Refusal> {
        Ok(format!("user_{c_type}({})", arguments.join(", ")))
    }

    fn extern_global(&self, _: &ExternFunction, c_type: &str) -> Result<String, Refusal> {
        Ok(format!("static {c_type} user_{c_type}({c_type} x) {{ return x; }}\n"))
    }
}

pub(super) fn options() -> Options {
    Options { header_name: "lib.h".into(), emulate: false, checked: false }
}

pub(super) fn emulated() -> Options {
    Options { emulate: true, ..options() }
}

/// The last proc of the text, compiled.
pub(super) fn output(text: &str) -> Output {
    output_of(&last(text), &options())
}

pub(super) fn output_of(proc: &Arc<Proc>, options: &Options) -> Output {
    compile(std::slice::from_ref(proc), options, &TestHooks).unwrap_or_else(|errors| panic!("{}", messages(&errors)))
}

pub(super) fn last(text: &str) -> Arc<Proc> {
    testing::procs(text).pop().expect("a definition")
}

/// The errors that compiling the last proc gives.
pub(super) fn errors(text: &str) -> Vec<Diagnostic> {
    compile(&[last(text)], &options(), &TestHooks).expect_err("no error")
}

pub(super) fn messages(errors: &[Diagnostic]) -> String {
    testing::messages(errors)
}

/// The statements of the public function, without comment and signature.
pub(super) fn body(text: &str) -> String {
    let proc = last(text);
    let c = output_of(&proc, &options()).c;
    let start = c.find(&format!("\nvoid {}(", proc.name)).expect("the function");
    let rest = &c[start + 1..];
    let from = rest.find('\n').expect("a body") + 1;
    // Functions are separated by blank lines, which bodies do not contain.
    let function = rest.split("\n\n").next().expect("a function");
    function[from..].trim_end().strip_suffix('}').expect("an end").to_string()
}
