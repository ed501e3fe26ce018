//! External data in the folder of a model.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::decode::{ExternalData, ExternalDataError, LocationFault};

use crate::files::open_regular;

/// External data of a model in files of a folder.
pub struct FolderData {
    folder: Option<PathBuf>,
    deadline: Deadline,
    kept: Option<KeptData>,
}

/// External data that two models of one folder share. A part that is read for one model stays in memory until it is
/// read for the other.
#[derive(Clone, Debug, Default)]
pub struct KeptData(Arc<Mutex<HashMap<FilePart, Bytes>>>);

/// Location, offset and length.
type FilePart = (String, u64, u64);

impl KeptData {
    /// Returns a part. If it is in memory, it is dropped there; otherwise it is read, and kept for the next call.
    fn take_or_read(
        &self,
        part: FilePart,
        read: impl FnOnce() -> Result<Bytes, ExternalDataError>,
    ) -> Result<Bytes, ExternalDataError> {
        if let Some(bytes) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&part) {
            return Ok(bytes);
        }
        let bytes = read()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(part, bytes.clone());
        Ok(bytes)
    }
}

impl FolderData {
    /// Gives access to the files in `folder`, or to none without a folder. Reading stops at the deadline.
    pub fn new(folder: Option<&Path>, deadline: Deadline) -> FolderData {
        FolderData { folder: folder.map(Path::to_owned), deadline, kept: None }
    }

    /// Shares the data with another model of the folder that reads the same files.
    pub(crate) fn sharing(self, kept: Option<KeptData>) -> FolderData {
        FolderData { kept, ..self }
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
        match &self.kept {
            Some(kept) => {
                kept.take_or_read((location.to_owned(), offset, length), || self.read_file(location, offset, length))
            }
            None => self.read_file(location, offset, length),
        }
    }
}

impl FolderData {
    fn read_file(&self, location: &str, offset: u64, length: u64) -> Result<Bytes, ExternalDataError> {
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
