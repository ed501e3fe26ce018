//! Transpose, `DepthToSpace`, `SpaceToDepth`, `ReverseSequence`, Tile, Expand: reordered or repeated elements.

use crate::infer::{List, NodeView, Shape, axis_of, rules};
use crate::kernels::framework::arguments::{dimensions, one_dimensional, single};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{around_axis, broadcast, normalize_axis, strides};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Transpose", 1, transpose).shape(transposed),
    Kernel::new("DepthToSpace", 1, |call| depth_to_space(call, Order::DepthFirst)).shape(depth_in_space),
    Kernel::new("DepthToSpace", 11, |call| depth_to_space(call, Order::from_call(call)?)).shape(depth_in_space),
    Kernel::new("SpaceToDepth", 1, |call| space_to_depth(call, Order::DepthFirst)).shape(space_in_depth),
    Kernel::new("SpaceToDepth", 28, |call| space_to_depth(call, Order::from_call(call)?)).shape(space_in_depth),
    Kernel::new("ReverseSequence", 10, reverse_sequence).shape(rules::same),
    Kernel::new("Tile", 1, tile_axis).shape(tiled_axis),
    Kernel::new("Tile", 6, |call| {
        one_dimensional(call.tensor(1)?, "repeats").rule("C2")?;
        tile(call, &call.budget.read_indices(call.tensor(1)?)?)
    })
    .shape(tiled),
    Kernel::new("Expand", 8, expand).shape(expanded),
];

/// Transpose: `out[i[perm[0]], i[perm[1]], ...] = data[i[0], i[1], ...]`. By default the axes are reversed.
fn transpose(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let rank = data.rank();
    let Some(list) = call.optional_ints("perm") else {
        return reorder(call, data, &(0..rank).rev().collect::<Vec<_>>());
    };
    let order: Vec<usize> = list.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
    if list.len() != rank || (0..rank).any(|axis| !order.contains(&axis)) {
        return Err(broken(
            "C3",
            format!("perm {list:?} must contain each axis of shape {:?} exactly once", data.shape()),
        ));
    }
    reorder(call, data, &order)
}

fn reorder(call: &Call<'_>, data: &Tensor, order: &[usize]) -> Result {
    if order.is_sorted() {
        return Ok(data.clone().into());
    }
    let shape: Vec<usize> = order.iter().filter_map(|&axis| data.shape().get(axis).copied()).collect();
    Ok(call.gather(data, &shape, StridedIter::transposed(data.shape(), order))?.into())
}

/// Order of the channels of `DepthToSpace`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// `DCR`: the position in the block is the slowest part of the channel index.
    DepthFirst,
    /// `CRD`: it is the fastest part.
    DepthLast,
}

impl Order {
    fn from_call(call: &Call<'_>) -> Result<Order> {
        call.one_of("mode", &[("DCR", Order::DepthFirst), ("CRD", Order::DepthLast)])
    }
}

/// Returns the four sizes of an image tensor, the size of a block, and its area.
fn image(call: &Call<'_>) -> Result<([usize; 4], usize, usize)> {
    let shape = call.tensor(0)?.shape();
    let sizes = <[usize; 4]>::try_from(shape);
    let sizes = sizes.map_err(|_| broken("C4", format!("shape {shape:?} is not N, C, H, W")))?;
    let block = call.int("blocksize")?;
    usize::try_from(block)
        .ok()
        .filter(|&block| block > 0)
        .and_then(|block| Some((sizes, block, block.checked_mul(block)?)))
        .ok_or_else(|| broken("C3", format!("attribute blocksize is {block}, but must be above 0")))
}

/// `DepthToSpace`: `out[n][c][h * b + y][w * b + x] = data[n][channel(c, y, x)][h][w]`. The order defines the channel.
fn depth_to_space(call: &Call<'_>, order: Order) -> Result {
    let ([images, channels, height, width], block, area) = image(call)?;
    if channels % area != 0 {
        return Err(broken("C3", format!("{channels} channels cannot be arranged as blocks of {block} by {block}")));
    }
    let (view, order) = match order {
        Order::DepthFirst => ([images, block, block, channels / area, height, width], [0, 3, 4, 1, 5, 2]),
        Order::DepthLast => ([images, channels / area, block, block, height, width], [0, 1, 4, 2, 5, 3]),
    };
    let shape = [images, channels / area, height.saturating_mul(block), width.saturating_mul(block)];
    Ok(call.gather(call.tensor(0)?, &shape, StridedIter::transposed(&view, &order))?.into())
}

