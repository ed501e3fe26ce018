//! Arrays in files of numpy: a `.npy` file, and the archive of several that is a `.npz` file.
//!
//! The format is described in `numpy/lib/_format_impl.py`: a magic text, a version, the header as a Python dict, then the elements.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::bufread::DeflateDecoder;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::index::StridedIter;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};
use rawzip::{CompressionMethod, ZipArchive};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum size of a header in bytes. numpy refuses longer ones, too, unless the file is trusted.
const MAX_HEADER: usize = 10_000;

/// Maximum number of strings of an array whose strings are all empty.
const MAX_EMPTY_STRINGS: usize = 1 << 20;

/// Remedy for arrays of Python objects, which only Python can read.
const NO_OBJECTS: &str =
    "convert them with .astype('U') if they are strings, and save with numpy.savez(..., allow_pickle=False)";

/// Reason why a file gives no arrays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NpyError {
    #[error("not a .npy file: it does not begin with \\x93NUMPY; numpy.save writes one")]
    Magic,
    #[error("version {0}.{1} of the .npy format is unknown; known are 1.0, 2.0 and 3.0")]
    Version(u8, u8),
    #[error("the header is malformed: {0}; numpy.save writes a valid one")]
    Header(String),
    #[error("the file is truncated: {0}; copy or save it again")]
    Truncated(String),
    #[error("the array has {expected} bytes of elements, but {found} follow the header; save it again")]
    Trailing { expected: usize, found: usize },
    #[error("the array has Python objects (dtype object), which are pickled and are not read; {NO_OBJECTS}")]
    Pickled,
    #[error("ONNX has no element type for dtype {0}; convert it with .astype, such as to 'float32'")]
    Dtype(String),
    #[error(
        "the array has raw bytes (dtype {dtype}), which fit no {element}; numpy writes those of ml_dtypes for types that it does not have"
    )]
    Raw { dtype: String, element: String },
    #[error("string {0} of the array is not valid text")]
    Text(usize),
    #[error("{0}")]
    Tensor(#[from] TensorError),
    #[error("not a readable .npz archive: {0}; numpy.savez writes one")]
    Archive(String),
    #[error("the arrays of the archive have more than {0} bytes; save fewer in a file")]
    TooLarge(u64),
}

/// Header of an array.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    dtype: String,
    is_fortran: bool,
    shape: Vec<usize>,
}

/// Returns the arrays in a `.npz` file by name, each as a `.npy` file. `max` limits their bytes together.
pub(crate) fn arrays(archive: &[u8], max: u64) -> Result<BTreeMap<String, Bytes>, NpyError> {
    let malformed = |error: &dyn std::fmt::Display| NpyError::Archive(error.to_string());
    let archive = ZipArchive::from_slice(archive).map_err(|error| malformed(&error))?;
    let (mut arrays, mut left, mut entries) = (BTreeMap::new(), max, archive.entries());
    while let Some(entry) = entries.next_entry().map_err(|error| malformed(&error))? {
        let path = entry.file_path();
        let name = str::from_utf8(path.as_ref()).map_err(|error| malformed(&error))?;
        let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
        let stored = archive.get_entry(entry.wayfinder()).map_err(|error| malformed(&error))?;
        let content: Box<dyn std::io::Read> = match entry.compression_method() {
            CompressionMethod::STORE => Box::new(stored.data()),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(stored.data())),
            other => return Err(malformed(&format!("'{name}' is compressed by an unknown method, {other:?}"))),
        };
        let mut bytes = Vec::new();
        let mut content = stored.verifying_reader(content).take(left.saturating_add(1));
        content.read_to_end(&mut bytes).map_err(|error| malformed(&format!("'{name}' is damaged ({error})")))?;
        left = left.checked_sub(bytes.len() as u64).ok_or(NpyError::TooLarge(max))?;
        if arrays.insert(name.clone(), Bytes::from(bytes)).is_some() {
            return Err(malformed(&format!("it has '{name}' twice")));
        }
    }
    Ok(arrays)
}

