//! Directory of an archive: its texts, blocks and entries, and the blobs in the blocks.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_conformance_reference::tensor::TensorError;

use crate::case::DrawnTensor;
use crate::suite::archive_bytes::{CONTROL, FORMAT, HEADER, MAGIC, crc};
use crate::suite::archive_cursor::{ArchiveError, Cursor, MAX_INFLATED, inflated};
use crate::suite::archive_drawn::read_drawn;

/// Total size in bytes of the inflated blocks that stay in memory, besides the last one.
const MAX_CACHED: usize = 64 << 20;

/// An archive in memory. Its blocks are inflated when they are read.
#[derive(Debug)]
pub(super) struct Directory {
    file: Bytes,
    inflated: Vec<u8>,
    /// Version of the suite.
    pub(super) suite: String,
    /// Digest of the suite.
    pub(super) digest: String,
    /// Checksum of the header, which covers those of all parts.
    pub(super) checksum: u32,
    strings: Vec<String>,
    blocks: Vec<Block>,
    blobs: Vec<Blob>,
    /// Blobs without bytes in the file. Their numbers follow those of the other blobs.
    drawn: Vec<DrawnTensor>,
    /// The entries, sorted by id.
    entries: Vec<ArchiveEntry>,
    /// Inflated blocks with their numbers, the last one read at the end.
    cache: Mutex<VecDeque<(usize, Bytes)>>,
}

/// A case, or the control of a refusal.
#[derive(Debug)]
pub(super) struct ArchiveEntry {
    pub(super) id: String,
    pub(super) flags: u64,
    /// Positions of the body in the directory.
    body: Range<usize>,
}

impl ArchiveEntry {
    /// Returns true if the entry only serves as the control of refusals.
    pub(super) fn is_control(&self) -> bool {
        self.flags & CONTROL != 0
    }
}

/// A stream of blobs.
#[derive(Debug)]
struct Block {
    /// Positions in the file.
    place: Range<usize>,
    crc: u32,
    stride: usize,
    /// Inflated length.
    length: usize,
}

/// The place of a blob: the number of its block, and its positions in it.
#[derive(Debug)]
struct Blob {
    block: usize,
    place: Range<usize>,
}

/// The contents of a header.
#[derive(Debug)]
struct Header {
    /// Positions of the directory in the file.
    directory: Range<usize>,
    /// Inflated length of the directory.
    inflated: u64,
    directory_crc: u32,
    checksum: u32,
}

impl Header {
    fn read(file: &[u8]) -> Result<Header, ArchiveError> {
        let front = file.get(..MAGIC.len()).unwrap_or(file);
        if front.is_empty() || !MAGIC.starts_with(front) {
            return Err(ArchiveError::NotAnArchive);
        }
        let actual = file.len() as u64;
        let Some(header) = file.get(..HEADER) else {
            return Err(ArchiveError::Length { actual, expected: HEADER as u64 });
        };
        let mut cursor = Cursor::new(header, "header");
        cursor.take(MAGIC.len())?;
        let format = cursor.u32()?;
        cursor.take(4)?;
        let (expected, start, stored, inflated) = (cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let directory_crc = cursor.u32()?;
        cursor.take(8)?;
        let checksum = cursor.u32()?;
        if crc(header.get(..HEADER - 4).unwrap_or_default()) != checksum {
            return Err(ArchiveError::Damaged { place: "header".to_owned() });
        }
        if format != FORMAT {
            return Err(ArchiveError::Format { found: format, known: FORMAT });
        }
        if expected != actual {
            return Err(ArchiveError::Length { actual, expected });
        }
        let start = usize::try_from(start).ok().filter(|start| (HEADER..=file.len()).contains(start));
        let is_at_end = |start: &usize| (file.len() - start) as u64 == stored;
        let start =
            start.filter(is_at_end).ok_or_else(|| cursor.refuse("the directory is not at the end of the file"))?;
        Ok(Header { directory: start..file.len(), inflated, directory_crc, checksum })
    }
}

impl Directory {
    /// Reads the header and the directory of a file.
    pub(super) fn read(file: Bytes) -> Result<Directory, ArchiveError> {
        let header = Header::read(&file)?;
        let place = "directory";
        let stored = file.slice(header.directory.clone());
        if crc(&stored) != header.directory_crc {
            return Err(ArchiveError::Damaged { place: place.to_owned() });
        }
        let bytes = inflated(&stored, header.inflated, place)?;
        let mut cursor = Cursor::new(&bytes, place);
        let (suite, digest) = (cursor.text()?, cursor.text()?);
        // The name of the profile, the release of the texts, and an extension.
        for _ in 0..3 {
            cursor.bytes()?;
        }
        let strings = cursor.list(Cursor::text)?;
        let (blocks, blobs) = read_blocks(&mut cursor, header.directory.start)?;
        let drawn = cursor.list(read_drawn)?;
        let entries = read_entries(&mut cursor, &bytes)?;
        if !cursor.is_at_end() {
            return Err(cursor.refuse("bytes follow the last entry"));
        }
        let (checksum, cache) = (header.checksum, Mutex::default());
        Ok(Directory { file, inflated: bytes, suite, digest, checksum, strings, blocks, blobs, drawn, entries, cache })
    }

