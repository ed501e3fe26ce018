//! Folders for the files of a run, which end with it: named, held, removed, and looked for by the next run where a run was killed.

mod held;
mod removal;

pub use held::RunFolder;
pub use removal::remove;
