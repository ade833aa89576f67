//! A column of IDs, or an expression that gives IDs, and what PostgreSQL's statistics say of it.
//!
//! PostgreSQL hands out statistics that the caller must release, once. [`Statistics`] releases them when it
//! is dropped, and is made only where PostgreSQL has left something to release:
//! `get_restriction_variable` fills in what it is given, releases it again where the clause is not a column
//! against a value (`a < b` of one table), leaves the pointer there, and returns false.
//!
//! # Where in the bin
//! An ID is a number, and between two bounds of a histogram IDs lie as evenly as their times do. PostgreSQL
//! finds the bin (`ineq_histogram_selectivity`). It also asks the index for the ends of the table as it is
//! now, as a time of the last five minutes lies beyond the histogram's end. The comparison that PostgreSQL
//! calls while it searches is ours ([`probe`]), which so learns the two values between which the bound was
//! found, those of the index included. PostgreSQL takes "the middle" of the bin for a type that it does not
//! know; we put the bound's real position in its place.

use super::id_type::IdType;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, List, Node, Oid, PlannerInfo};
use std::ffi::{c_int, c_void};
use std::ptr::{addr_of_mut, null_mut};

/// The statistics that PostgreSQL has found for an expression (`VariableStatData`).
pub struct Statistics(pg_sys::VariableStatData);

impl Drop for Statistics {
    fn drop(&mut self) {
        if let (false, Some(free)) = (self.0.statsTuple.is_null(), self.0.freefunc) {
            // SAFETY: what ReleaseVariableStats does; a Statistics holds a tuple that nobody has released.
            unsafe { free(self.0.statsTuple) };
        }
    }
}

/// One clause as PostgreSQL takes it apart: a column, and what it is compared with.
pub struct Restriction {
    pub statistics: Statistics,
    pub other: *mut Node,
    pub column_is_left: bool,
}

impl Restriction {
    /// Takes a clause apart; returns `None` unless one side alone is of the relation.
    ///
    /// # Safety
    /// The arguments are those of an estimator's call: the planner's state, the two operands and the
    /// relation's number.
    pub unsafe fn of(
        root: *mut PlannerInfo,
        arguments: *mut List,
        relation: c_int,
    ) -> Option<Self> {
        let mut found = pg_sys::VariableStatData::default();
        let (mut other, mut column_is_left) = (null_mut(), false);
        // SAFETY: the caller's; PostgreSQL fills in what it is given. Where it returns false it has released
        // what it found, so that `found` must not become a Statistics.
        let is_restriction = unsafe {
            pg_sys::get_restriction_variable(
                root,
                arguments,
                relation,
                &mut found,
                &mut other,
                &mut column_is_left,
            )
        };
        let statistics = is_restriction.then(|| Statistics(found))?;
        Some(Self { statistics, other, column_is_left })
    }
}

impl Statistics {
    /// Looks an expression up. What is not a column of a relation has no relation.
    ///
    /// # Safety
    /// An expression of the query that the planner's state is of.
    pub unsafe fn of(root: *mut PlannerInfo, expression: *mut Node, relation: c_int) -> Self {
        let mut found = pg_sys::VariableStatData::default();
        // SAFETY: the caller's; PostgreSQL fills in what it is given, and leaves its release to the caller.
        unsafe { pg_sys::examine_variable(root, expression, relation, &mut found) };
        Self(found)
    }

    /// The ID type of the expression, where the column below it and every value in its statistics are of
    /// that type, too.
    pub fn id_type(&self) -> Option<IdType> {
        let id_type = IdType::of(self.0.vartype)?;
        let is_of = |kind| self.slot(kind, |slot| id_type.is_of(slot.valuetype)).unwrap_or(true);
        let all_are = id_type.is_of(self.0.atttype)
            && is_of(pg_sys::STATISTIC_KIND_MCV)
            && is_of(pg_sys::STATISTIC_KIND_HISTOGRAM);
        all_are.then_some(id_type)
    }

    pub fn expression(&self) -> *mut Node {
        self.0.var
    }

    /// The relation that the expression is of, where there is one.
    pub fn relation(&self) -> Option<&pg_sys::RelOptInfo> {
        // SAFETY: null, or a relation of the planner's, which outlives the estimate.
        unsafe { self.0.rel.as_ref() }
    }

    fn are_there(&self) -> bool {
        !self.0.statsTuple.is_null()
    }

