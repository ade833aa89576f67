//! The hot path: from a call to an ID.
//!
//! What a backend keeps per system ([`Source`]) it looks up once and again after a reload: the
//! addresses of its node's cells, the rules, and where its session stands. An ID then costs a reading
//! of the clock and a compare-and-swap; no lock, no system call, no call into the server, no memory
//! but what a value by reference needs.
//!
//! A list that was made for an earlier generation of the server's identity (the generator IDs, and whether they
//! are leased) gives nothing, not even what was taken ahead, and is made again: why a session notices that
//! at every point of its work is argued in [`flakeid_core::gate`].

use crate::clock::Stopwatch;
use crate::error::{Failure, OrRaise};
use crate::horizon::{Gates, Pass};
use crate::identity::Identity;
use crate::identity::lease::{self, Kept, Marked, State};
use crate::shmem::{ExclusiveLock, Shared, shared};
use crate::{clock, guc, horizon, note, systems, wait};
use flakeid_core::cell::Cell;
use flakeid_core::clock::{Scale, Tick, UnixNanos};
use flakeid_core::generator::{Block, Rules, Stamp, System};
use flakeid_core::generator_ids::Owned;
use flakeid_core::session::{Issued, Session, Stall};
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::time::Duration;

/// What the hot path has to know of a system beyond the core's [`System`]. Its file in `types` says it.
pub trait Served: System + Sized + 'static {
    /// As the table of systems has it.
    const NAME: &'static str;
    /// The function that asks, for messages.
    const NEXT: &'static str;
    const IDENTITY: Identity;
    fn scale() -> Scale;
    /// [`Scale::tick`] of that scale.
    fn tick(scale: Scale, now: UnixNanos) -> Option<Tick>;
    fn rules() -> Rules;
    /// This process's own.
    fn source() -> &'static Backend<Self>;
}

/// One of the node's cells of a system.
#[derive(Clone, Copy, Debug)]
pub struct Partition {
    /// By which it is found.
    key: u16,
    /// What its IDs have as generator ID, or as node.
    pub mark: u64,
}

/// A system's partitions on this node, by rising mark.
pub fn partitions<S: Served>() -> Result<Vec<Partition>, Failure> {
    let ids = match (S::IDENTITY, guc::owned()) {
        // The cell is the same under each name that the node may have in turn.
        (Identity::Node(mark), _) => return Ok(vec![Partition { key: 0, mark: mark()? }]),
        (_, None) => return Err(Failure::NoGeneratorIds),
        (_, Some(Owned::Fixed(ids))) => {
            lease::set_cluster(None);
            ids.as_slice().to_vec()
        }
        (_, Some(Owned::Leased(_))) => {
            let shared = shared()?;
            no_standby(S::NEXT)?;
            let kept = lease::wait(shared, |lock| lease::held(shared, &lock).copied())?;
            lease::set_cluster(Some(kept.cluster));
            kept.held().iter().map(|held| held.id).collect()
        }
    };
    numbered::<S>(&ids)
}

/// The partitions of these generator IDs.
fn numbered<S: Served>(ids: &[u16]) -> Result<Vec<Partition>, Failure> {
    if let Identity::GeneratorIds { max } = S::IDENTITY
        && let Some(&id) = ids.iter().find(|&&id| u64::from(id) > max)
    {
        return Err(Failure::GeneratorTooLarge { system: S::NAME, id, max });
    }
    Ok(ids.iter().map(|&id| Partition { key: id, mark: id.into() }).collect())
}

/// The partitions with their cells, and the count of the lease's changes at that moment. A cell that was
/// sealed when its ID was given up is revived.
///
/// # Errors
/// [`Failure::NotLeased`] and others of [`partitions`].
fn cells<S: Served>(shared: &'static Shared) -> Result<Cells, Failure> {
    let owned = guc::owned();
    match (S::IDENTITY, owned) {
        (Identity::GeneratorIds { .. }, Some(Owned::Leased(_))) => lease::wait(shared, |lock| {
            let kept = lease::held(shared, &lock)?;
            refuse_other_epoch::<S>(kept)?;
            let ids: Vec<u16> = kept.held().iter().map(|held| held.id).collect();
            let cells = found::<S>(shared, &lock, numbered::<S>(&ids)?, kept.held())?;
            lease::set_cluster(Some(kept.cluster));
            Ok(cells)
        }),
        _ => {
            let partitions = partitions::<S>()?;
            if let Some(cells) = there::<S>(shared, &partitions) {
                return Ok(cells);
            }
            let numbered = matches!(S::IDENTITY, Identity::GeneratorIds { .. });
            let fingerprint = guc::identity_fingerprint();
            let usable = |state| state == State::Off && shared.lease.admits(fingerprint);
            lease::wait(shared, |lock| match lease::state(shared, &lock) {
                state if numbered && !usable(state) => Err(Failure::StillLeased),
                _ => found::<S>(shared, &lock, partitions.clone(), &[]),
            })
        }
    }
}

