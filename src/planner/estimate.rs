//! How many rows a comparison of IDs is true of: the RESTRICT and JOIN functions of `<`, `<=`, `>=` and `>`.
//!
//! PostgreSQL has two things to say of a range of a column, and says neither of a type that it doesn't
//! know. It looks up in which of the histogram's hundred bins a bound lies, but not where in the bin:
//! `convert_to_scalar` has a list of types, and to all others it answers "in the middle". And it sees that
//! `id >= a AND id <= b` is one range (`clauselist_selectivity`), but only by the names of its own
//! estimators. So a range within one bin, as are five minutes of a month, would be taken for one row, or
//! for two hundred bins' worth. Hence these estimators, which do both.
//!
//! # Where in the bin
//! An ID is a number, and between two bounds of a histogram the IDs lie evenly as good as their times do.
//! The bin is found by PostgreSQL (`ineq_histogram_selectivity`), which also asks the index for the ends
//! of the table as it is now; a time of the last five minutes lies beyond the histogram's end. The
//! comparison that PostgreSQL calls while it looks is ours ([`look`]), and so the values that the bound
//! was found between are known, the index's ends among them. What it then adds for "the middle" is
//! replaced by the bound's place between the two.
//!
//! # One range
//! The planner multiplies the estimates of clauses that it doesn't recognise as a pair. So of a pair the
//! lower bound says how many rows are above it, and the upper one which part *of those* is below itself.
//! Of several bounds on one side the tightest speaks, and the others say "all". An estimator is given one
//! clause only; the others are found where the planner keeps them, in the relation's restrictions and joins
//! or in the AND around the clause below one of them ([`among`]). That holds for joins, too, of which
//! PostgreSQL never sees that two bounds are one range.
//!
//! Nothing here depends on a type but on its length: IDs sort as big-endian bytes, or as the number that
//! is passed by value.

use super::{Layout, Statistics, constant, is, nodes};
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, List, Node, NodeTag, Oid, PlannerInfo};
use pgrx::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::{addr_of_mut, null_mut};

/// As PostgreSQL has them in `utils/selfuncs.h`: for a bound that is not known, and for two.
const UNKNOWN: f64 = 0.333_333_333_333_333_3;
const UNKNOWN_RANGE: f64 = 0.005;
/// Of a range that seems to hold no row.
const LEAST: f64 = 1.0e-10;

/// What a clause says of the column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// A comparison as it is with the column on its left.
#[derive(Clone, Copy)]
struct Comparison {
    operator: Oid,
    side: Side,
    /// True of the bound itself.
    or_equal: bool,
}

impl Comparison {
    fn of(operator: Oid, side: Side, or_equal: bool, column_is_left: bool) -> Self {
        if column_is_left {
            return Self { operator, side, or_equal };
        }
        let side = if side == Side::Above { Side::Below } else { Side::Above };
        // SAFETY: reads the catalogue.
        Self { operator: unsafe { pg_sys::get_commutator(operator) }, side, or_equal }
    }

    fn holds(self, value: u128, bound: u128) -> bool {
        match (self.side, self.or_equal) {
            (Side::Below, false) => value < bound,
            (Side::Below, true) => value <= bound,
            (Side::Above, true) => value >= bound,
            (Side::Above, false) => value > bound,
        }
    }

    /// The four operators of this type, if this is one of them.
    fn family(self) -> [Self; 4] {
        let Self { operator, side, or_equal } = self;
        // SAFETY: reads the catalogue.
        let (converse, negator) =
            unsafe { (pg_sys::get_commutator(operator), pg_sys::get_negator(operator)) };
        // SAFETY: as above.
        let negated_converse = unsafe { pg_sys::get_negator(converse) };
        let other = if side == Side::Above { Side::Below } else { Side::Above };
        [
            self,
            Self { operator: converse, side: other, or_equal },
            Self { operator: negator, side: other, or_equal: !or_equal },
            Self { operator: negated_converse, side, or_equal: !or_equal },
        ]
    }
}

/// The column, and what is known of its values.
struct Column {
    root: *mut PlannerInfo,
    statistics: Statistics,
    collation: Oid,
    layout: Layout,
    nulls: f64,
}

/// What [`look`] sees of the values that a bound is compared with.
struct Look {
    layout: Layout,
    comparison: Comparison,
    below: Option<u128>,
    above: Option<u128>,
}

