//! Results files on disk.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use onnx_conformance_harness::expectations::Verdict;
use onnx_conformance_harness::run::{
    CaseResult, Header, Read, ResultsError, read_results_file, write_header, write_result,
};
use onnx_conformance_harness::whole_file::WholeFile;
use onnx_conformance_report::reporter::{ReportError, Reporter};

use crate::cli::print;

/// A place for results, locked by this process until it writes them.
#[derive(Debug)]
pub(crate) struct ResultsPlace {
    path: PathBuf,
    /// The existing file at the path, locked until results are written.
    locked: File,
    /// The file, if it was only created to be locked.
    _placeholder: Option<Placeholder>,
}

/// An empty file that is removed unless results replace it.
#[derive(Debug)]
struct Placeholder(PathBuf);

impl Drop for Placeholder {
    fn drop(&mut self) {
        if fs::metadata(&self.0).is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// A results file that is being written.
#[derive(Debug)]
pub(crate) struct ResultsFile {
    path: PathBuf,
    file: File,
    /// Keeps the old file locked, for processes that opened it before it was replaced.
    _old: File,
}

impl ResultsPlace {
    /// Locks a file without changing it yet.
    pub(crate) fn lock(path: &Path) -> anyhow::Result<ResultsPlace> {
        let place = || path.display().to_string();
        let new = File::options().read(true).write(true).create_new(true).open(path);
        let placeholder = new.is_ok().then(|| Placeholder(path.to_owned()));
        let file = new.or_else(|_| File::options().read(true).write(true).create(true).truncate(false).open(path));
        // Files that cannot be read, such as pipes, may still be written.
        let file = file.or_else(|_| File::options().write(true).create(true).truncate(false).open(path));
        let file = file.with_context(place)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another run is writing this file; wait for it, or choose another file", place())
            }
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => {
                return Err(error).with_context(|| format!("{}: cannot be locked", place()));
            }
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(ResultsPlace { path: path.to_owned(), locked: file, _placeholder: placeholder })
    }

    /// Replaces the file by one with the header and these results.
    pub(crate) fn begin(self, header: &Header, results: &[CaseResult]) -> anyhow::Result<ResultsFile> {
        let write = || {
            let mut file = WholeFile::beside(&self.path)?;
            // No other process knows the file yet, so this only fails if the file system has no locks.
            let _ = file.file().try_lock();
            write_header(&mut file, header)?;
            results.iter().try_for_each(|result| write_result(&mut file, result))?;
            Ok(file.put()?)
        };
        let file = write().map_err(|error| unwritten(&self.path, error))?;
        Ok(ResultsFile { path: self.path, file, _old: self.locked })
    }
}

/// Writes each result as soon as it is available.
impl Reporter for ResultsFile {
    fn case_ended(&mut self, result: &CaseResult, _verdict: Verdict) -> Result<(), ReportError> {
        write_result(&mut self.file, result).map_err(|error| unwritten(&self.path, error))
    }
}

fn unwritten(path: &Path, error: ResultsError) -> ReportError {
    ReportError { place: format!("{}: the results cannot be written", path.display()), error: error.into() }
}

/// Returns the current date in UTC, such as `2026-01-31`.
pub fn today() -> String {
    chrono::Utc::now().date_naive().to_string()
}

/// Reads a results file, and prints a note if it is incomplete.
pub(crate) fn read(path: &Path) -> anyhow::Result<Read> {
    let place = || path.display().to_string();
    let read = read_results_file(path).with_context(place)?;
    if read.is_torn {
        print::note(&format!("{}: the last line is incomplete and ignored", place()));
    }
    Ok(read)
}

/// Fails unless two runs have the same suite, texts, runtime and variant.
pub(crate) fn check_same(place: &str, old: &Header, new: &Header) -> anyhow::Result<()> {
    old.check_same(new).map_err(|error| anyhow!("{place}: {error}"))
}
