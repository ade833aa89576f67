//! The watermark: the time before which every ID is settled, for readers in ID order.
//!
//! Summary: a row appears when its transaction commits, and not when its ID is generated. So a
//! reader that continues after the last ID it saw can miss rows. A transaction that has generated
//! IDs therefore stands in a [`TransactionSlot`], with a lower bound of their times, until its rows
//! are visible. A reader first raises the [`Floor`], below which no later transaction generates
//! IDs, and then reads all slots ([`Scan`]). The result is the watermark of its snapshot.
//!
//! # Terms
//! * A *bound* is a time: no tick of the transaction's IDs begins before it.
//! * A snapshot *sees* a transaction if that transaction had ended when the snapshot was taken.
//!   Whether it committed or was rolled back makes no difference here.
//! * A watermark W *holds* for a snapshot if this is true: no row becomes visible after the
//!   snapshot whose ID was generated in the row's own transaction, and whose tick begins before W.
//! * A [`Stream`] is a set of IDs, and has a watermark of its own. That holds if the sentence above
//!   is true of the rows whose IDs are of the stream. The stream [`Stream::ALL`] has all IDs.
//!
//! # What a session does
//! 1. Before the first ID of a transaction the session calls [`TransactionSlot::enter`]. It
//!    generates IDs only of ticks that begin at or after the bound that this returns, in both
//!    timelines of sno. It discards prefetched IDs of earlier ticks. If the clock has stepped back,
//!    it waits. See [Streams](#streams) for the first ID of each stream.
//! 2. When the transaction has ended and its rows are visible to new snapshots, the session calls
//!    [`TransactionSlot::leave`]. It passes the transaction's number if the transaction could write
//!    rows.
//!
//! Only the session that owns a slot enters, lowers and leaves there. Readers change one thing in
//! it: they make a provisional bound final.
//!
//! If the clock steps back, a session may [lower](TransactionSlot::lower) its transaction's bound,
//! down to the floor. Without that sno could not change its timeline in a long transaction.
//!
//! # Why the watermark holds for the snapshot of the scan
//! Take a transaction T with an ID before W. T's rows became visible after the snapshot, or will do
//! so. There are three cases for what the scan found in the slot of T's session:
//! 1. *T had not entered.* The scan raised the floor to at least W before it read the slot. T's
//!    session stored a provisional bound in the slot, and read the floor after that. All four
//!    accesses, or a fence between two of them, are in one order that all threads agree on. So the
//!    session read a floor of at least W, and T's bound is at least W: the session never takes a
//!    bound below a floor that it read there. T has no ID before W.
//! 2. *T had entered and not left.* Then its bound limits W. If the bound is provisional, the
//!    session's bound is not known yet. The scan reads the floor, and makes that the final bound by
//!    an exchange. Of the exchanges of the session and of all scans one succeeds. The scan uses the
//!    bound of that one, and the session takes no lower bound. If T lowers its bound after the
//!    scan, that is case 1 again: it stores a low bound, and reads the floor after that. The new
//!    bound is at least W.
//! 3. *T had left.* It left after its rows had become visible, so the snapshot was taken before
//!    that and does not see T. Then T is among the entries that [`TransactionSlot::leave`] keeps,
//!    and its bound limits W, or the scan says that entries were forgotten.
//!
//! The argument is about the rows and the bounds of one stream, and is the same for each
//! ([Streams](#streams)).
//!
//! One session's transactions end one after the other. So a scan reads its entries from the latest
//! on, and stops at the first that the snapshot sees: the snapshot sees all earlier ones, too.
//!
//! # Old snapshots
//! A slot keeps only a few entries. If a snapshot is so old that it sees none of them, the scan
//! cannot know all bounds, and [`Scan::watermark`] returns `None`. Then a watermark of an earlier
//! scan can serve, if it holds for the snapshot: [`History`] keeps some. [`Scan::settled`] is such
//! a watermark. It ignores the entries of transactions that have left, so it holds for every
//! snapshot that sees all transactions which had left before the scan. A [`Position`] says which
//! snapshots these are.
//!
//! # What does not fall
//! The floor never falls, and a scan begins with the greatest floor there is. No bound that a scan
//! meets is below an earlier watermark: it is that of a transaction which the earlier scan met too,
//! or it was made final after the floor was raised for that scan. So the watermarks of later and
//! later snapshots do not fall. There are these exceptions, and each W holds for its snapshot all
//! the same:
//! * The snapshot is older, or the history has to answer.
//! * A session is lowering its bound.
//! * A session is entering, and a scan makes its bound final that read the floor for an earlier
//!   transaction of this session, which had entered at the same floor. Then the bound is that floor
//!   until the session has stored its own.
//!
//! # Streams
//! A slot has a bound for each stream, and each stream has the protocol above, with the same floor.
//! A stream adds this:
//! * *A session enters a stream before its transaction's first ID of that stream*, and enters
//!   [`Stream::ALL`] with the first ID of all. After the return of [`TransactionSlot::enter`] all
//!   IDs of the transaction are of ticks at or after the greatest bound of the streams that it has
//!   entered. So they are at or after the bound of each. An ID that was generated earlier may be
//!   below that bound: it is not of the stream.
//! * *Case 1 is about the stream.* T may have had other IDs for a long time, and enters the stream
//!   after the scan has read its bound there. It stores a provisional bound for the stream, and
//!   reads the floor after that.
//! * *Lowering lowers all bounds.* [`TransactionSlot::lower`] stores a low bound for each stream
//!   that the transaction has entered, then reads the floor, and raises none above what it was. A
//!   later ID may be of any of these streams.
//! * *An entry says for which streams its bound is.* [`TransactionSlot::leave`] writes one for all
//!   streams with the same bound, so a transaction can have several, one after the other. A scan of
//!   a stream skips entries without the stream. It stops at the same entry as any other scan.
//! * *The history is that of all IDs.* Each scan also finds what is settled for [`Stream::ALL`]. A
//!   watermark of all IDs holds for each stream, so it serves old snapshots. It can be far below an
//!   earlier watermark of the stream.
//! * *A prepared transaction counts for all streams.* Its bound lock does not say which it has.
//!
//! The floor rises by the scans of all streams, so a scan of one stream can make a session wait
//! that enters another, if the clock has stepped back. It holds back no watermark.
//!
//! Why the generating call names the stream, and nothing else does: the promise is about IDs, and
//! the call is the only place where an ID and its stream are known together.
//! * A setting of the session would give its stream to all IDs, also to those of a trigger that
//!   writes into another table.
//! * A lock on the table comes too late for an ID that was generated before the lock was taken, and
//!   its absence says nothing about the bound of a transaction that takes it later.
//!
//! # What outlives what
//! * *A crash or a restart.* Slots and floor are lost. The caller keeps the floor at or below the
//!   durable horizon of every track ([`gate`](crate::gate)). After the start the floor begins at
//!   the greatest track, for both timelines of sno, too.
//! * *A clean stop.* The horizon becomes exact, and the exact horizon covers what was issued. It
//!   must cover the floor as well: readers raise the floor without issuing anything.
//! * *A session that dies.* Its transaction is rolled back before its slot is used again, or the
//!   server restarts.
//! * *A prepared transaction.* It outlives its session, and the server. The caller keeps its bound
//!   with it durably, and puts both into a list ([`prepared`](crate::prepared)) before the session
//!   leaves. The session passes no number then, as the transaction has not ended. A scan reads the
//!   list after all slots, and adds ([`Scan::add`]) each transaction that the snapshot does not
//!   see. So the list keeps a transaction for a while after its end, as slots do. A transaction
//!   without a bound, which another program prepared, has the bound 0.

