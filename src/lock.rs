//! A lock in shared memory whose waiters can be canceled.

use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ptr::addr_of_mut;
use std::time::Duration;

/// A lightweight lock that a session can wait for without losing its interrupts. PostgreSQL's own wait ends
/// with the lock alone: a session that waits so for a holder whose disk hangs can't be canceled or terminated.
#[repr(C)]
pub struct Lock {
    lock: UnsafeCell<pg_sys::LWLock>,
    /// Sessions that wait for the lock sleep here. Each release wakes them all.
    released: UnsafeCell<pg_sys::ConditionVariable>,
}

impl Lock {
    /// Sets a lock up in shared memory.
    ///
    /// # Safety
    /// `lock` must be room for a lock that no other process can see yet.
    pub unsafe fn set_up(lock: *mut Self, tranche: i32) {
        // SAFETY: the caller has the room; PostgreSQL writes both parts in place.
        unsafe {
            pg_sys::LWLockInitialize(addr_of_mut!((*lock).lock).cast(), tranche);
            pg_sys::ConditionVariableInit(addr_of_mut!((*lock).released).cast());
        }
    }

    /// Returns the number by which PostgreSQL knows the lock's name.
    pub fn tranche(&self) -> u16 {
        // SAFETY: the tranche is set before anyone sees the lock, and never changes.
        unsafe { (*self.lock.get()).tranche }
    }

    /// How a wait for it shows in `pg_stat_activity`: as PostgreSQL's own wait for a lightweight lock does.
    fn wait_event(&self) -> u32 {
        pg_sys::PG_WAIT_LWLOCK | u32::from(self.tranche())
    }
}

/// Holds a [`Lock`]; it is let go on every way out. After an error PostgreSQL has let it go
/// already, and only then.
pub struct ExclusiveLock(*const Lock);

impl ExclusiveLock {
    /// Waits for the lock, and ignores interrupts. For workers and for processes that end.
    pub fn take(lock: &Lock) -> Self {
        // SAFETY: a lock in shared memory, changed by PostgreSQL's own atomics alone.
        unsafe { pg_sys::LWLockAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE) };
        Self(lock)
    }

    /// Waits for the lock; cancellation, `statement_timeout` and termination end the wait as PostgreSQL's own
    /// errors. For sessions.
    pub fn take_interruptibly(lock: &Lock) -> Self {
        loop {
            if let Some(taken) = Self::take_unless(lock, || false) {
                return taken;
            }
        }
    }

    /// Waits for the lock until it is not needed any more; `None` then. Interrupts end it, as in
    /// [`Self::take_interruptibly`].
    pub fn take_unless(lock: &Lock, needless: impl Fn() -> bool) -> Option<Self> {
        /// A holder that dies with a server process is not followed by a wake-up.
        const LONGEST_SLEEP: Duration = Duration::from_secs(1);
        if let Some(taken) = Self::try_take(lock) {
            return Some(taken);
        }
        if needless() {
            return None;
        }
        let (released, millis) = (lock.released.get(), LONGEST_SLEEP.as_millis() as _);
        // SAFETY: a condition variable in shared memory. From here on this process is in its list, so no
        // release goes unnoticed that comes after the next attempt; an error in the sleep ends in an abort
        // of the transaction, which takes the process out of the list.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(released) };
        let taken = loop {
            match Self::try_take(lock) {
                None if needless() => break None,
                // SAFETY: as this process has prepared to.
                None => unsafe {
                    pg_sys::ConditionVariableTimedSleep(released, millis, lock.wait_event());
                },
                taken => break taken,
            }
        };
        // SAFETY: a call without conditions.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
        taken
    }

    /// Returns `None` where another process has it.
    fn try_take(lock: &Lock) -> Option<Self> {
        // SAFETY: a lock in shared memory, changed by PostgreSQL's own atomics alone.
        unsafe {
            pg_sys::LWLockConditionalAcquire(lock.lock.get(), pg_sys::LWLockMode::LW_EXCLUSIVE)
        }
        .then(|| Self(lock))
    }
}

impl Drop for ExclusiveLock {
    fn drop(&mut self) {
        // SAFETY: the lock is in shared memory, which lasts as long as the process. This process took it and
        // still holds it: an error raised since then is still unwinding here, before PostgreSQL releases all
        // locks. Where PostgreSQL raised that error, it has set its count of reasons to hold interrupts off
        // to 0. Releasing a lock takes one from that count, so one is added first, as LWLockReleaseAll does;
        // below 0 the session could not be canceled again.
        unsafe {
            if pg_sys::InterruptHoldoffCount == 0 {
                pg_sys::InterruptHoldoffCount = 1;
            }
            pg_sys::LWLockRelease((*self.0).lock.get());
            // All of them: after a write of the horizon most need no lock.
            pg_sys::ConditionVariableBroadcast((*self.0).released.get());
        }
    }
}
