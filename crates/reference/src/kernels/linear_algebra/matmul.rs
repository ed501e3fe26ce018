//! `MatMul`, `Gemm` and their integer forms.

use rayon::prelude::*;

use crate::dtype::ElementType;
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::invalid;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::linear_algebra::factors::{Factors, Multiply, Product};
use crate::tensor::Tensor;
use crate::tensor::gemm::{Matrix, multiply_add, multiply_add_compensated};
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::with_magnitude("MatMul", 1, matmul, matmul_magnitude),
    Kernel::with_magnitude("Gemm", 1, |call| gemm(call, AddendShape::SameUnlessBroadcast), gemm_magnitude),
    Kernel::with_magnitude("Gemm", 7, |call| gemm(call, AddendShape::Broadcast), gemm_magnitude),
    Kernel::new("MatMulInteger", 10, matmul_integer),
    Kernel::new("QLinearMatMul", 10, quantized_matmul),
];

/// Products of narrower floating types are exact in `f64`.
fn multiply_wide(call: &Call<'_>, product: &Product, a: &[f64], b: &[f64], out: &mut [f64]) -> Result<()> {
    let a = Matrix::row_major(a, product.rows, product.inner);
    let b = Matrix::row_major(b, product.inner, product.columns);
    Ok(multiply_add(a, b, out, call.budget.deadline())?)
}

/// For `double`, each element is one compensated sum.
fn multiply_compensated(call: &Call<'_>, product: &Product, a: &[f64], b: &[f64], out: &mut [f64]) -> Result<()> {
    let a = Matrix::row_major(a, product.rows, product.inner);
    let b = Matrix::row_major(b, product.inner, product.columns);
    Ok(multiply_add_compensated(a, b, out, call.budget.deadline())?)
}

/// Integers modulo 2^64, which contains every integer type's own wrapping.
fn multiply_wrapping(call: &Call<'_>, product: &Product, a: &[i64], b: &[i64], out: &mut [i64]) -> Result<()> {
    let columns = product.columns;
    out.par_chunks_exact_mut(columns).enumerate().try_for_each(|(row, out)| {
        for (factor, b) in a[row * product.inner..].iter().take(product.inner).zip(b.chunks_exact(columns)) {
            call.budget.count_work(columns)?;
            out.iter_mut().zip(b).for_each(|(out, b)| *out = out.wrapping_add(factor.wrapping_mul(*b)));
        }
        Ok(())
    })
}

fn plain<'a>(a: &'a Tensor, b: &'a Tensor, accumulate: Accumulate) -> Factors<'a> {
    Factors { a, b, transpose_a: false, transpose_b: false, accumulate }
}

/// The elements modulo 2^64.
fn wrapped(call: &Call<'_>, tensor: &Tensor) -> Result<Vec<i64>> {
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits of a product that wraps matter")]
    call.budget.collect(tensor.stream(Tensor::integers).map(|value| value as i64))
}

fn widened(values: Vec<i64>) -> impl Iterator<Item = i128> {
    values.into_iter().map(i128::from)
}

fn signed(call: &Call<'_>, tensor: &Tensor) -> Result<Vec<f64>> {
    Accumulate::Value.read(call.budget, tensor)
}

fn absolute(call: &Call<'_>, tensor: &Tensor) -> Result<Vec<f64>> {
    Accumulate::Magnitude.read(call.budget, tensor)
}

fn matmul(call: &Call<'_>) -> Result {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let product = Product::of(a.shape(), b.shape())?;
    let element = a.element_type();
    if element == ElementType::Double {
        let values =
            product.compute(call, &call.budget.read_floats(a)?, &call.budget.read_floats(b)?, multiply_compensated)?;
        return Ok(call.floats(element, &product.shape, values)?.into());
    }
    if element.is_float() {
        let values = plain(a, b, Accumulate::Value).multiply(call, &product)?;
        return Ok(call.floats(element, &product.shape, values)?.into());
    }
    let values = product.compute(call, &wrapped(call, a)?, &wrapped(call, b)?, multiply_wrapping)?;
    Ok(call.integers(element, &product.shape, widened(values))?.into())
}

