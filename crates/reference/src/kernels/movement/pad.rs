//! Pad and `CenterCropPad`: extend or crop the ends of axes.

use crate::infer::{List, NodeView, Shape, Size, rules};
use crate::kernels::framework::arguments::{axes, dimensions, one_dimensional};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::strides;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Pad", 1, |call| pad_by_attributes(call, "paddings")).shape(padded),
    Kernel::new("Pad", 2, |call| pad_by_attributes(call, "pads")).shape(padded),
    Kernel::new("Pad", 11, pad_by_inputs).shape(padded),
    Kernel::new("CenterCropPad", 18, center_crop_pad).shape(cropped_or_padded),
];

/// Padding mode: the entries outside an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A constant value.
    Constant,
    /// The entries mirrored at the last one, repeatedly.
    Reflect,
    /// The last entry.
    Edge,
    /// The entries from the other end, repeatedly.
    Wrap,
}

/// Padding: the mode, and the value of mode `constant`, a scalar.
struct Padding {
    mode: Mode,
    value: Tensor,
}

const MODES: &[(&str, Mode)] =
    &[("constant", Mode::Constant), ("reflect", Mode::Reflect), ("edge", Mode::Edge), ("wrap", Mode::Wrap)];

impl Mode {
    /// Returns the entry of an axis of `size` at a place inside or outside, if there is one.
    fn entry(self, place: i128, size: usize) -> Option<usize> {
        let size = size as i128;
        if size == 0 {
            return None;
        }
        let entry = match self {
            Mode::Constant => Some(place).filter(|place| (0..size).contains(place))?,
            Mode::Edge => place.clamp(0, size - 1),
            Mode::Wrap => place.rem_euclid(size),
            Mode::Reflect => {
                let period = (2 * (size - 1)).max(1);
                let offset = place.rem_euclid(period);
                offset.min(period - offset)
            }
        };
        usize::try_from(entry).ok()
    }
}

/// Pad with pads and value as attributes, for every axis.
fn pad_by_attributes(call: &Call<'_>, name: &str) -> Result {
    let data = call.tensor(0)?;
    let value = call.floats(data.element_type(), &[1], [call.float("value")?])?;
    let all: Vec<usize> = (0..data.rank()).collect();
    pad(call, &all, call.ints(name)?, &Padding { mode: mode(call)?, value })
}

/// Pad with pads, value and axes as inputs.
fn pad_by_inputs(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let value = call.optional_tensor(2)?.cloned().map_or_else(|| Tensor::zero(data.element_type()), Ok)?;
    let axes = match call.optional_tensor(3)? {
        Some(list) => axes(&call.budget.read_indices(list)?, data.rank()).rule("C6")?,
        None => (0..data.rank()).collect(),
    };
    one_dimensional(call.tensor(1)?, "pads").rule("C7")?;
    let pads = call.budget.read_indices(call.tensor(1)?)?;
    pad(call, &axes, &pads, &Padding { mode: mode(call)?, value })
}

/// Returns the mode. Rule C4 covers `wrap`, which only later versions have.
fn mode(call: &Call<'_>) -> Result<Mode> {
    let is_wrap = call.string("mode")? == "wrap";
    call.one_of("mode", MODES).rule(if is_wrap { "C4" } else { "C3" })
}

/// Pads the given axes: first all begins, then all ends. Negative numbers crop.
fn pad(call: &Call<'_>, axes: &[usize], numbers: &[i64], padding: &Padding) -> Result {
    let data = call.tensor(0)?;
    let (begins, ends) = numbers.split_at(numbers.len().min(axes.len()));
    if ends.len() != axes.len() {
        let (count, named) = (numbers.len(), axes.len());
        return Err(broken("C7", format!("there are {count} pads, but {named} axes require {}", 2 * named)));
    }
    let mut output_axes: Vec<OutputAxis> = data.shape().iter().map(|&size| OutputAxis { first: 0, size }).collect();
    for ((&axis, &begin), &end) in axes.iter().zip(begins).zip(ends) {
        let Some(output) = output_axes.get_mut(axis) else { continue };
        let size = usize::try_from(output.size as i128 + i128::from(begin) + i128::from(end)).map_err(|_| {
            invalid(format!("pads {begin} and {end} leave a negative size for axis {axis} of shape {:?}", data.shape()))
        })?;
        *output = OutputAxis { first: -i128::from(begin), size };
    }
    Ok(padding.extend(call, &output_axes)?.into())
}

