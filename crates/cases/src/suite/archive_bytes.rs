//! Blocks, numbers and texts of an archive as bytes.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// First bytes of an archive.
pub(super) const MAGIC: [u8; 8] = *b"\x89ONXC\r\n\x1a";

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// Length of the header in bytes.
pub(super) const HEADER: usize = 64;

/// Flag of an entry that only serves as the control of refusals.
pub(super) const CONTROL: u64 = 1;

/// Flag of a case about special values.
pub(super) const EDGE: u64 = 2;

/// Flag of a model that attacks the runtime.
pub(super) const HOSTILE: u64 = 4;

/// Flag of a model that must be refused.
pub(super) const REFUSAL: u64 = 8;

/// Flag of a case with a rule of an op.yaml.
pub(super) const RULE: u64 = 16;

/// Flag of a case that is judged otherwise than upstream.
pub(super) const JUDGED: u64 = 32;

/// Flag of a refusal whose violation only a run shows.
pub(super) const RUN_TIME: u64 = 64;

/// A block ends before a blob that would make it longer than this.
const BLOCK: usize = 256 << 10;

/// Splits the blobs of a class into blocks.
pub(super) fn blocks_of(blobs: &[Bytes]) -> Vec<&[Bytes]> {
    let (mut blocks, mut start, mut size) = (Vec::new(), 0, 0);
    for (at, blob) in blobs.iter().enumerate() {
        if at > start && size + blob.len() > BLOCK {
            blocks.extend(blobs.get(start..at));
            (start, size) = (at, 0);
        }
        size += blob.len();
    }
    blocks.extend(blobs.get(start..).filter(|rest| !rest.is_empty()));
    blocks
}

/// Writes a block in the shorter of its two forms, and its description.
pub(super) fn write_block(blobs: &[Bytes], stride: usize, file: &mut Vec<u8>, blocks: &mut Vec<u8>) {
    let plain = blobs.concat();
    let (mut stored, mut used) = (compressed(&plain), 1);
    if stride > 1 && plain.len() % stride == 0 {
        let planes: Vec<u8> = (0..stride).flat_map(|plane| plain.iter().skip(plane).step_by(stride).copied()).collect();
        let other = compressed(&planes);
        if other.len() < stored.len() {
            (stored, used) = (other, stride);
        }
    }
    put_int(blocks, stored.len() as u64);
    blocks.extend(crc(&stored).to_le_bytes());
    blocks.push(u8::try_from(used).unwrap_or(1));
    put_int(blocks, blobs.len() as u64);
    for blob in blobs {
        put_int(blocks, blob.len() as u64);
    }
    file.extend(stored);
}

pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

pub(super) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Writes an unsigned number in LEB128.
pub(super) fn put_int(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_int(out, bytes.len() as u64);
    out.extend(bytes);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}
