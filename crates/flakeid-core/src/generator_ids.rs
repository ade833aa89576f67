//! The generator IDs of a server, as the setting `flakeid.generator_ids` names them.

use core::fmt;
use core::ops::RangeInclusive;

/// The largest generator ID of any ID type.
pub const MAX_ID: u32 = u16::MAX as u32;
/// The most generator IDs that a server may have.
pub const MAX_OWNED: usize = 64;

/// The generator IDs of a server, ascending, at least one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GeneratorIds {
    ids: [u16; MAX_OWNED],
    len: usize,
}

/// The value of the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratorIdSource {
    /// Fixed generator IDs, which the setting names itself or by the number of the host.
    Fixed(GeneratorIds),
    /// The number of generator IDs to lease from etcd.
    Leased(usize),
    /// The server has no generator IDs yet.
    Unassigned,
}

/// The reason why a setting was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError<'a> {
    /// There is no text where an ID or a range must be.
    Empty,
    /// The text is neither a number nor a range of two.
    NotANumber(&'a str),
    /// The text is not two numbers with a dash between them.
    NotARange(&'a str),
    /// The range has fewer numbers than this.
    TooFew(u32),
    /// The number is above [`MAX_ID`].
    TooLarge(&'a str),
    /// The first number of the range is above its last.
    Reversed(&'a str),
    /// The list names this ID more than once.
    Doubled(u16),
    /// The list has more than [`MAX_OWNED`] IDs.
    TooMany,
    /// The setting is `hostname:N`, and the host's name does not end in a number.
    HostWithoutNumber,
    /// The setting is `hostname:N`, and the host's number times N is beyond [`MAX_ID`].
    HostNumberTooLarge,
    /// This version does not know this source of IDs.
    UnknownSource(&'a str),
}

impl GeneratorIdSource {
    /// Reads `'0-7'`, `'7'`, `'16-31,40'`, `'hostname:8'`, `'etcd:8'` or `'none'`. `host` returns
    /// the host's name, and is called only if the setting needs it.
    ///
    /// # Errors
    /// [`ParseError`], for the first error from the left.
    pub fn parse<'a, H: AsRef<str>>(
        setting: &'a str,
        host: impl FnOnce() -> H,
    ) -> Result<Self, ParseError<'a>> {
        if let Some((source, count)) = setting.split_once(':') {
            let count = || match number(count)? {
                0 => Err(ParseError::Empty),
                count if usize::from(count) > MAX_OWNED => Err(ParseError::TooMany),
                count => Ok(count),
            };
            return match source.trim() {
                "hostname" => GeneratorIds::of_host(count()?, host().as_ref()).map(Self::Fixed),
                "etcd" => Ok(Self::Leased(count()?.into())),
                source => Err(ParseError::UnknownSource(source)),
            };
        }
        if setting.trim() == "none" {
            return Ok(Self::Unassigned);
        }
        let mut ids = GeneratorIds::NONE;
        for item in setting.split(',') {
            for id in parse_range(item)? {
                ids.insert(id)?;
            }
        }
        Ok(Self::Fixed(ids))
    }
}

impl GeneratorIds {
    const NONE: Self = Self { ids: [0; MAX_OWNED], len: 0 };

    /// Creates the list of these numbers, in any order; `None` if there are no numbers, too many,
    /// or a repeated one.
    pub fn of(numbers: &[u16]) -> Option<Self> {
        let mut ids = Self::NONE;
        for &id in numbers {
            ids.insert(id).ok()?;
        }
        (ids.len > 0).then_some(ids)
    }

    /// Creates the list for a host whose name ends in the number n: `count` IDs from n times
    /// `count` on. StatefulSets of Kubernetes name their hosts in this way.
    fn of_host<'a>(count: u16, host: &str) -> Result<Self, ParseError<'a>> {
        let first_label = host.split('.').next().unwrap_or(host);
        let digits = first_label.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let ordinal = &first_label[digits..];
        if ordinal.is_empty() {
            return Err(ParseError::HostWithoutNumber);
        }
        let first = ordinal
            .parse::<u32>()
            .ok()
            .and_then(|n| n.checked_mul(u32::from(count)))
            .filter(|first| first + u32::from(count) - 1 <= MAX_ID)
            .ok_or(ParseError::HostNumberTooLarge)?;
        let mut ids = Self::NONE;
        for i in 0..u32::from(count) {
            ids.insert((first + i) as u16)?;
        }
        Ok(ids)
    }

    fn insert<'a>(&mut self, id: u16) -> Result<(), ParseError<'a>> {
        match self.as_slice().binary_search(&id) {
            Ok(_) => Err(ParseError::Doubled(id)),
            Err(_) if self.len == MAX_OWNED => Err(ParseError::TooMany),
            Err(place) => {
                self.ids.copy_within(place..self.len, place + 1);
                self.ids[place] = id;
                self.len += 1;
                Ok(())
            }
        }
    }

    /// Returns the generator IDs, ascending.
    pub fn as_slice(&self) -> &[u16] {
        &self.ids[..self.len]
    }
}

/// Writes the list as a setting names it, in ranges.
impl fmt::Display for GeneratorIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for run in self.as_slice().chunk_by(|&a, &b| a + 1 == b) {
            f.write_str(comma)?;
            match run {
                [one] => write!(f, "{one}")?,
                [first, .., last] => write!(f, "{first}-{last}")?,
                [] => {}
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for GeneratorIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Reads a range such as `'0-1023'`, or one number.
///
/// # Errors
/// [`ParseError`], for the first error from the left.
pub fn parse_range(range: &str) -> Result<RangeInclusive<u16>, ParseError<'_>> {
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(range)?, number(range)?),
    };
    if first > last {
        return Err(ParseError::Reversed(range.trim()));
    }
    Ok(first..=last)
}

/// Reads a number from 0 to [`MAX_ID`], in digits.
pub(crate) fn number(text: &str) -> Result<u16, ParseError<'_>> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ParseError::Empty);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::NotANumber(text));
    }
    text.parse().map_err(|_| ParseError::TooLarge(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(setting: &str) -> Result<GeneratorIdSource, ParseError<'_>> {
        GeneratorIdSource::parse(setting, || "flake-3")
    }

    fn ids(setting: &str, host: &'static str) -> std::vec::Vec<u16> {
        match GeneratorIdSource::parse(setting, || host).unwrap() {
            GeneratorIdSource::Fixed(ids) => ids.as_slice().to_vec(),
            source => panic!("{source:?}"),
        }
    }

    #[test]
    fn leased_ones_are_a_number() {
        assert_eq!(read("etcd:8"), Ok(GeneratorIdSource::Leased(8)));
        assert_eq!(read(" etcd : 64 "), Ok(GeneratorIdSource::Leased(64)));
    }

    #[test]
    fn none_is_a_server_without_generator_ids() {
        assert_eq!(read("none"), Ok(GeneratorIdSource::Unassigned));
        assert_eq!(read(" none "), Ok(GeneratorIdSource::Unassigned));
        for setting in ["None", "none:8", "none,8", "8,none", "nones"] {
            assert!(read(setting).is_err(), "{setting}");
        }
    }

    #[test]
    fn they_are_written_as_they_are_read() {
        for setting in ["0-7", "7", "16-18,40", "0,2,4-5,65535", "0-63"] {
            let GeneratorIdSource::Fixed(ids) = read(setting).unwrap() else { panic!("{setting}") };
            assert_eq!(std::format!("{ids}"), setting);
        }
    }

    #[test]
    fn a_list_has_each_id_once() {
        let of = |ids: &[u16]| GeneratorIds::of(ids).map(|ids| ids.as_slice().to_vec());
        assert_eq!(of(&[7, 3, 5]), Some(std::vec![3, 5, 7]));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3, 3]), None);
        assert_eq!(of(&[0; 65]), None);
    }

    #[test]
    fn ranges_lists_and_single_ids_come_out_sorted() {
        assert_eq!(ids("0-7", ""), (0..8).collect::<std::vec::Vec<_>>());
        assert_eq!(ids("7", ""), [7]);
        assert_eq!(ids(" 40 , 16-18 ", ""), [16, 17, 18, 40]);
        assert_eq!(ids("65535", ""), [65535]);
        assert_eq!(ids("0-63", "").len(), 64);
    }

    #[test]
    fn a_host_owns_the_ids_from_its_number_times_the_count() {
        assert_eq!(ids("hostname:8", "db-2"), (16..24).collect::<std::vec::Vec<_>>());
        assert_eq!(ids("hostname:2", "db-0.db.svc.cluster.local"), [0, 1]);
        assert_eq!(ids("hostname:1", "pg007"), [7]);
    }

    #[test]
    fn every_kind_of_bad_setting_is_refused_by_its_own_name() {
        for (setting, refused) in [
            ("", ParseError::Empty),
            (" ", ParseError::Empty),
            ("1,,2", ParseError::Empty),
            ("1-", ParseError::Empty),
            ("-1", ParseError::Empty),
            ("hostname:0", ParseError::Empty),
            ("hostname:", ParseError::Empty),
            ("a", ParseError::NotANumber("a")),
            ("1-2-3", ParseError::NotANumber("2-3")),
            ("+1", ParseError::NotANumber("+1")),
            ("1.5", ParseError::NotANumber("1.5")),
            ("65536", ParseError::TooLarge("65536")),
            ("99999999999999999999", ParseError::TooLarge("99999999999999999999")),
            ("7-3", ParseError::Reversed("7-3")),
            ("1,2,1", ParseError::Doubled(1)),
            ("0-7,7", ParseError::Doubled(7)),
            ("0-64", ParseError::TooMany),
            ("0-65535", ParseError::TooMany),
            ("hostname:65", ParseError::TooMany),
            ("etcd:0", ParseError::Empty),
            ("etcd:", ParseError::Empty),
            ("etcd:65", ParseError::TooMany),
            ("etcd:eight", ParseError::NotANumber("eight")),
            ("zookeeper:8", ParseError::UnknownSource("zookeeper")),
        ] {
            assert_eq!(read(setting), Err(refused), "{setting:?}");
        }
        let on = |host: &'static str| GeneratorIdSource::parse("hostname:8", move || host);
        assert_eq!(on("db"), Err(ParseError::HostWithoutNumber));
        assert_eq!(on(""), Err(ParseError::HostWithoutNumber));
        assert_eq!(on("db-8192"), Err(ParseError::HostNumberTooLarge));
        assert_eq!(on("db-99999999999"), Err(ParseError::HostNumberTooLarge));
        assert!(on("db-8191").is_ok());
    }
}
