//! The type uniqueid and its SQL functions: eight bytes, passed by value; and its mode, an enum.

use super::batch::{batch, place_in_tick};
use super::datum::{RawDatum, integer, typed_row};
use super::error::TypeInfo;
use super::skeleton;
use super::time_predicate;
use super::value::Value;
use crate::copy_from;
use crate::error::OrRaise;
use crate::generator::{Generator, Identity, Issuer};
use crate::lease;
use crate::timestamp::Time;
use flakeid_core::Error;
use flakeid_core::session::Issued;
use flakeid_core::uniqueid::{
    GENERATOR, Id, Mode, NAME, Parts, TEXT_LEN, UniqueId as UniqueIdType,
};
use pgrx::enum_helper::lookup_enum_by_oid;
use pgrx::prelude::*;
use pgrx::{IntoDatum, direct_function_call, pg_sys};
use std::ffi::CString;

/// A value of type uniqueid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct UniqueId(Id);

skeleton::by_value!(UniqueId, Id, "uniqueid");

impl Value for UniqueId {
    const TYPE_INFO: TypeInfo =
        TypeInfo { name: NAME, spelling: "A uniqueid is written as 16 hexadecimal digits." };
    type Bytes = [u8; 8];
    type Text = [u8; TEXT_LEN];

    #[inline]
    fn bytes(self) -> Self::Bytes {
        self.0.0.to_be_bytes()
    }

    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self(Id(u64::from_be_bytes(bytes)))
    }

    fn text(self) -> Self::Text {
        self.0.text()
    }

    fn of_text(text: &[u8]) -> Result<Self, Error> {
        Id::from_text(text).map(Self)
    }
}

skeleton::functions!(UniqueId:
    uniqueid_in_wrapper uniqueid_out_wrapper uniqueid_recv_wrapper uniqueid_send_wrapper
    uniqueid_lt_wrapper uniqueid_le_wrapper uniqueid_eq_wrapper
    uniqueid_ge_wrapper uniqueid_gt_wrapper uniqueid_ne_wrapper uniqueid_cmp_wrapper
    uniqueid_sortsupport_wrapper uniqueid_skipsupport_wrapper uniqueid_minmax_multi_distance_wrapper
    uniqueid_hash_wrapper uniqueid_hash_extended_wrapper
    uniqueid_smaller_wrapper uniqueid_larger_wrapper
    uniqueid_to_bytea_wrapper uniqueid_from_bytea_wrapper
);

/// Returns the mode that a value of the enum names.
fn mode_of(value: pg_sys::Oid) -> Mode {
    let (label, ..) = lookup_enum_by_oid(value);
    match Mode::ALL.into_iter().find(|mode| mode.name() == label) {
        Some(mode) => mode,
        None => pgrx::error!("flakeid's library does not know the mode \"{label}\""),
    }
}

/// Returns a mode as a value of the enum type.
fn value_of(mode: Mode, enum_type: pg_sys::Oid) -> pg_sys::Oid {
    let label = CString::new(mode.name()).unwrap_or_default();
    let arguments = [label.as_c_str().into_datum(), enum_type.into_datum()];
    // SAFETY: `enum_in` is PostgreSQL's input function of enums, and gets its two arguments.
    match unsafe { direct_function_call(pg_sys::enum_in, &arguments) } {
        Some(value) => value,
        None => pgrx::error!("a mode is NULL"),
    }
}

/// The generator of uniqueids in this process.
static IDS: Generator<UniqueIdType> = Generator::new();

impl Issuer for UniqueIdType {
    const IDENTITY: Identity = Identity::GeneratorIds { max: GENERATOR.max() };
}

#[inline]
fn pack(issued: Issued, i: u32, mode: Mode) -> UniqueId {
    UniqueId(Id::pack(Parts {
        time: issued.block.stamp.tick::<UniqueIdType>(),
        sequence: (issued.block.sequence + i).into(),
        generator: issued.generator_id,
        cluster: lease::cluster(),
        mode,
    }))
}

#[pg_extern(sql = false)]
fn uniqueid_next(mode: pg_sys::Oid) -> UniqueId {
    let mode = mode_of(mode);
    pack(IDS.take(1), 0, mode)
}

#[pg_extern(sql = false)]
fn uniqueid_next_for_copy(mode: pg_sys::Oid, fcinfo: pg_sys::FunctionCallInfo) -> UniqueId {
    copy_from::check(fcinfo);
    uniqueid_next(mode)
}

#[pg_extern(sql = false)]
fn uniqueid_next_in(stream: &[u8], mode: pg_sys::Oid) -> UniqueId {
    let mode = mode_of(mode);
    pack(IDS.take_in(stream), 0, mode)
}

#[pg_extern(sql = false)]
fn uniqueid_next_batch(n: i32, mode: pg_sys::Oid) -> SetOfIterator<'static, UniqueId> {
    let mode = mode_of(mode);
    SetOfIterator::new(batch(&IDS, n, move |issued, i| pack(issued, i, mode)))
}

#[pg_extern(sql = false)]
fn uniqueid_decode(value: UniqueId, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    let parts = value.0.parts();
    typed_row(fcinfo, |desc| {
        // SAFETY: `desc` describes the row, which has as many columns as there are values: five.
        let enum_type = unsafe { pg_sys::SPI_gettypeid(desc, 5) };
        [
            Time(value.0.time()).datum(),
            integer(parts.sequence),
            integer(parts.generator),
            integer(parts.cluster),
            value_of(parts.mode, enum_type).into(),
        ]
    })
}

#[pg_extern(sql = false)]
fn uniqueid_sequential(value: UniqueId) -> bool {
    value.0.mode() == Mode::TimeSequential
}

#[pg_extern(sql = false)]
fn uniqueid_encode(
    time: Time,
    sequence: i32,
    generator: i32,
    cluster: i32,
    mode: pg_sys::Oid,
) -> UniqueId {
    let (sequence, generator, cluster) = (sequence.into(), generator.into(), cluster.into());
    UniqueId(Id::encode(time.0, sequence, generator, cluster, mode_of(mode)).or_raise())
}

#[pg_extern(sql = false)]
fn uniqueid_at(time: Time, number: i64, mode: pg_sys::Oid) -> UniqueId {
    let place = place_in_tick::<UniqueIdType>(number).or_raise();
    let (sequence, generator) = (place.sequence.into(), place.generator_id as i64);
    let cluster = lease::cluster() as i64;
    UniqueId(Id::encode(time.0, sequence, generator, cluster, mode_of(mode)).or_raise())
}

skeleton::time_bounds!(UniqueId, Id:
    uniqueid_timestamp uniqueid_min uniqueid_max uniqueid_range_min uniqueid_range_max
);

time_predicate::by_bounds!(UniqueId, Id, |id| id.0.mode() == Mode::TimeSequential);

time_predicate::time_predicates!(UniqueId:
    uniqueid_lt_time_wrapper uniqueid_le_time_wrapper uniqueid_eq_time_wrapper
    uniqueid_ge_time_wrapper uniqueid_gt_time_wrapper uniqueid_ne_time_wrapper uniqueid_in_times_wrapper
    time_lt_uniqueid_wrapper time_le_uniqueid_wrapper time_eq_uniqueid_wrapper
    time_ge_uniqueid_wrapper time_gt_uniqueid_wrapper time_ne_uniqueid_wrapper times_of_uniqueid_wrapper
);
