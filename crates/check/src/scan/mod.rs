//! Scanning: the message of a model without its weights, however large its file is.

mod copy;
mod other;
mod source;

#[cfg(test)]
mod tests;

pub use copy::{DataField, Scan, StoredData, StoredField, scan};
pub use source::{Folder, Source};
