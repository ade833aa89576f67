//! Replaces a comparison of an ID with a time by conditions about the ID, which can use an index.
//!
//! Operators such as `sno >= timestamptz`, and functions such as `flake_between`, name one of the
//! support functions here. The planner asks it for each call, and gets an expression with the same
//! value (`SupportRequestSimplify`):
//!
//! | call | condition |
//! |---|---|
//! | `id < time` | `id < X_min(time)` |
//! | `id <= time` | `id <= X_max(time)` |
//! | `id >= time`, `X_since(id, time)` | `id >= X_min(time)` |
//! | `id > time`, `X_after(id, time)` | `id > X_max(time)` |
//! | `id = time` | `id >= X_min(time) AND id <= X_max(time)` |
//! | `id <> time` | `id < X_min(time) OR id > X_max(time)` |
//! | `id <@ times`, `X_within(id, times)` | `id >= X_range_min(times) AND id <= X_range_max(times)` |
//! | `X_between(id, a, b)` | `id >= X_min(a) AND id <= X_max(b)` |
//!
//! From these conditions follow index ranges, the pruning of partitions, BRIN, and estimates of
//! rows. Some ID types add a condition that each row of the range must fulfill, in
//! [`flakeid_recheck`](super::recheck):
//!
//! - *uniqueid*: the ID is time_sequential.
//! - *flake, in `id < time`, `id <= time`, `id <> time` and `flake_before`*: the ID is not
//!   negative. A negative bigint is an ID of the second half of flake's times, and sorts before all
//!   others. If the time is a constant, `id >= 0` is a bound of the range. Otherwise PostgreSQL
//!   would take both bounds for a range of unknown length, and expect 0.5 % of the rows instead of
//!   a third.
//! - *uuidv7*: the uuid is one of version 7. Others can be anywhere in the index.
//! - *guid and guid_local*: the ID has such a time. See below.
//!
//! # Why not an SQL function
//! PostgreSQL would inline an SQL function with these conditions as its body. But it does not if
//! the body names an argument twice and that argument has a subselect or costs more than ten
//! operators. Then the query would call an SQL function for each row. Here only a volatile argument
//! prevents the replacement, which cannot use an index in any case, and an argument that [cannot be
//! repeated](super::repeatable).
//!
//! # An argument that is named twice
//! It is evaluated twice: once for each bound of a range if the condition uses an index, and
//! otherwise for each row. A subselect becomes two, of which each runs once for a query if it does
//! not refer to it. [`is_repeatable`] says which arguments have the same value each time, and are
//! not too large to be copied.
//!
//! # One condition for a call
//! PostgreSQL compares the condition of a query with that of a partial index, and makes the second
//! one without the state of the planner. So the condition depends on the call alone: not on
//! statistics, nor on values that only the planner knows.
//!
//! # NULL
//! The functions are STRICT, but for `X_between`, which is two comparisons. So a condition must be
//! NULL if the time is. A bound such as `X_min(NULL)` is NULL, and so are the comparisons with it.
//! But `NULL AND false` is false. So what is false for some IDs is written
//! `condition OR (time IS NULL AND NULL)`.
//!
//! # uuidv7
//! A uuid is compared by PostgreSQL's own operators, as no other operators use the index of a uuid.
//! PostgreSQL's estimates of them are bad: [`estimate`](super::estimate) says why. Therefore the
//! recheck comes before the range, and [corrects](super::uuid) them.
//!
//! # guid
//! guids sort by their drift first, a code of three bits. Nearly all guids have the default drift,
//! 274 s. So the condition is a range among the IDs of that drift, and all IDs of the others, which
//! the index finds to be few:
//!
//! | call | condition, where `low` and `high` are the ends of the IDs of the drift |
//! |---|---|
//! | `id < time`, `id <= time` | `id <= X_max(time, drift) OR id > high` |
//! | `id >= time`, `id > time` | `id >= X_min(time, drift) OR id < low` |
//! | `id = time`, `id <@ times` | `(id >= ... AND id <= ...) OR id < low OR id > high` |
//!
//! Each has a `flakeid_recheck(...)`, as the range is whole windows of the drift, and the others
//! have any time. A range for each of the eight drifts would be exact for all, but planning would
//! take ten times as long. `X_within` names the drift, and is one range.
//!
//! The recheck of `<@` is a function of its own (`X_recheck`). PostgreSQL replaces its own operator
//! `<@` by comparisons, but not wherever the condition stands.

