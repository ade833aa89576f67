//! Makes expressions for the planner.

use crate::nodes::{is, new_node};
use pgrx::pg_sys::{self, BoolExprType, Datum, Node, NodeTag, Oid};
use std::ffi::CString;
use std::ptr::null_mut;

/// The expressions here have no collation.
const NO_COLLATION: Oid = Oid::INVALID;

/// Copies an expression, since the planner changes expressions in place.
///
/// # Safety
/// `node` is an expression.
pub unsafe fn copy(node: *mut Node) -> *mut Node {
    // SAFETY: the caller guarantees that this is a node.
    unsafe { pg_sys::copyObjectImpl(node.cast()).cast() }
}

/// Makes a list of nodes.
fn list(of: &[*mut Node]) -> *mut pg_sys::List {
    // SAFETY: `lappend` appends to a list, or makes one of a null pointer.
    of.iter().fold(null_mut(), |list, &node| unsafe { pg_sys::lappend(list, node.cast()) })
}

/// Joins conditions by AND.
pub fn all(conditions: &[*mut Node]) -> *mut Node {
    joined(BoolExprType::AND_EXPR, conditions)
}

/// Joins conditions by OR.
pub fn any(conditions: &[*mut Node]) -> *mut Node {
    joined(BoolExprType::OR_EXPR, conditions)
}

fn joined(by: BoolExprType::Type, conditions: &[*mut Node]) -> *mut Node {
    // SAFETY: `makeBoolExpr` keeps the list in a new node.
    unsafe { pg_sys::makeBoolExpr(by, list(conditions), -1).cast() }
}

/// Makes a constant that is not NULL.
pub fn constant_of(type_oid: Oid, length: usize, by_value: bool, value: Datum) -> *mut Node {
    // SAFETY: `makeConst` keeps the datum in a new node.
    unsafe {
        pg_sys::makeConst(type_oid, -1, NO_COLLATION, length as i32, value, false, by_value).cast()
    }
}

/// Gives an expression another type whose values have the same bits.
///
/// # Safety
/// `node` is an expression, whose type is binary-coercible to the other one.
pub unsafe fn relabeled(node: *mut Node, type_oid: Oid) -> *mut Node {
    let form = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
    // SAFETY: without permission to overwrite, `applyRelabelType` changes no node that it gets.
    unsafe { pg_sys::applyRelabelType(node, type_oid, -1, NO_COLLATION, form, -1, false) }
}

/// Makes the comparison of two expressions by an operator.
///
/// # Safety
/// The operator takes the types of both expressions, and returns a boolean.
pub unsafe fn compared(operator: Oid, left: *mut Node, right: *mut Node) -> *mut Node {
    // SAFETY: the caller guarantees that the operator fits.
    unsafe {
        let clause = pg_sys::make_opclause(
            operator,
            pg_sys::BOOLOID,
            false,
            left.cast(),
            right.cast(),
            NO_COLLATION,
            NO_COLLATION,
        );
        pg_sys::set_opfuncid(clause.cast());
        clause.cast()
    }
}

/// Returns the operator with this strategy number in the default btree operator class of a type of
/// PostgreSQL.
pub fn btree_operator(type_oid: Oid, strategy: u32) -> Oid {
    // SAFETY: these functions read the catalog. An entry of the type cache lives as long as the
    // session.
    unsafe {
        let entry = pg_sys::lookup_type_cache(type_oid, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32);
        pg_sys::get_opfamily_member((*entry).btree_opf, type_oid, type_oid, strategy as i16)
    }
}

/// Makes a call of a function with copies of these arguments, which have the types that the
/// function is declared with. Returns `None` if the schema has no such function.
///
/// # Safety
/// `arguments` are expressions.
pub unsafe fn call(schema: Oid, name: &str, arguments: &[*mut Node]) -> Option<*mut Node> {
    let name = CString::new(name).ok()?;
    // SAFETY: these functions read the catalog, and make a call with the types that the function
    // has.
    unsafe {
        let types: Vec<_> = arguments.iter().map(|&node| pg_sys::exprType(node)).collect();
        let function = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as pg_sys::AttrNumber,
            Datum::from(name.as_ptr()),
            Datum::from(pg_sys::buildoidvector(types.as_ptr(), types.len() as i32)),
            Datum::from(schema),
            Datum::null(),
        );
        if function == Oid::INVALID {
            return None;
        }
        let arguments: Vec<_> = arguments.iter().map(|&node| copy(node)).collect();
        let call = pg_sys::makeFuncExpr(
            function,
            pg_sys::get_func_rettype(function),
            list(&arguments),
            NO_COLLATION,
            NO_COLLATION,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        );
        Some(call.cast())
    }
}

/// Makes a condition that is true if this one is. Otherwise it is NULL if one of the arguments is
/// NULL, and false if none is: `condition OR ((argument IS NULL OR ...) AND NULL)`. So the
/// arguments are evaluated only if the condition is not true. Constants among the arguments are not
/// NULL.
///
/// # Safety
/// The condition and the arguments are expressions.
pub unsafe fn or_unknown(condition: *mut Node, arguments: &[*mut Node]) -> *mut Node {
    // SAFETY: as the caller's.
    unsafe {
        let null = pg_sys::makeNullConst(pg_sys::BOOLOID, -1, NO_COLLATION);
        or_if_null(condition, arguments, null.cast())
    }
}

/// Makes `condition OR ((argument IS NULL OR ...) AND other)`. Constants among the arguments count
/// as not NULL.
///
/// # Safety
/// The conditions and the arguments are expressions.
pub unsafe fn or_if_null(
    condition: *mut Node,
    arguments: &[*mut Node],
    other: *mut Node,
) -> *mut Node {
    // SAFETY: each new node is of the struct that its tag says, and its fields are set.
    unsafe {
        let is_null = |argument: *mut Node| {
            let test = new_node::<pg_sys::NullTest>(NodeTag::T_NullTest);
            (*test).arg = copy(argument).cast();
            (*test).nulltesttype = pg_sys::NullTestType::IS_NULL;
            (*test).location = -1;
            test.cast::<Node>()
        };
        let unknown = arguments.iter().filter(|&&argument| !is(argument, NodeTag::T_Const));
        let tests: Vec<_> = unknown.map(|&argument| is_null(argument)).collect();
        let test = match tests.as_slice() {
            [] => return condition,
            [test] => *test,
            tests => any(tests),
        };
        any(&[condition, all(&[test, other])])
    }
}
