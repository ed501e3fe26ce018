//! Models that users have: their files, and what a check of them finds.

mod examine;
mod files;
mod report;
mod runtimes;
mod wanted;

pub use examine::examine;
pub use files::{FilesError, ModelFile, ModelFolder, model_files};
pub use report::{Answer, ModelReport, Status, TargetReport};
pub use runtimes::{KindReport, RuntimeReport, RuntimeVerdict};
pub use wanted::Wanted;