/// `SpaceToDepth`: `out[n][channel(c, y, x)][h][w] = data[n][c][h * b + y][w * b + x]`. The order defines the channel.
fn space_to_depth(call: &Call<'_>, order: Order) -> Result {
    let ([images, channels, height, width], block, area) = image(call)?;
    if height % block != 0 || width % block != 0 {
        return Err(broken(
            "C3",
            format!("an image of {height} by {width} cannot be split into blocks of {block} by {block}"),
        ));
    }
    let view = [images, channels, height / block, block, width / block, block];
    let order = match order {
        Order::DepthFirst => [0, 3, 5, 1, 2, 4],
        Order::DepthLast => [0, 1, 3, 5, 2, 4],
    };
    let shape = [images, channels.saturating_mul(area), height / block, width / block];
    Ok(call.gather(call.tensor(0)?, &shape, StridedIter::transposed(&view, &order))?.into())
}

/// `ReverseSequence`: `out[t] = data[length - 1 - t]` for `t` below the length of each sequence, else `data[t]`.
fn reverse_sequence(call: &Call<'_>) -> Result {
    let (data, lengths) = (call.tensor(0)?, call.tensor(1)?);
    let (batch, time) = (call.int("batch_axis")?, call.int("time_axis")?);
    let &[rows, columns, ..] = data.shape() else {
        return Err(broken("C5", format!("shape {:?} has fewer than 2 axes", data.shape())));
    };
    let time_first = match (batch, time) {
        (1, 0) => true,
        (0, 1) => false,
        _ => return Err(broken("C3", format!("batch_axis {batch} and time_axis {time} must be 0 and 1 or 1 and 0"))),
    };
    let (steps, batches) = if time_first { (rows, columns) } else { (columns, rows) };
    let ends = dimensions(&call.budget.read_indices(lengths)?, "sequence_lens").rule("C4")?;
    if lengths.shape() != [batches] || ends.iter().any(|&end| end > steps) {
        return Err(broken("C4", format!("{lengths:?} must be {batches} lengths of at most {steps}")));
    }
    let buffer = call.allocate(data.element_type(), data.shape())?;
    let (_, run) = around_axis(data.shape(), 1);
    let source = |batch: usize, step: usize| match ends.get(batch) {
        Some(end) if step < *end => end - 1 - step,
        _ => step,
    };
    let starts =
        (0..if buffer.is_empty() { 0 } else { rows }).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let runs = starts.map(|(row, column)| {
        let (row, column) = if time_first { (source(column, row), column) } else { (row, source(row, column)) };
        let start = (row * columns + column) * run;
        (0, start..start + run)
    });
    Ok(buffer.gather_runs(&[data], runs)?.into())
}

/// Tile in version 1, along one axis: `out[i] = data[i % size]`.
fn tile_axis(call: &Call<'_>) -> Result {
    let rank = call.tensor(0)?.rank();
    let axis = normalize_axis(single(call.tensor(2)?, "axis")?, rank)?;
    let tiles = single(call.tensor(1)?, "tiles")?;
    tile(call, &(0..rank).map(|index| if index == axis { tiles } else { 1 }).collect::<Vec<_>>())
}

/// Tile: `out[i] = data[i % size]` along each axis, whose size is multiplied by `repeats`.
fn tile(call: &Call<'_>, repeats: &[i64]) -> Result {
    let data = call.tensor(0)?;
    let counts = dimensions(repeats, "repeats").rule("C2")?;
    if counts.len() != data.rank() {
        return Err(broken(
            "C2",
            format!("repeats {repeats:?} do not have one number for each axis of {:?}", data.shape()),
        ));
    }
    let shape: Vec<usize> = data.shape().iter().zip(&counts).map(|(size, count)| size.saturating_mul(*count)).collect();
    let view: Vec<usize> = counts.iter().zip(data.shape()).flat_map(|(&count, &size)| [count, size]).collect();
    let steps: Vec<isize> = strides(data.shape()).into_iter().flat_map(|stride| [0, stride.cast_signed()]).collect();
    let buffer = call.allocate(data.element_type(), &shape)?;
    Ok(buffer.gather(data, StridedIter::new(&view, &steps, 0))?.into())
}

/// Expand: the input, broadcast with the given shape.
fn expand(call: &Call<'_>) -> Result {
    let (data, shape) = (call.tensor(0)?, call.tensor(1)?);
    one_dimensional(shape, "shape").rule("C3")?;
    let shape = dimensions(&call.budget.read_indices(shape)?, "shape").rule("C2")?;
    let shape = broadcast(data.shape(), &shape).rule("C2")?;
    if shape == data.shape() {
        return Ok(data.clone().into());
    }
    let buffer = call.allocate(data.element_type(), &shape)?;
    Ok(buffer.gather(data, StridedIter::broadcast(data.shape(), &shape))?.into())
}