/// Reads the array of a `.npy` file. Raw bytes become elements of the type that is expected.
pub(crate) fn read_array(file: &Bytes, expected: ElementType) -> Result<Tensor, NpyError> {
    let (header, data) = split(file)?;
    let (order, kind) = header.dtype.split_at_checked(1).unwrap_or_default();
    let is_big = order == ">";
    let unknown = || NpyError::Dtype(format!("'{}'", header.dtype));
    let (letter, width) = kind.split_at_checked(1).ok_or_else(unknown)?;
    if letter == "O" {
        return Err(NpyError::Pickled);
    }
    let width: usize = width.parse().map_err(|_| unknown())?;
    let count = header.shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    let characters = if letter == "U" { width.checked_mul(4) } else { Some(width) };
    let size = count.zip(characters).and_then(|(count, width)| count.checked_mul(width));
    // Strings without characters have no bytes, so a small file could contain any number of them.
    let size = size.filter(|size| {
        *size > 0 || !matches!(letter, "U" | "S") || count.is_some_and(|count| count <= MAX_EMPTY_STRINGS)
    });
    let size = size.ok_or_else(|| NpyError::Header(format!("the shape {:?} is too large", header.shape)))?;
    if data.len() < size {
        let found = data.len();
        return Err(NpyError::Truncated(format!("the array has {size} bytes of elements, and {found} are there")));
    }
    if data.len() > size {
        return Err(NpyError::Trailing { expected: size, found: data.len() });
    }
    // In Fortran's order, the file has the elements of the transposed array.
    let mut stored = header.shape.clone();
    if header.is_fortran {
        stored.reverse();
    }
    let tensor = if matches!(letter, "U" | "S") {
        let strings = data.chunks(characters.unwrap_or(0).max(1)).enumerate();
        let texts = strings.map(|(at, text)| string(text, letter, is_big, at));
        let mut texts: Vec<Arc<str>> = texts.collect::<Result<_, _>>()?;
        texts.resize(count.unwrap_or(0), Arc::from(""));
        Tensor::from_strings(stored.clone(), texts.into())?
    } else {
        let element = element_type(letter, width, expected, &header.dtype)?;
        let data = if is_big { swapped(&data, element) } else { data };
        Tensor::from_bytes(element, stored.clone(), data)?
    };
    if !header.is_fortran || stored.len() < 2 {
        return Ok(tensor);
    }
    let axes: Vec<usize> = (0..stored.len()).rev().collect();
    let positions = StridedIter::transposed(&stored, &axes);
    Ok(TensorBuilder::unlimited(tensor.element_type(), header.shape)?.gather(&tensor, positions)?)
}

/// Returns the element type of a dtype, by its letter and its width in bytes.
fn element_type(letter: &str, width: usize, expected: ElementType, dtype: &str) -> Result<ElementType, NpyError> {
    Ok(match (letter, width) {
        ("b", 1) => ElementType::Bool,
        ("i", 1) => ElementType::Int8,
        ("i", 2) => ElementType::Int16,
        ("i", 4) => ElementType::Int32,
        ("i", 8) => ElementType::Int64,
        ("u", 1) => ElementType::Uint8,
        ("u", 2) => ElementType::Uint16,
        ("u", 4) => ElementType::Uint32,
        ("u", 8) => ElementType::Uint64,
        ("f", 2) => ElementType::Float16,
        ("f", 4) => ElementType::Float,
        ("f", 8) => ElementType::Double,
        ("c", 8) => ElementType::Complex64,
        ("c", 16) => ElementType::Complex128,
        ("V", _) if is_raw(expected) && expected.size() == width => expected,
        ("V", _) => return Err(NpyError::Raw { dtype: dtype.to_owned(), element: format!("tensor({expected})") }),
        _ => return Err(NpyError::Dtype(format!("'{dtype}'"))),
    })
}

/// Returns true if numpy has no such type, so that it writes the elements as raw bytes.
fn is_raw(element: ElementType) -> bool {
    use ElementType as E;
    !matches!(
        element,
        E::Bool | E::Int8 | E::Int16 | E::Int32 | E::Int64 | E::Uint8 | E::Uint16 | E::Uint32 | E::Uint64
    ) && !matches!(element, E::Float16 | E::Float | E::Double | E::Complex64 | E::Complex128 | E::String)
}

/// Returns a string without the zeros that fill it up.
fn string(bytes: &[u8], letter: &str, is_big: bool, position: usize) -> Result<Arc<str>, NpyError> {
    let text = if letter == "S" {
        str::from_utf8(bytes).map(str::to_owned).map_err(|_| NpyError::Text(position))?
    } else {
        let code = |bytes: &[u8; 4]| if is_big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
        let characters = bytes.as_chunks::<4>().0.iter().map(|bytes| char::from_u32(code(bytes)));
        characters.collect::<Option<String>>().ok_or(NpyError::Text(position))?
    };
    Ok(Arc::from(text.trim_end_matches('\0')))
}

