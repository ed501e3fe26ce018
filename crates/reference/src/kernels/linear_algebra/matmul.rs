//! `MatMul`, `Gemm` and their integer and quantized forms.

#![expect(
    clippy::indexing_slicing,
    reason = "positions are those of a broadcast that has been checked, and lists have a fixed length"
)]

#[cfg(feature = "next")]
pub(super) mod grouped;
mod product;

use std::ops::Range;

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::linear_algebra::matmul::product::{Arithmetic, MatMulShape, Rules};
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::gemm::{multiply_add, multiply_add_compensated, multiply_add_wrapping};
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("MatMul", 1, matmul).shape(|view| matrix_product(view, 1)),
    Kernel::accumulating("Gemm", 1, |call, accumulate| gemm(call, AddendShape::SameUnlessBroadcast, accumulate))
        .shape(rows_and_columns),
    Kernel::accumulating("Gemm", 7, |call, accumulate| gemm(call, AddendShape::Broadcast, accumulate))
        .shape(rows_and_columns),
    Kernel::new("MatMulInteger", 10, matmul_integer).shape(|view| matrix_product(view, 1)),
    Kernel::new("QLinearMatMul", 10, quantized_matmul).shape(|view| matrix_product(view, 3)),
];

/// Factors of a product.
struct Factors<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    /// Factors that are stored transposed.
    transpose: [bool; 2],
    product: MatMulShape,
}

impl Factors<'_> {
    /// Multiplies floating-point factors. For `double`, each element is one compensated sum. Products of narrower types
    /// are exact in `f64`.
    fn multiply_floats(&self, call: &Call<'_>, accumulate: Accumulate) -> Result<Vec<f64>> {
        let compensated = self.a.element_type() == ElementType::Double && accumulate == Accumulate::Value;
        let read_a = |budget: &Budget, range| accumulate.read(budget, &self.a.part(range));
        let read_b = |budget: &Budget, range| accumulate.read(budget, &self.b.part(range));
        let multiply_add = if compensated { multiply_add_compensated } else { multiply_add };
        let arithmetic = Arithmetic { read: [&read_a, &read_b], multiply_add, sums_split: !compensated };
        self.product.multiply(call, self.transpose, &arithmetic)
    }

    /// Multiplies integer factors modulo 2^64, which covers the wrapping of every integer type.
    fn multiply_integers(&self, call: &Call<'_>) -> Result<Vec<i64>> {
        let read_a = |budget: &Budget, range| wrapped(budget, &self.a.part(range));
        let read_b = |budget: &Budget, range| wrapped(budget, &self.b.part(range));
        let arithmetic = Arithmetic { read: [&read_a, &read_b], multiply_add: multiply_add_wrapping, sums_split: true };
        self.product.multiply(call, self.transpose, &arithmetic)
    }
}

/// Returns the elements modulo 2^64.
fn wrapped(budget: &Budget, tensor: &Tensor) -> Result<Vec<i64>> {
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits of a product that wraps matter")]
    budget.collect(tensor.stream(Tensor::integers).map(|value| value as i64))
}

fn widened(values: Vec<i64>) -> impl Iterator<Item = i128> {
    values.into_iter().map(i128::from)
}

/// `MatMul`: `Y = A B`, over stacks of matrices that broadcast.
fn matmul(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let rules = Rules { scalars: "C5", inner: "C1", stacks: "C3" };
    let factors = Factors { a, b, transpose: [false; 2], product: MatMulShape::new(a.shape(), b.shape(), &rules)? };
    let (element, shape) = (a.element_type(), &factors.product.shape);
    if element.is_float() || accumulate == Accumulate::Magnitude {
        let values = factors.multiply_floats(call, accumulate)?;
        return Ok(call.floats(accumulate.output(element), shape, values)?.into());
    }
    let values = factors.multiply_integers(call)?;
    Ok(call.integers(element, shape, widened(values))?.into())
}

/// Allowed shapes of Gemm's third input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddendShape {
    /// The result's shape, or any that broadcasts to it if the attribute `broadcast` is set.
    SameUnlessBroadcast,
    /// Any shape that broadcasts to the result's.
    Broadcast,
}

/// Factors and addend of a Gemm.
struct General<'a> {
    factors: Factors<'a>,
    c: Option<&'a Tensor>,
}

