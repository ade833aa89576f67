//! Errors about a value: a text that is no ID, a time that no ID can have.

use crate::error::{Code, Report, moment, quoted, text_detail};
use flakeid_core::Error;
use flakeid_core::clock::UnixMicros;
use pgrx::pg_sys;

/// The name of an ID type, and the description of its text, for errors.
#[derive(Clone, Copy, Debug)]
pub struct TypeInfo {
    pub name: &'static str,
    /// A sentence that says how its text is written.
    pub spelling: &'static str,
}

/// The reason why a value is not valid for its type.
#[derive(Debug)]
pub enum ValueError {
    /// A text that is no value of a type.
    Text { type_info: TypeInfo, text: Vec<u8>, error: Error },
    /// A number of bytes that no value of a type has.
    Length { type_info: TypeInfo, expected: usize, bytes: usize },
    /// A text that is no ID of a type in the format that the caller names.
    TextAs { id_type: &'static str, text: Vec<u8>, format: String, error: Error },
    /// A format in which IDs of a type are not written.
    Format { id_type: &'static str, format: Vec<u8>, formats: String },
    /// A base in which numbers are not written.
    Base { base: i32 },
    /// A number that is no flake128.
    NotFlake128 { number: String },
    /// A uuid that no flake becomes.
    NotOfFlake { uuid: String },
    /// An epoch outside the range from which flake can count.
    Epoch { time: UnixMicros, last: UnixMicros },
    /// A negative number: a number of IDs, or the number of an ID within its tick.
    Negative { what: &'static str, value: i64 },
}

impl ValueError {
    /// Raises this error.
    pub fn raise(self) -> ! {
        Report::from(self).raise()
    }

    /// Raises this error, or leaves it with a caller that handles soft errors: see
    /// [`Report::raise_softly`].
    pub fn raise_softly(self, fcinfo: pg_sys::FunctionCallInfo) {
        Report::from(self).raise_softly(fcinfo);
    }
}

impl From<ValueError> for Report {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Text { type_info, text, error } => Self::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type {}: \"{}\"", type_info.name, quoted(&text)),
            )
            .detail(text_detail(&format!("A {}", type_info.name), error))
            .hint(match looks_like_time(&text) {
                true => format!(
                    "{} To compare an ID with a time, write timestamptz '{}'.",
                    type_info.spelling,
                    quoted(&text)
                ),
                false => type_info.spelling.into(),
            }),
            ValueError::Length { type_info: TypeInfo { name, .. }, expected, bytes } => Self::new(
                Code::ERRCODE_INVALID_BINARY_REPRESENTATION,
                format!("invalid length in external \"{name}\" value"),
            )
            .detail(format!("A {name} has {expected} bytes, this value has {bytes}.")),
            ValueError::TextAs { id_type, text, format, error } => Self::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for a {id_type} in {format}: \"{}\"", quoted(&text)),
            )
            .detail(text_detail(&format!("A {id_type} in this format"), error)),
            ValueError::Format { id_type, format, formats } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized {id_type} format: \"{}\"", quoted(&format)),
            )
            .hint(format!("Formats are {formats}.")),
            ValueError::Base { base } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("base out of range: {base}"),
            )
            .detail("The base must be from 2 to 62."),
            ValueError::NotFlake128 { number } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("number out of range for flake128: {}", quoted(number.as_bytes())),
            )
            .detail("A flake128 is a whole number of 128 bits, without a sign."),
            ValueError::NotOfFlake { uuid } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("uuid is not the uuidv7 of a flake: {uuid}"),
            )
            .detail("A flake has no room for the random bits of a uuidv7."),
            ValueError::Epoch { time, last } => Self::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!("epoch out of range: {}", moment(time)),
            )
            .detail(format!("An epoch must lie from 1970-01-01 00:00:00+00 to {}.", moment(last))),
            ValueError::Negative { what, value } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("{what} must not be negative: {value}"),
            ),
        }
    }
}

/// Returns whether a text begins as a date of ISO 8601 does.
fn looks_like_time(text: &[u8]) -> bool {
    text.len() >= b"2026-01-01".len()
        && text.iter().zip(b"2026-01-01").all(|(byte, form)| match form {
            b'-' => byte == form,
            _ => byte.is_ascii_digit(),
        })
}
