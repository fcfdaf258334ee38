//! stub
use std::sync::Arc; use crate::{hardware::memory::Hooks, diagnostic::Diagnostic, loop_ir::Proc};
pub struct Options{pub header_name:String,pub emulate:bool}
pub struct Output{pub c:String,pub header:String,pub raw_c:Vec<String>}
pub fn compile(_p:&[Arc<Proc>],_o:&Options,_h:&dyn Hooks)->Result<Output,Vec<Diagnostic>>{Err(vec![])}
pub fn proc_text(_p:&Arc<Proc>,_h:&dyn Hooks)->Result<String,Vec<Diagnostic>>{Err(vec![])}
