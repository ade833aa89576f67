//! Calls to etcd from a process that must not hang.
//!
//! * There is one connection for each endpoint, and this process tries one after the other itself.
//!   The client's own balancer sends every call to one of two at random. So one member that accepts
//!   and never answers would swallow a part of all calls for ever.
//! * Every call has a deadline of its own. It runs in slices. Between them this process checks its
//!   latch, its signals and the deadline of its lease. So neither a shutdown nor the loss of a
//!   lease waits for etcd.
//! * A connection ends with its client. Otherwise the task that drives it would continue until the
//!   peer has read all that is still to be sent. A peer that never reads would keep the task, and
//!   its descriptor, for good ([`Tasks`]).
//! * All that comes from the peer or from a file has a limit: files by [`credentials`], answers by
//!   the client's 4 MiB, texts for people by [`excerpt`].
//! * The runtime has this one thread, and signals are blocked while it runs. The name of a host is
//!   resolved in another thread, in which PostgreSQL's signal handlers must not run.
//! * A call whose answer was not seen may have been done. It is made again at the next endpoint. So
//!   each call must be safe to repeat.

use super::credentials;
use crate::clock::since_boot;
use crate::error::excerpt;
use crate::guc::etcd::Access;
use etcd_client::{Channel, Client, Error};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tonic::transport::Endpoint;

/// The time that the runtime runs before this process checks its signals.
const SLICE: Duration = Duration::from_millis(100);

/// The longest text from a peer that a message repeats, in bytes.
const SAID_LIMIT: usize = 300;

/// The reason why a call failed.
#[derive(Debug)]
pub enum CallError {
    /// This process was told to end, or to do something else.
    Interrupted,
    /// No endpoint answered as it should: the error of the last one.
    Etcd(String),
}

/// How long calls may take, and what this process does between slices.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    /// While this function returns true. It is called between slices.
    While(fn() -> bool),
    /// Until this time since boot, in any case.
    Until(Duration),
}

pub struct Etcd {
    runtime: ManuallyDrop<Runtime>,
    access: Access,
    members: Vec<Member>,
    /// The place of the endpoint that answered last.
    at: usize,
    /// The longest time that a call takes at one endpoint.
    pub longest: Duration,
    pub patience: Patience,
}

struct Member {
    endpoint: String,
    connection: Option<Connection>,
}

/// A client and the tasks that work for it, which end with it.
struct Connection {
    client: Client,
    _tasks: TasksOwner,
}

/// The tasks of one connection: one drives the connection itself, another hands it calls.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

/// Aborts the tasks when it is dropped. The tasks themselves have [`Tasks`]. The runtime drops an
/// aborted task, and closes its socket, with the next call, to any endpoint.
#[derive(Default)]
struct TasksOwner(Tasks);

impl Drop for TasksOwner {
    fn drop(&mut self) {
        self.0.running().abort_all();
    }
}

impl Tasks {
    fn running(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let mut running = self.running();
        // Forgets tasks that have ended: a client connects again by itself.
        while running.try_join_next().is_some() {}
        running.spawn(task);
    }
}

/// Connects to an endpoint. The caller limits the time.
async fn connect(
    access: &Access,
    endpoint: &str,
    longest: Duration,
) -> Result<Connection, Problem> {
    let (options, tls) = credentials::options(access, endpoint)?;
    let uri = Endpoint::from_shared(endpoint.to_owned()).map_err(Error::from)?;
    let uri = uri.connect_timeout(longest);
    let uri = match tls {
        Some(tls) => uri.tls_config(tls).map_err(Error::from)?,
        None => uri,
    };
    // Before the first wait: the caller may give up there.
    let tasks = TasksOwner::default();
    let channel = Channel::Tonic(uri.executor(tasks.0.clone()).connect_lazy());
    let client = Client::from_channel(channel, Some(options)).await?;
    Ok(Connection { client, _tasks: tasks })
}

/// The reason why a call to one endpoint failed.
enum Problem {
    /// The setup of this server is wrong.
    Setup(String),
    Call(Error),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Setup(problem)
    }
}

impl From<&str> for Problem {
    fn from(problem: &str) -> Self {
        Self::Setup(problem.into())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

impl Etcd {
    /// # Errors
    /// The operating system's, if there can be no runtime.
    pub fn new(access: Access, longest: Duration, patience: Patience) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(1)
            .thread_keep_alive(Duration::from_secs(1))
            .build()?;
        let members = members(&access);
        Ok(Self { runtime: ManuallyDrop::new(runtime), access, members, at: 0, longest, patience })
    }

    /// Uses these settings from now on. If they have not changed, all connections stay.
    pub fn set(&mut self, access: Access, longest: Duration) {
        self.longest = longest;
        if self.access != access {
            self.members = members(&access);
            self.access = access;
            self.at = 0;
        }
    }

    /// Returns the endpoint that answered last.
    pub fn endpoint(&self) -> &str {
        self.members.get(self.at).map_or("", |member| &member.endpoint)
    }

    /// Returns all endpoints that the settings name.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| member.endpoint.clone()).collect()
    }