use crate::clock::UnixNanos;
pub use crate::history::{History, Position};
pub use crate::streams::{Stream, Streams};
use crate::sync::{AtomicU64, Ordering, fence, keep_seq_cst_order};
use core::array;
use core::time::Duration;

/// The longest tick of all ID types, which is that of sno. A tick that holds the present time began
/// at most so long ago.
pub const LONGEST_TICK: Duration = Duration::from_millis(4);

/// An idle slot.
const IDLE: u64 = u64::MAX;

/// The bit of a slot's bound that says that it is provisional. Bounds and floors are even numbers
/// of nanoseconds.
const PROVISIONAL: u64 = 1;

/// Returns a time as a slot shows it, without the bit of [`PROVISIONAL`].
const fn time_of(bound: u64) -> UnixNanos {
    match bound {
        IDLE => UnixNanos(IDLE),
        _ => UnixNanos(bound & !PROVISIONAL),
    }
}

/// Returns the greatest time before which no tick begins that still holds `now`: a reading of the
/// clock less the longest tick.
pub fn settled_by_clock(now: UnixNanos) -> UnixNanos {
    UnixNanos(now.0.saturating_sub(LONGEST_TICK.as_nanos() as u64))
}

/// The time below which no transaction generates IDs that enters later. It never falls.
#[derive(Debug)]
pub struct Floor(AtomicU64);

