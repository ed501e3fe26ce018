//! Random numbers for fills: SplitMix64, seeded from the SHA-256 of a text.
//!
//! The numbers are reproducible: the initial state is the first eight bytes, little-endian, of the SHA-256 of
//! `<case id>#<parameter>.<position in its list>`. Each step adds 0x9e3779b97f4a7c15 and mixes as SplitMix64 does.

use hmac_sha256::Hash;

/// A stream of random numbers that a text determines.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the stream of a text.
    pub fn new(text: &str) -> Random {
        let digest = Hash::hash(text.as_bytes());
        Random(digest.iter().take(8).rev().fold(0, |state, &byte| state << 8 | u64::from(byte)))
    }

    /// Creates the stream that continues from a state.
    pub(crate) const fn from_state(state: u64) -> Random {
        Random(state)
    }

    /// Returns the state, from which the next bits follow.
    pub(crate) const fn state(&self) -> u64 {
        self.0
    }

    /// Returns the next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `below - 1`: the remainder of the next 64 bits, or 0 if `below` is 0.
    pub fn below(&mut self, below: u64) -> u64 {
        self.next_bits().checked_rem(below).unwrap_or(0)
    }

    /// Returns an integer of the closed range.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low).saturating_add(1);
        low.saturating_add_unsigned(self.below(width))
    }

    /// Returns the numbers from 0 to `count - 1` in random order (Fisher and Yates, from the back).
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or(0);
            order.swap(last, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The first three outputs of SplitMix64 from state 0, as its authors publish them.
        let mut random = Random(0);
        let outputs = [random.next_bits(), random.next_bits(), random.next_bits()];
        assert_eq!(outputs, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut order = Random::new("x").permutation(50);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..50));
    }
}