use super::expression::{
    all, any, btree_operator, call, compared, constant_of, copy, or_if_null, or_unknown, relabeled,
};
use super::id_type::{SqlIdType, has_flakes};
use super::repeatable::is_repeatable;
use crate::catalog::may_execute;
use crate::nodes::{is, nodes};
use crate::types::{RawDatum, interval_of_seconds};
use flakeid_core::guid::Drift;
use flakeid_core::uuidv7;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Node, NodeTag, Oid, PlannerInfo};
use pgrx::prelude::*;
use std::mem::size_of;
use std::ptr::null_mut;

/// A relation of an ID's time to a time, or to a range of times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Before,
    Until,
    At,
    Since,
    After,
    NotAt,
    Within,
    Between,
}

impl Relation {
    /// Returns whether the IDs below a bound are among those of the relation.
    fn includes_low_ids(self) -> bool {
        matches!(self, Self::Before | Self::Until | Self::NotAt)
    }
}

/// Strategy numbers of btree, which all ID types and timestamptz have.
const LESS: u32 = pg_sys::BTLessStrategyNumber;
const LESS_EQUAL: u32 = pg_sys::BTLessEqualStrategyNumber;
const EQUAL: u32 = pg_sys::BTEqualStrategyNumber;
const GREATER_EQUAL: u32 = pg_sys::BTGreaterEqualStrategyNumber;
const GREATER: u32 = pg_sys::BTGreaterStrategyNumber;

/// Answers the planner's question about a call. The result for "no answer" is a null pointer, which
/// is not NULL: then the call stays as it is.
fn support(fcinfo: FunctionCallInfo, relation: Relation) -> RawDatum {
    // SAFETY: the argument of a support function is a node. Its tag decides as which struct it is
    // read.
    let condition = unsafe {
        let node = (*(*fcinfo).args.as_ptr()).value.cast_mut_ptr::<Node>();
        is(node, NodeTag::T_SupportRequestSimplify).then(|| {
            let request = &*node.cast::<pg_sys::SupportRequestSimplify>();
            replacement(request, relation)
        })
    };
    RawDatum::pointer(condition.flatten().unwrap_or(null_mut()).cast())
}

/// Makes the condition that replaces a call. Returns `None` if the call must stay as it is.
///
/// # Safety
/// `request` is the planner's question about a call of a predicate.
unsafe fn replacement(
    request: &pg_sys::SupportRequestSimplify,
    relation: Relation,
) -> Option<*mut Node> {
    // SAFETY: the planner's question has a call, with a function of the catalog and a list of
    // arguments.
    unsafe {
        let (fcall, root) = (request.fcall, request.root);
        let function = (*fcall).funcid;
        let is_volatile = |argument| pg_sys::contain_volatile_functions(argument);
        let arguments: Vec<_> = nodes((*fcall).args).collect();
        // A user who may not call the function gets an error when the call is evaluated.
        if arguments.iter().any(|&argument| is_volatile(argument)) || !may_execute(function) {
            return None;
        }
        // A range of times comes as a domain over tstzrange.
        let without_domain =
            |argument: *mut Node| match pg_sys::getBaseType(pg_sys::exprType(argument)) {
                pg_sys::TSTZRANGEOID => relabeled(argument, pg_sys::TSTZRANGEOID),
                _ => argument,
            };
        let arguments: Vec<_> = arguments.into_iter().map(without_domain).collect();
        let is_time = |&argument: &*mut Node| {
            [pg_sys::TIMESTAMPTZOID, pg_sys::TSTZRANGEOID].contains(&pg_sys::exprType(argument))
        };
        let (id, times) = match arguments.as_slice() {
            [time, id] if is_time(time) => (*id, vec![*time]),
            [id, times @ ..] => (*id, times.to_vec()),
            [] => return None,
        };
        let mut call = Call { root, schema: pg_sys::get_func_namespace(function), id, times };
        let id_type = call.id_type()?;
        if let IdType::Flake = id_type {
            call.id = relabeled(id, pg_sys::INT8OID);
        }
        if call.repeats(&id_type, relation) && !arguments.iter().all(|&node| is_repeatable(node)) {
            return None;
        }
        let condition = match id_type {
            IdType::Flake => call.flake(relation)?,
            IdType::Ordered(id_type) => call.ordered(id_type, relation)?,
            IdType::Uuid => call.uuid(relation)?,
            IdType::Drifting(id_type) => call.drifting(id_type, relation)?,
        };
        if !root.is_null() {
            pg_sys::record_plan_function_dependency(root, function);
        }
        Some(condition)
    }
}

