//! The form of an error, and the conversion of the core's errors into it.

use super::wording::{moment, text_detail};
use flakeid_core::Error;
pub use pgrx::PgSqlErrorCode as Code;

/// An error in the form that a session gets.
#[derive(Debug)]
pub struct Report {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) detail: Option<String>,
    /// Whether the detail contains what PostgreSQL's settings hide from ordinary users: files,
    /// hosts, names of users.
    pub(super) confidential: bool,
    pub(super) hint: Option<String>,
}

impl Report {
    /// Constructs an error without detail and hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, confidential: false, hint: None }
    }

    /// Constructs the error for a server that is not in the state that the call needs.
    pub fn wrong_state(message: impl Into<String>) -> Self {
        Self::new(Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    }

    /// Constructs the error for a value of a few bytes for which there is no memory.
    pub fn out_of_memory() -> Self {
        Self::new(Code::ERRCODE_OUT_OF_MEMORY, "out of memory")
    }

    /// Sets the detail: the facts, which all users may see.
    pub fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Sets a detail that only superusers and members of pg_monitor see. It goes to the server's
    /// log, too.
    pub fn confidential(self, detail: impl Into<String>) -> Self {
        Self { confidential: true, ..self.detail(detail) }
    }

    /// Sets the hint: the action, in the imperative.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the five characters of the SQLSTATE.
    pub fn sqlstate(&self) -> String {
        let code = self.code as u32;
        // PostgreSQL packs them with six bits each, the first one lowest.
        (0..5).map(|i| char::from((code >> (6 * i) & 0x3F) as u8 + b'0')).collect()
    }

    /// Returns the message, the detail and the hint, for users who may see confidential details.
    pub fn texts(self) -> (String, Option<String>, Option<String>) {
        (self.message, self.detail, self.hint)
    }

    /// Returns the message, and all other parts as one text, for a line in the log.
    pub fn line(self) -> (String, String) {
        let rest = [self.detail, self.hint].into_iter().flatten().collect::<Vec<_>>().join(" ");
        (self.message, rest)
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        match error {
            Error::FieldOutOfRange { field, value, max } => Self::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{field} out of range: {value}"),
            )
            .detail(format!("The {field} must be from 0 to {max}.")),
            Error::TimeOutOfRange { id_type, time, first, last } => Self::new(
                Code::ERRCODE_DATETIME_FIELD_OVERFLOW,
                format!("time out of range for {id_type}: {}", moment(time)),
            )
            .detail(format!(
                "A {id_type} has times from {} to {}.",
                moment(first),
                moment(last)
            )),
            error => Self::new(Code::ERRCODE_INVALID_TEXT_REPRESENTATION, "invalid input syntax")
                .detail(text_detail("It", error)),
        }
    }
}
