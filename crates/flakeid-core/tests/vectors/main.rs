#![cfg(not(loom))]
//! Vectors of the reference libraries: every row holds here, or is refused if the library was
//! wrong. Hex is the bytes from the highest to the lowest.

mod flake;
mod flake128;
mod guid;
mod guid_invalid;
#[path = "../naive/mod.rs"]
mod naive;
mod sno;
mod uniqueid;
mod uuidv7;

use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::str::FromStr;

/// Reads the rows of a file. A row with an unknown field, or without a necessary one, is a panic.
fn rows<Row: DeserializeOwned>(file: &str) -> Vec<Row> {
    file.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn number<N: FromStr<Err: Debug>>(text: &str) -> N {
    text.parse().expect(text)
}

fn bytes_of(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0);
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}