/// `CenterCropPad`: crops each axis around its center, or pads it with zeros.
fn center_crop_pad(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let sizes = dimensions(&call.budget.read_indices(call.tensor(1)?)?, "shape")?;
    let axes = match call.optional_ints("axes") {
        Some(list) => axes(list, data.rank()).rule("C5")?,
        None => (0..data.rank()).collect(),
    };
    if sizes.len() != axes.len() {
        return Err(broken("C4", format!("shape {sizes:?} does not have a size for each of the axes {axes:?}")));
    }
    let mut output_axes: Vec<OutputAxis> = data.shape().iter().map(|&size| OutputAxis { first: 0, size }).collect();
    for (&axis, &size) in axes.iter().zip(&sizes) {
        let Some(output) = output_axes.get_mut(axis) else { continue };
        let (has, wants) = (output.size as i128, size as i128);
        // An odd entry is cropped from the end, or added to it: both halves round toward zero.
        *output = OutputAxis { first: (has - wants) / 2, size };
    }
    let padding = Padding { mode: Mode::Constant, value: Tensor::zero(data.element_type())? };
    Ok(padding.extend(call, &output_axes)?.into())
}

/// Start of an output axis relative to the input axis, and its size.
struct OutputAxis {
    first: i128,
    size: usize,
}

impl Padding {
    /// Copies the input to the given axes and fills the rest.
    fn extend(&self, call: &Call<'_>, output_axes: &[OutputAxis]) -> Result<Tensor> {
        let Padding { mode, value } = self;
        let data = call.tensor(0)?;
        if value.len() != 1 {
            let shape = value.shape();
            return Err(broken("C8", format!("the value to pad with has shape {shape:?}, but must be a scalar")));
        }
        let shape: Vec<usize> = output_axes.iter().map(|axis| axis.size).collect();
        let buffer = call.allocate(data.element_type(), &shape)?;
        if buffer.is_empty() {
            return Ok(buffer.gather(data, [])?);
        }
        if data.is_empty() && *mode != Mode::Constant {
            let shape = data.shape();
            return Err(invalid(format!("shape {shape:?} has no entry to repeat; only mode constant can pad it")));
        }
        let mut tables = Vec::new();
        for ((axis, &size), stride) in output_axes.iter().zip(data.shape()).zip(strides(data.shape())) {
            let mut table: Vec<Option<usize>> = call.budget.scratch(axis.size)?;
            for (index, slot) in table.iter_mut().enumerate() {
                *slot = mode.entry(axis.first + index as i128, size).map(|entry| entry * stride);
            }
            tables.push(table);
        }
        let last = tables.pop().unwrap_or_else(|| vec![Some(0)]);
        let rows = buffer.len() / last.len();
        let positions = (0..rows).flat_map(|row| {
            let base = row_base(&tables, row);
            last.iter().map(move |entry| base.zip(*entry).map_or((0, 0), |(base, entry)| (1, base + entry)))
        });
        Ok(buffer.gather_from(&[value, data], positions)?)
    }
}

/// Sums the entries of all tables for one row of the output, if all have one.
fn row_base(tables: &[Vec<Option<usize>>], mut row: usize) -> Option<usize> {
    let mut base = 0;
    for table in tables.iter().rev() {
        base += table.get(row % table.len()).copied().flatten()?;
        row /= table.len();
    }
    Some(base)
}

/// Numbers of a list attribute, or the elements of an input.
fn numbers(view: &NodeView<'_, '_>, name: &str) -> Option<Vec<Option<Size>>> {
    match view.ints(name) {
        List::Given(list) => Some(list.into_iter().map(|number| Some(Size::constant(number))).collect()),
        List::Unknown => None,
        List::Absent => view.elements(1),
    }
}

/// The axes that a list names; all if it is omitted, `None` if they are unknown.
fn named_axes(list: List, rank: usize) -> Option<Vec<usize>> {
    match list {
        List::Given(axes) => rules::front_axes(&axes, rank),
        List::Unknown => None,
        List::Absent => Some((0..rank).collect()),
    }
}

