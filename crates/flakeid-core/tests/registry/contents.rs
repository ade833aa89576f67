//! Values in a listing, which people and other programs can write.

use crate::given::*;
use flakeid_core::clock::UnixNanos;
use flakeid_core::registry::listing::{Authority, Listing, VALUE_LIMIT};
use flakeid_core::registry::refusal::Refusal;

fn cluster(value: &str) -> Result<u16, Refusal> {
    shows(E1, C, &[X]).cluster(value).uniqueid_cluster(EPOCH)
}

#[test]
fn a_uniqueid_cluster_is_a_number_from_0_to_15() {
    for (value, number) in [("0", 0), ("15", 15), (" 7\n", 7), ("007", 7)] {
        assert_eq!(cluster(value), Ok(number));
    }
    for value in ["x", "16", "", "-1", ",1", "1.5", "99999"] {
        assert_eq!(cluster(value), Err(Refusal::InvalidCluster(value.into())));
    }
    let missing = shows(E1, C, &[X]).no_cluster().uniqueid_cluster(EPOCH);
    assert_eq!(missing, Err(Refusal::InvalidCluster(String::new())));
}

#[test]
fn of_several_uniqueid_clusters_the_first_one_counts() {
    assert_eq!(cluster("7,9"), Ok(7));
    assert_eq!(cluster("7,x"), Ok(7));
}

#[test]
fn another_epoch_is_refused() {
    let other = shows(E1, C, &[X]).uniqueid_cluster(UnixNanos(1));
    assert_eq!(other, Err(Refusal::OtherEpoch("the epoch".into())));
    let missing = shows(E1, C, &[X]).no_epoch().uniqueid_cluster(EPOCH);
    assert_eq!(missing, Err(Refusal::OtherEpoch(String::new())));
}

#[test]
fn a_registry_begins_with_its_address_or_its_epoch() {
    assert!(empty(E1, C).is_new() && empty(E1, C).cluster("0").id("a1").in_grace().is_new());
    assert!(!shows(E1, C, &[X]).no_epoch().is_new());
    assert!(!shows(E1, C, &[X]).no_address().is_new());
}

#[test]
fn the_claims_of_a_lease_are_those_that_are_bound_to_it() {
    let listing = shows(E1, C, &[X]).claim(7, 1, 11).claim(8, 2, 12).claim(7, 3, 13);
    assert_eq!(listing.claims_of(7), [(1, 11), (3, 13)]);
    assert_eq!(listing.claims_of(9), []);
}

#[test]
fn an_authority_has_no_registry_if_the_id_cannot_be_read() {
    let authority = |listing: Listing| listing.authority();
    assert_eq!(authority(shows(E1, C, &[X])), Authority { etcd: C, registry: X });
    assert_eq!(authority(nameless(E1, C)), Authority { etcd: C, registry: 0 });
    assert_eq!(authority(shows(E1, C, &[X]).id("x")), Authority { etcd: C, registry: 0 });
}

#[test]
fn a_value_that_was_cut_is_not_an_id() {
    let ids = |count: usize| vec!["a1"; count].join(",");
    let whole = format!("{}1", ids(341));
    assert_eq!(whole.len(), VALUE_LIMIT - 1);
    let cut = format!("{whole}1");
    assert!(shows(E1, C, &[X]).id(&whole).identity().is_ok());
    assert!(shows(E1, C, &[X]).id(&cut).identity().is_err());
}

#[test]
fn a_name_is_the_address_and_the_id() {
    assert_eq!(shows(E1, C, &[X]).name(NAMESPACE), Ok("c/flakeid/#00000000000000a1".into()));
    assert_eq!(nameless(E1, C).name("orders/"), Ok("c/orders/".into()));
}
