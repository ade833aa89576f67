//! The promises that are checked with every ID and every wait.

use crate::checks::{Fault, Position};
use crate::node::{Client, Last, Life, Node};
use crate::world::{Event, ServerIdType, World};
use flakeid_core::clock::Tick;
use flakeid_core::gate::Horizon;
use flakeid_core::session::Issued;

impl Node {
    /// Returns whether the clock has not been set to an earlier time in this run.
    pub fn is_steady(&self, life: &Life) -> bool {
        self.clock.steps_back() == life.steps_back
    }

    /// Checks the promises for an ID that a session got; `now` is the reading at which it was
    /// issued.
    pub fn check_given<S: ServerIdType>(
        &self,
        world: &World,
        life: &Life,
        client: &mut Client,
        issued: Issued,
        now: Tick,
    ) {
        let Issued { generator_id, block, .. } = issued;
        let (place, stamp) = (client.owned[generator_id as usize], block.stamp);
        let (tick, toggle) = (stamp.tick::<S>().0, stamp.toggle::<S>());
        let (first, last) = (block.sequence, block.sequence + block.count - 1);
        let checks = &mut *world.checks.borrow_mut();

        let slice = self.slices[S::INDEX];
        checks.expect(slice.0 <= first && last <= slice.1, Fault::OutsideSlice);
        checks.expect(tick <= life.greatest[S::INDEX].get(), Fault::Early);
        checks.expect(tick >= now.0, Fault::Late);
        if self.is_steady(life) {
            checks.expect(tick <= now.0 + 1, Fault::Ahead);
            let stays = !S::TICK_TOCK || toggle == life.begun.horizon.toggle;
            checks.expect(stays || life.behind[S::INDEX].get(), Fault::Turned);
        }
        if life.stopped.get() {
            let exact = self.disk.get().map_or(Horizon::NONE, |state| state.horizon);
            let floor = exact.floors::<S>(S::scale())[usize::from(toggle)];
            checks.expect(tick <= floor.0, Fault::AfterSeal);
            world.saw(Event::GivenAfterStop);
        }
        if let Some(before) = client.last {
            let rises = Last::id::<S>(stamp, self.pool[place], first) > before.id;
            // A clock that is behind the session's last ID has stepped back since that was issued.
            let across = S::TICK_TOCK && now.0 + 1 < before.at.tick;
            checks.expect(rises || across, Fault::NotAbove);
            if toggle != before.at.toggle {
                world.saw(Event::Turn);
            }
        }
        let at = Position { generator: self.generators[S::INDEX][place], toggle, tick };
        checks.enter(at, (first, last), client.last.map(|last| last.at));
        client.last = Some(Last { at, id: Last::id::<S>(stamp, self.pool[place], last) });
        if let Some(standby) = &mut *self.standby.borrow_mut() {
            standby.hears(&world.random, at, self.clock.read(world.time.get()));
        }
    }

    /// Checks a wait. It is for the next tick, or for the horizon that a crash has left ahead of
    /// the clock. After a step back it is until the clock is past the last IDs: for sno, those in
    /// one of its two timelines.
    pub fn check_wait<S: ServerIdType>(
        &self,
        world: &World,
        life: &Life,
        client: &Client,
        until: Tick,
        now: Tick,
    ) {
        let begun = &life.begun;
        let [first, second] = begun.horizon.floors::<S>(S::scale()).map(|floor| floor.0);
        let mut checks = world.checks.borrow_mut();
        let had = client.owned.iter().map(|&place| {
            let tops = checks.tops(self.generators[S::INDEX][place]);
            match S::TICK_TOCK {
                true => tops[0].max(first).min(tops[1].max(second)),
                false => tops[0].max(first),
            }
        });
        let mut longest = (now.0 + 1).max(had.max().unwrap_or(0));
        if let Some(last) = client.last.filter(|_| !S::TICK_TOCK) {
            longest = longest.max(last.at.tick);
        }
        if now.0 + 1 >= S::scale().tick(begun.since::<S>()).map_or(0, |since| since.0) {
            longest = longest.max(now.0 + begun.lead / S::UNIT + 2);
        }
        world.saw(if until.0 > now.0 + 10 { Event::LongWait } else { Event::Wait });
        checks.expect((now.0 + 1..=longest + 1).contains(&until.0), Fault::WrongWait);
    }
}
