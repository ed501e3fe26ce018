//! Cases: a model, its inputs, and the expectation.

mod declared_cells;
mod definition;
mod digest;
mod evidence;
mod expected;
mod external;
mod file;
mod folder;
mod id;
mod type_cell;
mod variant;
mod write;

pub use declared_cells::named_cells;
pub use definition::{Case, DataSet, ExpectedOutput, Level, Named, Refusal, RefusalClass, RuleRef, UpstreamOverride};
pub use digest::{digest, digest_of_texts};
pub use evidence::{Evidence, OutputEvidence};
pub use expected::{Expected, Part};
pub use external::external_locations;
pub(crate) use file::open_regular;
pub use file::{MOST_BINARY, read_file, read_text};
pub(crate) use file::{lines, read_lines};
pub use folder::{CaseError, Feed, FolderData, read_files, read_folder};
pub(crate) use id::folders;
pub use id::{CaseId, type_in_id};
pub use type_cell::{Cell, CellError, TypeCell};
pub(crate) use variant::name_dimensions;
pub use variant::{Variant, vary};
pub use write::files;
