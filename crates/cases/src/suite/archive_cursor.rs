//! Numbers, texts and streams of an archive, which may be damaged or written by anyone.

use std::io::Read as _;
use std::ops::Range;

use flate2::read::ZlibDecoder;

/// Largest inflated length in bytes of a directory or a block.
pub(super) const MAX_INFLATED: u64 = 1 << 30;

/// Largest ratio between the inflated and the stored length of a zlib stream.
const MAX_RATIO: u64 = 1032;

/// Problem of an archive, with its place and its remedy.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    /// The file does not begin like an archive.
    #[error("is not an archive, or was changed by a transfer as text; write one with `export --archive`")]
    NotAnArchive,
    /// The version of the format is unknown.
    #[error(
        "header: has format {found}, but this program reads {known}; use a later program, or export the cases again"
    )]
    Format { found: u32, known: u32 },
    /// The file is shorter or longer than its header says.
    #[error(
        "header: {actual} bytes instead of {expected}, so the file was cut off or extended; copy the archive again"
    )]
    Length { actual: u64, expected: u64 },
    /// A checksum differs.
    #[error("{place}: is damaged, since its CRC-32 differs; copy the archive again")]
    Damaged { place: String },
    /// A rule of the format is broken.
    #[error("{place}: {rule}; export the cases again")]
    Malformed { place: String, rule: String },
    /// A case is larger than the limit.
    #[error("the model and its data have more than the limit of {memory} bytes")]
    TooLarge { memory: u64 },
}

/// Reader of numbers and texts from the front of bytes.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    place: String,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte. Errors name the place.
    pub(super) fn new(bytes: &'a [u8], place: impl Into<String>) -> Cursor<'a> {
        Cursor { bytes, at: 0, place: place.into() }
    }

    /// Returns an error about the place.
    pub(super) fn refuse(&self, rule: impl Into<String>) -> ArchiveError {
        ArchiveError::Malformed { place: self.place.clone(), rule: rule.into() }
    }

    /// Returns true if no byte is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Skips bytes and returns their positions.
    fn range(&mut self, count: usize) -> Result<Range<usize>, ArchiveError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.refuse("ends too early"))?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    /// Returns the next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ArchiveError> {
        let bytes = self.bytes;
        Ok(bytes.get(self.range(count)?).unwrap_or_default())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ArchiveError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.refuse("ends too early"))
    }

    /// Reads a number of 1 byte.
    pub(super) fn byte(&mut self) -> Result<u8, ArchiveError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// Reads a number of 4 bytes.
    pub(super) fn u32(&mut self) -> Result<u32, ArchiveError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a number of 8 bytes.
    pub(super) fn u64(&mut self) -> Result<u64, ArchiveError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a double.
    pub(super) fn double(&mut self) -> Result<f64, ArchiveError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Reads an unsigned number in LEB128.
    pub(super) fn int(&mut self) -> Result<u64, ArchiveError> {
        let mut value = 0_u64;
        for shift in (0..64_u32).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                break;
            }
            value |= low << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.refuse("has a number of more than 64 bits"))
    }

    /// Reads a signed number in zigzag form.
    pub(super) fn signed(&mut self) -> Result<i64, ArchiveError> {
        let value = self.int()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads a size.
    pub(super) fn size(&mut self) -> Result<usize, ArchiveError> {
        let value = self.int()?;
        usize::try_from(value).map_err(|_| self.refuse(format!("has a size of {value} bytes")))
    }

    /// Reads the count of a list. Every item has at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, ArchiveError> {
        let count = self.size()?;
        let left = self.bytes.len() - self.at;
        if count > left {
            return Err(self.refuse(format!("has a list of {count} items in {left} bytes")));
        }
        Ok(count)
    }

    /// Reads a list.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<Vec<T>, ArchiveError> {
        let mut items = Vec::new();
        for _ in 0..self.count()? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Skips bytes after their length and returns their positions.
    pub(super) fn bytes_range(&mut self) -> Result<Range<usize>, ArchiveError> {
        let length = self.size()?;
        self.range(length)
    }

    /// Reads bytes after their length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ArchiveError> {
        let length = self.size()?;
        self.take(length)
    }

    /// Reads a text.
    pub(super) fn text(&mut self) -> Result<String, ArchiveError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.refuse("has a text that is not UTF-8"))
    }

    /// Reads a shape.
    pub(super) fn shape(&mut self) -> Result<Vec<usize>, ArchiveError> {
        self.list(Cursor::size)
    }
}

/// Inflates a stream to exactly this length. Memory is used only as the stream inflates.
pub(super) fn inflated(stored: &[u8], length: u64, place: &str) -> Result<Vec<u8>, ArchiveError> {
    let malformed = |rule: String| ArchiveError::Malformed { place: place.to_owned(), rule };
    if length > MAX_INFLATED || length > (stored.len() as u64).saturating_mul(MAX_RATIO) {
        return Err(malformed(format!("{} stored bytes cannot inflate to {length}", stored.len())));
    }
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(stored).take(length + 1).read_to_end(&mut bytes);
    read.map_err(|_| malformed("is not a zlib stream".to_owned()))?;
    if bytes.len() as u64 != length {
        return Err(malformed(format!("does not inflate to {length} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::archive_bytes::{compressed, put_int, put_text, zigzag};

    #[test]
    fn numbers_and_texts_read_back() {
        let mut bytes = Vec::new();
        let values = [0, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        for value in &values {
            put_int(&mut bytes, *value);
        }
        let signed = [0, -1, 1, i64::MIN, i64::MAX];
        for value in &signed {
            put_int(&mut bytes, zigzag(*value));
        }
        put_text(&mut bytes, "caf\u{e9}");
        let mut cursor = Cursor::new(&bytes, "here");
        assert_eq!(values.map(|_| cursor.int().unwrap()), values);
        assert_eq!(signed.map(|_| cursor.signed().unwrap()), signed);
        assert_eq!(cursor.text().unwrap(), "caf\u{e9}");
        assert!(cursor.is_at_end());
        assert_eq!(cursor.byte().unwrap_err().to_string(), "here: ends too early; export the cases again");
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused() {
        let check = |bytes: &[u8], rule: &str| {
            let error = Cursor::new(bytes, "list").list(Cursor::byte).unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
        };
        check(&[3, 1, 2], "has a list of 3 items in 2 bytes");
        check(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0], "has a list of 4294967295 items in 1 bytes");
        check(&[0xff; 11], "has a number of more than 64 bits");
        check(&[0xff; 3], "ends too early");
    }

    #[test]
    fn a_stream_inflates_to_its_length_only() {
        let stored = compressed(&[7; 1000]);
        assert_eq!(inflated(&stored, 1000, "block 0").unwrap(), [7; 1000]);
        let check = |stored: &[u8], length: u64, rule: &str| {
            let error = inflated(stored, length, "block 0").unwrap_err().to_string();
            assert!(error.starts_with("block 0: ") && error.contains(rule), "{error}");
        };
        check(&stored, 999, "does not inflate to 999 bytes");
        check(&stored, 1001, "does not inflate to 1001 bytes");
        check(&stored, u64::MAX, "cannot inflate");
        check(&stored, stored.len() as u64 * 1032 + 1, "cannot inflate");
        check(&[1; 20], 100, "is not a zlib stream");
        check(&stored[..stored.len() - 5], 1000, "is not a zlib stream");
    }
}
