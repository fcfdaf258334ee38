//! What host code holds: procs, cursors, memories, configs, externs, precision words, operators.

pub(crate) mod cc;
pub(crate) mod configs;
pub(crate) mod cursor;
pub(crate) mod cursor_methods;
pub(crate) mod modules;
pub(crate) mod operator;
pub(crate) mod procedure;
pub(crate) mod quotes;
pub(crate) mod results;
pub(crate) mod words;
