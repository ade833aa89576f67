//! Serves indexes beside the comparison of values: sort support with abbreviated keys, skip
//! support, and the distance between two values. [`super::skeleton::functions`] exports them.
//!
//! A sort of a type that is passed by reference compares keys of one machine word
//! ([`flakeid_core::sort_key`]). It compares the values themselves only if two keys are equal. Keys
//! are useless if many rows have few different keys, as in a column that repeats a few IDs. The
//! sort notices that after some thousand rows and continues without keys, as it does for
//! PostgreSQL's types (`uuid_abbrev_abort`).

use super::value::Value;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{Datum, FunctionCallInfo, SortSupport};
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::ffi::{c_int, c_void};

/// A value that a sort can represent by a number.
pub trait SortKey: Value + FromDatum + IntoDatum {
    /// Returns the key that the core computes for the type. Keys have the order of the values; the
    /// keys of two different values may be equal.
    fn sort_key(self, reference: Self) -> u64;
}

/// PostgreSQL's estimator of how many different numbers there are (`lib/hyperloglog.h`).
#[repr(C)]
struct HyperLogLog {
    register_width: u8,
    registers: usize,
    alpha_mm: f64,
    hashes: *mut u8,
    size: usize,
}

// initHyperLogLog raises an error if memory is exhausted; the others raise no error. PostgreSQL
// recognizes ssup_datum_unsigned_cmp by its address, and then uses a specialized sort. So the
// address must be that of the function itself, and not of pgrx's guard around it.
unsafe extern "C-unwind" {
    fn initHyperLogLog(state: *mut HyperLogLog, width: u8);
    fn addHyperLogLog(state: *mut HyperLogLog, hash: u32);
    fn estimateHyperLogLog(state: *mut HyperLogLog) -> f64;
    fn hash_bytes_uint32(number: u32) -> u32;
    fn ssup_datum_unsigned_cmp(a: Datum, b: Datum, sort: SortSupport) -> c_int;
}

/// The state of one sort with abbreviated keys.
struct AbbreviatedKeys<V> {
    /// The first value that the sort has converted. All keys are relative to it.
    reference: Option<V>,
    made: u64,
    /// Estimates how many different keys there are, until it is clear that keys speed the sort up.
    different: Option<HyperLogLog>,
}

