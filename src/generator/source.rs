//! What a session issues from: the addresses of its cells, the rules, and where the session stands; and what it does
//! when the hot path stalls.

use super::cells::{Cells, Identity, Issuer, cells};
use super::exit;
use crate::clock::Stopwatch;
use crate::error::{Code, OrRaise, Report, moment, span};
use crate::horizon::Pass;
use crate::lease::{self, LeaseError};
use crate::shmem::{Gates, Shared, shared};
use crate::{clock, guc, horizon, server_log, wait};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixMicros};
use flakeid_core::flake;
use flakeid_core::generator::{Block, Rules, Stamp};
use flakeid_core::session::{Issued, Session, Stall};
use pgrx::pg_sys;
use std::time::Duration;

/// A run of IDs of one generator.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The partition's mark.
    pub generator: u64,
    pub block: Block,
}

pub(super) struct Source {
    /// The settings' version that the rest was made from.
    pub version: u32,
    pub session: Session,
    pub cells: Vec<&'static Cell>,
    pub marks: Vec<u64>,
    pub rules: Rules,
    pub scale: Scale,
    pub shared: &'static Shared,
    /// The gates to go by.
    pub gates: &'static Gates,
    /// Whether these are capped by a lease.
    pub leased: bool,
}

impl Source {
    #[cold]
    pub fn make<S: Issuer>(before: Option<&Source>) -> Result<Self, Report> {
        // It is asked until it says no; a server never goes back into recovery.
        if before.is_none() {
            horizon::ensure_not_in_recovery(S::NEXT)?;
        }
        guc::ensure_usable()?;
        let version = guc::version();
        let shared = shared()?;
        exit::join(shared);
        horizon::open::<S>(shared)?;
        let Cells { partitions, cells, generation } = cells::<S>(shared)?;
        let leased = is_leased::<S>();
        let number = process_number();
        let session = match before {
            None => Session::new(number, cells.len()),
            Some(before) => before.session.moved(number, cells.len()),
        };
        let session = session.of_generation(match S::IDENTITY {
            Identity::GeneratorIds { .. } => generation,
            // Its one cell is this server's alone and does not depend on the generator IDs.
            Identity::Node(_) => u64::MAX,
        });
        Ok(Self {
            version,
            session,
            cells,
            marks: partitions.iter().map(|partition| partition.mark).collect(),
            rules: S::rules(),
            scale: S::scale(),
            shared,
            gates: if leased { &shared.leased } else { &shared.gates },
            leased,
        })
    }

    #[inline(always)]
    pub fn take<S: Issuer>(&mut self, want: u32) -> Run {
        let mut gate = &self.gates.near;
        loop {
            let scale = self.scale;
            let mut clock = || S::tick(scale, clock::now());
            let taken =
                self.session.next::<S>(&self.cells, want, &self.rules, gate, scale, &mut clock);
            match taken {
                Ok(Issued { partition, block }) => {
                    return Run { generator: self.marks[partition], block };
                }
                Err(stall) => {
                    gate = match self.overcome::<S>(stall).or_raise() {
                        Pass::Last => &self.gates.last,
                        _ => &self.gates.near,
                    };
                    pg_sys::check_for_interrupts!();
                }
            }
        }
    }

    /// Waits for a tick, and counts that for the session's home.
    fn wait<S: Issuer>(&self, until: Tick, now: Tick) -> Result<(), Report> {
        let shared = self.shared;
        // A cell that has just begun is no cell that was used up.
        let used_up = |cell: &&Cell| cell.counters.get().exhausted > 0;
        if until.0 <= now.0 + 1 && self.cells.last().is_some_and(used_up) {
            server_log::used_up(&shared.rate_limits, S::PLACE, self.cells.len());
        }
        let longest = guc::max_clock_wait();
        let patience = longest.max(shared.record.recovery_left::<S>(guc::horizon_lead()));
        let watch = Stopwatch::start();
        let waited = wait::until(until, self.scale, patience);
        let nanos = watch.elapsed().as_nanos() as u64;
        self.cells[self.session.home()].counters.waited(nanos);
        waited.map_err(|by| clock_behind(S::NAME, by, longest))
    }

