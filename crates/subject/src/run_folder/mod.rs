//! Folders for the files of a run, which end with it. They are named and locked, and the next run removes the folders
//! of killed runs.

mod held;
#[cfg(unix)]
mod locked;
mod removal;
#[cfg(not(unix))]
mod unlocked;

pub use held::RunFolder;
pub use removal::remove;
