//! Operators that annotate declarations: memory, precision, window.
