//! Times as dates for people and machines.

/// A time in seconds since 1970 as `2026-11-30 05:04 UTC`.
pub fn minute(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{} {:02}:{:02} UTC", civil(days), rest / 3600, rest % 3600 / 60)
}

/// A time in seconds since 1970 as `2026-11-30T05:04:09Z`.
pub fn rfc3339(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    format!("{}T{:02}:{:02}:{:02}Z", civil(days), rest / 3600, rest % 3600 / 60, rest % 60)
}

/// The day of a time in seconds since 1970 as `2026-11-30`.
pub fn day(seconds: i64) -> String {
    civil(seconds.div_euclid(86_400))
}

/// Reads `2026-11-30T05:04:09Z`, or `2026-11-30`, which means the last second of that day.
///
/// # Errors
/// The text is neither, or no such time exists.
pub fn parse(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is no date such as `2026-11-30` and no time such as `2026-11-30T05:04:09Z`");
    let (date, time) = text.split_once('T').unwrap_or((text, "23:59:59Z"));
    let time = time.strip_suffix('Z').ok_or_else(wrong)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2]).ok_or_else(wrong)?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2]).ok_or_else(wrong)?;
    let days = days(year, month, day);
    // A day that its month does not have is another date when it is written again.
    if hour > 23 || minute > 59 || second > 59 || civil(days) != date {
        return Err(wrong());
    }
    Ok(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Three numbers of so many digits each.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The day, counted from 1970-01-01, of a Gregorian date (as [`civil`]).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times() {
        assert_eq!(minute(0), "1970-01-01 00:00 UTC");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(951_868_800), "2000-03-01");
        assert_eq!(minute(1_796_015_059), "2026-11-30 05:04 UTC");
        assert_eq!(day(-1), "1969-12-31");
    }

    #[test]
    fn what_is_written_is_read() {
        for seconds in [0, 951_782_400, 951_868_799, 1_796_015_059, 4_102_444_800] {
            assert_eq!(parse(&rfc3339(seconds)), Ok(seconds));
            assert_eq!(parse(&day(seconds)), Ok(seconds - seconds % 86_400 + 86_399));
        }
        for wrong in [
            "",
            "today",
            "2026-11",
            "2026-11-31",
            "2025-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-11-30T05:04",
            "2026-11-30T24:00:00Z",
            "2026-11-30T05:04:09",
            "2026-11-30 05:04:09Z",
            "26-11-30",
            "2026-11-30T05:04:60Z",
            "2026-11-30-1",
            "+026-11-30",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
