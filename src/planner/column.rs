//! Estimates comparisons of a column of IDs, or of an expression that gives IDs, from PostgreSQL's
//! statistics.
//!
//! PostgreSQL finds the bin of the histogram in which a bound lies, but takes the middle of the bin
//! as its position. [`Column::part`] uses the real position instead. [`Statistics`] releases what
//! PostgreSQL lends, exactly once.
//!
//! # Release
//! The caller of PostgreSQL must release statistics, once. [`Statistics`] does so when it is
//! dropped. It is created only if PostgreSQL has left something to release.
//! `get_restriction_variable` fills in a struct of the caller. If the clause does not compare a
//! column with a value (`a < b` of one table), it releases the statistics itself. Then it leaves
//! the pointer in the struct and returns false.
//!
//! # Position in the bin
//! An ID is a number, and between two bounds of a histogram IDs are as evenly distributed as their
//! times. PostgreSQL finds the bin (`ineq_histogram_selectivity`). It also reads the current ends
//! of the table from the index. A time of the last five minutes lies beyond the end of the
//! histogram. While it searches, PostgreSQL calls our comparison, [`probe`]. So `probe` learns the
//! two values between which the bound lies, including those from the index. For a type that it does
//! not know PostgreSQL assumes the middle of the bin. We replace that by the position of the bound
//! between the two values.

use super::id_type::SqlIdType;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, List, Node, Oid, PlannerInfo};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The statistics that PostgreSQL has found for an expression (`VariableStatData`). Dropping them
/// releases them.
pub struct Statistics(pg_sys::VariableStatData);

impl Drop for Statistics {
    fn drop(&mut self) {
        if let (false, Some(free)) = (self.0.statsTuple.is_null(), self.0.freefunc) {
            // SAFETY: this is what ReleaseVariableStats does. No other code releases the tuple of a
            // Statistics.
            unsafe { free(self.0.statsTuple) };
        }
    }
}

/// A clause that PostgreSQL has taken apart: a column, and the expression with which it is
/// compared.
pub struct Restriction {
    pub statistics: Statistics,
    pub other: *mut Node,
    pub column_is_left: bool,
}

impl Restriction {
    /// Takes a clause apart. Returns `None` unless exactly one side belongs to the relation.
    ///
    /// # Safety
    /// The arguments are those of a call of an estimator: the planner's state, the two operands,
    /// and the number of the relation.
    pub unsafe fn of(
        root: *mut PlannerInfo,
        arguments: *mut List,
        relation: c_int,
    ) -> Option<Self> {
        let mut found = pg_sys::VariableStatData::default();
        let (mut other, mut column_is_left) = (null_mut(), false);
        // SAFETY: the caller guarantees the arguments; PostgreSQL writes to the three variables. If
        // it returns false it has released the statistics, so that `found` must not become a
        // Statistics.
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
    /// Looks an expression up. An expression that is not a column of a relation has no relation.
    ///
    /// # Safety
    /// `root` is the planner's state, and `expression` an expression of the same query.
    pub unsafe fn of(root: *mut PlannerInfo, expression: *mut Node, relation: c_int) -> Self {
        let mut found = pg_sys::VariableStatData::default();
        // SAFETY: the caller guarantees that both belong to one query. PostgreSQL fills in `found`
        // and leaves its release to Statistics.
        unsafe { pg_sys::examine_variable(root, expression, relation, &mut found) };
        Self(found)
    }

    /// Returns the ID type of the expression, if the column below it and every value in its
    /// statistics have that type.
    pub fn id_type(&self) -> Option<SqlIdType> {
        let id_type = SqlIdType::of(self.0.vartype)?;
        let is_of = |kind| self.slot(kind, |slot| id_type.is_of(slot.valuetype)).unwrap_or(true);
        let all_are = id_type.is_of(self.0.atttype)
            && is_of(pg_sys::STATISTIC_KIND_MCV)
            && is_of(pg_sys::STATISTIC_KIND_HISTOGRAM);
        all_are.then_some(id_type)
    }

    pub fn expression(&self) -> *mut Node {
        self.0.var
    }

    /// Returns the relation to which the expression belongs, if there is one.
    pub fn relation(&self) -> Option<&pg_sys::RelOptInfo> {
        // SAFETY: the pointer is null, or that of a relation of the planner, which outlives the
        // estimate.
        unsafe { self.0.rel.as_ref() }
    }

    fn are_there(&self) -> bool {
        !self.0.statsTuple.is_null()
    }

    /// Returns the part of the rows whose value is NULL.
    fn nulls(&self) -> f64 {
        if !self.are_there() {
            return 0.0;
        }
        // SAFETY: the tuple exists, and is a row of pg_statistic.
        unsafe {
            let row = pg_sys::GETSTRUCT(self.0.statsTuple).cast::<pg_sys::FormData_pg_statistic>();
            f64::from((*row).stanullfrac)
        }
    }

    /// Calls `read` with the statistics of this kind, if there are any.
    fn slot<T>(&self, kind: u32, read: impl FnOnce(&pg_sys::AttStatsSlot) -> T) -> Option<T> {
        // A histogram has values, and the most common values have numbers, too.
        let parts = match kind {
            pg_sys::STATISTIC_KIND_MCV => {
                pg_sys::ATTSTATSSLOT_VALUES | pg_sys::ATTSTATSSLOT_NUMBERS
            }
            _ => pg_sys::ATTSTATSSLOT_VALUES,
        };
        if !self.are_there() {
            return None;
        }
        let mut slot = pg_sys::AttStatsSlot::default();
        // SAFETY: the tuple exists, and is a row of pg_statistic. The slot is freed after `read`
        // has returned.
        unsafe {
            let found = pg_sys::get_attstatsslot(
                &mut slot,
                self.0.statsTuple,
                kind as c_int,
                Oid::INVALID,
                parts as c_int,
            );
            if !found {
                return None;
            }
            let read = read(&slot);
            pg_sys::free_attstatsslot(&mut slot);
            Some(read)
        }
    }

    /// Calls `read` with each of the most common values and the part of the rows that has it, if
    /// there are such values.
    pub fn most_common<T>(&self, read: impl Fn(Datum, f64) -> T) -> Option<Vec<T>> {
        self.slot(pg_sys::STATISTIC_KIND_MCV, |slot| {
            let length = slot.nvalues.min(slot.nnumbers) as usize;
            // SAFETY: `values` has `nvalues` elements, and `numbers` has `nnumbers`.
            let each = |i| unsafe { read(*slot.values.add(i), f64::from(*slot.numbers.add(i))) };
            (0..length).map(each).collect()
        })
    }

    /// Calls `read` with the bounds of the histogram, in their order, if there is a histogram.
    pub fn histogram<T>(&self, read: impl FnOnce(&[Datum]) -> T) -> Option<T> {
        self.slot(pg_sys::STATISTIC_KIND_HISTOGRAM, |slot| {
            // SAFETY: `values` has `nvalues` elements.
            read(unsafe { std::slice::from_raw_parts(slot.values, slot.nvalues as usize) })
        })
    }
}

/// The side of a bound on which a comparison is true.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Above,
    Below,
}

