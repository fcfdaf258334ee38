//! The compiler: object code, schedules and targets in; checked procs and C out. No I/O of its own.
//!
//! Modules stand in reading order and use only those above them (`tests/repository` holds it).

pub mod source;
pub mod diagnostic;
pub mod profile;
pub mod world;
pub mod symbol;
pub mod hardware;
pub mod loop_ir;
pub mod cursor;
pub mod print;
pub mod typecheck;
pub mod syntax;
pub mod analysis;
pub mod checks;
pub mod unify;
pub mod schedule;
pub mod interpret;

pub mod codegen;
pub mod contract;
#[expect(unsafe_code, reason = "starlark's derive of `ProvidesStaticType` implements an unsafe marker trait")]
pub(crate) mod script;
pub mod pipeline;

#[cfg(test)]
pub(crate) mod testing;
