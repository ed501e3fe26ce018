//! Scanner: reads the message of a model without its weights, regardless of the size of the file.

mod copy;
mod field;
mod other;
mod source;
mod stored;
mod unknown;

#[cfg(test)]
mod tests;

pub use copy::{Scan, scan};
pub use source::{Folder, Source};
pub use stored::{DataField, StoredData, StoredField};
pub use unknown::{UnknownField, UnknownFields};
