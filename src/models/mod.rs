//! Models that users have: their files, and what a check of them finds.

mod examine;
mod files;
mod made_up;
mod probe;
mod report;
mod runtimes;
mod saved;
mod single_node;
mod wanted;

pub use examine::examine;
pub use files::{FilesError, ModelFile, ModelFolder, model_files};
pub use made_up::made_up_inputs;
pub use probe::RuntimeProbe;
pub use report::{Answer, ModelReport, Status, TargetReport};
pub use runtimes::{KindReport, RuntimeReport, RuntimeVerdict};
pub use saved::{SavedNode, Saving};
pub use wanted::Wanted;