impl Floor {
    /// Creates a floor at a time below which no ID is generated from now on.
    pub fn at(time: UnixNanos) -> Self {
        Self(AtomicU64::new(time.0.next_multiple_of(2)))
    }

    /// Returns the floor, in nanoseconds since 1970.
    pub fn get(&self) -> UnixNanos {
        UnixNanos(self.0.load(Ordering::SeqCst))
    }

    /// Raises the floor to a time, cut to an even number of nanoseconds. Returns the floor: that
    /// time, or a greater one that was there before.
    pub fn raise(&self, to: UnixNanos) -> UnixNanos {
        let to = time_of(to.0);
        UnixNanos(self.0.fetch_max(to.0, Ordering::SeqCst)).max(to)
    }
}

/// A transaction that has left: its number, and its bound in some streams.
#[derive(Debug)]
struct Entry {
    transaction: AtomicU64,
    bound: AtomicU64,
    /// The streams, as the bits of [`Streams`].
    streams: AtomicU64,
}

/// The state that one session shows to readers. It keeps the last `ENTRIES` entries of transactions
/// that have left, of which a reader can use all but the oldest.
#[derive(Debug)]
pub struct TransactionSlot<const ENTRIES: usize, const STREAMS: usize = 1> {
    /// How many entries have been written since the slot was created.
    written: AtomicU64,
    /// The streams that the transaction has entered, as the bits of [`Streams`]. Scans do not read
    /// it.
    entered: AtomicU64,
    /// The bound of the transaction in each stream, or [`IDLE`].
    bounds: [AtomicU64; STREAMS],
    entries: [Entry; ENTRIES],
}

impl<const ENTRIES: usize, const STREAMS: usize> TransactionSlot<ENTRIES, STREAMS> {
    /// Creates the slot of a session without a transaction.
    pub fn idle() -> Self {
        const {
            assert!(ENTRIES >= 2, "a reader can use all entries but one");
            assert!(STREAMS >= 1 && STREAMS <= 64, "there is the stream of all IDs");
        }
        let entry = |_| Entry {
            transaction: AtomicU64::new(0),
            bound: AtomicU64::new(IDLE),
            streams: AtomicU64::new(0),
        };
        Self {
            written: AtomicU64::new(0),
            entered: AtomicU64::new(0),
            bounds: array::from_fn(|_| AtomicU64::new(IDLE)),
            entries: array::from_fn(entry),
        }
    }

    fn bound(&self, stream: Stream) -> &AtomicU64 {
        &self.bounds[stream.place()]
    }

    /// Enters a transaction into these streams, before its first ID in them. Returns the bound,
    /// which is the same in all of them. The closure reads the clock, and returns a time at or
    /// before the beginning of all ticks that hold that reading ([`settled_by_clock`]), or a
    /// greater one at or before the ticks of all IDs to come.
    ///
    /// Only the slot's own session may call this, once in a transaction for each stream. The first
    /// call has [`Stream::ALL`].
    #[inline]
    pub fn enter(
        &self,
        streams: Streams,
        floor: &Floor,
        clock: impl FnOnce() -> UnixNanos,
    ) -> UnixNanos {
        self.entered.store(self.streams().and(streams).bits(), Ordering::Relaxed);
        let provisional = floor.get().0 | PROVISIONAL;
        for stream in streams.iter() {
            // Release: a reader that finds this bound finds the entries of the last transaction.
            self.bound(stream).store(provisional, Ordering::Release);
        }
        // The stores come before the second load of the floor in the one order of case 1 of the
        // header. For several streams a fence costs less than a SeqCst store to each.
        fence(Ordering::SeqCst);
        let now = time_of(clock().0);
        let mut bound = floor.get().max(now);
        let mut are_alike = true;
        for stream in streams.iter() {
            // A reader's bound may be below this one: the reader knows no clock. It may also be an
            // earlier floor, if the reader began when the slot's last transaction entered at the
            // same floor.
            if let Err(settled) = finalize_bound(self.bound(stream), provisional, bound) {
                bound = bound.max(settled);
                are_alike = false;
            }
        }
        if !are_alike {
            for stream in streams.iter() {
                // Release: readers may see the other bound for longer, which is not greater.
                self.bound(stream).store(bound.0, Ordering::Release);
            }
        }
        bound
    }