/// The size of each axis plus its two pads.
fn padded(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let rank = shape.len();
    let name = if view.since() < 2 { "paddings" } else { "pads" };
    let axes = if view.since() < 11 { List::Absent } else { view.list("axes", 3) };
    let (Some(pads), Some(axes)) = (numbers(view, name), named_axes(axes, rank)) else { return rules::unknown(rank) };
    if pads.len() != axes.len().checked_mul(2)? {
        return rules::unknown(rank);
    }
    let (begins, ends) = pads.split_at_checked(axes.len())?;
    for ((axis, begin), end) in axes.into_iter().zip(begins).zip(ends) {
        let size = shape.get_mut(axis)?;
        let sum = || Size::from_dim(size)?.plus(begin.as_ref()?)?.plus(end.as_ref()?);
        *size = sum().map_or(Dim::Unknown, Size::dim);
    }
    Some(shape)
}

/// The size of each named axis by the second input.
fn cropped_or_padded(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let rank = shape.len();
    let (Some(sizes), Some(axes)) = (view.shape_from_elements(1), named_axes(view.ints("axes"), rank)) else {
        return rules::unknown(rank);
    };
    for (index, axis) in axes.into_iter().enumerate() {
        *shape.get_mut(axis)? = sizes.get(index).cloned().unwrap_or(Dim::Unknown);
    }
    Some(shape)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{OneNode, floats, ints, node, strings, typed};

    /// Pads 1, 2, ... up to `size` with the given numbers at the beginning and the end.
    fn padded(opset: i64, mode: &str, size: u8, pads: [i64; 2]) -> OneNode {
        let values: Vec<f64> = (1..=size).map(f64::from).collect();
        let data = floats(&[values.len()], &values);
        node("Pad", opset).input(data).input(ints(&[2], &pads)).set("mode", mode)
    }

    #[test]
    fn modes_support_one_element_and_cropping() {
        let rows: [(&str, u8, [i64; 2], &[f64]); 3] = [
            ("reflect", 1, [2, 1], &[1.0, 1.0, 1.0, 1.0]),
            ("reflect", 3, [1, -1], &[2.0, 1.0, 2.0]),
            ("wrap", 3, [-4, 4], &[2.0, 3.0, 1.0]),
        ];
        for (mode, size, pads, expected) in rows {
            assert_eq!(padded(19, mode, size, pads).tensor().floats(), expected, "{mode} {size} {pads:?}");
        }
    }

    #[test]
    fn invalid_pads_are_refused() {
        assert!(padded(18, "wrap", 2, [1, 1]).error().contains("constant, reflect, edge"));
        assert!(padded(19, "edge", 0, [1, 0]).error().contains("only mode constant"));
        assert!(padded(19, "constant", 2, [-2, -1]).error().contains("leave a negative size"));
        assert!(padded(19, "constant", 2, [i64::MAX, 0]).error().contains("limit"));
        assert!(
            node("Pad", 13).input(floats(&[1], &[1.0])).input(ints(&[1], &[1])).error().contains("1 axes require 2")
        );
    }

    #[test]
    fn old_versions_pad_by_attributes() {
        let pads: &[i64] = &[0, 1, 0, 0];
        for (opset, name) in [(1, "paddings"), (2, "pads")] {
            let data = typed(ElementType::Float16, &[1, 2], &[1.0, 2.0]);
            let padded = node("Pad", opset).input(data).set(name, pads).set("value", 0.1_f32).tensor();
            assert_eq!(padded, typed(ElementType::Float16, &[1, 3], &[0.1, 1.0, 2.0]), "{opset}");
        }
    }

    #[test]
    fn no_axis_is_padded_twice() {
        let data = strings(&[1, 2], &["a", "b"]);
        let twice = node("Pad", 18).input(data).input(ints(&[4], &[0; 4])).absent().input(ints(&[2], &[0, -2]));
        assert!(twice.error().contains("more than once"));
    }

    #[test]
    fn the_center_may_be_empty_or_of_text() {
        let centered =
            |wanted: i64| node("CenterCropPad", 18).input(floats(&[2], &[1.0, 2.0])).input(ints(&[1], &[wanted]));
        assert_eq!(centered(0).tensor().shape(), [0]);
        assert!(centered(-1).error().contains("no negative entries"));
        let one = node("CenterCropPad", 18).input(strings(&[1, 3], &["a", "b", "c"])).input(ints(&[1], &[1]));
        let last: &[i64] = &[-1];
        assert_eq!(one.set("axes", last).tensor(), strings(&[1, 1], &["b"]));
    }
}
