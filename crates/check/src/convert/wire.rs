//! Field-by-field parser of encoded messages, and reassembly of their bytes.

use std::ops::Range;

use onnx_conformance_reference::proto::Message;
use onnx_conformance_reference::proto::measure::{self, Kind};

/// Error: the file is not a valid encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {0}: invalid protobuf encoding")]
pub(crate) struct BrokenEncoding(usize);

/// A field of a message in a file.
#[derive(Clone, Debug)]
pub(crate) struct WireField {
    /// Its number.
    pub(crate) number: u64,
    /// The whole field.
    pub(crate) whole: Range<usize>,
    /// The payload of a length-delimited field.
    pub(crate) payload: Option<Range<usize>>,
}

/// Iterates over the fields of the message in this part of a file. A group is one field.
pub(crate) fn fields(file: &[u8], part: Range<usize>) -> impl Iterator<Item = Result<WireField, BrokenEncoding>> {
    let mut at = part.start;
    let mut is_broken = false;
    std::iter::from_fn(move || {
        if at >= part.end || is_broken {
            return None;
        }
        let found = field(file, at..part.end).ok_or(BrokenEncoding(at));
        match &found {
            Ok(found) => at = found.whole.end,
            Err(_) => is_broken = true,
        }
        Some(found)
    })
}

/// Parses the field at the start of a part of a file.
fn field(file: &[u8], part: Range<usize>) -> Option<WireField> {
    let (key, mut at) = varint(file, part.clone())?;
    let number = key >> 3;
    let mut payload = None;
    match key & 7 {
        0 => at = varint(file, at..part.end)?.1,
        1 => at = at.checked_add(8)?,
        2 => {
            let (length, from) = varint(file, at..part.end)?;
            at = from.checked_add(usize::try_from(length).ok()?)?;
            payload = Some(from..at);
        }
        3 => at = end_of_group(file, at..part.end)?,
        5 => at = at.checked_add(4)?,
        _ => return None,
    }
    (at <= part.end).then_some(WireField { number, whole: part.start..at, payload })
}

/// Finds the end of a group whose content begins here.
fn end_of_group(file: &[u8], part: Range<usize>) -> Option<usize> {
    let (mut at, mut open) = (part.start, 1_u64);
    while open > 0 {
        let (key, next) = varint(file, at..part.end)?;
        at = match key & 7 {
            3 => {
                open += 1;
                next
            }
            4 => {
                open -= 1;
                next
            }
            _ => field(file, at..part.end)?.whole.end,
        };
    }
    Some(at)
}

/// Parses the number at the start of a part of a file; returns it and its end.
fn varint(file: &[u8], part: Range<usize>) -> Option<(u64, usize)> {
    let mut rest = file.get(part.clone())?;
    let value = measure::varint(&mut rest)?;
    Some((value, part.end - rest.len()))
}

