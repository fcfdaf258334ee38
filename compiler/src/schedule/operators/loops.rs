//! Operators on loops.

pub mod divide_loop;
pub mod divide_with_recompute;
pub mod mult_loops;
pub mod cut_loop;
pub mod join_loops;
pub mod shift_loop;
pub mod reorder_loops;
pub mod fission;
pub mod autofission;
pub mod fuse;
pub mod unroll_loop;
pub mod remove_loop;
pub mod add_loop;
pub mod parallelize_loop;

#[cfg(test)]
mod tests;
