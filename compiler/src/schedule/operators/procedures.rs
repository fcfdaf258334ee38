//! Operators on whole procedures and calls.
use std::sync::Arc; use crate::{analysis::Solver,diagnostic::Refusal,loop_ir::Proc,schedule::Procedure};
pub fn replace_all(_p:&Procedure,_i:&[Arc<Proc>],_s:&mut Solver)->Result<Procedure,Refusal>{unreachable!()}