/// An ID type, by the conditions that compare it with a time.
enum IdType {
    /// A flake as a bigint, or as a value of the type flake, which PostgreSQL takes for a bigint.
    Flake,
    /// IDs sort by their time, or those that do not are recognized.
    Ordered(SqlIdType),
    /// A uuidv7 in a column of PostgreSQL's type uuid.
    Uuid,
    /// guid and guid_local.
    Drifting(SqlIdType),
}

/// A call of a predicate: the ID, and the times with all further arguments.
struct Call {
    root: *mut PlannerInfo,
    /// The schema of the extension.
    schema: Oid,
    id: *mut Node,
    times: Vec<*mut Node>,
}

impl Call {
    /// Returns the ID type of the argument that is the ID.
    fn id_type(&self) -> Option<IdType> {
        // SAFETY: the ID is an expression.
        let type_oid = unsafe { pg_sys::exprType(self.id) };
        if type_oid == pg_sys::UUIDOID {
            return Some(IdType::Uuid);
        }
        if has_flakes(type_oid) {
            return Some(IdType::Flake);
        }
        let id_type = SqlIdType::of(type_oid).filter(|id_type| id_type.oid() == type_oid)?;
        match id_type.guid() {
            Some(_) => Some(IdType::Drifting(id_type)),
            None => Some(IdType::Ordered(id_type)),
        }
    }

    /// Returns whether the condition names an argument more than once.
    fn repeats(&self, id_type: &IdType, relation: Relation) -> bool {
        let is_one_comparison = matches!(
            relation,
            Relation::Before | Relation::Until | Relation::Since | Relation::After
        );
        let has_recheck = match id_type {
            IdType::Flake => relation.includes_low_ids(),
            IdType::Ordered(id_type) => id_type.can_be_spread(),
            IdType::Uuid | IdType::Drifting(_) => true,
        };
        has_recheck || !is_one_comparison
    }

    /// Makes a bound of a range: a call of a function of the extension that gives an ID. The
    /// planner evaluates it if all arguments are known.
    fn bound(&self, id_type: &str, end: &str, arguments: &[*mut Node]) -> Option<*mut Node> {
        // SAFETY: the arguments are expressions of the query.
        unsafe {
            let bound = call(self.schema, &format!("{id_type}_{end}"), arguments)?;
            Some(pg_sys::eval_const_expressions(self.root, bound))
        }
    }

    /// Makes a condition that is evaluated for each row of a range.
    fn recheck(&self, condition: *mut Node) -> Option<*mut Node> {
        // SAFETY: the condition is an expression of the query.
        unsafe { call(self.schema, "flakeid_recheck", &[condition]) }
    }

    /// Makes a comparison of the ID with a bound.
    fn compare(&self, operator: Option<Oid>, bound: Option<*mut Node>) -> Option<*mut Node> {
        // SAFETY: the callers pass an operator of the ID's type, and a bound that is an ID.
        Some(unsafe { compared(operator?, copy(self.id), bound?) })
    }

