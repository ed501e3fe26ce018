//! Shape inference for operators whose output shapes follow cheaply from input shapes, attributes and constants.

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::facts::{MAX_RANK, ValueFact};
use crate::infer::view::{NodeView, axis_of};
use crate::infer::windows;

type Shape = Vec<Dim>;

/// Operators whose first output has the shape of the first input.
const SAME_SHAPE: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "Bernoulli",
    "BitwiseNot",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "DequantizeLinear",
    "Dropout",
    "DynamicQuantizeLinear",
    "Elu",
    "Erf",
    "Exp",
    "EyeLike",
    "Floor",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "IsInf",
    "IsNaN",
    "LRN",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "QuantizeLinear",
    "RMSNormalization",
    "RandomNormalLike",
    "RandomUniformLike",
    "Reciprocal",
    "Relu",
    "ReverseSequence",
    "Round",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Trilu",
];

/// Element-wise operators with broadcasting.
const BROADCASTING: &[&str] = &[
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Pow",
    "Sub",
    "Sum",
    "Where",
    "Xor",
];

/// Operators whose outputs have the same rank as the first input.
const SAME_RANK: &[&str] = &["DepthToSpace", "GridSample", "Pad", "Resize", "SpaceToDepth", "Tile", "Upsample"];

/// Adds the known shapes of a node's outputs.
pub(super) fn refine(view: &NodeView<'_, '_>, outputs: &mut [ValueFact]) {
    if view.spec.version.domain != DEFAULT_DOMAIN {
        return;
    }
    let (Some(shapes), name) = (shapes(view), view.spec.version.name.as_str()) else { return };
    for (output, shape) in outputs.iter_mut().zip(shapes) {
        output.shape = output.shape.take().or(shape);
    }
    if name == "Shape"
        && let Some(output) = outputs.first_mut()
    {
        output.constant = shape_value(view);
    }
}

/// The shapes of the outputs by position.
fn shapes(view: &NodeView<'_, '_>) -> Option<Vec<Option<Shape>>> {
    let name = view.spec.version.name.as_str();
    let count = view.node.output.len();
    let one = |shape: Option<Shape>| Some(vec![shape]);
    match name {
        "Dropout" | "DynamicQuantizeLinear" if count > 1 => {
            let scalar = Some(Vec::new());
            let first = view.shape(0);
            Some(if name == "Dropout" { vec![first.clone(), first] } else { vec![first, scalar.clone(), scalar] })
        }
        _ if SAME_SHAPE.binary_search(&name).is_ok() => one(view.shape(0)),
        _ if BROADCASTING.binary_search(&name).is_ok() => one(broadcast_all(view)),
        _ if SAME_RANK.binary_search(&name).is_ok() => one(unknown(view.shape(0)?.len())),
        "Split" => Some(repeat_shape(split(view), count)),
        "TopK" => Some(repeat_shape(top_k(view), 2)),
        "LSTM" | "GRU" | "RNN" => Some(vec![unknown(4), unknown(3), unknown(3)]),
        _ if name.starts_with("Reduce") || matches!(name, "ArgMax" | "ArgMin") => one(reduced(view)),
        "MaxPool" => Some(repeat_shape(windows::pooled(view), count)),
        "AveragePool" | "LpPool" => one(windows::pooled(view)),
        "Conv" | "ConvInteger" | "QLinearConv" => one(windows::convolved(view)),
        "ConvTranspose" => one(unknown(view.shape(0)?.len())),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => one(windows::global(view)),
        _ => one(moved_elements(view)),
    }
}

/// The output shape of operators that move elements, and of products.
fn moved_elements(view: &NodeView<'_, '_>) -> Option<Shape> {
    match view.spec.version.name.as_str() {
        "Shape" => Some(vec![shape_range(view).map_or(Dim::Unknown, |range| Dim::Size(range.len()))]),
        "Size" => Some(Vec::new()),
        "NonZero" => Some(vec![view.shape(0).map_or(Dim::Unknown, |shape| Dim::Size(shape.len())), Dim::Unknown]),
        "Range" => Some(vec![Dim::Unknown]),
        "Transpose" => transpose(view),
        "Concat" => concat(view),
        "Reshape" => reshape(view),
        "Squeeze" => squeeze(view),
        "Unsqueeze" => unsqueeze(view),
        "Flatten" => unknown(2),
        "MatMul" | "MatMulInteger" => matmul(&view.shape(0)?, &view.shape(1)?),
        "QLinearMatMul" => matmul(&view.shape(0)?, &view.shape(3)?),
        "Gemm" => Some(gemm(view)),
        "Gather" => gather(view),
        "GatherElements" => view.shape(1),
        "GatherND" => gather_nd(view),
        "Slice" => slice(view),
        "Expand" => expand(view),
        "ConstantOfShape" => shape_from_input(view, 0),
        "OneHot" => unknown(view.shape(0)?.len() + 1),
        "RandomNormal" | "RandomUniform" => {
            view.attributes.ints("shape")?.iter().map(|&size| Some(Dim::Size(usize::try_from(size).ok()?))).collect()
        }
        _ => None,
    }
}

