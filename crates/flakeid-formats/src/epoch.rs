//! The text of flake's epoch in the setting `flakeid.epoch`.

use flakeid_core::flake::Epoch;

/// The least number that counts as milliseconds, except 0. Below it 2010 is a year, 20240101 a
/// date, 1577836800 a time in seconds, and 202401010000 a date with a time.
pub const LEAST_MILLISECONDS: i64 = 210_000_000_000;

/// A reason why a text is not an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It is a number that could be a year, a date or seconds.
    Ambiguous,
    /// It has no form of an epoch.
    Unreadable,
    /// It is before 1970 or after [`Epoch::MAX`].
    OutOfRange,
}

/// Parses `unix`, milliseconds since 1970-01-01 UTC, a date (its midnight in UTC), or a moment with
/// its offset.
///
/// # Errors
/// [`Invalid`].
pub fn parse(value: &str) -> Result<Epoch, Invalid> {
    let value = value.trim();
    let millis = if value.eq_ignore_ascii_case("unix") {
        0
    } else if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        match value.parse().unwrap_or(i64::MAX) {
            1..LEAST_MILLISECONDS => return Err(Invalid::Ambiguous),
            millis => millis,
        }
    } else if let Ok(moment) = value.parse::<jiff::Timestamp>() {
        milliseconds(moment)
    } else {
        milliseconds(parse_date(value).ok_or(Invalid::Unreadable)?)
    };
    Epoch::from_millis(millis).ok_or(Invalid::OutOfRange)
}

/// Returns the millisecond that contains a moment. Before 1970 it is negative.
fn milliseconds(moment: jiff::Timestamp) -> i64 {
    moment.as_nanosecond().div_euclid(1_000_000) as i64
}

/// Parses a date, and nothing but a date, as the midnight in UTC at which it begins.
fn parse_date(value: &str) -> Option<jiff::Timestamp> {
    if value.len() != "2020-01-01".len() {
        return None;
    }
    let date: jiff::civil::Date = value.parse().ok()?;
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}
