//! A source of cases, and why cases cannot be had.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use miette::Diagnostic;

use crate::case::{Case, CaseError};
use crate::generate::GenerateError;

/// Cases that are made or read together: one vendored case, or those of one operator version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseGroup {
    /// The common beginning of the ids, or the one id.
    pub name: String,
}

/// A source of cases.
pub trait Source: Sync {
    /// The units in order, without reading any case.
    fn units(&self) -> Result<Vec<CaseGroup>, SuiteError>;

    /// The unit of this name, if there is one, found without listing all.
    fn unit(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError>;

    /// The ids of a unit's cases, sorted, without making them.
    fn ids(&self, unit: &CaseGroup) -> Result<Vec<String>, SuiteError>;

    /// The cases of a unit that are wanted.
    fn load(&self, unit: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError>;

    /// A text that changes when the cases may have.
    fn fingerprint(&self) -> Result<String, SuiteError>;

    /// The path that all ids begin with, where there is one: a filter that chooses nothing below it does without the units.
    fn group(&self) -> Option<&str> {
        None
    }

    /// Whether the cases are chosen where no filter names any: those of ONNX's older releases are not.
    fn is_default(&self) -> bool {
        true
    }

    /// What the cases of a unit are, the same text for units of the same cases: such a test need be run once.
    fn content(&self, _unit: &CaseGroup) -> Result<Option<String>, SuiteError> {
        Ok(None)
    }

    /// The files that a case was read from, by name, where it is to be written as it was.
    fn files(&self, _id: &str) -> Result<BTreeMap<String, Bytes>, SuiteError> {
        Ok(BTreeMap::new())
    }

    /// What a user is told before the cases are run, such as by what they are judged.
    fn remark(&self) -> Option<String> {
        None
    }

    /// Loads only cases whose files have at most so many bytes; see [`SuiteError::TooLarge`]. Cases that come with the project are
    /// small.
    fn limit(&mut self, _memory: u64) {}

    /// Holds all cases of a unit against what is recorded of them, where something is.
    fn check(&self, _unit: &CaseGroup, _cases: &[Case]) -> Result<(), SuiteError> {
        Ok(())
    }
}

/// Cases that cannot be had.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum SuiteError {
    /// A file or folder cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file of the suite does not say what it should.
    #[error("{path}: {rule}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        rule: String,
    },
    /// The files of a case have more bytes than [`Source::limit`] allows, and were not read.
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
}

impl SuiteError {
    /// Fails where these files, those of a case, have together more than `memory` bytes. A file that cannot be read is an error of
    /// its reader.
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
        let message = format!("the model and its data have {size} bytes, and the limit is {memory} bytes");
        Err(SuiteError::TooLarge { case: Box::new(case()), message })
    }

    /// A folder, or something in it, that cannot be walked through.
    pub(super) fn walk(folder: &Path, error: walkdir::Error) -> SuiteError {
        let path = error.path().unwrap_or(folder).to_owned();
        let error = error.into_io_error().unwrap_or_else(|| std::io::Error::other("a link leads back to it"));
        SuiteError::Io { path, error }
    }
}
