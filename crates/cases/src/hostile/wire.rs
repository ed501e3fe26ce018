//! Protobuf by hand: fields that no library writes, and messages that nest deeper than one would.

use onnx_conformance_reference::proto::encode;

/// A field of bytes.
pub(super) fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    encode::field(number, bytes.len() as u64, bytes)
}

/// The key and the length of a field of bytes, which stand before them.
pub(super) fn head(number: u32, length: usize) -> Vec<u8> {
    encode::field(number, length as u64, &[])
}

/// A field of an integer.
pub(super) fn integer(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value)].concat()
}

/// A varint in as few bytes as hold it.
pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(low_seven(value) | 0x80);
        value >>= 7;
    }
    bytes.push(low_seven(value));
    bytes
}

/// A varint in this many bytes, of which the last ones add nothing.
pub(super) fn long_varint(value: u64, bytes: usize) -> Vec<u8> {
    let mut written = varint(value);
    if let Some(last) = written.last_mut() {
        *last |= 0x80;
    }
    written.resize(bytes - 1, 0x80);
    written.push(0);
    written
}

fn low_seven(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// Messages in each other: `around` gives what stands before and behind a message of a length, for each level from the inside.
/// All of it is written in one pass, since to copy each level into the next would take time in proportion to the square.
pub(super) fn nest(levels: usize, inside: &[u8], around: impl Fn(usize, usize) -> (Vec<u8>, Vec<u8>)) -> Vec<u8> {
    let mut length = inside.len();
    let mut parts = Vec::with_capacity(levels);
    for level in 0..levels {
        let (before, behind) = around(level, length);
        length += before.len() + behind.len();
        parts.push((before, behind));
    }
    let mut bytes = Vec::with_capacity(length);
    for (before, _) in parts.iter().rev() {
        bytes.extend_from_slice(before);
    }
    bytes.extend_from_slice(inside);
    for (_, behind) in &parts {
        bytes.extend_from_slice(behind);
    }
    bytes
}
