//! The source of a session's IDs: the addresses of its cells, the rules, and the session's
//! position. It also handles the stalls of the hot path.

use super::cells::{Cells, Identity, Issuer, cells, wait_for_lease};
use super::exit;
use crate::clock::Stopwatch;
use crate::error::{Code, OrRaise, Report, moment, span};
use crate::horizon::GateChoice;
use crate::id_types::ServerIdType;
use crate::lease::{self, LeaseError};
use crate::shmem::{self, Gates, Shared, shared};
use crate::{clock, guc, horizon, process, server_log, wait, watermark};
use flakeid_core::clock::{Scale, Tick, UnixMicros, UnixNanos};
use flakeid_core::flake::{self, Flake};
use flakeid_core::gate::Limits;
use flakeid_core::generator::{Rules, Stamp};
use flakeid_core::issuing_cell::IssuingCell;
use flakeid_core::session::{Issued, Session, Stall};
use flakeid_core::watermark::Stream;
use pgrx::pg_sys;
use std::time::Duration;

/// The source of a session's IDs for one ID type.
pub(super) struct Source {
    /// The version of the settings from which the source was built.
    pub version: u32,
    pub session: Session,
    pub cells: Vec<IssuingCell<'static>>,
    pub rules: Rules,
    pub scale: Scale,
    pub shared: &'static Shared,
    /// The gates that apply to the IDs.
    pub gates: &'static Gates,
    /// Whether a lease limits these gates.
    pub leased: bool,
    /// The entry by which the session issues: see [`watermark::entry`].
    pub entry: u64,
    /// The bound of the transaction then.
    bound: u64,
}

/// The entry of a source before its first transaction, which no transaction has.
const NO_ENTRY: u64 = u64::MAX;

/// The hint for a parallel worker that is to generate IDs.
const PARALLEL_HINT: &str = "Declare the function that calls it PARALLEL RESTRICTED, or run ALTER \
                             EXTENSION flakeid UPDATE if the extension is older than the library.";

impl Source {
    /// Builds a source; `before` is the one that it replaces.
    #[cold]
    pub fn make<S: Issuer>(before: Option<&Source>) -> Result<Self, Report> {
        // A server never goes back into recovery, and a process never becomes a parallel worker. So
        // a process asks only until the answer is no.
        if before.is_none() {
            horizon::ensure_not_in_recovery(S::NEXT)?;
            process::ensure_not_parallel_worker(S::NEXT)
                .map_err(|report| report.hint(PARALLEL_HINT))?;
        }
        guc::ensure_usable(S::IS_NUMBERED)?;
        let version = guc::version();
        let shared = shared()?;
        exit::register_exit_hook(shared);
        horizon::ensure_loaded(shared)?;
        if !horizon::is_open::<S>(shared) {
            ensure_may_open::<S>(shared)?;
        }
        horizon::open::<S>(shared)?;
        // A reload may have set what the worker is for, and this session may have the first IDs
        // since then.
        watermark::ensure_publisher();
        let Cells { cells, generation } = cells::<S>(shared)?;
        let leased = is_leased::<S>();
        let number = process::number();
        let session = match before {
            None => Session::new(number, cells.len()),
            Some(before) => before.session.moved(number, cells.len()),
        };
        let session = session.of_generation(match S::IDENTITY {
            Identity::GeneratorIds { .. } => generation,
            // Its cells belong to this server alone and do not depend on the generator IDs.
            Identity::Node(_) | Identity::Lanes(_) => u64::MAX,
        });
        Ok(Self {
            version,
            session,
            cells,
            rules: S::rules(),
            scale: S::scale(),
            shared,
            gates: if leased { &shared.leased } else { &shared.gates },
            leased,
            entry: NO_ENTRY,
            bound: 0,
        })
    }

    /// Takes up to `want` IDs, and handles each stall until an ID is available. Raises an error if
    /// that fails.
    #[inline(always)]
    pub fn take<S: Issuer>(&mut self, want: u32) -> Issued {
        if self.entry != watermark::entry() {
            self.enter::<S>().or_raise();
        }
        let mut gate = &self.gates.soft;
        loop {
            let scale = self.scale;
            let mut clock = || S::tick(scale, clock::now());
            let limits = Limits::new(&self.rules, gate, scale);
            let taken = self.session.next::<S>(&self.cells, want, limits, &mut clock);
            match taken {
                Ok(issued) => return issued,
                Err(stall) => {
                    gate = match self.handle_stall::<S>(stall).or_raise() {
                        GateChoice::Hard => &self.gates.hard,
                        _ => &self.gates.soft,
                    };
                    // A source that was built again has no entry.
                    if self.entry != watermark::entry() {
                        self.enter::<S>().or_raise();
                    }
                    pg_sys::check_for_interrupts!();
                }
            }
        }
    }

