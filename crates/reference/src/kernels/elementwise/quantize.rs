//! Linear quantization: `QuantizeLinear`, `DequantizeLinear`, `DynamicQuantizeLinear`.

use crate::dtype::{ElementType, Kind};
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::elementwise::cast::{Infinity, Rounding};
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::types::ValueType;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("DequantizeLinear", 10, dequantize).shape(rules::same).typed(dequantized_type),
    Kernel::new("DynamicQuantizeLinear", 11, dynamic_quantize).shapes_of_all(quantized_and_parameters),
    Kernel::new("QuantizeLinear", 10, quantize).shape(rules::same).typed(quantized_type),
];

/// Ids of the rules that both directions share.
#[derive(Clone, Copy)]
struct Rules {
    axis: &'static str,
    blocks: &'static str,
    zero_point: &'static str,
}

const DEQUANTIZE: Rules = Rules { axis: "C2", blocks: "C3", zero_point: "C5" };
const QUANTIZE: Rules = Rules { axis: "C4", blocks: "C5", zero_point: "C6" };

/// Layout of the scales: along one axis, `block` consecutive elements share a scale.
#[derive(Clone, Copy)]
struct Scales {
    /// Numbers of elements before the axis, along it, and after it.
    extent: [usize; 3],
    block: usize,
    /// Strides in the scales along each of these.
    steps: [usize; 3],
}

impl Scales {
    /// Returns the position in the scales of every element, in row-major order.
    fn positions(self) -> impl Iterator<Item = usize> {
        let Scales { extent: [before, along, after], block, steps } = self;
        let place = move |i: usize, j: usize, k: usize| i * steps[0] + j / block * steps[1] + k * steps[2];
        (0..before).flat_map(move |i| (0..along).flat_map(move |j| (0..after).map(move |k| place(i, j, k))))
    }
}

/// Returns the layout. A scalar or one element applies to all; a 1-D scale applies along an axis (since 13); a scale of
/// the input's rank applies to blocks of `block_size` along an axis (since 21).
fn scales(call: &Call<'_>, x: &Tensor, scale: &Tensor, rules: Rules) -> Result<Scales, KernelError> {
    let (shape, rank) = (x.shape(), scale.rank());
    let misfit = |rule: &str, why: String| {
        broken(rule, format!("a scale of shape {:?} does not fit {shape:?}: {why}", scale.shape()))
    };
    if scale.len() == 1 && rank <= 1 {
        return Ok(Scales { extent: [1, 1, x.len()], block: 1, steps: [0; 3] });
    }
    let Some(axis) = call.optional_int("axis") else {
        return Err(misfit(rules.axis, format!("{} requires a scalar", call.spec.version)));
    };
    let axis = normalize_axis(axis, shape.len()).rule(rules.axis)?;
    let (before, from) = shape.split_at(axis);
    let (size, after) = from.split_first().map_or((1, from), |(&size, after)| (size, after));
    let extent = match x.len() {
        0 => [0; 3],
        _ => [before.iter().product(), size, after.iter().product()],
    };
    let block = call.optional_int("block_size").unwrap_or(0);
    if rank == 1 && (shape.len() != 1 || block == 0) {
        let per_axis = Scales { extent, block: 1, steps: [0, 1, 0] };
        let fits = scale.len() == size;
        return if fits { Ok(per_axis) } else { Err(misfit(rules.axis, format!("axis {axis} has {size} elements"))) };
    }
    let block = usize::try_from(block).ok().filter(|&block| block > 0 && rank == shape.len());
    let block = block.ok_or_else(|| {
        misfit(rules.blocks, "blocks require a positive block_size and the rank of the input".to_owned())
    })?;
    let mut expected = shape.to_vec();
    expected.iter_mut().skip(axis).take(1).for_each(|size| *size = size.div_ceil(block));
    if scale.shape() != expected {
        return Err(misfit(rules.blocks, format!("blocks of {block} elements along axis {axis} require {expected:?}")));
    }
    let inner = extent[2];
    Ok(Scales { extent, block, steps: [size.div_ceil(block) * inner, inner, 1] })
}

