//! How numbers and times read on a page.

pub(super) use exo_index::calendar::day;
pub(crate) use exo_index::calendar::{minute as time, rfc3339};

/// A number of bytes as `512 B`, `1.5 KiB` or `2.0 MiB`.
pub(super) fn bytes(size: u64) -> String {
    match size {
        small @ 0..1024 => format!("{small} B"),
        medium @ 1024..1_048_576 => format!("{}.{} KiB", medium / 1024, medium % 1024 * 10 / 1024),
        large => format!("{}.{} MiB", large / 1_048_576, large % 1_048_576 * 10 / 1_048_576),
    }
}

/// A count with thin groups of thousands: `12 345`.
pub(super) fn count(number: i64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A text as a value in the query of an address, with everything but letters, digits, `-`, `_` and `.` escaped.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts() {
        assert_eq!([bytes(1023), bytes(1536), bytes(3 << 20)], ["1023 B", "1.5 KiB", "3.0 MiB"]);
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1\u{202f}234", "1\u{202f}234\u{202f}567"]);
        assert_eq!(encoded("1.0.0+a b"), "1.0.0%2Ba%20b");
    }
}
