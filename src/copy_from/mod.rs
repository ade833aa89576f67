//! Lets COPY insert many rows at once although a column has the default `X_next()`.
//!
//! [`support`] tells the planner to replace the call in such a default by one of `X_next_for_copy`.
//! This file has what all functions `X_next_for_copy` do. Their SQL is in `sql/copy.sql.in`.
//!
//! COPY collects up to 1,000 rows and inserts them together, which is much faster than one by one.
//! It does not do so if a default is volatile, since a volatile function could query the table and
//! miss the collected rows. `BeginCopyFrom` excepts `nextval` and the node `NextValueExpr`, from
//! which an identity column gets its number. It knows `nextval` by its OID
//! (`contain_volatile_functions_not_nextval`), so no extension can add a function to the exception.
//!
//! `X_next` does not query the table. So its support function makes this of the call:
//!
//!     COALESCE(X_next_for_copy(arguments..., OID of X_next), NextValueExpr)
//!
//! - The first arm generates an ID as `X_next` does, but is declared STABLE. It never returns NULL,
//!   because it is STRICT and all its arguments are constants that are not NULL. So the executor
//!   never reaches the second arm.
//! - The second arm makes the expression volatile for each check of PostgreSQL but that of COPY.
//!   Its sequence is `InvalidOid`: only an evaluation would look it up, and would raise an error.
//!
//! # Each evaluation gives another ID
//! An ID could repeat only if PostgreSQL evaluated an expression once and used the result for two
//! rows. It does so only with an expression that is not volatile. This one stays volatile:
//! `contain_volatile_functions` and `contain_mutable_functions` in PostgreSQL's `clauses.c` find
//! the `NextValueExpr`. Each evaluation of `X_next_for_copy` takes an ID from the generator, as one
//! of `X_next` does.
//!
//! # Who plans an expression without a query
//! The support function answers only if the planner's question has no `PlannerInfo`. Queries have
//! one, and so have plpgsql's expressions, SQL functions that are inlined into a query, and
//! `expression_planner_with_deps`. The callers below have none: they call `expression_planner` or
//! `eval_const_expressions(NULL, ...)` in PostgreSQL 15, 17 and 18.
//! `tests/t/data/standalone_expressions.pl` tries them on every version.
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
//! The catalog keeps `X_next()`. Only the planned copy has `X_next_for_copy`, and PostgreSQL
//! records dependencies of the original. JIT compiles both arms and jumps over the second.
//!
//! # What is replaced
//! - A call of `X_next` itself: the code behind the function's OID is ours. A function that has
//!   become SECURITY DEFINER or has a SET clause runs other code, and stays as it is.
//! - By the function `X_next_for_copy` in the schema of `X_next`, if it has our argument types,
//!   result and code. The extension's SQL of an older version has none. Only a superuser can create
//!   another function with our code.
//! - Only if the current user may execute both functions.
//! - Only if all arguments are constants that are not NULL.
//!
//! # Privileges
//! `X_next_for_copy` has one argument more than `X_next`, of type internal: the OID of `X_next`.
//! SQL has no value of that type, so no user can call the function. PostgreSQL checks the right to
//! execute a function when it prepares an expression, and so would check that of `X_next_for_copy`.
//! A session also keeps planned CHECKs of domains while its user can change. Therefore the first
//! call in each prepared expression checks the right to execute `X_next`, and raises PostgreSQL's
//! error.

mod support;

use crate::catalog::may_execute;
use pgrx::pg_sys::{self, AclResult, FunctionCallInfo, Oid};

/// Returns whether an earlier call in this prepared expression has checked the right to execute
/// `X_next`.
#[inline(always)]
pub fn has_checked(fcinfo: FunctionCallInfo) -> bool {
    // SAFETY: the executor calls `X_next_for_copy`, with a FmgrInfo that lasts as long as the
    // expression.
    unsafe { !(*(*fcinfo).flinfo).fn_extra.is_null() }
}

/// Raises an error if this is the first call in a prepared expression, and the current user may not
/// execute `X_next`.
pub fn check(fcinfo: FunctionCallInfo) {
    if has_checked(fcinfo) {
        return;
    }
    // SAFETY: `X_next_for_copy` is STRICT, and its last argument is the OID of a function.
    // `fn_extra` belongs to the function that is called; nothing reads what it points to.
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

/// Exports a function `X_next` under the symbol `$next`, as `fast_path_fn` does, and
/// `X_next_for_copy` under `$for_copy`.
macro_rules! next_fns {
    ($next:ident $for_copy:ident: |$fcinfo:ident| $fast_path:expr, $otherwise:expr) => {
        $crate::types::export::fast_path_fn!($next: |$fcinfo| $fast_path, $otherwise);
        $crate::types::export::fast_path_fn!($for_copy: |$fcinfo|
            if $crate::copy_from::has_checked($fcinfo) { $fast_path } else { None },
            {
                $crate::copy_from::check($fcinfo);
                $otherwise
            }
        );
    };
}
pub(crate) use next_fns;
