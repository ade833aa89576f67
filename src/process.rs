//! Processes of the server: the numbers by which shared memory has a place for each, and what
//! PostgreSQL knows of them.
//!
//! A process's number is a small number that no other living process has. Processes that can run
//! SQL have the numbers below [`count`]. What another process shows of itself may change at any
//! time: only a locked list would be exact.

use crate::error::{Code, Report};
use pgrx::pg_sys::{self, PGPROC};
use std::ptr::{addr_of, addr_of_mut};

/// Returns how many numbers there are for processes that can run SQL. It is known when libraries
/// may request memory.
pub fn count() -> usize {
    // SAFETY: reads a plain variable that the postmaster sets before it has children.
    unsafe { pg_sys::MaxBackends as usize }
}

/// Returns this process's number. The process has joined the server.
#[inline]
pub fn number() -> u32 {
    // SAFETY: the variable is set when the process joins the server, before it can run a function.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    let number = unsafe { pg_sys::MyProcNumber };
    // SAFETY: `MyProc` is set when the process joins the server, before it can run a function.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    let number = unsafe { (*pg_sys::MyProc).pgprocno };
    number as u32
}

/// Returns whether this process is a parallel worker. It is one for all its life or never.
pub fn is_parallel_worker() -> bool {
    // SAFETY: reads a variable of this process, which is set before it loads any library for its
    // leader.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// Ensures that this process is not a parallel worker.
///
/// # Errors
/// It is one, and `function` cannot run. The error is that of PostgreSQL's `nextval()`.
pub fn ensure_not_parallel_worker(function: &'static str) -> Result<(), Report> {
    match is_parallel_worker() {
        true => Err(Report::new(
            Code::ERRCODE_INVALID_TRANSACTION_STATE,
            format!("cannot execute {function}() during a parallel operation"),
        )),
        false => Ok(()),
    }
}

/// The state of a process as PostgreSQL shows it to others.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// The process ID; 0 if no process has the number.
    pub pid: i32,
    /// The database's OID; 0 if the process has none.
    pub database: u32,
    /// The transaction's ID; 0 if it has none.
    pub transaction_id: u32,
    /// PostgreSQL's local number of the transaction, which no other transaction of this process
    /// number has; 0 if no transaction runs.
    pub local_transaction: u32,
}

/// Returns what PostgreSQL knows of this process.
pub fn own() -> Process {
    get(number() as usize)
}

/// Returns what PostgreSQL knows of the process with this number.
pub fn get(number: usize) -> Process {
    // SAFETY: the array has an entry for each number, and lasts as long as shared memory. Each
    // field is one machine word or less, and is read as a whole.
    unsafe {
        let process: *const PGPROC = (*pg_sys::ProcGlobal).allProcs.add(number);
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let local_transaction = addr_of!((*process).lxid).read_volatile();
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let local_transaction = addr_of!((*process).vxid.lxid).read_volatile();
        Process {
            pid: addr_of!((*process).pid).read_volatile(),
            database: addr_of!((*process).databaseId).read_volatile().to_u32(),
            transaction_id: addr_of!((*process).xid).read_volatile().into_inner(),
            local_transaction,
        }
    }
}

/// Wakes the process with this number, if it waits on its latch. The number may be that of no
/// process.
pub fn wake(number: usize) {
    // SAFETY: the array has an entry for each number, with its latch, and lasts as long as shared
    // memory.
    unsafe {
        pg_sys::SetLatch(addr_of_mut!((*(*pg_sys::ProcGlobal).allProcs.add(number)).procLatch))
    };
}

/// Reads the configuration files again. A worker calls this in its main loop after a reload, and
/// once at its start, when it has its handler of SIGHUP.
///
/// A worker has the settings of the postmaster at the moment of the fork. Until its handlers are
/// there, it ignores SIGHUP. So a reload in between would never reach it.
pub fn read_configuration_files() {
    // SAFETY: this process is a worker in its main loop or before, where PostgreSQL's own workers
    // call this function, too.
    unsafe { pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP) };
}

/// Lets SIGTERM end this process, a worker, as it ends a session: also while it waits for a lock.
pub fn end_as_sessions_do() {
    unsafe extern "C-unwind" {
        // pgrx puts a guard around it, which no signal handler may have.
        fn die(signal: std::ffi::c_int);
    }
    // SAFETY: this is the handler of PostgreSQL's own sessions.
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
    unsafe {
        pg_sys::pqsignal(libc::SIGTERM, Some(die));
    }
    // SAFETY: this is the handler of PostgreSQL's own sessions.
    #[cfg(feature = "pg18")]
    unsafe {
        pg_sys::pqsignal_be(libc::SIGTERM, Some(die));
    }
    // SAFETY: this is the handler of PostgreSQL's own sessions, which has a second argument from
    // PostgreSQL 19 on.
    #[cfg(feature = "pg19")]
    unsafe {
        type Handler = unsafe extern "C-unwind" fn(std::ffi::c_int);
        type Later = unsafe extern "C-unwind" fn(std::ffi::c_int, *const pg_sys::pg_signal_info);
        let die = std::mem::transmute::<Handler, Later>(die as Handler);
        pg_sys::pqsignal_be(libc::SIGTERM, Some(die));
    }
}

/// Returns whether this process was told to end by a signal that [`end_as_sessions_do`] handles.
pub fn must_end() -> bool {
    // SAFETY: reads a variable that a signal handler sets.
    unsafe { (&raw const pg_sys::ProcDiePending).read_volatile() != 0 }
}

/// Returns the IDs of the transactions that run in processes now. One that ends at this moment may
/// be missing.
pub fn session_transactions() -> impl Iterator<Item = u32> {
    let ids = (0..count()).map(|number| get(number).transaction_id);
    ids.filter(|&id| id >= pg_sys::FirstNormalTransactionId.into_inner())
}

/// Returns the IDs of the transactions that are prepared now.
///
/// PostgreSQL keeps an entry without a process for each transaction that can be prepared. They
/// follow those of all processes, which `allProcCount` counts.
pub fn prepared_transactions() -> Vec<u32> {
    // SAFETY: the array has this many entries, and lasts as long as shared memory. An entry keeps
    // the ID of a transaction that has ended, so each is checked.
    unsafe {
        let first = (*pg_sys::ProcGlobal).allProcCount as usize;
        (first..first + pg_sys::max_prepared_xacts.max(0) as usize)
            .map(|number| get(number).transaction_id)
            .filter(|&id| id >= pg_sys::FirstNormalTransactionId.into_inner())
            .filter(|&id| pg_sys::TransactionIdIsInProgress(id.into()))
            .collect()
    }
}