/// The comparison for PostgreSQL's search: the answer is the operator's.
unsafe extern "C-unwind" fn look(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: called with two values of the type that the Look was made for, which outlives the search.
    unsafe {
        let look = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<Look>();
        let arguments = (*fcinfo).args.as_slice(2);
        let value = look.layout.number(arguments[0].value);
        let bound = look.layout.number(arguments[1].value);
        let holds = look.comparison.holds(value, bound);
        // As the search goes: what fulfils "less" is below the bound.
        if holds == (look.comparison.side == Side::Below) {
            look.below = Some(look.below.map_or(value, |below| below.max(value)));
        } else {
            look.above = Some(look.above.map_or(value, |above| above.min(value)));
        }
        (*fcinfo).isnull = false;
        Datum::from(holds)
    }
}

impl Column {
    /// What part of all rows this is true of; nothing where there are no statistics.
    fn part(&mut self, comparison: Comparison, bound: Datum) -> Option<f64> {
        if self.statistics.0.statsTuple.is_null() {
            return None;
        }
        let mut common = 0.0;
        // SAFETY: the column's own data; the operator is one of its type's.
        let (in_common, in_histogram) = unsafe {
            let mut function = pg_sys::FmgrInfo::default();
            pg_sys::fmgr_info(pg_sys::get_opcode(comparison.operator), &mut function);
            let in_common = pg_sys::mcv_selectivity(
                &mut self.statistics.0,
                &mut function,
                self.collation,
                bound,
                true,
                &mut common,
            );
            (in_common, self.histogram(comparison, bound, function))
        };
        let rest = (1.0 - self.nulls - common).max(0.0);
        Some((in_common + rest * in_histogram.unwrap_or(0.5)).clamp(0.0, 1.0))
    }

    /// What part of the histogram's rows. The function is the operator's; PostgreSQL asks by its number
    /// whether this user may see the statistics.
    fn histogram(
        &mut self,
        comparison: Comparison,
        bound: Datum,
        mut function: pg_sys::FmgrInfo,
    ) -> Option<f64> {
        let mut look_at = Look { layout: self.layout, comparison, below: None, above: None };
        function.fn_addr = Some(look);
        function.fn_extra = addr_of_mut!(look_at).cast::<c_void>();
        let above = comparison.side == Side::Above;
        // SAFETY: as above.
        let part = unsafe {
            pg_sys::ineq_histogram_selectivity(
                self.root,
                &mut self.statistics.0,
                comparison.operator,
                &mut function,
                above,
                comparison.or_equal,
                self.collation,
                bound,
                self.statistics.0.vartype,
            )
        };
        let (Some(low), Some(high)) = (look_at.below, look_at.above) else {
            // Before the first or after the last of them, or no histogram.
            return (part >= 0.0).then_some(part);
        };
        // SAFETY: the bound is a value of the type.
        let place = unsafe { self.layout.number(bound) }.saturating_sub(low) as f64;
        let bins =
            self.statistics.histogram(|bounds| bounds.len() - 1).map_or(1, |bins| bins.max(1))
                as f64;
        let place = if high > low { (place / (high - low) as f64).min(1.0) } else { 0.5 };
        let beyond_middle = (place - 0.5) / bins;
        Some((if above { part - beyond_middle } else { part + beyond_middle }).clamp(0.0, 1.0))
    }
}

/// The clause in a restriction of the planner's: for an OR the one with restrictions inside.
unsafe fn clause(node: *mut Node) -> *mut Node {
    // SAFETY: a node begins with its tag.
    unsafe {
        if !is(node, NodeTag::T_RestrictInfo) {
            return node;
        }
        let restriction = node.cast::<pg_sys::RestrictInfo>();
        let or = (*restriction).orclause;
        if or.is_null() { (*restriction).clause.cast() } else { or.cast() }
    }
}

/// The list of clauses, all of which must hold, in which the one with these arguments stands.
unsafe fn among(list: *mut List, arguments: *mut List) -> Option<*mut List> {
    // SAFETY: nodes of the query's clauses, each looked at as what its tag says.
    unsafe {
        nodes(list).find_map(|node| {
            let node = clause(node);
            if is(node, NodeTag::T_OpExpr) {
                let found = (*node.cast::<pg_sys::OpExpr>()).args == arguments;
                return found.then_some(list);
            }
            if !is(node, NodeTag::T_BoolExpr) {
                return None;
            }
            let bool_expr = node.cast::<pg_sys::BoolExpr>();
            match (*bool_expr).boolop {
                pg_sys::BoolExprType::AND_EXPR => among((*bool_expr).args, arguments),
                pg_sys::BoolExprType::OR_EXPR => nodes((*bool_expr).args).find_map(|branch| {
                    let branch = clause(branch);
                    let and = is(branch, NodeTag::T_BoolExpr)
                        && (*branch.cast::<pg_sys::BoolExpr>()).boolop
                            == pg_sys::BoolExprType::AND_EXPR;
                    // A branch of one clause has no others to look at.
                    let list = and.then(|| (*branch.cast::<pg_sys::BoolExpr>()).args)?;
                    among(list, arguments)
                }),
                _ => None,
            }
        })
    }
}

