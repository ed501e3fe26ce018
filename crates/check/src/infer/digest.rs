//! Digests that replace long keys in maps.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, DefaultHasher, Hash, Hasher, RandomState};

/// Digest of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest(u64, u64);

/// Two keyed hash functions. The keys are random for each check, so that no model can be crafted to cause a collision.
#[derive(Default)]
pub(super) struct Digester(RandomState, RandomState);

/// Digest of the bytes written so far.
pub(super) struct Writer {
    hashers: [DefaultHasher; 2],
    /// Bytes that are not hashed yet. Texts are written in small pieces, which cost more one by one.
    pieces: Vec<u8>,
}

/// Number of bytes that are collected before they are hashed.
const COLLECTED: usize = 512;

impl Digester {
    pub(super) fn begin(&self) -> Writer {
        Writer { hashers: [self.0.build_hasher(), self.1.build_hasher()], pieces: Vec::with_capacity(COLLECTED) }
    }
}

impl Writer {
    /// Adds bytes with their length.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.add(&bytes.len().to_le_bytes());
        self.add(bytes);
    }

    /// Adds a string and a terminator that occurs in no string.
    pub(super) fn text(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a hasher never fails.
        let _ = self.write_fmt(text);
        self.add(&[0xff]);
    }

    /// Adds a value.
    pub(super) fn hashed(&mut self, value: &impl Hash) {
        value.hash(&mut Pieces(self));
    }

    pub(super) fn end(mut self) -> Digest {
        self.hash(&[]);
        let [one, other] = self.hashers;
        Digest(one.finish(), other.finish())
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.pieces.len() + bytes.len() > COLLECTED {
            self.hash(bytes);
        } else {
            self.pieces.extend_from_slice(bytes);
        }
    }

    /// Hashes the collected bytes and these.
    fn hash(&mut self, bytes: &[u8]) {
        for hasher in &mut self.hashers {
            hasher.write(&self.pieces);
            hasher.write(bytes);
        }
        self.pieces.clear();
    }
}

/// Hasher that passes its bytes on.
struct Pieces<'a>(&'a mut Writer);

impl Hasher for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.add(bytes);
    }

    /// Returns 0, since the digest is taken from the writer.
    fn finish(&self) -> u64 {
        0
    }
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_parts_give_another_digest() {
        let digester = Digester::default();
        let digest = |parts: &[&str]| {
            let mut writer = digester.begin();
            for part in parts {
                writer.bytes(part.as_bytes());
            }
            writer.end()
        };
        assert_eq!(digest(&["ab", "c"]), digest(&["ab", "c"]));
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        let mut text = digester.begin();
        text.text(format_args!("{} {}", 1, "x"));
        assert_ne!(text.end(), digester.begin().end());
        let long = "x".repeat(3 * COLLECTED);
        assert_eq!(digest(&[&long, "y"]), digest(&[&long, "y"]));
        assert_ne!(digest(&[&long, "y"]), digest(&[&long[1..], "y"]));
    }
}
