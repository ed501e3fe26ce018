//! Cases of an archive, which `export --archive` wrote.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_subject::run_folder::RunFolder;

use crate::case::{Case, MAX_BINARY, Refusal, external_locations, read_file};
use crate::suite::archive_body::{ArchivedCase, ArchivedRefusal, BodyReader, level_of};
use crate::suite::archive_bytes::{EDGE, REFUSAL};
use crate::suite::archive_cursor::ArchiveError;
use crate::suite::archive_directory::{ArchiveEntry, Directory};
use crate::suite::{CaseGroup, SUITE_VERSION, Source, SuiteError};

/// The folder of models with external data. It outlives the suite, since cases refer to it.
static WRITTEN: Mutex<Option<RunFolder>> = Mutex::new(None);

/// Removes the temporary folder of models with external data.
pub(super) fn remove_archived_files() {
    // A folder that cannot be removed does no harm.
    drop(WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// The cases of an archive. The format is in docs/archive.md.
#[derive(Debug)]
pub struct ArchivedCases {
    path: PathBuf,
    directory: Directory,
    /// Largest total size in bytes of the model and the values of a case.
    memory: u64,
}

impl ArchivedCases {
    /// Reads the header and the directory of an archive. Models and values are read with their cases.
    pub fn open(path: &Path) -> Result<ArchivedCases, SuiteError> {
        let io = |error| SuiteError::Io { path: path.to_owned(), error };
        ArchivedCases::from_bytes(path, read_file(path, MAX_BINARY).map_err(io)?.into())
    }

    /// Reads an archive in memory. Errors name the path.
    fn from_bytes(path: &Path, bytes: Bytes) -> Result<ArchivedCases, SuiteError> {
        let directory = Directory::read(bytes).map_err(|error| file_error(path, &error))?;
        Ok(ArchivedCases { path: path.to_owned(), directory, memory: u64::MAX })
    }

    fn entry(&self, id: &str) -> Option<(usize, &ArchiveEntry)> {
        let number = self.directory.find(id)?;
        Some((number, self.directory.entries().get(number)?))
    }

    /// Reads an entry, and its control if it is a refusal.
    fn read(&self, number: usize, entry: &ArchiveEntry) -> Result<Case, SuiteError> {
        let ArchivedCase { mut case, files, refusal } = self.read_entry(entry)?;
        let has_locations =
            || decode::model(case.model.clone()).is_ok_and(|model| !external_locations(&model).is_empty());
        if !files.is_empty() || has_locations() {
            case.folder = Some(self.folder(number, entry, &files)?);
        }
        if let Some(ArchivedRefusal { rule, control, only_at_run_time }) = refusal {
            let number = usize::try_from(control).unwrap_or(usize::MAX);
            // A control runs, so it has no control itself.
            let control = self.directory.entries().get(number).filter(|control| control.flags & REFUSAL == 0);
            let control = control.ok_or_else(|| self.malformed(entry, "has no entry that can be its control"))?;
            let control = Box::new(self.read(number, control)?);
            case.refusal = Some(Refusal { rule, control, only_at_run_time });
        }
        Ok(case)
    }

    fn read_entry(&self, entry: &ArchiveEntry) -> Result<ArchivedCase, SuiteError> {
        let reader = BodyReader::new(&self.directory, entry, self.memory);
        reader.case(&entry.id).map_err(|error| match error {
            ArchiveError::TooLarge { .. } => {
                let level = level_of(&self.directory, entry).unwrap_or_default();
                let case = Case { level, is_edge: entry.flags & EDGE != 0, ..Case::without_data(&entry.id) };
                SuiteError::TooLarge { case: Box::new(case), message: error.to_string() }
            }
            error => file_error(&self.path, &error),
        })
    }

    /// Returns a folder with the files of a model, written on first use.
    fn folder(&self, number: usize, entry: &ArchiveEntry, files: &[(String, Bytes)]) -> Result<PathBuf, SuiteError> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if let Some((name, _)) = files.iter().find(|(name, _)| !Path::new(name).components().all(is_plain)) {
            return Err(
                self.malformed(entry, &format!("has the file {name}, which is outside the folder of its model"))
            );
        }
        let name = format!("{:08x}-{number}", self.directory.checksum);
        write_once(&name, files).map_err(|error| SuiteError::Io { path: std::env::temp_dir(), error })
    }

    fn malformed(&self, entry: &ArchiveEntry, rule: &str) -> SuiteError {
        let error = ArchiveError::Malformed { place: format!("entry {}", entry.id), rule: rule.to_owned() };
        file_error(&self.path, &error)
    }
}

fn file_error(path: &Path, error: &ArchiveError) -> SuiteError {
    SuiteError::File { path: path.to_owned(), rule: error.to_string() }
}

/// Returns the folder of this name in the temporary folder. The model's folder is in a separate folder, so that a path
/// to the parent folder reaches no other model.
fn write_once(name: &str, files: &[(String, Bytes)]) -> io::Result<PathBuf> {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if written.is_none() {
        *written = Some(RunFolder::new_in(&std::env::temp_dir())?);
    }
    let home = written.as_ref().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned()).join(name);
    let folder = home.join("model");
    if !folder.exists() {
        let complete = write_files(&folder, files);
        if complete.is_err() {
            // The next case that needs the folder reports the same error.
            let _ = fs::remove_dir_all(&home);
        }
        complete?;
    }
    Ok(folder)
}

fn write_files(folder: &Path, files: &[(String, Bytes)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, bytes) in files {
        let path = folder.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

impl Source for ArchivedCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        let cases = self.directory.entries().iter().filter(|entry| !entry.is_control());
        Ok(cases.map(|entry| CaseGroup { name: entry.id.clone() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        let found = self.entry(name).filter(|(_, entry)| !entry.is_control());
        Ok(found.map(|(_, entry)| CaseGroup { name: entry.id.clone() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(vec![group.name.clone()])
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let found = self.entry(&group.name).filter(|(_, entry)| !entry.is_control() && wanted(&entry.id));
        found.map(|(number, entry)| self.read(number, entry)).into_iter().collect()
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(format!("{} {:08x}", self.directory.digest, self.directory.checksum))
    }

    fn limit(&mut self, memory: u64) {
        self.memory = memory;
    }

    fn remark(&self) -> Option<String> {
        let suite = &self.directory.suite;
        let path = self.path.display();
        (suite != SUITE_VERSION).then(|| {
            format!(
                "{path}: the archive has the cases of suite {suite}, and this program those of suite {SUITE_VERSION}, which may \
                 differ"
            )
        })
    }
}

#[cfg(test)]
mod tests;
