//! Functions that guid and [`guid_local`](super::guid_local) have in common
//! (`sql/guid_types.sql.in`).
//!
//! The IDs of both types come from the same cell. So a guid that is cast to a guid_local never
//! equals one that `guid_local_next()` returns. A guid_local that gets the server's node never
//! equals a result of `guid_next()`.

use super::datum::Span;
use super::error::ValueError;
use crate::error::OrRaise;
use crate::generator::{self, Generator, Identity, Issuer};
use flakeid_core::Error;
use flakeid_core::guid::{Clock, Drift, Format, Guid as GuidType, Parts};
use flakeid_core::session::Issued;
use pgrx::pg_sys;

/// The generator of guids and guid_locals in this process.
pub(super) static IDS: Generator<GuidType> = Generator::new();

impl Issuer for GuidType {
    const IDENTITY: Identity = Identity::Node(generator::guid_node);
}

/// Returns the parts of the `i`-th of issued IDs, with the time of the clock that the caller names.
#[inline]
pub(super) fn parts(issued: Issued, i: u32, drift: Drift, clock: Clock) -> Parts {
    let sequence = issued.block.sequence + i;
    let (time, sequence) = clock.convert(issued.block.stamp.tick::<GuidType>(), sequence.into());
    Parts { drift, time, node: issued.generator_id, sequence }
}

/// Returns the drift that a caller names, in whole nanoseconds.
#[inline]
pub(super) fn drift(span: Span) -> Drift {
    Drift::named(span.0.saturating_mul(1000))
}

/// Returns the drift that an interval names.
///
/// # Safety
/// The datum is an interval, and not NULL.
pub unsafe fn drift_of_interval(interval: pg_sys::Datum) -> Drift {
    // SAFETY: the caller guarantees that the datum is the address of an interval.
    drift(Span::of(unsafe { &*interval.cast_mut_ptr::<pg_sys::Interval>() }))
}

#[inline]
pub(super) fn clock(inverse: bool) -> Clock {
    if inverse { Clock::Inverse } else { Clock::Unix }
}

/// Returns the drift of a code. A number outside the codes means the nearest one, so that no number
/// is an error.
pub(super) fn drift_of_code(code: i32) -> Drift {
    Drift::from_code(code.clamp(0, 7).into()).unwrap_or(Drift::DEFAULT)
}

/// Returns the format of this name, or raises an error.
pub(super) fn format(id_type: &'static str, name: &[u8]) -> Format {
    let known = std::str::from_utf8(name).ok().and_then(Format::from_name);
    let formats = || Format::ALL.map(Format::name).join(", ");
    known
        .ok_or_else(|| ValueError::Format { id_type, format: name.into(), formats: formats() })
        .or_raise()
}

/// Returns the result of reading a text in a format, or raises its error.
pub(super) fn read_as<T>(
    id_type: &'static str,
    text: &[u8],
    format: Format,
    read: Result<T, Error>,
) -> T {
    let format = format.name().into();
    read.map_err(|error| ValueError::TextAs { id_type, text: text.into(), format, error })
        .or_raise()
}

