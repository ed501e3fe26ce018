//! `RoiAlign` and `MaxRoiPool`: pooled regions of images.

#![expect(clippy::indexing_slicing, reason = "the shapes are checked first, and samples are clamped to the plane")]

use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::image::shapes;
use crate::tensor::Tensor;
use crate::tensor::sum::sum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("MaxRoiPool", 1, max_roi_pool).shape(shapes::pooled_regions),
    Kernel::new("RoiAlign", 10, |call| roi_align(call, 0.0)).shape(shapes::aligned_regions),
    Kernel::new("RoiAlign", 16, |call| roi_align(call, pixel_shift(call)?)).shape(shapes::aligned_regions),
];

/// Rounds to the type of the input. Coordinates and counts are computed in it, step by step.
fn staged(element: ElementType) -> impl Fn(f64) -> f64 {
    move |value| element.round(value)
}

/// Returns the four dimensions of the images.
fn images(x: &Tensor) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(x.shape())
        .map_err(|_| invalid(format!("X has shape {:?}; it must have batch, channels, height and width", x.shape())))
}

/// Returns the regions, `columns` numbers each.
fn regions(call: &Call<'_>, tensor: &Tensor, columns: usize) -> Result<Vec<f64>> {
    match tensor.shape() {
        &[_, found] if found == columns => call.budget.read_floats(tensor),
        shape => Err(invalid(format!("rois has shape {shape:?}; it must have rows of {columns}"))),
    }
}

fn batch(index: f64, count: usize) -> Result<usize> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the batch")]
    if index >= 0.0 && index < count as f64 {
        Ok(index as usize)
    } else {
        Err(invalid(format!("a region is in image {index}, but the batch has {count}")))
    }
}

fn size(call: &Call<'_>, name: &str, given: i64) -> Result<usize> {
    usize::try_from(given)
        .ok()
        .filter(|&size| size > 0)
        .ok_or_else(|| invalid(format!("{name} of {} is {given}; it must be 1 or more", call.spec.version)))
}

// RoiAlign.

/// Returns the offset of coordinates from the index of their pixel.
fn pixel_shift(call: &Call<'_>) -> Result<f64> {
    call.one_of("coordinate_transformation_mode", &[("half_pixel", 0.5), ("output_half_pixel", 0.0)]).rule("C7")
}

/// Reduction of the samples of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Average,
    Maximum,
}

/// Sample between four pixels: their positions in a plane, and their weights.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    positions: [usize; 4],
    weights: [f64; 4],
}

fn roi_align(call: &Call<'_>, shift: f64) -> Result {
    let (x, rois, batches) = (call.tensor(0)?, call.tensor(1)?, call.budget.read_floats(call.tensor(2)?)?);
    let [count, channels, height, width] = images(x).rule("C9")?;
    let regions = regions(call, rois, 4).rule("C8")?;
    if regions.len() != batches.len().saturating_mul(4) {
        return Err(broken(
            "C8",
            format!("there are {} batch_indices for rois of shape {:?}", batches.len(), rois.shape()),
        ));
    }
    let mode = call.one_of("mode", &[("avg", Mode::Average), ("max", Mode::Maximum)]).rule("C7")?;
    let bins = [call.int("output_height")?, call.int("output_width")?];
    let bins = [size(call, "output_height", bins[0])?, size(call, "output_width", bins[1])?];
    let shape = [batches.len(), channels, bins[0], bins[1]];
    let output = call.allocate(x.element_type(), &shape)?;
    let values = call.budget.read_floats(x)?;
    let mut results: Vec<f64> = call.budget.scratch(output.len())?;
    let sampling = Sampling { call, shift, bins, plane: [height, width] };
    if !output.is_empty() {
        let region_bins = output.len() / batches.len();
        for ((region, index), out) in regions.chunks(4).zip(batches).zip(results.chunks_mut(region_bins)) {
            let budget = call.budget.nested();
            let samples = sampling.samples(&budget, region)?;
            let image = batch(index, count).rule("C5")? * channels;
            for (channel, out) in out.chunks_mut(bins[0] * bins[1]).enumerate() {
                let plane = (image + channel) * height * width;
                call.budget.count_work(samples.len().saturating_mul(8))?;
                pool_bins(&samples, &values[plane..plane + height * width], mode, out);
            }
        }
    }
    Ok(output.floats(results)?.into())
}

/// Computes one value per bin from its samples.
///
/// The maximum is over the four weighted pixels of every sample, not over the samples, as in upstream's own case. The
/// text only names the mode.
fn pool_bins(samples: &[Sample], plane: &[f64], mode: Mode, out: &mut [f64]) {
    let bin_samples = samples.len() / out.len();
    for (index, out) in out.iter_mut().enumerate() {
        let samples = &samples[index * bin_samples..(index + 1) * bin_samples];
        let terms = |sample: &Sample| -> [f64; 4] {
            std::array::from_fn(|corner| {
                sample.weights[corner] * plane.get(sample.positions[corner]).copied().unwrap_or(0.0)
            })
        };
        *out = match mode {
            Mode::Average => sum(samples.iter().flat_map(terms)) / bin_samples.max(1) as f64,
            Mode::Maximum => samples.iter().flat_map(terms).reduce(greater).unwrap_or(0.0),
        };
    }
}

