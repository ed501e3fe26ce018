//! Sources of a model's bytes.

use std::io;

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::measure::MeasureError;

use crate::finding::{Finding, Place};
use crate::rules::RuleId;

/// Bytes of a file, read on demand.
pub trait Source {
    /// The number of bytes.
    fn len(&self) -> u64;

    /// True if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the buffer with the bytes from `offset` on.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok();
        let bytes = from.and_then(|from| self.get(from..)?.get(..buffer.len()));
        // bounded: by the buffer, which has the same length as the bytes.
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        Source::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(offset, buffer)
    }
}

/// The folder of a model, which may contain files of external data. Only their sizes are read.
pub trait Folder {
    /// The size of the file at a relative location, which was already checked; `None` if there is no such file.
    fn size_of(&self, location: &str) -> Option<u64>;

    /// True if a part of the location is a symbolic link, so that the file has no size.
    fn is_link(&self, _location: &str) -> bool {
        false
    }
}

/// Minimum size of a read.
const MIN_WINDOW: usize = 4 << 10;

/// Maximum size of a read.
const MAX_WINDOW: usize = 256 << 10;

/// Number of fields between two checks of the clock.
const FIELDS_BETWEEN_CHECKS: u32 = 1 << 16;

/// Reader with a window that grows while reads are sequential.
pub(super) struct Reader<'a, S: Source + ?Sized> {
    source: &'a S,
    length: u64,
    window: Vec<u8>,
    start: u64,
    size: usize,
    deadline: &'a Deadline,
    fields: u32,
}

impl<'a, S: Source + ?Sized> Reader<'a, S> {
    pub(super) fn new(source: &'a S, deadline: &'a Deadline) -> Reader<'a, S> {
        Reader { source, length: source.len(), window: Vec::new(), start: 0, size: MIN_WINDOW, deadline, fields: 0 }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of the window from `at` on: at least one, unless the file ends there.
    fn window_at(&mut self, at: u64) -> Result<&[u8], Box<Finding>> {
        let end = self.start + self.window.len() as u64;
        if at < self.start || at >= end {
            self.size = if at == end { (2 * self.size).min(MAX_WINDOW) } else { MIN_WINDOW };
            let left = self.length.saturating_sub(at);
            let size = usize::try_from(left).map_or(self.size, |left| left.min(self.size));
            // bounded: by the largest window.
            self.window.resize(size, 0);
            self.start = at;
            self.source
                .read_at(at, &mut self.window)
                .map_err(|error| truncated(at, &format!("cannot be read: {error}")))?;
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.window.get(from..).unwrap_or_default())
    }

    /// Copies `length` bytes, starting at `at`.
    pub(super) fn copy(&mut self, mut at: u64, length: u64, out: &mut Vec<u8>) -> Result<(), Box<Finding>> {
        let mut left = length;
        while left > 0 {
            let window = self.window_at(at)?;
            let count = usize::try_from(left).map_or(window.len(), |left| left.min(window.len()));
            let Some(bytes) = window.get(..count).filter(|bytes| !bytes.is_empty()) else {
                return Err(malformed(at, "the file ends here"));
            };
            out.extend_from_slice(bytes);
            at += count as u64;
            left -= count as u64;
        }
        Ok(())
    }

    /// Decodes the varint at `at`, which ends before `end`. Returns its value and the position after it.
    pub(super) fn varint(&mut self, at: u64, end: u64) -> Result<(u64, u64), Box<Finding>> {
        let mut value = 0u64;
        let mut next = at;
        // bounded: the step is 7.
        for shift in (0..70).step_by(7) {
            if next >= end {
                break;
            }
            let byte = self.window_at(next)?.first().copied().unwrap_or_default();
            next += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok((value, next));
            }
        }
        if next >= end && end >= self.length {
            return Err(truncated(at, "the file ends within a number"));
        }
        Err(malformed(at, "a number is longer than its message or than 10 bytes"))
    }

    /// Counts a field, and checks the clock from time to time.
    pub(super) fn count_field(&mut self) -> Result<(), Box<Finding>> {
        self.fields = self.fields.wrapping_add(1);
        if self.fields.is_multiple_of(FIELDS_BETWEEN_CHECKS) && self.deadline.is_over() {
            return Err(over(MeasureError::Deadline));
        }
        Ok(())
    }
}

pub(super) fn malformed(at: u64, rule: &str) -> Box<Finding> {
    Box::new(Finding::new(RuleId::FileMalformed, Place::default(), format!("byte {at}: {rule}")).with_offset(at))
}

pub(super) fn truncated(at: u64, rule: &str) -> Box<Finding> {
    let finding = Finding::new(RuleId::FileTruncated, Place::default(), format!("byte {at}: {rule}"));
    Box::new(finding.with_offset(at).with_edit("download the file again: its end is missing"))
}

pub(super) fn over(error: MeasureError) -> Box<Finding> {
    let rule = if error == MeasureError::Depth { RuleId::FileNesting } else { RuleId::FileLimit };
    let finding = Finding::new(rule, Place::default(), error.to_string());
    Box::new(match error {
        MeasureError::Limit(_) => finding.with_edit("allow more memory with --memory"),
        MeasureError::Deadline => finding.with_edit("allow more time with --timeout"),
        MeasureError::Depth => finding,
    })
}
