//! What is kept of a lease in shared memory.

use crate::clock::{boot, now};
use crate::error::Failure;
use flakeid_core::clock::UnixNanos;
use flakeid_core::generator_ids::MAX_OWNED;
use flakeid_core::lease::Claim;
use std::time::Duration;

/// Where things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Generator IDs are not leased.
    Off,
    /// None has been leased yet.
    Starting,
    /// All of the pool are leased by others.
    Waiting,
    Held,
    /// They were held, and are not any more.
    Lost,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Starting => "starting",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Lost => "lost",
        }
    }
}

/// A text of shared memory, cut to what there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Text<const N: usize> {
    len: usize,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    const EMPTY: Self = Self { len: 0, bytes: [0; N] };

    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        let len = text.floor_char_boundary(N);
        let mut bytes = [0; N];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self { len, bytes }
    }
}

/// A generator ID and the mark that it was claimed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    pub id: u16,
    /// Every ID that was made under it before has a tick that begins before this.
    pub mark: UnixNanos,
    /// The revision of etcd in which the claim was last written, and the mark with it.
    pub revision: i64,
}

/// A generator ID, and the revision in which its claim was last written.
pub type Revision = (u16, i64);

impl Marked {
    /// The same as of another revision, if there is one for it.
    #[must_use]
    pub fn as_of(self, revisions: &[Revision]) -> Self {
        let new = revisions.iter().find(|(id, _)| *id == self.id);
        Self { revision: new.map_or(self.revision, |&(_, revision)| revision), ..self }
    }
}

/// What is kept in shared memory. Clocks are in nanoseconds since 1970; 0 is never.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub state: State,
    pub wanted: usize,
    /// Those that are held, by rising ID.
    pub(super) held: [Marked; MAX_OWNED],
    pub(super) count: usize,
    /// The cluster ID of the etcd that granted the lease.
    pub etcd: u64,
    pub cluster: u16,
    /// flake's epoch, which all servers of a namespace have in common.
    pub epoch: UnixNanos,
    /// The present lease, or the last one; 0 for none.
    pub lease: i64,
    /// Of which namespace they are.
    pub namespace: Text<128>,
    /// How long a lease is granted for.
    pub ttl: Duration,
    pub claim: Claim,
    /// When the request was sent, by the clock since boot, that renewed it last.
    pub sent: Duration,
    pub since: UnixNanos,
    pub renewed: UnixNanos,
    pub losses: u64,
    pub lost: UnixNanos,
    pub endpoint: Text<256>,
    /// The last trouble, and when that was.
    pub trouble: Text<512>,
    pub troubled: UnixNanos,
    pub worker: i32,
}

impl Kept {
    pub(super) const NONE: Self = Self {
        state: State::Off,
        wanted: 0,
        held: [Marked { id: 0, mark: UnixNanos(0), revision: 0 }; MAX_OWNED],
        count: 0,
        etcd: 0,
        cluster: 0,
        epoch: UnixNanos(0),
        lease: 0,
        namespace: Text::EMPTY,
        ttl: Duration::ZERO,
        claim: Claim { ceiling: UnixNanos(0), deadline: Duration::ZERO },
        sent: Duration::ZERO,
        since: UnixNanos(0),
        renewed: UnixNanos(0),
        losses: 0,
        lost: UnixNanos(0),
        endpoint: Text::EMPTY,
        trouble: Text::EMPTY,
        troubled: UnixNanos(0),
        worker: 0,
    };

    pub fn held(&self) -> &[Marked] {
        &self.held[..self.count]
    }

    /// Whether IDs may be made now.
    pub(super) fn is_good(&self, boot: Duration) -> bool {
        self.state == State::Held && !self.claim.is_over(boot)
    }

    /// Where things stand now: a deadline that has passed is seen before the worker has seen to it, or
    /// where it can't.
    pub fn state_at(&self, boot: Duration) -> State {
        match self.state {
            State::Held if self.claim.is_over(boot) => State::Lost,
            state => state,
        }
    }

    /// As `etcdctl` writes it.
    pub fn lease_text(&self) -> Option<String> {
        (self.lease != 0).then(|| format!("{:x}", self.lease))
    }

    /// Why there are no IDs.
    pub fn failure(&self) -> Failure {
        let last = self.trouble.get();
        Failure::NotLeased {
            state: self.state_at(boot()),
            lease: self.lease_text(),
            // A backend may see that it is over before the worker does.
            lost: match self.state {
                State::Held => boot().saturating_sub(self.claim.deadline),
                _ => Duration::from_nanos(now().0.saturating_sub(self.lost.0)),
            },
            trouble: (!last.is_empty()).then(|| last.into()),
        }
    }

    /// The same with these IDs alone, to speak of them.
    pub fn only(&self, ids: &[Marked]) -> Self {
        let mut kept = Self { count: 0, ..*self };
        ids.iter().for_each(|&marked| kept.insert(marked));
        kept
    }

    /// Claims were written in these revisions.
    pub(super) fn written(&mut self, revisions: &[Revision]) {
        for held in &mut self.held[..self.count] {
            *held = held.as_of(revisions);
        }
    }

    /// Adds an ID, or puts it in place of what is there of the same ID: none is in the list twice.
    pub(super) fn insert(&mut self, marked: Marked) {
        let place = self.held().partition_point(|held| held.id < marked.id);
        if let Some(held) = self.held[..self.count][place..].first_mut()
            && held.id == marked.id
        {
            *held = marked;
            return;
        }
        self.held.copy_within(place..self.count, place + 1);
        self.held[place] = marked;
        self.count += 1;
    }

    pub(super) fn remove(&mut self, id: u16) {
        if let Some(place) = self.held().iter().position(|held| held.id == id) {
            self.held.copy_within(place + 1..self.count, place);
            self.count -= 1;
        }
    }
}
