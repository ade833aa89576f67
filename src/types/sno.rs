//! The type sno and its SQL functions: ten bytes, passed by reference.

use super::batch::{batch, place_in_tick};
use super::datum::{RawDatum, copy, integer, row, try_copy};
use super::error::TypeInfo;
use super::skeleton;
use super::time_predicate;
use super::value::{Value, read};
use crate::copy_from;
use crate::error::OrRaise;
use crate::generator::{Generator, Identity, Issuer};
use crate::timestamp::Time;
use flakeid_core::session::Issued;
use flakeid_core::sno::{Id, LEN, META, NAME, PARTITION, TickTock};
use flakeid_core::{Error, base32};
use pgrx::datum::Uuid;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A value of type sno.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Sno(Id);

skeleton::by_reference!(Sno, Id, "sno");

impl Value for Sno {
    const TYPE_INFO: TypeInfo = TypeInfo {
        name: NAME,
        spelling: "A sno is written as 16 characters of 2 to 9 and a to x, in lower case.",
    };
    type Bytes = [u8; LEN];
    type Text = [u8; base32::TEXT_LEN];

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

skeleton::functions!(Sno:
    sno_in_wrapper sno_out_wrapper sno_recv_wrapper sno_send_wrapper
    sno_lt_wrapper sno_le_wrapper sno_eq_wrapper
    sno_ge_wrapper sno_gt_wrapper sno_ne_wrapper sno_cmp_wrapper
    sno_sortsupport_wrapper sno_skipsupport_wrapper sno_minmax_multi_distance_wrapper
    sno_hash_wrapper sno_hash_extended_wrapper
    sno_smaller_wrapper sno_larger_wrapper
    sno_to_bytea_wrapper sno_from_bytea_wrapper
);

#[pg_extern(sql = false)]
fn sno_to_uuid(value: Sno) -> Uuid {
    Uuid::from_bytes(value.0.text())
}

#[pg_extern(sql = false)]
fn sno_from_uuid(uuid: Uuid) -> Sno {
    read::<Sno>(uuid.as_bytes()).or_raise()
}

/// The generator of snos in this process.
static IDS: Generator<TickTock> = Generator::new();

impl Issuer for TickTock {
    const IDENTITY: Identity = Identity::GeneratorIds { max: PARTITION.max() };
}

#[inline]
fn checked_meta(meta: i32) -> u64 {
    META.check(meta.into()).or_raise()
}

#[inline]
fn pack(issued: Issued, meta: u64, i: u32) -> Sno {
    let sequence = issued.block.sequence + i;
    Sno(Id::pack(issued.block.stamp, meta, issued.generator_id, sequence.into()))
}

copy_from::next_fns!(sno_next_wrapper sno_next_for_copy_wrapper: |fcinfo| {
    // SAFETY: both functions are declared STRICT, and their first argument is an integer, which is
    // passed by value.
    let meta = unsafe { (*(*fcinfo).args.as_ptr()).value.value() as i32 };
    (|| {
        let meta = META.check(meta.into()).ok()?;
        try_copy(&pack(IDS.take_prefetched()?, meta, 0).bytes()).map(Into::into)
    })()
}, {
    // SAFETY: the function is declared STRICT with one integer, which is passed by value.
    let meta = checked_meta(unsafe { (*(*fcinfo).args.as_ptr()).value.value() as i32 });
    copy(&pack(IDS.take(1), meta, 0).bytes()).into()
});

#[pg_extern(sql = false)]
fn sno_next_in(stream: &[u8], meta: i32) -> Sno {
    let meta = checked_meta(meta);
    pack(IDS.take_in(stream), meta, 0)
}

#[pg_extern(sql = false)]
fn sno_next_batch(n: i32, meta: i32) -> SetOfIterator<'static, Sno> {
    let meta = checked_meta(meta);
    SetOfIterator::new(batch(&IDS, n, move |issued, i| pack(issued, meta, i)))
}

#[pg_extern(sql = false)]
fn sno_decode(value: Sno, fcinfo: pg_sys::FunctionCallInfo) -> RawDatum {
    let parts = value.0.parts();
    let fields = [
        Time(value.0.time()).datum(),
        integer(parts.tick),
        integer(parts.meta),
        integer(parts.partition),
        integer(parts.sequence),
    ];
    row(fcinfo, fields)
}

#[pg_extern(sql = false)]
fn sno_meta(value: Sno) -> i32 {
    META.get(value.0.word()) as i32
}

#[pg_extern(sql = false)]
fn sno_with_meta(value: Sno, meta: i32) -> Sno {
    Sno(value.0.with_meta(meta.into()).or_raise())
}

#[pg_extern(sql = false)]
fn sno_encode(time: Time, tick: i32, meta: i32, partition: i32, sequence: i32) -> Sno {
    let id = Id::encode(time.0, tick.into(), meta.into(), partition.into(), sequence.into());
    Sno(id.or_raise())
}

#[pg_extern(sql = false)]
fn sno_at(time: Time, meta: i32, number: i64) -> Sno {
    let place = place_in_tick::<TickTock>(number).or_raise();
    let id = Id::encode(time.0, 0, meta.into(), place.generator_id as i64, place.sequence.into());
    Sno(id.or_raise())
}

skeleton::time_bounds!(Sno, Id:
    sno_timestamp sno_min sno_max sno_range_min sno_range_max
);

time_predicate::by_bounds!(Sno, Id, |_| true);

time_predicate::time_predicates!(Sno:
    sno_lt_time_wrapper sno_le_time_wrapper sno_eq_time_wrapper
    sno_ge_time_wrapper sno_gt_time_wrapper sno_ne_time_wrapper sno_in_times_wrapper
    time_lt_sno_wrapper time_le_sno_wrapper time_eq_sno_wrapper
    time_ge_sno_wrapper time_gt_sno_wrapper time_ne_sno_wrapper times_of_sno_wrapper
);
