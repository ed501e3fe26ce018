//! `objects.txt` and `objects.bin`: contents of files, in blocks that are compressed separately.
//!
//! `objects.txt` has a line `block OFFSET LENGTH SIZE` for each block of `objects.bin`; `SIZE` is that of the contents.
//! Below it there is a line `SHA256 SIZE` for each object in the block, in order.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hmac_sha256::Hash;

/// Target size of a block in bytes, unless a single object is larger.
const BLOCK: usize = 1 << 18;

/// Largest size of a block, so that a corrupt one cannot exhaust memory.
const LARGEST: usize = 1 << 26;

/// Digits of a digest that identify an object in an index.
const SHORT: usize = 16;

/// A pack or block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A line of `objects.txt` is malformed.
    #[error("line {0} is neither 'block OFFSET LENGTH SIZE' nor 'SHA256 SIZE'")]
    Line(usize),
    /// The sizes of a block's objects do not add up to the size of the block.
    #[error("the sizes of the objects of block {0} do not add up to its own")]
    Sum(usize),
    /// A block begins or ends beyond the file.
    #[error("block {0} is cut off: it ends beyond the file")]
    CutOff(usize),
    /// A block cannot be decompressed to its size.
    #[error("block {block} is corrupt: {reason}")]
    Corrupt {
        /// Its number, from 1.
        block: usize,
        /// The problem.
        reason: String,
    },
    /// An object does not have the digest in the list.
    #[error("block {block} is corrupt: object {expected} has the digest {actual}")]
    Digest {
        /// The number of the block, from 1.
        block: usize,
        /// The digest in the list.
        expected: String,
        /// The digest of the contents.
        actual: String,
    },
}

/// An object of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedObject {
    /// The SHA-256 of the contents, in hexadecimal digits.
    pub sha256: String,
    block: usize,
    start: usize,
    size: usize,
}

/// A block, and its contents after they are read.
#[derive(Debug)]
struct Block {
    offset: usize,
    length: usize,
    size: usize,
    /// The objects in it, as a range of indices.
    objects: std::ops::Range<usize>,
    contents: OnceLock<Bytes>,
}

/// The table of a pack. A block is decompressed when its first object is requested, and kept.
#[derive(Debug, Default)]
pub struct Pack {
    blocks: Vec<Block>,
    objects: Vec<PackedObject>,
}

impl Pack {
    /// Reads `objects.txt`.
    pub fn parse(text: &str) -> Result<Pack, PackError> {
        let mut pack = Pack::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            pack.add_line(line).ok_or(PackError::Line(number + 1))?;
        }
        for (number, block) in pack.blocks.iter().enumerate() {
            let sum: usize = pack.objects[block.objects.clone()].iter().map(|object| object.size).sum();
            if sum != block.size {
                return Err(PackError::Sum(number + 1));
            }
        }
        Ok(pack)
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let first = words.next()?;
        let numbers = words.map(str::parse).collect::<Result<Vec<usize>, _>>().ok()?;
        match (first, numbers.as_slice()) {
            ("block", &[offset, length, size]) if size <= LARGEST => {
                let objects = self.objects.len()..self.objects.len();
                self.blocks.push(Block { offset, length, size, objects, contents: OnceLock::new() });
            }
            (sha256, &[size]) if sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                let number = self.blocks.len().checked_sub(1)?;
                let block = self.blocks.last_mut()?;
                let of_block = &self.objects[block.objects.clone()];
                let start = of_block.last().map_or(Some(0), |last| last.start.checked_add(last.size))?;
                block.objects.end += 1;
                // The sum is compared with the size of the block later. Until then it must not overflow.
                start.checked_add(size).filter(|end| *end <= LARGEST)?;
                self.objects.push(PackedObject { sha256: sha256.to_owned(), block: number, start, size });
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the objects, in order.
    pub fn objects(&self) -> &[PackedObject] {
        &self.objects
    }

    /// Returns the contents of an object of this pack. The whole block is verified first.
    pub fn read(&self, object: &PackedObject, file: &[u8]) -> Result<Bytes, PackError> {
        let Some(block) = self.blocks.get(object.block) else { return Err(PackError::CutOff(object.block + 1)) };
        let contents = if let Some(contents) = block.contents.get() {
            contents
        } else {
            let contents = self.decompress(object.block + 1, block, file)?;
            block.contents.get_or_init(|| contents)
        };
        Ok(contents.slice(object.start..object.start + object.size))
    }

    fn decompress(&self, number: usize, block: &Block, file: &[u8]) -> Result<Bytes, PackError> {
        let end = block.offset.checked_add(block.length).ok_or(PackError::CutOff(number))?;
        let compressed = file.get(block.offset..end).ok_or(PackError::CutOff(number))?;
        let mut contents = Vec::with_capacity(block.size);
        let read = ZlibDecoder::new(compressed).take(block.size as u64 + 1).read_to_end(&mut contents);
        let corrupt = |reason: String| PackError::Corrupt { block: number, reason };
        read.map_err(|error| corrupt(error.to_string()))?;
        if contents.len() != block.size {
            return Err(corrupt(format!("it has {} bytes or more, expected {}", contents.len(), block.size)));
        }
        for object in &self.objects[block.objects.clone()] {
            let actual = sha256(&contents[object.start..object.start + object.size]);
            if actual != object.sha256 {
                return Err(PackError::Digest { block: number, expected: object.sha256.clone(), actual });
            }
        }
        Ok(contents.into())
    }
}

/// Computes the SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Hash::hash(bytes))
}

