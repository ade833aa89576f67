//! The SQL functions of the watermark: `flakeid_watermark` and `flakeid_wait`.

use super::statement::watermark_of_statement;
use super::streams;
use super::waiting::wait;
use crate::error::{Code, OrRaise, Report};
use crate::timestamp::Time;
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::time::Duration;

#[pg_extern(sql = false)]
fn flakeid_watermark() -> Time {
    Time(watermark_of_statement(Stream::ALL).or_raise())
}

#[pg_extern(sql = false)]
fn flakeid_watermark_of_stream(stream: &[u8]) -> Time {
    let watermark = streams::of_name(stream).and_then(watermark_of_statement);
    Time(watermark.or_raise())
}

/// Waits until the watermark has passed a time. PostgreSQL passes NULLs to a procedure.
///
/// # Errors
/// The time is NULL, or the timeout is negative; the errors of [`wait`].
#[pg_extern(sql = false)]
fn flakeid_wait(
    until: Option<Time>,
    timeout: Option<pgrx::datum::Interval>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let Some(Time(until)) = until else {
        let null = Code::ERRCODE_NULL_VALUE_NOT_ALLOWED;
        Report::new(null, "the time to wait for must not be NULL").raise()
    };
    let timeout = timeout.and_then(|timeout| match u64::try_from(timeout.as_micros()) {
        Ok(micros) => Some(Duration::from_micros(micros)),
        Err(_) if timeout.as_micros() > 0 => None,
        Err(_) => {
            let negative = Code::ERRCODE_INVALID_PARAMETER_VALUE;
            Report::new(negative, "the timeout must not be negative").raise()
        }
    });
    // SAFETY: CALL passes its context, a node that says whether the transaction may end within the
    // call.
    let is_atomic = unsafe {
        let context = (*fcinfo).context.cast::<pg_sys::CallContext>();
        context
            .as_ref()
            .is_none_or(|context| context.type_ != pg_sys::NodeTag::T_CallContext || context.atomic)
    };
    wait(until, timeout, is_atomic).or_raise();
}