/// The cells of these partitions where they are all there, as they mostly are: without the lock, which
/// another session may have while it writes the horizon.
fn there<S: Served>(shared: &'static Shared, partitions: &[Partition]) -> Option<Cells> {
    let generation = shared.lease.generation();
    let lease = &shared.lease;
    if matches!(S::IDENTITY, Identity::GeneratorIds { .. })
        && (lease.is_active() || !lease.admits(guc::identity_fingerprint()))
    {
        return None;
    }
    let cell = |partition: &Partition| {
        let cell = shared.find(const { systems::index(S::NAME) }, partition.key)?;
        (!cell.is_sealed()).then_some(cell)
    };
    let cells = partitions.iter().map(cell).collect::<Option<_>>()?;
    Some(Cells { partitions: partitions.to_vec(), cells, generation })
}

/// What a session issues from.
struct Cells {
    partitions: Vec<Partition>,
    cells: Vec<&'static Cell>,
    generation: u64,
}

/// The cells of these partitions, brought in or revived above what their generator IDs were leased with.
fn found<S: Served>(
    shared: &'static Shared,
    lock: &ExclusiveLock,
    partitions: Vec<Partition>,
    leased: &[Marked],
) -> Result<Cells, Failure> {
    let cell = |partition: &Partition| {
        let marked = leased.iter().find(|leased| leased.id == partition.key);
        let mark = marked.map_or(UnixNanos(0), |held| held.mark);
        let begin = |cell: &Cell| cell.begin::<S>(horizon::start::<S>(shared, mark));
        let system = const { systems::index(S::NAME) };
        let cell = shared.cell(lock, system, partition.key, begin)?;
        if !shared.lease.is_stopping() {
            horizon::revive::<S>(shared, cell, mark);
        }
        Ok(cell)
    };
    let cells = partitions.iter().map(cell).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Cells { partitions, cells, generation: shared.lease.generation() })
}

/// Generator IDs go from server to server: they must all count from one epoch, or a later holder's ticks
/// would be an earlier one's.
fn refuse_other_epoch<S: Served>(kept: &Kept) -> Result<(), Failure> {
    let epoch = S::scale().epoch();
    match S::NAME == flakeid_core::flake::NAME && epoch != kept.epoch {
        true => Err(Failure::OtherEpoch { epoch, theirs: kept.epoch }),
        false => Ok(()),
    }
}

/// A run of IDs of one generator.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The partition's mark.
    pub generator: u64,
    pub block: Block,
}

/// This backend's source of one system's IDs.
pub struct Backend<S>(UnsafeCell<Option<Source>>, std::marker::PhantomData<S>);

// SAFETY: a backend runs this library's code on its main thread alone.
unsafe impl<S> Sync for Backend<S> {}

struct Source {
    /// The settings' version that the rest was made from.
    version: u32,
    session: Session,
    cells: Vec<&'static Cell>,
    marks: Vec<u64>,
    rules: Rules,
    scale: Scale,
    shared: &'static Shared,
    /// The gates to go by.
    gates: &'static Gates,
    /// Whether these are capped by a lease.
    leased: bool,
}

impl<S: Served> Backend<S> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None), std::marker::PhantomData)
    }

    /// The source, made anew after a reload.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    fn ready(&'static self) -> &'static mut Source {
        // SAFETY: one thread; no reference to the source outlives the call that made it, and nothing
        // that runs in between (interrupts raise errors, they run no SQL) comes back here.
        let slot = unsafe { &mut *self.0.get() };
        let fresh = matches!(slot, Some(source) if source.version == guc::version());
        if !fresh {
            Self::refresh(slot);
        }
        match slot {
            Some(source) => source,
            None => pgrx::error!("a source of IDs was made and is not there"),
        }
    }

    /// Gives up what the session has taken ahead.
    fn drop_rest(slot: &mut Option<Source>) {
        if let Some(source) = slot {
            source.session.drop_rest(&source.cells);
        }
    }

    #[cold]
    fn refresh(slot: &mut Option<Source>) {
        Self::drop_rest(slot);
        *slot = Some(Source::make::<S>(slot.as_ref()).or_raise());
    }
}

