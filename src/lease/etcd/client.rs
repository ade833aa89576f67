//! Calls to etcd from a process that must not hang.
//!
//! * One connection for each endpoint, and we go round them ourselves: the client's own balancer sends
//!   every call to one of two at random, so one member that accepts and never answers swallows a part of
//!   all calls for ever.
//! * Every call has a deadline of its own. It runs in slices, between which this process looks after its
//!   latch, its signals and the deadline of what it holds; so neither a shutdown nor the loss of a lease
//!   waits for etcd.
//! * A connection ends with its client. Left to itself, the task that drives it goes on until the peer has read what
//!   is still to be sent, and a peer that never reads would keep it, and its descriptor, for good ([`Tasks`]).
//! * What comes from the peer or from a file is bounded: files by [`crate::regular_file`], answers by the client's
//!   4 MiB, texts for people by [`excerpt`].
//! * The runtime has this one thread, and signals are blocked while it runs: a host's name is resolved in
//!   another thread, where PostgreSQL's signal handlers must not find themselves.
//! * A call whose answer is not seen may have been done. It is made again at the next endpoint; so what is
//!   called must be good for being done twice.

use crate::clock::boot;
use crate::error::excerpt;
use crate::guc::etcd::Access;
use crate::regular_file::{self, Links};
use etcd_client::{Certificate, Channel, Client, ConnectOptions, Error, Identity, TlsOptions};
use std::fs::Metadata;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tonic::transport::Endpoint;

/// How long the runtime runs before somebody looks up.
const SLICE: Duration = Duration::from_millis(100);

/// The longest file with a password, in bytes.
const PASSWORD_LIMIT: usize = 64 * 1024;

/// The longest file with a key or with certificates, in bytes: all authorities of a system are a quarter of it.
const PEM_LIMIT: usize = 1024 * 1024;

/// The longest text from a peer that a message repeats, in bytes.
const SAID_LIMIT: usize = 300;

/// Why a call came to nothing.
#[derive(Debug)]
pub enum Trouble {
    /// This process was told to end, or to do something else.
    Interrupted,
    /// None of the endpoints answered as it should: what the last one said.
    Etcd(String),
}

/// How long calls may go on, and who looks up between slices.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    /// As long as this says that it may.
    While(fn() -> bool),
    /// Until then by the clock since boot, whatever happens.
    Until(Duration),
}

pub struct Etcd {
    runtime: ManuallyDrop<Runtime>,
    access: Access,
    members: Vec<Member>,
    /// The one that answered last.
    at: usize,
    /// The longest that a call takes at one endpoint.
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

/// The tasks of one connection: what drives the connection itself, and what hands it calls.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

/// Aborts the tasks when it is dropped; they have [`Tasks`] themselves. The runtime drops an aborted task, and closes
/// its socket, with the next call, whichever endpoint that goes to.
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
        // Those that have ended are forgotten: a client connects again by itself.
        while running.try_join_next().is_some() {}
        running.spawn(task);
    }
}

/// Connects to an endpoint. No time limit here: the caller has one.
async fn connect(
    access: &Access,
    endpoint: &str,
    longest: Duration,
) -> Result<Connection, Problem> {
    let (options, tls) = options(access, endpoint)?;
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

/// Why a call to one endpoint came to nothing.
enum Problem {
    /// What this server was set up with is not as it must be.
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
    /// Where the operating system gives no runtime.
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

    /// Goes by these settings from now on. What has not changed keeps its connections.
    pub fn set(&mut self, access: Access, longest: Duration) {
        self.longest = longest;
        if self.access != access {
            self.members = members(&access);
            self.access = access;
            self.at = 0;
        }
    }

    /// The endpoint that answered last.
    pub fn endpoint(&self) -> &str {
        self.members.get(self.at).map_or("", |member| &member.endpoint)
    }

    /// Whether this endpoint is one of those that the settings name.
    pub fn has(&self, endpoint: &str) -> bool {
        self.members.iter().any(|member| member.endpoint == endpoint)
    }

    /// Calls one endpoint after the other until one answers.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn call<T>(
        &mut self,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        self.call_for(self.longest, what)
    }

    /// The same where an answer takes this long at most.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_for<T>(
        &mut self,
        longest: Duration,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let mut trouble = none_is_set();
        for _ in 0..self.members.len() {
            trouble = match self.call_here(longest, &what) {
                Err(Trouble::Etcd(said)) => said,
                done => return done,
            };
        }
        Err(Trouble::Etcd(trouble))
    }

    /// Calls this endpoint and no other: what is called holds for what this endpoint has said before.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_at<T>(
        &mut self,
        endpoint: &str,
        what: impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let place = self.members.iter().position(|member| member.endpoint == endpoint);
        self.at = place.ok_or_else(|| Trouble::Etcd(none_is_set()))?;
        self.call_here(self.longest, &what)
    }

    /// Calls the endpoint at hand. If that fails the next one is at hand.
    fn call_here<T>(
        &mut self,
        longest: Duration,
        what: &impl AsyncFn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        // Also between calls that are answered at once: a peer that answers fast must not keep this process
        // from its signals and its deadlines.
        if let Patience::While(may_go_on) = self.patience
            && !may_go_on()
        {
            return Err(Trouble::Interrupted);
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
        let trouble = match drive(&self.runtime, longest, self.patience, whole) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(Problem::Setup(problem))) => problem,
            Ok(Err(Problem::Call(error))) => say(&error),
            Err(Stopped::Late) => "etcd did not answer in time".into(),
            Err(Stopped::Interrupted) => return Err(Trouble::Interrupted),
        };
        let trouble = format!("{endpoint}: {trouble}");
        *connection = None;
        self.at = (self.at + 1) % self.members.len();
        Err(Trouble::Etcd(trouble))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Without waiting: a name that is being resolved may take for ever.
        // SAFETY: taken once, at the end.
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

