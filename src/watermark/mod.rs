//! The watermark in the server: which transactions stand in which slot, and what a reader is told.
//!
//! [`flakeid_core::watermark`] has the protocol of floor and slots, and argues why no reader misses
//! a row. This module says what the parts of that argument are in PostgreSQL.
//!
//! # Sessions
//! * *A transaction* is PostgreSQL's top-level transaction. A process enters before its first ID in
//!   it ([`enter`]), and keeps the bound in [`bound`]. [`entry`] is a number that each change of
//!   the bound replaces, and that is 0 in between. A change of settings makes it 0, too, until the
//!   next ID. Each [source](crate::generator) of IDs compares it with the entry by which it issues.
//!   So one comparison shows the hot path a new transaction and new settings, and it costs an ID
//!   nothing else.
//! * *A stream* is entered with the first ID in it. That of an ID type is entered by its source, as
//!   it sees a new entry. [`streams`] has the names of the others, which a call gives
//!   ([`enter_stream`]).
//! * *The end* is PostgreSQL's callback for transactions. PostgreSQL calls it after it has taken
//!   the transaction out of the list of running ones, and before it forgets the transaction's ID.
//!   That is the order that the protocol needs. The callback also runs when a session is
//!   terminated. After a crash the slots are new.
//! * *A parallel worker* generates no IDs ([`generator`](crate::generator)). So all IDs of a
//!   transaction are of one process, which has loaded the library and registered the callback
//!   before the first of them.
//! * *A prepared transaction* gets a lock that says its bound, and goes to a list, before its
//!   session leaves: see [`prepared`].
//!
//! # Readers
//! [`reader`] computes the watermark of a snapshot and a stream, and [`statement`] keeps it for all
//! calls of a statement. A snapshot that does not see the rows of a table, as the table was
//! [`rewritten`], has none later than 1970. [`waiting`] is for sessions that wait until the
//! watermark has passed a time. SQL calls both by [`functions`].
//!
//! [`publisher`] is a worker that tells readers of the watermark: by `NOTIFY`, and in the WAL for
//! those on standbys, who get it from [`replayed`].
//!
//! # What outlives what
//! | event | what holds |
//! |---|---|
//! | crash, kill, restart | Slots and floor are lost. A watermark is at most the durable horizon, and the floor begins at the greatest track, if the file `flakeid/watermark` shows that a watermark may have been reported: [`usage`]. All IDs of the new life are above it. |
//! | clean stop | The exact horizon covers the floor (`horizon::shutdown`). |
//! | the last session leaves, the library is not preloaded | The gates move down, and the floor is looked at after that, under the lock. A reader looks at the gates after it has raised the floor. One of the two sees the other. |
//! | promotion, recovery from a backup | The horizon covers what the WAL knows of, as for IDs. PostgreSQL keeps the bounds of prepared transactions with them. A snapshot from before the promotion gets an error. |
//! | the clock steps back | IDs of later transactions are not below the floor. A session waits for the clock, also in sno's other timeline. |
//! | a reload, a change of generator IDs | A new source compares its entry with the process's, and so begins at the bound. |

mod announcing;
mod answers;
mod bound_lock;
mod file;
mod functions;
mod lock_table;
mod notifier;
mod prepared;
mod publisher;
mod reader;
mod replayed;
mod rewritten;
mod session;
mod statement;
mod streams;
mod transactions;
mod usage;
mod waiting;

use crate::horizon::{self, MessageKind, ReplayHandler};
pub use publisher::{ensure_publisher, register as register_publisher};
pub use reader::blocking_transactions;
pub use session::{bound, enter, enter_stream, entry, lower};
pub use streams::{named, names_of};
pub use usage::peek_floor;

/// Lets the startup process replay the messages of the watermark, while libraries are preloaded.
pub fn register_replay() {
    const MESSAGES: &[MessageKind] = &[usage::MESSAGES, replayed::MESSAGES];
    horizon::replay_with(ReplayHandler {
        messages: MESSAGES,
        save_if_needed: usage::save_if_needed,
    });
}

/// Registers the callbacks, when a process loads the library.
pub fn register() {
    if session::register() {
        rewritten::register();
    }
}
