//! Operators on buffers: their shape, their place, their copies.

pub(in crate::schedule::operators) mod layout;
pub(in crate::schedule::operators) mod staging;
pub(in crate::schedule::operators) mod touches;
pub(in crate::schedule::operators) mod uses;

pub mod delete_buffer;
pub mod divide_dim;
pub mod expand_dim;
pub mod lift_alloc;
pub mod mult_dim;
pub mod rearrange_dim;
pub mod stage_mem;

#[cfg(test)]
mod tests;
