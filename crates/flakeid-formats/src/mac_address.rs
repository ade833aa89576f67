//! MAC addresses as texts and as numbers of 48 bits.

/// The bits of an address's first byte: whether its user made it up, and whether it is a group's.
const LOCAL: u64 = 0x02 << 40;
const GROUP: u64 = 0x01 << 40;

/// Turns 48 bits into a locally administered address, which no manufacturer assigns.
pub fn locally_administered(bits: u64) -> u64 {
    bits & ((1 << 48) - 1) & !GROUP | LOCAL
}

/// Returns whether an address can be that of one interface: not of a group, and not 0.
pub fn is_of_interface(address: u64) -> bool {
    address & GROUP == 0 && address != 0
}

/// Parses six bytes in hexadecimal, as in `08:00:2b:01:02:03`.
pub fn parse(text: &str) -> Option<u64> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| match byte.len() {
            2 => u8::from_str_radix(byte, 16).ok().filter(|_| !byte.starts_with('+')),
            _ => None,
        })
        .collect::<Option<_>>()?;
    (bytes.len() == 6).then(|| bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)))
}