/// A bound of the column in one of the clauses.
#[derive(Clone, Copy)]
struct Bound {
    arguments: *mut List,
    comparison: Comparison,
    /// None where it is not known yet.
    value: Option<Datum>,
}

/// The column without what PostgreSQL puts around it to change only the type's name.
unsafe fn bare(mut node: *mut Node) -> *mut Node {
    // SAFETY: nodes of an expression.
    unsafe {
        while is(node, NodeTag::T_RelabelType) {
            node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
        }
        node
    }
}

/// The column's bounds among these clauses.
unsafe fn bounds(column: &Column, list: *mut List, family: [Comparison; 4]) -> Vec<Bound> {
    // SAFETY: as `among`; an operator of the family has two arguments.
    unsafe {
        nodes(list)
            .filter_map(|node| {
                let node = clause(node);
                if !is(node, NodeTag::T_OpExpr) {
                    return None;
                }
                let operation = node.cast::<pg_sys::OpExpr>();
                let own = family.into_iter().find(|own| own.operator == (*operation).opno)?;
                let sides: Vec<_> = nodes((*operation).args).collect();
                let &[left, right] = sides.as_slice() else { return None };
                let is_column =
                    |side| pg_sys::equal(bare(side).cast(), column.statistics.0.var.cast());
                let (column_is_left, other) = match (is_column(left), is_column(right)) {
                    (true, false) => (true, right),
                    (false, true) => (false, left),
                    _ => return None,
                };
                let Comparison { operator, side, or_equal } = own;
                let comparison = Comparison::of(operator, side, or_equal, column_is_left);
                let value = constant(column.root, other);
                // Of a NULL that clause itself says that nothing fulfils it.
                if value.is_some_and(|value| (*value).constisnull) {
                    return None;
                }
                let value = value.map(|value| (*value).constvalue);
                Some(Bound { arguments: (*operation).args, comparison, value })
            })
            .collect()
    }
}

/// The tightest bound of one side, of those that are known if there are any; of equal ones the first.
fn tightest(column: &Column, bounds: &[Bound], side: Side) -> Option<Bound> {
    let of_side = bounds.iter().filter(|bound| bound.comparison.side == side);
    of_side.copied().reduce(|best, bound| match (best.value, bound.value) {
        (Some(a), Some(b)) => {
            // SAFETY: values of the column's type.
            let (a, b) = unsafe { (column.layout.number(a), column.layout.number(b)) };
            let tighter = if side == Side::Above { b > a } else { b < a };
            if tighter { bound } else { best }
        }
        (None, Some(_)) => bound,
        _ => best,
    })
}

/// The column's bounds that hold together with the one of these arguments, this one among them; nothing
/// where that is not found.
///
/// # Safety
/// The arguments of a clause of the query.
unsafe fn others(
    column: &Column,
    comparison: Comparison,
    arguments: *mut List,
) -> Option<Vec<Bound>> {
    // SAFETY: a relation's restrictions and joins are clauses of the query.
    unsafe {
        let relation = column.statistics.0.rel.as_ref()?;
        let list = among(relation.baserestrictinfo, arguments)
            .or_else(|| among(relation.joininfo, arguments))?;
        Some(bounds(column, list, comparison.family()))
    }
}

