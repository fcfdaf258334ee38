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
}
