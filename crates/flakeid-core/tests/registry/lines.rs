//! Actions as lines. `L7` is the lease with the number 7. `2(90s@12)` is generator ID 2 with the
//! high-water mark 90 s, as of revision 12.

use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::action::{Action, GraceBegins, Report};
use flakeid_core::registry::transaction::{Change, Holding, LeasedId};
use flakeid_core::registry::turn::TurnEnd;

fn time(time: UnixNanos) -> String {
    let seconds = time.0 as f64 / 1e9;
    format!("{seconds}s")
}

fn id_line(leased: &LeasedId) -> String {
    let LeasedId { id, high_water_mark, revision } = *leased;
    match (high_water_mark.0, revision) {
        (0, 0) => id.to_string(),
        (_, _) => format!("{id}({}@{revision})", time(high_water_mark)),
    }
}

fn join<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(line).collect::<Vec<_>>().join(" ")
}

fn holding_line(holding: &Holding) -> String {
    let in_cluster = match holding.cluster {
        0 => String::new(),
        cluster => format!(" in cluster {cluster}"),
    };
    format!("{} by L{}{in_cluster}", join(&holding.held, id_line), holding.lease)
}

fn change_line(change: &Change) -> String {
    match change {
        Change::Found { lease, until, address, identity, .. } => {
            let until = time(*until);
            format!("found {address}, {identity}, grace by L{lease} until {until}")
        }
        Change::BeginGrace { lease, until } => {
            format!("begin grace by L{lease} until {}", time(*until))
        }
        Change::Identify(identity) => format!("identify {identity}"),
        Change::Retire(retired) => format!("retire {}", join(retired, ToString::to_string)),
        Change::Create(new) => format!("create {:?}", new.key),
        Change::Claim { holding, ceiling, beside } => {
            let beside =
                beside.map_or(String::new(), |beside| format!(" beside {}", id_line(&beside)));
            format!("claim {} until {}{beside}", holding_line(holding), time(*ceiling))
        }
        Change::ConfirmClaim { holding, ceiling } => {
            format!("confirm {} until {}", holding_line(holding), time(*ceiling))
        }
        Change::Renew { .. } => unreachable!("a renewal is an action of its own"),
        Change::Release(holding) => format!("release {}", holding_line(holding)),
        Change::FinalizeMark { leased, .. } => format!("finalize {}", id_line(leased)),
    }
}

pub fn action_line(action: &Action) -> String {
    let at = |at: &Option<String>| at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let numbers = |ids: &[u16]| join(ids, ToString::to_string);
    match action {
        Action::List { at: to } => format!("list{}", at(to)),
        Action::Prefer(endpoint) => format!("prefer {endpoint}"),
        Action::ReadMarks { ids, .. } => format!("read high-water marks {}", numbers(ids)),
        Action::AwaitRelease { revision, longest } => {
            format!("await a release after revision {revision}, {longest:?}")
        }
        Action::Grant { lease, ttl, at: to } => format!("grant L{lease} {ttl:?}{}", at(to)),
        Action::Revoke(lease) => format!("revoke L{lease}"),
        Action::Renew { holding, .. } => format!("renew {}", holding_line(holding)),
        Action::Change { at: to, change, .. } => format!("{}{}", change_line(change), at(to)),
        Action::Remember { memory, purpose } => {
            let purpose = format!("{purpose:?}");
            let purpose = purpose.split('(').next().unwrap_or_default();
            format!("remember {} ({purpose})", memory.name())
        }
        Action::GiveUp { ids, is_lost: false } => format!("give up {}", numbers(ids)),
        Action::GiveUp { ids, is_lost: true } => format!("lose {}", numbers(ids)),
        Action::Publish { lease } => {
            format!("publish {} by L{}", join(&lease.held, id_line), lease.lease)
        }
        Action::Extend { lease, limits, revisions, .. } => {
            let (ceiling, deadline) = (time(limits.ceiling), limits.deadline);
            format!("extend L{lease} to {ceiling}, {deadline:?}, {revisions:?}")
        }
        Action::Report(report) => format!("report {}", report_line(report)),
    }
}

fn report_line(report: &Report) -> String {
    let ids = |leased: &Vec<LeasedId>| join(leased, |leased| leased.id.to_string());
    match report {
        Report::GraceBegan(GraceBegins::Founded(name)) => format!("founded {name}"),
        Report::GraceBegan(GraceBegins::Forgotten(why)) => format!("grace: {why:?}"),
        Report::Leased(leased) => format!("leased {}", ids(leased)),
        Report::Lost { lease, gone, loss } => format!("lost {} of L{lease}: {loss:?}", ids(gone)),
        Report::Released(gone) => format!("released {}", ids(gone)),
        Report::NotReleased(gone) => format!("not released {}", ids(gone)),
        Report::PoolEmpty => "the pool is empty".into(),
    }
}

pub fn end_line(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Rest(until) => format!("rest until {until:?}"),
        TurnEnd::Backoff(until) => format!("back off until {until:?}"),
        TurnEnd::Again => "again".into(),
        TurnEnd::Interrupted => "interrupted".into(),
        TurnEnd::Failed(refusal) => format!("failed: {refusal:?}"),
    }
}
