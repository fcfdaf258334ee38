//! The operators in the order of the reference. A new operator is one file and one line here.

use crate::schedule::operator::{Default, Operator};
use crate::schedule::operators::{
    annotations, buffers, configuration, expressions, guards, loops, procedures, simplify, statements,
};

/// Every operator.
pub static OPERATORS: &[&dyn Operator] = &[
    &simplify::operator::Simplify,
    // statements
    &statements::insert_pass::InsertPass,
    &statements::insert_noop_call::InsertNoopCall,
    &statements::delete_pass::DeletePass,
    &statements::reorder_stmts::ReorderStmts,
    &statements::merge_writes::MergeWrites,
    &statements::split_write::SplitWrite,
    &statements::fold_into_reduce::FoldIntoReduce,
    &statements::inline_assign::InlineAssign,
    &statements::lift_reduce_constant::LiftReduceConstant,
    // annotations
    &annotations::set_precision::SetPrecision,
    &annotations::set_window::SetWindow,
    &annotations::set_memory::SetMemory,
    // loops
    &loops::divide_loop::DivideLoop,
    &loops::divide_with_recompute::DivideWithRecompute,
    &loops::mult_loops::MultLoops,
    &loops::cut_loop::CutLoop,
    &loops::join_loops::JoinLoops,
    &loops::shift_loop::ShiftLoop,
    &loops::reorder_loops::ReorderLoops,
    &loops::unroll_loop::UnrollLoop,
    &loops::fission::Fission,
    &loops::autofission::Autofission,
    &loops::fuse::Fuse,
    &loops::remove_loop::RemoveLoop,
    &loops::add_loop::AddLoop,
    &loops::parallelize_loop::ParallelizeLoop,
    // guards
    &guards::lift_scope::LiftScope,
    &guards::eliminate_dead_code::EliminateDeadCode,
    &guards::specialize::Specialize,
    &guards::add_unsafe_guard::AddUnsafeGuard,
    // buffers
    &buffers::stage_mem::StageMem,
    &buffers::expand_dim::ExpandDim,
    &buffers::resize_dim::ResizeDim,
    &buffers::rearrange_dim::RearrangeDim,
    &buffers::divide_dim::DivideDim,
    &buffers::mult_dim::MultDim,
    &buffers::lift_alloc::LiftAlloc,
    &buffers::autolift_alloc::AutoliftAlloc,
    &buffers::sink_alloc::SinkAlloc,
    &buffers::delete_buffer::DeleteBuffer,
    &buffers::reuse_buffer::ReuseBuffer,
    &buffers::unroll_buffer::UnrollBuffer,
    &buffers::inline_window::InlineWindow,
    // expressions
    &expressions::bind_expr::BindExpr,
    &expressions::commute_expr::CommuteExpr,
    &expressions::left_reassociate_expr::LeftReassociateExpr,
    &expressions::rewrite_expr::RewriteExpr,
    // configuration state
    &configuration::bind_config::BindConfig,
    &configuration::write_config::WriteConfig,
    &configuration::delete_config::DeleteConfig,
    // procedures
    &procedures::rename::Rename,
    &procedures::make_instr::MakeInstr,
    &procedures::inline::Inline,
    &procedures::replace::Replace,
    &procedures::replace_all::ReplaceAll,
    &procedures::extract_subproc::ExtractSubproc,
    &procedures::call_eqv::CallEqv,
    &procedures::partial_eval::PartialEval,
    &procedures::add_assertion::AddAssertion,
    &procedures::transpose::Transpose,
];

/// The operator of this name.
pub fn find(name: &str) -> Option<&'static dyn Operator> {
    OPERATORS.iter().copied().find(|operator| operator.name() == name)
}

/// The operator that users of older versions and of other compilers may look for under this name.
pub fn known_as(name: &str) -> Option<&'static str> {
    let found = match name {
        "split" | "split_loop" | "tile" | "tile_loop" => "divide_loop",
        "partition_loop" => "cut_loop",
        "unroll" => "unroll_loop",
        "reorder" | "interchange" | "permute_loops" => "reorder_loops",
        "reorder_before" | "swap_stmts" => "reorder_stmts",
        "parallelize" | "parallel" => "parallelize_loop",
        "fuse_loop" | "fuse_loops" | "fuse_if" => "fuse",
        "fission_loop" | "double_fission" | "fission_after" => "fission",
        "lift_if" => "lift_scope",
        "remove_if" | "assert_if" | "dce" => "eliminate_dead_code",
        "bound_and_guard" => "add_unsafe_guard",
        "bound_alloc" => "resize_dim",
        "data_reuse" => "reuse_buffer",
        "merge_reduce" => "merge_writes",
        "set_typ" | "set_type" => "set_precision",
        "parenthesis" => "left_reassociate_expr",
        "stage_window" | "stage_assn" | "stage_expr" => "stage_mem",
        "abstract" => "replace",
        _ => return None,
    };
    Some(found)
}

/// `name(proc, parameter, other = default)`.
pub fn signature(operator: &dyn Operator) -> String {
    let parameters = operator.parameters().iter().map(|parameter| match parameter.default {
        None => parameter.name.to_string(),
        Some(default) => format!("{} = {}", parameter.name, default_text(default)),
    });
    let all: Vec<String> = std::iter::once("proc".to_string()).chain(parameters).collect();
    format!("{}({})", operator.name(), all.join(", "))
}

fn default_text(default: Default) -> String {
    match default {
        Default::None => "None".to_string(),
        Default::Bool(true) => "True".to_string(),
        Default::Bool(false) => "False".to_string(),
        Default::Int(value) => value.to_string(),
        Default::Text(text) => format!("\"{text}\""),
    }
}
