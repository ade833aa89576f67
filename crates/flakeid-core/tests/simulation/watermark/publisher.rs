//! The worker that writes the watermark into the WAL for standbys, as the extension does it.

use super::events::{Event, Flaw};
use super::log::Record;
use super::server::{Life, Server};
use crate::checks::Fault;
use flakeid_core::clock::UnixNanos;
use flakeid_core::flake::Flake;
use flakeid_core::generator::Stamp;
use flakeid_core::watermark::{Floor, Position, Stream};
use flakeid_core::watermark_message::WatermarkMessage;

impl Server {
    /// Writes the watermark of all snapshots that are taken from now on into the WAL.
    pub fn publish(&self, life: &Life) {
        let place = (self.flaw == Flaw::MessageFirst).then(|| self.log.insert(Record::Reserved));
        let Some(message) = self.message(life) else { return };
        let record = Record::Watermark(message.encode());
        match place {
            None => _ = self.log.insert(record),
            Some(place) if self.is_replayed(place) => return,
            Some(place) => self.log.fill(place, record),
        }
        self.saw(Event::Publish);
    }

    /// Returns the message; `None` if the server has crashed.
    fn message(&self, life: &Life) -> Option<WatermarkMessage> {
        self.ensure_loaded(life);
        self.begin_use(life)?;
        self.publish_horizon(life)?;
        let early_position = Position(self.database.next());
        let late = Floor::at(UnixNanos(0));
        let scan = self.scan(life, Stream::ALL, &late, |_| true)?;
        let listed = match self.flaw {
            Flaw::MessageWithoutList => UnixNanos(u64::MAX),
            _ => self.running_bound(life),
        };
        let watermark = scan.settled().min(listed);
        // A session that waits takes its snapshot after the scan.
        let snapshot = self.database.snapshot(life.forgets.get());
        let told = self.database.tell(&snapshot, Stream::ALL, watermark.0, false);
        self.expect(told.is_ok(), Fault::Missed);
        self.go(life)?;
        // Another reader may have the lock.
        if !self.random.one_in(4) {
            let position = Position(self.database.next());
            self.go(life)?;
            life.history.borrow_mut().record(position, watermark);
        }
        self.go(life)?;
        let position = match self.flaw {
            Flaw::MessagePositionFirst => early_position,
            Flaw::MessagePositionBefore => Position(self.database.next() - 1),
            _ => Position(self.database.next()),
        };
        self.go(life)?;
        Some(WatermarkMessage { watermark, position })
    }

    /// Writes the horizon into the WAL before the first watermark of a life, which may be up to
    /// that. A crash may have lost the record of the horizon on disk.
    fn publish_horizon(&self, life: &Life) -> Option<()> {
        if life.published.get() || self.flaw == Flaw::HorizonNotInLog {
            return Some(());
        }
        self.extend::<Flake>(life, Stamp::FIRST, UnixNanos(0));
        self.go(life)?;
        life.published.set(true);
        Some(())
    }
}