/// Returns the zero point, which must have the shape of the scale.
fn zero_point<'a>(call: &Call<'a>, scale: &Tensor, rules: Rules) -> Result<Option<&'a Tensor>, KernelError> {
    let zero = call.optional_tensor(2)?;
    match zero {
        Some(zero) if zero.shape() != scale.shape() && (zero.len(), scale.len()) != (1, 1) => Err(broken(
            rules.zero_point,
            format!(
                "the zero point has shape {:?} and the scale {:?}; they must be equal",
                zero.shape(),
                scale.shape()
            ),
        )),
        _ => Ok(zero),
    }
}

/// `saturate(x / scale + zero_point)`. The quotient is rounded to the precision of the division. For an integer output
/// it is then rounded to the nearest integer, ties to even.
fn quantize(call: &Call<'_>) -> Result {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let zero = zero_point(call, scale, QUANTIZE)?;
    let output = output_type(call, zero)?;
    let positions = scales(call, x, scale, QUANTIZE)?.positions();
    let factors = call.budget.read_floats(scale)?;
    let quotient = division(call, x.element_type(), scale.element_type())?;
    let quotients = x.stream(Tensor::floats).zip(positions).map(|(x, index)| {
        let scale = factors.get(index).copied().unwrap_or(f64::NAN);
        (quotient(x, scale), index)
    });
    let buffer = call.allocate(output, x.shape())?;
    if output.is_float() {
        let (rounding, zeros) = (
            Rounding::from_call(call, Infinity::Saturates)?,
            zero.map(|tensor| call.budget.read_floats(tensor)).transpose()?.unwrap_or_default(),
        );
        let sum = |(quotient, index): (f64, usize)| quotient + zeros.get(index).copied().unwrap_or(0.0);
        return Ok(buffer.bits(quotients.map(|pair| rounding.float(output, sum(pair))))?.into());
    }
    let zeros = zero.map(|tensor| call.budget.read_integers(tensor)).transpose()?.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "beyond the range, it saturates")]
    let sum = |(quotient, index): (f64, usize)| {
        (quotient.round_ties_even() as i128).saturating_add(zeros.get(index).copied().unwrap_or(0))
    };
    Ok(buffer.bits(quotients.map(|pair| output.saturate(sum(pair))))?.into())
}

/// Returns the type of the zero point, else `output_dtype` (since 21), else `uint8`.
fn output_type(call: &Call<'_>, zero: Option<&Tensor>) -> Result<ElementType, KernelError> {
    let zero = zero.map(Tensor::element_type);
    let named = match call.optional_int("output_dtype") {
        None | Some(0) => None,
        Some(_) => call.output_type("output_dtype", 0)?,
    };
    match (zero, named) {
        (Some(zero), Some(named)) if zero != named => {
            Err(broken("C7", format!("output_dtype is {named}, but the zero point is {zero}; they must be equal")))
        }
        (zero, named) => Ok(zero.or(named).unwrap_or(ElementType::Uint8)),
    }
}

/// Returns the division `x / scale`, in the type that `precision` gives (since 23), else in the scale's.
///
/// An integer scale cannot hold a quotient, nor can `float8e8m0`, which has no sign. It divides in the input's type,
/// and integer by integer without rounding. The operands are first converted to that type.
fn division(call: &Call<'_>, x: ElementType, scale: ElementType) -> Result<impl Fn(f64, f64) -> f64, KernelError> {
    let holds_quotients = |element: &ElementType| element.is_float() && *element != ElementType::Float8e8m0;
    let named = match call.optional_int("precision") {
        None | Some(0) => None,
        Some(_) => call.element_type("precision")?,
    };
    if let Some(named) = named.filter(|named| !holds_quotients(named)) {
        return Err(invalid(format!(
            "precision is {named}, which cannot represent quotients; use a floating-point type"
        )));
    }
    let precision = named.or_else(|| [scale, x].into_iter().find(holds_quotients));
    let round = move |value: f64| precision.map_or(value, |element| element.round(value));
    Ok(move |x: f64, scale: f64| round(round(x) / round(scale)))
}

