//! The permissions of files with secrets.

use std::fmt;

/// A file with a secret that is not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPrivate {
    /// It belongs to a user who is neither the server's nor root.
    Owner,
    /// Others can read it, or change it, by this mode.
    Mode(u32),
}

/// Checks that a file with a secret is private. The rule is PostgreSQL's for the key of a server:
/// the server's user owns the file and alone can read it, or root owns it, and then a group can
/// read it, too. Kubernetes shows secrets as files of root.
///
/// # Errors
/// It is not.
pub fn ensure_private(owner: u32, server_user: u32, mode: u32) -> Result<(), NotPrivate> {
    const ROOT: u32 = 0;
    let of_others = if owner == ROOT { 0o027 } else { 0o077 };
    match mode & 0o7777 {
        _ if owner != server_user && owner != ROOT => Err(NotPrivate::Owner),
        mode if mode & of_others != 0 => Err(NotPrivate::Mode(mode)),
        _ => Ok(()),
    }
}

impl fmt::Display for NotPrivate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("belongs neither to the server's user nor to root"),
            Self::Mode(mode) => write!(
                f,
                "has mode {mode:04o}, so that others can read it; its mode must be 0600, or 0640 \
                 if root owns it"
            ),
        }
    }
}
