//! Folders that are written under a temporary name and then renamed, so that a folder appears when it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onnx_conformance_subject::unique::create_unique;

/// Reason why a folder was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WholeFolderError {
    /// The folder or a file in it cannot be written.
    #[error("{}: nothing was written: {error}", folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file can neither be linked nor copied.
    #[error("{}: nothing was written: external data {name}: {error}", folder.display())]
    Linked {
        /// The folder.
        folder: PathBuf,
        /// The file.
        name: String,
        /// The cause.
        error: io::Error,
    },
}

/// Writes files to a new or empty folder. Those in `linked` are hard links to the same names in `home`, or copies on another disk.
pub fn write_whole_folder(
    folder: &Path,
    files: &[(String, Vec<u8>)],
    linked: &[String],
    home: &Path,
) -> Result<(), WholeFolderError> {
    let failed = |error: io::Error| WholeFolderError::Io { folder: folder.to_owned(), error };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let (path, ()) = create_unique(parent, ".unfinished-", |path| fs::create_dir(path)).map_err(failed)?;
    let unfinished = Unfinished(path);
    let place = |name: &String| {
        let path = unfinished.0.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all).map(|()| path)
    };
    for (name, bytes) in files {
        place(name).and_then(|path| fs::write(path, bytes)).map_err(failed)?;
    }
    for name in linked {
        let source = home.join(name);
        let link = |path: PathBuf| fs::hard_link(&source, &path).or_else(|_| fs::copy(&source, &path).map(drop));
        place(name).and_then(link).map_err(|error| WholeFolderError::Linked {
            folder: folder.to_owned(),
            name: name.clone(),
            error,
        })?;
    }
    if folder.exists() {
        fs::remove_dir(folder).map_err(failed)?;
    }
    fs::rename(&unfinished.0, folder).map_err(failed)
}

/// A folder that is not in place yet. It is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the renaming there is nothing to remove. If it cannot be removed, there is no remedy.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole_file::tests::names;

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("w.bin"), b"weights").unwrap();
        let out = home.path().join("a/case");
        let files = [("model.onnx".to_owned(), vec![1]), ("test_data_set_0/input_0.pb".to_owned(), vec![2])];
        write_whole_folder(&out, &files, &["w.bin".to_owned()], home.path()).unwrap();
        assert_eq!(names(&out), ["model.onnx", "test_data_set_0", "w.bin"]);
        assert_eq!(
            (names(&home.path().join("a")), fs::read(out.join("w.bin")).unwrap()),
            (vec!["case".to_owned()], b"weights".to_vec())
        );
        assert!(write_whole_folder(&out, &files, &[], home.path()).is_err());
        let missing = write_whole_folder(&home.path().join("b"), &files, &["none.bin".to_owned()], home.path());
        let error = missing.unwrap_err().to_string();
        assert!(error.contains("nothing was written: external data none.bin"), "{error}");
        assert_eq!(names(home.path()), ["a", "w.bin"]);
    }
}
