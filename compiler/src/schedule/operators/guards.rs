//! Operators on conditions and scopes.
