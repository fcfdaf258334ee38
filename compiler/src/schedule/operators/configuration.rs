//! Operators on configuration state.

pub mod bind_config;
pub mod write_config;
pub mod delete_config;
mod writing;

#[cfg(test)]
mod tests;
