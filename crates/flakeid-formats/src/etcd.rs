//! Keys and values of the registry in etcd. Anyone may have written anything there.

use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::listing::VALUE_LIMIT;

/// Returns the text of a time: with all nine digits, in UTC.
pub fn time_text(moment: UnixNanos) -> String {
    match jiff::Timestamp::from_nanosecond(moment.0.into()) {
        Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_string(),
        Err(_) => jiff::Timestamp::MAX.to_string(),
    }
}

/// Parses a time, with any offset; `None` before 1970 and after the year 2554.
pub fn parse_time(moment: &str) -> Option<UnixNanos> {
    let moment: jiff::Timestamp = moment.trim().parse().ok()?;
    u64::try_from(moment.as_nanosecond()).ok().map(UnixNanos)
}

/// Returns the beginning of a value as a text.
pub fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(VALUE_LIMIT)]).into_owned()
}

/// Parses the value of a high-water mark. Returns `None` for a value that is too
/// long to be read as a whole.
pub fn parse_mark(value: &[u8]) -> Option<UnixNanos> {
    parse_time(&text(value)).filter(|_| value.len() < VALUE_LIMIT)
}

/// Returns the end of the range of all keys that begin with this prefix. The prefix ends in a
/// slash.
pub fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// Returns the generator ID at the end of a claim's key: `<cluster>:<id>`, or `<id>` alone. Another
/// writing of a number counts, too, so that nobody leases a generator ID that anybody may have.
pub fn id_of(key: &[u8], prefix: &str) -> Option<u16> {
    let key = std::str::from_utf8(key).ok()?.strip_prefix(prefix)?;
    key.rsplit(':').next()?.parse().ok()
}

/// Returns the generator ID of a high-water mark's key. Only the key that servers write is one: the
/// revision of another key must not be taken for that of the high-water mark.
pub fn mark_id_of(key: &[u8], prefix: &str) -> Option<u16> {
    let id = std::str::from_utf8(key).ok()?.strip_prefix(prefix)?;
    id.parse().ok().filter(|number: &u16| number.to_string() == id)
}