    /// Waits until the generator IDs' lease lets a stamp through: until it has been renewed, or, where the
    /// clock has stepped back behind a stamp that it does reach, for the clock.
    fn wait_for_lease<S: Issuer>(&self, stamp: Stamp) -> Result<(), LeaseError> {
        let (tick, shared) = (stamp.tick::<S>(), self.shared);
        let now = self.scale.tick(clock::now()).unwrap_or(Tick(0));
        if now < tick {
            return Ok(self.wait::<S>(tick, now)?);
        }
        shared.lease.ask();
        lease::wait(shared, |lock| {
            let kept = lease::held(shared, &lock)?;
            match self.scale.nanos(tick) < kept.claim.ceiling {
                true => Ok(()),
                false => Err(lease::not_leased(kept)),
            }
        })
    }

    /// Moves the gates past a stamp, or waits until the lease lets it through.
    fn extend<S: Issuer>(&mut self, stamp: Stamp) -> Result<Pass, Report> {
        if !self.leased {
            return horizon::extend::<S>(self.shared, self.scale, stamp);
        }
        match lease::extend::<S>(self.shared, self.scale, stamp) {
            Ok(Pass::Leased) => self.wait_for_lease::<S>(stamp)?,
            // Others may be held, or will soon be.
            Err(LeaseError::NotLeased(_)) => self.renew::<S>()?,
            passed => return Ok(passed?),
        }
        Ok(Pass::Near)
    }

    /// Does what a stall asks for; afterwards it is worth asking again, at the gate it names.
    #[cold]
    fn overcome<S: Issuer>(&mut self, stall: Stall) -> Result<Pass, Report> {
        match stall {
            Stall::Wait { until, now } => self.wait::<S>(until, now)?,
            Stall::Gated(stamp) => return self.extend::<S>(stamp),
            Stall::SteppedBack { from, now } => {
                let by = Duration::from_nanos((from.0 - now.0) * self.scale.unit());
                server_log::stepped_back(&self.shared.rate_limits, S::PLACE, by, S::TICK_TOCK);
            }
            // The worker announces a new generation before it seals cells of a server that goes on.
            Stall::Sealed => return Err(stopping(S::NAME)),
            Stall::Outdated => self.renew::<S>()?,
            Stall::Ended => return Err(ended(S::NAME, self.scale.start(self.rules.end))),
            Stall::BeforeEpoch => return Err(before_epoch(S::NAME, self.scale.start(Tick(0)))),
        }
        Ok(Pass::Near)
    }

    /// Makes the list of partitions again, as generator IDs have come or gone.
    fn renew<S: Issuer>(&mut self) -> Result<(), Report> {
        self.session.drop_rest(&self.cells);
        *self = Self::make::<S>(Some(&*self))?;
        Ok(())
    }
}

/// Whether a system's generator IDs are leased.
fn is_leased<S: Issuer>() -> bool {
    matches!(S::IDENTITY, Identity::GeneratorIds { .. }) && guc::leased().is_some()
}

fn clock_behind(name: &str, by: Duration, wait: Duration) -> Report {
    Report::new(
        Code::ERRCODE_SYSTEM_ERROR,
        format!("the clock is {} behind the last {name} ID", span(by)),
    )
    .detail(format!(
        "A new ID could be the same as an earlier one. The wait limit (\"flakeid.max_clock_wait\") is {}.",
        span(wait)
    ))
    .hint(
        "Check the server's clock and its time synchronization. IDs are generated again as soon as the clock \
         has caught up.",
    )
}

fn before_epoch(name: &str, first: UnixMicros) -> Report {
    Report::wrong_state(format!("the clock is before the epoch of {name}"))
        .detail(format!("The first {name} has the time {}.", moment(first)))
        .hint(match name {
            flake::NAME => "Check the server's clock and \"flakeid.epoch\".",
            _ => "Check the server's clock.",
        })
}

fn ended(name: &str, last: UnixMicros) -> Report {
    Report::new(
        Code::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
        format!("no {name} ID can be generated after {}", moment(last)),
    )
    .hint(match name {
        flake::NAME => "Check the server's clock and \"flakeid.epoch\".",
        _ => "Check the server's clock.",
    })
}

fn stopping(name: &str) -> Report {
    Report::new(
        Code::ERRCODE_ADMIN_SHUTDOWN,
        format!("cannot generate {name} IDs while the server is shutting down"),
    )
}

/// This process's number among the server's, small and its own while it lives.
pub(super) fn process_number() -> u32 {
    // SAFETY: set when the process joined the server, before it could run a function.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let number = unsafe { pg_sys::MyProcNumber };
    // SAFETY: MyProc is set when the process joined the server, before it could run a function.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let number = unsafe { (*pg_sys::MyProc).pgprocno };
    number as u32
}