/// Formats a digest in hexadecimal digits.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the first digits of a digest, which identify an object in an index.
pub fn short(sha256: &str) -> &str {
    sha256.get(..SHORT).unwrap_or(sha256)
}

/// Packs these contents, in order: returns the text of `objects.txt` and the bytes of `objects.bin`.
pub fn write_pack(heading: &str, contents: &[&[u8]]) -> std::io::Result<(String, Vec<u8>)> {
    let (mut text, mut file) = (format!("# {heading}\n"), Vec::new());
    let mut rest = contents;
    while !rest.is_empty() {
        let mut size = 0;
        let fits = |bytes: &&&[u8]| {
            size += bytes.len();
            size <= BLOCK
        };
        let (block, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        rest = after;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        for bytes in block {
            encoder.write_all(bytes)?;
        }
        let compressed = encoder.finish()?;
        let size: usize = block.iter().map(|bytes| bytes.len()).sum();
        let _ = writeln!(text, "block {} {} {size}", file.len(), compressed.len());
        for bytes in block {
            let _ = writeln!(text, "{} {}", sha256(bytes), bytes.len());
        }
        file.extend(compressed);
    }
    Ok((text, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns contents of three blocks, one of them larger than usual.
    fn contents() -> Vec<Vec<u8>> {
        let large = (0..BLOCK + 5).map(|at| u8::try_from(at % 251).unwrap()).collect();
        vec![b"first".to_vec(), Vec::new(), large, b"last".to_vec()]
    }

    fn packed() -> (String, Vec<u8>) {
        let contents = contents();
        write_pack("Test.", &contents.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
    }

    fn read_all(text: &str, file: &[u8]) -> Result<Vec<Bytes>, PackError> {
        let pack = Pack::parse(text)?;
        pack.objects().iter().map(|object| pack.read(object, file)).collect()
    }

    #[test]
    fn a_pack_reads_back() {
        let (text, file) = packed();
        assert_eq!(text.matches("block ").count(), 3);
        let read = read_all(&text, &file).unwrap();
        assert_eq!(read.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>(), contents());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_found() {
        let (text, file) = packed();
        for at in (0..file.len()).step_by(3).chain(file.len() - 20..file.len()) {
            let mut changed = file.clone();
            changed[at] ^= 0x15;
            let error = read_all(&text, &changed).unwrap_err().to_string();
            assert!(error.starts_with("block ") && error.contains("corrupt"), "byte {at}: {error}");
            assert!(read_all(&text, &file[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_wrong_digest_is_reported_with_object_and_block() {
        let (text, file) = packed();
        let (digest, other) = (sha256(b"last"), sha256(b"least"));
        let error = read_all(&text.replace(&digest, &other), &file).unwrap_err();
        assert_eq!(error, PackError::Digest { block: 3, expected: other, actual: digest });
    }

    #[test]
    fn an_inconsistent_table_is_refused() {
        let (text, file) = packed();
        let last = format!("{} 4", sha256(b"last"));
        for (changed, expected) in [
            (text.replace(&last, &last.replace(" 4", " 5")), "block 3 do not add up"),
            (text.replace(&last, "last 4"), "line 8 is neither"),
            (text.replace(&last, &last.replace(" 4", " 99999999999999999999")), "line 8 is neither"),
            (text.replace(&last, &last.replace(" 4", " 18446744073709551615")), "line 8 is neither"),
            (text.replace("block 0", "block 999999999"), "block 1 is cut off"),
            (format!("{last}\n{text}"), "line 1 is neither"),
            ("block 0 1 999999999999".to_owned(), "line 1 is neither"),
        ] {
            let error = read_all(&changed, &file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
