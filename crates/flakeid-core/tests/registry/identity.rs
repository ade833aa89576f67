//! The value of the key `registry-id`.

use crate::given::*;
use flakeid_core::registry::identity::Identity;

#[test]
fn an_identity_is_written_with_all_digits() {
    assert_eq!(identity(&[0xa, 0xb]).to_string(), "000000000000000a,000000000000000b");
    assert_eq!(identity(&[u64::MAX]).to_string(), "ffffffffffffffff");
}

#[test]
fn an_identity_is_read_with_spaces_and_without_leading_zeros() {
    for text in ["a,b", " a , b\n", "000000000000000A,000000000000000B"] {
        assert_eq!(Identity::parse(text), Some(identity(&[0xa, 0xb])), "{text}");
    }
    assert_eq!(Identity::parse("ffffffffffffffff"), Some(identity(&[u64::MAX])));
}

#[test]
fn another_text_is_not_an_identity() {
    for text in ["", ",", "a,", ",a", "0", "a,0", "g", "+a", "a,-b", "0x1", "1ffffffffffffffff"] {
        assert_eq!(Identity::parse(text), None, "{text}");
    }
}

#[test]
fn a_new_identity_is_never_zero() {
    assert_eq!(Identity::new(0, []), identity(&[1]));
    assert_eq!(Identity::new(7, [8]), identity(&[7, 8]));
}

#[test]
fn a_registry_follows_each_lost_one_once_and_never_itself() {
    assert_eq!(Identity::new(7, [8, 7, 9, 8]), identity(&[7, 8, 9]));
    assert_eq!(identity(&[7, 8]).follow(9, &[8, 7, 5]), identity(&[7, 9, 8, 5]));
}

#[test]
fn a_registry_names_32_lost_ones_and_no_more() {
    let new = Identity::new(7, 100..200);
    assert_eq!(new.followed, (100..132).collect::<Vec<_>>());
    let followed = new.follow(9, &[]);
    assert_eq!(followed.followed[..2], [9, 100]);
    assert_eq!(followed.followed.len(), 32);
}
