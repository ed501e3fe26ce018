//! Conversions between element types: `Cast`, `CastLike`, `BitCast`.

use std::sync::Arc;

use crate::dtype::{ElementType, Kind, RoundMode, round_e8m0};
use crate::infer::elements::{self, Elements};
use crate::infer::{NodeView, rules};
use crate::kernels::elementwise::number_format::{self, Numeral};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::packing::extend;
use crate::types::ValueType;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("BitCast", 26, bit_cast)
        .shape(rules::same)
        .typed(|view, _| view.attributes.element("to").map(ValueType::Tensor)),
    Kernel::new("Cast", 1, |call| {
        let to = call.output_element(0, named_type(call.string("to")?)?).rule("C10")?;
        cast(call, to, Infinity::IsNan, CAST)
    })
    .shape(rules::same)
    .with_elements(cast_elements)
    .typed(|view, _| target(view).map(ValueType::Tensor)),
    Kernel::new("Cast", 6, |call| cast(call, to(call)?, Infinity::IsNan, CAST))
        .shape(rules::same)
        .with_elements(cast_elements)
        .typed(|view, _| target(view).map(ValueType::Tensor)),
    Kernel::new("Cast", 24, |call| cast(call, to(call)?, Infinity::Saturates, CAST))
        .shape(rules::same)
        .with_elements(cast_elements)
        .typed(|view, _| target(view).map(ValueType::Tensor)),
    Kernel::new("CastLike", 15, |call| cast(call, call.tensor(1)?.element_type(), Infinity::IsNan, CAST_LIKE))
        .shape(rules::same)
        .with_elements(cast_like_elements),
    Kernel::new("CastLike", 24, |call| cast(call, call.tensor(1)?.element_type(), Infinity::Saturates, CAST_LIKE))
        .shape(rules::same)
        .with_elements(cast_like_elements),
];

/// Ids of the rules that both conversions share.
#[derive(Clone, Copy)]
struct Rules {
    round_mode: &'static str,
    text: &'static str,
}

const CAST: Rules = Rules { round_mode: "C9", text: "C6" };
const CAST_LIKE: Rules = Rules { round_mode: "C4", text: "C8" };

/// Result of `saturate` for an infinity in the `fnuz` types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Infinity {
    /// NaN, as in the tables before version 24.
    IsNan,
    /// The largest finite number.
    Saturates,
}

/// Returns the type that `to` gives as a code, since version 6.
fn to(call: &Call<'_>) -> Result<ElementType> {
    call.output_type("to", 0).rule("C10")?.ok_or_else(|| KernelError::Internal("Cast without to".to_owned()))
}

/// Returns the type that `to` gives by name before version 6: a name of `TensorProto.DataType`, in capitals.
fn named_type(name: &str) -> Result<ElementType> {
    ElementType::ALL.into_iter().find(|element| element.name().to_ascii_uppercase() == name).ok_or_else(|| {
        broken("C10", format!("attribute to is '{name}', which is not a name of TensorProto.DataType, such as FLOAT"))
    })
}

fn cast(call: &Call<'_>, to: ElementType, infinity: Infinity, rules: Rules) -> Result {
    let input = call.tensor(0)?;
    let rounding = Rounding::from_call(call, infinity).rule(rules.round_mode)?;
    if input.element_type() == to {
        return Ok(input.clone().into());
    }
    let output = call.allocate(to, input.shape())?;
    let tensor = match (input.element_type().kind(), to.kind()) {
        (Kind::String, _) => {
            let read = |text: &Arc<str>| numeral(text).map(|numeral| rounding.numeral(to, numeral));
            output.bits(input.strings().iter().map(read).collect::<Result<Vec<_>, _>>().rule(rules.text)?)?
        }
        (from, Kind::String) => {
            debug_assert!(from != Kind::Complex, "no version casts complex numbers");
            output.strings(
                (0..input.len()).map(|index| number_format::print(input.element_type(), input.bits_at(index)).into()),
            )?
        }
        (Kind::Float, Kind::Float) if to.bits() > 8 => output.floats(call.budget.read_floats(input)?)?,
        (Kind::Float, _) => output.bits(input.stream(Tensor::floats).map(|x| rounding.float(to, x)))?,
        _ => output.bits(input.stream(Tensor::integers).map(|value| rounding.integer(to, value)))?,
    };
    Ok(tensor.into())
}

fn numeral(text: &str) -> Result<Numeral, KernelError> {
    number_format::parse(text).ok_or_else(|| {
        invalid(format!("'{text}' is not a number; write plain or scientific notation, INF, +INF, -INF or NaN"))
    })
}

/// Rounding of a number to an element. It has options for the 8-bit floating-point types.
#[derive(Clone, Copy)]
pub(super) struct Rounding {
    saturate: bool,
    infinity: Infinity,
    mode: RoundMode,
}

