//! Cases: a model, its inputs, and what is expected of a runtime.

mod declared_cells;
mod definition;
mod digest;
mod expected;
mod external;
mod file;
mod folder;
mod variant;
mod write;

pub use declared_cells::named_cells;
pub use definition::{
    Case, DataSet, Evidence, ExpectedOutput, Level, Named, Refusal, RefusalClass, RuleRef, UpstreamOverride,
};
pub use digest::{digest, digest_of_texts};
pub use expected::Expected;
pub use external::external_locations;
pub use file::{MOST_BINARY, read_file, read_text};
pub use folder::{CaseError, Feed, FolderData, read_folder};
pub(crate) use variant::name_dimensions;
pub use variant::{Variant, vary};
pub use write::files;
