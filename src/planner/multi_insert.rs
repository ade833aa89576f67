//! Lets COPY insert many rows at once although a column has the default `X_next()`.
//!
//! COPY collects up to 1,000 rows and inserts them together, which is much faster than one by one. It does not do so if
//! a default is volatile, since a volatile function could query the table and miss the collected rows. `BeginCopyFrom`
//! excepts `nextval` and the node `NextValueExpr`, from which an identity column gets its number. It knows `nextval` by
//! its OID (`contain_volatile_functions_not_nextval`), so no extension can add a function to the exception.
//!
//! `X_next` does not query the table. So its support function tells the planner to replace the call in such a default:
//!
//!     COALESCE(X_next_for_copy(arguments..., OID of X_next), NextValueExpr)
//!
//! - The first arm is a twin of `X_next` that is declared STABLE. It returns an ID and never NULL, because it is STRICT
//!   and all its arguments are constants that are not NULL. So the executor never reaches the second arm.
//! - The second arm makes the expression volatile for each check of PostgreSQL but that of COPY. Its sequence is
//!   `InvalidOid`: only an evaluation would look it up, and would raise an error.
//!
//! # Each evaluation gives another ID
//! An ID could repeat only if PostgreSQL evaluated an expression once and used the result for two rows. It does so only
//! with an expression that is not volatile. This one stays volatile: `contain_volatile_functions` and
//! `contain_mutable_functions` in PostgreSQL's `clauses.c` find the `NextValueExpr`. Each evaluation of the twin takes
//! an ID from the generator, as one of `X_next` does.
//!
//! # Who plans an expression without a query
//! The support function answers only if the planner's question has no `PlannerInfo`. Queries have one, and so have
//! plpgsql's expressions, SQL functions that are inlined into a query, and `expression_planner_with_deps`. The callers
//! below have none: they call `expression_planner` or `eval_const_expressions(NULL, ...)` in PostgreSQL 15, 17 and 18.
//! `tests/t/218_copy_defaults.pl` tries them on every version.
//!
//! Some evaluate the expression, each time that they need a value:
//!
//! | caller | expression | evaluated for |
//! |---|---|---|
//! | `BeginCopyFrom`, also in the initial copy of logical replication and in file_fdw | default | each row |
//! | `DoCopy` | condition of `COPY ... WHERE`, which stays volatile: rows go one by one | each row |
//! | `slot_fill_defaults` of logical replication | default, planned for each row | each row |
//! | `ATExecAddColumn` | default, which stays volatile: the table is rewritten | each row |
//! | `ATPrepAlterColumnType`, from 17 on `ATExecSetExpression` | USING, generated column | each row |
//! | `ExecPrepareExpr`, `ExecPrepareQual`, `ExecPrepareCheck` | CHECK, condition of a trigger | each row |
//! | `ExecPrepareExpr`, `ExecPrepareExprList` | argument of CALL or EXECUTE | each statement |
//! | `load_domaintype_info`, `validateDomainConstraint` | CHECK of a domain | each value |
//! | `transformPartitionBoundValue` | bound of a partition, stored as a constant | once |
//! | `fetch_statentries_for_relation` | expression of CREATE STATISTICS | each sampled row |
//!
//! The others only look at the expression, and find that it is mutable:
//!
//! | caller | expression |
//! |---|---|
//! | `contain_mutable_functions_after_planning`, `ComputePartitionAttrs` | index, generated column, partition key |
//! | `contain_volatile_functions_after_planning` | default of a new column, in early releases of 15 and 16 |
//! | `RelationGetIndexExpressions`, `RelationGetIndexPredicate` | index: has no volatile function |
//! | `RelationBuildPartitionKey`, `generate_partition_qual` | partition key: has no volatile function |
//! | `get_relation_statistics` | CREATE STATISTICS, compared with clauses of a query |
//! | `ConstraintImpliedByRelConstraint` | CHECK: proofs leave out mutable ones |
//! | `int8inc_support`, in 15 | argument of a window function, used if it is a constant |
//! | `StoreAttrDefault` with `add_column_mode` | default: nothing calls it so |
//!
//! The catalog keeps `X_next()`. Only the planned copy has the twin, and PostgreSQL records dependencies of the
//! original. JIT compiles both arms and jumps over the second.
//!
//! # What is replaced
//! - A call of `X_next` itself: the code behind the function's OID is ours. A function that has become SECURITY DEFINER
//!   or has a SET clause runs other code, and stays as it is.
//! - By a twin in the schema of `X_next`, with the twin's name, argument types, result and code. The extension's SQL of
//!   an older version has no twin. Only a superuser can create another function with our code.
//! - Only if the current user may execute both functions. A session keeps planned CHECKs of domains while its user can
//!   change, so the twin checks the right to execute `X_next` again ([`copy_twin`](crate::types)).
//! - Only if all arguments are constants that are not NULL.

