//! Which ID type a value in a query has.
//!
//! PostgreSQL lets every user declare an operator with our estimators, of any two types. So an estimator
//! that trusted the operator would read a bigint as the address of a flake128. Here is the only way to a
//! [`IdType`]: a type is one of ours if its input function is the code of this library. Only a superuser
//! can declare such a type. A domain counts as the type it is over.
//!
//! Code that reads a [`Datum`] as an ID holds an `IdType`, and has asked [`IdType::is_of`] about the type that
//! PostgreSQL gives for that very datum: the operator's two operands, the constant, the column's values and
//! the statistics.

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid};

unsafe extern "C-unwind" {
    fn sno_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn flake128_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn guid_local_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
    fn uniqueid_in_wrapper(fcinfo: FunctionCallInfo) -> Datum;
}

type Input = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// How a value lies in its datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    bytes: usize,
    by_value: bool,
}

const WORD: Layout = Layout { bytes: 8, by_value: true };

const fn by_reference(bytes: usize) -> Layout {
    Layout { bytes, by_value: false }
}

/// The ID types that have estimators of their own. A flake is a bigint, of which PostgreSQL knows enough.
const LAYOUTS: [(Input, Layout); 5] = [
    (sno_in_wrapper, by_reference(flakeid_core::sno::LEN)),
    (flake128_in_wrapper, by_reference(flakeid_core::flake128::LEN)),
    (guid_in_wrapper, by_reference(flakeid_core::guid::LEN)),
    (guid_local_in_wrapper, WORD),
    (uniqueid_in_wrapper, WORD),
];

/// The types whose IDs have a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guid {
    Global,
    Local,
}

/// One of our ID types, as this database has it.
#[derive(Clone, Copy, Debug)]
pub struct IdType {
    oid: Oid,
    input: Input,
    layout: Layout,
}

impl IdType {
    /// Returns the ID type that a type is, or is a domain over; `None` for a type that is not ours.
    pub fn of(type_oid: Oid) -> Option<Self> {
        if type_oid == Oid::INVALID {
            return None;
        }
        // SAFETY: these functions read the catalog, and write into the variables that they are given.
        unsafe {
            let oid = pg_sys::getBaseType(type_oid);
            let (mut bytes, mut by_value) = (0, false);
            pg_sys::get_typlenbyval(oid, &mut bytes, &mut by_value);
            let layout = Layout { bytes: usize::try_from(bytes).ok()?, by_value };
            // Most other types end here, before their input function's library would be loaded.
            if !LAYOUTS.iter().any(|&(_, ours)| ours == layout) {
                return None;
            }
            let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
            pg_sys::getTypeInputInfo(oid, &mut input, &mut parameter);
            let mut function = pg_sys::FmgrInfo::default();
            pg_sys::fmgr_info(input, &mut function);
            let address = function.fn_addr? as usize;
            LAYOUTS
                .into_iter()
                .find(|&(ours, of_ours)| ours as usize == address && of_ours == layout)
                .map(|(input, layout)| Self { oid, input, layout })
        }
    }

    /// Whether a type is this ID type or a domain over it.
    pub fn is_of(self, type_oid: Oid) -> bool {
        // SAFETY: reads the catalog.
        type_oid != Oid::INVALID && unsafe { pg_sys::getBaseType(type_oid) } == self.oid
    }

    /// Whether an operator compares two values of this ID type, and can be called.
    pub fn is_compared_by(self, operator: Oid) -> bool {
        // SAFETY: reads the catalog; an operator that has code has two operands to look up.
        unsafe {
            if operator == Oid::INVALID || pg_sys::get_opcode(operator) == Oid::INVALID {
                return false;
            }
            let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
            pg_sys::op_input_types(operator, &mut left, &mut right);
            self.is_of(left) && self.is_of(right)
        }
    }

    /// Which of the two types with a drift this is.
    pub fn guid(self) -> Option<Guid> {
        let input = self.input as usize;
        if input == guid_in_wrapper as Input as usize {
            return Some(Guid::Global);
        }
        (input == guid_local_in_wrapper as Input as usize).then_some(Guid::Local)
    }

    /// The operator of the type's own btree operator class that has this strategy number.
    pub fn btree_operator(self, strategy: u32) -> Option<Oid> {
        // SAFETY: reads the catalog; the entry of the type cache lives as long as the session.
        let operator = unsafe {
            let entry =
                pg_sys::lookup_type_cache(self.oid, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32);
            let (family, input) = ((*entry).btree_opf, (*entry).btree_opintype);
            if family == Oid::INVALID || input != self.oid {
                return None;
            }
            pg_sys::get_opfamily_member(family, input, input, strategy as i16)
        };
        self.is_compared_by(operator).then_some(operator)
    }

    /// The highest byte of the ID.
    ///
    /// # Safety
    /// The datum is a value of this ID type, and not NULL.
    pub unsafe fn first_byte(self, datum: Datum) -> u8 {
        // SAFETY: the caller's.
        let number = unsafe { self.number(datum) };
        (number >> (8 * (self.layout.bytes - 1))) as u8
    }

    /// The number as which the ID sorts: its big-endian bytes, or the word that is passed by value.
    ///
    /// # Safety
    /// The datum is a value of this ID type, and not NULL.
    pub unsafe fn number(self, datum: Datum) -> u128 {
        if self.layout.by_value {
            return datum.value() as u128;
        }
        // SAFETY: the caller's: the datum is the address of a value, which has this many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), self.layout.bytes) };
        crate::types::number(bytes)
    }
}
