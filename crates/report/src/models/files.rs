//! Model files and their folders.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_cases::case::open_regular;
use onnx_conformance_check::{Folder, Source};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::decode::{ExternalData, ExternalDataError};
use onnx_conformance_subject::FolderData;
use walkdir::WalkDir;

/// A model file whose bytes are read on demand.
#[derive(Debug)]
pub struct ModelFile {
    file: RefCell<File>,
    length: u64,
}

impl ModelFile {
    /// Opens a regular file.
    pub fn open(path: &Path) -> io::Result<ModelFile> {
        let (file, length) = open_regular(path)?;
        Ok(ModelFile { file: RefCell::new(file), length })
    }
}

impl Source for ModelFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }
}

/// Folder of a model with its external data. A check needs only the sizes of the data, a run also the contents.
#[derive(Debug)]
pub struct ModelFolder(PathBuf);

impl ModelFolder {
    /// Returns the folder of a model file.
    pub fn for_model(model: &Path) -> ModelFolder {
        ModelFolder(model.parent().map(Path::to_owned).unwrap_or_default())
    }

    fn data(&self) -> FolderData {
        let folder = if self.0.as_os_str().is_empty() { Path::new(".") } else { self.0.as_path() };
        FolderData::new(Some(folder), Deadline::never())
    }
}

impl ExternalData for ModelFolder {
    fn size(&self, location: &str) -> Result<u64, ExternalDataError> {
        self.data().size(location)
    }

    fn read(&self, location: &str, offset: u64, length: u64) -> Result<Bytes, ExternalDataError> {
        self.data().read(location, offset, length)
    }
}

impl Folder for ModelFolder {
    /// Links are not followed, because they may lead out of the folder.
    fn size_of(&self, location: &str) -> Option<u64> {
        if self.is_link(location) {
            return None;
        }
        let metadata = std::fs::metadata(self.0.join(location)).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    fn is_link(&self, location: &str) -> bool {
        let mut path = self.0.clone();
        Path::new(location).components().any(|part| {
            path.push(part);
            std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink())
        })
    }
}

/// Name of standard input among the paths of models.
const STDIN: &str = "-";

/// Returns true if a path is the name of standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Returns the name of a model in messages.
pub fn model_name(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// A path without a model.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The file or folder cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The path.
        path: String,
        /// The error message.
        error: String,
    },
    /// The folder contains no model.
    #[error("{0}: has no .onnx file; a file with another extension must be named itself")]
    Nothing(String),
}

/// Returns the model files of these paths: each file itself, and all files below a folder whose names end in `.onnx`.
/// `-` is standard input.
pub fn model_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FilesError> {
    let mut files = Vec::new();
    for path in paths {
        let place = || path.display().to_string();
        if is_stdin(path) {
            files.push(path.clone());
            continue;
        }
        if !path.is_dir() {
            std::fs::metadata(path)
                .map_err(|error| FilesError::Unreadable { path: place(), error: error.to_string() })?;
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        for entry in WalkDir::new(path).sort_by_file_name() {
            let entry = entry.map_err(|error| FilesError::Unreadable { path: place(), error: error.to_string() })?;
            let is_model = entry.path().extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx"));
            if is_model && entry.file_type().is_file() {
                files.push(entry.into_path());
            }
        }
        if files.len() == before {
            return Err(FilesError::Nothing(place()));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stands_for_the_models_below_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.onnx", "a/c.ONNX", "a/d.pb"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"x").unwrap();
        }
        let found = model_files(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_owned()).collect();
        assert_eq!(names, [Path::new("a/c.ONNX"), Path::new("b.onnx")]);
        assert_eq!(model_files(&[folder.path().join("a/d.pb")]).unwrap().len(), 1);
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        let error = model_files(&[folder.path().join("empty")]).unwrap_err().to_string();
        assert!(error.contains("has no .onnx file"), "{error}");
        assert!(model_files(&[folder.path().join("gone.onnx")]).is_err());
        assert_eq!(model_files(&["-".into()]).unwrap(), [Path::new("-")]);
    }

    #[test]
    fn the_bytes_of_a_file_are_read_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = ModelFile::open(&path).unwrap();
        let mut buffer = [0; 3];
        file.read_at(6, &mut buffer).unwrap();
        assert_eq!((&buffer, file.len()), (b"678", 10));
        assert!(file.read_at(8, &mut buffer).is_err() && ModelFile::open(folder.path()).is_err());
    }

    #[test]
    fn a_folder_has_the_data_of_its_model() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("w.bin"), b"0123456789").unwrap();
        let folder = ModelFolder::for_model(&home.path().join("m.onnx"));
        assert_eq!(ExternalData::size(&folder, "w.bin").unwrap(), 10);
        assert_eq!(folder.read("w.bin", 6, 3).unwrap(), Bytes::from_static(b"678"));
        assert!(folder.read("w.bin", 8, 3).is_err() && folder.read("none", 0, 1).is_err());
        assert!(folder.read("../w.bin", 0, 1).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_has_no_size() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outside"), b"secret").unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("w.bin"), b"1234").unwrap();
        std::os::unix::fs::symlink("../outside", home.join("link")).unwrap();
        let sizes = ModelFolder::for_model(&home.join("m.onnx"));
        assert_eq!((sizes.size_of("w.bin"), sizes.size_of("link"), sizes.size_of("none")), (Some(4), None, None));
        assert_eq!(["w.bin", "link", "none"].map(|location| sizes.is_link(location)), [false, true, false]);
    }
}
