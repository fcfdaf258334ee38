//! Effect summaries of called procedures, made once for each.

/// Summaries by callee.
#[derive(Default)]
pub struct Callees {}
