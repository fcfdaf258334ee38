//! stub
use crate::{analysis::Solver, diagnostic::Diagnostic, loop_ir::Proc};
pub fn check_proc(_p:&Proc,_s:&mut Solver)->Result<(),Vec<Diagnostic>>{Ok(())}
