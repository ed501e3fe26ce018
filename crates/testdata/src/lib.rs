//! The backend tests of ONNX's releases from 1.10.0 on, packed as onnx-conformance reads them; `testdata/onnx` of the project says how.

/// The files below `testdata/onnx`: path and contents, sorted by path.
pub const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The contents of a file, by its path below `testdata/onnx`.
pub fn file(path: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    FILES.get(at).map(|(_, bytes)| *bytes)
}
