//! Fuzz targets for all that flakeid reads from disk, from the wire and from users.

pub mod checks;
