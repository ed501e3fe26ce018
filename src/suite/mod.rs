//! Every source of cases, and choosing among them by id.

mod corpus;
mod export;
mod filter;
mod folder;
mod generated;
mod index;
mod ir;
mod sources;
mod upstream;

pub use corpus::Corpus;
pub use export::{Exported, Exporter, export_case};
pub use filter::{Filter, FilterError};
pub(crate) use filter::{globs, is_glob, loose_glob, wildcard};
pub use folder::FolderSuite;
pub use generated::{Generated, read_operators};
pub use index::{Index, Recorded, records, stale_records};
pub use ir::Ir;
pub use sources::{Chosen, Source, Suite, SuiteError, Unit};
