//! Tests of the permissions of files with secrets.

use flakeid_formats::secret_file::{NotPrivate, ensure_private};

const SERVER: u32 = 105;
const ROOT: u32 = 0;
const SOMEBODY: u32 = 1000;

#[test]
fn a_file_of_the_server_is_for_its_user_alone() {
    for mode in [0o400, 0o600, 0o700, 0o100_600] {
        assert_eq!(ensure_private(SERVER, SERVER, mode), Ok(()), "{mode:o}");
    }
    for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644, 0o777] {
        assert_eq!(ensure_private(SERVER, SERVER, mode), Err(NotPrivate::Mode(mode)), "{mode:o}");
    }
}

#[test]
fn a_group_can_read_a_file_of_root() {
    for mode in [0o400, 0o440, 0o600, 0o640, 0o100_640] {
        assert_eq!(ensure_private(ROOT, SERVER, mode), Ok(()), "{mode:o}");
    }
    for mode in [0o660, 0o620, 0o644, 0o604, 0o642, 0o641, 0o444] {
        assert_eq!(ensure_private(ROOT, SERVER, mode), Err(NotPrivate::Mode(mode)), "{mode:o}");
    }
}

#[test]
fn a_file_of_another_user_is_refused_with_every_mode() {
    for mode in [0o400, 0o600, 0o640, 0o644] {
        assert_eq!(ensure_private(SOMEBODY, SERVER, mode), Err(NotPrivate::Owner), "{mode:o}");
    }
}