impl<'a> General<'a> {
    fn read(call: &Call<'a>, addend: AddendShape) -> Result<General<'a>> {
        let (a, b, c) = (call.tensor(0)?, call.tensor(1)?, call.optional_tensor(2)?);
        let transpose = [call.flag("transA")?, call.flag("transB")?];
        let oriented = |tensor: &Tensor, transpose: bool| match *tensor.shape() {
            [rows, columns] if transpose => Ok([columns, rows]),
            [rows, columns] => Ok([rows, columns]),
            ref shape => Err(broken("C5", format!("Gemm multiplies matrices, but an input has shape {shape:?}"))),
        };
        let rule = if transpose == [false; 2] { "C5" } else { "C1" };
        let rules = Rules { scalars: rule, inner: rule, stacks: rule };
        let product = MatMulShape::new(&oriented(a, transpose[0])?, &oriented(b, transpose[1])?, &rules)?;
        if let Some(c) = c {
            let must_agree = addend == AddendShape::SameUnlessBroadcast && !call.flag("broadcast")?;
            let fits = if must_agree {
                c.shape() == product.shape
            } else {
                broadcast(c.shape(), &product.shape).is_ok_and(|shape| shape == product.shape)
            };
            if !fits {
                let hint = if must_agree { "; set broadcast to 1" } else { "" };
                let (c, shape) = (c.shape(), &product.shape);
                let rule = if must_agree { "C2" } else { "C3" };
                return Err(broken(rule, format!("C has shape {c:?} and cannot be added to {shape:?}{hint}")));
            }
        }
        Ok(General { factors: Factors { a, b, transpose, product }, c })
    }

    /// Combines each element of the product with the addend's, if there is an addend.
    fn add<T: Copy, C: Copy>(
        &self,
        call: &Call<'_>,
        mut product: Vec<T>,
        addend: impl Fn(&Call<'_>, &Tensor) -> Result<Vec<C>>,
        combine: impl Fn(T, Option<C>) -> T,
    ) -> Result<Vec<T>> {
        match self.c {
            None => product.iter_mut().for_each(|value| *value = combine(*value, None)),
            Some(c) => {
                let values = addend(call, c)?;
                let positions = StridedIter::broadcast(c.shape(), &self.factors.product.shape);
                product
                    .iter_mut()
                    .zip(positions)
                    .for_each(|(value, index)| *value = combine(*value, Some(values[index])));
            }
        }
        Ok(product)
    }
}

/// Gemm: `Y = alpha * A' * B' + beta * C`.
fn gemm(call: &Call<'_>, addend: AddendShape, accumulate: Accumulate) -> Result {
    let general = General::read(call, addend)?;
    let factors = &general.factors;
    let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
    let (element, shape) = (factors.a.element_type(), &factors.product.shape);
    let floats = |call: &Call<'_>, c: &Tensor| accumulate.read(call.budget, c);
    if accumulate == Accumulate::Magnitude {
        let (alpha, beta) = (alpha.abs(), beta.abs());
        let values = factors.multiply_floats(call, accumulate)?;
        let values = general.add(call, values, floats, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
        return Ok(call.floats(ElementType::Double, shape, values)?.into());
    }
    if element.is_float() {
        let values = factors.multiply_floats(call, accumulate)?;
        let values = general.add(call, values, floats, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
        return Ok(call.floats(element, shape, values)?.into());
    }
    let values = factors.multiply_integers(call)?;
    #[expect(clippy::cast_possible_truncation, reason = "the factors are whole, and what is beyond 64 bits wraps")]
    if alpha.fract() == 0.0 && beta.fract() == 0.0 {
        let (alpha, beta) = (alpha as i128 as i64, beta as i128 as i64);
        let integers = |call: &Call<'_>, c: &Tensor| wrapped(call.budget, c);
        let values = general.add(call, values, integers, |value, c| {
            alpha.wrapping_mul(value).wrapping_add(c.map_or(0, |c| beta.wrapping_mul(c)))
        })?;
        return Ok(call.integers(element, shape, widened(values))?.into());
    }
    let exact = |value: i64| element.decode_i128(element.wrap(i128::from(value))) as f64;
    let values = call.budget.collect(values.into_iter().map(exact))?;
    let values = general.add(call, values, floats, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
    Ok(call.floats(element, shape, values)?.into())
}

/// Granularity of a parameter: per row of the first factor, or per column of the second. One value may serve all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Per {
    Row,
    Column,
}

/// Scale or zero point.
struct QuantizationParameter<'a> {
    tensor: &'a Tensor,
    values: Vec<f64>,
    per: Per,
}

impl<'a> QuantizationParameter<'a> {
    fn read(call: &Call<'_>, tensor: &'a Tensor, per: Per) -> Result<QuantizationParameter<'a>> {
        Ok(QuantizationParameter { tensor, values: call.budget.read_floats(tensor)?, per })
    }

    /// Returns the parameter of each element of a tensor of `shape`. `rule` is the rule for the shape of the parameter,
    /// which may be a vector with one element per row or per column.
    fn broadcast(&self, shape: &[usize], rule: &str) -> Result<impl Iterator<Item = f64> + use<'_>> {
        let own = match *self.tensor.shape() {
            [count] if count > 1 && self.per == Per::Row => vec![count, 1],
            ref own => own.to_vec(),
        };
        if broadcast(&own, shape).rule(rule)? != shape {
            return Err(broken(
                rule,
                format!(
                    "a scale or zero point of shape {:?} does not fit {shape:?}; it takes one value, or one for \
                     each {}",
                    self.tensor.shape(),
                    if self.per == Per::Row { "row" } else { "column" }
                ),
            ));
        }
        Ok(StridedIter::broadcast(&own, shape).map(|position| self.values[position]))
    }
}

/// Factor minus its zero point, exactly.
struct Centred<'a> {
    factor: &'a Tensor,
    zero_point: Option<QuantizationParameter<'a>>,
    /// Shape of the factor. A vector is a matrix of one row or column.
    shape: Vec<usize>,
    /// Rule about zero points.
    rule: &'static str,
}

