//! What an index asks of a type beside its comparison: sort support with abbreviated keys, skip support,
//! and the distance between two values. [`super::skeleton::functions`] names them.
//!
//! A type that is passed by reference is sorted by keys of one machine word ([`flakeid_core::sort_key`]),
//! and only where two are equal by the values they point to. That a sort has few different keys, as of a
//! column with the same few IDs in all rows, shows after some thousand rows; it goes on without keys
//! then, as PostgreSQL's own types do (`uuid_abbrev_abort`).

use super::value::Value;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{Datum, FunctionCallInfo, SortSupport};
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::ffi::{c_int, c_void};

/// What makes a number that stands for a value in a sort.
pub trait SortKey: Value + FromDatum + IntoDatum {
    /// As the core has it for the type: orders values as they are ordered, or holds them for equal.
    fn sort_key(self, reference: Self) -> u64;
}

/// PostgreSQL's estimate of how many different numbers it has seen (`lib/hyperloglog.h`).
#[repr(C)]
struct HyperLogLog {
    register_width: u8,
    registers: usize,
    alpha_mm: f64,
    hashes: *mut u8,
    size: usize,
}

// initHyperLogLog raises an error where there is no memory; the others raise none. The comparison is known to PostgreSQL's sort by its address, for which it has a
// sort of its own: so it must not be pgrx's guard around it.
unsafe extern "C-unwind" {
    fn initHyperLogLog(state: *mut HyperLogLog, width: u8);
    fn addHyperLogLog(state: *mut HyperLogLog, hash: u32);
    fn estimateHyperLogLog(state: *mut HyperLogLog) -> f64;
    fn hash_bytes_uint32(number: u32) -> u32;
    fn ssup_datum_unsigned_cmp(a: Datum, b: Datum, sort: SortSupport) -> c_int;
}

/// One sort's keys.
struct Keys<V> {
    /// The first value that was asked for: what the keys are seen from.
    reference: Option<V>,
    made: u64,
    /// Of the keys, while it is not clear yet whether they are worth it.
    different: Option<HyperLogLog>,
}

