//! Operators on loops.
