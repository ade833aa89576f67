//! The options of a connection to etcd: user and password, and for `https` the certificates. They
//! come from files, whose length is limited by [`crate::regular_file`].

use crate::error::{excerpt, os_reason};
use crate::guc::etcd::Access;
use crate::regular_file::{self, Links};
use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The longest file with a password, in bytes.
const PASSWORD_LIMIT: usize = 64 * 1024;

/// The longest file with a key or with certificates, in bytes: all authorities that Debian
/// has are a quarter of it.
const PEM_LIMIT: usize = 1024 * 1024;

/// The longest path that a message repeats, in bytes.
const PATH_LIMIT: usize = 300;

/// Returns the options of a connection, and for `https` those of the certificate check. Files are
/// read for each connection, since they may have changed.
pub fn options(
    access: &Access,
    endpoint: &str,
) -> Result<(ConnectOptions, Option<TlsOptions>), String> {
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
    excerpt(path.as_os_str().as_bytes(), PATH_LIMIT)
}

fn read(path: &Path, limit: usize) -> Result<(Vec<u8>, Metadata), String> {
    regular_file::read(path, limit, Links::Followed)
        .map_err(|error| format!("could not read \"{}\": {}", name(path), os_reason(&error)))
}

/// Returns the content of a file if it has a PEM block of this label. The TLS library would only
/// say that something failed.
fn pem(path: &Path, content: Vec<u8>, label: &str) -> Result<Vec<u8>, String> {
    let end = format!("{label}-----");
    let begins = |line: &str| line.starts_with("-----BEGIN ") && line.trim_end().ends_with(&end);
    match String::from_utf8_lossy(&content).lines().any(begins) {
        true => Ok(content),
        false => Err(format!("\"{}\" holds no {}", name(path), label.to_lowercase())),
    }
}

/// Reads a file with a secret.
fn private(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    let (content, metadata) = read(path, limit)?;
    regular_file::ensure_private(&metadata)
        .map_err(|reason| format!("\"{}\" {reason}", name(path)))?;
    Ok(content)
}