    /// The part of the rows whose value is NULL.
    fn nulls(&self) -> f64 {
        if !self.are_there() {
            return 0.0;
        }
        // SAFETY: the tuple is a row of pg_statistic.
        unsafe {
            let row = pg_sys::GETSTRUCT(self.0.statsTuple).cast::<pg_sys::FormData_pg_statistic>();
            f64::from((*row).stanullfrac)
        }
    }

    /// What `read` makes of the statistics of this kind, where there are any.
    fn slot<T>(&self, kind: u32, read: impl FnOnce(&pg_sys::AttStatsSlot) -> T) -> Option<T> {
        if !self.are_there() {
            return None;
        }
        let mut slot = pg_sys::AttStatsSlot::default();
        // SAFETY: the tuple is a row of pg_statistic; the slot is freed after it has been read.
        unsafe {
            let found = pg_sys::get_attstatsslot(
                &mut slot,
                self.0.statsTuple,
                kind as c_int,
                Oid::INVALID,
                pg_sys::ATTSTATSSLOT_VALUES as c_int,
            );
            if !found {
                return None;
            }
            let read = read(&slot);
            pg_sys::free_attstatsslot(&mut slot);
            Some(read)
        }
    }

    /// What `read` makes of the histogram's bounds, in their order, where there is a histogram.
    fn histogram<T>(&self, read: impl FnOnce(&[Datum]) -> T) -> Option<T> {
        self.slot(pg_sys::STATISTIC_KIND_HISTOGRAM, |slot| {
            // SAFETY: a slot has this many values.
            read(unsafe { std::slice::from_raw_parts(slot.values, slot.nvalues as usize) })
        })
    }
}

/// The end of a range that a clause gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Above,
    Below,
}

/// A comparison as it reads with the column on its left.
#[derive(Clone, Copy)]
pub struct Comparison {
    pub operator: Oid,
    pub side: Side,
    /// Whether it is true of the bound itself.
    pub or_equal: bool,
}

impl Comparison {
    /// Turns a comparison so that the column is on its left. Returns `None` where no operator of this ID
    /// type says that.
    pub fn of(
        id_type: IdType,
        operator: Oid,
        side: Side,
        or_equal: bool,
        column_is_left: bool,
    ) -> Option<Self> {
        if !id_type.is_compared_by(operator) {
            return None;
        }
        if column_is_left {
            return Some(Self { operator, side, or_equal });
        }
        let side = if side == Side::Above { Side::Below } else { Side::Above };
        // SAFETY: reads the catalog.
        let commutator = unsafe { pg_sys::get_commutator(operator) };
        id_type.is_compared_by(commutator).then_some(Self { operator: commutator, side, or_equal })
    }

    /// The type's own comparison of this kind: its btree's operator.
    pub fn of_btree(id_type: IdType, side: Side, or_equal: bool) -> Option<Self> {
        let strategy = match (side, or_equal) {
            (Side::Below, false) => pg_sys::BTLessStrategyNumber,
            (Side::Below, true) => pg_sys::BTLessEqualStrategyNumber,
            (Side::Above, true) => pg_sys::BTGreaterEqualStrategyNumber,
            (Side::Above, false) => pg_sys::BTGreaterStrategyNumber,
        };
        Some(Self { operator: id_type.btree_operator(strategy)?, side, or_equal })
    }

    fn holds(self, value: u128, bound: u128) -> bool {
        match (self.side, self.or_equal) {
            (Side::Below, false) => value < bound,
            (Side::Below, true) => value <= bound,
            (Side::Above, true) => value >= bound,
            (Side::Above, false) => value > bound,
        }
    }

    /// This operator and the three that belong to it: its commutator, its negator, and the negator's
    /// commutator. One that is not declared is 0, which no clause has.
    pub fn family(self) -> [Self; 4] {
        let Self { operator, side, or_equal } = self;
        // SAFETY: these read the catalog, and give 0 for what is not there.
        let (converse, negator, negated_converse) = unsafe {
            let converse = pg_sys::get_commutator(operator);
            (converse, pg_sys::get_negator(operator), pg_sys::get_negator(converse))
        };
        let other = if side == Side::Above { Side::Below } else { Side::Above };
        [
            self,
            Self { operator: converse, side: other, or_equal },
            Self { operator: negator, side: other, or_equal: !or_equal },
            Self { operator: negated_converse, side, or_equal: !or_equal },
        ]
    }
}

