//! Operators on single statements.

pub mod reorder_stmts;
pub mod delete_pass;
pub mod insert_noop_call;
pub mod insert_pass;
pub mod lift_reduce_constant;
pub mod inline_assign;
pub mod merge_writes;
pub mod split_write;
pub mod fold_into_reduce;

#[cfg(test)]
mod tests;
