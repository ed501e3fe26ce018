//! Cases: a model, its inputs, and what is expected of a runtime.

mod definition;
mod folder;
mod named;

pub use definition::{Case, DataSet, Evidence, Expected, Level, Named, Refusal, Want};
pub use folder::{CaseError, Feed, FolderData, read_folder};
pub use named::named_cells;