/// Returns the elements in the other order of bytes.
fn swapped(data: &[u8], element: ElementType) -> Bytes {
    let parts = if matches!(element, ElementType::Complex64 | ElementType::Complex128) { 2 } else { 1 };
    let mut bytes = data.to_vec();
    bytes.chunks_mut(element.size() / parts).for_each(<[u8]>::reverse);
    bytes.into()
}

/// Splits a file into its header and its elements.
fn split(file: &Bytes) -> Result<(Header, Bytes), NpyError> {
    let short = || NpyError::Truncated("it ends in the header".to_owned());
    if !file.starts_with(MAGIC) {
        return Err(if MAGIC.starts_with(file) { short() } else { NpyError::Magic });
    }
    let (&[major, minor], rest) = file[MAGIC.len()..].split_first_chunk().ok_or_else(short)?;
    let (length, rest) = match (major, minor) {
        (1, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        (2 | 3, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
            (usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX), rest)
        }
        _ => return Err(NpyError::Version(major, minor)),
    };
    if length > MAX_HEADER {
        return Err(NpyError::Header(format!("it has {length} bytes, more than {MAX_HEADER}")));
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    // Version 3 is UTF-8. The others are Latin-1, which only differs in the names of fields, and arrays with fields are refused.
    let header = Literal(&String::from_utf8_lossy(header)).header()?;
    Ok((header, file.slice_ref(data)))
}

/// Rest of a header, which is a dict of Python.
struct Literal<'a>(&'a str);

