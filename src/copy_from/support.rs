//! The support function of the functions `X_next`: it replaces a call in a default.

use crate::catalog::may_execute;
use crate::nodes::{is, new_node, nodes};
use crate::types::{NextFns, RawDatum, SQL_ID_TYPES};
use pgrx::pg_sys::{self, Datum, FuncExpr, FunctionCallInfo, Node, NodeTag, Oid};
use pgrx::prelude::*;
use std::ffi::c_int;
use std::mem::size_of;
use std::ptr::null_mut;

/// Answers the planner's question about a call of `X_next`. The result for "no answer" is a null
/// pointer, which is not NULL: then the call stays as it is.
#[pg_extern(sql = false)]
fn flakeid_next_support(fcinfo: FunctionCallInfo) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is
    // read.
    unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        if !is(node, NodeTag::T_SupportRequestSimplify) {
            return RawDatum::pointer(null_mut());
        }
        let request = node.cast::<pg_sys::SupportRequestSimplify>();
        if !(*request).root.is_null() {
            return RawDatum::pointer(null_mut());
        }
        RawDatum::pointer(substitute((*request).fcall).unwrap_or(null_mut()).cast())
    }
}

/// Makes the expression that COPY treats like `nextval`. Returns `None` if the call must stay as it
/// is.
///
/// # Safety
/// `call` is a call in an expression that is being planned.
unsafe fn substitute(call: *mut FuncExpr) -> Option<*mut Node> {
    // SAFETY: the caller guarantees that the call names a function of the catalog, and has a list
    // of arguments. A new node is of the struct that its tag says.
    unsafe {
        let (original, id_type, arguments) = ((*call).funcid, (*call).funcresulttype, (*call).args);
        if !nodes(arguments).all(|argument| is_value(argument)) {
            return None;
        }
        let next = code_of(original)?;
        let own =
            SQL_ID_TYPES.iter().map(|entry| entry.next).find(|own| own.next as usize == next)?;
        let for_copy = for_copy(original, id_type, own)?;
        if !may_execute(original) || !may_execute(for_copy) {
            return None;
        }
        let original = pg_sys::makeConst(
            pg_sys::INTERNALOID,
            -1,
            Oid::INVALID,
            size_of::<Datum>() as c_int,
            Datum::from(original),
            false,
            true,
        );
        let arguments = pg_sys::lappend(pg_sys::list_copy(arguments), original.cast());
        let generated = pg_sys::makeFuncExpr(
            for_copy,
            id_type,
            arguments,
            (*call).funccollid,
            (*call).inputcollid,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        );

        let sequence = new_node::<pg_sys::NextValueExpr>(NodeTag::T_NextValueExpr);
        (*sequence).typeId = id_type;

        let coalesce = new_node::<pg_sys::CoalesceExpr>(NodeTag::T_CoalesceExpr);
        (*coalesce).coalescetype = id_type;
        (*coalesce).args =
            pg_sys::lappend(pg_sys::lappend(null_mut(), generated.cast()), sequence.cast());
        (*coalesce).location = -1;
        Some(coalesce.cast())
    }
}

/// Returns whether an expression is a constant that is not NULL.
///
/// # Safety
/// `expression` is a node, or null.
unsafe fn is_value(expression: *mut Node) -> bool {
    // SAFETY: a node with the tag T_Const is a Const.
    unsafe {
        is(expression, NodeTag::T_Const) && !(*expression.cast::<pg_sys::Const>()).constisnull
    }
}

/// Returns the address of the code that a call of a function runs.
///
/// # Safety
/// `function` is the OID of a function.
unsafe fn code_of(function: Oid) -> Option<usize> {
    let mut found = pg_sys::FmgrInfo::default();
    // SAFETY: `fmgr_info` reads the catalog and loads the function's library, as any call would.
    unsafe { pg_sys::fmgr_info(function, &mut found) };
    found.fn_addr.map(|code| code as usize)
}

/// Finds the function `X_next_for_copy` of a function `X_next`: in the same schema, with one more
/// argument of type internal, the same result, and our code.
///
/// # Safety
/// `original` is the OID of a function.
unsafe fn for_copy(original: Oid, id_type: Oid, next: NextFns) -> Option<Oid> {
    // SAFETY: these functions read the catalog. PostgreSQL allocates as many types as it counts.
    unsafe {
        let (mut types, mut count): (*mut Oid, c_int) = (null_mut(), 0);
        pg_sys::get_func_signature(original, &mut types, &mut count);
        let mut signature: Vec<Oid> = (0..count as usize).map(|i| *types.add(i)).collect();
        signature.push(pg_sys::INTERNALOID);
        let for_copy = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as pg_sys::AttrNumber,
            Datum::from(next.for_copy_name.as_ptr()),
            Datum::from(pg_sys::buildoidvector(signature.as_ptr(), signature.len() as c_int)),
            Datum::from(pg_sys::get_func_namespace(original)),
            Datum::null(),
        );
        let is_ours = for_copy != Oid::INVALID
            && pg_sys::get_func_rettype(for_copy) == id_type
            && pg_sys::func_strict(for_copy)
            && code_of(for_copy)? == next.for_copy as usize;
        is_ours.then_some(for_copy)
    }
}
