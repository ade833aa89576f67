//! The contents of the file `flakeid/watermark`. Its length is the same on each server and never
//! changes.

use crate::document;
use serde::Serialize;

/// The version of the document. A change of its fields raises it.
const VERSION: u32 = 2;

/// The document is filled up to this length.
pub const LENGTH: usize = 512;

#[derive(Serialize)]
struct Document {
    flakeid_watermark: u32,
    /// Text, since many readers of JSON lose numbers of this size.
    system_identifier: String,
}

/// Returns the contents of the file in the cluster with this system identifier. Any other contents
/// are another file.
///
/// # Errors
/// The JSON library could not write the document, which does not happen.
pub fn bytes(system_identifier: u64) -> serde_json::Result<Vec<u8>> {
    let system_identifier = system_identifier.to_string();
    let document = Document { flakeid_watermark: VERSION, system_identifier };
    let mut document = serde_json::to_vec_pretty(&document)?;
    document.resize(LENGTH - document::LAST_LINE, b'\n');
    Ok(document::seal(document))
}
