//! The table of systems: one line each. A system's place in it is the place of its cells in shared
//! memory.

use flakeid_core::{flake, sno};

pub const TABLE: [&str; 2] = [flake::NAME, sno::NAME];

/// The place of the system of this name. Asked when compiling: a system that is not in the table is
/// an error there.
pub const fn index(name: &str) -> usize {
    let mut i = 0;
    while i < TABLE.len() {
        if same(TABLE[i].as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("the system is not in the table of systems")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