impl<'a> Centred<'a> {
    /// Checks the shape of the zero point.
    fn new(
        factor: &'a Tensor,
        zero_point: Option<QuantizationParameter<'a>>,
        per: Per,
        rule: &'static str,
    ) -> Result<Centred<'a>> {
        let shape = match (factor.rank(), per) {
            (1, Per::Row) => vec![1, factor.len()],
            (1, Per::Column) => vec![factor.len(), 1],
            _ => factor.shape().to_vec(),
        };
        if let Some(zero_point) = &zero_point {
            drop(zero_point.broadcast(&shape, rule)?);
        }
        Ok(Centred { factor, zero_point, shape, rule })
    }

    /// Reads a range of elements.
    fn read(&self, budget: &Budget, range: Range<usize>) -> Result<Vec<f64>> {
        let mut values = budget.read_floats(&self.factor.part(range.clone()))?;
        if let Some(zero_point) = &self.zero_point {
            let zeros = zero_point.broadcast(&self.shape, self.rule)?.skip(range.start);
            values.iter_mut().zip(zeros).for_each(|(value, zero)| *value -= zero);
        }
        Ok(values)
    }
}

/// Multiplies two factors minus their zero points. `rule` is the rule for the shapes of the zero points. C4 is the rule
/// for the shapes of the factors.
fn centred_product(
    call: &Call<'_>,
    (a, a_zero_point): (&Tensor, Option<&Tensor>),
    (b, b_zero_point): (&Tensor, Option<&Tensor>),
    rule: &'static str,
) -> Result<(MatMulShape, Vec<f64>)> {
    let shape = MatMulShape::new(a.shape(), b.shape(), &Rules { scalars: "C4", inner: "C4", stacks: "C4" })?;
    let read = |tensor, per| QuantizationParameter::read(call, tensor, per);
    let a = Centred::new(a, a_zero_point.map(|tensor| read(tensor, Per::Row)).transpose()?, Per::Row, rule)?;
    let b = Centred::new(b, b_zero_point.map(|tensor| read(tensor, Per::Column)).transpose()?, Per::Column, rule)?;
    let read_a = |budget: &Budget, range| a.read(budget, range);
    let read_b = |budget: &Budget, range| b.read(budget, range);
    let arithmetic = Arithmetic { read: [&read_a, &read_b], multiply_add, sums_split: true };
    let values = shape.multiply(call, [false; 2], &arithmetic)?;
    Ok((shape, values))
}

/// `MatMulInteger`: `Y = (A - a_zero_point) (B - b_zero_point)`. Sums of 8-bit factors are exact in `f64`, and wrap to
/// 32 bits.
fn matmul_integer(call: &Call<'_>) -> Result {
    let a = (call.tensor(0)?, call.optional_tensor(2)?);
    let b = (call.tensor(1)?, call.optional_tensor(3)?);
    let (product, values) = centred_product(call, a, b, "C2")?;
    #[expect(clippy::cast_possible_truncation, reason = "the sums are whole numbers")]
    let whole = values.into_iter().map(|value| value as i128);
    Ok(call.integers(ElementType::Int32, &product.shape, whole)?.into())
}

