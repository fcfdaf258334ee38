//! How a publish ends that is refused: what is kept of the reasons has an end, however much a pack has to say.

use exo_index::visible;
use serde_json::{Map, Value, json};
use sqlx::AnyConnection;

use super::declaration::{Publish, State, finish};
use crate::audit;
use crate::failure::Failure;

/// Reasons that are kept.
const REASONS: usize = 100;

/// The longest text of a reason, in bytes.
const LONGEST_TEXT: usize = 4 << 10;

/// The largest diagnostic of the checker that is kept as it is, in bytes of JSON; of a larger one the text is enough.
const LARGEST_DIAGNOSTIC: usize = 8 << 10;

/// All reasons together, in bytes of JSON.
const LARGEST: usize = 64 << 10;

/// A text of at most so many bytes, or its beginning with a note of how much was cut off.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (kept, rest) = text.split_at(end);
    format!("{kept}… ({} bytes more were cut off)", rest.len())
}

/// Reasons against packs as they are kept and told: the first ones, each with an end.
pub(crate) fn bounded(reasons: Vec<Value>) -> Vec<Value> {
    let number = reasons.len();
    let mut kept = Vec::new();
    let mut size = 0;
    let mut last = Value::Null;
    for reason in reasons {
        last = reason.get("pack").cloned().unwrap_or_default();
        let reason = match reason {
            Value::Object(fields) => Value::Object(fields.into_iter().filter_map(short).collect::<Map<_, _>>()),
            other => other,
        };
        size += reason.to_string().len();
        if kept.len() == REASONS || size > LARGEST {
            break;
        }
        kept.push(reason);
    }
    let left_out = number - kept.len();
    if left_out > 0 {
        let message = format!("reasons left out, since there are too many or they are too long: {left_out}");
        kept.push(json!({ "pack": last, "code": "cut", "message": message, "hint": null }));
    }
    kept
}

/// A field of a reason; nothing of one that can be done without and is too large.
fn short((name, value): (String, Value)) -> Option<(String, Value)> {
    match value {
        Value::String(text) => Some((name, seen(Value::String(cut(&text, LONGEST_TEXT))))),
        Value::Object(_) | Value::Array(_) if value.to_string().len() > LARGEST_DIAGNOSTIC => None,
        other => Some((name, seen(other))),
    }
}

/// A value of which all texts can be seen: what a pack says of itself may have characters that a terminal obeys, and one that PostgreSQL
/// does not keep.
fn seen(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible::shown(&text)),
        Value::Array(values) => values.into_iter().map(seen).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, seen(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Ends a publish with the reasons against it.
///
/// # Errors
/// The database cannot be written.
pub(crate) async fn refuse(rows: &mut AnyConnection, publish: &Publish, reasons: Vec<Value>) -> Result<(), Failure> {
    let reasons = bounded(reasons);
    let answer = json!({ "packs": [], "pointer": null, "diagnostics": &reasons });
    finish(rows, &publish.id, State::Refused, &answer).await?;
    audit::note_refused(rows, publish, &reasons).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(reasons: &[Value]) -> usize {
        reasons.iter().map(|reason| reason.to_string().len()).sum()
    }

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("für", 4), "für");
        assert_eq!(cut("für", 2), "f… (3 bytes more were cut off)");
        assert_eq!(cut("日本", 0), "… (6 bytes more were cut off)");
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let reasons = vec![
            json!({ "pack": "base", "code": "name", "message": "taken", "hint": "choose another" }),
            json!({ "pack": "base", "code": "checker", "message": "wrong", "diagnostic": { "code": "E0201", "line": 3 } }),
        ];
        assert_eq!(bounded(reasons.clone()), reasons);
    }

    #[test]
    fn what_cannot_be_seen_is_not_kept() {
        let kept = bounded(vec![json!({ "message": "a\0b\u{1b}[0m\nc", "diagnostic": { "notes": ["d\0", 1] } })]);
        assert_eq!(
            kept,
            [json!({ "message": "a\u{fffd}b\u{fffd}[0m\nc", "diagnostic": { "notes": ["d\u{fffd}", 1] } })]
        );
    }

    #[test]
    fn what_is_long_or_many_has_an_end() {
        let long = json!({ "pack": "base", "code": "checker", "message": "a".repeat(20_000_000), "diagnostic": { "text": "a".repeat(20_000_000) } });
        let kept = bounded(vec![long]);
        assert!(kept.len() == 1 && size(&kept) < 5000 && kept[0]["diagnostic"].is_null(), "{kept:?}");
        assert!(kept[0]["message"].as_str().is_some_and(|text| text.ends_with("bytes more were cut off)")));
        let many = vec![json!({ "pack": "base", "code": "checker", "message": "\u{1}".repeat(3000) }); 5000];
        let kept = bounded(many);
        assert!(size(&kept) <= LARGEST + 300, "{}", size(&kept));
        let note = &kept[kept.len() - 1];
        assert_eq!(
            note["message"],
            format!("reasons left out, since there are too many or they are too long: {}", 5001 - kept.len())
        );
        let short = vec![json!({ "pack": "base", "code": "x", "message": "y" }); 5000];
        assert_eq!(bounded(short).len(), REASONS + 1);
    }
}