    /// Takes an ID of a named stream, as [`Self::take`] does.
    pub fn take_in<S: Issuer>(&mut self, stream: Stream) -> Issued {
        if self.entry != watermark::entry() {
            self.enter::<S>().or_raise();
        }
        // This may raise the bound. Then `take` sees another entry.
        watermark::enter_stream(stream);
        self.take::<S>(1)
    }

    /// Enters the transaction and the stream of the ID type, unless this process has entered them,
    /// and takes over the bound.
    #[inline(never)]
    fn enter<S: Issuer>(&mut self) -> Result<(), Report> {
        watermark::enter(self.shared, shmem::stream_of_id_type(S::INDEX))?;
        self.take_over_bound::<S>();
        Ok(())
    }

    /// Issues from the transaction's bound on.
    fn take_over_bound<S: Issuer>(&mut self) {
        // A source that was built from earlier settings keeps no entry, so that the next call
        // builds it again.
        let is_current = self.version == guc::version();
        self.entry = if is_current { watermark::entry() } else { NO_ENTRY };
        self.bound = watermark::bound();
        self.session.issue_from::<S>(&self.cells, self.least());
    }

    /// Returns the first tick that does not begin before the bound.
    fn least(&self) -> Tick {
        first_tick(self.scale, UnixNanos(self.bound))
    }

    /// Lowers the transaction's bound, if that alone keeps the session from changing its timeline
    /// at `now`. Returns whether the session can ask again.
    fn lower<S: Issuer>(&mut self, now: Tick) -> bool {
        let is_lower = S::TICK_TOCK && now < self.least() && watermark::lower();
        if is_lower {
            self.take_over_bound::<S>();
        }
        is_lower
    }

    /// Waits for a tick, and counts the wait for the session's home.
    fn wait<S: Issuer>(&self, until: Tick, now: Tick) -> Result<(), Report> {
        let shared = self.shared;
        // A cell that has just begun is not exhausted.
        let was_exhausted = |last: &IssuingCell| last.cell.counters.get().exhausted > 0;
        if until.0 <= now.0 + 1 && self.cells.last().is_some_and(was_exhausted) {
            server_log::exhausted(&shared.rate_limits, S::INDEX, self.cells.len());
        }
        let longest = guc::max_clock_wait();
        let patience = longest.max(shared.opened.start().recovery_left::<S>(guc::horizon_lead()));
        let watch = Stopwatch::start();
        let waited = wait::until(until, self.scale, patience);
        let nanos = watch.elapsed().as_nanos() as u64;
        self.cells[self.session.home()].cell.counters.waited(nanos);
        waited.map_err(|by| {
            let floor =
                shmem::attached_watermark().map_or(UnixNanos(0), |memory| memory.floor.get());
            let ahead = match until {
                until if until <= first_tick(self.scale, floor) => Ahead::Watermark,
                until if until <= self.least() => Ahead::FirstId,
                _ => Ahead::LastId,
            };
            clock_behind(S::NAME, by, longest, ahead)
        })
    }

    /// Waits until the lease of the generator IDs lets a stamp through. The session waits for a
    /// renewal; or for the clock, if the lease covers the stamp but the clock has stepped back
    /// behind it.
    fn wait_for_lease<S: Issuer>(&self, stamp: Stamp) -> Result<(), LeaseError> {
        let (tick, shared) = (stamp.tick::<S>(), self.shared);
        let now = self.scale.tick(clock::now()).unwrap_or(Tick(0));
        if now < tick {
            return Ok(self.wait::<S>(tick, now)?);
        }
        shared.lease.request_renewal();
        lease::wait(shared, |lock| {
            let state = lease::held(shared, &lock)?;
            match self.scale.nanos(tick) < state.limits.ceiling {
                true => Ok(()),
                false => Err(lease::not_leased(state)),
            }
        })
    }

    /// Moves the gates past a stamp, or waits until the lease lets it through.
    fn extend<S: Issuer>(&mut self, stamp: Stamp) -> Result<GateChoice, Report> {
        if !self.leased {
            return horizon::extend::<S>(self.shared, self.scale, stamp);
        }
        match lease::extend::<S>(self.shared, self.scale, stamp) {
            Ok(GateChoice::WaitForLease) => self.wait_for_lease::<S>(stamp)?,
            // The server may hold other generator IDs, or will hold some soon.
            Err(LeaseError::NotLeased(_)) => self.rebuild::<S>()?,
            passed => return Ok(passed?),
        }
        Ok(GateChoice::Soft)
    }