use super::expression::new_node;
use super::{is, nodes};
use crate::types::{NextFns, RawDatum, SQL_ID_TYPES, may_execute};
use pgrx::pg_sys::{self, Datum, FuncExpr, FunctionCallInfo, Node, NodeTag, Oid};
use pgrx::prelude::*;
use std::ffi::c_int;
use std::mem::size_of;
use std::ptr::null_mut;

/// Answers the planner's question about a call of `X_next`. The result for "no answer" is a null pointer, which is not
/// NULL: then the call stays as it is.
#[pg_extern(sql = false)]
fn flakeid_next_support(fcinfo: FunctionCallInfo) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is read.
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

/// Makes the expression that COPY treats like `nextval`. Returns `None` if the call must stay as it is.
///
/// # Safety
/// `call` is a call in an expression that is being planned.
unsafe fn substitute(call: *mut FuncExpr) -> Option<*mut Node> {
    // SAFETY: the caller guarantees that the call names a function of the catalog, and has a list of arguments. A new
    // node is of the struct that its tag says.
    unsafe {
        let (original, id_type, arguments) = ((*call).funcid, (*call).funcresulttype, (*call).args);
        if !nodes(arguments).all(|argument| is_value(argument)) {
            return None;
        }
        let next = code_of(original)?;
        let own =
            SQL_ID_TYPES.iter().map(|entry| entry.next).find(|own| own.next as usize == next)?;
        let twin = twin_of(original, id_type, own)?;
        if !may_execute(original) || !may_execute(twin) {
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
        let twin = pg_sys::makeFuncExpr(
            twin,
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
            pg_sys::lappend(pg_sys::lappend(null_mut(), twin.cast()), sequence.cast());
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

/// Finds the twin of a function `X_next`: in the same schema, with one more argument of type internal, the same result,
/// and the twin's code.
///
/// # Safety
/// `original` is the OID of a function.
unsafe fn twin_of(original: Oid, id_type: Oid, next: NextFns) -> Option<Oid> {
    // SAFETY: these functions read the catalog. PostgreSQL allocates as many types as it counts.
    unsafe {
        let (mut types, mut count): (*mut Oid, c_int) = (null_mut(), 0);
        pg_sys::get_func_signature(original, &mut types, &mut count);
        let mut signature: Vec<Oid> = (0..count as usize).map(|i| *types.add(i)).collect();
        signature.push(pg_sys::INTERNALOID);
        let twin = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as pg_sys::AttrNumber,
            Datum::from(next.twin_name.as_ptr()),
            Datum::from(pg_sys::buildoidvector(signature.as_ptr(), signature.len() as c_int)),
            Datum::from(pg_sys::get_func_namespace(original)),
            Datum::null(),
        );
        let is_twin = twin != Oid::INVALID
            && pg_sys::get_func_rettype(twin) == id_type
            && pg_sys::func_strict(twin)
            && code_of(twin)? == next.twin as usize;
        is_twin.then_some(twin)
    }
}
