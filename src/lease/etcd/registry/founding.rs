//! How a registry begins: its address, its ID, a grace period, and the keys that must exist.

use super::id::Identity;
use super::keys::{ID, LEFT, Registry, another, gets, is_absent};
use super::listing::Listing;
use etcd_client::{Client, Compare, CompareOp, Error, PutOptions, Txn, TxnOp};

/// A grace period: a lease of its length, and its end as people read it.
#[derive(Clone, Copy, Debug)]
pub struct Grace<'a> {
    pub lease: i64,
    pub until: &'a str,
}

impl Registry {
    /// Founds the registry if it has neither address nor epoch, with a grace period that is bound to this lease. An
    /// existing ID stays. Returns false if another server was faster.
    pub async fn found(
        &self,
        client: &mut Client,
        address: &str,
        epoch: &str,
        id: &Identity,
        grace: Grace<'_>,
    ) -> Result<bool, Error> {
        let [address_key, epoch_key] = ["address", "epoch"].map(|name| self.key(name));
        let mut puts = vec![
            TxnOp::put(&*address_key, address, None),
            TxnOp::put(&*epoch_key, epoch, None),
            self.put_grace(grace),
        ];
        if self.id.is_empty() {
            puts.push(TxnOp::put(self.key(ID), id.to_string(), None));
        }
        let conditions = [is_absent(&address_key), is_absent(&epoch_key), self.is_listed()];
        Ok(client.txn(Txn::new().when(conditions).and_then(puts)).await?.succeeded())
    }

    /// Gives the registry this ID, if it is still as it was listed. Otherwise does nothing.
    pub async fn identify(
        &self,
        client: &mut Client,
        id: &Identity,
        listing: &Listing,
    ) -> Result<(), Error> {
        let is_as_of =
            |name, revision| Compare::mod_revision(self.key(name), CompareOp::Equal, revision);
        let conditions = [
            self.is_listed(),
            is_as_of("address", listing.address.revision),
            is_as_of("epoch", listing.epoch.revision),
            is_as_of("grace", listing.grace.revision),
        ];
        let put = TxnOp::put(self.key(ID), id.to_string(), None);
        client.txn(Txn::new().when(conditions).and_then([put])).await.map(drop)
    }

    /// Writes which registries were left, if that key is still as it was listed. Otherwise does nothing.
    pub async fn write_left(
        &self,
        client: &mut Client,
        value: &str,
        listing: &Listing,
    ) -> Result<(), Error> {
        let key = self.key(LEFT);
        let is_as_of = Compare::mod_revision(&*key, CompareOp::Equal, listing.left.revision);
        let txn = Txn::new()
            .when([self.is_listed(), is_as_of])
            .and_then([TxnOp::put(&*key, value, None)]);
        client.txn(txn).await.map(drop)
    }

    fn put_grace(&self, grace: Grace<'_>) -> TxnOp {
        let options = PutOptions::new().with_lease(grace.lease);
        TxnOp::put(self.key("grace"), grace.until, Some(options))
    }

    /// Begins a grace period of the registry that was listed, bound to this lease. Returns false if there is one
    /// already.
    pub async fn begin_grace(&self, client: &mut Client, grace: Grace<'_>) -> Result<bool, Error> {
        let key = self.key("grace");
        let txn = Txn::new()
            .when([is_absent(&key), self.is_listed()])
            .and_then([self.put_grace(grace)])
            .or_else([TxnOp::get(key, None)]);
        let response = client.txn(txn).await?;
        match response.succeeded() {
            true => Ok(true),
            false if gets(&response).iter().any(|get| !get.kvs().is_empty()) => Ok(false),
            false => Err(another()),
        }
    }

    /// Writes a value if the key does not exist, and the key beside it is as of this revision.
    pub async fn create(
        &self,
        client: &mut Client,
        name: &str,
        value: &str,
        (beside, revision): (&str, i64),
    ) -> Result<(), Error> {
        let key = self.key(name);
        let txn = Txn::new()
            .when([
                is_absent(&key),
                Compare::mod_revision(self.key(beside), CompareOp::Equal, revision),
                self.is_listed(),
            ])
            .and_then([TxnOp::put(&*key, value, None)]);
        client.txn(txn).await.map(drop)
    }
}
