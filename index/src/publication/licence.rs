//! Whether a licence is an SPDX expression that says something.

use spdx::Expression;

/// What is wrong with the text of `license`, and how to put it right; `None` for a sound SPDX expression.
pub fn licence_problem(text: &str) -> Option<(String, String)> {
    // Lower-case operators and spellings outside the list are refused, so that every tool reads the same.
    let error = Expression::parse(text).err()?;
    let hint = Expression::canonicalize(text).ok().flatten().filter(|canonical| Expression::parse(canonical).is_ok());
    let hint = match hint {
        Some(canonical) => format!("write `{canonical}`"),
        None => {
            "write an SPDX expression, such as `MIT OR Apache-2.0`; `LicenseRef-…` names one of your own".to_owned()
        }
    };
    Some((format!("the licence `{text}` is no SPDX expression: {}", error.reason), hint))
}