/// `(x - zero_point) * scale`, computed exactly and rounded once to the output's type: `output_dtype` (since 23), else
/// the scale's type (since 19), else `float`.
fn dequantize(call: &Call<'_>) -> Result {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let zero = zero_point(call, scale, DEQUANTIZE)?;
    let output = match call.optional_int("output_dtype") {
        None | Some(0) => call.output_element(0, scale.element_type()).rule("C4")?,
        Some(_) => call.output_type("output_dtype", 0).rule("C4")?.unwrap_or(scale.element_type()),
    };
    let positions = scales(call, x, scale, DEQUANTIZE)?.positions();
    let factors = call.budget.read_floats(scale)?;
    let zeros = zero.map(|tensor| call.budget.read_floats(tensor)).transpose()?.unwrap_or_default();
    debug_assert!(x.element_type().kind() != Kind::Signed || x.element_type().bits() <= 32, "f64 holds x - zero_point");
    let product = |(x, index): (f64, usize)| {
        let scale = factors.get(index).copied().unwrap_or(f64::NAN);
        (x - zeros.get(index).copied().unwrap_or(0.0)) * scale
    };
    Ok(call.floats(output, x.shape(), x.stream(Tensor::floats).zip(positions).map(product))?.into())
}

/// Follows the function body, each step rounded to `float`: range including 0, scale, zero point, quantization.
fn dynamic_quantize(call: &Call<'_>) -> Result {
    const MOST: f64 = 255.0;
    let float = |value: f64| ElementType::Float.round(value);
    let x = call.tensor(0)?;
    let values = call.budget.read_floats(x)?;
    let (mut min, mut greatest) = (0.0_f64, 0.0_f64);
    for &value in &values {
        if value.is_nan() {
            (min, greatest) = (value, value);
            break;
        }
        (min, greatest) = (min.min(value), greatest.max(value));
    }
    let range = float(greatest - min);
    // If all data are zero, the scale is 1. That is the text of ONNX 1.24.0; before, the body divides by a scale of 0.
    let scale = if range == 0.0 { 1.0 } else { float(range / MOST) };
    let zero = float(0.0 - float(min / scale)).clamp(0.0, MOST).round_ties_even();
    // A range that is too small gives a scale of 0, and the body casts 0 / 0, which is undefined. The zero point is 0 here.
    let zero = if zero.is_nan() { 0.0 } else { zero };
    let quantized = values.into_iter().map(|value| {
        let sum = float(value / scale).round_ties_even() + zero;
        sum.clamp(0.0, MOST)
    });
    let outputs = [
        call.floats(ElementType::Uint8, x.shape(), quantized)?,
        call.floats(ElementType::Float, &[], [scale])?,
        call.floats(ElementType::Uint8, &[], [zero])?,
    ];
    Ok(Outputs::from(Vec::from(outputs)))
}

/// The type of the zero point, or the one that `output_dtype` gives, or `uint8`.
fn quantized_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    if view.is_given(2) {
        return view.value_type(2).cloned();
    }
    rules::named_type(view, "output_dtype", Some(ValueType::Tensor(ElementType::Uint8)))
}

/// Since version 23: the type that `output_dtype` names, or the scale's.
fn dequantized_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let has_own = view.since() >= 23;
    has_own.then(|| rules::named_type(view, "output_dtype", view.value_type(1).cloned())).flatten()
}

