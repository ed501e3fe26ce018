//! Integers and `bool`: ranges, and conversion from wide integers.

use super::{ElementType, Kind};

impl ElementType {
    /// The smallest value of an integer type or `bool`.
    pub const fn min_value(self) -> Option<i128> {
        match self.kind() {
            Kind::Signed => Some(-(1 << (self.bits() - 1))),
            Kind::Unsigned | Kind::Bool => Some(0),
            _ => None,
        }
    }

    /// The largest value of an integer type or `bool`.
    pub const fn max_value(self) -> Option<i128> {
        match self.kind() {
            Kind::Signed => Some((1 << (self.bits() - 1)) - 1),
            Kind::Unsigned => Some((1 << self.bits()) - 1),
            Kind::Bool => Some(1),
            _ => None,
        }
    }

    /// The integer's value. A sub-byte type reads only its low bits, whatever the rest of the byte contains.
    #[inline]
    pub(super) const fn decode_integer(self, bits: u64) -> i128 {
        let unused = i128::BITS - self.bits();
        let aligned = (bits as u128) << unused;
        match self.kind() {
            Kind::Signed => aligned.cast_signed() >> unused,
            _ => (aligned >> unused).cast_signed(),
        }
    }

    /// The low bits of the integer, in two's complement.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "dropping the high bits is what wrapping is")]
    pub(super) const fn wrap_integer(self, value: i128) -> u64 {
        let wrapped = self.decode_integer(value.cast_unsigned() as u64);
        wrapped.cast_unsigned() as u64 & (u64::MAX >> (u64::BITS - self.bits().next_multiple_of(8)))
    }

    /// The value in the type's range that is nearest to `value`.
    #[inline]
    pub(super) const fn clamp_integer(self, value: i128) -> i128 {
        match (self.min_value(), self.max_value()) {
            (Some(min), _) if value < min => min,
            (_, Some(max)) if value > max => max,
            _ => value,
        }
    }
}