/// The argument of a sort support function.
fn sort_of(fcinfo: FunctionCallInfo) -> SortSupport {
    // SAFETY: PostgreSQL calls it with the address of the SortSupport to fill in.
    unsafe { (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr() }
}

/// For values passed as a number: the datums themselves are compared.
pub fn by_value(fcinfo: FunctionCallInfo) {
    // SAFETY: as `sort_of` says.
    unsafe { (*sort_of(fcinfo)).comparator = Some(ssup_datum_unsigned_cmp) };
}

/// For values passed by reference: by keys where the sort can use them.
pub fn by_reference<V: SortKey>(fcinfo: FunctionCallInfo) {
    let sort = sort_of(fcinfo);
    // SAFETY: as `sort_of` says. The state lives in the sort's memory, as long as it does; what it
    // holds needs no dropping. 10 bits make 1,024 registers, as PostgreSQL takes for its uuid.
    unsafe {
        (*sort).comparator = Some(compare::<V>);
        if !(*sort).abbreviate {
            return;
        }
        let before = pg_sys::MemoryContextSwitchTo((*sort).ssup_cxt);
        let keys = pg_sys::palloc(size_of::<Keys<V>>()).cast::<Keys<V>>();
        let mut different = HyperLogLog {
            register_width: 0,
            registers: 0,
            alpha_mm: 0.0,
            hashes: std::ptr::null_mut(),
            size: 0,
        };
        pg_guard_ffi_boundary(|| initHyperLogLog(&mut different, 10));
        keys.write(Keys { reference: None, made: 0, different: Some(different) });
        pg_sys::MemoryContextSwitchTo(before);
        (*sort).ssup_extra = keys.cast::<c_void>();
        (*sort).comparator = Some(ssup_datum_unsigned_cmp);
        (*sort).abbrev_converter = Some(abbreviate::<V>);
        (*sort).abbrev_abort = Some(gives_up::<V>);
        (*sort).abbrev_full_comparator = Some(compare::<V>);
    }
}

/// # Safety
/// The datum is a value of the type, and not NULL.
#[inline]
unsafe fn value<V: FromDatum + Copy>(datum: Datum) -> V {
    // SAFETY: the caller's.
    match unsafe { V::from_datum(datum, false) } {
        Some(value) => value,
        // SAFETY: a datum that is not NULL is a value.
        None => unsafe { std::hint::unreachable_unchecked() },
    }
}

// What follows is called by PostgreSQL's sort, which keeps NULLs to itself. It raises no error and does
// not panic, so it needs no guard.

unsafe extern "C-unwind" fn compare<V: SortKey>(a: Datum, b: Datum, _: SortSupport) -> c_int {
    // SAFETY: values of the type that is sorted.
    let (a, b): (V, V) = unsafe { (value(a), value(b)) };
    a.cmp(&b) as c_int
}

unsafe extern "C-unwind" fn abbreviate<V: SortKey>(original: Datum, sort: SortSupport) -> Datum {
    // SAFETY: the state is the one made above, used by one sort alone.
    let (value, keys): (V, _) =
        unsafe { (value(original), &mut *(*sort).ssup_extra.cast::<Keys<V>>()) };
    let key = value.sort_key(*keys.reference.get_or_insert(value));
    keys.made += 1;
    if let Some(different) = &mut keys.different {
        // SAFETY: both halves count; the state was initialised.
        unsafe { addHyperLogLog(different, hash_bytes_uint32(key as u32 ^ (key >> 32) as u32)) };
    }
    Datum::from(key)
}

/// So many different keys are worth it, whatever may come: of fewer than ten million rows they would be
/// enough to go on.
const ENOUGH: f64 = 5_000.0;

/// Whether to go on without keys: asked ever more seldom while rows come in.
unsafe extern "C-unwind" fn gives_up<V: SortKey>(rows: c_int, sort: SortSupport) -> bool {
    // SAFETY: as above.
    let keys = unsafe { &mut *(*sort).ssup_extra.cast::<Keys<V>>() };
    let Some(different) = keys.different.as_mut() else { return false };
    if rows < 10_000 || keys.made < 10_000 {
        return false;
    }
    // SAFETY: the state was initialised.
    let different = unsafe { estimateHyperLogLog(different) };
    if different > ENOUGH {
        // Its memory goes with the sort's.
        keys.different = None;
        return false;
    }
    different < keys.made as f64 / 2_000.0 + 0.5
}

/// The number that big-endian bytes are.
pub fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// How far apart two values are: what a BRIN of several ranges a page goes by when it joins two of them.
pub fn distance<V: Value + FromDatum>(fcinfo: FunctionCallInfo) -> f64 {
    // SAFETY: its two arguments are values of the type, the lower one first.
    let (low, high): (V, V) = unsafe {
        let arguments = (*fcinfo).args.as_slice(2);
        (value(arguments[0].value), value(arguments[1].value))
    };
    number(high.bytes().as_ref()).saturating_sub(number(low.bytes().as_ref())) as f64
}

#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
pub use skip::prepare as skip;

#[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
pub fn skip<V: Value + FromDatum + IntoDatum>(_: FunctionCallInfo) {
    pgrx::error!("an index that skips needs PostgreSQL 18");
}

#[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
mod skip {
    //! The next value and the one before, for an index whose first column has few values: a scan that
    //! looks for the next of them tries that first.

    use super::*;
    use pgrx::pg_sys::panic::pgrx_extern_c_guard;

    type Step = unsafe extern "C-unwind" fn(pg_sys::Relation, Datum, *mut bool) -> Datum;

    /// `utils/skipsupport.h`.
    #[repr(C)]
    struct SkipSupport {
        low: Datum,
        high: Datum,
        decrement: Option<Step>,
        increment: Option<Step>,
    }

    pub fn prepare<V: Value + FromDatum + IntoDatum>(fcinfo: FunctionCallInfo) {
        // SAFETY: PostgreSQL calls it with the address of the SkipSupport to fill in.
        unsafe {
            *(*(*fcinfo).args.as_ptr()).value.cast_mut_ptr() = SkipSupport {
                low: end::<V>(0),
                high: end::<V>(0xff),
                decrement: Some(before::<V>),
                increment: Some(after::<V>),
            };
        }
    }

    fn end<V: Value + IntoDatum>(byte: u8) -> Datum {
        datum(V::of_bytes(filled(byte)))
    }

    fn filled<B: for<'a> TryFrom<&'a [u8]>>(byte: u8) -> B {
        match B::try_from(&[byte; 16][..size_of::<B>()]) {
            Ok(bytes) => bytes,
            Err(_) => unreachable!("an ID has at most 16 bytes"),
        }
    }

    fn datum<V: IntoDatum>(value: V) -> Datum {
        match value.into_datum() {
            Some(datum) => datum,
            None => unreachable!("an ID is never NULL"),
        }
    }

    /// The bytes of the number one away, in the same length; all the way round from the last.
    fn step<V: Value>(value: V, by: i128) -> Option<V> {
        let from = value.bytes();
        let len = from.as_ref().len();
        let number = number(from.as_ref());
        let last = u128::MAX >> (128 - 8 * len as u32);
        let to = number.checked_add_signed(by).filter(|&to| to <= last)?;
        let bytes = to.to_be_bytes();
        V::Bytes::try_from(&bytes[bytes.len() - len..]).ok().map(V::of_bytes)
    }

    unsafe extern "C-unwind" fn before<V: Value + FromDatum + IntoDatum>(
        _: pg_sys::Relation,
        existing: Datum,
        underflow: *mut bool,
    ) -> Datum {
        // SAFETY: a value of the column, and a place for the answer.
        unsafe { pgrx_extern_c_guard(|| neighbour(step(value::<V>(existing), -1), underflow)) }
    }

    unsafe extern "C-unwind" fn after<V: Value + FromDatum + IntoDatum>(
        _: pg_sys::Relation,
        existing: Datum,
        overflow: *mut bool,
    ) -> Datum {
        // SAFETY: as above.
        unsafe { pgrx_extern_c_guard(|| neighbour(step(value::<V>(existing), 1), overflow)) }
    }

    /// # Safety
    /// `none` can be written to.
    unsafe fn neighbour<V: IntoDatum>(value: Option<V>, none: *mut bool) -> Datum {
        // SAFETY: the caller's.
        unsafe { *none = value.is_none() };
        value.map_or(Datum::null(), datum)
    }
}
