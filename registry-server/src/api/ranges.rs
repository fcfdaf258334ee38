//! Parts of files: which bytes a request asks for (RFC 9110, section 14), one part at a time.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, header};

/// What is asked for of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// All of it: no part was named, several were, or the part is of another state of the file.
    Whole,
    Part(Range<usize>),
    /// A part that the file does not have.
    Nothing,
}

impl Asked {
    /// Whether it is all of a file of this size, so that one answer brings the whole.
    pub(super) fn is_all(&self, size: usize) -> bool {
        match self {
            Self::Whole => true,
            Self::Part(part) => *part == (0..size),
            Self::Nothing => false,
        }
    }

    /// What the answer says of the part.
    pub(super) fn content_range(&self, size: usize) -> Option<HeaderValue> {
        let text = match self {
            Self::Whole => return None,
            Self::Part(part) => format!("bytes {}-{}/{size}", part.start, part.end.saturating_sub(1)),
            Self::Nothing => format!("bytes */{size}"),
        };
        HeaderValue::from_str(&text).ok()
    }
}

/// What is asked for of a file of this size, which has this tag now.
pub(super) fn asked(headers: &HeaderMap, tag: &str, size: usize) -> Asked {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|known| known.trim() != tag) {
        return Asked::Whole;
    }
    text(header::RANGE).and_then(|range| part(range, size)).unwrap_or(Asked::Whole)
}

/// The part that a header names; `None` where it is not understood, which is no error.
fn part(range: &str, size: usize) -> Option<Asked> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let part = match (first.trim(), last.trim()) {
        ("", last) => size.saturating_sub(number(last)?)..size,
        (first, "") => number(first)?..size,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(size)
        }
    };
    Some(if part.start < part.end { Asked::Part(part) } else { Asked::Nothing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_are_written() {
        for (range, size, expected) in [
            ("bytes=0-9", 100, Asked::Part(0..10)),
            ("bytes=90-", 100, Asked::Part(90..100)),
            ("bytes=-10", 100, Asked::Part(90..100)),
            ("bytes=-1000", 100, Asked::Part(0..100)),
            ("bytes=99-18446744073709551615", 100, Asked::Part(99..100)),
            ("bytes=100-", 100, Asked::Nothing),
            ("bytes=0-", 0, Asked::Nothing),
            ("bytes=-0", 100, Asked::Nothing),
            ("bytes=9-0", 100, Asked::Whole),
            ("bytes=0-1,5-6", 100, Asked::Whole),
            ("lines=0-1", 100, Asked::Whole),
            ("bytes=a-b", 100, Asked::Whole),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_static(range));
            assert_eq!(asked(&headers, "\"t\"", size), expected, "{range}");
            headers.insert(header::IF_RANGE, HeaderValue::from_static("\"other\""));
            assert_eq!(asked(&headers, "\"t\"", size), Asked::Whole, "{range}");
        }
    }
}