    /// Lowers the bounds of the transaction that has entered to the time of the clock or the floor,
    /// whichever is greater. Returns the greatest of them. The closure is that of [`Self::enter`].
    ///
    /// Only the slot's own session may call this.
    #[cold]
    pub fn lower(&self, floor: &Floor, clock: impl FnOnce() -> UnixNanos) -> UnixNanos {
        let streams = self.streams();
        let before = self.bounds.each_ref().map(|bound| time_of(bound.load(Ordering::Relaxed)));
        // As in `enter`, the stores come before the second load of the floor. No reader may make
        // these bounds final: the floor may be above IDs that the transaction has.
        let low = floor.get();
        for stream in streams.iter() {
            let low = low.min(before[stream.place()]);
            self.bound(stream).store(low.0, Ordering::SeqCst);
        }
        keep_seq_cst_order();
        let now = time_of(clock().0);
        let to = floor.get().max(now);
        let mut greatest = UnixNanos(0);
        for stream in streams.iter() {
            let bound = to.min(before[stream.place()]);
            self.bound(stream).store(bound.0, Ordering::Release);
            greatest = greatest.max(bound);
        }
        greatest
    }

    /// Returns the bound of the transaction that has entered, in the stream of all IDs.
    #[inline]
    pub fn entered(&self) -> Option<UnixNanos> {
        let bound = self.bound(Stream::ALL).load(Ordering::Relaxed);
        Some(bound).filter(|&bound| bound != IDLE).map(time_of)
    }

    /// Returns the streams that the transaction has entered.
    #[inline]
    pub fn streams(&self) -> Streams {
        Streams::from_bits(self.entered.load(Ordering::Relaxed))
    }

    /// Returns how many transactions have left that may have written rows. The number never falls.
    #[inline]
    pub fn left(&self) -> u64 {
        // Acquire: who finds that a transaction has left finds that it has ended.
        self.written.load(Ordering::Acquire)
    }

    /// Ends the transaction that has entered, when it is no longer among the running ones of new
    /// snapshots. The number is that of the transaction if it has written rows. A transaction
    /// without one, or one that was rolled back, shows no row to anyone.
    ///
    /// Only the slot's own session may call this. Without a transaction that has entered it does
    /// nothing.
    #[inline]
    pub fn leave(&self, transaction: Option<u64>) {
        let streams = self.streams();
        if let Some(transaction) = transaction {
            let bound = |stream| self.bound(stream).load(Ordering::Relaxed);
            let mut left = streams;
            while let Some(first) = left.iter().next() {
                let alike = left.iter().filter(|&stream| bound(stream) == bound(first));
                let alike = alike.fold(Streams::NONE, |set, stream| set.and(Streams::of(stream)));
                self.keep(transaction, bound(first), alike);
                left = left.without(alike);
            }
        }
        for stream in streams.iter() {
            // Release: a reader that finds the stream idle finds the entries.
            self.bound(stream).store(IDLE, Ordering::Release);
        }
        self.entered.store(0, Ordering::Relaxed);
    }

    /// Writes an entry.
    #[inline]
    fn keep(&self, transaction: u64, bound: u64, streams: Streams) {
        let written = self.written.load(Ordering::Relaxed);
        // Release: a reader that sees the new entry sees, after its own fence, that so many were
        // written.
        fence(Ordering::Release);
        let entry = &self.entries[(written % ENTRIES as u64) as usize];
        entry.transaction.store(transaction, Ordering::Relaxed);
        entry.bound.store(time_of(bound).0, Ordering::Relaxed);
        entry.streams.store(streams.bits(), Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Release);
    }