/// The sizes in the order of `perm`, by default reversed.
fn transposed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let shape = view.shape(0)?;
    match view.ints("perm") {
        List::Given(perm) if perm.len() == shape.len() => {
            perm.iter().map(|&axis| shape.get(usize::try_from(axis).ok()?).cloned()).collect()
        }
        List::Given(_) => None,
        List::Unknown => rules::unknown(shape.len()),
        List::Absent => Some(shape.into_iter().rev().collect()),
    }
}

/// The block size and its square.
fn block(view: &NodeView<'_, '_>) -> Option<(Dim, Dim)> {
    let block = view.int("blocksize").map_or(Dim::Unknown, Dim::from_int);
    let area = block.times(&block);
    Some((block, area)).filter(|(block, _)| *block != Dim::Size(0))
}

/// `[N, C / b^2, H * b, W * b]`.
fn depth_in_space(view: &NodeView<'_, '_>) -> Option<Shape> {
    let Some(shape) = view.shape(0) else { return rules::unknown(4) };
    let [images, channels, height, width] = <[Dim; 4]>::try_from(shape).ok()?;
    let (block, area) = block(view)?;
    Some(vec![images, channels.over(&area), height.times(&block), width.times(&block)])
}

/// `[N, C * b^2, H / b, W / b]`.
fn space_in_depth(view: &NodeView<'_, '_>) -> Option<Shape> {
    let Some(shape) = view.shape(0) else { return rules::unknown(4) };
    let [images, channels, height, width] = <[Dim; 4]>::try_from(shape).ok()?;
    let (block, area) = block(view)?;
    Some(vec![images, channels.times(&area), height.over(&block), width.over(&block)])
}

/// The shape with the size of one axis times `tiles`.
fn tiled_axis(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let input = |position: usize| view.input(position)?.constant.as_ref()?.as_tensor()?.single_integer();
    let axis = input(2).and_then(|axis| i64::try_from(axis).ok());
    let Some(axis) = axis else { return rules::unknown(shape.len()) };
    let axis = axis_of(axis, Some(shape.len()))?;
    let size = shape.get_mut(axis)?;
    let tiles = input(1).and_then(|tiles| usize::try_from(tiles).ok()).map_or(Dim::Unknown, Dim::Size);
    *size = size.times(&tiles);
    Some(shape)
}

/// The size of each axis times its number of repeats.
fn tiled(view: &NodeView<'_, '_>) -> Option<Shape> {
    let Some(shape) = view.shape(0) else { return rules::unknown(view.elements(1)?.len()) };
    let Some(repeats) = view.shape_from_elements(1) else { return rules::unknown(shape.len()) };
    if repeats.len() != shape.len() {
        return None;
    }
    Some(shape.iter().zip(&repeats).map(|(size, repeats)| size.times(repeats)).collect())
}

/// The broadcast shape of the data and the second input's elements.
fn expanded(view: &NodeView<'_, '_>) -> Option<Shape> {
    rules::broadcast(&view.shape(0)?, &view.shape_from_elements(1)?)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, ints, newest, node, strings, typed};

    #[test]
    fn an_identity_permutation_returns_the_data() {
        let data = typed(ElementType::Int4, &[1, 2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(node("Transpose", 21).input(data.clone()).set("perm", &[0, 1, 2][..]).tensor(), data);
    }

    #[test]
    fn invalid_blocks_and_modes_are_refused() {
        let image = || floats(&[1, 2, 2, 2], &[0.0; 8]);
        assert!(node("DepthToSpace", 1).input(image()).set("blocksize", 2).error().contains("2 channels"));
        for block in [-1, i64::MAX] {
            assert!(node("SpaceToDepth", 1).input(image()).set("blocksize", block).run().is_err(), "{block}");
        }
        let mode = node("DepthToSpace", 13).input(image()).set("blocksize", 1).set("mode", "RCD");
        assert!(mode.error().contains("DCR, CRD"));
    }

    #[test]
    fn errors_name_the_valid_lengths() {
        let data = || strings(&[3, 2], &["a", "b", "c", "d", "e", "f"]);
        let reversed = |lengths: &[i64]| {
            let lengths = ints(&[lengths.len()], lengths);
            node("ReverseSequence", newest()).input(data()).input(lengths).set("batch_axis", 0).set("time_axis", 1)
        };
        assert!(reversed(&[3, 1, 1]).error().contains("at most 2"));
        assert!(reversed(&[1, 1]).error().contains("3 lengths"));
    }

    #[test]
    fn negative_and_endless_repeats_are_refused() {
        let tiled =
            |repeats: [i64; 2]| node("Tile", 13).input(floats(&[2, 1], &[1.0, 2.0])).input(ints(&[2], &repeats));
        assert!(tiled([2, -1]).error().contains("no negative entries"));
        assert!(tiled([i64::MAX, i64::MAX]).run().is_err());
    }
}