/// A shape with only its rank known; `None` if the rank exceeds the limit.
pub(super) fn unknown(rank: usize) -> Option<Shape> {
    // bounded: by the highest rank.
    (rank <= MAX_RANK).then(|| std::iter::repeat_n(Dim::Unknown, rank).collect())
}

/// Copies a shape for several outputs; `None` if the copies would be much larger than the model.
fn repeat_shape(shape: Option<Shape>, outputs: usize) -> Vec<Option<Shape>> {
    const MAX_DIMS: usize = 1 << 16;
    let dims = shape.as_ref().map_or(0, Vec::len).saturating_mul(outputs);
    let shape = shape.filter(|_| dims <= MAX_DIMS);
    // bounded: by the dimensions of all copies, and by the outputs of the node.
    std::iter::repeat_n(shape, outputs).collect()
}

fn integers(view: &NodeView<'_, '_>, position: usize) -> Option<Vec<i64>> {
    view.inputs.get(position).copied().flatten()?.integers()
}

/// The length of a list input.
fn length(view: &NodeView<'_, '_>, position: usize) -> Option<usize> {
    match view.shape(position)?.as_slice() {
        [Dim::Size(length)] => Some(*length),
        _ => None,
    }
}

/// Optional list of integers of a node.
enum List {
    /// Its values are unknown, because it is an input or a reference to a caller's attribute.
    Unknown,
    Absent,
    Given(Vec<i64>),
}

/// Reads integers from an attribute in old versions, and from an input in new ones.
fn list(view: &NodeView<'_, '_>, name: &str, position: usize) -> List {
    if view.attributes.is_open(name) {
        return List::Unknown;
    }
    if let Some(values) = view.attributes.ints(name) {
        return List::Given(values.to_vec());
    }
    match view.inputs.get(position).copied().flatten() {
        Some(_) => integers(view, position).map_or(List::Unknown, List::Given),
        None => List::Absent,
    }
}

/// Reads an integer attribute; `None` if it is unknown.
fn int(view: &NodeView<'_, '_>, name: &str, default: i64) -> Option<i64> {
    if view.attributes.is_open(name) { None } else { Some(view.attributes.int(name).unwrap_or(default)) }
}

fn broadcast_all(view: &NodeView<'_, '_>) -> Option<Shape> {
    let version = &view.spec.version;
    // Before version 7 the second input broadcasts to the first; before version 8 lists have the same shape.
    if version.since < 7 || (version.since < 8 && ["Max", "Min", "Mean", "Sum"].contains(&version.name.as_str())) {
        return view.shape(0);
    }
    let mut result: Option<Shape> = None;
    for position in (0..view.inputs.len()).filter(|position| view.is_given(*position)) {
        let next = view.shape(position)?;
        result = Some(match result {
            Some(result) => broadcast(&result, &next)?,
            None => next,
        });
    }
    result
}

/// The broadcast shape of two tensors.
fn broadcast(one: &[Dim], two: &[Dim]) -> Option<Shape> {
    let rank = one.len().max(two.len());
    let at = |shape: &[Dim], index: usize| match (index + shape.len()).checked_sub(rank) {
        Some(index) => shape.get(index).cloned().unwrap_or(Dim::Size(1)),
        None => Dim::Size(1),
    };
    let both = |index| match (at(one, index), at(two, index)) {
        (Dim::Size(1), other) | (other, Dim::Size(1)) => Some(other),
        (Dim::Size(one), Dim::Size(two)) => (one == two).then_some(Dim::Size(one)),
        // A size other than 1 is the result, because only 1 or the same size matches it.
        (Dim::Size(size), _) | (_, Dim::Size(size)) => Some(Dim::Size(size)),
        (one, two) => Some(if one == two { one } else { Dim::Unknown }),
    };
    (0..rank).map(both).collect()
}

/// The range of axes that `Shape` returns.
fn shape_range(view: &NodeView<'_, '_>) -> Option<std::ops::Range<usize>> {
    let rank = view.shape(0)?.len();
    let clamp = |value: i64| {
        let signed = i64::try_from(rank).unwrap_or(i64::MAX);
        let value = if value < 0 { value.saturating_add(signed) } else { value };
        usize::try_from(value.clamp(0, signed)).unwrap_or(0)
    };
    let (start, end) = (clamp(int(view, "start", 0)?), clamp(int(view, "end", i64::MAX)?));
    Some(start..end.max(start))
}

