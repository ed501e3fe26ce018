//! Copy of the data next to a model, which the requests for models of one folder share.
//!
//! A model reads external data from its own folder, where runtimes refuse links. So a part of a model needs a folder
//! with a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::contents::{Bounds, Contents};
use crate::message::Problem;
use crate::run_folder::RunFolder;

/// Copy of the files and folders beside a model, on disk: data may be larger than memory. It is removed when the value is dropped.
pub(super) struct SharedData {
    source: PathBuf,
    folder: RunFolder,
    /// Files of the source and of the copy.
    files: [Files; 2],
    /// Contents of the copy.
    given: Contents,
    /// Names of the models that were written next to the copy.
    models: Mutex<BTreeSet<String>>,
}

/// Size and time of change of each file.
type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

impl SharedData {
    /// Copies the data beside the models in a folder.
    pub(super) fn copy(source: &Path) -> io::Result<SharedData> {
        let folder = RunFolder::new_in(&std::env::temp_dir())?;
        let before = files(source, &BTreeSet::new())?;
        copy_data(source, folder.path())?;
        let copied = files(folder.path(), &BTreeSet::new())?;
        let given = Contents::of(folder.path())?;
        Ok(SharedData { source: source.to_owned(), folder, files: [before, copied], given, models: Mutex::default() })
    }

    /// Returns true if this is a copy of the folder, and neither has changed since.
    pub(super) fn is_current(&self, source: &Path) -> bool {
        let [before, copied] = &self.files;
        self.source == source
            && files(source, &BTreeSet::new()).is_ok_and(|now| now == *before)
            && files(self.folder.path(), &self.models()).is_ok_and(|now| now == *copied)
    }

    /// Writes a model next to the copy, and returns its path.
    pub(super) fn write_model(&self, name: &str, model: &[u8]) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        self.models().insert(name.to_owned());
        fs::File::create_new(&path)?.write_all(model)?;
        Ok(path)
    }

    /// Removes a model, unless the adapter has removed it.
    pub(super) fn remove_model(&self, name: &str) -> io::Result<()> {
        let removed = fs::remove_file(self.folder.path().join(name));
        self.models().remove(name);
        removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
    }

    /// Returns the number of bytes that were added to the copy, models included.
    pub(super) fn added(&self, entries: u64, depth: usize) -> Result<u64, Problem> {
        let bounds = Bounds { entries: self.given.entries.saturating_add(entries), depth: self.given.depth.max(depth) };
        let mut now = Contents::default();
        now.add(self.folder.path().to_owned(), bounds)?;
        Ok(now.bytes.saturating_sub(self.given.bytes))
    }

    fn models(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lists the entries of a folder, except for the model and its data sets.
fn data(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let is_data = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name != "model.onnx" && !name.to_string_lossy().starts_with("test_data_set_")
    };
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).filter(is_data)
}

/// Copies the files and folders next to a model. Links are not copied: a copy of their targets would differ.
fn copy_data(from: &Path, to: &Path) -> io::Result<()> {
    for entry in data(from) {
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_data(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Returns the files that are data in a folder, except those with these names.
fn files(folder: &Path, except: &BTreeSet<String>) -> io::Result<Files> {
    let (mut files, mut open) = (Files::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        for entry in data(&path) {
            let (found, name) = (entry.metadata()?, entry.file_name());
            if found.is_dir() {
                open.push(entry.path());
            } else if found.is_file() && !(path == folder && name.to_str().is_some_and(|name| except.contains(name))) {
                files.insert(entry.path(), (found.len(), found.modified().ok()));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::exchange_folder::ExchangeFolder;

    #[test]
    fn a_folder_is_copied_once_unless_something_changes() {
        let (home, exchange) = (tempfile::tempdir().unwrap(), ExchangeFolder::new(1).unwrap());
        fs::create_dir(home.path().join("weights")).unwrap();
        fs::write(home.path().join("weights/w.bin"), b"data").unwrap();
        fs::write(home.path().join("model.onnx"), b"whole").unwrap();
        let first = exchange.data(home.path()).unwrap();
        let model = first.write_model("part.onnx", b"part").unwrap();
        let copied = model.with_file_name("weights").join("w.bin");
        assert_eq!(fs::read(&copied).unwrap(), b"data");
        assert!(!model.with_file_name("model.onnx").exists() && first.added(10, 1).unwrap() > 0);
        let second = exchange.data(home.path()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        second.remove_model("part.onnx").unwrap();
        assert_eq!(first.added(10, 1).map_err(|problem| problem.rule), Ok(0));

        // What an adapter changes in the copy, the next request does not see.
        fs::write(&copied, b"other data").unwrap();
        let third = exchange.data(home.path()).unwrap();
        assert!(!Arc::ptr_eq(&first, &third));
        fs::write(third.write_model("stray", b"").unwrap().with_file_name("more"), b"").unwrap();
        let fourth = exchange.data(home.path()).unwrap();
        assert!(!Arc::ptr_eq(&third, &fourth));
        fs::write(home.path().join("weights/w.bin"), b"new").unwrap();
        let fifth = exchange.data(home.path()).unwrap();
        assert_eq!(
            fs::read(fifth.write_model("part.onnx", b"").unwrap().with_file_name("weights").join("w.bin")).unwrap(),
            b"new"
        );

        drop((first, second));
        assert!(!copied.exists(), "the first copy is removed with its last user");
    }
}
