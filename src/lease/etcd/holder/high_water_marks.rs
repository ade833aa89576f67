//! How the worker reads the high-water marks of generator IDs.

use super::base::{Halt, Holder};
use crate::lease::etcd::registry::{HighWaterMarks, Listing};

impl Holder {
    /// Reads these high-water marks, fewer at a time if they are too large for one answer. If a later part fails, the
    /// earlier ones stay read.
    pub(super) fn read_marks(&mut self, listing: &mut Listing, ids: &[u16]) -> Result<(), Halt> {
        let mut parts = vec![ids];
        while let Some(part) = parts.pop() {
            let registry = &self.registry;
            match self.etcd.call(async |client| registry.high_water_marks(client, part).await)? {
                HighWaterMarks::TooLarge => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                HighWaterMarks::Read(read) => {
                    for (id, high_water_mark) in read {
                        match high_water_mark {
                            Some(high_water_mark) => {
                                listing.mark_revisions.insert(id, high_water_mark.revision);
                                self.high_water_marks.insert(id, high_water_mark);
                            }
                            None => {
                                listing.mark_revisions.remove(&id);
                                self.high_water_marks.remove(&id);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
