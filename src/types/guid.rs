//! The type guid and its SQL functions: twelve bytes, passed by reference.

use super::batch::place_in_tick;
use super::datum::{RawDatum, Span, bigint, integer, row};
use super::error::TypeInfo;
use super::guid_local::GuidLocal;
use super::guid_types::{self, clock, drift};
use super::skeleton;
use super::time_predicate;
use super::value::Value;
use crate::error::OrRaise;
use crate::timestamp::Time;
use flakeid_core::Error;
use flakeid_core::clock::Tick;
use flakeid_core::guid::{Guid as GuidType, Id, LEN, NAME, TEXT_LEN};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type guid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Guid(Id);

skeleton::by_reference!(Guid, Id, "guid");

impl Value for Guid {
    const TYPE_INFO: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A guid is written as 16 characters of a period, 0-9, A-Z, an underscore and \
                   a-z.",
    };
    type Bytes = [u8; LEN];
    type Text = [u8; TEXT_LEN];

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Id(bytes))
    }

    fn text(self) -> Self::Text {
        self.0.text()
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Id::from_text(text).map(Self)
    }
}

skeleton::functions!(Guid:
    guid_in_wrapper guid_out_wrapper guid_recv_wrapper guid_send_wrapper
    guid_lt_wrapper guid_le_wrapper guid_eq_wrapper
    guid_ge_wrapper guid_gt_wrapper guid_ne_wrapper guid_cmp_wrapper
    guid_sortsupport_wrapper guid_skipsupport_wrapper guid_minmax_multi_distance_wrapper
    guid_hash_wrapper guid_hash_extended_wrapper
    guid_smaller_wrapper guid_larger_wrapper
    guid_to_bytea_wrapper guid_from_bytea_wrapper
);

guid_types::functions!(Guid, Id:
    guid_next guid_next_for_copy guid_next_in guid_next_batch guid_timestamp guid_to_timestamptz
    guid_min guid_max guid_range_min guid_range_max guid_code_min guid_code_max guid_within
    guid_to_text guid_from_text guid_diff
);

time_predicate::time_predicates!(Guid:
    guid_lt_time_wrapper guid_le_time_wrapper guid_eq_time_wrapper
    guid_ge_time_wrapper guid_gt_time_wrapper guid_ne_time_wrapper guid_in_times_wrapper
    time_lt_guid_wrapper time_le_guid_wrapper time_eq_guid_wrapper
    time_ge_guid_wrapper time_gt_guid_wrapper time_ne_guid_wrapper times_of_guid_wrapper
);

#[pg_extern(sql = false)]
fn guid_to_local(value: Guid) -> GuidLocal {
    GuidLocal(value.0.local())
}

#[pg_extern(sql = false)]
fn guid_global(value: GuidLocal, node: i64) -> Guid {
    Guid(value.0.global(node).or_raise())
}

#[pg_extern(sql = false)]
fn guid_decode(value: Guid, inverse: bool, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    let parts = value.0.parts();
    let fields = [
        Time(parts.time(clock(inverse))).datum(),
        bigint(parts.node),
        integer(parts.sequence),
        Span::of_seconds(parts.drift.seconds()),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn guid_encode(time: Time, node: i64, sequence: i32, span: Span, inverse: bool) -> Guid {
    let id = Id::encode(time.0, node, sequence.into(), drift(span), clock(inverse));
    Guid(id.or_raise())
}

#[pg_extern(sql = false)]
fn guid_at(time: Time, number: i64, span: Span, inverse: bool) -> Guid {
    let place = place_in_tick::<GuidType>(number).or_raise();
    let clock = clock(inverse);
    let (_, sequence) = clock.convert(Tick(0), place.sequence.into());
    let id = Id::encode(time.0, place.generator_id as i64, sequence as i64, drift(span), clock);
    Guid(id.or_raise())
}
