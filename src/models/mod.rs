//! Models that users have: their files, and what a check of them finds.

mod examine;
mod files;
mod report;
mod wanted;

pub use examine::examine;
pub use files::{FilesError, ModelFile, ModelFolder, model_files};
pub use report::{Answer, ModelReport, Status, TargetReport};
pub use wanted::Wanted;