impl Source {
    #[cold]
    fn make<S: Served>(before: Option<&Source>) -> Result<Self, Failure> {
        // It is asked until it says no; a server never goes back into recovery.
        if before.is_none() {
            no_standby(S::NEXT)?;
        }
        guc::ensure_usable()?;
        let version = guc::version();
        let shared = shared()?;
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
            gates: horizon::gates(shared, leased),
            leased,
        })
    }

    #[inline(always)]
    fn take<S: Served>(&mut self, want: u32) -> Run {
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
    fn wait<S: Served>(&self, until: Tick, now: Tick) -> Result<(), Failure> {
        let shared = self.shared;
        // A cell that has just begun is no cell that was used up.
        let used_up = |cell: &&Cell| cell.counters.get().exhausted > 0;
        if until.0 <= now.0 + 1 && self.cells.last().is_some_and(used_up) {
            note::used_up(shared, const { systems::index(S::NAME) }, self.cells.len());
        }
        let longest = guc::max_clock_wait();
        let patience = longest.max(shared.record.recovery_left::<S>(guc::horizon_lead()));
        let watch = Stopwatch::start();
        let waited = wait::until(until, self.scale, patience);
        let nanos = watch.elapsed().as_nanos() as u64;
        self.cells[self.session.home()].counters.waited(nanos);
        waited.map_err(|by| Failure::ClockBehind { system: S::NAME, by, wait: longest })
    }

    /// Waits until the generator IDs' lease lets a stamp through: until it has been renewed, or, where the
    /// clock has stepped back behind a stamp that it does reach, for the clock.
    fn wait_for_lease<S: Served>(&self, stamp: Stamp) -> Result<(), Failure> {
        let (tick, shared) = (stamp.tick::<S>(), self.shared);
        let now = self.scale.tick(clock::now()).unwrap_or(Tick(0));
        if now < tick {
            return self.wait::<S>(tick, now);
        }
        shared.lease.ask();
        lease::wait(shared, |lock| {
            let kept = lease::held(shared, &lock)?;
            match self.scale.nanos(tick) < kept.claim.ceiling {
                true => Ok(()),
                false => Err(kept.failure()),
            }
        })
    }

    /// Does what a stall asks for; afterwards it is worth asking again, at the gate it names.
    #[cold]
    fn overcome<S: Served>(&mut self, stall: Stall) -> Result<Pass, Failure> {
        match stall {
            Stall::Wait { until, now } => self.wait::<S>(until, now)?,
            Stall::Gated(stamp) => {
                match horizon::extend::<S>(self.shared, self.scale, stamp, self.leased) {
                    Ok(Pass::Leased) => self.wait_for_lease::<S>(stamp)?,
                    // Others may be held, or will soon be.
                    Err(Failure::NotLeased { .. }) => self.renew::<S>()?,
                    passed => return passed,
                }
            }
            Stall::SteppedBack { from, now } => {
                let by = Duration::from_nanos((from.0 - now.0) * self.scale.unit());
                let system = const { systems::index(S::NAME) };
                note::stepped_back(self.shared, system, by, S::TICK_TOCK);
            }
            // The worker announces a new generation before it seals cells of a server that goes on.
            Stall::Sealed => return Err(Failure::Stopping { system: S::NAME }),
            Stall::Outdated => self.renew::<S>()?,
            Stall::Ended => {
                let last = self.scale.start(self.rules.end);
                return Err(Failure::Ended { system: S::NAME, last });
            }
            Stall::BeforeEpoch => {
                let first = self.scale.start(Tick(0));
                return Err(Failure::BeforeEpoch { system: S::NAME, first });
            }
        }
        Ok(Pass::Near)
    }

    /// Makes the list of partitions anew, as generator IDs have come or gone.
    fn renew<S: Served>(&mut self) -> Result<(), Failure> {
        self.session.drop_rest(&self.cells);
        *self = Self::make::<S>(Some(&*self))?;
        Ok(())
    }
}

/// Whether a system's generator IDs are leased.
fn is_leased<S: Served>() -> bool {
    matches!(S::IDENTITY, Identity::GeneratorIds { .. }) && guc::leased().is_some()
}

/// Up to `want` IDs (at least one), all of one generator and tick; raises an error where there are
/// none to be had.
#[inline(always)]
pub fn take<S: Served>(want: u32) -> Run {
    S::source().ready().take::<S>(want)
}

/// One ID of those that this session took ahead; nothing where there is none, or whenever there is anything
/// else to do than to read the clock. It raises no error and does not panic.
#[inline(always)]
pub fn ahead<S: Served>() -> Option<Run> {
    // SAFETY: as in `ready`.
    let source = unsafe { (*S::source().0.get()).as_mut() }?;
    if source.version != guc::version() {
        return None;
    }
    let scale = source.scale;
    let mut clock = || S::tick(scale, clock::now());
    let issued = source.session.ahead::<S>(&source.cells, 1, &source.gates.near, &mut clock)?;
    let generator = *source.marks.get(issued.partition)?;
    Some(Run { generator, block: issued.block })
}

/// This process ends.
pub fn leave<S: Served>() {
    // SAFETY: as in `ready`; where a session is ended while it waits, nothing goes on after this.
    Backend::<S>::drop_rest(unsafe { &mut *S::source().0.get() });
}

/// # Errors
/// [`Failure::Standby`] while the server is in recovery.
pub fn no_standby(function: &'static str) -> Result<(), Failure> {
    // SAFETY: a call without conditions.
    match unsafe { pg_sys::RecoveryInProgress() } {
        true => Err(Failure::Standby { function }),
        false => Ok(()),
    }
}

/// This process's number among the server's, small and its own while it lives.
fn process_number() -> u32 {
    // SAFETY: set when the process joined the server, before it could run a function.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let number = unsafe { pg_sys::MyProcNumber };
    // SAFETY: as above.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let number = unsafe { (*pg_sys::MyProc).pgprocno };
    number as u32
}

/// The generator ID where this session begins its ticks when it is not in need of room; `None` where
/// the node's are not known.
pub fn home(ids: &[u16]) -> Option<u16> {
    if ids.is_empty() {
        return None;
    }
    ids.get(Session::new(process_number(), ids.len()).home()).copied()
}
