//! Operators that annotate declarations: memory, precision, window.

pub mod set_memory;
pub mod set_precision;
pub mod set_window;

#[cfg(test)]
mod tests;
