//! Times, durations and texts in the form in which messages show them.

use flakeid_core::Error;
use flakeid_core::clock::{UnixMicros, UnixNanos};
use pgrx::pg_sys;
use std::time::Duration;

/// Returns the operating system's text for an error, without its number.
pub fn os_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}

/// Formats a time in UTC, as PostgreSQL prints it with `SET timezone TO 'UTC'`.
pub fn moment(time: UnixMicros) -> String {
    match time {
        UnixMicros(i64::MIN) => "-infinity".into(),
        UnixMicros(i64::MAX) => "infinity".into(),
        UnixMicros::BEYOND => format!("{} or later", far_moment(time)),
        _ => match jiff::Timestamp::from_microsecond(time.0) {
            Ok(timestamp) if timestamp >= YEAR_1 => {
                timestamp.strftime("%Y-%m-%d %H:%M:%S%.f+00").to_string()
            }
            _ => far_moment(time),
        },
    }
}

/// The beginning of the year 1. Before it PostgreSQL counts the years backwards, and has no year 0.
const YEAR_1: jiff::Timestamp = jiff::Timestamp::constant(-62_135_596_800, 0);

/// Formats a time after the year 9999 or before the year 1.
fn far_moment(time: UnixMicros) -> String {
    let (seconds, micros) = (time.0.div_euclid(1_000_000), time.0.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (mut year, mut month, mut day) = (0, 0, 0);
    let julian = days + i64::from(pg_sys::UNIX_EPOCH_JDATE);
    // SAFETY: this is PostgreSQL's own calendar, a plain calculation; the days of PostgreSQL's
    // times are within its range.
    unsafe { pg_sys::j2date(julian as i32, &mut year, &mut month, &mut day) };
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = match micros {
        0 => String::new(),
        _ => format!(".{micros:06}").trim_end_matches('0').into(),
    };
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}+00{era}")
}

/// Formats a reading of the clock, to the microsecond.
pub fn instant(time: UnixNanos) -> String {
    moment(UnixMicros((time.0 / 1000) as i64))
}

/// Converts a time for values that contain one. A time beyond the calendar becomes its end.
pub fn timestamp(time: UnixMicros) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(time.0).unwrap_or(jiff::Timestamp::MAX)
}

/// The number of bytes from which on an error quotes only the beginning of a text.
const QUOTED_LIMIT: usize = 1_000;

/// Returns a text from outside in the form in which an error may quote it: unchanged if every
/// client can read it. A message would end at a NUL, which the bytes of a sno can contain.
///
/// Of a long text it returns the beginning. For a message there may be no memory if it is as long
/// as a text can be, and then the process would abort.
pub fn quoted(text: &[u8]) -> String {
    match text.split_at_checked(QUOTED_LIMIT) {
        Some((beginning, [_, ..])) => {
            // The last character may be cut.
            let whole = match std::str::from_utf8(beginning) {
                Err(error) if error.error_len().is_none() => &beginning[..error.valid_up_to()],
                _ => beginning,
            };
            quoted_whole(whole) + "..."
        }
        _ => quoted_whole(text),
    }
}

fn quoted_whole(text: &[u8]) -> String {
    // SAFETY: reads a variable that is set when the session begins.
    let utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32;
    match std::str::from_utf8(text) {
        Ok(text) if (utf8 || text.is_ascii()) && !text.contains('\0') => text.into(),
        _ => text.escape_ascii().to_string(),
    }
}

/// Returns a text from outside for a message, such as another host's error or a value from etcd: at
/// most `limit` bytes, all of them printable ASCII. So it neither fills the log nor breaks its
/// lines, and it is valid in any encoding.
#[cfg(feature = "etcd")]
pub fn excerpt(text: &[u8], limit: usize) -> String {
    let mut excerpt = String::new();
    for &byte in text {
        let start = excerpt.len();
        match byte {
            b'"' | b'\'' => excerpt.push(byte.into()),
            _ => excerpt.extend(byte.escape_ascii().map(char::from)),
        }
        if excerpt.len() > limit {
            excerpt.truncate(start);
            excerpt.push_str("...");
            break;
        }
    }
    excerpt
}

/// Returns a sentence that says why a text is invalid.
pub fn text_detail(what: &str, error: Error) -> String {
    match error {
        Error::TextLength { expected, found } => {
            let bytes = if found == 1 { "byte" } else { "bytes" };
            format!("{what} has {expected} characters, this text has {found} {bytes}.")
        }
        Error::TextEmpty => "The text is empty.".into(),
        Error::TextCharacter { position } => {
            format!(
                "The character at position {} is not a digit of this text format.",
                position + 1
            )
        }
        Error::TextOverflow { bits } => format!("The number does not fit {bits} bits."),
        Error::TextTrailingBits => {
            "The last digit holds bits that are beyond the 64 of the number.".into()
        }
        Error::FieldOutOfRange { .. } | Error::TimeOutOfRange { .. } => String::new(),
    }
}

/// Formats a duration for people.
pub fn span(duration: Duration) -> String {
    match duration.as_secs() {
        0 if duration.as_micros() < 100 => format!("{:.3} ms", duration.as_secs_f64() * 1000.0),
        0 if duration.as_millis() < 10 => format!("{:.1} ms", duration.as_secs_f64() * 1000.0),
        0 => format!("{} ms", duration.as_millis()),
        1..=599 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 600..=172_799 => format!("{} min", seconds / 60),
        seconds => format!("{} days", seconds / 86_400),
    }
}