/// Returns the argument of a sort support function.
fn sort_of(fcinfo: FunctionCallInfo) -> SortSupport {
    // SAFETY: PostgreSQL calls it with the address of the SortSupport to fill in.
    unsafe { (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr() }
}

/// Sets up the sort of values that are passed by value: it compares the datums as numbers.
pub fn by_value(fcinfo: FunctionCallInfo) {
    // SAFETY: the argument is the address of the SortSupport to fill in.
    unsafe { (*sort_of(fcinfo)).comparator = Some(ssup_datum_unsigned_cmp) };
}

/// Sets up the sort of values that are passed by reference: with keys, if the sort can use them.
pub fn by_reference<V: SortKey>(fcinfo: FunctionCallInfo) {
    let sort = sort_of(fcinfo);
    // SAFETY: `sort` is the address of the SortSupport to fill in. The state is allocated in the
    // memory context of the sort and lives as long as the sort; nothing in it needs to be dropped.
    // 10 bits are 1,024 registers, as in PostgreSQL's sort of uuids.
    unsafe {
        (*sort).comparator = Some(compare::<V>);
        if !(*sort).abbreviate {
            return;
        }
        let before = pg_sys::MemoryContextSwitchTo((*sort).ssup_cxt);
        let keys = pg_sys::palloc(size_of::<AbbreviatedKeys<V>>()).cast::<AbbreviatedKeys<V>>();
        let mut different = HyperLogLog {
            register_width: 0,
            registers: 0,
            alpha_mm: 0.0,
            hashes: std::ptr::null_mut(),
            size: 0,
        };
        pg_guard_ffi_boundary(|| initHyperLogLog(&mut different, 10));
        keys.write(AbbreviatedKeys { reference: None, made: 0, different: Some(different) });
        pg_sys::MemoryContextSwitchTo(before);
        (*sort).ssup_extra = keys.cast::<c_void>();
        (*sort).comparator = Some(ssup_datum_unsigned_cmp);
        (*sort).abbrev_converter = Some(abbreviate::<V>);
        (*sort).abbrev_abort = Some(abort_abbreviation::<V>);
        (*sort).abbrev_full_comparator = Some(compare::<V>);
    }
}

/// # Safety
/// The datum is a value of the type, and not NULL.
#[inline]
unsafe fn value<V: FromDatum + Copy>(datum: Datum) -> V {
    // SAFETY: the caller guarantees that the datum is a value of the type, and not NULL.
    match unsafe { V::from_datum(datum, false) } {
        Some(value) => value,
        // SAFETY: from_datum returns `None` only for NULL.
        None => unsafe { std::hint::unreachable_unchecked() },
    }
}

// PostgreSQL's sort calls the following functions, for values that are not NULL. They raise no
// error and do not panic, so they need no guard.

unsafe extern "C-unwind" fn compare<V: SortKey>(a: Datum, b: Datum, _: SortSupport) -> c_int {
    // SAFETY: the sort passes values of its type that are not NULL.
    let (a, b): (V, V) = unsafe { (value(a), value(b)) };
    a.cmp(&b) as c_int
}

unsafe extern "C-unwind" fn abbreviate<V: SortKey>(original: Datum, sort: SortSupport) -> Datum {
    // SAFETY: the sort passes a value of its type that is not NULL. `by_reference` has set
    // `ssup_extra` to the state, which belongs to this sort alone.
    let (value, keys): (V, _) =
        unsafe { (value(original), &mut *(*sort).ssup_extra.cast::<AbbreviatedKeys<V>>()) };
    let key = value.sort_key(*keys.reference.get_or_insert(value));
    keys.made += 1;
    if let Some(different) = &mut keys.different {
        // The hash is of both halves of the key.
        // SAFETY: `by_reference` has initialized the state.
        unsafe { addHyperLogLog(different, hash_bytes_uint32(key as u32 ^ (key >> 32) as u32)) };
    }
    Datum::from(key)
}

/// With more different keys than this the sort keeps its keys in any case: they are enough for ten
/// million rows.
const ENOUGH_DISTINCT_KEYS: f64 = 5_000.0;

/// Returns whether the sort must continue without keys. PostgreSQL calls it less and less often as
/// rows come in.
unsafe extern "C-unwind" fn abort_abbreviation<V: SortKey>(rows: c_int, sort: SortSupport) -> bool {
    // SAFETY: `by_reference` has set `ssup_extra` to the state, which belongs to this sort alone.
    let keys = unsafe { &mut *(*sort).ssup_extra.cast::<AbbreviatedKeys<V>>() };
    let Some(different) = keys.different.as_mut() else { return false };
    if rows < 10_000 || keys.made < 10_000 {
        return false;
    }
    // SAFETY: `by_reference` has initialized the state.
    let different = unsafe { estimateHyperLogLog(different) };
    if different > ENOUGH_DISTINCT_KEYS {
        // PostgreSQL frees the estimator with the memory context of the sort.
        keys.different = None;
        return false;
    }
    different < keys.made as f64 / 2_000.0 + 0.5
}

/// Reads bytes as a big-endian number.
pub fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// Returns the distance between two values. A BRIN index that keeps several pairs of smallest and
/// largest value for a range of blocks merges those with the least distance.
pub fn distance<V: Value + FromDatum>(fcinfo: FunctionCallInfo) -> f64 {
    // SAFETY: PostgreSQL passes two values of the type that are not NULL, the lower one first.
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
    //! Skip support: the next and the previous value. In an index whose first column has few
    //! different values, a scan tries the next value before it searches for it.

    use super::*;
    use pgrx::pg_sys::panic::pgrx_extern_c_guard;

    type Step = unsafe extern "C-unwind" fn(pg_sys::Relation, Datum, *mut bool) -> Datum;

    /// PostgreSQL's struct of this name (`utils/skipsupport.h`).
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

    /// Adds `by` to the number that a value's bytes are. Returns `None` past the first or the last
    /// value.
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
        // SAFETY: PostgreSQL passes a value of the column that is not NULL, and the address of the
        // answer.
        unsafe { pgrx_extern_c_guard(|| neighbor(step(value::<V>(existing), -1), underflow)) }
    }

    unsafe extern "C-unwind" fn after<V: Value + FromDatum + IntoDatum>(
        _: pg_sys::Relation,
        existing: Datum,
        overflow: *mut bool,
    ) -> Datum {
        // SAFETY: PostgreSQL passes a value of the column that is not NULL, and the address of the
        // answer.
        unsafe { pgrx_extern_c_guard(|| neighbor(step(value::<V>(existing), 1), overflow)) }
    }

    /// Returns a value as a datum, and writes whether there is no value.
    ///
    /// # Safety
    /// `none` is a valid address of a bool.
    unsafe fn neighbor<V: IntoDatum>(value: Option<V>, none: *mut bool) -> Datum {
        // SAFETY: the caller guarantees that the address is valid.
        unsafe { *none = value.is_none() };
        value.map_or(Datum::null(), datum)
    }
}
