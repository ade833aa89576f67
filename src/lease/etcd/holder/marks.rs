//! How the worker reads the marks of generator IDs.

use super::base::{Halt, Holder};
use crate::lease::etcd::registry::{Listing, Marks};

impl Holder {
    /// Reads these marks, fewer at a time where they are too large for one answer. What was read stays read
    /// where a later part fails.
    pub(super) fn read_marks(&mut self, listing: &mut Listing, ids: &[u16]) -> Result<(), Halt> {
        let mut parts = vec![ids];
        while let Some(part) = parts.pop() {
            let registry = &self.registry;
            match self.etcd.call(async |client| registry.marks(client, part).await)? {
                Marks::TooLarge => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Marks::Read(read) => {
                    for (id, mark) in read {
                        match mark {
                            Some(mark) => {
                                listing.marked.insert(id, mark.revision);
                                self.marks.insert(id, mark);
                            }
                            None => {
                                listing.marked.remove(&id);
                                self.marks.remove(&id);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
