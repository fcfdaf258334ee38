//! Names that users make up.

use crate::syntax::pattern::is_identifier;

/// Words that cannot be names in object code, because the surface is Python's.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Whether a text is usable as the name of something in object code.
pub fn is_name(text: &str) -> bool {
    is_identifier(text) && !KEYWORDS.contains(&text)
}
