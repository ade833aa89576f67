//! A lock in shared memory whose waiters can be canceled.

use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ptr::addr_of_mut;
use std::time::Duration;

/// A lightweight lock for which a session can wait without losing its interrupts. PostgreSQL's own
/// wait ends only with the lock: a session that waits in that way for a holder whose disk hangs
/// cannot be canceled or terminated.
#[repr(C)]
pub struct Lock {
    lock: UnsafeCell<pg_sys::LWLock>,
    /// The condition variable on which sessions wait for the lock. Each release wakes all of them.
    released: UnsafeCell<pg_sys::ConditionVariable>,
}

impl Lock {
    /// Sets a lock up in shared memory.
    ///
    /// # Safety
    /// `lock` must be memory for a lock that no other process can see yet.
    pub unsafe fn set_up(lock: *mut Self, tranche: i32) {
        // SAFETY: the caller owns the memory; PostgreSQL writes both parts in place.
        unsafe {
            pg_sys::LWLockInitialize(addr_of_mut!((*lock).lock).cast(), tranche);
            pg_sys::ConditionVariableInit(addr_of_mut!((*lock).released).cast());
        }
    }

    /// Returns PostgreSQL's number for the name of the lock.
    pub fn tranche(&self) -> u16 {
        // SAFETY: the tranche is set before another process can see the lock, and never changes.
        unsafe { (*self.lock.get()).tranche }
    }

    /// Returns the wait event in `pg_stat_activity`: that of PostgreSQL's own wait for a
    /// lightweight lock.
    fn wait_event(&self) -> u32 {
        pg_sys::PG_WAIT_LWLOCK | u32::from(self.tranche())
    }
}

/// A guard that holds a [`Lock`], and releases it when it is dropped. After an error PostgreSQL has
/// released the lock already, and only then.
pub struct ExclusiveLock(*const Lock);

impl ExclusiveLock {
    /// Waits for the lock, and ignores interrupts. This is for workers and for processes that end.
    pub fn take(lock: &Lock) -> Self {
        // SAFETY: the lock is in shared memory, and only PostgreSQL's own atomics change it.
        unsafe { pg_sys::LWLockAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE) };
        Self(lock)
    }

    /// Waits for the lock. Cancellation, `statement_timeout` and termination end the wait as
    /// PostgreSQL's own errors. This is for sessions.
    pub fn take_interruptibly(lock: &Lock) -> Self {
        loop {
            if let Some(taken) = Self::take_unless(lock, || false) {
                return taken;
            }
        }
    }

    /// Waits for the lock until it is not needed any more, and then returns `None`. Interrupts end
    /// the wait as in [`Self::take_interruptibly`].
    pub fn take_unless(lock: &Lock, needless: impl Fn() -> bool) -> Option<Self> {
        /// No wake-up follows if a holder dies together with a server process.
        const LONGEST_SLEEP: Duration = Duration::from_secs(1);
        if let Some(taken) = Self::try_take(lock) {
            return Some(taken);
        }
        if needless() {
            return None;
        }
        let (released, millis) = (lock.released.get(), LONGEST_SLEEP.as_millis() as _);
        // SAFETY: the condition variable is in shared memory. From here on this process is in its
        // list, so it notices each release after its next attempt. An error in the sleep ends in an
        // abort of the transaction, which takes the process out of the list.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(released) };
        let taken = loop {
            match Self::try_take(lock) {
                None if needless() => break None,
                // SAFETY: this process has prepared to sleep on the condition variable, which is in
                // shared memory.
                None => unsafe {
                    pg_sys::ConditionVariableTimedSleep(released, millis, lock.wait_event());
                },
                taken => break taken,
            }
        };
        // SAFETY: a call without preconditions.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
        taken
    }

    /// Takes the lock if no other process holds it. Otherwise it returns `None` at once.
    pub fn try_take(lock: &Lock) -> Option<Self> {
        // SAFETY: the lock is in shared memory, and only PostgreSQL's own atomics change it.
        unsafe {
            pg_sys::LWLockConditionalAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE)
        }
        .then(|| Self(lock))
    }
}

impl Drop for ExclusiveLock {
    fn drop(&mut self) {
        // SAFETY: the lock is in shared memory, which exists as long as the process. This process
        // took it and still holds it: an error raised since then is still unwinding here, before
        // PostgreSQL releases all locks. If PostgreSQL raised that error, it has set its count of
        // reasons to hold interrupts off to 0. Releasing a lock takes one from that count, so one
        // is added first, as LWLockReleaseAll does; below 0 the session could not be canceled
        // again.
        unsafe {
            if pg_sys::InterruptHoldoffCount == 0 {
                pg_sys::InterruptHoldoffCount = 1;
            }
            pg_sys::LWLockRelease((*self.0).lock.get());
            // This wakes all of them: after a write of the horizon most need no lock.
            pg_sys::ConditionVariableBroadcast((*self.0).released.get());
        }
    }
}
