//! External data in the folder of a model.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::decode::{ExternalData, ExternalDataError, LocationFault};

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

    fn open(&self, location: &str) -> Result<(File, u64), ExternalDataError> {
        let path = self.resolve(location)?;
        open_regular(&path).map_err(|error| unreadable(location, error))
    }

    /// Resolves a location to a path, which must be in the folder after links are followed.
    fn resolve(&self, location: &str) -> Result<PathBuf, ExternalDataError> {
        let Some(folder) = &self.folder else {
            return Err(ExternalDataError::NoFolder { location: location.to_owned() });
        };
        let refused = |fault| Err(ExternalDataError::Location { location: location.to_owned(), fault });
        if Path::new(location).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return refused(LocationFault::Parent);
        }
        let canonical = |path: &Path| path.canonicalize().map_err(|error| unreadable(location, error));
        let (home, path) = (canonical(folder)?, canonical(&folder.join(location))?);
        if path.starts_with(&home) { Ok(path) } else { refused(LocationFault::Link) }
    }
}

fn unreadable(location: &str, source: io::Error) -> ExternalDataError {
    ExternalDataError::File { location: location.to_owned(), source }
}

/// Bytes read between two checks of the deadline.
const READ_AT_ONCE: u64 = 1 << 24;

impl ExternalData for FolderData {
    fn size(&self, location: &str) -> Result<u64, ExternalDataError> {
        self.open(location).map(|(_, size)| size)
    }

    fn read(&self, location: &str, offset: u64, length: u64) -> Result<Bytes, ExternalDataError> {
        let failed = |error| unreadable(location, error);
        let (mut file, size) = self.open(location)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        // bounded: by the bytes of the file. A vector that grows takes up to twice the memory.
        let mut bytes = Vec::with_capacity(usize::try_from(length.min(size)).unwrap_or(0));
        let mut left = length;
        while left > 0 {
            if self.deadline.is_over() {
                return Err(ExternalDataError::Deadline { location: location.to_owned() });
            }
            let part = (&mut file).take(left.min(READ_AT_ONCE)).read_to_end(&mut bytes).map_err(failed)?;
            if part == 0 {
                return Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{left} bytes are missing"))));
            }
            left -= part as u64;
        }
        Ok(bytes.into())
    }
}
