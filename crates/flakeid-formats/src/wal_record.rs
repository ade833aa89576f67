//! PostgreSQL's record of a logical message in the write-ahead log (WAL): header, prefix, content.

use std::ffi::CStr;

/// Where the fields of the header are, in bytes. They are in the byte order of the machine, and the
/// sizes are numbers of a machine word.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The offset of the prefix, which follows the header.
    pub prefix: usize,
    /// The offset of the number of a database, of four bytes.
    pub database: usize,
    /// The offset of the byte that says whether the message is transactional.
    pub transactional: usize,
    /// The offset of the length of the prefix, with the zero at its end.
    pub prefix_size: usize,
    /// The offset of the length of the content.
    pub message_size: usize,
}

/// Returns the record of a message that is not transactional and belongs to no database.
pub fn record(prefix: &CStr, content: &[u8], layout: &Layout) -> Vec<u8> {
    let prefix = prefix.to_bytes_with_nul();
    let mut record = vec![0u8; layout.prefix + prefix.len() + content.len()];
    let mut put = |at: usize, bytes: &[u8]| record[at..][..bytes.len()].copy_from_slice(bytes);
    put(layout.prefix_size, &prefix.len().to_ne_bytes());
    put(layout.message_size, &content.len().to_ne_bytes());
    put(layout.prefix, prefix);
    put(layout.prefix + prefix.len(), content);
    record
}

/// Returns the content of a record that [`record`] has made with this prefix; `None` for all other
/// records.
pub fn content_of<'a>(record: &'a [u8], prefix: &CStr, layout: &Layout) -> Option<&'a [u8]> {
    let prefix = prefix.to_bytes_with_nul();
    let (header, rest) = record.split_at_checked(layout.prefix)?;
    let number = |at: usize| {
        let bytes = header.get(at..at + size_of::<usize>())?;
        Some(usize::from_ne_bytes(bytes.try_into().ok()?))
    };
    let database = header.get(layout.database..layout.database + 4)?;
    let transactional = header.get(layout.transactional)?;
    let prefix_size = number(layout.prefix_size)?;
    let size = number(layout.message_size)?;
    let ours = database.iter().all(|&byte| byte == 0)
        && *transactional == 0
        && prefix_size == prefix.len();
    rest.strip_prefix(prefix).filter(|content| ours && content.len() == size)
}
