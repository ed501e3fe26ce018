//! External data in the folder of a model.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::decode::ExternalData;

use crate::files::open_regular;

/// External data of a model in files of a folder.
pub struct FolderData {
    folder: Option<PathBuf>,
    deadline: Deadline,
}

impl FolderData {
    /// Gives access to the files in `folder`, or to none without a folder. Reading stops at the deadline.
    pub fn new(folder: Option<&Path>, deadline: Deadline) -> FolderData {
        FolderData { folder: folder.map(Path::to_owned), deadline }
    }

    fn open(&self, location: &str) -> Result<(File, u64), String> {
        let path = self.resolve(location)?;
        open_regular(&path).map_err(|error| format!("external data '{location}': {error}"))
    }

    /// Resolves a location to a path, which must be in the folder after links are followed.
    fn resolve(&self, location: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.folder else {
            return Err(format!("external data '{location}' needs a model that was read from a folder"));
        };
        if Path::new(location).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(format!("external data location '{location}' leaves the model's folder"));
        }
        let canonical = |path: &Path| path.canonicalize().map_err(|error| format!("'{}': {error}", path.display()));
        let (home, path) = (canonical(folder)?, canonical(&folder.join(location))?);
        if !path.starts_with(&home) {
            return Err(format!("external data '{location}' is a link that leaves the model's folder"));
        }
        Ok(path)
    }
}

/// Bytes read between two checks of the deadline.
const READ_AT_ONCE: u64 = 1 << 24;

impl ExternalData for FolderData {
    fn size(&self, location: &str) -> Result<u64, String> {
        self.open(location).map(|(_, size)| size)
    }

    fn read(&self, location: &str, offset: u64, length: u64) -> Result<Bytes, String> {
        let failed = |error: std::io::Error| format!("external data '{location}': {error}");
        let (mut file, _) = self.open(location)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut bytes = Vec::new();
        let mut left = length;
        while left > 0 {
            if self.deadline.is_over() {
                return Err(format!("external data '{location}': the time for loading is over"));
            }
            let part = (&mut file).take(left.min(READ_AT_ONCE)).read_to_end(&mut bytes).map_err(failed)?;
            if part == 0 {
                return Err(format!("external data '{location}' ends {left} bytes early"));
            }
            left -= part as u64;
        }
        Ok(bytes.into())
    }
}
