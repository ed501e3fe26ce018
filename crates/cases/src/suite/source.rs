//! Sources of cases, and their errors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use miette::Diagnostic;

use crate::case::{Case, CaseError};
use crate::generate::GenerateError;
use crate::hostile::DraftError;

/// Cases that are made or read together: one vendored case, or those of one operator version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseGroup {
    /// The common prefix of the ids, or the single id.
    pub name: String,
}

/// A source of cases.
pub trait Source: Sync {
    /// Returns the groups in order, without reading any case.
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError>;

    /// Returns the group of this name, without listing all groups.
    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError>;

    /// Returns the ids of a group's cases, sorted, without making them.
    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError>;

    /// Loads the selected cases of a group.
    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError>;

    /// Returns a text that changes if the cases may have changed.
    fn fingerprint(&self) -> Result<String, SuiteError>;

    /// Returns texts that change if cases of no operator may have changed, by the common prefix of their ids.
    fn fingerprints(&self) -> Result<BTreeMap<String, String>, SuiteError> {
        let Some(prefix) = self.common_prefix() else { return Ok(BTreeMap::new()) };
        Ok(BTreeMap::from([(prefix.to_owned(), self.fingerprint()?)]))
    }

    /// Returns the common prefix of all ids, if there is one. A filter that selects nothing below it skips the groups.
    fn common_prefix(&self) -> Option<&str> {
        None
    }

    /// Returns true if the cases are selected by default. Those of ONNX's older releases are not.
    fn is_default(&self) -> bool {
        true
    }

    /// Returns a text that is the same for groups with the same cases, so that such a test runs only once.
    fn content(&self, _unit: &CaseGroup) -> Result<Option<String>, SuiteError> {
        Ok(None)
    }

    /// Returns the files that a case was read from, by name, if it is to be exported with them.
    fn files(&self, _id: &str) -> Result<BTreeMap<String, Bytes>, SuiteError> {
        Ok(BTreeMap::new())
    }

    /// Returns a note for users before the run, such as the tolerances that apply.
    fn remark(&self) -> Option<String> {
        None
    }

    /// Restricts loading to cases whose files have at most this many bytes; see [`SuiteError::TooLarge`]. Cases of the
    /// project itself are small.
    fn limit(&mut self, _memory: u64) {}

    /// Compares all cases of a group with their record, if there is one.
    fn check(&self, _unit: &CaseGroup, _cases: &[Case]) -> Result<(), SuiteError> {
        Ok(())
    }
}

/// Failure to list or load cases.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum SuiteError {
    /// A file or folder cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A file of the suite has the wrong content.
    #[error("{path}: {rule}")]
    File {
        /// The file.
        path: PathBuf,
        /// The problem and its remedy.
        rule: String,
    },
    /// The files of a case exceed [`Source::limit`] and were not read.
    #[error("{message}")]
    TooLarge {
        /// The case, without its model and its data.
        case: Box<Case>,
        /// Their size and the limit.
        message: String,
    },
    /// A case cannot be read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A case cannot be made from the specs.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Generate(Box<GenerateError>),
    /// The embedded releases cannot be read.
    #[error(transparent)]
    Embedded(&'static SuiteError),
    /// A hostile model cannot be made.
    #[error("{id}: {error}")]
    Hostile {
        /// The case.
        id: String,
        /// The reason.
        error: DraftError,
    },
}

impl SuiteError {
    /// Fails if the files of a case have more than `memory` bytes in total. A file that cannot be read is left to its
    /// reader.
    pub(super) fn check_size(
        memory: Option<u64>,
        files: impl Iterator<Item = PathBuf>,
        case: impl FnOnce() -> Case,
    ) -> Result<(), SuiteError> {
        let Some(memory) = memory else { return Ok(()) };
        let size = files.filter_map(|file| Some(std::fs::metadata(file).ok()?.len())).fold(0, u64::saturating_add);
        if size <= memory {
            return Ok(());
        }
        let message = format!("the model and its data have {size} bytes, over the limit of {memory} bytes");
        Err(SuiteError::TooLarge { case: Box::new(case()), message })
    }
}