    /// Returns the least bound, in a stream, of the transactions that have left and that a snapshot
    /// does not see; `Err` if entries were forgotten that it might not see.
    fn unseen(&self, stream: Stream, sees: &impl Fn(u64) -> bool) -> Result<UnixNanos, Forgotten> {
        let written = self.written.load(Ordering::Acquire);
        let mut least = UnixNanos(IDLE);
        for number in (0..written).rev() {
            // The session may be overwriting the entry of this number with that of
            // `number + ENTRIES`.
            let entry = &self.entries[(number % ENTRIES as u64) as usize];
            let transaction = entry.transaction.load(Ordering::Relaxed);
            let bound = UnixNanos(entry.bound.load(Ordering::Relaxed));
            let streams = Streams::from_bits(entry.streams.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if number + ENTRIES as u64 <= self.written.load(Ordering::Relaxed) {
                return Err(Forgotten);
            }
            if sees(transaction) {
                break;
            }
            if streams.has(stream) {
                least = least.min(bound);
            }
        }
        Ok(least)
    }
}

/// Makes a provisional bound final, and returns it. If another thread has done so, `Err` has what
/// the slot holds.
#[inline]
fn finalize_bound(
    at: &AtomicU64,
    provisional: u64,
    bound: UnixNanos,
) -> Result<UnixNanos, UnixNanos> {
    // Release: readers may see the provisional bound for longer, which is smaller. Acquire: a
    // thread that reads another one's bound comes after that.
    let settled = at.compare_exchange(provisional, bound.0, Ordering::AcqRel, Ordering::Acquire);
    settled.map(|_| bound).map_err(UnixNanos)
}

/// Entries were overwritten that the reader needed.
struct Forgotten;

/// The reading of all slots by one reader, for one snapshot and one stream.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    floor: &'a Floor,
    stream: Stream,
    settled: UnixNanos,
    watermark: UnixNanos,
    is_complete: bool,
}

impl<'a> Scan<'a> {
    /// Begins a scan by raising the floor to a time. The snapshot has been taken. The time is at or
    /// before the beginning of the present tick of each ID type ([`settled_by_clock`]), and below
    /// the durable horizon.
    pub fn begin(floor: &'a Floor, stream: Stream, to: UnixNanos) -> Self {
        let time = floor.raise(to);
        keep_seq_cst_order();
        Self { floor, stream, settled: time, watermark: time, is_complete: true }
    }

    /// Reads a session's slot. The closure says whether the snapshot sees the transaction with a
    /// number.
    pub fn read<const ENTRIES: usize, const STREAMS: usize>(
        &mut self,
        slot: &TransactionSlot<ENTRIES, STREAMS>,
        sees: impl Fn(u64) -> bool,
    ) {
        // The bounds first: a transaction that leaves after these loads is in them, and one that
        // left before is among the entries.
        let entered = self.bound(slot.bound(self.stream));
        let settled = match self.stream {
            Stream::ALL => entered,
            _ => self.bound(slot.bound(Stream::ALL)),
        };
        self.settled = self.settled.min(settled);
        self.watermark = self.watermark.min(entered);
        match slot.unseen(self.stream, &sees) {
            Ok(unseen) => self.watermark = self.watermark.min(unseen),
            Err(Forgotten) => self.is_complete = false,
        }
    }

    /// Reads a bound, and makes it final.
    #[inline]
    fn bound(&self, at: &AtomicU64) -> UnixNanos {
        // SeqCst: case 1 of the header.
        let mut bound = at.load(Ordering::SeqCst);
        // If this fails because the transaction has left, the bound may be that of the next one.
        while bound != IDLE && bound & PROVISIONAL != 0 {
            keep_seq_cst_order();
            let settled = finalize_bound(at, bound, self.floor.get());
            bound = settled.unwrap_or_else(|held| held).0;
        }
        time_of(bound)
    }

    /// Adds the bound of a transaction that stands in no slot, and that the snapshot does not see.
    pub fn add(&mut self, bound: UnixNanos) {
        self.settled = self.settled.min(bound);
        self.watermark = self.watermark.min(bound);
    }

    /// Returns the watermark of the snapshot; `None` if it is so old that a slot has forgotten
    /// entries it might need.
    pub fn watermark(&self) -> Option<UnixNanos> {
        self.is_complete.then_some(self.watermark)
    }

    /// Returns the watermark of all IDs for every snapshot that sees all transactions which had
    /// left before this scan. It is for [`History::record`].
    pub fn settled(&self) -> UnixNanos {
        self.settled
    }
}
