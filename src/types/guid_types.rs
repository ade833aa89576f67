//! What guid and [`guid_local`](super::guid_local) have in common (`sql/guid_types.sql.in`).
//!
//! Both types' IDs come from the same cell: so a guid that is cast to a guid_local is never one that
//! `guid_local_next()` gives, and the other way round with the node.

use super::datum::Span;
use super::error::ValueError;
use crate::error::OrRaise;
use crate::generator::{self, Generator, Identity, Issuer};
use flakeid_core::Error;
use flakeid_core::guid::{Clock, Drift, Format, Guid as System, Parts};

/// This process's.
pub(super) static IDS: Generator<System> = Generator::new();

impl Issuer for System {
    const IDENTITY: Identity = Identity::Node(generator::guid_node);
}

/// The parts of a run's `i`-th ID, as the clock that was asked for has them.
#[inline]
pub(super) fn parts(run: generator::Run, i: u32, drift: Drift, clock: Clock) -> Parts {
    let sequence = run.block.sequence + i;
    let (time, sequence) = clock.turn(run.block.stamp.tick::<System>(), sequence.into());
    Parts { drift, time, node: run.generator, sequence }
}

/// A drift that a caller names, in whole nanoseconds.
#[inline]
pub(super) fn drift(span: Span) -> Drift {
    Drift::named(span.0.saturating_mul(1000))
}

#[inline]
pub(super) fn clock(inverse: bool) -> Clock {
    if inverse { Clock::Inverse } else { Clock::Unix }
}

/// The format of this name.
pub(super) fn format(system: &'static str, name: &[u8]) -> Format {
    let known = std::str::from_utf8(name).ok().and_then(Format::from_name);
    let formats = || Format::ALL.map(Format::name).join(", ");
    known
        .ok_or_else(|| ValueError::Format { system, format: name.into(), formats: formats() })
        .or_raise()
}

/// What a text says in a format that was named.
pub(super) fn read_as<T>(
    system: &'static str,
    text: &[u8],
    format: Format,
    read: Result<T, Error>,
) -> T {
    let format = format.name().into();
    read.map_err(|error| ValueError::TextAs { system, text: text.into(), format, error }).or_raise()
}

/// Exports the functions that both types have, and that are not in [`skeleton::functions`](super::skeleton::functions).
macro_rules! functions {
    (
        $Type:ident, $Id:ident:
        $next:ident $next_batch:ident $timestamp:ident
        $min:ident $max:ident $range_min:ident $range_max:ident $code_min:ident $code_max:ident
        $to_text:ident $from_text:ident $diff:ident
    ) => {
        const _: () = {
            use flakeid_core::guid::{Clock, Drift, Format};
            use pgrx::datum::Range;
            use pgrx::prelude::*;
            use $crate::error::OrRaise;
            use $crate::types::batch::batch;
            use $crate::types::datum::Span;
            use $crate::types::guid_types::{IDS, clock, drift, format, parts, read_as};
            use $crate::types::time::{Time, ends};
            use $crate::types::value::Value;

            #[pg_extern(sql = false)]
            fn $next(span: Span, inverse: bool) -> $Type {
                let (drift, clock) = (drift(span), clock(inverse));
                $Type($Id::pack(parts(IDS.take(1), 0, drift, clock)))
            }

            #[pg_extern(sql = false)]
            fn $next_batch(n: i32, span: Span, inverse: bool) -> SetOfIterator<'static, $Type> {
                let (drift, clock) = (drift(span), clock(inverse));
                let pack = move |run, i| $Type($Id::pack(parts(run, i, drift, clock)));
                SetOfIterator::new(batch(&IDS, n, pack))
            }

            #[pg_extern(sql = false)]
            fn $timestamp(value: $Type, inverse: bool) -> Time {
                Time(value.0.time(clock(inverse)))
            }

            #[pg_extern(sql = false)]
            fn $min(time: Time, span: Span) -> $Type {
                $Type($Id::min(time.0, drift(span)))
            }

            #[pg_extern(sql = false)]
            fn $max(time: Time, span: Span) -> $Type {
                $Type($Id::max(time.0, drift(span)))
            }

            fn range(
                times: Range<TimestampWithTimeZone>,
                drift: Drift,
                clock: Clock,
            ) -> ($Id, $Id) {
                let (from, to) = ends(times);
                $Id::range(from, to, drift, clock)
            }

            #[pg_extern(sql = false)]
            fn $range_min(times: Range<TimestampWithTimeZone>, span: Span, inverse: bool) -> $Type {
                $Type(range(times, drift(span), clock(inverse)).0)
            }

            #[pg_extern(sql = false)]
            fn $range_max(times: Range<TimestampWithTimeZone>, span: Span, inverse: bool) -> $Type {
                $Type(range(times, drift(span), clock(inverse)).1)
            }

            // By the drift's code: every one that an ID can have.

            #[pg_extern(sql = false)]
            fn $code_min(times: Range<TimestampWithTimeZone>, code: i32) -> $Type {
                $Type(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).0)
            }

            #[pg_extern(sql = false)]
            fn $code_max(times: Range<TimestampWithTimeZone>, code: i32) -> $Type {
                $Type(range(times, Drift::from_code(code.into()).or_raise(), Clock::Unix).1)
            }

            #[pg_extern(sql = false)]
            fn $to_text(value: $Type, name: &[u8]) -> String {
                match format($Type::KIND.name, name) {
                    Format::Base64 => String::from_utf8_lossy(&value.0.text()).into_owned(),
                    Format::Base62 => value.0.base62().as_str().into(),
                }
            }

            // Texts come as bytes: in a database that is not in UTF-8 they need not be a str.
            #[pg_extern(sql = false)]
            fn $from_text(text: &[u8], name: &[u8]) -> $Type {
                let format = format($Type::KIND.name, name);
                let read = match format {
                    Format::Base64 => $Id::from_text(text),
                    Format::Base62 => $Id::from_base62(text),
                };
                $Type(read_as($Type::KIND.name, text, format, read))
            }

            #[pg_extern(sql = false)]
            fn $diff(a: $Type, b: $Type) -> $Type {
                $Type(a.0.diff(b.0))
            }
        };
    };
}

pub(super) use functions;