/// The value of `Shape`, if all its sizes are known.
fn shape_value(view: &NodeView<'_, '_>) -> Option<Value> {
    use onnx_conformance_reference::dtype::ElementType;
    let dims = view.shape(0)?;
    let size = |dim: &Dim| if let Dim::Size(size) = dim { i128::try_from(*size).ok() } else { None };
    let sizes: Vec<i128> = dims.get(shape_range(view)?)?.iter().map(size).collect::<Option<_>>()?;
    Tensor::of_integers(ElementType::Int64, &[sizes.len()], &sizes).ok().map(Value::Tensor)
}

fn transpose(view: &NodeView<'_, '_>) -> Option<Shape> {
    let dims = view.shape(0)?;
    match list(view, "perm", usize::MAX) {
        List::Given(perm) if perm.len() == dims.len() => {
            perm.iter().map(|&axis| dims.get(usize::try_from(axis).ok()?).cloned()).collect()
        }
        List::Given(_) | List::Unknown => None,
        List::Absent => Some(dims.into_iter().rev().collect()),
    }
}

fn concat(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut result = view.shape(0)?;
    let axis = axis_of(int(view, "axis", 1)?, Some(result.len()))?;
    for position in (1..view.inputs.len()).filter(|position| view.is_given(*position)) {
        let next = view.shape(position)?;
        if next.len() != result.len() {
            return None;
        }
        for (index, (dim, next)) in result.iter_mut().zip(next).enumerate() {
            *dim = match (dim.clone(), next) {
                (Dim::Size(one), Dim::Size(two)) if index == axis => Dim::Size(one.checked_add(two)?),
                _ if index == axis => Dim::Unknown,
                (Dim::Size(size), _) | (_, Dim::Size(size)) => Dim::Size(size),
                (dim, next) => {
                    if dim == next {
                        next
                    } else {
                        Dim::Unknown
                    }
                }
            };
        }
    }
    Some(result)
}

fn reshape(view: &NodeView<'_, '_>) -> Option<Shape> {
    let List::Given(target) = list(view, "shape", 1) else { return unknown(length(view, 1)?) };
    let input = view.shape(0);
    let copies_zeros = int(view, "allowzero", 0)? == 0;
    let mut dims: Shape = Vec::new();
    for (&size, index) in target.iter().zip(0..) {
        dims.push(match size {
            0 if copies_zeros => input.as_ref().and_then(|input| input.get(index).cloned()).unwrap_or(Dim::Unknown),
            size => usize::try_from(size).map_or(Dim::Unknown, Dim::Size),
        });
    }
    // The size for -1 follows from all others.
    let total = input.as_ref().and_then(|input| count(input));
    let open = dims.iter().filter(|dim| **dim == Dim::Unknown).count();
    if let (Some(total), 1, true) = (total, open, target.contains(&-1)) {
        let rest = count(&dims.iter().filter(|dim| **dim != Dim::Unknown).cloned().collect::<Vec<_>>())?;
        let size = total.checked_div(rest).filter(|size| size * rest == total)?;
        dims.iter_mut().filter(|dim| **dim == Dim::Unknown).for_each(|dim| *dim = Dim::Size(size));
    }
    Some(dims)
}

fn count(dims: &[Dim]) -> Option<usize> {
    let size = |dim: &Dim| if let Dim::Size(size) = dim { Some(*size) } else { None };
    dims.iter().map(size).try_fold(1usize, |count, size| count.checked_mul(size?))
}

fn squeeze(view: &NodeView<'_, '_>) -> Option<Shape> {
    let dims = view.shape(0)?;
    let removed: Vec<usize> = match list(view, "axes", 1) {
        List::Unknown => return None,
        List::Given(axes) => axes.iter().map(|&axis| axis_of(axis, Some(dims.len()))).collect::<Option<_>>()?,
        List::Absent => {
            let sizes = dims.iter().map(|dim| if let Dim::Size(size) = dim { Some(*size) } else { None });
            let sizes: Vec<usize> = sizes.collect::<Option<_>>()?;
            sizes.iter().enumerate().filter(|(_, size)| **size == 1).map(|(axis, _)| axis).collect()
        }
    };
    Some(dims.into_iter().enumerate().filter(|(axis, _)| !removed.contains(axis)).map(|(_, dim)| dim).collect())
}

fn unsqueeze(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut dims = view.shape(0)?.into_iter();
    let List::Given(axes) = list(view, "axes", 1) else { return None };
    let rank = dims.len() + axes.len();
    let added: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, Some(rank))).collect::<Option<_>>()?;
    (0..rank).map(|axis| if added.contains(&axis) { Some(Dim::Size(1)) } else { dims.next() }).collect()
}