/// A comparison with the column on its left side.
#[derive(Clone, Copy)]
pub struct Comparison {
    pub operator: Oid,
    pub side: Side,
    /// Whether the comparison is true of the bound itself.
    pub or_equal: bool,
}

impl Comparison {
    /// Turns a comparison so that the column is on its left. Returns `None` if this ID type has no
    /// operator for that.
    pub fn of(
        id_type: SqlIdType,
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
        // SAFETY: `get_commutator` reads the catalog.
        let commutator = unsafe { pg_sys::get_commutator(operator) };
        id_type.is_compared_by(commutator).then_some(Self { operator: commutator, side, or_equal })
    }

    /// Returns the comparison of this kind that the btree operator class of the type has.
    pub fn of_btree(id_type: SqlIdType, side: Side, or_equal: bool) -> Option<Self> {
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

    /// Returns this comparison and the three that belong to it: its commutator, its negator, and
    /// the commutator of its negator. The operator of one that is not declared is 0, which no
    /// clause has.
    pub fn family(self) -> [Self; 4] {
        let Self { operator, side, or_equal } = self;
        // SAFETY: these functions read the catalog, and return 0 if there is no such operator.
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

/// A column of IDs, with the statistics of its values.
pub struct Column {
    pub root: *mut PlannerInfo,
    pub id_type: SqlIdType,
    pub statistics: Statistics,
    collation: Oid,
    pub nulls: f64,
}

/// The state of [`probe`] during a search: the nearest values below and above the bound.
struct BinProbe {
    id_type: SqlIdType,
    comparison: Comparison,
    below: Option<u128>,
    above: Option<u128>,
}

/// Returns what the operator would return, and remembers the nearest values on both sides of the
/// bound.
unsafe extern "C-unwind" fn probe(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passes a value of the statistics or of the column's index, and the bound.
    // Both have the ID type of the BinProbe, to which `fn_extra` points and which outlives the
    // search.
    unsafe {
        let probe = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<BinProbe>();
        let arguments = (*fcinfo).args.as_slice(2);
        let value = probe.id_type.number(arguments[0].value);
        let bound = probe.id_type.number(arguments[1].value);
        let holds = probe.comparison.holds(value, bound);
        // A value for which "less" is true is below the bound.
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
    /// Returns a column, or `None` unless the expression and its statistics have one of our ID
    /// types.
    pub fn of(root: *mut PlannerInfo, statistics: Statistics, collation: Oid) -> Option<Self> {
        let (id_type, nulls) = (statistics.id_type()?, statistics.nulls());
        Some(Self { root, id_type, statistics, collation, nulls })
    }

    /// Estimates the part of all rows for which a comparison is true. Returns `None` without
    /// statistics.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    pub unsafe fn part(&mut self, comparison: Comparison, bound: Datum) -> Option<f64> {
        if !self.statistics.are_there() {
            return None;
        }
        let mut common = 0.0;
        // SAFETY: a `Comparison` is created only for an operator that takes two values of the ID
        // type and has a function. The values of the statistics and the bound have that type.
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

    /// Estimates the part of the histogram's rows. `function` is the function of the operator:
    /// PostgreSQL checks by its OID whether this user may read the statistics.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    unsafe fn part_of_histogram(
        &mut self,
        comparison: Comparison,
        bound: Datum,
        function: pg_sys::FmgrInfo,
    ) -> Option<f64> {
        // SAFETY: the caller guarantees that the bound is a value of the column's ID type.
        unsafe {
            if self.id_type.is_end_of_drift(self.id_type.number(bound)) {
                return self.part_of_values(comparison, bound);
            }
        }
        let mut bin = BinProbe { id_type: self.id_type, comparison, below: None, above: None };
        let above = comparison.side == Side::Above;
        // SAFETY: the caller guarantees the type of the bound.
        let part = unsafe { self.search(comparison, bound, function, &mut bin) };
        let (Some(low), Some(high)) = (bin.below, bin.above) else {
            // The bound is before the first value or after the last, or there is no histogram.
            return (part >= 0.0).then_some(part);
        };
        // SAFETY: the caller guarantees that the bound is a value of the column's ID type.
        let position = unsafe { self.id_type.number(bound) }.saturating_sub(low) as f64;
        let bins =
            self.statistics.histogram(|bounds| bounds.len() - 1).map_or(1, |bins| bins.max(1))
                as f64;
        let position = if high > low { (position / (high - low) as f64).min(1.0) } else { 0.5 };
        let beyond_middle = (position - 0.5) / bins;
        Some((if above { part - beyond_middle } else { part + beyond_middle }).clamp(0.0, 1.0))
    }

    /// Lets PostgreSQL find the bin of a bound. Returns its estimate, which is negative without a
    /// histogram.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    unsafe fn search(
        &mut self,
        comparison: Comparison,
        bound: Datum,
        mut function: pg_sys::FmgrInfo,
        bin: &mut BinProbe,
    ) -> f64 {
        function.fn_addr = Some(probe);
        function.fn_extra = std::ptr::from_mut(bin).cast::<c_void>();
        // SAFETY: the statistics belong to this column. Only this call uses `bin`, which outlives
        // it.
        unsafe {
            pg_sys::ineq_histogram_selectivity(
                self.root,
                &mut self.statistics.0,
                comparison.operator,
                &mut function,
                comparison.side == Side::Above,
                comparison.or_equal,
                self.collation,
                bound,
                self.statistics.0.vartype,
            )
        }
    }

    /// Returns the greatest ID of the column that its statistics and its index know, as the number
    /// as which it sorts.
    pub fn last(&mut self) -> Option<u128> {
        let comparison = Comparison::of_btree(self.id_type, Side::Above, false)?;
        let mut bin = BinProbe { id_type: self.id_type, comparison, below: None, above: None };
        // SAFETY: the bound is a value of the column's ID type, and the operator has a function.
        unsafe {
            let mut function = pg_sys::FmgrInfo::default();
            pg_sys::fmgr_info(pg_sys::get_opcode(comparison.operator), &mut function);
            let greatest = self.id_type.datum(u8::MAX, u8::MAX);
            self.search(comparison, greatest, function, &mut bin);
        }
        bin.below
    }

    /// Returns the part of the histogram's values for which a comparison is true. It is less exact
    /// than a search of the bin, and does not look at the column's index.
    ///
    /// # Safety
    /// The bound is a value of the column's ID type, and not NULL.
    pub unsafe fn part_of_values(&self, comparison: Comparison, bound: Datum) -> Option<f64> {
        // SAFETY: `Column::of` has checked that the values of the statistics have this ID type.
        let number = |id| unsafe { self.id_type.number(id) };
        let holds = |&&id: &&Datum| comparison.holds(number(id), number(bound));
        self.statistics
            .histogram(|values| values.iter().filter(holds).count() as f64 / values.len() as f64)
    }
}
