//! External data of tensors: bytes in files beside the model.

use std::io;

use bytes::Bytes;

/// Source of external tensor data. A location is a checked path relative to the model.
pub trait ExternalData: Sync {
    /// Returns the length of the file at `location`.
    fn size(&self, location: &str) -> Result<u64, ExternalDataError>;

    /// Returns `length` bytes at `offset` of the file at `location`.
    fn read(&self, location: &str, offset: u64, length: u64) -> Result<Bytes, ExternalDataError>;
}

/// Refuses all external data.
pub struct NoExternalData;

impl ExternalData for NoExternalData {
    fn size(&self, location: &str) -> Result<u64, ExternalDataError> {
        Err(ExternalDataError::NoFolder { location: location.to_owned() })
    }

    fn read(&self, location: &str, _: u64, _: u64) -> Result<Bytes, ExternalDataError> {
        Err(ExternalDataError::NoFolder { location: location.to_owned() })
    }
}

/// Error of external data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalDataError {
    /// The model was not read from a folder.
    #[error("external data '{location}' needs a model that was read from a folder")]
    NoFolder {
        /// The location that the tensor names.
        location: String,
    },
    /// The location is not a path in the model's folder.
    #[error("external data location '{location}' {fault}; it must be in the model's folder")]
    Location {
        /// The location that the tensor names.
        location: String,
        /// The problem.
        fault: LocationFault,
    },
    /// The file cannot be read.
    #[error("external data '{location}': {source}")]
    File {
        /// The location that the tensor names.
        location: String,
        /// The error of the file system.
        source: io::Error,
    },
    /// The deadline has passed.
    #[error("external data '{location}': the time limit of loading is exceeded")]
    Deadline {
        /// The location that the tensor names.
        location: String,
    },
}

/// Reason why a location is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationFault {
    /// The location has no characters.
    #[error("is empty")]
    Empty,
    /// The location is absolute, or has a backslash, a colon or a NUL character.
    #[error("is not a relative POSIX path")]
    NotRelative,
    /// The path has a part `..`.
    #[error("leaves the model's folder with '..'")]
    Parent,
    /// A link leads to a file elsewhere.
    #[error("is a link out of the model's folder")]
    Link,
}

/// Checks that external data is inside the model's folder: a relative path with `/`, without `..`.
pub(super) fn check_location(location: &str) -> Result<(), ExternalDataError> {
    let fault = if location.is_empty() {
        LocationFault::Empty
    } else if location.starts_with('/') || location.contains(['\\', ':', '\0']) {
        LocationFault::NotRelative
    } else if location.split('/').any(|part| part == "..") {
        LocationFault::Parent
    } else {
        return Ok(());
    };
    Err(ExternalDataError::Location { location: location.to_owned(), fault })
}
