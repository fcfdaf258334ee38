//! Operators on single statements.