/// Returns the greater of two numbers. NaN is greater than all.
fn greater(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// Sampling of regions by `RoiAlign`.
struct Sampling<'a> {
    call: &'a Call<'a>,
    /// Offset of coordinates from the index of their pixel.
    shift: f64,
    /// Rows and columns of bins.
    bins: [usize; 2],
    /// Height and width of the images.
    plane: [usize; 2],
}

impl Sampling<'_> {
    /// Returns the samples of all bins of a region, bin by bin.
    fn samples(&self, budget: &Budget, region: &[f64]) -> Result<Vec<Sample>> {
        let Sampling { call, shift, bins, plane } = *self;
        let round = staged(call.tensor(0)?.element_type());
        let scale = call.float("spatial_scale")?;
        let ratio = call.int("sampling_ratio")?;
        // A region is stored as x1, y1, x2, y2.
        let along = |axis: usize| -> Result<(Vec<f64>, usize)> {
            let start = round(round(region[1 - axis] * scale) - shift);
            let end = round(round(region[3 - axis] * scale) - shift);
            let mut extent = round(end - start);
            if shift == 0.0 {
                extent = extent.max(1.0);
            }
            let bin = round(extent / bins[axis] as f64);
            let grid = grid(bin, ratio)?;
            let mut places: Vec<f64> = budget.scratch(bins[axis].saturating_mul(grid))?;
            for (index, place) in places.iter_mut().enumerate() {
                let corner = round(start + round((index / grid) as f64 * bin));
                let inside = round(round(((index % grid) as f64 + 0.5) * bin) / grid as f64);
                *place = round(corner + inside);
            }
            Ok((places, grid))
        };
        let ((rows, row_grid), (columns, column_grid)) = (along(0)?, along(1)?);
        let bin_samples = row_grid.saturating_mul(column_grid);
        let mut samples: Vec<Sample> = budget.scratch(rows.len().saturating_mul(columns.len()))?;
        for (index, sample) in samples.iter_mut().enumerate() {
            let (bin, inside) = (index / bin_samples, index % bin_samples);
            let row = bin / bins[1] * row_grid + inside / column_grid;
            let column = bin % bins[1] * column_grid + inside % column_grid;
            *sample = Sample::at([rows[row], columns[column]], plane);
        }
        Ok(samples)
    }
}

/// Returns the number of samples along one axis of a bin.
fn grid(bin: f64, ratio: i64) -> Result<usize> {
    if ratio < 0 {
        return Err(broken("C3", format!("sampling_ratio is {ratio}; it must be 0 or more")));
    }
    if ratio > 0 {
        return Ok(usize::try_from(ratio).unwrap_or(usize::MAX));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a negative or NaN extent has no samples"
    )]
    Ok(bin.ceil() as usize)
}

