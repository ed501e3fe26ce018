//! `Col2Im`: sums overlapping blocks into an image.

use std::ops::Add;
use std::sync::Arc;

use num_complex::Complex;

use crate::dtype::Kind;
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::arguments::{dimensions, one_dimensional};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, broken, broken_for_all_sizes, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::shapes;
use crate::tensor::Tensor;
use crate::tensor::double_double::DoubleDouble;
use crate::tensor::shape::{element_count, strides};

pub(super) const KERNELS: &[Kernel] = &[Kernel::accumulating("Col2Im", 18, col2im).shape(shapes::folded)];

/// col2im, the transpose of im2col: `out[n][c][l * stride + k * dilation - pad] += data[n][c * block + k][l]`.
fn col2im(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let data = call.tensor(0)?;
    let fold = Fold::from_call(call)?;
    let element = data.element_type();
    let buffer = call.allocate(element, &fold.shape)?;
    let tensor = match element.kind() {
        Kind::Float => {
            let signed = data.stream(Tensor::floats);
            let values = match accumulate {
                Accumulate::Value => call.budget.collect(signed.map(DoubleDouble::from))?,
                Accumulate::Magnitude => call.budget.collect(signed.map(|value| DoubleDouble::from(value.abs())))?,
            };
            buffer.floats(fold.sums(call, &values, Add::add)?.into_iter().map(DoubleDouble::to_f64))?
        }
        Kind::Complex => {
            let mut values = call.budget.read_complexes(data)?;
            if accumulate == Accumulate::Magnitude {
                for z in &mut values {
                    *z = Complex::new(z.re.abs(), z.im.abs());
                }
            }
            buffer.complexes(fold.sums(call, &values, |a: Complex<f64>, b| a + b)?)?
        }
        Kind::String => buffer.strings(fold.sums(call, data.strings(), |a: Arc<str>, b| joined(&a, &b))?)?,
        Kind::Bool => buffer.integers(fold.sums(call, &call.budget.read_integers(data)?, |a: i128, b| a | b)?)?,
        Kind::Signed | Kind::Unsigned => {
            buffer.integers(fold.sums(call, &call.budget.read_integers(data)?, i128::wrapping_add)?)?
        }
    };
    Ok(tensor.into())
}

/// Adds two strings by concatenation, as numpy does. The standard does not define it.
fn joined(a: &Arc<str>, b: &Arc<str>) -> Arc<str> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => Arc::clone(b),
        (_, true) => Arc::clone(a),
        _ => Arc::from([&**a, &**b].concat()),
    }
}

/// Layout of the input's columns in the image.
struct Fold {
    /// Shape of the output.
    shape: Vec<usize>,
    /// Images times channels.
    planes: usize,
    block: Vec<usize>,
    /// Number of blocks along each axis.
    counts: Vec<usize>,
    dilations: Vec<usize>,
    strides: Vec<usize>,
    begins: Vec<usize>,
}

impl Fold {
    fn from_call(call: &Call<'_>) -> Result<Fold> {
        let shape = call.tensor(0)?.shape();
        let (image, block) = (sizes(call, 1, "image_shape")?, sizes(call, 2, "block_shape")?);
        let rank = image.len();
        let list = |name: &str, count: usize, default: i64| {
            let list =
                call.optional_ints(name).map_or_else(|| std::iter::repeat_n(default, count).collect(), <[_]>::to_vec);
            if name == "pads" && list.iter().any(|pad| *pad < 0) {
                return Err(broken_for_all_sizes("C3", format!("pads is {list:?}, but a pad must not be negative")));
            }
            let list = dimensions(&list, name)?;
            let is_valid = list.len() == count && (default == 0 || !list.contains(&0));
            if is_valid {
                Ok(list)
            } else {
                Err(invalid(format!("{name} {list:?} does not fit an image with {rank} axes")))
            }
        };
        let (dilations, strides, pads) =
            (list("dilations", rank, 1)?, list("strides", rank, 1)?, list("pads", 2 * rank, 0)?);
        let refuse = || {
            broken(
                "C5",
                format!(
                    "input of shape {shape:?} does not hold the blocks of {block:?} of an image of {image:?} \
                     with dilations {dilations:?}, pads {pads:?} and strides {strides:?}"
                ),
            )
        };
        let &[images, channels, columns] = shape else { return Err(refuse()) };
        if block.len() != rank || block.contains(&0) {
            return Err(refuse());
        }
        let (begins, ends) = pads.split_at(rank.min(pads.len()));
        let along = |index: usize| {
            let entry = |list: &[usize]| list.get(index).map(|&value| value as i128);
            let room = entry(&image)? + entry(begins)? + entry(ends)?
                - entry(&dilations)?.checked_mul(entry(&block)? - 1)?
                - 1;
            usize::try_from(room.div_euclid(entry(&strides)?) + 1).ok()
        };
        let counts: Vec<usize> = (0..rank).map(along).collect::<Option<_>>().ok_or_else(refuse)?;
        let area = element_count(&block)?;
        if channels % area != 0 || element_count(&counts)? != columns {
            return Err(refuse());
        }
        let planes = [images, channels / area];
        Ok(Fold {
            shape: [&planes, image.as_slice()].concat(),
            planes: element_count(&planes)?,
            begins: begins.to_vec(),
            block,
            counts,
            dilations,
            strides,
        })
    }

