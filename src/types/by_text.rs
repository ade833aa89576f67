//! Refuses to convert an ID by way of its text, unless the statement asks for a text.
//!
//! # The fault that this prevents
//! Where two types have no cast, or an explicit one alone, PL/pgSQL assigns by text: it prints the
//! value of one type, and reads the characters as the other type. The text of an ID is often a
//! valid text of another type, with another meaning. A bytea gets the characters instead of the
//! bytes. A flake128 reads the digits of an integer in base 62, a uniqueid reads sixteen of them in
//! base 16. Any sno is a valid guid, and some flake128s are valid dates.
//!
//! # The rule
//! PostgreSQL's own node for this conversion is `CoerceViaIO`. The input and output function of the
//! ID type find it in `fn_expr`. They accept it if one of its types is a string type, whose values
//! are texts, or if a cast WITH INOUT exists, which a user has declared. For all else there is an
//! error, as in SQL outside PL/pgSQL. It depends on the types alone, never on a value, so that an
//! output function can be LEAKPROOF.
//!
//! # What it does not see
//! The planner computes the text of a constant before it calls the input function, which then sees
//! a string.
//! - *A literal.* PL/pgSQL would still read the digits of `k := 10`. Therefore each type that a
//!   literal of a number can have has a cast to flake128, whose text is such a number:
//!   `sql/flake128.sql.in`. For the other ID types the literal would need exactly sixteen digits.
//! - *A variable, in a plan for its value.* PL/pgSQL plans an assignment so if an earlier
//!   evaluation in the transaction has failed, or has not ended. The earlier one raises the error.
//!
//! Nothing else sets `fn_expr` to this node: not COPY, arrays, rows, `format` and `to_json`, nor a
//! literal.

use crate::error::{Code, Report};
use pgrx::pg_sys::{self, FunctionCallInfo, NodeTag, Oid};
use std::ffi::CStr;

/// Raises an error if this call of an input or output function converts between two types that have
/// no such cast.
#[inline]
pub fn check(fcinfo: FunctionCallInfo) {
    check_with(fcinfo, cannot_cast);
}

/// Does the same for the type flake, whose text is that of a bigint.
pub fn check_flake(fcinfo: FunctionCallInfo) {
    check_with(fcinfo, |from, to| {
        Report::new(Code::ERRCODE_CANNOT_COERCE, no_cast(from, to))
            .detail("There is no assignment cast.")
            .hint("Cast to bigint first, or to text.")
    });
}

#[inline]
fn check_with(fcinfo: FunctionCallInfo, error: fn(Oid, Oid) -> Report) {
    // SAFETY: `fcinfo` belongs to this call. If it has a FmgrInfo, that lasts as long as the
    // expression.
    let Some(call) = (unsafe { (*fcinfo).flinfo.as_mut() }) else { return };
    if call.fn_expr.is_null() || !call.fn_extra.is_null() {
        return;
    }
    check_expression(call.fn_expr, error);
    // `fn_extra` belongs to the function that is called. It says that the expression is checked;
    // nothing reads what it points to.
    call.fn_extra = (&raw mut *call).cast();
}

#[cold]
fn check_expression(expression: *mut pg_sys::Node, error: fn(Oid, Oid) -> Report) {
    // SAFETY: `fn_expr` is a node, whose first field is its tag; a node of this tag is a
    // CoerceViaIO.
    let (from, to) = unsafe {
        if (*expression).type_ != NodeTag::T_CoerceViaIO {
            return;
        }
        let conversion = expression.cast::<pg_sys::CoerceViaIO>();
        (pg_sys::exprType((*conversion).arg.cast()), (*conversion).resulttype)
    };
    if !is_string(from) && !is_string(to) && !has_declared_cast(from, to) {
        error(from, to).raise();
    }
}

/// Constructs PostgreSQL's error for two types without a cast.
pub fn cannot_cast(from: Oid, to: Oid) -> Report {
    Report::new(Code::ERRCODE_CANNOT_COERCE, no_cast(from, to))
        .detail(
            "There is no assignment cast, and the text of one type means something else to the \
                 other type.",
        )
        .hint("Write an explicit cast. To convert the text, cast to text first.")
}

/// Returns PostgreSQL's message for two types without a cast.
fn no_cast(from: Oid, to: Oid) -> String {
    // SAFETY: format_type_be returns a C string, also if there is no such type.
    let name = |oid| unsafe { CStr::from_ptr(pg_sys::format_type_be(oid)) }.to_string_lossy();
    format!("cannot cast type {} to {}", name(from), name(to))
}

/// Returns whether values of a type are texts: text and its relatives, a domain over one of them, a
/// literal without a type, and a C string.
fn is_string(oid: Oid) -> bool {
    let (mut category, mut is_preferred) = (0, false);
    if [pg_sys::TEXTOID, pg_sys::VARCHAROID, pg_sys::UNKNOWNOID, pg_sys::CSTRINGOID].contains(&oid)
    {
        return true;
    }
    // SAFETY: reads the catalog, within a transaction. The type of a node exists.
    unsafe { pg_sys::get_type_category_preferred(oid, &mut category, &mut is_preferred) };
    category as u8 == pg_sys::TYPCATEGORY_STRING
}

/// Returns whether a user has declared a cast WITH INOUT between two types.
fn has_declared_cast(from: Oid, to: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::CASTSOURCETARGET as _;
    // SAFETY: reads the catalog, within a transaction. The tuple is released after its last use.
    unsafe {
        let (from, to) = (pg_sys::getBaseType(from), pg_sys::getBaseType(to));
        let cast = pg_sys::SearchSysCache2(cache, from.into(), to.into());
        if cast.is_null() {
            return false;
        }
        let form = pg_sys::GETSTRUCT(cast).cast::<pg_sys::FormData_pg_cast>();
        let is_inout =
            (*form).castmethod as u8 == pg_sys::CoercionMethod::COERCION_METHOD_INOUT as u8;
        pg_sys::ReleaseSysCache(cast);
        is_inout
    }
}