impl Sample {
    /// Returns the sample at (row, column). It is zero if it is more than one pixel outside the plane.
    fn at(place: [f64; 2], plane: [usize; 2]) -> Sample {
        let outside = |axis: usize| !(place[axis] >= -1.0 && place[axis] <= plane[axis] as f64) || plane[axis] == 0;
        if outside(0) || outside(1) {
            return Sample::default();
        }
        let [(top, bottom, down), (left, right, across)] = [0, 1].map(|axis| {
            let last = plane[axis] - 1;
            let place = place[axis].max(0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the length")]
            let low = place as usize;
            if low >= last { (last, last, 0.0) } else { (low, low + 1, place - low as f64) }
        });
        let width = plane[1];
        Sample {
            positions: [top * width + left, top * width + right, bottom * width + left, bottom * width + right],
            weights: [(1.0 - down) * (1.0 - across), (1.0 - down) * across, down * (1.0 - across), down * across],
        }
    }
}

// MaxRoiPool.

/// `MaxRoiPool`: the maximum of each bin, whose edges are on whole pixels. An empty bin gives zero.
fn max_roi_pool(call: &Call<'_>) -> Result {
    let (x, rois) = (call.tensor(0)?, call.tensor(1)?);
    let [count, channels, height, width] = images(x)?;
    let regions = regions(call, rois, 5).rule("C4")?;
    let &[rows, columns] = call.ints("pooled_shape")? else {
        return Err(broken(
            "C4",
            format!("pooled_shape is {:?}; it must be height and width", call.ints("pooled_shape")?),
        ));
    };
    let bins = [size(call, "pooled_shape", rows)?, size(call, "pooled_shape", columns)?];
    let shape = [rois.shape()[0], channels, bins[0], bins[1]];
    let output = call.allocate(x.element_type(), &shape)?;
    let values = call.budget.read_floats(x)?;
    let mut best: Vec<usize> = call.budget.scratch(output.len())?;
    let mut slots = best.iter_mut();
    for region in regions.chunks(5).filter(|_| channels > 0) {
        let image = batch(region[0], count).rule("C3")? * channels;
        let rows = edges(call, [region[2], region[4]], bins[0], height)?;
        let columns = edges(call, [region[1], region[3]], bins[1], width)?;
        for channel in image..image + channels {
            let plane = channel * height * width;
            for row in &rows {
                for (column, slot) in columns.iter().zip(&mut slots) {
                    call.budget.count_work(row.len().saturating_mul(column.len()))?;
                    let inside =
                        row.clone().flat_map(|row| column.clone().map(move |index| plane + row * width + index));
                    let better =
                        |best, index| if greater(values[best], values[index]) == values[best] { best } else { index };
                    *slot = inside.reduce(better).map_or(0, |index| index + 1);
                }
            }
        }
    }
    let zero = Tensor::zero(x.element_type())?;
    let positions = best.into_iter().map(|index| index.checked_sub(1).map_or((1, 0), |index| (0, index)));
    Ok(output.gather_from(&[x, &zero], positions)?.into())
}

/// Returns the pixels of each bin along one axis. Both ends of the region are rounded to a pixel, half away from zero,
/// and are part of the region.
fn edges(call: &Call<'_>, region: [f64; 2], bins: usize, length: usize) -> Result<Vec<std::ops::Range<usize>>> {
    let round = staged(call.tensor(0)?.element_type());
    let scale = call.float("spatial_scale")?;
    let [start, end] = region.map(|place| round(place * scale).round());
    let extent = round(end - start + 1.0).max(1.0);
    let bin = round(extent / bins as f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the axis")]
    let clamped = |place: f64| place.clamp(0.0, length as f64) as usize;
    call.budget.count_work(bins)?;
    let range = |index: usize| {
        let low = clamped(round(index as f64 * bin).floor() + start);
        let high = clamped(round((index + 1) as f64 * bin).ceil() + start);
        low..high
    };
    Ok((0..bins).map(range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node, typed};

    /// 0, 1, 2, ... in rows of `width`.
    fn image(height: usize, width: usize) -> Tensor {
        floats(&[1, 1, height, width], &(0..height * width).map(|value| value as f64).collect::<Vec<_>>())
    }

    fn align(opset: i64, region: [f64; 4]) -> OneNode {
        node("RoiAlign", opset).input(image(4, 4)).input(floats(&[1, 4], &region)).input(ints(&[1], &[0]))
    }

    #[test]
    fn a_region_without_extent_is_one_pixel_or_has_no_samples() {
        assert_eq!(align(10, [1.0, 1.0, 1.0, 1.0]).tensor().floats(), [7.5]);
        assert_eq!(align(16, [1.0, 1.0, 1.0, 1.0]).tensor().floats(), [0.0]);
    }

    #[test]
    fn the_average_of_doubles_survives_cancellation() {
        let large = libm::ldexp(1.0, 60);
        let mut plane = [0.0; 16];
        (plane[5], plane[6], plane[9]) = (4.0, large, -large);
        let node = node("RoiAlign", 10).input(typed(ElementType::Double, &[1, 1, 4, 4], &plane));
        let region = typed(ElementType::Double, &[1, 4], &[0.5, 0.5, 2.5, 2.5]);
        assert_eq!(node.input(region).input(ints(&[1], &[0])).set("sampling_ratio", 2).tensor().floats(), [1.0]);
    }

    #[test]
    fn the_maximum_is_over_weighted_pixels() {
        // The sample (1.5, 1.5) weights the pixels 5, 6, 9 and 10 by a quarter each.
        assert_eq!(align(10, [1.0, 1.0, 2.0, 2.0]).set("mode", "max").tensor().floats(), [2.5]);
    }

    #[test]
    fn an_image_beyond_the_batch_is_refused() {
        for index in [-1, 1] {
            let align = node("RoiAlign", 10).input(image(2, 2)).input(floats(&[1, 4], &[0.0; 4]));
            assert!(align.input(ints(&[1], &[index])).error().contains("the batch has 1"));
        }
        assert!(align(10, [0.0, 0.0, 1.0, 1.0]).set("output_height", 0).error().contains("output_height"));
    }

    fn pool(region: [f64; 5], scale: f32) -> Vec<f64> {
        let node = node("MaxRoiPool", 1).input(image(4, 4)).input(floats(&[1, 5], &region));
        node.set("pooled_shape", &[2, 2][..]).set("spatial_scale", scale).tensor().floats()
    }

    #[test]
    fn bins_round_their_edges_and_share_pixels() {
        // 0.5 and 2.5 round to 1 and 3: three pixels in two bins that share the middle one.
        assert_eq!(pool([0.0, 1.0, 1.0, 5.0, 5.0], 0.5), [10.0, 11.0, 14.0, 15.0]);
        assert_eq!(pool([0.0, 3.0, 3.0, 6.0, 6.0], 1.0), [15.0, 0.0, 0.0, 0.0]);
    }
}
