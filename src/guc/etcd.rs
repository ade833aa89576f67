//! The settings for leasing generator IDs from etcd. The worker reads them when it connects; here
//! they are checked.
//!
//! There is no setting for the password itself: PostgreSQL writes a setting that changes into its
//! log, with its value. The password is in a file, like the key.
//!
//! PostgreSQL hides `primary_conninfo` and `krb_server_keyfile` from ordinary users, and shows them
//! `ssl_ca_file` and `ssl_cert_file`. So here the endpoints, the user, and the files of the
//! password and the key are hidden, and the files of certificates are not. That holds in sessions
//! that have loaded the library: before, PostgreSQL keeps a setting of the file as a placeholder,
//! which every user may read. `shared_preload_libraries` and `session_preload_libraries` load it at
//! a session's start.

use super::hooks::{define_number, define_text};
use super::process::{NumberSetting, TextSetting, numbers, text};
use crate::identity;
use flakeid_core::generator_ids;
use flakeid_formats::endpoint;
use pgrx::{GucFlags, GucSetting};
use std::ffi::{CStr, CString};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

type Setting = GucSetting<Option<CString>>;

static ENDPOINTS: Setting = Setting::new(Some(c"http://127.0.0.1:2379"));
static NAMESPACE: Setting = Setting::new(Some(c"flakeid/"));
static POOL: Setting = Setting::new(Some(c"64-1023"));
static USER: Setting = Setting::new(Some(c""));
static PASSWORD_FILE: Setting = Setting::new(Some(c""));
static CA_FILE: Setting = Setting::new(Some(c""));
static CERT_FILE: Setting = Setting::new(Some(c""));
static KEY_FILE: Setting = Setting::new(Some(c""));
static LEASE_TTL: GucSetting<i32> = GucSetting::<i32>::new(30);

/// The maximum length of a namespace, in bytes.
const LONGEST_NAMESPACE: usize = 128;

/// The settings with which the worker connects to etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The URLs of the endpoints, each with its scheme.
    pub endpoints: Vec<String>,
    pub user: String,
    pub password_file: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
}

/// Returns the settings with which the worker connects to etcd.
pub fn access() -> Access {
    let file = |setting: &'static Setting| {
        let path = text(setting.get());
        // A relative path counts from the data directory, the working directory of every process of
        // the server.
        (!path.is_empty()).then(|| PathBuf::from(path))
    };
    Access {
        endpoints: endpoints(&text(ENDPOINTS.get())).unwrap_or_default(),
        user: text(USER.get()),
        password_file: file(&PASSWORD_FILE),
        ca_file: file(&CA_FILE),
        cert_file: file(&CERT_FILE),
        key_file: file(&KEY_FILE),
    }
}

/// Returns the prefix of all keys.
pub fn namespace() -> String {
    text(NAMESPACE.get())
}

/// Returns the generator IDs that may be leased.
pub fn pool() -> RangeInclusive<u16> {
    pool_of(&text(POOL.get())).unwrap_or(0..=0)
}

/// Returns the duration for which etcd grants a lease.
pub fn lease_ttl() -> Duration {
    Duration::from_secs(LEASE_TTL.get().max(1) as u64)
}

/// Parses a list of endpoints.
fn endpoints(value: &str) -> Result<Vec<String>, String> {
    value.split(',').map(|endpoint| endpoint::url(endpoint.trim())).collect()
}

/// Parses a pool.
fn pool_of(value: &str) -> Result<RangeInclusive<u16>, String> {
    generator_ids::parse_range(value).map_err(identity::reason)
}

struct EndpointsSetting;
impl TextSetting for EndpointsSetting {
    const NAME: &'static CStr = c"flakeid.etcd_endpoints";
    const HIDDEN: bool = true;
    type Value = Vec<String>;
    fn read(value: &str) -> Result<Self::Value, String> {
        endpoints(value)
    }
    fn store(_: Self::Value) {}
}