/// Exports the functions that both types have, and that are not in
/// [`skeleton::functions`](super::skeleton::functions).
macro_rules! functions {
    (
        $Type:ident, $Id:ident:
        $next:ident $next_for_copy:ident $next_in:ident $next_batch:ident $timestamp:ident $to_timestamptz:ident
        $min:ident $max:ident $range_min:ident $range_max:ident $code_min:ident $code_max:ident $within:ident
        $to_text:ident $from_text:ident $diff:ident
    ) => {
        const _: () = {
            use flakeid_core::clock::UnixMicros;
            use flakeid_core::guid::{Clock, Drift, Format};
            use pgrx::datum::Range;
            use pgrx::prelude::*;
            use $crate::timestamp::{Time, ends};
            use $crate::types::batch::batch;
            use $crate::types::datum::Span;
            use $crate::types::guid_types::{
                IDS, clock, drift, drift_of_code, format, parts, read_as,
            };
            use $crate::types::time_predicate::Place;
            use $crate::types::value::Value;

            #[pg_extern(sql = false)]
            fn $next(span: Span, inverse: bool) -> $Type {
                let (drift, clock) = (drift(span), clock(inverse));
                $Type($Id::pack(parts(IDS.take(1), 0, drift, clock)))
            }

            #[pg_extern(sql = false)]
            fn $next_for_copy(
                span: Span,
                inverse: bool,
                fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> $Type {
                $crate::copy_from::check(fcinfo);
                $next(span, inverse)
            }

            #[pg_extern(sql = false)]
            fn $next_in(stream: &[u8], span: Span, inverse: bool) -> $Type {
                let (drift, clock) = (drift(span), clock(inverse));
                $Type($Id::pack(parts(IDS.take_in(stream), 0, drift, clock)))
            }

            #[pg_extern(sql = false)]
            fn $next_batch(n: i32, span: Span, inverse: bool) -> SetOfIterator<'static, $Type> {
                let (drift, clock) = (drift(span), clock(inverse));
                let pack = move |issued, i| $Type($Id::pack(parts(issued, i, drift, clock)));
                SetOfIterator::new(batch(&IDS, n, pack))
            }

            #[pg_extern(sql = false)]
            fn $timestamp(value: $Type, inverse: bool) -> Time {
                Time(value.0.time(clock(inverse)))
            }

            #[pg_extern(sql = false)]
            fn $to_timestamptz(value: $Type) -> Time {
                $timestamp(value, false)
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

            // By the code of the drift, for each code that an ID can have.

            #[pg_extern(sql = false)]
            fn $code_min(times: Range<TimestampWithTimeZone>, code: i32) -> $Type {
                $Type(range(times, drift_of_code(code), Clock::Unix).0)
            }

            #[pg_extern(sql = false)]
            fn $code_max(times: Range<TimestampWithTimeZone>, code: i32) -> $Type {
                $Type(range(times, drift_of_code(code), Clock::Unix).1)
            }

            #[pg_extern(sql = false)]
            fn $to_text(value: $Type, name: &[u8]) -> String {
                match format($Type::TYPE_INFO.name, name) {
                    Format::Base64 => String::from_utf8_lossy(&value.0.text()).into_owned(),
                    Format::Base62 => value.0.base62().as_str().into(),
                }
            }

            // Texts come as bytes. In a database that is not in UTF-8 they need not be a str.
            #[pg_extern(sql = false)]
            fn $from_text(text: &[u8], name: &[u8]) -> $Type {
                let format = format($Type::TYPE_INFO.name, name);
                let read = match format {
                    Format::Base64 => $Id::from_text(text),
                    Format::Base62 => $Id::from_base62(text),
                };
                $Type(read_as($Type::TYPE_INFO.name, text, format, read))
            }

            impl $crate::types::time_predicate::Timed for $Type {
                fn place(self, time: UnixMicros) -> Place {
                    let own = self.0.time(Clock::Unix);
                    Place::among(own, time, time)
                }

                fn lies_within(self, from: UnixMicros, to: UnixMicros) -> bool {
                    let own = self.0.time(Clock::Unix);
                    from <= own && own <= to
                }
            }

            /// Returns whether a guid of this drift was generated within a range of times.
            #[pg_extern(sql = false)]
            fn $within(
                value: $Type,
                times: Range<TimestampWithTimeZone>,
                span: Span,
                inverse: bool,
            ) -> bool {
                let ((from, to), time) = (ends(times), value.0.time(clock(inverse)));
                value.0.parts().drift == drift(span) && from <= time && time <= to
            }

            #[pg_extern(sql = false)]
            fn $diff(a: $Type, b: $Type) -> $Type {
                $Type(a.0.diff(b.0))
            }
        };
    };
}

pub(super) use functions;