impl Literal<'_> {
    fn header(mut self) -> Result<Header, NpyError> {
        let (mut dtype, mut is_fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.accepts("}") {
            let key = self.text()?;
            self.expect(":")?;
            match key.as_str() {
                "descr" if self.0.trim_start().starts_with('[') => {
                    return Err(NpyError::Dtype("with fields".to_owned()));
                }
                "descr" => dtype = Some(self.text()?),
                "fortran_order" => is_fortran = Some(self.truth()?),
                "shape" => shape = Some(self.sizes()?),
                other => return Err(NpyError::Header(format!("the key '{other}' is unknown"))),
            }
            if !self.accepts(",") {
                self.expect("}")?;
                break;
            }
        }
        let missing = |key: &str| NpyError::Header(format!("the key '{key}' is missing"));
        Ok(Header {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            is_fortran: is_fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// Skips a token, if it is next.
    fn accepts(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), NpyError> {
        if self.accepts(token) { Ok(()) } else { Err(self.unexpected(&format!("'{token}'"))) }
    }

    fn unexpected(&self, expected: &str) -> NpyError {
        let found: String = self.0.trim_start().chars().take(20).collect();
        NpyError::Header(format!("expected {expected} at '{found}'"))
    }

    fn text(&mut self) -> Result<String, NpyError> {
        let quote = if self.accepts("'") { '\'' } else { '"' };
        if quote == '"' {
            self.expect("\"")?;
        }
        let (text, rest) = self.0.split_once(quote).ok_or_else(|| self.unexpected("the end of a string"))?;
        self.0 = rest;
        Ok(text.to_owned())
    }

    fn truth(&mut self) -> Result<bool, NpyError> {
        if self.accepts("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    /// Reads a tuple of numbers. Python 2 wrote an L behind them.
    fn sizes(&mut self) -> Result<Vec<usize>, NpyError> {
        let mut sizes = Vec::new();
        self.expect("(")?;
        while !self.accepts(")") {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            sizes.push(digits.parse().map_err(|_| self.unexpected("a size"))?);
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accepts(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with this dict as its header.
    fn file(version: u8, dict: &str, data: &[u8]) -> Bytes {
        let mut bytes = [MAGIC, &[version, 0]].concat();
        match version {
            1 => bytes.extend(u16::try_from(dict.len()).unwrap().to_le_bytes()),
            _ => bytes.extend(u32::try_from(dict.len()).unwrap().to_le_bytes()),
        }
        [&bytes, dict.as_bytes(), data].concat().into()
    }

    fn dict(dtype: &str, order: &str, shape: &str) -> String {
        format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}   \n")
    }

    fn read(dtype: &str, shape: &str, data: &[u8]) -> Result<Tensor, NpyError> {
        read_array(&file(1, &dict(dtype, "False", shape), data), ElementType::Bfloat16)
    }

    #[test]
    fn both_orders_of_bytes_and_of_axes_are_read() {
        let expected = Tensor::of_integers(ElementType::Int16, &[2, 3], &[1, 2, 3, 4, 5, 600]).unwrap();
        let (rows, columns) = ([1_i16, 2, 3, 4, 5, 600], [1_i16, 4, 2, 5, 3, 600]);
        for version in 1..=3 {
            for (order, values) in [("False", rows), ("True", columns)] {
                let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                let big: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
                for (dtype, data) in [("<i2", little), (">i2", big)] {
                    let file = file(version, &dict(dtype, order, "(2, 3)"), &data);
                    assert_eq!(read_array(&file, ElementType::Float).unwrap(), expected, "{version} {order} {dtype}");
                }
            }
        }
    }

    #[test]
    fn every_dtype_of_onnx_has_its_element_type() {
        use ElementType as E;
        let dtypes = "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16 <V2";
        let elements = [E::Bool, E::Int8, E::Int16, E::Int32, E::Int64, E::Uint8, E::Uint16, E::Uint32, E::Uint64];
        let others = [E::Float16, E::Float, E::Double, E::Complex64, E::Complex128, E::Bfloat16];
        for (dtype, element) in dtypes.split(' ').zip(elements.into_iter().chain(others)) {
            let tensor = read(dtype, "()", &vec![0; element.size()]).unwrap();
            assert_eq!((tensor.element_type(), tensor.shape()), (element, &[][..]), "{dtype}");
        }
        let complex = read(">c8", "(1,)", &[1_f32.to_be_bytes(), (-2_f32).to_be_bytes()].concat()).unwrap();
        assert_eq!((complex.complexes()[0].re, complex.complexes()[0].im), (1.0, -2.0));
    }

    #[test]
    fn strings_end_at_the_zeros_behind_them() {
        let code = |text: &str| text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect::<Vec<u8>>();
        let strings = [code("é\0"), code("ab")].concat();
        let expected = Tensor::of_strings(&[2], &["é", "ab"]).unwrap();
        assert_eq!(read(">U2", "(2,)", &strings).unwrap(), expected);
        assert_eq!(read("|S2", "(2,)", "éab".as_bytes()).unwrap(), expected);
        assert_eq!(read("<U0", "(2L, )", b"").unwrap(), Tensor::of_strings(&[2], &["", ""]).unwrap());
        assert_eq!(read("<U3", "(0, 4)", b"").unwrap().shape(), [0, 4]);
        let surrogate = [0, 0xd8, 0, 0];
        assert_eq!(read("<U1", "(1,)", &surrogate).unwrap_err().to_string(), "string 0 of the array is not valid text");
    }

    #[test]
    fn what_is_no_array_has_a_reason() {
        let check = |dtype: &str, shape: &str, data: &[u8], reason: &str| {
            let error = read(dtype, shape, data).unwrap_err().to_string();
            assert!(error.contains(reason), "{dtype} {shape}: {error}");
        };
        check("<f4", "(3,)", &[0; 11], "the array has 12 bytes of elements, and 11 are there; copy or save it again");
        check("<f4", "(3,)", &[0; 13], "the array has 12 bytes of elements, but 13 follow the header");
        check("|O", "(3,)", &[0; 9], "allow_pickle=False");
        check("<U0", "(99999999,)", &[], "is too large");
        check("<M8[ns]", "(1,)", &[0; 8], "no element type for dtype '<M8[ns]'");
        check("<f16", "(1,)", &[0; 16], "no element type for dtype '<f16'");
        check("|V1", "(1,)", &[0; 1], "fit no tensor(bfloat16)");
        check("<f4", "(18446744073709551615, 9)", &[], "is too large");
        check("<f4", "(-1,)", &[], "expected a size at '-1");
        check("<f4", "3", &[], "expected '('");
        let of = |bytes: &[u8]| read_array(&Bytes::copy_from_slice(bytes), ElementType::Float).unwrap_err().to_string();
        assert!(of(b"PK\x03\x04").contains("not a .npy file") && of(b"\x93NU").contains("truncated"));
        assert!(of(b"\x93NUMPY\x01\x00\x99\x00{").contains("it ends in the header"));
        assert!(of(b"\x93NUMPY\x09\x00\x99\x00{").contains("version 9.0"));
        let other = |dict: &str| of(&file(2, dict, &[]));
        assert!(other("{'descr': [('a', '<f4')], }").contains("dtype with fields"));
        assert!(other("{'descr': '<f4', 'shape': ()}").contains("'fortran_order' is missing"));
        assert!(other("{'extra': 1}").contains("'extra' is unknown"));
        assert!(other(&" ".repeat(20_000)).contains("more than 10000"));
    }
}