fn matmul_magnitude(call: &Call<'_>) -> Result {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let product = Product::of(a.shape(), b.shape())?;
    let values = plain(a, b, Accumulate::Magnitude).multiply(call, &product)?;
    Ok(call.floats(ElementType::Double, &product.shape, values)?.into())
}

/// Which shapes Gemm's third input may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddendShape {
    /// That of the result; any that broadcasts to it where the attribute `broadcast` is set.
    SameUnlessBroadcast,
    /// Any that broadcasts to that of the result.
    Broadcast,
}

/// The factors and the addend of a Gemm.
struct General<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    c: Option<&'a Tensor>,
    transpose_a: bool,
    transpose_b: bool,
    product: Product,
}

impl<'a> General<'a> {
    fn of(call: &Call<'a>, addend: AddendShape) -> Result<General<'a>> {
        let (a, b, c) = (call.tensor(0)?, call.tensor(1)?, call.optional_tensor(2)?);
        let (transpose_a, transpose_b) = (call.flag("transA")?, call.flag("transB")?);
        let oriented = |tensor: &Tensor, transpose: bool| match *tensor.shape() {
            [rows, columns] if transpose => Ok([columns, rows]),
            [rows, columns] => Ok([rows, columns]),
            ref shape => Err(invalid(format!("Gemm multiplies matrices, but an input has shape {shape:?}"))),
        };
        let product = Product::of(&oriented(a, transpose_a)?, &oriented(b, transpose_b)?)?;
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
                return Err(invalid(format!("C has shape {c:?} and cannot be added to {shape:?}{hint}")));
            }
        }
        Ok(General { a, b, c, transpose_a, transpose_b, product })
    }

    /// The product of floating factors.
    fn multiply_floats(&self, call: &Call<'_>, accumulate: Accumulate) -> Result<Vec<f64>> {
        let General { a, b, transpose_a, transpose_b, .. } = *self;
        if a.element_type() == ElementType::Double && accumulate == Accumulate::Value {
            return self.multiply(call, call.budget.read_floats(a)?, call.budget.read_floats(b)?, multiply_compensated);
        }
        Factors { a, b, transpose_a, transpose_b, accumulate }.multiply(call, &self.product)
    }

    /// The product of the factors, each given as it lies in its tensor.
    fn multiply<T: Copy + Default>(
        &self,
        call: &Call<'_>,
        a: Vec<T>,
        b: Vec<T>,
        multiply: Multiply<T>,
    ) -> Result<Vec<T>> {
        let orient = |tensor: &Tensor, values: Vec<T>, transpose: bool| -> Result<Vec<T>> {
            if transpose {
                call.budget.collect(StridedIter::transposed(tensor.shape(), &[1, 0]).map(|position| values[position]))
            } else {
                Ok(values)
            }
        };
        let (a, b) = (orient(self.a, a, self.transpose_a)?, orient(self.b, b, self.transpose_b)?);
        self.product.compute(call, &a, &b, multiply)
    }

    /// The product with `combine` applied to each element and that of the addend, where there is one.
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
                let positions = StridedIter::broadcast(c.shape(), &self.product.shape);
                product.iter_mut().zip(positions).for_each(|(value, at)| *value = combine(*value, Some(values[at])));
            }
        }
        Ok(product)
    }
}