    /// Returns the entries, sorted by id.
    pub(super) fn entries(&self) -> &[ArchiveEntry] {
        &self.entries
    }

    /// Returns the number of the entry with this id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok()
    }

    /// Starts reading the body of an entry.
    pub(super) fn body(&self, entry: &ArchiveEntry) -> Cursor<'_> {
        let bytes = self.inflated.get(entry.body.clone()).unwrap_or_default();
        Cursor::new(bytes, format!("entry {}", entry.id))
    }

    /// Returns a text of the table of strings.
    pub(super) fn string(&self, number: u64) -> Option<&str> {
        self.strings.get(usize::try_from(number).ok()?).map(String::as_str)
    }

    /// Returns the length of a blob.
    pub(super) fn blob_length(&self, number: u64) -> Option<usize> {
        match self.drawn(number) {
            Some(drawn) => drawn.length(),
            None => Some(self.blobs.get(usize::try_from(number).ok()?)?.place.len()),
        }
    }

    /// Returns the description of a blob that is drawn.
    pub(super) fn drawn(&self, number: u64) -> Option<&DrawnTensor> {
        self.drawn.get(usize::try_from(number).ok()?.checked_sub(self.blobs.len())?)
    }

    /// Reads or draws a blob, if it exists.
    pub(super) fn blob(&self, number: u64) -> Result<Option<Bytes>, ArchiveError> {
        if let Some(drawn) = self.drawn(number) {
            let refused = |error: TensorError| ArchiveError::Malformed {
                place: format!("blob {number}"),
                rule: error.to_string(),
            };
            return drawn.raw().map(Some).map_err(refused);
        }
        let Some(blob) = usize::try_from(number).ok().and_then(|number| self.blobs.get(number)) else {
            return Ok(None);
        };
        Ok(Some(self.block(blob.block)?.slice(blob.place.clone())))
    }

    /// Reads a block whose number is known to exist.
    fn block(&self, number: usize) -> Result<Bytes, ArchiveError> {
        let cached = |cache: &VecDeque<(usize, Bytes)>| {
            cache.iter().find(|(cached, _)| *cached == number).map(|(_, bytes)| bytes.clone())
        };
        let known = cached(&self.cache.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(bytes) = known {
            return Ok(bytes);
        }
        let place = format!("block {number}");
        let missing = || ArchiveError::Malformed { place: place.clone(), rule: "does not exist".to_owned() };
        let block = self.blocks.get(number).ok_or_else(missing)?;
        let stored = self.file.slice(block.place.clone());
        if crc(&stored) != block.crc {
            return Err(ArchiveError::Damaged { place });
        }
        let planes = inflated(&stored, block.length as u64, &place)?;
        let bytes = Bytes::from(without_planes(planes, block.stride));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_back((number, bytes.clone()));
        let mut size: usize = cache.iter().map(|(_, bytes)| bytes.len()).sum();
        while size > MAX_CACHED && cache.len() > 1 {
            size -= cache.pop_front().map_or(0, |(_, bytes)| bytes.len());
        }
        Ok(bytes)
    }
}

