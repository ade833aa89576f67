//! Decides which ID type a value in a query has.
//!
//! PostgreSQL lets every user declare an operator with our estimators, for any two types. An
//! estimator that trusted the operator would read a bigint as the address of a flake128. So
//! estimators do not trust the operator.
//!
//! [`SqlIdType::of`] is the only way to get a [`SqlIdType`]. A type is one of ours if its input
//! function is code of this library. Only a superuser can declare such a type. A uuidv7 has
//! PostgreSQL's type uuid. A domain counts as its base type.
//!
//! Code that reads a [`Datum`] as an ID holds a `SqlIdType`. It has called [`SqlIdType::is_of`] for
//! the type that PostgreSQL names for that datum: the two operands of the operator, the constant,
//! the values of the column, and the statistics.

use super::expression::constant_of;
use crate::types::{SQL_ID_TYPES, ValueType};
use pgrx::pg_sys::{self, Datum, Oid};

/// The number of bits of a drift, the highest ones of an ID.
const DRIFT_BITS: u32 = 3;

/// An ID type whose IDs have a drift: guid or guid_local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guid {
    Global,
    Local,
}

/// Returns the address of the code of a type's input function.
fn input_code(type_oid: Oid) -> Option<usize> {
    let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
    let mut function = pg_sys::FmgrInfo::default();
    // SAFETY: these functions read the catalog, and write only to the variables whose addresses
    // they get.
    unsafe {
        pg_sys::getTypeInputInfo(type_oid, &mut input, &mut parameter);
        pg_sys::fmgr_info(input, &mut function);
    }
    function.fn_addr.map(|code| code as usize)
}

/// Returns whether a type is bigint, the type flake, or a domain over flake.
pub fn has_flakes(type_oid: Oid) -> bool {
    // SAFETY: `getBaseType` reads the catalog.
    let base = unsafe { pg_sys::getBaseType(type_oid) };
    let is_input = |code| {
        SQL_ID_TYPES.iter().any(
            |entry| matches!(entry.value, ValueType::Bigint { input } if input as usize == code),
        )
    };
    type_oid == pg_sys::INT8OID || input_code(base).is_some_and(is_input)
}

/// One of our ID types, as a type in this database.
#[derive(Clone, Copy, Debug)]
pub struct SqlIdType {
    oid: Oid,
    /// The size of a value.
    bytes: usize,
    /// Whether a datum is the value, and not its address.
    by_value: bool,
    name: &'static str,
}

impl SqlIdType {
    /// Returns the ID type of a type or of the base type of a domain. Returns `None` for a type
    /// that is not ours.
    pub fn of(type_oid: Oid) -> Option<Self> {
        if type_oid == Oid::INVALID {
            return None;
        }
        // SAFETY: these functions read the catalog, and write only to the variables whose addresses
        // they get.
        unsafe {
            let oid = pg_sys::getBaseType(type_oid);
            let (mut bytes, mut by_value) = (0, false);
            pg_sys::get_typlenbyval(oid, &mut bytes, &mut by_value);
            let bytes = usize::try_from(bytes).ok()?;
            let of = |name| Some(Self { oid, bytes, by_value, name });
            if oid == pg_sys::UUIDOID {
                return of(flakeid_core::uuidv7::NAME);
            }
            let own = SQL_ID_TYPES.iter().filter_map(|entry| match entry.value {
                ValueType::Own { input, bytes: size, by_value: is_value } => {
                    (size == bytes && is_value == by_value).then_some((input, entry.name))
                }
                ValueType::Bigint { .. } | ValueType::Uuid => None,
            });
            // Most other types end here, before their input function's library would be loaded.
            own.clone().next()?;
            let code = input_code(oid)?;
            own.clone().find(|&(input, _)| input as usize == code).and_then(|(_, name)| of(name))
        }
    }

    /// Returns the OID of the type, which is no domain.
    pub fn oid(self) -> Oid {
        self.oid
    }

    /// Returns the name with which the names of the type's functions begin.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns whether there are IDs of this type whose position in an index says nothing about
    /// their time.
    pub fn can_be_spread(self) -> bool {
        self.name == flakeid_core::uniqueid::NAME
    }

    /// Makes the constant of an ID whose first byte is `first`, and whose other bytes are all
    /// `others`.
    pub fn constant(self, first: u8, others: u8) -> *mut pg_sys::Node {
        constant_of(self.oid, self.bytes, self.by_value, self.datum(first, others))
    }

    /// Returns the ID whose first byte is `first`, and whose other bytes are all `others`.
    pub fn datum(self, first: u8, others: u8) -> Datum {
        let mut id = vec![others; self.bytes];
        id[0] = first;
        match self.by_value {
            true => Datum::from(crate::types::number(&id) as u64),
            false => Datum::from(crate::types::copy(&id)),
        }
    }

    /// Returns whether a type is this ID type or a domain over it.
    pub fn is_of(self, type_oid: Oid) -> bool {
        // SAFETY: `getBaseType` reads the catalog.
        type_oid != Oid::INVALID && unsafe { pg_sys::getBaseType(type_oid) } == self.oid
    }

    /// Returns whether an operator compares two values of this ID type, and has a function to call.
    pub fn is_compared_by(self, operator: Oid) -> bool {
        // SAFETY: these functions read the catalog. `op_input_types` raises an error only for an
        // operator that does not exist, and this one exists, as it has a function.
        unsafe {
            if operator == Oid::INVALID || pg_sys::get_opcode(operator) == Oid::INVALID {
                return false;
            }
            let (mut left, mut right) = (Oid::INVALID, Oid::INVALID);
            pg_sys::op_input_types(operator, &mut left, &mut right);
            self.is_of(left) && self.is_of(right)
        }
    }

    /// Returns which of the two types with a drift this is, or `None` if its IDs have no drift.
    pub fn guid(self) -> Option<Guid> {
        match self.name {
            flakeid_core::guid::NAME => Some(Guid::Global),
            flakeid_core::guid::LOCAL_NAME => Some(Guid::Local),
            _ => None,
        }
    }

    /// Returns the number by which the least IDs of neighboring drifts differ.
    pub fn step_of_drifts(self) -> u128 {
        1 << (8 * self.bytes as u32 - DRIFT_BITS)
    }

    /// Returns whether this is the number of the least or the greatest ID of a drift.
    pub fn is_end_of_drift(self, number: u128) -> bool {
        let below_drift = self.step_of_drifts() - 1;
        self.guid().is_some() && [0, below_drift].contains(&(number & below_drift))
    }

    /// Returns the operator with this strategy number in the default btree operator class of the
    /// type.
    pub fn btree_operator(self, strategy: u32) -> Option<Oid> {
        // SAFETY: these functions read the catalog. An entry of the type cache lives as long as the
        // session.
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

    /// Returns the number as which an ID sorts: its big-endian bytes, or the word that is passed by
    /// value.
    ///
    /// # Safety
    /// The datum is a value of this ID type, and not NULL.
    pub unsafe fn number(self, datum: Datum) -> u128 {
        if self.by_value {
            return datum.value() as u128;
        }
        // SAFETY: the caller guarantees that the datum is the address of a value, which has this
        // many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), self.bytes) };
        crate::types::number(bytes)
    }
}
