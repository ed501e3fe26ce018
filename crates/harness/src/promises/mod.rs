//! Promises of the suite: the frozen list of each version, and what changed between two of them.

mod changes;
mod current;
mod frozen_list;
mod renames;
mod since;
mod version;

pub use changes::{Changes, Kind};
pub use frozen_list::{FrozenList, FrozenListError};
pub use renames::Renames;
pub use since::{changes_since, describe_changes, unchanged_since};
pub use version::{is_later, suite_version};