/// Reads the descriptions of blocks, which lie between the header and the directory.
fn read_blocks(cursor: &mut Cursor<'_>, end: usize) -> Result<(Vec<Block>, Vec<Blob>), ArchiveError> {
    let (mut blocks, mut blobs, mut start) = (Vec::new(), Vec::new(), HEADER);
    for number in 0..cursor.count()? {
        let stored = cursor.size()?;
        let (crc, stride) = (cursor.u32()?, usize::from(cursor.byte()?));
        let lengths = cursor.list(Cursor::size)?;
        let length = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        let length = length.filter(|length| *length as u64 <= MAX_INFLATED);
        let length =
            length.ok_or_else(|| cursor.refuse(format!("block {number} has more than {MAX_INFLATED} bytes")))?;
        if lengths.is_empty() || ![1, 2, 4, 8].contains(&stride) || length % stride != 0 {
            return Err(cursor.refuse(format!("block {number} has no blobs or a stride that does not fit")));
        }
        let stop = start.checked_add(stored).filter(|stop| *stop <= end);
        let stop = stop.ok_or_else(|| cursor.refuse(format!("block {number} is outside the file")))?;
        let mut at = 0;
        for length in lengths {
            blobs.push(Blob { block: blocks.len(), place: at..at + length });
            at += length;
        }
        blocks.push(Block { place: start..stop, crc, stride, length });
        start = stop;
    }
    if start != end {
        return Err(cursor.refuse("there is a gap between the last block and the directory"));
    }
    Ok((blocks, blobs))
}

/// Reads the entries with their ids and flags. `bytes` is the whole directory.
fn read_entries(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<Vec<ArchiveEntry>, ArchiveError> {
    let mut entries: Vec<ArchiveEntry> = Vec::new();
    let mut size = 0_u64;
    for number in 0..cursor.count()? {
        let shared = cursor.size()?;
        let rest = cursor.bytes()?;
        let before = entries.last().map_or("", |entry| entry.id.as_str());
        let shares_more = || cursor.refuse(format!("entry {number} shares {shared} bytes with a shorter id"));
        let front = before.as_bytes().get(..shared).ok_or_else(shares_more)?;
        // Ids that share their beginnings take more memory than the directory.
        size = size.saturating_add((front.len() + rest.len()) as u64);
        if size > MAX_INFLATED {
            return Err(cursor.refuse(format!("the ids have more than {MAX_INFLATED} bytes")));
        }
        let id = String::from_utf8([front, rest].concat());
        let id = id.map_err(|_| cursor.refuse(format!("the id of entry {number} is not UTF-8")))?;
        if !entries.is_empty() && before >= id.as_str() {
            return Err(cursor.refuse(format!("the ids are not sorted at {id}")));
        }
        let body = cursor.bytes_range()?;
        let flags = Cursor::new(bytes.get(body.clone()).unwrap_or_default(), format!("entry {id}")).int()?;
        entries.push(ArchiveEntry { id, flags, body });
    }
    Ok(entries)
}

/// Restores the order of bytes: byte `k * N + i` of the planes is byte `i * stride + k`.
fn without_planes(planes: Vec<u8>, stride: usize) -> Vec<u8> {
    if stride <= 1 || planes.is_empty() {
        return planes;
    }
    let mut plain = vec![0; planes.len()];
    for (plane, bytes) in planes.chunks(planes.len() / stride).enumerate() {
        for (to, byte) in plain.iter_mut().skip(plane).step_by(stride).zip(bytes) {
            *to = *byte;
        }
    }
    plain
}