fn estimate(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: the arguments of every RESTRICT function: the planner's state, the operator, its list of
    // two arguments, and the relation that alone is looked at.
    let (root, operator, arguments, relation, collation) = unsafe {
        let values = (*fcinfo).args.as_slice(4);
        (
            values[0].value.cast_mut_ptr::<PlannerInfo>(),
            Oid::from(values[1].value.value() as u32),
            values[2].value.cast_mut_ptr::<List>(),
            values[3].value.value() as c_int,
            (*fcinfo).fncollation,
        )
    };
    let mut statistics = Statistics::default();
    let (mut other, mut column_is_left) = (null_mut(), false);
    // SAFETY: PostgreSQL fills in what it is given.
    let found = unsafe {
        pg_sys::get_restriction_variable(
            root,
            arguments,
            relation,
            &mut statistics.0,
            &mut other,
            &mut column_is_left,
        )
    };
    if !found {
        return UNKNOWN;
    }
    let Some(layout) = Layout::of(statistics.0.vartype) else { return UNKNOWN };
    let nulls = statistics.nulls();
    let mut column = Column { root, statistics, collation, layout, nulls };
    let comparison = Comparison::of(operator, side, or_equal, column_is_left);
    // SAFETY: what the clause compares the column with.
    let value = match unsafe { constant(column.root, other) } {
        // SAFETY: a Const.
        Some(value) if unsafe { (*value).constisnull } => return 0.0,
        // SAFETY: as above.
        Some(value) => Some(unsafe { (*value).constvalue }),
        None => None,
    };
    let own = Bound { arguments, comparison, value };

    // SAFETY: a clause of the query.
    let others = unsafe { others(&column, comparison, arguments) }.unwrap_or_else(|| vec![own]);
    if tightest(&column, &others, comparison.side).is_some_and(|best| best.arguments != arguments) {
        return 1.0;
    }
    let part = |column: &mut Column, bound: Bound| {
        bound.value.and_then(|value| column.part(bound.comparison, value))
    };
    let own_part = part(&mut column, own);
    let lower = match comparison.side {
        Side::Above => None,
        Side::Below => tightest(&column, &others, Side::Above),
    };
    let Some(lower) = lower else { return own_part.unwrap_or(UNKNOWN) };
    match (part(&mut column, lower), own_part) {
        (Some(lower), Some(own)) => {
            let both = (lower + own - (1.0 - column.nulls)).max(LEAST);
            if lower > both { both / lower } else { 1.0 }
        }
        (lower, _) => (UNKNOWN_RANGE / lower.unwrap_or(UNKNOWN)).min(1.0),
    }
}

/// Of a bound that another relation's rows give nothing is known but whether it is one of two.
fn estimate_join(fcinfo: FunctionCallInfo, side: Side, or_equal: bool) -> f64 {
    // SAFETY: the first three arguments of every JOIN function, as above.
    let (root, operator, arguments) = unsafe {
        let values = (*fcinfo).args.as_slice(3);
        (
            values[0].value.cast_mut_ptr::<PlannerInfo>(),
            Oid::from(values[1].value.value() as u32),
            values[2].value.cast_mut_ptr::<List>(),
        )
    };
    // SAFETY: expressions of the query.
    let sides: Vec<_> = unsafe { nodes(arguments).collect() };
    for (place, node) in sides.into_iter().enumerate() {
        let mut statistics = Statistics::default();
        // SAFETY: as above; of what is no column PostgreSQL says that there is no relation.
        unsafe { pg_sys::examine_variable(root, node, 0, &mut statistics.0) };
        let Some(layout) = Layout::of(statistics.0.vartype) else { return UNKNOWN };
        let column = Column { root, statistics, collation: Oid::INVALID, layout, nulls: 0.0 };
        let comparison = Comparison::of(operator, side, or_equal, place == 0);
        // SAFETY: as above.
        let others = unsafe { others(&column, comparison, arguments) }.unwrap_or_default();
        let has = |side| others.iter().any(|bound| bound.comparison.side == side);
        if comparison.side == Side::Below && has(Side::Above) && has(Side::Below) {
            return UNKNOWN_RANGE / UNKNOWN;
        }
    }
    UNKNOWN
}

#[pg_extern(sql = false)]
fn flakeid_ltsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Below, false)
}

#[pg_extern(sql = false)]
fn flakeid_lesel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Below, true)
}

#[pg_extern(sql = false)]
fn flakeid_gesel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Above, true)
}

#[pg_extern(sql = false)]
fn flakeid_gtsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate(fcinfo, Side::Above, false)
}

#[pg_extern(sql = false)]
fn flakeid_ltjoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Below, false)
}

#[pg_extern(sql = false)]
fn flakeid_lejoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Below, true)
}

#[pg_extern(sql = false)]
fn flakeid_gejoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Above, true)
}

#[pg_extern(sql = false)]
fn flakeid_gtjoinsel(fcinfo: FunctionCallInfo) -> f64 {
    estimate_join(fcinfo, Side::Above, false)
}