    /// Handles a stall. Returns the gate with which the session asks again.
    #[cold]
    fn handle_stall<S: Issuer>(&mut self, stall: Stall) -> Result<GateChoice, Report> {
        match stall {
            Stall::Wait { now, .. } if self.lower::<S>(now) => {}
            Stall::Wait { until, now } => self.wait::<S>(until, now)?,
            Stall::Gated(stamp) => return self.extend::<S>(stamp),
            Stall::SteppedBack { from, now } => {
                let by = Duration::from_nanos((from.0 - now.0) * self.scale.unit());
                server_log::stepped_back(&self.shared.rate_limits, S::INDEX, by, S::TICK_TOCK);
            }
            // The worker announces a new generation before it seals cells of a server that
            // continues.
            Stall::Sealed => return Err(stopping(S::NAME)),
            Stall::Outdated => self.rebuild::<S>()?,
            Stall::Ended => {
                return Err(ended::<S>(self.shared, self.scale.start(self.rules.end)));
            }
            Stall::BeforeEpoch => return Err(before_epoch(S::NAME, self.scale.start(Tick(0)))),
        }
        Ok(GateChoice::Soft)
    }

    /// Builds the source again, as the generator IDs have changed.
    fn rebuild<S: Issuer>(&mut self) -> Result<(), Report> {
        self.session.discard_prefetched(&self.cells);
        *self = Self::make::<S>(Some(&*self))?;
        Ok(())
    }
}

/// Returns the first tick of a scale that does not begin before a bound.
pub(super) fn first_tick(scale: Scale, bound: UnixNanos) -> Tick {
    let before = UnixNanos(bound.0.saturating_sub(1));
    scale.tick(before).map_or(Tick(0), |tick| Tick(tick.0 + 1))
}

/// Checks whether the server can count from the ID type's present epoch, and whether the ID type
/// has IDs for the present time.
///
/// # Errors
/// One of these is not the case.
pub(super) fn ensure_in_time<S: Issuer>(shared: &Shared) -> Result<(), Report> {
    if S::INDEX == Flake::INDEX {
        horizon::ensure_agrees(Some(shared))?;
    }
    let (scale, end) = (S::scale(), S::rules().end);
    match scale.tick(clock::now()) {
        None => Err(before_epoch(S::NAME, scale.start(Tick(0)))),
        Some(now) if now > end => Err(ended::<S>(shared, scale.start(end))),
        Some(_) => Ok(()),
    }
}

/// Checks whether an ID type can have IDs with its present epoch, before that epoch becomes
/// durable. If generator IDs are leased, the registry must have the same epoch.
///
/// # Errors
/// The errors of [`ensure_in_time`]; or a [`LeaseError`].
fn ensure_may_open<S: Issuer>(shared: &'static Shared) -> Result<(), Report> {
    ensure_in_time::<S>(shared)?;
    if is_leased::<S>() {
        wait_for_lease::<S>(shared)?;
    }
    Ok(())
}

/// Returns whether an ID type's generator IDs are leased.
fn is_leased<S: Issuer>() -> bool {
    matches!(S::IDENTITY, Identity::GeneratorIds { .. }) && guc::leased().is_some()
}

/// The time that the clock must reach before a session gets an ID.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ahead {
    /// The last ID of the type.
    LastId,
    /// The first ID of the session's transaction, of any type.
    FirstId,
    /// The greatest watermark that a reader got.
    Watermark,
}

/// Constructs the error of a session that would have to wait longer than `wait`.
pub(super) fn clock_behind(name: &str, by: Duration, wait: Duration, ahead: Ahead) -> Report {
    const MISSED: &str = "A reader in ID order could miss the row of a new ID.";
    let (what, risk) = match ahead {
        Ahead::LastId => {
            (format!("the last {name} ID"), "A new ID could be the same as an earlier one.")
        }
        Ahead::FirstId => ("the first ID of this transaction".into(), MISSED),
        Ahead::Watermark => ("the watermark".into(), MISSED),
    };
    Report::new(Code::ERRCODE_SYSTEM_ERROR, format!("the clock is {} behind {what}", span(by)))
    .detail(format!("{risk} The wait limit (\"flakeid.max_clock_wait\") is {}.", span(wait)))
    .hint(
        "Check the server's clock and its time synchronization. IDs are generated again as soon as \
         the clock has caught up.",
    )
}

pub(super) fn before_epoch(name: &str, first: UnixMicros) -> Report {
    Report::wrong_state(format!("the clock is before the epoch of {name}"))
        .detail(format!("The first {name} has the time {}.", moment(first)))
        .hint(match name {
            flake::NAME => "Check the server's clock and \"flakeid.epoch\".",
            _ => "Check the server's clock.",
        })
}

pub(super) fn ended<S: Issuer>(shared: &Shared, last: UnixMicros) -> Report {
    // If there are flakes already, a later epoch is refused.
    let can_move = S::INDEX == Flake::INDEX && !horizon::is_open::<S>(shared);
    Report::new(
        Code::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
        format!("no {} ID can be generated after {}", S::NAME, moment(last)),
    )
    .hint(match can_move {
        true => "Check the server's clock. If it is right, set \"flakeid.epoch\" to a later time.",
        false => "Check the server's clock. If it is right, use another ID type.",
    })
}

fn stopping(name: &str) -> Report {
    Report::new(
        Code::ERRCODE_ADMIN_SHUTDOWN,
        format!("cannot generate {name} IDs while the server is shutting down"),
    )
}