impl Rounding {
    /// Reads the attributes `saturate` and `round_mode`.
    pub(super) fn from_call(call: &Call<'_>, infinity: Infinity) -> Result<Rounding> {
        let modes = [("up", RoundMode::Up), ("down", RoundMode::Down), ("nearest", RoundMode::Nearest)];
        Ok(Rounding {
            saturate: call.optional_int("saturate") != Some(0),
            infinity,
            mode: call.optional_one_of("round_mode", &modes)?.unwrap_or(RoundMode::Up),
        })
    }

    /// Converts `x` to the bits of an element.
    ///
    /// The text leaves the result open if the integer type cannot represent the number. Here the high bits are dropped,
    /// as for integers. ONNX's own cases for types below a byte do the same.
    pub(super) fn float(self, to: ElementType, x: f64) -> u64 {
        use ElementType::{Float8e4m3fnuz, Float8e5m2fnuz, Float8e8m0};
        #[expect(clippy::cast_possible_truncation, reason = "the integer part of a number is meant")]
        match to {
            _ if to.is_integer() && x.is_finite() => to.wrap(x as i128),
            Float8e8m0 => round_e8m0(x, self.mode, self.saturate),
            Float8e4m3fnuz | Float8e5m2fnuz if x.is_infinite() && self.infinity == Infinity::IsNan => to.encode(x),
            _ if self.saturate => to.encode_saturating(x),
            _ if x.is_nan() && x.is_sign_negative() => {
                to.float_format().and_then(|format| format.nan(true)).unwrap_or_else(|| to.encode(x))
            }
            _ => to.encode(x),
        }
    }

    fn integer(self, to: ElementType, value: i128) -> u64 {
        if to.is_float() && to.bits() <= 8 { self.float(to, crate::dtype::sticky_f64(value)) } else { to.wrap(value) }
    }

    fn numeral(self, to: ElementType, numeral: Numeral) -> u64 {
        match numeral {
            Numeral::Integer(value) => self.integer(to, value),
            Numeral::Float { nearest, .. } if to == ElementType::Double || !to.is_float() => self.float(to, nearest),
            Numeral::Float { sticky, .. } => self.float(to, sticky),
        }
    }
}

/// `BitCast`: the same bits as another type of the same width. Types below a byte use the low bits.
fn bit_cast(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let from = input.element_type();
    let to = call.element_type("to").rule("C4")?;
    let to = to.ok_or_else(|| KernelError::Internal("BitCast without to".to_owned()))?;
    let to = call.output_element(0, to).rule("C3")?;
    if from.bits() != to.bits() {
        let (from_bits, to_bits) = (from.bits(), to.bits());
        return Err(broken(
            "C2",
            format!("{from} has {from_bits} bits and {to} has {to_bits}; the numbers must be equal"),
        ));
    }
    if to.bits() >= 8 {
        return Ok(input.with_element_type(to)?.into());
    }
    let output = call.allocate(to, input.shape())?;
    Ok(output.bits(input.bytes().iter().map(|&byte| u64::from(extend(to, byte))))?.into())
}

/// The type that `to` gives, by name before version 6 and by code since.
fn target(view: &NodeView<'_, '_>) -> Option<ElementType> {
    if view.since() < 6 { named_type(view.attributes.text("to")?).ok() } else { view.attributes.element("to") }
}

/// The elements of an integer input, if the target type can represent them.
fn cast_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    elements::converted(view, target(view)?)
}

