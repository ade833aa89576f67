//! Transactions: what sessions do from the beginning to the end of one.

use super::database::{Earliest, NO_ID};
use super::events::{Event, Flaw};
use super::ids::Process;
use super::server::{Life, Prepared, Server, Transaction};
use crate::checks::Fault;
use flakeid_core::prepared::NO_IDS;

impl Server {
    /// Lets a session do something.
    pub fn act(&self, life: &Life, slot: usize) {
        let Ok(mut process) = life.processes[slot].try_borrow_mut() else { return };
        let random = &self.random;
        let Some(transaction) = life.transactions[slot].get() else {
            if random.one_in(8) {
                self.forget(&process);
                *process = Process::new(random, slot);
                self.saw(Event::Replace);
            }
            return self.begin(life, slot);
        };
        if random.one_in(transaction.length) {
            return match random.below(8) {
                0..=1 => self.prepare(life, &mut process),
                2 => self.roll_back(life, &mut process),
                _ => self.commit(life, &mut process),
            };
        }
        match random.below(20) {
            0 => {
                // A subtransaction that is rolled back.
                let number = self.database.assign();
                self.database.end(number);
            }
            1..=2 if transaction.number.is_none() => self.assign(life, slot),
            _ => self.take_some(life, &mut process),
        }
    }

    /// Begins a transaction.
    pub fn begin(&self, life: &Life, slot: usize) {
        let length = self.random.pick(&[2, 2, 2, 10, 10, 100, 1000]);
        life.transactions[slot].set(Some(Transaction::new(length)));
    }

    fn assign(&self, life: &Life, slot: usize) {
        let mut transaction = life.transactions[slot].get().unwrap();
        transaction.number.get_or_insert_with(|| self.database.assign());
        life.transactions[slot].set(Some(transaction));
    }

    fn commit(&self, life: &Life, process: &mut Process) {
        let slot = process.slot;
        if life.transactions[slot].get().unwrap().has_ids() && !self.random.one_in(16) {
            self.assign(life, slot);
        }
        if !self.interruption(life) {
            return;
        }
        let transaction = life.transactions[slot].get().unwrap();
        let number = transaction.number;
        if let Some(number) = number {
            self.database.keep(number);
            if !self.interruption(life) {
                return;
            }
            if self.flaw == Flaw::LeavesEarly {
                life.slots[slot].leave(None);
                if !self.interruption(life) {
                    return;
                }
            }
            self.show(number, Some(transaction.earliest).filter(|_| transaction.has_ids()));
            if !self.interruption(life) {
                return;
            }
        }
        life.slots[slot].leave(number.filter(|_| self.flaw != Flaw::KeepsNoEntry));
        process.leave();
        life.transactions[slot].set(None);
        self.saw(Event::Commit);
    }

    fn show(&self, number: u64, earliest: Option<Earliest>) {
        match earliest {
            Some(earliest) => {
                let shown = self.database.show(number, earliest);
                self.expect(shown.is_ok(), Fault::Missed);
            }
            None => self.database.end(number),
        }
    }

    /// Rolls back a transaction, if there is one.
    pub fn roll_back(&self, life: &Life, process: &mut Process) {
        let slot = process.slot;
        let Some(transaction) = life.transactions[slot].get() else { return };
        if let Some(number) = transaction.number {
            self.database.end(number);
            if !self.interruption(life) {
                return;
            }
        }
        life.slots[slot].leave(None);
        process.leave();
        life.transactions[slot].set(None);
        self.saw(Event::RollBack);
    }

    /// Prepares a transaction: it goes to the list, is prepared, and leaves its slot.
    fn prepare(&self, life: &Life, process: &mut Process) {
        let slot = process.slot;
        self.assign(life, slot);
        let Transaction { number, earliest, .. } = life.transactions[slot].get().unwrap();
        let number = number.unwrap();
        let entered = life.slots[slot].entered();
        if let Some(bound) = entered
            && self.flaw != Flaw::NotListed
        {
            self.add_to_list(life, number, bound);
        }
        if !self.interruption(life) {
            return;
        }
        if self.random.one_in(8) {
            return self.roll_back(life, process);
        }
        self.database.keep(number);
        // Another library may run in a life, too. It takes no bound locks.
        let bound = Some(entered.unwrap_or(NO_IDS)).filter(|_| !self.random.one_in(20));
        if entered.is_some() && bound.is_none() {
            self.saw(Event::PrepareWithoutLock);
        }
        let life_number = self.life_number();
        self.prepared.borrow_mut().push(Prepared { number, earliest, life: life_number, bound });
        if !self.interruption(life) {
            return;
        }
        life.slots[slot].leave(None);
        process.leave();
        life.transactions[slot].set(None);
        self.saw(Event::Prepare);
    }

    /// Ends a prepared transaction.
    pub fn end_prepared(&self, life: &Life) {
        let mut prepared = self.prepared.borrow_mut();
        if prepared.is_empty() || life.over.get() {
            return;
        }
        let place = self.random.below(prepared.len() as u64) as usize;
        let Prepared { number, earliest, life, .. } = prepared.swap_remove(place);
        drop(prepared);
        self.show(
            number,
            Some(earliest).filter(|_| earliest[0] != NO_ID && !self.random.one_in(4)),
        );
        self.saw(if life < self.life_number() {
            Event::EndPreparedBefore
        } else {
            Event::EndPrepared
        });
    }
}
