//! Transactions: what sessions do from the beginning to the end of one.

use super::database::{Earliest, NO_ID};
use super::events::{Event, Flaw};
use super::ids::Process;
use super::log::{Numbers, Record};
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
                self.log.insert(Record::End(Numbers { own: number, sub: None }, None));
                self.database.end(number);
            }
            1 if transaction.number.is_some() && transaction.sub.is_none() => {
                // A subtransaction that ends with its transaction.
                let sub = Some(self.database.assign_sub());
                life.transactions[slot].set(Some(Transaction { sub, ..transaction }));
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

    /// Assigns a number to a transaction, unless it has one. The transaction may write something.
    pub fn assign(&self, life: &Life, slot: usize) {
        let mut transaction = life.transactions[slot].get().unwrap();
        let number = *transaction.number.get_or_insert_with(|| self.database.assign());
        life.transactions[slot].set(Some(transaction));
        if self.random.one_in(4) {
            self.log.insert(Record::Write(transaction.sub.unwrap_or(number)));
        }
    }

    pub fn commit(&self, life: &Life, process: &mut Process) {
        let slot = process.slot;
        if life.transactions[slot].get().unwrap().has_ids() && !self.random.one_in(16) {
            self.assign(life, slot);
        }
        if !self.interruption(life) {
            return;
        }
        let transaction = life.transactions[slot].get().unwrap();
        let Transaction { number, sub, .. } = transaction;
        let earliest = Some(transaction.earliest).filter(|_| transaction.has_ids());
        if let Some(number) = number {
            let numbers = Numbers { own: number, sub };
            let logs_late = self.flaw == Flaw::LogsLate;
            if !logs_late {
                self.log.insert(Record::End(numbers, earliest));
                if !self.interruption(life) {
                    return;
                }
                match self.random.one_in(2) {
                    true => self.log.flush(),
                    false => self.saw(Event::CommitAsynchronously),
                }
                if !self.interruption(life) {
                    return;
                }
            }
            if self.flaw == Flaw::LeavesEarly {
                life.slots[slot].leave(None);
                if !self.interruption(life) {
                    return;
                }
            }
            self.show(numbers, earliest);
            if !self.interruption(life) {
                return;
            }
            if logs_late {
                life.slots[slot].leave(Some(number));
                if !self.interruption(life) {
                    return;
                }
                self.log.insert(Record::End(numbers, earliest));
            }
        }
        life.slots[slot].leave(number.filter(|_| self.flaw != Flaw::KeepsNoEntry));
        process.leave();
        life.transactions[slot].set(None);
        self.saw(Event::Commit);
    }

    /// Ends a transaction, and shows its rows if it has any.
    pub fn show(&self, numbers: Numbers, earliest: Option<Earliest>) {
        let shown = self.database.show(numbers, earliest);
        self.expect(shown.is_ok(), Fault::Missed);
    }

    /// Rolls back a transaction, if there is one.
    pub fn roll_back(&self, life: &Life, process: &mut Process) {
        let slot = process.slot;
        let Some(transaction) = life.transactions[slot].get() else { return };
        if let Some(own) = transaction.number {
            let numbers = Numbers { own, sub: transaction.sub };
            self.log.insert(Record::End(numbers, None));
            if !self.interruption(life) {
                return;
            }
            self.show(numbers, None);
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
        let Transaction { number, sub, earliest, .. } = life.transactions[slot].get().unwrap();
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
        // Another library may run in a life, too. It takes no bound locks.
        let bound = Some(entered.unwrap_or(NO_IDS)).filter(|_| !self.random.one_in(20));
        if entered.is_some() && bound.is_none() {
            self.saw(Event::PrepareWithoutLock);
        }
        let (numbers, life_number) = (Numbers { own: number, sub }, self.life_number());
        let prepared = Prepared { numbers, earliest, life: life_number, bound };
        self.log.insert(Record::Prepare(prepared));
        self.log.flush();
        self.prepared.borrow_mut().push(prepared);
        if !self.interruption(life) {
            return;
        }
        life.slots[slot].leave(None);
        process.leave();
        life.transactions[slot].set(None);
        self.saw(Event::Prepare);
    }

    /// Ends a prepared transaction, if no other session does so.
    pub fn end_prepared(&self, life: &Life) {
        if life.over.get() {
            return;
        }
        let ending = life.ending.borrow().clone();
        let prepared = self.prepared.borrow();
        let open = |prepared: &&Prepared| !ending.contains(&prepared.numbers.own);
        let open: Vec<_> = prepared.iter().filter(open).copied().collect();
        drop(prepared);
        if open.is_empty() {
            return;
        }
        let Prepared { numbers, earliest, life: prepared_in, .. } = self.random.pick(&open);
        life.ending.borrow_mut().push(numbers.own);
        let earliest = Some(earliest).filter(|first| first[0] != NO_ID && !self.random.one_in(4));
        let logs_late = self.flaw == Flaw::LogsPreparedLate;
        let log = || {
            self.log.insert(Record::End(numbers, earliest));
            self.log.flush();
        };
        let end = || {
            self.show(numbers, earliest);
            self.prepared.borrow_mut().retain(|prepared| prepared.numbers.own != numbers.own);
        };
        if logs_late {
            end()
        } else {
            log()
        }
        if !self.interruption(life) {
            return;
        }
        if logs_late {
            log()
        } else {
            end()
        }
        life.ending.borrow_mut().retain(|&ending| ending != numbers.own);
        self.saw(if prepared_in < self.life_number() {
            Event::EndPreparedBefore
        } else {
            Event::EndPrepared
        });
    }
}