/// `QLinearMatMul`: `Y = saturate(round(((A - a_zero) (B - b_zero)) * (a_scale * b_scale) / y_scale) + y_zero)`, ties
/// to even. A floating-point Y is not rounded to an integer.
fn quantized_matmul(call: &Call<'_>) -> Result {
    let (a_scale, b_scale, y_scale) = (call.tensor(1)?, call.tensor(4)?, call.tensor(6)?);
    let y_zero_point = call.tensor(7)?;
    let a = (call.tensor(0)?, Some(call.tensor(2)?));
    let b = (call.tensor(3)?, Some(call.tensor(5)?));
    for (index, name) in [(1, "a"), (4, "b"), (6, "y")] {
        let (scale, zero_point) = (call.tensor(index)?.shape(), call.tensor(index + 1)?.shape());
        if scale != zero_point {
            return Err(broken(
                "C3",
                format!(
                    "{name}_scale has shape {scale:?} and {name}_zero_point {zero_point:?}; both must have the same"
                ),
            ));
        }
    }
    let (product, values) = centred_product(call, a, b, "C3")?;
    let full = product.full_shape();
    let read = |tensor, per| QuantizationParameter::read(call, tensor, per);
    let (a_scale, b_scale) = (read(a_scale, Per::Row)?, read(b_scale, Per::Column)?);
    let (y_scale, y_zero) = (read(y_scale, Per::Row)?, read(y_zero_point, Per::Row)?);
    let (a_scales, b_scales) = (a_scale.broadcast(&full, "C3")?, b_scale.broadcast(&full, "C3")?);
    let (y_scales, zeros) = (y_scale.broadcast(&full, "C3")?, y_zero.broadcast(&full, "C3")?);
    let element = y_zero_point.element_type();
    let quantized = values.into_iter().zip(a_scales.zip(b_scales)).zip(y_scales.zip(zeros)).map(
        |((value, (a_scale, b_scale)), (y_scale, zero))| {
            let scaled = value * (a_scale * b_scale) / y_scale;
            if element.is_float() {
                element.encode_saturating(scaled + zero)
            } else {
                element.truncate(scaled.round_ties_even() + zero)
            }
        },
    );
    Ok(call.allocate(element, &product.shape)?.bits(quantized)?.into())
}

/// The shape of the product of the first factor and the second, which is the input at this position.
fn matrix_product(view: &NodeView<'_, '_>, second: usize) -> Option<Shape> {
    rules::matrix_product(&view.shape(0)?, &view.shape(second)?)
}

