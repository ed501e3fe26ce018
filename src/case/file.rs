//! Files that a user names or a suite holds: regular ones of a bounded size alone, so that neither a pipe nor a device nor
//! a file of many gigabytes holds up the program.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The most that a model or a value may have: what protobuf can encode.
pub const MOST_BINARY: u64 = 2 << 30;

/// The most that a text may have: YAML, a manifest.
const MOST_TEXT: u64 = 64 << 20;

/// Reads a file of at most so many bytes.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, size) = open_regular(path)?;
    let too_large = || Error::new(ErrorKind::FileTooLarge, format!("is larger than the {most} bytes that are read"));
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may have grown since.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a text in UTF-8 of at most 64 MiB.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_file(path, MOST_TEXT)?).map_err(|_| Error::new(ErrorKind::InvalidData, "is not UTF-8"))
}

/// Opens a regular file and tells its size. What it is is asked first, since to open a pipe waits for a writer.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64)> {
    let other = || Error::new(ErrorKind::InvalidInput, "is no regular file");
    if !std::fs::metadata(path)?.is_file() {
        return Err(other());
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_file() { Ok((file, found.len())) } else { Err(other()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_or_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_file(&path, 5).unwrap(), b"12345");
        assert_eq!(read_file(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_file(folder.path(), 5).unwrap_err().to_string(), "is no regular file");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "is not UTF-8");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [&pipe, &link] {
            assert_eq!(read_file(path, 5).unwrap_err().to_string(), "is no regular file");
        }
    }
}
