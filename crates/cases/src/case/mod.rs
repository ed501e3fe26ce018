//! Cases: a model, its inputs, and the expectation.

mod declared_cells;
mod definition;
mod digest;
mod drawn;
mod evidence;
mod expected;
mod external;
mod folder;
mod frozen;
mod level;
mod question;
mod random;
mod refusal_kind;
mod text;
mod type_cell;
mod variant;
mod wrapped;
mod write;

pub use declared_cells::named_cells;
pub use definition::{Case, DataSet, ExpectedOutput, Refusal, RefusalClass, RuleRef, UpstreamOverride};
pub(crate) use digest::digests;
pub use digest::{CaseDigest, digest, digest_of_texts};
pub use drawn::DrawnTensor;
pub(crate) use drawn::{Choice, Draw};
pub use evidence::{Evidence, OutputEvidence};
pub use expected::{Expected, Part};
pub use external::external_locations;
pub use folder::{CaseError, Feed, FolderInMemory, read_files, read_folder};
pub use frozen::{CaseChange, FrozenCase};
pub use level::{Level, TextLevel};
pub use onnx_conformance_subject::files::{
    MAX_BINARY, lines, open_regular, read_file, read_lines, read_stdin, read_text,
};
pub use onnx_conformance_subject::{
    CaseId, CaseOpset, FolderData, LARGE, Named, OPSET, Variant, WRAPPED, folders, type_in_id,
};
pub use question::question_about;
pub use random::Random;
pub use refusal_kind::RefusalKind;
pub use text::{TextError, TextRange, TextRelease};
pub use type_cell::{Cell, CellError, TypeCell};
pub(crate) use variant::name_dimensions;
pub use variant::vary;
pub(crate) use wrapped::NO_OPS;
pub use write::files;
