//! Cases: a model, its inputs, and what is expected of a runtime.

mod definition;
mod digest;
mod external;
mod file;
mod folder;
mod named;
mod variant;
mod want;
mod write;

pub use definition::{Case, DataSet, Evidence, Expected, Judged, Level, Named, Refusal, RefusalClass};
pub use digest::{digest, digest_of_texts};
pub use external::external_locations;
pub use file::{MOST_BINARY, read_file, read_text};
pub use folder::{CaseError, Feed, FolderData, read_files, read_folder};
pub use named::named_cells;
pub(crate) use variant::name_dimensions;
pub use variant::{Variant, vary};
pub use want::Want;
pub use write::files;
