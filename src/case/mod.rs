//! Cases: a model, its inputs, and what is expected of a runtime.

mod definition;
mod digest;
mod folder;
mod named;
mod transform;
mod variant;
mod want;

pub use definition::{Case, DataSet, Evidence, Expected, Judged, Level, Named, Refusal};
pub use digest::{digest, digest_of_texts};
pub use folder::{CaseError, Feed, FolderData, read_folder};
pub use named::named_cells;
pub use transform::in_variant;
pub use variant::Variant;
pub use want::Want;
