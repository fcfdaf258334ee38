//! Diagnostics for readers: [`text`] with source excerpts for people, [`json`] for programs.

pub(crate) mod json;
pub(crate) mod text;
