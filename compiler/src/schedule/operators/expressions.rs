//! Operators on expressions.