/// Finds an unknown field in a message of this kind, or in a nested one; returns the kind and the number.
pub(crate) fn unknown_field(
    file: &[u8],
    part: Range<usize>,
    kind: Kind,
    holder: Option<(Kind, u64)>,
) -> Result<Option<(Kind, u64)>, BrokenEncoding> {
    for field in fields(file, part) {
        let field = field?;
        if !kind.has_field(holder, field.number) {
            return Ok(Some((kind, field.number)));
        }
        let child = kind.field(field.number);
        if let Some(payload) = field.payload.filter(|_| child.is_message())
            && let Some(found) = unknown_field(file, payload, child, Some((kind, field.number)))?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Edit of a field of a message.
#[derive(Debug)]
pub(crate) enum FieldEdit {
    /// The field stays as it is.
    Keep,
    /// The fields of the message in the field are edited one by one.
    Enter,
    /// The field is replaced by these fields; none removes it.
    Replace(Rope),
}

/// Edits fields: given the kind of their message and the number of enclosing messages.
pub(crate) type EditField<'a, E> = &'a mut dyn FnMut(Kind, usize, &WireField) -> Result<FieldEdit, E>;

/// Rewrites the model in a file by an edit for each field; `None` if nothing changes.
pub(crate) fn rewrite<E: From<BrokenEncoding>>(file: &[u8], edit: EditField<'_, E>) -> Result<Option<Rope>, E> {
    rewrite_message(file, 0..file.len(), (Kind::Model, 0), edit)
}

fn rewrite_message<E: From<BrokenEncoding>>(
    file: &[u8],
    part: Range<usize>,
    (kind, depth): (Kind, usize),
    edit: EditField<'_, E>,
) -> Result<Option<Rope>, E> {
    let (mut rope, mut is_changed) = (Rope::default(), false);
    for field in fields(file, part) {
        let field = field?;
        let new = match edit(kind, depth, &field)? {
            FieldEdit::Keep => None,
            FieldEdit::Replace(new) => Some(new),
            FieldEdit::Enter => {
                let child = kind.field(field.number);
                let payload = field.payload.clone().filter(|_| child.is_message());
                let inner = match payload {
                    Some(payload) => rewrite_message(file, payload, (child, depth + 1), edit)?,
                    None => None,
                };
                inner.map(|inner| {
                    let mut new = Rope::default();
                    new.nested(field.number, inner);
                    new
                })
            }
        };
        is_changed |= new.is_some();
        match new {
            Some(new) => rope.append(new),
            None => rope.copy(field.whole),
        }
    }
    Ok(is_changed.then_some(rope))
}

/// Byte sequence assembled from parts of a file and new bytes, with its length.
#[derive(Debug, Default)]
pub(crate) struct Rope {
    pieces: Vec<Piece>,
    length: usize,
}

#[derive(Debug)]
enum Piece {
    Copied(Range<usize>),
    New(Vec<u8>),
}

impl Rope {
    /// Adds a part of the file.
    pub(crate) fn copy(&mut self, part: Range<usize>) {
        self.length += part.len();
        match self.pieces.last_mut() {
            Some(Piece::Copied(last)) if last.end == part.start => last.end = part.end,
            _ => self.pieces.push(Piece::Copied(part)),
        }
    }

    /// Adds new bytes, which `write` appends to its argument.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.pieces.last(), Some(Piece::New(_))) {
            self.pieces.push(Piece::New(Vec::new()));
        }
        if let Some(Piece::New(bytes)) = self.pieces.last_mut() {
            let before = bytes.len();
            write(bytes);
            self.length += bytes.len() - before;
        }
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, field: u64, value: i64) {
        self.add(|out| {
            prost::encoding::encode_varint(field << 3, out);
            prost::encoding::encode_varint(value.cast_unsigned(), out);
        });
    }

    /// Adds a length-delimited field: a string or an encoded message.
    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.add(|out| {
            prost::encoding::encode_varint(field << 3 | 2, out);
            prost::encoding::encode_varint(bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        });
    }

    /// Adds a message.
    pub(crate) fn message(&mut self, field: u64, message: &impl Message) {
        self.bytes(field, &message.encode_to_vec());
    }

    /// Adds the fields of a message to the message under construction.
    pub(crate) fn message_fields(&mut self, message: &impl Message) {
        self.add(|out| out.extend(message.encode_to_vec()));
    }

    /// Adds a message that is already assembled.
    pub(crate) fn nested(&mut self, field: u64, message: Rope) {
        self.add(|out| {
            prost::encoding::encode_varint(field << 3 | 2, out);
            prost::encoding::encode_varint(message.length as u64, out);
        });
        self.append(message);
    }

    /// Appends another rope.
    pub(crate) fn append(&mut self, other: Rope) {
        for piece in other.pieces {
            match piece {
                Piece::Copied(part) => self.copy(part),
                Piece::New(bytes) => self.add(|out| out.extend_from_slice(&bytes)),
            }
        }
    }

    /// Assembles the bytes, with the kept parts from the file.
    pub(crate) fn bytes_of(&self, file: &[u8]) -> Vec<u8> {
        // bounded: by the file and by the new bytes.
        let mut bytes = Vec::with_capacity(self.length);
        for piece in &self.pieces {
            bytes.extend_from_slice(match piece {
                Piece::Copied(part) => file.get(part.clone()).unwrap_or_default(),
                Piece::New(new) => new,
            });
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_groups_are_one() {
        // A number; a group with a number and an empty group; a string.
        let file = [0x08, 0x96, 0x01, 0x9b, 0x06, 0x08, 0x05, 0x13, 0x14, 0x9c, 0x06, 0x12, 0x02, 0x61, 0x62];
        let found: Vec<WireField> = fields(&file, 0..file.len()).collect::<Result<_, _>>().unwrap();
        let shown: Vec<_> = found.iter().map(|it| (it.number, it.whole.clone(), it.payload.clone())).collect();
        assert_eq!(shown, [(1, 0..3, None), (99, 3..11, None), (2, 11..15, Some(13..15))]);
        for broken in [&[0x08][..], &[0x12, 0x05, 0x61], &[0x0b, 0x08, 0x01], &[0x0c], &[0x0f], &[0xff; 11]] {
            assert_eq!(fields(broken, 0..broken.len()).last().map(|it| it.is_err()), Some(true), "{broken:?}");
        }
    }

    #[test]
    fn a_rope_keeps_parts_and_adds_messages() {
        let file = b"abcdef";
        let mut inner = Rope::default();
        inner.copy(1..3);
        inner.copy(3..4);
        inner.number(1, -1);
        let mut rope = Rope::default();
        rope.nested(2, inner);
        rope.bytes(3, b"x");
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let expected = [&[0x12, 14][..], b"bcd", &minus_one, &[0x1a, 1], b"x"].concat();
        assert_eq!((rope.bytes_of(file), rope.length), (expected.clone(), expected.len()));
    }
}
