//! Pieces of archive entries, whose numbers are known when all cases were added.

use std::collections::HashMap;

use crate::suite::archive_bytes::put_int;

/// Bytes per number of each class of blobs, in the order of the file: models, external files, messages, then elements.
pub(super) const STRIDES: [usize; 7] = [1, 1, 1, 1, 2, 4, 8];

/// Class of drawn blobs. They have the last numbers, and no bytes in the file.
pub(super) const DRAWN: usize = STRIDES.len();

/// A part of an entry whose number is known at the end.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Raw(Vec<u8>),
    /// The number of a blob: its class, its position in the class, and an amount to add to the number.
    Blob(usize, usize, u64),
    /// The number of a text.
    Text(usize),
    /// The number of the entry with this id.
    Entry(String),
}

/// Numbers of blobs and texts: each is numbered where an entry mentions it first.
pub(super) struct Order {
    pub(super) blobs: [Numbers; STRIDES.len() + 1],
    pub(super) texts: Numbers,
}

/// Numbers of things that are known by their place.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) places: Vec<usize>,
    numbers: HashMap<usize, u64>,
}

impl Numbers {
    fn mention(&mut self, place: usize) {
        let places = &mut self.places;
        self.numbers.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u64 - 1
        });
    }

    pub(super) fn number(&self, place: usize) -> u64 {
        self.numbers.get(&place).copied().unwrap_or(0)
    }
}

impl Order {
    /// Numbers the blobs and texts of these pieces, in order.
    pub(super) fn new<'a>(pieces: impl Iterator<Item = &'a Piece>) -> Order {
        let mut order = Order { blobs: Default::default(), texts: Numbers::default() };
        for piece in pieces {
            match piece {
                Piece::Blob(class, place, _) => {
                    if let Some(numbers) = order.blobs.get_mut(*class) {
                        numbers.mention(*place);
                    }
                }
                Piece::Text(place) => order.texts.mention(*place),
                Piece::Raw(_) | Piece::Entry(_) => {}
            }
        }
        order
    }

    /// Returns the number of a blob among those of all classes.
    pub(super) fn blob(&self, class: usize, place: usize) -> u64 {
        let before: usize = self.blobs.iter().take(class).map(|numbers| numbers.places.len()).sum();
        let own = self.blobs.get(class).map_or(0, |numbers| numbers.number(place));
        before as u64 + own
    }
}

/// The body of an entry while it is written.
#[derive(Debug, Default)]
pub(super) struct Pieces(pub(super) Vec<Piece>);

impl Pieces {
    fn raw(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0.last(), Some(Piece::Raw(_))) {
            self.0.push(Piece::Raw(Vec::new()));
        }
        match self.0.last_mut() {
            Some(Piece::Raw(bytes)) => bytes,
            _ => unreachable!("a raw piece was just added"),
        }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.raw().push(byte);
    }

    pub(super) fn int(&mut self, value: u64) {
        put_int(self.raw(), value);
    }

    pub(super) fn double(&mut self, value: f64) {
        self.raw().extend(value.to_le_bytes());
    }

    pub(super) fn shape(&mut self, shape: &[usize]) {
        self.int(shape.len() as u64);
        for size in shape {
            self.int(*size as u64);
        }
    }

    pub(super) fn blob(&mut self, (class, place): (usize, usize), more: u64) {
        self.0.push(Piece::Blob(class, place, more));
    }
}
