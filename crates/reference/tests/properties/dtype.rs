//! Properties of element types, compared with `half`, with Rust's conversions, and with the order of numbers.

use half::{bf16, f16};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::packing::{extend, pack, packed_len, unpack};
use proptest::prelude::*;

use crate::config;

/// Generates a number of arbitrary bits, or one with few bits in the range of narrow types, which is often a tie.
fn number() -> impl Strategy<Value = f64> {
    let tie = (-160..140, 0..1_u32 << 14, any::<bool>()).prop_map(|(exponent, fraction, is_negative)| {
        let magnitude = libm::ldexp(1.0 + f64::from(fraction) / f64::from(1 << 14), exponent);
        if is_negative { -magnitude } else { magnitude }
    });
    prop_oneof![any::<u64>().prop_map(f64::from_bits), tie]
}

fn types(is_one: fn(ElementType) -> bool) -> impl Strategy<Value = ElementType> {
    proptest::sample::select(ElementType::ALL.into_iter().filter(|element| is_one(*element)).collect::<Vec<_>>())
}

/// True if `element` stores the number as `theirs` does, up to the bits of a NaN.
fn is_stored_as(element: ElementType, x: f64, theirs: u64) -> bool {
    let ours = element.encode(x);
    ours == theirs || x.is_nan() && element.decode_f64(ours).is_nan() && element.decode_f64(theirs).is_nan()
}

#[test]
fn every_pattern_of_16_bits_is_the_number_that_half_says() {
    for pattern in 0..=u16::MAX {
        let pairs = [
            (ElementType::Float16, f16::from_bits(pattern).to_f64()),
            (ElementType::Bfloat16, bf16::from_bits(pattern).to_f64()),
        ];
        for (element, theirs) in pairs {
            let ours = element.decode_f64(pattern.into());
            let is_same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(is_same, "{element} {pattern:#x}: {ours:e}, not {theirs:e}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sixteen_bits_hold_a_float_as_half_does(x in number()) {
        // Converts from an f32, because half rounds an f64 twice on some processors.
        #[expect(clippy::cast_possible_truncation, reason = "a float is what is tried")]
        let x = x as f32;
        prop_assert!(is_stored_as(ElementType::Float16, x.into(), f16::from_f32(x).to_bits().into()));
        prop_assert!(is_stored_as(ElementType::Bfloat16, x.into(), bf16::from_f32(x).to_bits().into()));
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "the conversion that is tried")]
    fn a_float_is_rounded_as_rust_rounds_it(x in number()) {
        prop_assert!(is_stored_as(ElementType::Float, x, (x as f32).to_bits().into()));
        prop_assert!(is_stored_as(ElementType::Double, x, x.to_bits()));
    }

    #[test]
    fn rounding_is_monotonic_and_idempotent(
        element in types(ElementType::is_float),
        x in number(),
        y in number(),
    ) {
        // A type without a sign has no order below zero.
        let (x, y) = if element == ElementType::Float8e8m0 { (x.abs(), y.abs()) } else { (x, y) };
        let round = |x: f64| element.decode_f64(element.encode_saturating(x));
        let (low, high) = if x <= y { (round(x), round(y)) } else { (round(y), round(x)) };
        prop_assert!(x.is_nan() || y.is_nan() || low <= high, "{x:e} and {y:e} become {low:e} and {high:e}");
        prop_assert!(round(low).to_bits() == low.to_bits() || low.is_nan(), "{low:e} becomes {:e}", round(low));
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "the conversion that is tried")]
    #[expect(clippy::cast_sign_loss, reason = "the conversion that is tried")]
    fn integers_wrap_as_rust_casts_them(value in any::<i128>(), turns in -2_i128..3) {
        for value in [value, (turns << 32) + value % 3, (turns << 64) + value % 3] {
            prop_assert_eq!(ElementType::Int32.decode_i128(ElementType::Int32.wrap(value)), i128::from(value as i32));
            prop_assert_eq!(ElementType::Uint32.decode_i128(ElementType::Uint32.wrap(value)), i128::from(value as u32));
            prop_assert_eq!(ElementType::Int64.decode_i128(ElementType::Int64.wrap(value)), i128::from(value as i64));
            prop_assert_eq!(ElementType::Uint64.decode_i128(ElementType::Uint64.wrap(value)), i128::from(value as u64));
        }
    }

    #[test]
    fn packing_round_trips(
        element in types(|element| (1..8).contains(&element.bits())),
        values in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let stored: Vec<u8> = values.into_iter().map(|value| extend(element, value)).collect();
        let packed = pack(element, &stored);
        prop_assert_eq!(Some(packed.len()), packed_len(element, stored.len()));
        prop_assert_eq!(unpack(element, &packed, stored.len()), stored);
    }
}