/// The elements of an integer input, if the type of the second input can represent them.
fn cast_like_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    match view.value_type(1)? {
        ValueType::Tensor(to) => elements::converted(view, *to),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;
    use crate::testing::{floats, ints, newest, node, strings, typed};
    use ElementType as E;

    fn bits(tensor: &Tensor) -> Vec<u64> {
        (0..tensor.len()).map(|index| tensor.bits_at(index)).collect()
    }

    fn cast_at(opset: i64, input: Tensor, to: E) -> Tensor {
        node("Cast", opset).input(input).set("to", code(to)).tensor()
    }

    fn code(element: E) -> i64 {
        i64::from(element.code())
    }

    #[test]
    fn the_first_version_takes_no_other_spelling_and_no_type_of_later_versions() {
        for to in ["int32", "BFLOAT16"] {
            node("Cast", 1).input(floats(&[1], &[1.0])).set("to", to).error();
        }
    }

    #[test]
    fn types_of_later_versions_are_refused() {
        for (opset, to) in [(6, E::String), (9, E::Bfloat16), (13, E::Float8e5m2), (19, E::Int4), (23, E::Float8e8m0)] {
            let error = node("Cast", opset).input(floats(&[1], &[1.0])).set("to", code(to)).error();
            assert!(error.contains("has no output"), "{error}");
        }
    }

    #[test]
    fn integers_are_rounded_once() {
        assert_eq!(bits(&cast_at(13, ints(&[1], &[(1 << 60) + (1 << 36) + 1]), E::Float)), [0x5D80_0001]);
        let extreme = ints(&[2], &[i64::MIN, i64::MAX]);
        assert_eq!(
            cast_at(13, extreme, E::Double).floats(),
            [-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0]
        );
    }

    #[test]
    fn every_type_but_the_complex_ones_becomes_every_other() {
        let types = || E::ALL.into_iter().filter(|element| element.kind() != Kind::Complex);
        for from in types() {
            let one = match from {
                E::String => strings(&[1], &["1"]),
                _ => typed(from, &[1], &[1.0]),
            };
            for to in types() {
                let cast = cast_at(newest(), one.clone(), to);
                assert_eq!(cast.element_type(), to, "{from} as {to}");
                let back = cast_at(newest(), cast, E::Double).floats();
                assert_eq!(back, [1.0], "{from} as {to}");
            }
        }
    }

    #[test]
    fn a_float_out_of_an_integers_range_loses_its_high_bits() {
        assert_eq!(cast_at(21, floats(&[3], &[-9.5, 16.0, 7.9]), E::Uint4).floats(), [7.0, 0.0, 7.0]);
        assert_eq!(cast_at(25, floats(&[2], &[2.0, -3.0]), E::Int2).floats(), [-2.0, 1.0]);
        assert_eq!(cast_at(6, floats(&[2], &[300.0, -1.0]), E::Uint8).floats(), [44.0, 255.0]);
    }

    #[test]
    fn a_chain_rounds_at_each_step_and_one_cast_rounds_once() {
        let x = typed(E::Double, &[1], &[1.0 + 0.0625 + 1e-9]);
        assert_eq!(cast_at(19, x.clone(), E::Float8e4m3fn).floats(), [1.125]);
        assert_eq!(cast_at(19, cast_at(19, x, E::Float), E::Float8e4m3fn).floats(), [1.0]);
    }

    #[test]
    fn infinities_and_large_numbers_keep_their_sign_in_the_nan_that_they_become() {
        let x = floats(&[4], &[f64::INFINITY, f64::NEG_INFINITY, 1e6, -1e6]);
        let cast = node("Cast", 19).input(x).set("to", code(E::Float8e4m3fn)).set("saturate", 0);
        assert_eq!(bits(&cast.tensor()), [0x7F, 0xFF, 0x7F, 0xFF]);
    }

    #[test]
    fn a_negative_nan_keeps_its_sign_where_nothing_saturates() {
        let nan = Tensor::from_bytes(E::Float, vec![1], (-f32::NAN).to_le_bytes().to_vec().into()).unwrap();
        for (saturate, expected) in [(0, 0xFF), (1, 0x7F)] {
            let cast = node("Cast", 19).input(nan.clone()).set("to", code(E::Float8e4m3fn)).set("saturate", saturate);
            assert_eq!(bits(&cast.tensor()), [expected]);
        }
    }

    #[test]
    fn a_scale_rounded_down_saturates_at_both_ends() {
        let x = floats(&[2], &[0.0, f64::INFINITY]);
        let cast = node("Cast", 24).input(x).set("to", code(E::Float8e8m0)).set("round_mode", "down");
        assert_eq!(bits(&cast.tensor()), [0, 254]);
    }

    #[test]
    fn strings_are_read_and_written() {
        assert_eq!(cast_at(9, strings(&[1], &["100.5"]), E::Int64).integers(), [100]);
        assert_eq!(cast_at(9, strings(&[2], &["0.0", "2"]), E::Bool).floats(), [0.0, 1.0]);
        assert_eq!(cast_at(23, strings(&[1], &["5.1"]), E::Float4e2m1).floats(), [6.0]);
        let written = cast_at(9, floats(&[2], &[1e10, f64::INFINITY]), E::String);
        let texts: Vec<&str> = written.strings().iter().map(|text| &**text).collect();
        assert_eq!(texts, ["10000000000.0", "INF"]);
        let error = node("Cast", 9).input(strings(&[1], &["Hello World!"])).set("to", 1).error();
        assert!(error.contains("'Hello World!' is not a number"), "{error}");
    }

    #[test]
    fn an_empty_tensor_is_cast_like_a_string() {
        let empty = node("CastLike", 15).input(floats(&[0, 2], &[])).input(strings(&[], &["x"])).tensor();
        assert_eq!((empty.element_type(), empty.shape()), (E::String, &[0, 2][..]));
    }

    #[test]
    fn bits_stay_the_same() {
        let cast = |input: Tensor, to: E| node("BitCast", 26).input(input).set("to", code(to));
        assert_eq!(cast(typed(E::Uint4, &[2], &[8.0, 7.0]), E::Int4).tensor().floats(), [-8.0, 7.0]);
        assert_eq!(cast(typed(E::Uint4, &[1], &[15.0]), E::Float4e2m1).tensor().floats(), [-6.0]);
        assert_eq!(cast(typed(E::Uint2, &[1], &[3.0]), E::Int2).tensor().floats(), [-1.0]);
        let pair = ints(&[1], &[(0x4000_0000 << 32) | 0x3F80_0000]);
        let complex = cast(pair, E::Complex64).tensor().complexes();
        assert_eq!((complex[0].re, complex[0].im), (1.0, 2.0));
        let error = cast(floats(&[1], &[1.0]), E::Int64).error();
        assert!(error.contains("float has 32 bits and int64 has 64"), "{error}");
    }
}