/// A column of IDs, and what is known of its values.
pub struct Column {
    pub root: *mut PlannerInfo,
    pub id_type: IdType,
    pub statistics: Statistics,
    collation: Oid,
    pub nulls: f64,
}

/// What [`probe`] sees of the values that a bound is compared with.
struct BinProbe {
    id_type: IdType,
    comparison: Comparison,
    below: Option<u128>,
    above: Option<u128>,
}

/// Answers as the operator does, and writes down the nearest values on both sides.
unsafe extern "C-unwind" fn probe(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL calls it with a value of the statistics or of the column's index, and the bound.
    // Both are of the ID type that the BinProbe was made for, which outlives the search.
    unsafe {
        let probe = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<BinProbe>();
        let arguments = (*fcinfo).args.as_slice(2);
        let value = probe.id_type.number(arguments[0].value);
        let bound = probe.id_type.number(arguments[1].value);
        let holds = probe.comparison.holds(value, bound);
        // What fulfills "less" is below the bound.
        if holds == (probe.comparison.side == Side::Below) {
            probe.below = Some(probe.below.map_or(value, |below| below.max(value)));
        } else {
            probe.above = Some(probe.above.map_or(value, |above| above.min(value)));
        }
        (*fcinfo).isnull = false;
        Datum::from(holds)
    }
}

impl Column {
    /// Returns `None` unless the expression and its statistics are of one of our ID types.
    pub fn of(root: *mut PlannerInfo, statistics: Statistics, collation: Oid) -> Option<Self> {
        let (id_type, nulls) = (statistics.id_type()?, statistics.nulls());
        Some(Self { root, id_type, statistics, collation, nulls })
    }

    /// Whether this user may see the statistics.
    pub fn is_visible(&self) -> bool {
        self.statistics.0.acl_ok
    }

    /// Estimates the part of all rows that a comparison is true of; `None` without statistics.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    pub unsafe fn part(&mut self, comparison: Comparison, bound: Datum) -> Option<f64> {
        if !self.statistics.are_there() {
            return None;
        }
        let mut common = 0.0;
        // SAFETY: the operator takes two values of the ID type and has code, as `Comparison` is made only so;
        // the statistics' values and the bound are of that type.
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
            (in_common, self.part_of_histogram(comparison, bound, function))
        };
        let rest = (1.0 - self.nulls - common).max(0.0);
        Some((in_common + rest * in_histogram.unwrap_or(0.5)).clamp(0.0, 1.0))
    }

    /// Estimates the part of the histogram's rows. The function is the operator's: PostgreSQL looks at its
    /// OID to see whether this user may have the statistics.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    unsafe fn part_of_histogram(
        &mut self,
        comparison: Comparison,
        bound: Datum,
        mut function: pg_sys::FmgrInfo,
    ) -> Option<f64> {
        let mut bin = BinProbe { id_type: self.id_type, comparison, below: None, above: None };
        function.fn_addr = Some(probe);
        function.fn_extra = addr_of_mut!(bin).cast::<c_void>();
        let above = comparison.side == Side::Above;
        // SAFETY: the statistics are of this column, and `bin` outlives the call, the only one that uses it.
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
        let (Some(low), Some(high)) = (bin.below, bin.above) else {
            // The bound is before the first or after the last value, or there is no histogram.
            return (part >= 0.0).then_some(part);
        };
        // SAFETY: the caller's.
        let position = unsafe { self.id_type.number(bound) }.saturating_sub(low) as f64;
        let bins =
            self.statistics.histogram(|bounds| bounds.len() - 1).map_or(1, |bins| bins.max(1))
                as f64;
        let position = if high > low { (position / (high - low) as f64).min(1.0) } else { 0.5 };
        let beyond_middle = (position - 0.5) / bins;
        Some((if above { part - beyond_middle } else { part + beyond_middle }).clamp(0.0, 1.0))
    }

    /// The first byte of the histogram's middle value, where there is a histogram.
    pub fn first_byte_of_median(&self) -> Option<u8> {
        self.statistics.histogram(|bounds| {
            let median = *bounds.get(bounds.len() / 2)?;
            // SAFETY: `Column::of` has checked that the statistics' values are of this ID type.
            Some(unsafe { self.id_type.first_byte(median) })
        })?
    }
}
