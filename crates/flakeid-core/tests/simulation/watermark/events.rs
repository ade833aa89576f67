//! The events that a run must have had, and the flaws that the checks must find.

/// The flaw of a server, to show that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The floor begins at 1970 after a crash or a stop.
    FloorLost,
    /// The exact horizon of a stop does not cover the floor.
    ExactWithoutFloor,
    /// A reader is told a watermark that no durable horizon covers.
    NotDurable,
    /// A reader raises the floor after it has read the slots.
    FloorLate,
    /// A session does not tell its ID types the bound, and so uses prefetched IDs of earlier ticks.
    KeepsPrefetched,
    /// sno does not look at the first tick when it changes its timeline.
    OneTimeline,
    /// A session enters when it has its first ID.
    EntersLate,
    /// A session leaves before its rows are visible, and keeps nothing for snapshots that do not
    /// see them.
    LeavesEarly,
    /// A session that leaves does not keep its transaction for old snapshots.
    KeepsNoEntry,
    /// A session lowers its bound to the clock, below the floor.
    LowersBelowFloor,
    /// A prepared transaction is not in the list.
    NotListed,
    /// The bound lock of a prepared transaction is lost with the life of the server.
    LockNotKept,
    /// A reader reads the list before the slots.
    ListFirst,
    /// The list forgets the bounds of transactions that have ended.
    ListForgets,
    /// The list forgets a bound although a new snapshot may not be known to see that transaction.
    ForgetsForNew,
    /// A prepared transaction without a bound lock counts as one without IDs.
    NoUnknown,
    /// A prepared transaction that ended before the list was made does not count for older
    /// snapshots.
    NoEarly,
    /// A reader with an old snapshot is told what is settled for a new one.
    OldAsNew,
    /// A reader records the position that it read before its scan.
    PositionFirst,
    /// A session enters a named stream when it has its first ID in it.
    EntersStreamLate,
    /// A session that enters a stream issues from its earlier bound on.
    KeepsEarlierBound,
    /// A source takes a transaction with the same bound for the last one, and does not enter the
    /// stream of its ID type.
    ComparesBounds,
    /// A session ends its transaction and leaves before the commit is in the WAL.
    LogsLate,
    /// A prepared transaction ends before its commit is in the WAL.
    LogsPreparedLate,
    /// The message in the WAL is before the scan.
    MessageFirst,
    /// The message has a position from before the scan, or the number before its position.
    MessagePositionFirst,
    MessagePositionBefore,
    /// The message does not count prepared transactions.
    MessageWithoutList,
    /// The log may lack the horizon that is on disk, and has a watermark up to it.
    HorizonNotInLog,
    /// A standby tells each snapshot what the last message has.
    LatestToAll,
    /// A standby compares only the numbers between which snapshots differ.
    ComparesEnds,
}

/// The events that a run must have had to be meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Enter,
    /// A transaction entered a stream after its first ID.
    EnterStream,
    /// A session ended, and another one got its slot.
    Replace,
    /// The bound of a transaction was above the clock.
    EnterAtFloor,
    /// A transaction's bound was lowered.
    Lower,
    /// sno changed its timeline.
    Turn,
    Wait,
    Commit,
    RollBack,
    Prepare,
    EndPrepared,
    /// A transaction was prepared before the last start.
    EndPreparedBefore,
    /// A transaction with IDs was prepared without a bound lock.
    PrepareWithoutLock,
    /// The list forgot a transaction that a snapshot may not see.
    Forget,
    /// A reader had a snapshot from before the list.
    ToldNothing,
    /// A reader was told the watermark of a new snapshot, of an older one, or one of an earlier
    /// scan.
    Told,
    ToldToOld,
    ToldByHistory,
    /// A reader was told more of a stream than of all IDs.
    ToldMoreOfStream,
    /// A reader was told the beginning of the server's life.
    ToldTheStart,
    /// A reader was told something while a session lowered its bound.
    ToldWhileLowering,
    /// A reader moved the gate.
    ReaderExtends,
    Extension,
    Crash,
    /// The server crashed while a reader or a session was in the middle of something.
    CrashInside,
    /// Transactions were prepared when the server crashed.
    CrashWithPrepared,
    /// Numbers of transactions were assigned again after a crash.
    NumbersAgain,
    Stop,
    Reload,
    /// A transaction ended without waiting for the WAL.
    CommitAsynchronously,
    /// Records were lost in a crash, or a commit was in the WAL and its transaction had not ended.
    LoseRecords,
    CommitInCrash,
    /// A watermark was written into the WAL, and replayed.
    Publish,
    ReplayMessage,
    /// A reader on a standby was told the last watermark, an earlier one, or no watermark for its
    /// snapshot.
    ToldLatestOnStandby,
    ToldByHistoryOnStandby,
    ToldNothingOnStandby,
    /// A standby had replayed no message.
    NoMessageOnStandby,
    RestartStandby,
    Promote,
}

impl Event {
    pub const ALL: [Self; 40] = [
        Self::Enter,
        Self::EnterStream,
        Self::Replace,
        Self::EnterAtFloor,
        Self::Lower,
        Self::Turn,
        Self::Wait,
        Self::Commit,
        Self::RollBack,
        Self::Prepare,
        Self::EndPrepared,
        Self::EndPreparedBefore,
        Self::PrepareWithoutLock,
        Self::Forget,
        Self::ToldNothing,
        Self::Told,
        Self::ToldToOld,
        Self::ToldByHistory,
        Self::ToldMoreOfStream,
        Self::ToldTheStart,
        Self::ToldWhileLowering,
        Self::ReaderExtends,
        Self::Extension,
        Self::Crash,
        Self::CrashInside,
        Self::CrashWithPrepared,
        Self::NumbersAgain,
        Self::Stop,
        Self::Reload,
        Self::CommitAsynchronously,
        Self::LoseRecords,
        Self::CommitInCrash,
        Self::Publish,
        Self::ReplayMessage,
        Self::ToldLatestOnStandby,
        Self::ToldByHistoryOnStandby,
        Self::ToldNothingOnStandby,
        Self::NoMessageOnStandby,
        Self::RestartStandby,
        Self::Promote,
    ];
}