/// All signals are blocked while this lives, in this thread and in those that it starts.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn all() -> Self {
        // SAFETY: both sets are plain data which the calls fill in.
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
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

enum Stopped {
    Late,
    Interrupted,
}

/// Runs a future to its end, or until it takes too long.
fn drive<T>(
    runtime: &Runtime,
    longest: Duration,
    patience: Patience,
    future: impl Future<Output = T>,
) -> Result<T, Stopped> {
    let mut end = boot() + longest;
    if let Patience::Until(latest) = patience {
        end = end.min(latest);
    }
    let mut future = std::pin::pin!(future);
    loop {
        let slice = end.saturating_sub(boot()).min(SLICE);
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
        if boot() >= end {
            return Err(Stopped::Late);
        }
    }
}

/// What an endpoint is connected with, and for `https` what its certificate is checked by. Files are read with each
/// connection: they may have been changed.
fn options(
    access: &Access,
    endpoint: &str,
) -> Result<(ConnectOptions, Option<TlsOptions>), Problem> {
    let mut options = ConnectOptions::new().with_require_leader(true);
    if !access.user.is_empty() {
        let file = access.password_file.as_deref();
        let file = file.ok_or("\"flakeid.etcd_password_file\" is not set")?;
        let password = String::from_utf8(private(file, PASSWORD_LIMIT)?)
            .map_err(|_| format!("\"{}\" is not UTF-8", name(file)))?;
        let password = password.lines().next().unwrap_or_default();
        options = options.with_user(&*access.user, password).with_auto_token_refresh(true);
    }
    let mut tls = None;
    if endpoint.starts_with("https://") {
        let ca = access.ca_file.as_deref();
        let ca = ca.ok_or("https needs \"flakeid.etcd_ca_file\"")?;
        let authorities = Certificate::from_pem(pem(ca, read(ca, PEM_LIMIT)?.0, "CERTIFICATE")?);
        let mut checks = TlsOptions::new().ca_certificate(authorities);
        match (&access.cert_file, &access.key_file) {
            (Some(certificate), Some(key)) => {
                let content = read(certificate, PEM_LIMIT)?.0;
                let certificate = pem(certificate, content, "CERTIFICATE")?;
                let key = pem(key, private(key, PEM_LIMIT)?, "PRIVATE KEY")?;
                checks = checks.identity(Identity::from_pem(certificate, key));
            }
            (None, None) => {}
            _ => {
                return Err(
                    "\"flakeid.etcd_cert_file\" and \"flakeid.etcd_key_file\" must both be set"
                        .into(),
                );
            }
        }
        tls = Some(checks);
    }
    Ok((options, tls))
}

fn name(path: &Path) -> String {
    excerpt(path.as_os_str().as_bytes(), SAID_LIMIT)
}

fn read(path: &Path, limit: usize) -> Result<(Vec<u8>, Metadata), String> {
    regular_file::read(path, limit, Links::Followed).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        format!("could not read \"{}\": {reason}", name(path))
    })
}

/// What a file holds, if that is what it should: the TLS library says no more than that something failed.
fn pem(path: &Path, content: Vec<u8>, label: &str) -> Result<Vec<u8>, String> {
    let end = format!("{label}-----");
    let begins = |line: &str| line.starts_with("-----BEGIN ") && line.trim_end().ends_with(&end);
    match String::from_utf8_lossy(&content).lines().any(begins) {
        true => Ok(content),
        false => Err(format!("\"{}\" holds no {}", name(path), label.to_lowercase())),
    }
}

/// A file with a secret: as PostgreSQL has it for keys, nobody but its owner may read it; or root owns it
/// and a group that the server is in may.
fn private(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    let (content, meta) = read(path, limit)?;
    let open_to_others = if meta.uid() == 0 { 0o027 } else { 0o077 };
    match meta.mode() & open_to_others {
        0 => Ok(content),
        _ => Err(format!(
            "\"{}\" can be read by others: its mode must be 0600, or 0640 if root \
                          owns it",
            name(path)
        )),
    }
}

/// What went wrong, without the layers that it went through, and no more of it than a line holds. It holds no
/// secret: neither etcd nor the client repeats a password.
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