struct NamespaceSetting;
impl TextSetting for NamespaceSetting {
    const NAME: &'static CStr = c"flakeid.etcd_namespace";
    type Value = ();
    fn read(value: &str) -> Result<(), String> {
        match value.len() {
            // Commas separate the names of registries in etcd.
            1..=LONGEST_NAMESPACE if value.contains(',') => {
                Err("A namespace cannot contain a comma.".into())
            }
            1..=LONGEST_NAMESPACE => Ok(()),
            _ => Err(format!("A namespace must have from 1 to {LONGEST_NAMESPACE} bytes.")),
        }
    }
    fn store((): ()) {}
}

struct PoolSetting;
impl TextSetting for PoolSetting {
    const NAME: &'static CStr = c"flakeid.etcd_pool";
    type Value = RangeInclusive<u16>;
    fn read(value: &str) -> Result<Self::Value, String> {
        pool_of(value)
    }
    fn store(_: Self::Value) {}
}

/// Defines settings of any text.
macro_rules! any_text {
    ($($setting:ident $name:literal hidden: $hidden:literal)*) => {$(
        struct $setting;
        impl TextSetting for $setting {
            const NAME: &'static CStr = $name;
            const HIDDEN: bool = $hidden;
            type Value = ();
            fn read(_: &str) -> Result<(), String> {
                Ok(())
            }
            fn store((): ()) {}
        }
    )*};
}
any_text! {
    UserSetting c"flakeid.etcd_user" hidden: true
    PasswordFileSetting c"flakeid.etcd_password_file" hidden: true
    CaFileSetting c"flakeid.etcd_ca_file" hidden: false
    CertFileSetting c"flakeid.etcd_cert_file" hidden: false
    KeyFileSetting c"flakeid.etcd_key_file" hidden: true
}

numbers! {
    LeaseTtlSetting c"flakeid.etcd_lease_ttl"
}

/// Defines the settings.
pub fn define() {
    define_text::<EndpointsSetting>(
        c"Endpoints of the etcd cluster from which generator IDs are leased.",
        c"URLs separated by commas. Used only if \"flakeid.generator_ids\" is etcd:N.",
        &ENDPOINTS,
    );
    define_text::<NamespaceSetting>(
        c"Prefix of all keys in etcd.",
        c"It must be the same on all servers that generate IDs for one set of data.",
        &NAMESPACE,
    );
    define_text::<PoolSetting>(
        c"Generator IDs that this server may lease.",
        c"A range such as 64-1023. Leave out generator IDs that other servers have by setting.",
        &POOL,
    );
    define_number::<LeaseTtlSetting>(
        c"Duration of the lease of generator IDs.",
        c"The server renews it every third of this time. If it cannot, it stops generating IDs \
          before the lease ends. The generator IDs of a crashed server become free after this \
          time.",
        &LEASE_TTL,
        (3, 3600),
        GucFlags::UNIT_S,
    );
    define_text::<UserSetting>(
        c"User name for etcd.",
        c"Empty for no authentication. The password is in \"flakeid.etcd_password_file\".",
        &USER,
    );
    define_text::<PasswordFileSetting>(
        c"File with the password for etcd.",
        c"The first line is the password. Only the server's user may be able to read it.",
        &PASSWORD_FILE,
    );
    define_text::<CaFileSetting>(
        c"File with the certificates of the authorities that etcd's certificate is verified \
          against.",
        c"In PEM. Needed for https.",
        &CA_FILE,
    );
    define_text::<CertFileSetting>(
        c"File with this server's certificate for etcd.",
        c"In PEM. Empty if etcd requires no client certificate.",
        &CERT_FILE,
    );
    define_text::<KeyFileSetting>(
        c"File with the key of this server's certificate for etcd.",
        c"In PEM. Only the server's user may be able to read it.",
        &KEY_FILE,
    );
}
