//! Folders for the files of a run, which end with it. They are named and locked, and the next run removes those of
//! killed runs.

mod held;
mod removal;

pub use held::RunFolder;
pub use removal::remove;
