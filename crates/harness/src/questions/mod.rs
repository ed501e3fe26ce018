//! Questions about the model of a case, each judged in a separate file, and the answers of this project.

mod builtin;
mod check;
mod completeness;
mod float16;
mod infer;
mod judge;
mod metadata;
mod rewrite;
#[cfg(test)]
mod tests;

pub use builtin::BuiltinTools;
pub use completeness::Completeness;
pub(crate) use judge::judge;
pub use metadata::{Metadata, MetadataCounts};
