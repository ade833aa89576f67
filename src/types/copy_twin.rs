//! Checks that all twins of `X_next` for COPY make (`X_next_for_copy`).
//!
//! The module `multi_insert` of [`planner`](crate::planner) replaces `X_next` by its twin, and argues why. A twin has
//! one argument more, of type internal: the OID of `X_next`. SQL has no value of that type, so no user can call a twin.
//!
//! # Privileges
//! PostgreSQL checks the right to execute a function when it prepares an expression, and so would check that of the
//! twin. Therefore the first call in each prepared expression checks that of `X_next`, and raises PostgreSQL's error.

use pgrx::pg_sys::{self, AclResult, FunctionCallInfo, Oid};

/// Returns whether the current user may execute a function.
pub fn may_execute(function: Oid) -> bool {
    // From PostgreSQL 16 on a mode has 64 bits.
    #[allow(clippy::useless_conversion)]
    let mode = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
    // SAFETY: these functions read the catalog, and raise an error if there is no such function.
    unsafe {
        let user = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_proc_aclcheck(function, user, mode);
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, user, mode);
        result == AclResult::ACLCHECK_OK
    }
}

/// Returns whether an earlier call in this prepared expression has checked the right to execute `X_next`.
#[inline(always)]
pub fn is_checked(fcinfo: FunctionCallInfo) -> bool {
    // SAFETY: the executor calls a twin, with a FmgrInfo that lasts as long as the expression.
    unsafe { !(*(*fcinfo).flinfo).fn_extra.is_null() }
}

/// Raises an error if this is the first call in a prepared expression, and the current user may not execute `X_next`.
pub fn check(fcinfo: FunctionCallInfo) {
    if is_checked(fcinfo) {
        return;
    }
    // SAFETY: a twin is STRICT, and its last argument is the OID of a function. `fn_extra` belongs to the function that
    // is called; nothing reads what it points to.
    unsafe {
        let last = usize::from((*fcinfo).nargs.unsigned_abs()) - 1;
        let argument = (*(*fcinfo).args.as_ptr().add(last)).value;
        let original = Oid::from(argument.value() as u32);
        if !may_execute(original) {
            let name = pg_sys::get_func_name(original);
            let (refused, kind) =
                (AclResult::ACLCHECK_NO_PRIV, pg_sys::ObjectType::OBJECT_FUNCTION);
            pg_sys::aclcheck_error(refused, kind, name);
        }
        (*(*fcinfo).flinfo).fn_extra = (*fcinfo).flinfo.cast();
    }
}
