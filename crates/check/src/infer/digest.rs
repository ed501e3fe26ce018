//! Digests that replace long keys in maps.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};

/// Digest of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest(u64, u64);

/// Two keyed hash functions. The keys are random for each check, so that no model can be crafted to cause a collision.
#[derive(Default)]
pub(super) struct Digester(RandomState, RandomState);

/// Digest of the bytes written so far.
pub(super) struct Writer(DefaultHasher, DefaultHasher);

impl Digester {
    pub(super) fn begin(&self) -> Writer {
        Writer(self.0.build_hasher(), self.1.build_hasher())
    }
}

impl Writer {
    /// Adds bytes with their length.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for hasher in [&mut self.0, &mut self.1] {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
    }

    /// Adds a string and a terminator that occurs in no string.
    pub(super) fn text(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a hasher never fails.
        let _ = self.write_fmt(text);
        for hasher in [&mut self.0, &mut self.1] {
            hasher.write_u8(0xff);
        }
    }

    pub(super) fn end(&self) -> Digest {
        Digest(self.0.finish(), self.1.finish())
    }
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        self.1.write(text.as_bytes());
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
    }
}
