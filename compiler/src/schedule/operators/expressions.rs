//! Operators on expressions.

pub mod bind_expr;
pub mod commute_expr;
pub mod left_reassociate_expr;
pub mod rewrite_expr;

#[cfg(test)]
mod tests;