/// The shape of the input, then a scale and a zero point, which are scalars.
fn quantized_and_parameters(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    vec![view.shape(0), Some(Vec::new()), Some(Vec::new())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, newest, node, typed};
    use crate::value::Value;
    use ElementType as E;

    fn quantize(opset: i64, x: Tensor, scale: Tensor, zero: Tensor) -> OneNode {
        node("QuantizeLinear", opset).input(x).input(scale).input(zero)
    }

    fn scalar(element: E, value: f64) -> Tensor {
        typed(element, &[], &[value])
    }

    #[test]
    fn ties_go_to_even_before_the_zero_point_is_added() {
        let x = floats(&[6], &[0.5, 1.5, 2.5, -0.5, -1.5, 1000.0]);
        let uint8 = quantize(10, x.clone(), scalar(E::Float, 1.0), scalar(E::Uint8, 1.0)).tensor();
        assert_eq!(uint8.floats(), [1.0, 3.0, 3.0, 1.0, 0.0, 255.0]);
        let int8 = quantize(10, x, scalar(E::Float, 1.0), scalar(E::Int8, -1.0)).tensor();
        assert_eq!(int8.floats(), [-1.0, 1.0, 1.0, -1.0, -3.0, 127.0]);
    }

    #[test]
    fn the_quotient_is_rounded_to_the_scales_type_or_to_precision() {
        // 131.125 / 2 = 65.5625 is not a tie. But bfloat16 rounds 131.125 to 131, and 65.5 is a tie.
        let (x, scale) = (floats(&[1], &[131.125]), 2.0);
        let at = |scale: Tensor| quantize(23, x.clone(), scale, scalar(E::Uint8, 0.0));
        assert_eq!(at(scalar(E::Float, scale)).tensor().floats(), [66.0]);
        assert_eq!(at(scalar(E::Bfloat16, scale)).tensor().floats(), [66.0]);
        let x = floats(&[1], &[129.125]);
        let at = |scale: Tensor| quantize(23, x.clone(), scale, scalar(E::Uint8, 0.0));
        assert_eq!(at(scalar(E::Float, scale)).tensor().floats(), [65.0]);
        assert_eq!(at(scalar(E::Bfloat16, scale)).tensor().floats(), [64.0]);
        assert_eq!(at(scalar(E::Bfloat16, scale)).set("precision", 1).tensor().floats(), [65.0]);
        assert_eq!(at(scalar(E::Float, scale)).set("precision", 16).tensor().floats(), [64.0]);
        at(scalar(E::Float, scale)).set("precision", 6).error();
    }

    #[test]
    fn integers_divide_by_an_integer_scale() {
        let int32 = quantize(23, typed(E::Int32, &[2], &[7.0, -5.0]), scalar(E::Int32, 2.0), scalar(E::Int8, 0.0));
        assert_eq!(int32.tensor().floats(), [4.0, -2.0]);
    }

    #[test]
    fn scales_of_blocks_without_a_size_are_refused() {
        let matrix = || floats(&[2, 2], &[1.0, 2.0, 4.0, 0.5]);
        quantize(21, matrix(), matrix(), typed(E::Int8, &[2, 2], &[0.0; 4])).error();
    }

    #[test]
    fn an_output_type_of_too_many_bits_is_refused() {
        let x = node("QuantizeLinear", 21).input(floats(&[2], &[9.0, -9.0])).input(scalar(E::Float, 1.0));
        x.set("output_dtype", 7).error();
    }

    #[test]
    fn floats_add_the_zero_point_and_saturate_as_asked() {
        let x = floats(&[3], &[1000.0, 3.3, f64::INFINITY]);
        let at = |opset: i64, zero: Tensor| quantize(opset, x.clone(), scalar(E::Float, 1.0), zero);
        assert_eq!(at(19, scalar(E::Float8e4m3fn, 0.0)).tensor().floats(), [448.0, 3.25, 448.0]);
        assert_eq!(at(19, scalar(E::Float8e4m3fnuz, 0.0)).tensor().floats()[2], 240.0);
        assert_eq!(at(24, scalar(E::Float8e4m3fnuz, 0.0)).tensor().floats()[2], 240.0);
        assert_eq!(at(23, scalar(E::Float4e2m1, 1.0)).set("saturate", 0).tensor().floats(), [6.0, 4.0, 6.0]);
        assert_eq!(at(newest(), scalar(E::Float6e3m2, 0.0)).tensor().floats(), [28.0, 3.5, 28.0]);
    }

    #[test]
    fn dequantizing_is_exact_until_the_output_type() {
        let at = |opset: i64, x: Tensor, scale: Tensor| node("DequantizeLinear", opset).input(x).input(scale);
        let x = typed(E::Int32, &[2], &[-2_147_483_648.0, 16_777_217.0]);
        let zero = typed(E::Int32, &[], &[1.0]);
        let exact = at(10, x, scalar(E::Float, 0.5)).input(zero).tensor();
        assert_eq!(exact.floats(), [-1_073_741_824.0, 8_388_608.0]);
        let wide = at(23, typed(E::Int16, &[1], &[2049.0]), scalar(E::Float16, 3.0)).set("output_dtype", 1).tensor();
        assert_eq!((wide.element_type(), wide.floats()), (E::Float, vec![6147.0]));
        let narrow = at(23, typed(E::Int16, &[1], &[257.0]), scalar(E::Float, 1.0)).set("output_dtype", 16).tensor();
        assert_eq!(narrow.floats(), [256.0]);
        at(24, typed(E::Int4, &[1], &[-3.0]), scalar(E::Float8e8m0, 0.25)).error();
    }

    #[test]
    fn every_type_is_quantized_with_every_scale_and_back() {
        let outputs = E::ALL.into_iter().filter(|element| {
            let bits = element.bits();
            (element.is_integer() && bits <= 16) || (element.is_float() && bits <= 8 && *element != E::Float8e8m0)
        });
        for output in outputs {
            for x in [E::Float, E::Float16, E::Bfloat16, E::Int32] {
                for scale in [E::Float, E::Float16, E::Bfloat16, E::Int32, E::Float8e8m0] {
                    let quantized =
                        quantize(newest(), scalar(x, 2.0), scalar(scale, 2.0), scalar(output, 0.0)).tensor();
                    assert_eq!((quantized.element_type(), quantized.floats()), (output, vec![1.0]), "{x} by {scale}");
                    if scale == E::Int32 {
                        continue;
                    }
                    let back = node("DequantizeLinear", newest()).input(quantized).input(scalar(scale, 2.0));
                    let back = back.input(scalar(output, 0.0)).set("output_dtype", i64::from(E::Bfloat16.code()));
                    assert_eq!(back.tensor().floats(), [2.0], "{output} by {scale}");
                }
            }
        }
    }

    #[test]
    fn empty_tensors_stay_empty() {
        let zero = typed(E::Uint8, &[0], &[]);
        let empty = quantize(13, floats(&[2, 0], &[]), floats(&[0], &[]), zero).tensor();
        assert_eq!((empty.element_type(), empty.shape()), (E::Uint8, &[2, 0][..]));
    }

    #[test]
    fn a_dynamic_scale_is_rounded_to_float_and_is_one_for_zeros() {
        let run = |values: &[f64]| {
            let node = node("DynamicQuantizeLinear", 11).input(floats(&[values.len()], values)).outputs(3);
            node.run().unwrap().iter().filter_map(Value::as_tensor).map(Tensor::floats).collect::<Vec<_>>()
        };
        // The quotient by the float scale is 6.5000002, which float rounds to a tie.
        assert_eq!(run(&[0.0, 0.025_490_198_284_387_59, 1.0])[0], [0.0, 6.0, 255.0]);
        assert_eq!(run(&[0.0, -0.0]), [vec![0.0, 0.0], vec![1.0], vec![0.0]]);
        assert_eq!(run(&[0.0, 1e-45])[1..], [vec![0.0], vec![0.0]]);
        assert!(run(&[])[0].is_empty());
    }
}
