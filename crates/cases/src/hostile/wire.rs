//! Protobuf by hand: fields that no library writes, and messages that nest deeper than a library would.

use onnx_conformance_reference::proto::encode;

/// Encodes a field of bytes.
pub(super) fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    encode::field(number, bytes.len() as u64, bytes)
}

/// Encodes the key and the length of a field of bytes.
pub(super) fn head(number: u32, length: usize) -> Vec<u8> {
    encode::field(number, length as u64, &[])
}

/// Encodes a field of an integer.
pub(super) fn integer(number: u32, value: u64) -> Vec<u8> {
    [encode::varint(u64::from(number) << 3), encode::varint(value)].concat()
}

/// Encodes a varint in this many bytes. The last ones are redundant.
pub(super) fn long_varint(value: u64, bytes: usize) -> Vec<u8> {
    let mut written = encode::varint(value);
    if let Some(last) = written.last_mut() {
        *last |= 0x80;
    }
    written.resize(bytes - 1, 0x80);
    written.push(0);
    written
}

/// Nests messages: `around` returns the bytes before and after a message of a length, for each level from the inside.
/// All bytes are written in one pass; copying each level into the next would take quadratic time.
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
