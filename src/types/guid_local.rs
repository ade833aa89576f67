//! The type guid_local and its SQL functions: a guid without its node, eight bytes passed by value.

use super::batch::place_in_tick_among;
use super::datum::{RawDatum, Span, integer, row};
use super::error::TypeInfo;
use super::guid_types::{self, clock, drift};
use super::skeleton;
use super::time_predicate;
use super::value::Value;
use crate::error::OrRaise;
use crate::timestamp::Time;
use flakeid_core::Error;
use flakeid_core::clock::Tick;
use flakeid_core::guid::{Guid as GuidType, LOCAL_NAME as NAME, TEXT_LEN};
use flakeid_core::guid_local::Local;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type guid_local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct GuidLocal(pub(super) Local);

skeleton::by_value!(GuidLocal, Local, "guid_local");

impl Value for GuidLocal {
    const TYPE_INFO: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A guid_local is written as 16 characters of a period, 0-9 and A-E.",
    };
    type Bytes = [u8; 8];
    type Text = [u8; TEXT_LEN];

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0.to_be_bytes()
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Local(u64::from_be_bytes(bytes)))
    }

    fn text(self) -> Self::Text {
        self.0.text()
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Local::from_text(text).map(Self)
    }
}

skeleton::functions!(GuidLocal:
    guid_local_in_wrapper guid_local_out_wrapper guid_local_recv_wrapper guid_local_send_wrapper
    guid_local_lt_wrapper guid_local_le_wrapper guid_local_eq_wrapper
    guid_local_ge_wrapper guid_local_gt_wrapper guid_local_ne_wrapper guid_local_cmp_wrapper
    guid_local_sortsupport_wrapper guid_local_skipsupport_wrapper guid_local_minmax_multi_distance_wrapper
    guid_local_hash_wrapper guid_local_hash_extended_wrapper
    guid_local_smaller_wrapper guid_local_larger_wrapper
    guid_local_to_bytea_wrapper guid_local_from_bytea_wrapper
);

guid_types::functions!(GuidLocal, Local:
    guid_local_next guid_local_next_for_copy guid_local_next_in guid_local_next_batch guid_local_timestamp
    guid_local_to_timestamptz
    guid_local_min guid_local_max guid_local_range_min guid_local_range_max guid_local_code_min guid_local_code_max guid_local_within
    guid_local_to_text guid_local_from_text guid_local_diff
);

time_predicate::time_predicates!(GuidLocal:
    guid_local_lt_time_wrapper guid_local_le_time_wrapper guid_local_eq_time_wrapper
    guid_local_ge_time_wrapper guid_local_gt_time_wrapper guid_local_ne_time_wrapper guid_local_in_times_wrapper
    time_lt_guid_local_wrapper time_le_guid_local_wrapper time_eq_guid_local_wrapper
    time_ge_guid_local_wrapper time_gt_guid_local_wrapper time_ne_guid_local_wrapper times_of_guid_local_wrapper
);

#[pg_extern(sql = false)]
fn guid_local_decode(
    value: GuidLocal,
    inverse: bool,
    fcinfo: pg_sys::FunctionCallInfo,
) -> RawDatum {
    let parts = value.0.parts();
    let fields = [
        Time(parts.time(clock(inverse))).datum(),
        integer(parts.sequence),
        Span::of_seconds(parts.drift.seconds()),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn guid_local_encode(time: Time, sequence: i32, span: Span, inverse: bool) -> GuidLocal {
    let id = Local::encode(time.0, sequence.into(), drift(span), clock(inverse));
    GuidLocal(id.or_raise())
}

#[pg_extern(sql = false)]
fn guid_local_at(time: Time, number: i64, span: Span, inverse: bool) -> GuidLocal {
    // A guid_local has no node, so that there is one place for each sequence number.
    let place = place_in_tick_among::<GuidType>(&[0], number).or_raise();
    let clock = clock(inverse);
    let (_, sequence) = clock.convert(Tick(0), place.sequence.into());
    GuidLocal(Local::encode(time.0, sequence as i64, drift(span), clock).or_raise())
}
