//! Why bytes are not what they are said to be.

use std::fmt;

/// Bytes of a registry that do not follow the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What was read: `the pointer`, `a bucket`.
    pub what: &'static str,
    /// What is wrong with it, in one phrase.
    pub message: String,
}

impl Malformed {
    /// A mistake in `what`.
    pub fn new(what: &'static str, message: impl Into<String>) -> Self {
        Self { what, message: message.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is malformed: {}", self.what, self.message)
    }
}

impl std::error::Error for Malformed {}

/// Reads a number that has one text only: no sign, no leading zero.
pub(crate) fn number(what: &'static str, text: &str) -> Result<u64, Malformed> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let value = if canonical { text.parse().ok() } else { None };
    value.ok_or_else(|| Malformed::new(what, format!("`{text}` is not a number")))
}

/// The text of some bytes.
pub(crate) fn utf8<'a>(what: &'static str, bytes: &'a [u8]) -> Result<&'a str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::new(what, "it is not UTF-8"))
}
