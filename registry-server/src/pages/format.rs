//! How numbers and times read on a page.

/// A time in seconds since 1970 as `2026-11-30 05:04 UTC`.
pub(super) fn time(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{} {:02}:{:02} UTC", civil(days), rest / 3600, rest % 3600 / 60)
}

/// A time in seconds since 1970 as `2026-11-30T05:04:09Z`.
pub(crate) fn rfc3339(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{}T{:02}:{:02}:{:02}Z", civil(days), rest / 3600, rest % 3600 / 60, rest % 60)
}

/// The day of a time in seconds since 1970 as `2026-11-30`.
pub(super) fn day(seconds: i64) -> String {
    civil(seconds.div_euclid(86_400))
}

/// The Gregorian date of a day counted from 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

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
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times() {
        assert_eq!(time(0), "1970-01-01 00:00 UTC");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(951_868_800), "2000-03-01");
        assert_eq!(time(1_796_015_059), "2026-11-30 05:04 UTC");
        assert_eq!(day(-1), "1969-12-31");
    }

    #[test]
    fn sizes_and_counts() {
        assert_eq!([bytes(1023), bytes(1536), bytes(3 << 20)], ["1023 B", "1.5 KiB", "3.0 MiB"]);
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1\u{202f}234", "1\u{202f}234\u{202f}567"]);
        assert_eq!(encoded("1.0.0+a b"), "1.0.0%2Ba%20b");
    }
}
