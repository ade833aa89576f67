//! Settings, and the file of keys.

use super::Input;
use flakeid_core::flake::Epoch;
use flakeid_core::generator_ids::{GeneratorIdSource, MAX_OWNED, parse_range};
use flakeid_core::sno;
use flakeid_formats::epoch::{self, LEAST_MILLISECONDS};
use flakeid_formats::{endpoint, keys, mac_address, streams};

pub fn settings(data: &[u8]) {
    let mut input = Input(data);
    let kind = input.u8();
    let host = String::from_utf8_lossy(if kind & 8 != 0 { input.line() } else { b"db-3" });
    let value = &*String::from_utf8_lossy(input.0);
    match kind & 7 {
        0 | 1 => generator_ids(value, &host),
        2 => ranges(value),
        3 => epochs(value),
        4 => endpoints(value),
        5 => mac_addresses(value),
        _ => stream_names(value),
    }
}

fn generator_ids(value: &str, host: &str) {
    match GeneratorIdSource::parse(value, || host) {
        Ok(GeneratorIdSource::Leased(count)) => assert!((1..=MAX_OWNED).contains(&count)),
        Ok(GeneratorIdSource::Fixed(ids)) => {
            assert!((1..=MAX_OWNED).contains(&ids.as_slice().len()));
            assert!(ids.as_slice().is_sorted_by(|a, b| a < b));
            let written = ids.to_string();
            let again = GeneratorIdSource::parse(&written, || host.to_owned());
            assert!(matches!(again, Ok(GeneratorIdSource::Fixed(again)) if again == ids));
        }
        Ok(GeneratorIdSource::Unassigned) => assert_eq!(value.trim(), "none"),
        Err(_) => {}
    }
}

fn ranges(value: &str) {
    if let Ok(range) = parse_range(value) {
        assert!(!range.is_empty());
        assert_eq!(parse_range(&format!("{}-{}", range.start(), range.end())), Ok(range));
    }
    if let Ok((first, last)) = sno::parse_slice(value) {
        assert!(first + 3 <= last && u64::from(last) <= sno::SEQUENCE.max());
        assert_eq!(sno::parse_slice(&format!("{first}-{last}")), Ok((first, last)));
    }
}

fn epochs(value: &str) {
    let Ok(parsed) = epoch::parse(value) else { return };
    let millis = parsed.micros().0 / 1000;
    assert_eq!(Epoch::from_millis(millis), Some(parsed));
    match millis {
        0 => assert_eq!(epoch::parse("unix"), Ok(parsed)),
        LEAST_MILLISECONDS.. => assert_eq!(epoch::parse(&millis.to_string()), Ok(parsed)),
        _ => {}
    }
}

fn endpoints(value: &str) {
    let Ok(url) = endpoint::url(value) else { return };
    assert_eq!(endpoint::url(&url).as_ref(), Ok(&url), "a URL is an endpoint");
    let (scheme, place) = url.split_once("://").expect("a scheme");
    assert!(["http", "https"].contains(&scheme) && !place.contains(['/', '@', ' ', '?', '#']));
    let (_, port) = place.rsplit_once(':').expect("a port");
    assert!(port.bytes().all(|byte| byte.is_ascii_digit()), "{url}");
}

fn mac_addresses(value: &str) {
    let Some(address) = mac_address::parse(value) else { return };
    let bytes = address.to_be_bytes();
    assert_eq!(bytes[..2], [0, 0]);
    let text = bytes[2..].iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
    assert!(text.eq_ignore_ascii_case(value), "{value}");
    assert!(mac_address::is_of_interface(mac_address::locally_administered(address)));
}

fn stream_names(value: &str) {
    let Ok(names) = streams::parse(value) else { return };
    assert!(names.len() <= streams::MAX_STREAMS);
    assert_eq!(streams::parse(&names.join(",")), Ok(names));
}

pub fn key_file(data: &[u8]) {
    let lines = match keys::parse(data) {
        Ok(lines) => lines,
        Err(reason) => {
            // A reason has nothing of the content.
            assert!(reason.starts_with("has ") && reason.len() < 100);
            return;
        }
    };
    assert!(lines.iter().any(|line| line.key.is_some()));
    assert!(lines.is_sorted_by(|a, b| a.number < b.number));
    let mut written = String::new();
    for (place, line) in lines.iter().enumerate() {
        let others = &lines[..place];
        assert!(others.iter().all(|other| other.version != line.version));
        assert!(line.key.is_none() || others.iter().all(|other| other.key != line.key));
        let key = line.key.as_ref().map_or("retired".into(), |key| {
            key.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        written += &format!("{} {key}\n", line.version.character());
    }
    let again = keys::parse(written.as_bytes()).expect("what was written is read");
    assert_eq!(again.len(), lines.len());
    for (again, line) in again.iter().zip(&lines) {
        assert!(again.version == line.version && again.key == line.key);
    }
}