/// The rows of `A` and the columns of `B`. Both may be transposed.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
fn rows_and_columns(view: &NodeView<'_, '_>) -> Option<Shape> {
    let side = |position: usize, name: &str, axis: usize| {
        let transposes = view.flag(name)?;
        view.dim(position, if transposes { 1 - axis } else { axis })
    };
    Some(vec![side(0, "transA", 0).unwrap_or(Dim::Unknown), side(1, "transB", 1).unwrap_or(Dim::Unknown)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::testing::{floats, ints, node, typed};
    use ElementType as E;

    fn product(a: Tensor, b: Tensor) -> Vec<f64> {
        node("MatMul", 13).input(a).input(b).tensor().floats()
    }

    #[test]
    fn the_error_for_a_vector_names_the_length_of_the_rows() {
        let product = node("MatMul", 9).input(floats(&[2], &[1.0, 2.0])).input(floats(&[3], &[0.0; 3]));
        assert!(product.error().contains("rows have 2 elements"));
    }

    #[test]
    fn integers_wrap_and_doubles_are_compensated() {
        let large = ints(&[2], &[i64::MAX, 3]);
        let wrapped = node("MatMul", 9).input(large).input(ints(&[2], &[2, 1])).tensor();
        assert_eq!(wrapped.integers(), [1]);
        let unsigned = || typed(E::Uint32, &[1, 1], &[65536.0]);
        assert_eq!(product(unsigned(), unsigned()), [0.0]);
        let cancelling = typed(E::Double, &[3], &[1e20, 1.0, -1e20]);
        assert_eq!(product(cancelling, typed(E::Double, &[3], &[1.0; 3])), [1.0]);
        let halves = || typed(E::Bfloat16, &[3], &[256.0, 1.0, 1.0]);
        assert_eq!(product(halves(), typed(E::Bfloat16, &[3], &[1.0; 3])), [258.0]);
    }

    /// Returns two rows, a factor larger than one block, the same factor transposed, and the last element of the
    /// product.
    fn large(element: E) -> (Tensor, Tensor, Tensor, f64) {
        let (inner, columns) = (3000, 1000);
        let a: Vec<f64> = (0..2 * inner).map(|index| (index % 7) as f64).collect();
        let b = |row: usize, column: usize| ((row * 5 + column * 3) % 11) as f64;
        let rows: Vec<f64> = (0..inner * columns).map(|index| b(index / columns, index % columns)).collect();
        let transposed: Vec<f64> = (0..inner * columns).map(|index| b(index % inner, index / inner)).collect();
        let last = (0..inner).map(|index| a[inner + index] * b(index, columns - 1)).sum();
        let typed = |shape: [usize; 2], values: &[f64]| typed(element, &shape, values);
        (typed([2, inner], &a), typed([inner, columns], &rows), typed([columns, inner], &transposed), last)
    }

    #[test]
    fn a_large_factor_is_converted_in_parts() {
        for element in [E::Float, E::Double, E::Int64] {
            let (a, b, transposed, last) = large(element);
            let gemm = |b: Tensor| node("Gemm", 13).input(a.clone()).input(b);
            let y = gemm(b).tensor();
            assert_eq!(y, gemm(transposed).set("transB", 1).tensor(), "{element}");
            assert_eq!(y.floats().last(), Some(&last), "{element}");
        }
    }

    #[test]
    fn an_integer_factor_does_not_count_as_converted_whole() {
        for (operator, element) in [("MatMulInteger", E::Uint8), ("MatMul", E::Int32), ("MatMul", E::Double)] {
            let (a, b, _, last) = large(element);
            // The limit fits the inputs and a block of 2^21 numbers, but not all 3,000,000.
            let limits = ExecutionLimits { bytes: a.size() + b.size() + (17 << 20), ..ExecutionLimits::default() };
            let product = node(operator, 13).input(a).input(b).limits(limits).tensor();
            assert_eq!(product.floats().last(), Some(&last), "{operator} of {element}");
        }
    }

    #[test]
    fn integer_gemm_cuts_only_what_a_fraction_leaves() {
        let one = |value: f64| typed(E::Int32, &[1, 1], &[value]);
        let gemm = |alpha: f32| node("Gemm", 9).input(one(3.0)).input(one(5.0)).input(one(-1.0)).set("alpha", alpha);
        assert_eq!(gemm(2.0).tensor().floats(), [29.0]);
        assert_eq!(gemm(0.5).tensor().floats(), [6.0]);
        let exact = node("Gemm", 9).input(ints(&[1, 1], &[(1 << 60) + 1])).input(ints(&[1, 1], &[1]));
        assert_eq!(exact.input(ints(&[], &[0])).tensor().integers(), [(1 << 60) + 1]);
    }

    fn quantized(a: Tensor, scales: [f64; 3], scale_type: E, y_zero: Tensor) -> Vec<f64> {
        let scale = |index: usize| typed(scale_type, &[], &[scales[index]]);
        let element = a.element_type();
        let one = typed(element, &[1, 1], &[1.0]);
        let zero = || typed(element, &[], &[0.0]);
        let call = node("QLinearMatMul", 21).input(a).input(scale(0)).input(zero()).input(one).input(scale(1));
        call.input(zero()).input(scale(2)).input(y_zero).tensor().floats()
    }

    #[test]
    fn quantizing_rounds_to_even_before_the_zero_point_and_saturates() {
        let a = typed(E::Int8, &[4, 1], &[1.0, 3.0, 127.0, -128.0]);
        let y = quantized(a, [1.0, 1.0, 2.0], E::Float, typed(E::Int8, &[], &[1.0]));
        // 0.5 and 1.5 round to 0 and 2, then the zero point is added.
        assert_eq!(y, [1.0, 3.0, 65.0, -63.0]);
        let a = typed(E::Uint8, &[1, 1], &[200.0]);
        assert_eq!(quantized(a, [1.0, 2.0, 1.0], E::Float16, typed(E::Int8, &[], &[0.0])), [127.0]);
        let a = typed(E::Float8e4m3fn, &[1, 1], &[448.0]);
        assert_eq!(quantized(a, [2.0, 1.0, 1.0], E::Bfloat16, typed(E::Float8e4m3fn, &[], &[0.0])), [448.0]);
    }
}
