//! The sources of cases, and the selection of cases by id.

mod archive;
mod archive_body;
mod archive_bytes;
mod archive_cursor;
mod archive_directory;
mod archive_drawn;
mod archive_pieces;
mod archived;
mod checked_refusals;
mod defects;
mod export;
mod filter;
mod folder;
mod generated;
mod glob;
mod glob_index;
mod graphs;
mod hostile;
mod ir;
mod patterns;
mod profile;
mod recorded_case;
mod recorded_others;
mod records;
mod releases;
#[cfg(test)]
mod sample_cases;
mod source;
mod sources;
mod topics;
mod upstream;
mod vendored;
mod version;
mod walk;
mod wrapped;
mod wrapped_record;

pub use archive::{Archive, ArchiveFacts};
pub use archived::ArchivedCases;
pub use checked_refusals::{CheckedRefusal, checked_refusals};
pub use defects::{Defect, Defects};
pub use export::{Exported, Exporter, export_case};
pub use filter::Filter;
pub use folder::FolderSuite;
pub use generated::{Generated, read_operators};
pub use glob::FilterError;
pub use glob::{PathGlob, alternatives, is_glob, loose_glob, wildcard};
pub use glob_index::GlobIndex;
pub use graphs::{GraphCases, GraphId, GraphRole};
pub use hostile::HostileCases;
pub use ir::{IrCases, remove_temporary};
pub use profile::{Profile, is_in_float, is_in_type};
pub use recorded_case::{CaseFacts, Needs, RecordedCase, opset_of};
pub use recorded_others::{digests_of_others, record_of_others, recorded_digests_of_others};
pub use records::{
    OperatorRecord, VersionRecord, digests_with_sources, later_texts, recorded_cases, recorded_digests, records,
    stale_records,
};
pub use releases::{
    FullTest, Pack, PackError, PackedObject, Release, ReleaseIndex, Releases, Test, Tolerance, release_key, sha256,
    short, write_pack,
};
pub use source::{CaseGroup, Source, SuiteError};
pub use sources::{SelectedGroup, Suite};
pub use vendored::VendoredCases;
pub use version::SUITE_VERSION;
pub use wrapped::WrappedCases;