    /// Makes the condition for an ID type whose bounds of a time are `X_min`, `X_max`,
    /// `X_range_min` and `X_range_max`.
    fn range(
        &self,
        name: &str,
        relation: Relation,
        operator: impl Fn(u32) -> Option<Oid>,
    ) -> Option<*mut Node> {
        let compare =
            |strategy, end| self.compare(operator(strategy), self.bound(name, end, &self.times));
        match relation {
            Relation::Before => compare(LESS, "min"),
            Relation::Until => compare(LESS_EQUAL, "max"),
            Relation::Since => compare(GREATER_EQUAL, "min"),
            Relation::After => compare(GREATER, "max"),
            Relation::At => {
                Some(all(&[compare(GREATER_EQUAL, "min")?, compare(LESS_EQUAL, "max")?]))
            }
            Relation::NotAt => Some(any(&[compare(LESS, "min")?, compare(GREATER, "max")?])),
            Relation::Within => {
                let lower = compare(GREATER_EQUAL, "range_min")?;
                Some(all(&[lower, compare(LESS_EQUAL, "range_max")?]))
            }
            Relation::Between => {
                let [from, to, more @ ..] = self.times.as_slice() else { return None };
                let compare = |strategy, end, time| {
                    let arguments = [&[time], more].concat();
                    self.compare(operator(strategy), self.bound(name, end, &arguments))
                };
                let lower = compare(GREATER_EQUAL, "min", *from)?;
                // Without an end it is not a range, and must not get the estimate of one.
                match is_infinity(*to) {
                    true => Some(lower),
                    false => Some(all(&[lower, compare(LESS_EQUAL, "max", *to)?])),
                }
            }
        }
    }

    /// Makes the condition for a flake. The times are followed by the epoch, if the call has one.
    fn flake(&self, relation: Relation) -> Option<*mut Node> {
        let operator = |strategy| Some(btree_operator(pg_sys::INT8OID, strategy));
        let range = self.range("flake", relation, operator)?;
        if !relation.includes_low_ids() {
            return Some(range);
        }
        let zero = constant_of(pg_sys::INT8OID, size_of::<i64>(), true, Datum::from(0i64));
        let is_positive = self.compare(operator(GREATER_EQUAL), Some(zero))?;
        // SAFETY: the times are nodes. A constant is not NULL, as the function is STRICT.
        if self.times.iter().all(|&time| unsafe { is(time, NodeTag::T_Const) }) {
            return Some(all(&[is_positive, range]));
        }
        // SAFETY: the times and the condition are expressions of the query.
        let is_positive = unsafe { or_unknown(is_positive, &self.times) };
        Some(all(&[range, self.recheck(is_positive)?]))
    }

    /// Makes the condition for a uuidv7.
    fn uuid(&self, relation: Relation) -> Option<*mut Node> {
        let operator = |strategy| Some(btree_operator(pg_sys::UUIDOID, strategy));
        let range = self.range(uuidv7::NAME, relation, operator)?;
        // SAFETY: the ID and the times are expressions of the query.
        let is_valid = unsafe {
            let is_valid = call(self.schema, "uuidv7_valid", &[self.id])?;
            match relation {
                // It is not STRICT, but three conditions. This one names the times nevertheless,
                // and its value does not depend on them: only a clause of the same join gives the
                // range its estimate.
                Relation::Between => or_if_null(is_valid, &self.times, copy(is_valid)),
                _ => or_unknown(is_valid, &self.times),
            }
        };
        Some(all(&[self.recheck(is_valid)?, range]))
    }

    /// Makes the condition for an ID type that has one order of IDs for all times.
    fn ordered(&self, id_type: SqlIdType, relation: Relation) -> Option<*mut Node> {
        let operator = |strategy| id_type.btree_operator(strategy);
        let range = self.range(id_type.name(), relation, operator)?;
        if !id_type.can_be_spread() {
            return Some(range);
        }
        // SAFETY: the ID and the times are expressions of the query.
        let is_sequential = unsafe {
            let is_sequential = call(self.schema, "uniqueid_sequential", &[self.id])?;
            or_unknown(is_sequential, &self.times)
        };
        Some(all(&[range, self.recheck(is_sequential)?]))
    }