    /// Returns the elements of the image, each the sum of the columns that cover it, in input order.
    fn sums<T: Clone + Default>(
        &self,
        call: &Call<'_>,
        values: &[T],
        add: impl Fn(T, T) -> T,
    ) -> Result<Vec<T>, KernelError> {
        let image = self.shape.get(2..).unwrap_or(&[]);
        let mut sums: Vec<T> = call.budget.scratch(element_count(&self.shape)?)?;
        let (size, area, columns) = (element_count(image)?, element_count(&self.block)?, element_count(&self.counts)?);
        if values.is_empty() || sums.is_empty() {
            return Ok(sums);
        }
        let steps = strides(image);
        for (index, value) in call.budget.timed(values.iter().enumerate()) {
            let (plane, place, column) = (index / columns / area, index / columns % area, index % columns);
            let target = self.target(image, &steps, place, column).map(|target| plane * size + target);
            if let Some(slot) = target.and_then(|target| sums.get_mut(target)) {
                *slot = add(std::mem::take(slot), value.clone());
            }
        }
        debug_assert_eq!(values.len(), self.planes * area * columns);
        Ok(sums)
    }

    /// Returns the position in the image of one element of one block, unless it is in the padding.
    fn target(&self, image: &[usize], steps: &[usize], mut place: usize, mut column: usize) -> Option<usize> {
        let mut target = 0;
        for axis in (0..image.len()).rev() {
            let entry = |list: &[usize]| list.get(axis).copied();
            let (block, count) = (entry(&self.block)?, entry(&self.counts)?);
            let (inside, number) = (place % block, column % count);
            (place, column) = (place / block, column / count);
            let padded = number * entry(&self.strides)? + inside * entry(&self.dilations)?;
            let index = padded
                .checked_sub(entry(&self.begins)?)
                .filter(|index| entry(image).is_some_and(|size| *index < size))?;
            target += index * entry(steps)?;
        }
        Some(target)
    }
}

fn sizes(call: &Call<'_>, index: usize, what: &str) -> Result<Vec<usize>> {
    let tensor: &Tensor = call.tensor(index)?;
    one_dimensional(tensor, what)?;
    dimensions(&call.budget.read_indices(tensor)?, what)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{OneNode, floats, ints, node, strings, typed};

    fn image(block: &[i64], size: &[i64]) -> (crate::tensor::Tensor, crate::tensor::Tensor) {
        (ints(&[size.len()], size), ints(&[block.len()], block))
    }

    fn overlapping(element: ElementType, values: &[f64]) -> OneNode {
        let (size, block) = image(&[1, 2], &[1, 3]);
        node("Col2Im", 18).input(typed(element, &[1, 2, 2], values)).input(size).input(block)
    }

    #[test]
    fn sums_of_blocks_wrap_and_join() {
        assert_eq!(overlapping(ElementType::Int8, &[0.0, 100.0, 100.0, 0.0]).tensor().floats(), [0.0, -56.0, 0.0]);
        assert_eq!(overlapping(ElementType::Bool, &[0.0, 1.0, 1.0, 0.0]).tensor().floats(), [0.0, 1.0, 0.0]);
        let (size, block) = image(&[1, 2], &[1, 3]);
        let text = node("Col2Im", 18).input(strings(&[1, 2, 2], &["a", "b", "c", "d"])).input(size).input(block);
        assert_eq!(text.tensor(), strings(&[1, 1, 1, 3], &["a", "bc", "d"]));
    }

    #[test]
    fn padding_is_dropped_and_gaps_stay_zero() {
        let (size, block) = image(&[1, 2], &[1, 4]);
        // One block of two elements with distance 3, on [pad, 0, 1, 2, 3].
        let pads: &[i64] = &[0, 1, 0, 0];
        let spread: &[i64] = &[1, 3];
        let steps: &[i64] = &[1, 2];
        let folded = node("Col2Im", 18).input(floats(&[1, 2, 1], &[5.0, 7.0])).input(size).input(block);
        let folded = folded.set("pads", pads).set("dilations", spread).set("strides", steps).tensor();
        assert_eq!(folded, floats(&[1, 1, 1, 4], &[0.0, 0.0, 7.0, 0.0]));
    }

    #[test]
    fn shapes_that_hold_no_blocks_are_refused() {
        for (shape, size, block) in [([1, 0, 0], [1, 3], [0, 2]), ([1, 5, 1], [1, 1], [1, 5])] {
            let (size, block) = image(&block, &size);
            let data = floats(&shape, &vec![0.0; shape.iter().product()]);
            let refused = node("Col2Im", 18).input(data).input(size).input(block).error();
            assert!(refused.contains("does not hold"), "{refused}");
        }
        let zero: &[i64] = &[0, 1];
        assert!(
            overlapping(ElementType::Float, &[0.0; 4]).set("strides", zero).error().contains("does not fit an image")
        );
    }
}
