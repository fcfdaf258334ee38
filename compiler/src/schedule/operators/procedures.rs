//! Operators on whole procedures and calls.