/// `alpha * A * B + beta * C`.
fn gemm(call: &Call<'_>, addend: AddendShape) -> Result {
    let general = General::of(call, addend)?;
    let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
    let (element, shape) = (general.a.element_type(), &general.product.shape);
    if element.is_float() {
        let product = general.multiply_floats(call, Accumulate::Value)?;
        let values = general.add(call, product, signed, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
        return Ok(call.floats(element, shape, values)?.into());
    }
    let product = general.multiply(call, wrapped(call, general.a)?, wrapped(call, general.b)?, multiply_wrapping)?;
    #[expect(clippy::cast_possible_truncation, reason = "the factors are whole, and what is beyond 64 bits wraps")]
    if alpha.fract() == 0.0 && beta.fract() == 0.0 {
        let (alpha, beta) = (alpha as i128 as i64, beta as i128 as i64);
        let values = general.add(call, product, wrapped, |value, c| {
            alpha.wrapping_mul(value).wrapping_add(c.map_or(0, |c| beta.wrapping_mul(c)))
        })?;
        return Ok(call.integers(element, shape, widened(values))?.into());
    }
    let exact = |value: i64| element.decode_i128(element.wrap(i128::from(value))) as f64;
    let product = call.budget.collect(product.into_iter().map(exact))?;
    let values = general.add(call, product, signed, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
    Ok(call.floats(element, shape, values)?.into())
}

fn gemm_magnitude(call: &Call<'_>) -> Result {
    let general = General::of(call, AddendShape::Broadcast)?;
    let (alpha, beta) = (call.float("alpha")?.abs(), call.float("beta")?.abs());
    let product = general.multiply_floats(call, Accumulate::Magnitude)?;
    let values = general.add(call, product, absolute, |value, c| alpha * value + c.map_or(0.0, |c| beta * c))?;
    Ok(call.floats(ElementType::Double, &general.product.shape, values)?.into())
}

/// One number for each row of the first factor, or for each column of the second, or for all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Per {
    Row,
    Column,
}

/// The shape with which a scale or zero point broadcasts: a vector of several elements goes along the rows, where there
/// is one for each, or along the columns.
fn quantization_shape(tensor: &Tensor, per: Per) -> Vec<usize> {
    match *tensor.shape() {
        [count] if count > 1 && per == Per::Row => vec![count, 1],
        ref shape => shape.to_vec(),
    }
}

/// The parameter that belongs to each element of a tensor of `shape`.
fn spread<'a>(
    parameter: &Tensor,
    values: &'a [f64],
    per: Per,
    shape: &[usize],
) -> Result<impl Iterator<Item = f64> + use<'a>> {
    let own = quantization_shape(parameter, per);
    if broadcast(&own, shape)? != shape {
        return Err(invalid(format!(
            "a scale or zero point of shape {:?} does not fit {shape:?}; it takes one value, or one for each {}",
            parameter.shape(),
            if per == Per::Row { "row" } else { "column" }
        )));
    }
    Ok(StridedIter::broadcast(&own, shape).map(|position| values[position]))
}

/// The elements of a factor less its zero point, exact.
fn centred(call: &Call<'_>, factor: &Tensor, zero_point: Option<&Tensor>, per: Per) -> Result<Vec<f64>> {
    let mut values = call.budget.read_floats(factor)?;
    let Some(zero_point) = zero_point else { return Ok(values) };
    let matrix = match (factor.rank(), per) {
        (1, Per::Row) => vec![1, factor.len()],
        (1, Per::Column) => vec![factor.len(), 1],
        _ => factor.shape().to_vec(),
    };
    let zeros = call.budget.read_floats(zero_point)?;
    values.iter_mut().zip(spread(zero_point, &zeros, per, &matrix)?).for_each(|(value, zero)| *value -= zero);
    Ok(values)
}

/// The product of two factors less their zero points.
fn centred_product(
    call: &Call<'_>,
    (a, a_zero_point): (&Tensor, Option<&Tensor>),
    (b, b_zero_point): (&Tensor, Option<&Tensor>),
) -> Result<(Product, Vec<f64>)> {
    let product = Product::of(a.shape(), b.shape())?;
    let (a, b) = (centred(call, a, a_zero_point, Per::Row)?, centred(call, b, b_zero_point, Per::Column)?);
    let values = product.compute(call, &a, &b, multiply_wide)?;
    Ok((product, values))
}

/// 8-bit factors give sums that `f64` holds exactly; beyond 32 bits they wrap.
fn matmul_integer(call: &Call<'_>) -> Result {
    let a = (call.tensor(0)?, call.optional_tensor(2)?);
    let b = (call.tensor(1)?, call.optional_tensor(3)?);
    let (product, values) = centred_product(call, a, b)?;
    #[expect(clippy::cast_possible_truncation, reason = "the sums are whole numbers")]
    let whole = values.into_iter().map(|value| value as i128);
    Ok(call.integers(ElementType::Int32, &product.shape, whole)?.into())
}

