//! Reading files of users and suites: only regular files of limited size, so that no pipe, device or file of many
//! gigabytes blocks the program.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;

/// Largest size of a model or a value in bytes, which is what protobuf can encode.
pub const MAX_BINARY: u64 = 2 << 30;

/// Largest size of a text that is read at once, such as YAML.
const MAX_TEXT: u64 = 64 << 20;

/// Largest size of a line of a text that is read line by line.
const MAX_LINE: u64 = 4 << 20;

/// Reads a file of at most `most` bytes.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, size) = open_regular(path)?;
    // The file may grow after its size was read.
    if size > most { Err(too_large(most, "")) } else { read_limited(file, most, "") }
}

/// Reads standard input, of at most `most` bytes, to its end.
pub fn read_stdin(most: u64) -> Result<Vec<u8>> {
    read_limited(std::io::stdin().lock(), most, "; name a file instead")
}

/// Reads a stream of at most `most` bytes to its end. `hint` ends the message about a larger one.
fn read_limited(stream: impl Read, most: u64, hint: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most, hint)) } else { Ok(bytes) }
}

fn too_large(most: u64, hint: &str) -> Error {
    Error::new(ErrorKind::FileTooLarge, format!("is larger than the limit of {most} bytes{hint}"))
}

/// Reads a text in UTF-8 of at most 64 MiB.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_file(path, MAX_TEXT)?).map_err(|_| Error::new(ErrorKind::InvalidData, "is not UTF-8"))
}

/// Reads a file in UTF-8 line by line, each of at most 4 MiB; the file may be larger than memory.
pub fn read_lines(path: &Path) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let (file, _) = open_regular(path)?;
    Ok(lines(BufReader::new(file)))
}

/// Reads UTF-8 text line by line, each of at most 4 MiB. The iterator ends after the first error.
pub fn lines(mut text: impl BufRead) -> impl Iterator<Item = Result<String>> {
    let mut is_over = false;
    std::iter::from_fn(move || {
        let line = if is_over { None } else { read_line(&mut text).transpose() };
        is_over = !matches!(line, Some(Ok(_)));
        line
    })
}

/// Reads the next line without its line end, or `None` at the end of the file.
fn read_line(file: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let read = file.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)?;
    if read as u64 > MAX_LINE {
        let rule = format!("has a line longer than the limit of {MAX_LINE} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, rule));
    }
    if read == 0 {
        return Ok(None);
    }
    let line = String::from_utf8(line).map_err(|_| Error::new(ErrorKind::InvalidData, "is not UTF-8"))?;
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Opens a regular file and returns its size. The type is checked first, since opening a pipe waits for a writer.
pub fn open_regular(path: &Path) -> Result<(File, u64)> {
    let other = || Error::new(ErrorKind::InvalidInput, "is not a regular file");
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
    fn irregular_and_large_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_file(&path, 5).unwrap(), b"12345");
        assert_eq!(read_file(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_file(folder.path(), 5).unwrap_err().to_string(), "is not a regular file");
        assert_eq!(read_limited(b"12345".as_slice(), 5, "").unwrap(), b"12345");
        let error = read_limited(std::io::repeat(0), 4, "; stop").unwrap_err();
        assert_eq!(error.to_string(), "is larger than the limit of 4 bytes; stop");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "is not UTF-8");
    }

    #[test]
    fn lines_are_read_one_by_one_and_have_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let read = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            let lines = read_lines(&path).unwrap().map(|line| line.map_err(|error| error.to_string()));
            lines.collect::<Vec<_>>()
        };
        let line = |text: &str| Ok(text.to_owned());
        assert_eq!(read(b""), []);
        assert_eq!(read(b"a\n\nb\r\nc"), [line("a"), line(""), line("b"), line("c")]);
        assert_eq!(read(b"a\n\xff\nb"), [line("a"), Err("is not UTF-8".to_owned())]);
        let long = [b"a\n".as_slice(), &vec![b'x'; 4 << 20]].concat();
        assert_eq!(read(&long), [line("a"), line(&"x".repeat(4 << 20))]);
        let longer = [long, b"x".to_vec()].concat();
        assert_eq!(read(&longer)[1], Err("has a line longer than the limit of 4194304 bytes".to_owned()));
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
            assert_eq!(read_file(path, 5).unwrap_err().to_string(), "is not a regular file");
        }
    }
}
