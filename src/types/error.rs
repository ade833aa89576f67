//! What is wrong with a value: a text that is no ID, a time that no ID can have.

use crate::error::{Code, Report, moment, quoted, text_detail};
use flakeid_core::Error;
use flakeid_core::clock::{Scale, Tick, UnixMicros};
use pgrx::pg_sys;

/// A type of ID, as errors speak of it.
#[derive(Clone, Copy, Debug)]
pub struct TypeInfo {
    pub name: &'static str,
    /// How its text is written, as a sentence.
    pub spelling: &'static str,
}

/// Why a value is not valid for its type.
#[derive(Debug)]
pub enum ValueError {
    /// A text that is no value of a type.
    Text { kind: TypeInfo, text: Vec<u8>, error: Error },
    /// Bytes that are no value of a type, by their number.
    Length { kind: TypeInfo, expected: usize, bytes: usize },
    /// A text that is no ID of a type in the format it is said to have.
    TextAs { system: &'static str, text: Vec<u8>, format: String, error: Error },
    /// A format that a type's IDs are not written in.
    Format { system: &'static str, format: Vec<u8>, formats: String },
    /// A base that numbers are not written in.
    Base { base: i32 },
    /// A number that is no flake128.
    NotFlake128 { number: String },
    /// An epoch outside what flake can count from.
    Epoch { time: UnixMicros, last: UnixMicros },
    /// A negative number of IDs, or one to number an ID by.
    Negative { what: &'static str, value: i64 },
    /// Times of partitions that have no beginning or no end.
    EndlessPartitions,
    /// A step that does not lead from one partition to a later one.
    Step { from: UnixMicros, to: UnixMicros },
    /// A partition that holds the time of no ID of a type.
    EmptyPartition { system: &'static str, scale: Scale, from: UnixMicros, to: UnixMicros },
}

impl ValueError {
    /// Raises it as an error.
    pub fn raise(self) -> ! {
        Report::from(self).raise()
    }

    /// Raises it, or leaves it with a caller that can take it softly: see [`Report::raise_softly`].
    pub fn raise_softly(self, fcinfo: pg_sys::FunctionCallInfo) {
        Report::from(self).raise_softly(fcinfo);
    }
}

impl From<ValueError> for Report {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Text { kind, text, error } => Self::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type {}: \"{}\"", kind.name, quoted(&text)),
            )
            .detail(text_detail(&format!("A {}", kind.name), error))
            .hint(kind.spelling),
            ValueError::Length { kind: TypeInfo { name, .. }, expected, bytes } => Self::new(
                Code::ERRCODE_INVALID_BINARY_REPRESENTATION,
                format!("invalid length in external \"{name}\" value"),
            )
            .detail(format!("A {name} has {expected} bytes, this value has {bytes}.")),
            ValueError::TextAs { system, text, format, error } => Self::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for a {system} in {format}: \"{}\"", quoted(&text)),
            )
            .detail(text_detail(&format!("A {system} in this format"), error)),
            ValueError::Format { system, format, formats } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized {system} format: \"{}\"", quoted(&format)),
            )
            .hint(format!("Formats are {formats}.")),
            ValueError::Base { base } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("base out of range: {base}"),
            )
            .detail("The base must be from 2 to 62."),
            ValueError::NotFlake128 { number } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("number out of range for flake128: {number}"),
            )
            .detail("A flake128 is a whole number of 128 bits, without a sign."),
            ValueError::Epoch { time, last } => Self::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!("epoch out of range: {}", moment(time)),
            )
            .detail(format!("An epoch must lie from 1970-01-01 00:00:00+00 to {}.", moment(last))),
            ValueError::Negative { what, value } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("{what} must not be negative: {value}"),
            ),
            ValueError::EndlessPartitions => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "partitions cannot begin or end at infinity",
            )
            .hint("For all other rows, attach a partition FROM (MINVALUE), TO (MAXVALUE), or DEFAULT."),
            ValueError::Step { from, to } => Self::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "partition step does not lead to a later time",
            )
            .detail(format!("The step leads from {} to {}.", moment(from), moment(to))),
            ValueError::EmptyPartition { system, scale, from, to } => Self::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!(
                    "no {system} ID can be in a partition from {} to {}",
                    moment(from),
                    moment(to)
                ),
            )
            .detail(format!(
                "A {system} has times from {} to {} in ticks of {} ms.",
                moment(scale.start(Tick(0))),
                moment(scale.start(scale.last())),
                scale.unit() as f64 / 1e6
            )),
        }
    }
}
