//! Cases: a model, its inputs, and what is expected of a runtime.

mod definition;
mod folder;
mod named;
mod variant;
mod want;

pub use definition::{Case, DataSet, Evidence, Expected, Judged, Level, Named, Refusal};
pub use folder::{CaseError, Feed, FolderData, read_folder};
pub use named::named_cells;
pub use variant::Variant;
pub use want::Want;