/// The product of the numbers that the factors stand for, quantized again: divided by the scale and, for an integer
/// type, rounded to even before the zero point is added; at last saturated.
fn quantized_matmul(call: &Call<'_>) -> Result {
    let (a_scale, b_scale, y_scale) = (call.tensor(1)?, call.tensor(4)?, call.tensor(6)?);
    let y_zero_point = call.tensor(7)?;
    let a = (call.tensor(0)?, Some(call.tensor(2)?));
    let b = (call.tensor(3)?, Some(call.tensor(5)?));
    for (at, name) in [(1, "a"), (4, "b"), (6, "y")] {
        let (scale, zero_point) = (call.tensor(at)?.shape(), call.tensor(at + 1)?.shape());
        if scale != zero_point {
            return Err(invalid(format!(
                "{name}_scale has shape {scale:?} and {name}_zero_point {zero_point:?}; both have the same"
            )));
        }
    }
    let (product, values) = centred_product(call, a, b)?;
    let full = product.full_shape();
    let parameters = [a_scale, b_scale, y_scale, y_zero_point];
    let parameters = parameters.iter().map(|tensor| call.budget.read_floats(tensor)).collect::<Result<Vec<_>>>()?;
    let a_scales = spread(a_scale, &parameters[0], Per::Row, &full)?;
    let b_scales = spread(b_scale, &parameters[1], Per::Column, &full)?;
    let y_scales = spread(y_scale, &parameters[2], Per::Row, &full)?;
    let zeros = spread(y_zero_point, &parameters[3], Per::Row, &full)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node, typed};
    use ElementType as E;

    fn product(a: Tensor, b: Tensor) -> (Vec<usize>, Vec<f64>) {
        let product = node("MatMul", 13).input(a).input(b).tensor();
        (product.shape().to_vec(), product.floats())
    }

    #[test]
    fn vectors_lose_their_dimension_and_stacks_broadcast() {
        let vector = || floats(&[2], &[1.0, 2.0]);
        let matrix = || floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(product(vector(), vector()), (vec![], vec![5.0]));
        assert_eq!(product(matrix(), vector()), (vec![2], vec![5.0, 11.0]));
        assert_eq!(product(vector(), matrix()), (vec![2], vec![7.0, 10.0]));
        let stack = floats(&[2, 1, 1, 2], &[1.0, 0.0, 0.0, 1.0]);
        assert_eq!(product(stack, matrix()), (vec![2, 1, 1, 2], vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(product(floats(&[2, 0], &[]), floats(&[0, 1], &[])), (vec![2, 1], vec![0.0, 0.0]));
        assert_eq!(product(floats(&[0, 2], &[]), vector()), (vec![0], vec![]));
    }

    #[test]
    fn scalars_and_unequal_inner_dimensions_are_refused() {
        let vector = || floats(&[2], &[1.0, 2.0]);
        assert!(node("MatMul", 9).input(floats(&[], &[1.0])).input(vector()).error().contains("scalar"));
        assert!(node("MatMul", 9).input(vector()).input(floats(&[3], &[0.0; 3])).error().contains("rows of 2"));
    }

    #[test]
    fn integers_wrap_and_doubles_are_compensated() {
        let large = ints(&[2], &[i64::MAX, 3]);
        let wrapped = node("MatMul", 9).input(large).input(ints(&[2], &[2, 1])).tensor();
        assert_eq!(wrapped.integers(), [1]);
        let unsigned = || typed(E::Uint32, &[1, 1], &[65536.0]);
        assert_eq!(product(unsigned(), unsigned()).1, [0.0]);
        let cancelling = typed(E::Double, &[3], &[1e20, 1.0, -1e20]);
        assert_eq!(product(cancelling, typed(E::Double, &[3], &[1.0; 3])).1, [1.0]);
        let halves = || typed(E::Bfloat16, &[3], &[256.0, 1.0, 1.0]);
        assert_eq!(product(halves(), typed(E::Bfloat16, &[3], &[1.0; 3])).1, [258.0]);
    }

    fn gemm_of(opset: i64, c: Tensor) -> OneNode {
        let a = floats(&[1, 2], &[1.0, 2.0]);
        node("Gemm", opset).input(a).input(floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])).input(c)
    }

    #[test]
    fn the_addend_broadcasts_where_the_version_says_so() {
        let row = || floats(&[2], &[10.0, 20.0]);
        for opset in [1, 6] {
            assert!(gemm_of(opset, row()).error().contains("broadcast to 1"));
            assert_eq!(gemm_of(opset, row()).set("broadcast", 1).tensor().floats(), [17.0, 30.0]);
            assert_eq!(gemm_of(opset, floats(&[1, 2], &[1.0, 2.0])).tensor().floats(), [8.0, 12.0]);
        }
        for opset in [7, 9, 11, 13] {
            assert_eq!(gemm_of(opset, row()).tensor().floats(), [17.0, 30.0]);
            let scaled = gemm_of(opset, floats(&[], &[2.0])).set("alpha", 0.5f32).set("beta", 3.0f32).tensor();
            assert_eq!(scaled.floats(), [9.5, 11.0]);
            assert!(gemm_of(opset, floats(&[2, 2], &[0.0; 4])).run().is_err());
        }
    }

    #[test]
    fn factors_turn_and_the_addend_may_be_left_out() {
        let matrix = || floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let turned = node("Gemm", 11).input(matrix()).input(matrix()).set("transA", 1).set("transB", 1).tensor();
        assert_eq!(turned.floats(), [7.0, 15.0, 10.0, 22.0]);
        assert!(node("Gemm", 13).input(floats(&[2], &[0.0; 2])).input(matrix()).error().contains("matrices"));
    }

    #[test]
    fn a_large_factor_is_converted_in_parts() {
        let (inner, columns) = (3000, 1000);
        let a: Vec<f64> = (0..2 * inner).map(|at| (at % 7) as f64 - 3.0).collect();
        let b = |row: usize, column: usize| ((row * 5 + column * 3) % 11) as f64;
        let rows: Vec<f64> = (0..inner * columns).map(|at| b(at / columns, at % columns)).collect();
        let turned: Vec<f64> = (0..inner * columns).map(|at| b(at % inner, at / inner)).collect();
        let gemm = |b: Tensor| node("Gemm", 13).input(floats(&[2, inner], &a)).input(b);
        let y = gemm(floats(&[inner, columns], &rows)).tensor();
        assert_eq!(y, gemm(floats(&[columns, inner], &turned)).set("transB", 1).tensor());
        let last: f64 = (0..inner).map(|at| a[inner + at] * b(at, columns - 1)).sum();
        assert_eq!(y.floats().last(), Some(&last));
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

    #[test]
    fn zero_points_go_along_rows_of_the_first_and_columns_of_the_second() {
        let a = typed(E::Uint8, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let b = typed(E::Int8, &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
        let run = |a_zero: Tensor, b_zero: Tensor| {
            let call = node("MatMulInteger", 10).input(a.clone()).input(b.clone()).input(a_zero).input(b_zero);
            call.tensor().floats()
        };
        let rows = || typed(E::Uint8, &[2], &[1.0, 3.0]);
        assert_eq!(run(rows(), typed(E::Int8, &[], &[0.0])), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(run(typed(E::Uint8, &[], &[0.0]), typed(E::Int8, &[2], &[1.0, 0.0])), [-2.0, 2.0, -4.0, 4.0]);
        assert_eq!(run(typed(E::Uint8, &[2, 1], &[1.0, 3.0]), typed(E::Int8, &[1], &[0.0])), [0.0, 1.0, 0.0, 1.0]);
    }

    fn quantized(a: Tensor, scales: [f64; 3], scale_type: E, y_zero: Tensor) -> Vec<f64> {
        let scale = |at: usize| typed(scale_type, &[], &[scales[at]]);
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
        // 0.5 and 1.5 become 0 and 2, then the zero point is added.
        assert_eq!(y, [1.0, 3.0, 65.0, -63.0]);
        let a = typed(E::Uint8, &[1, 1], &[200.0]);
        assert_eq!(quantized(a, [1.0, 2.0, 1.0], E::Float16, typed(E::Int8, &[], &[0.0])), [127.0]);
        let a = typed(E::Float8e4m3fn, &[1, 1], &[448.0]);
        assert_eq!(quantized(a, [2.0, 1.0, 1.0], E::Bfloat16, typed(E::Float8e4m3fn, &[], &[0.0])), [448.0]);
    }
}