    /// Lets the next call begin with this endpoint.
    pub fn prefer(&mut self, endpoint: &str) {
        let place = self.members.iter().position(|member| member.endpoint == endpoint);
        self.at = place.unwrap_or(self.at);
    }

    /// Calls one endpoint after the other until one answers.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call<T>(
        &mut self,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, CallError> {
        self.call_for(self.longest, what)
    }

    /// Calls as [`Self::call`] does, and waits this long for each endpoint.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call_for<T>(
        &mut self,
        longest: Duration,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, CallError> {
        let mut error = none_is_set();
        for _ in 0..self.members.len() {
            error = match self.call_here(longest, &what) {
                Err(CallError::Etcd(said)) => said,
                done => return done,
            };
        }
        Err(CallError::Etcd(error))
    }

    /// Calls this endpoint and no other, since the call depends on an earlier answer of this
    /// endpoint.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call_at<T>(
        &mut self,
        endpoint: &str,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, CallError> {
        let place = self.members.iter().position(|member| member.endpoint == endpoint);
        self.at = place.ok_or_else(|| CallError::Etcd(none_is_set()))?;
        self.call_here(self.longest, &what)
    }

    /// Calls the current endpoint. If that fails, the next one becomes the current one.
    fn call_here<T>(
        &mut self,
        longest: Duration,
        what: &impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, CallError> {
        // This also happens between calls that are answered at once. A peer that answers fast must
        // not keep this process from its signals and its deadlines.
        if let Patience::While(may_go_on) = self.patience
            && !may_go_on()
        {
            return Err(CallError::Interrupted);
        }
        let Member { endpoint, connection } = &mut self.members[self.at];
        let access = &self.access;
        let whole = async {
            let connected = match connection.take() {
                Some(connected) => connected,
                None => connect(access, endpoint, longest).await?,
            };
            let Connection { client, .. } = connection.insert(connected);
            Ok::<_, Problem>(what(client).await?)
        };
        let error = match drive(&self.runtime, longest, self.patience, whole) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Problem::Setup(problem))) => problem,
            Ok(Err(Problem::Call(error))) => say(&error),
            Err(Stopped::Late) => "etcd did not answer in time".into(),
            Err(Stopped::Interrupted) => return Err(CallError::Interrupted),
        };
        let error = format!("{endpoint}: {error}");
        *connection = None;
        self.at = (self.at + 1) % self.members.len();
        Err(CallError::Etcd(error))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Does not wait: the resolution of a name may take for ever.
        // SAFETY: the runtime is taken here alone, and `drop` runs once.
        unsafe { ManuallyDrop::take(&mut self.runtime) }.shutdown_background();
    }
}

fn none_is_set() -> String {
    "no endpoint is set".into()
}

fn members(access: &Access) -> Vec<Member> {
    let member = |endpoint: &String| Member { endpoint: endpoint.clone(), connection: None };
    access.endpoints.iter().map(member).collect()
}

/// Blocks all signals while it lives, in this thread and in those that it starts.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn all() -> Self {
        // SAFETY: both sets are plain data, for which zeros are valid, and the calls fill them in.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
            Self(before)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: `self.0` is the set that `pthread_sigmask` filled in when this was constructed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

enum Stopped {
    Late,
    Interrupted,
}

/// Runs a future to its end, or until it takes too long or this process is interrupted.
fn drive<T>(
    runtime: &Runtime,
    longest: Duration,
    patience: Patience,
    future: impl Future<Output = T>,
) -> Result<T, Stopped> {
    let mut end = since_boot() + longest;
    if let Patience::Until(latest) = patience {
        end = end.min(latest);
    }
    let mut future = std::pin::pin!(future);
    loop {
        let slice = end.saturating_sub(since_boot()).min(SLICE);
        let done = {
            let _blocked = SignalsBlocked::all();
            runtime.block_on(async { tokio::time::timeout(slice, future.as_mut()).await })
        };
        if let Ok(done) = done {
            return Ok(done);
        }
        if let Patience::While(may_go_on) = patience
            && !may_go_on()
        {
            return Err(Stopped::Interrupted);
        }
        if since_boot() >= end {
            return Err(Stopped::Late);
        }
    }
}

/// Returns the innermost reason of an error, cut to the length of a line. It holds no secret:
/// neither etcd nor the client repeats a password.
fn say(error: &Error) -> String {
    let said = match error {
        Error::GRpcStatus(status) => {
            let said = status.message().trim_start_matches("etcdserver: ");
            match std::error::Error::source(status).map(innermost) {
                Some(source) if !said.contains(&source) => format!("{said} ({source})"),
                _ => said.into(),
            }
        }
        Error::TransportError(error) => innermost(error),
        other => other.to_string(),
    };
    excerpt(said.as_bytes(), SAID_LIMIT)
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