fn matmul(one: &[Dim], two: &[Dim]) -> Option<Shape> {
    match (one, two) {
        ([_], [_]) => Some(Vec::new()),
        ([_], [batch @ .., _, n]) => Some([batch, std::slice::from_ref(n)].concat()),
        ([batch @ .., m, _], [_]) => Some([batch, std::slice::from_ref(m)].concat()),
        ([batch @ .., m, _], [other @ .., _, n]) => {
            let mut result = broadcast(batch, other)?;
            result.extend([m.clone(), n.clone()]);
            Some(result)
        }
        _ => None,
    }
}

fn gemm(view: &NodeView<'_, '_>) -> Shape {
    let side = |position: usize, name: &str, axis: usize| {
        let dims = view.shape(position).filter(|dims| dims.len() == 2)?;
        let axis = if int(view, name, 0)? == 0 { axis } else { 1 - axis };
        dims.get(axis).cloned()
    };
    vec![side(0, "transA", 0).unwrap_or(Dim::Unknown), side(1, "transB", 1).unwrap_or(Dim::Unknown)]
}

fn gather(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (dims, indices) = (view.shape(0)?, view.shape(1)?);
    let axis = axis_of(int(view, "axis", 0)?, Some(dims.len()))?;
    Some([dims.get(..axis)?, &indices, dims.get(axis + 1..)?].concat())
}

fn gather_nd(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (dims, indices) = (view.shape(0)?, view.shape(1)?);
    let batch = usize::try_from(int(view, "batch_dims", 0)?).ok()?;
    let (Dim::Size(width), outer) = indices.split_last()? else { return None };
    Some([outer, dims.get(batch.checked_add(*width)?..)?].concat())
}

fn slice(view: &NodeView<'_, '_>) -> Option<Shape> {
    let dims = view.shape(0)?;
    let touched: Vec<usize> = match (list(view, "axes", 3), list(view, "starts", 1)) {
        (List::Unknown, _) => return unknown(dims.len()),
        (List::Given(axes), _) => axes.iter().map(|&axis| axis_of(axis, Some(dims.len()))).collect::<Option<_>>()?,
        (List::Absent, List::Given(starts)) => (0..starts.len()).collect(),
        (List::Absent, _) => (0..dims.len()).collect(),
    };
    let dim = |(axis, dim)| if touched.contains(&axis) { Dim::Unknown } else { dim };
    Some(dims.into_iter().enumerate().map(dim).collect())
}

/// The shape given by the elements of an input.
fn shape_from_input(view: &NodeView<'_, '_>, position: usize) -> Option<Shape> {
    match integers(view, position) {
        Some(sizes) => sizes.iter().map(|&size| Some(Dim::Size(usize::try_from(size).ok()?))).collect(),
        None => unknown(length(view, position)?),
    }
}

fn expand(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (dims, target) = (view.shape(0)?, shape_from_input(view, 1)?);
    if integers(view, 1).is_none() { unknown(dims.len().max(target.len())) } else { broadcast(&dims, &target) }
}

fn split(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut dims = view.shape(0)?;
    let axis = axis_of(int(view, "axis", 0)?, Some(dims.len()))?;
    *dims.get_mut(axis)? = Dim::Unknown;
    Some(dims)
}

fn top_k(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut dims = view.shape(0)?;
    let axis = axis_of(int(view, "axis", -1)?, Some(dims.len()))?;
    *dims.get_mut(axis)? = Dim::Unknown;
    Some(dims)
}

fn reduced(view: &NodeView<'_, '_>) -> Option<Shape> {
    let dims = view.shape(0)?;
    let keeps_dims = int(view, "keepdims", 1)? != 0;
    let axes = if view.spec.version.name.starts_with("Arg") {
        Some(vec![int(view, "axis", 0)?])
    } else {
        match list(view, "axes", 1) {
            List::Given(axes) => Some(axes).filter(|axes| !axes.is_empty()),
            List::Absent => None,
            List::Unknown if keeps_dims => return unknown(dims.len()),
            List::Unknown => return None,
        }
    };
    let axes: Vec<usize> = match axes {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, Some(dims.len()))).collect::<Option<_>>()?,
        None if int(view, "noop_with_empty_axes", 0)? != 0 => return Some(dims),
        None => (0..dims.len()).collect(),
    };
    let dim = |(axis, dim): (usize, Dim)| match (axes.contains(&axis), keeps_dims) {
        (true, true) => Some(Dim::Size(1)),
        (true, false) => None,
        (false, _) => Some(dim),
    };
    Some(dims.into_iter().enumerate().filter_map(dim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::Specs;

    #[test]
    fn lists_are_sorted_and_name_operators() {
        for list in [SAME_SHAPE, BROADCASTING, SAME_RANK] {
            assert!(list.is_sorted(), "{list:?}");
            for name in list {
                assert!(Specs::embedded().versions("", name).next().is_some(), "{name}");
            }
        }
    }
}