    /// Makes the condition for an ID type whose IDs have a drift.
    fn drifting(&self, id_type: SqlIdType, relation: Relation) -> Option<*mut Node> {
        let name = id_type.name();
        let operator = |strategy| id_type.btree_operator(strategy);
        // X_within(id, times, drift, inverse) is a range of one drift.
        if self.times.len() > 1 {
            let range = self.range(name, relation, operator)?;
            return Some(all(&[range, self.recheck(self.is_within(name)?)?]));
        }
        let time = *self.times.first()?;
        let has_time = match relation {
            Relation::Within => self.is_within(name)?,
            _ => self.time_is(name, relation)?,
        };
        let drift = Drift::DEFAULT;
        let span = {
            let value = interval_of_seconds(drift.seconds());
            constant_of(pg_sys::INTERVALOID, size_of::<pg_sys::Interval>(), false, value)
        };
        let compare = |strategy, end, arguments: &[*mut Node]| {
            self.compare(operator(strategy), self.bound(name, end, arguments))
        };
        // All IDs of lower and of higher drifts.
        let [first, last] = drift.first_bytes();
        let low = || self.compare(operator(LESS), Some(id_type.constant(first, 0)));
        let high = || self.compare(operator(GREATER), Some(id_type.constant(last, u8::MAX)));
        let near = match relation {
            Relation::Before | Relation::Until => {
                vec![compare(LESS_EQUAL, "max", &[time, span])?, high()?]
            }
            Relation::Since | Relation::After => {
                vec![compare(GREATER_EQUAL, "min", &[time, span])?, low()?]
            }
            Relation::At | Relation::Within => {
                let falsehood = constant_of(pg_sys::BOOLOID, 1, true, Datum::from(false));
                let (min, max, arguments): (_, _, &[_]) = match relation {
                    Relation::At => ("min", "max", &[time, span]),
                    _ => ("range_min", "range_max", &[time, span, falsehood]),
                };
                let lower = compare(GREATER_EQUAL, min, arguments)?;
                vec![all(&[lower, compare(LESS_EQUAL, max, arguments)?]), low()?, high()?]
            }
            Relation::NotAt | Relation::Between => return Some(has_time),
        };
        Some(all(&[any(&near), self.recheck(has_time)?]))
    }

    /// Makes the call that decides whether an ID is within a range of times.
    fn is_within(&self, name: &str) -> Option<*mut Node> {
        let arguments = [&[self.id], self.times.as_slice()].concat();
        // SAFETY: the arguments are expressions of the query.
        unsafe { call(self.schema, &format!("{name}_recheck"), &arguments) }
    }

    /// Makes the comparison of the ID's own time with a time.
    fn time_is(&self, name: &str, relation: Relation) -> Option<*mut Node> {
        let by = |strategy| btree_operator(pg_sys::TIMESTAMPTZOID, strategy);
        let operator = match relation {
            Relation::Before => by(LESS),
            Relation::Until => by(LESS_EQUAL),
            Relation::At => by(EQUAL),
            // SAFETY: `get_negator` reads the catalog.
            Relation::NotAt => unsafe { pg_sys::get_negator(by(EQUAL)) },
            Relation::Since => by(GREATER_EQUAL),
            Relation::After => by(GREATER),
            Relation::Within | Relation::Between => return None,
        };
        let falsehood = constant_of(pg_sys::BOOLOID, 1, true, Datum::from(false));
        // SAFETY: the operator compares two values of type timestamptz.
        unsafe {
            let own = call(self.schema, &format!("{name}_timestamp"), &[self.id, falsehood])?;
            Some(compared(operator, own, copy(*self.times.first()?)))
        }
    }
}

/// Returns whether an expression is the constant time `infinity`.
fn is_infinity(node: *mut Node) -> bool {
    // SAFETY: a node with the tag T_Const is a Const, and a timestamptz is passed by value.
    unsafe {
        let constant = node.cast::<pg_sys::Const>();
        is(node, NodeTag::T_Const)
            && (*constant).consttype == pg_sys::TIMESTAMPTZOID
            && !(*constant).constisnull
            && (*constant).constvalue.value() as i64 == i64::MAX
    }
}

#[pg_extern(sql = false)]
fn flakeid_before_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::Before)
}

#[pg_extern(sql = false)]
fn flakeid_until_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::Until)
}

#[pg_extern(sql = false)]
fn flakeid_at_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::At)
}

#[pg_extern(sql = false)]
fn flakeid_since_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::Since)
}

#[pg_extern(sql = false)]
fn flakeid_after_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::After)
}

#[pg_extern(sql = false)]
fn flakeid_not_at_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::NotAt)
}

#[pg_extern(sql = false)]
fn flakeid_within_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::Within)
}

#[pg_extern(sql = false)]
fn flakeid_between_support(fcinfo: FunctionCallInfo) -> RawDatum {
    support(fcinfo, Relation::Between)
}
