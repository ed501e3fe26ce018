//! Models that users have: their files, and what a check of them finds.

mod examine;
mod files;
mod report;

pub use examine::{Wanted, examine};
pub use files::{FilesError, ModelFile, ModelFolder, model_files};
pub use report::{Answer, ModelReport, Status, TargetReport};
