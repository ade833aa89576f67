//! Every error this extension raises: SQLSTATE, message, detail and hint, in PostgreSQL's style.

mod lease;
mod library;
mod raise;
mod wording;

pub use raise::{OrRaise, WITHHELD, may_see_details};
#[cfg(feature = "etcd")]
pub use wording::excerpt;
pub use wording::{moment, span, timestamp};

use crate::horizon::file::{self, Trouble};
use crate::identity::lease::State;
use crate::library::Build;
use flakeid_core::Error;
use flakeid_core::clock::{Scale, Tick, UnixMicros, UnixNanos};
use pgrx::PgSqlErrorCode as Code;
use std::io::ErrorKind;
use std::time::Duration;
use wording::{instant, quoted, text_detail};

/// A bad value of a setting, there before this library was.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub setting: &'static str,
    pub value: String,
    pub reason: String,
    /// Whether PostgreSQL keeps the setting's value from ordinary users. Then no message has it.
    pub hidden: bool,
}

/// A type of ID, as errors speak of it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    /// How its text is written, as a sentence.
    pub spelling: &'static str,
}

/// Why there is no ID, or no answer.
#[derive(Debug)]
pub enum Failure {
    /// A field or a time outside what a system can express.
    Value(Error),
    /// A text that is no value of a type.
    Text { kind: Kind, text: Vec<u8>, error: Error },
    /// Bytes that are no value of a type, by their number.
    Length { kind: Kind, expected: usize, bytes: usize },
    /// A text that is no ID of a system in the format it is said to have.
    TextAs { system: &'static str, text: Vec<u8>, format: String, error: Error },
    /// A format that a system's IDs are not written in.
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
    /// A partition that holds the time of no ID of a system.
    EmptyPartition { system: &'static str, scale: Scale, from: UnixMicros, to: UnixMicros },
    /// No shared memory, and none to be had.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    NotPreloaded,
    /// Another file of this library is in this process.
    AnotherLibrary { other: Build },
    /// The memory that sessions share was set up by another build.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    OtherSegment { theirs: Build },
    /// The SQL is newer than the library.
    OlderLibrary { needed: String },
    /// More generator IDs than there is room for in one life of the server.
    NoPlaceLeft { places: usize },
    /// A standby was asked for an ID.
    Standby { function: &'static str },
    /// A generator ID beyond a system's field.
    GeneratorTooLarge { system: &'static str, id: u16, max: u64 },
    /// A setting that is no good, so that we don't know who we are.
    Refused(Refusal),
    /// A setting of which this process does not know the server's value.
    Unknown { setting: &'static str },
    /// No generator IDs are held on lease.
    NotLeased { state: State, lease: Option<String>, lost: Duration, trouble: Option<String> },
    /// The setting has changed from leased generator IDs to others, or back, and the server not yet.
    StillLeased,
    /// Nobody could be started who leases them.
    #[cfg(feature = "etcd")]
    NoWorker,
    /// The servers that share a namespace count from another epoch.
    OtherEpoch { epoch: UnixNanos, theirs: UnixNanos },
    /// The host's name, and with it the generator IDs, could not be had.
    NoGeneratorIds,
    /// The clock is behind the last ID, by more than we wait.
    ClockBehind { system: &'static str, by: Duration, wait: Duration },
    /// The clock stands before a system's first moment.
    BeforeEpoch { system: &'static str, first: UnixMicros },
    /// A system has no more time to give out.
    Ended { system: &'static str, last: UnixMicros },
    /// The state file is no good, or can't be read or written.
    State { trouble: Trouble },
    /// The server was down for longer than is allowed without a look at its clock.
    Downtime { down: Duration, allowed: Duration },
    /// The epoch has moved to where IDs would come again.
    EpochLater { system: &'static str, earliest: UnixNanos, epoch: UnixNanos },
    /// The server is going down.
    Stopping { system: &'static str },
    /// No random bytes to be had.
    NoRandomness,
    /// No memory for a value of a few bytes.
    OutOfMemory,
}

struct Words {
    code: Code,
    message: String,
    detail: Option<String>,
    /// Whether the detail has what PostgreSQL's settings keep from ordinary users: files, hosts, names of users.
    confidential: bool,
    hint: Option<String>,
}

impl Words {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, confidential: false, hint: None }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// A detail that only superusers and members of pg_monitor are shown. The server's log has it.
    fn confidential(self, detail: impl Into<String>) -> Self {
        Self { confidential: true, ..self.detail(detail) }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// What an operator can do who knows better.
const ACCEPT: &str = "Check the server's clock. If it is right, and past all IDs that were made here, \
                      a superuser's flakeid_accept_clock() lets IDs begin after what it shows.";

/// What is wrong with the state file.
fn state_words(trouble: Trouble) -> Words {
    let path = file::NAME;
    match trouble {
        Trouble::Missing => {
            Words::new(Code::ERRCODE_UNDEFINED_FILE, format!("state file \"{path}\" is missing"))
                .detail("Without it IDs could be made that were given out before.")
                .hint(format!("Bring it back. {ACCEPT}"))
        }
        Trouble::Damaged(why) => {
            Words::new(Code::ERRCODE_DATA_CORRUPTED, format!("state file \"{path}\" is damaged"))
                .detail(format!("{why} Without it IDs could be made that were given out before."))
                .hint(format!("Bring back one that is whole. {ACCEPT}"))
        }
        Trouble::Newer { version } => Words::new(
            Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("state file \"{path}\" has version {version}, which this flakeid cannot read"),
        )
        .hint("Install the version of flakeid that wrote it, or a later one."),
        Trouble::Foreign { theirs, ours } => Words::new(
            Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("state file \"{path}\" is from a different cluster"),
        )
        .detail(format!("It has the system identifier {theirs}, where this server's is {ours}."))
        .hint(ACCEPT),
        Trouble::Denied { action, error } => {
            let reason = error.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default();
            let message = format!("could not {action} state file \"{path}\": {reason}");
            Words::new(denied(&error), message)
        }
    }
}

/// The SQLSTATE of an error of the operating system, as PostgreSQL gives it for a file.
fn denied(error: &std::io::Error) -> Code {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Code::ERRCODE_INSUFFICIENT_PRIVILEGE
        }
        ErrorKind::NotFound => Code::ERRCODE_UNDEFINED_FILE,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::ERRCODE_DISK_FULL,
        _ => Code::ERRCODE_IO_ERROR,
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::State { trouble }
    }
}

impl Failure {
    /// Its message and the rest, for a line in the log.
    pub fn line(self) -> (String, String) {
        let Words { message, detail, hint, .. } = self.words();
        (message, [detail, hint].into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    fn words(self) -> Words {
        match self {
            Self::Value(Error::FieldOutOfRange { field, value, max }) => Words::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{field} out of range: {value}"),
            )
            .detail(format!("The {field} must be from 0 to {max}.")),
            Self::Value(Error::TimeOutOfRange { system, time, first, last }) => Words::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!("time out of range for {system}: {}", moment(time)),
            )
            .detail(format!("A {system} has times from {} to {}.", moment(first), moment(last))),
            Self::Value(error) => {
                Words::new(Code::ERRCODE_INVALID_TEXT_REPRESENTATION, "invalid input syntax")
                    .detail(text_detail("It", error))
            }
            Self::Text { kind, text, error } => Words::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type {}: \"{}\"", kind.name, quoted(&text)),
            )
            .detail(text_detail(&format!("A {}", kind.name), error))
            .hint(kind.spelling),
            Self::Length { kind: Kind { name, .. }, expected, bytes } => Words::new(
                Code::ERRCODE_INVALID_BINARY_REPRESENTATION,
                format!("invalid length in external \"{name}\" value"),
            )
            .detail(format!("A {name} has {expected} bytes, this value has {bytes}.")),
            Self::TextAs { system, text, format, error } => Words::new(
                Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for a {system} in {format}: \"{}\"", quoted(&text)),
            )
            .detail(text_detail(&format!("A {system} in this format"), error)),
            Self::Format { system, format, formats } => Words::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized {system} format: \"{}\"", quoted(&format)),
            )
            .hint(format!("Formats are {formats}.")),
            Self::Base { base } => Words::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("base out of range: {base}"),
            )
            .detail("The base must be from 2 to 62."),
            Self::NotFlake128 { number } => Words::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("number out of range for flake128: {number}"),
            )
            .detail("A flake128 is a whole number of 128 bits, without a sign."),
            Self::Epoch { time, last } => Words::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!("epoch out of range: {}", moment(time)),
            )
            .detail(format!("An epoch must lie from 1970-01-01 00:00:00+00 to {}.", moment(last))),
            Self::Negative { what, value } => Words::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("{what} must not be negative: {value}"),
            ),
            Self::EndlessPartitions => Words::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "partitions cannot begin or end at infinity",
            )
            .hint("For what is left over attach a partition FROM (MINVALUE), TO (MAXVALUE), or DEFAULT."),
            Self::Step { from, to } => Words::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "step of partitions does not lead to a later time",
            )
            .detail(format!("It leads from {} to {}.", moment(from), moment(to))),
            Self::EmptyPartition { system, scale, from, to } => Words::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!(
                    "no {system} ID can be in a partition from {} to {}",
                    moment(from),
                    moment(to)
                ),
            )
            .detail(format!(
                "A {system} has times from {} to {}, one every {} ms.",
                moment(scale.start(Tick(0))),
                moment(scale.start(scale.last())),
                scale.unit() as f64 / 1e6
            )),
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            Self::NotPreloaded => Words::new(
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "flakeid must be loaded via \"shared_preload_libraries\" to make IDs",
            )
            .hint(
                "Add flakeid to \"shared_preload_libraries\" in postgresql.conf and restart the \
                 server. Reading IDs works without it.",
            ),
            Self::AnotherLibrary { other } => library::another(other),
            #[cfg(not(any(feature = "pg15", feature = "pg16")))]
            Self::OtherSegment { theirs } => library::other_segment(theirs),
            Self::OlderLibrary { needed } => library::older(&needed),
            Self::NoPlaceLeft { places } => Words::new(
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "this server has owned {places} generator IDs since it started, the most it can"
                ),
            )
            .hint("Restart the server."),
            Self::Standby { function } => Words::new(
                Code::ERRCODE_READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {function}() during recovery"),
            ),
            Self::GeneratorTooLarge { system, id, max } => Words::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("generator ID {id} is too large for {system}"),
            )
            .detail(format!("A {system} has generator IDs from 0 to {max}."))
            .hint("Choose smaller ones in \"flakeid.generator_ids\", or another system."),
            Self::Refused(Refusal { setting, value, reason, hidden }) => Words::new(
                Code::ERRCODE_CONFIG_FILE_ERROR,
                match hidden {
                    true => format!("no IDs are made while \"{setting}\" is invalid"),
                    false => format!("no IDs are made while \"{setting}\" is invalid: \"{value}\""),
                },
            )
            .confidential(reason)
            .hint("Mend it in the server's configuration and reload."),
            Self::Unknown { setting } => Words::new(
                Code::ERRCODE_CANT_CHANGE_RUNTIME_PARAM,
                format!("this session does not know the server's value of \"{setting}\""),
            )
            .detail(
                "A value from the connection, the role or the database replaced it before the \
                 session loaded flakeid.",
            )
            .hint(format!(
                "Remove \"{setting}\" from the connection's options, from ALTER ROLE ... SET and from \
                 ALTER DATABASE ... SET, and connect again. The server's configuration is its only place."
            )),
            Self::NotLeased { state, lease, lost, trouble } => {
                lease::not_leased(state, lease, lost, trouble)
            }
            Self::StillLeased => lease::still_leased(),
            #[cfg(feature = "etcd")]
            Self::NoWorker => lease::no_worker(),
            Self::OtherEpoch { epoch, theirs } => lease::other_epoch(epoch, theirs),
            Self::NoGeneratorIds => Words::new(
                Code::ERRCODE_CONFIG_FILE_ERROR,
                "could not determine this server's generator IDs",
            )
            .hint("Set \"flakeid.generator_ids\" to numbers, or give the host a name."),
            Self::ClockBehind { system, by, wait } => Words::new(
                Code::ERRCODE_SYSTEM_ERROR,
                format!("the clock is {} behind the last {system} ID", span(by)),
            )
            .detail(format!(
                "An ID made now could be one that was given out before. \
                 flakeid.max_clock_wait allows to wait {}.",
                span(wait)
            ))
            .hint(
                "Check the server's clock and its time synchronization; IDs are made again as soon \
                 as the clock has caught up.",
            ),
            Self::BeforeEpoch { system, first } => Words::new(
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the clock is before the first {system} ID's time"),
            )
            .detail(format!("The first {system} has the time {}.", moment(first)))
            .hint(match system {
                flakeid_core::flake::NAME => "Check the server's clock and \"flakeid.epoch\".",
                _ => "Check the server's clock.",
            }),
            Self::Ended { system, last } => Words::new(
                Code::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                format!("there are no {system} IDs after {}", moment(last)),
            )
            .hint(match system {
                flakeid_core::flake::NAME => {
                    "Check the server's clock. \"flakeid.epoch\" says from when on flake counts."
                }
                _ => "Check the server's clock.",
            }),
            Self::State { trouble } => state_words(trouble),
            Self::Downtime { down, allowed } => Words::new(
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("no IDs are made, as the server was down for {}", span(down)),
            )
            .detail(format!(
                "flakeid.allowable_downtime is {}, and the state file \"{}\" was written last so \
                 long before this start by the server's clock.",
                span(allowed),
                file::NAME
            ))
            .hint(ACCEPT),
            Self::EpochLater { system, earliest, epoch } => Words::new(
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "{system} IDs that count from {} would repeat earlier ones",
                    instant(epoch)
                ),
            )
            .detail(format!("IDs were made that count from {}.", instant(earliest)))
            .hint("Set \"flakeid.epoch\" back. It is chosen once, before the first ID."),
            Self::Stopping { system } => Words::new(
                Code::ERRCODE_ADMIN_SHUTDOWN,
                format!("there are no more {system} IDs, as the server is going down"),
            ),
            Self::NoRandomness => Words::new(
                Code::ERRCODE_INTERNAL_ERROR,
                "could not generate random values for this server's state",
            ),
            Self::OutOfMemory => Words::new(Code::ERRCODE_OUT_OF_MEMORY, "out of memory"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Value(error)
    }
}
