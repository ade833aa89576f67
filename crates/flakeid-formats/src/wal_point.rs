//! Points in the write-ahead log: in the file `flakeid/location`, and in the files of PostgreSQL
//! that have the history of a timeline.

use flakeid_core::opening::WalPoint;
use serde::{Deserialize, Serialize};

/// A position in the WAL, as PostgreSQL prints it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(try_from = "String", into = "String")]
#[repr(transparent)]
pub struct Position(pub u64);

impl Position {
    /// Parses two hexadecimal numbers with a slash between them.
    fn parse(text: &str) -> Option<Self> {
        let (high, low) = text.split_once('/')?;
        // Rust reads a sign, too.
        let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let half = |text| u32::from_str_radix(Some(text).filter(is_number)?, 16).ok();
        Some(Self(u64::from(half(high)?) << 32 | u64::from(half(low)?)))
    }
}

impl From<Position> for String {
    fn from(Position(position): Position) -> Self {
        format!("{:X}/{:X}", position >> 32, position & 0xFFFF_FFFF)
    }
}

impl TryFrom<String> for Position {
    type Error = std::fmt::Error;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(std::fmt::Error)
    }
}

/// A timeline, and a position on it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[repr(C)]
pub struct Point {
    pub timeline: u32,
    pub position: Position,
}

impl From<Point> for WalPoint {
    fn from(Point { timeline, position: Position(position) }: Point) -> Self {
        Self { timeline, position }
    }
}

/// Returns the last entry of a timeline's history: the timeline before, and the position at which
/// it was left. `None` if there is no entry, or if the last one is damaged.
pub fn last_of_history(history: &str) -> Option<Point> {
    let mut lines = history.lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty() && !line.starts_with('#'))?;
    let mut fields = last.split_whitespace();
    let timeline = fields.next()?.parse().ok()?;
    Some(Point { timeline, position: Position::parse(fields.next()?)? })
}
