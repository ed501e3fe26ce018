//! Failures as people read them: their causes and groups, the text of `run` and `cargo test`, and folders with the files of each case.

mod actual;
mod causes;
mod folder;
mod groups;
mod known_difference;
mod pattern;
mod patterns;
mod show;
mod style;

pub use actual::Recorder;
pub use causes::{Cause, causes, model_line, plural};
pub use folder::FailureFolder;
pub use groups::{FailureGroup, failure_groups, group_of, sort_by_gravity};
pub use patterns::add_patterns;
pub use show::{Grouping, Options, Show, failures, rerun_command};
pub use style::without_style;
