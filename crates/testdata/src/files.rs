//! Embedded files.

/// The files below `testdata/onnx`: path and contents, sorted by path. A file with suffix `.z` is compressed in zlib
/// format.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The newest release, without a reference to the files: a program that only needs the name contains none of them.
pub const NEWEST: &str = env!("NEWEST_RELEASE");

/// Returns the contents of a file by its path below `testdata/onnx`.
pub fn file(path: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    FILES.get(at).map(|(_, bytes)| *bytes)
}
