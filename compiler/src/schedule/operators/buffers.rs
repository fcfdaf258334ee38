//! Operators on buffers: their shape, their place, their copies.

pub(in crate::schedule::operators) mod layout;
pub(in crate::schedule::operators) mod staging;
pub(in crate::schedule::operators) mod touches;
pub(in crate::schedule::operators) mod uses;

pub mod autolift_alloc;
pub mod delete_buffer;
pub mod divide_dim;
pub mod expand_dim;
pub mod inline_window;
pub mod lift_alloc;
pub mod mult_dim;
pub mod rearrange_dim;
pub mod resize_dim;
pub mod reuse_buffer;
pub mod sink_alloc;
pub mod stage_mem;
pub mod unroll_buffer;

#[cfg(test)]
mod tests;
