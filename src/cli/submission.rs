//! A submission: a folder with the results of a whole run, the source of the adapter, and a seal.

mod folder;
mod manifest;
mod whole_run;

pub(crate) use folder::SubmissionFolder;
pub(crate) use manifest::{Manifest, is_address};
pub(crate) use whole_run::read_whole_run;
