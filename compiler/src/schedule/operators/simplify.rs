//! `simplify`: index arithmetic in normal form, constants folded, dead code dropped; never changes meaning.
