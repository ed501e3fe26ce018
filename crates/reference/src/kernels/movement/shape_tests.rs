//! Inferred shapes and elements of data movement, compared with execution.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::infer::{Size, ValueFact};
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::testing::{OneNode, floats, ints, node, shape_text, strings, typed};
use crate::types::ValueType;

/// A tensor of this shape; the values do not matter.
fn data(shape: &[usize]) -> Tensor {
    floats(shape, &vec![1.0; shape.iter().product()])
}

fn list(values: &[i64]) -> Tensor {
    ints(&[values.len()], values)
}

fn slice(shape: &[usize], start: i64, end: i64, step: i64) -> OneNode {
    let node = node("Slice", 13).input(data(shape)).input(list(&[start])).input(list(&[end]));
    node.input(list(&[0])).input(list(&[step]))
}

#[test]
fn slices_are_minima_and_differences() {
    let max = i64::MAX;
    let rows = [
        (0, max, 1, "[A0]"),
        (0, i64::from(i32::MAX), 1, "[A0]"),
        (0, 3, 1, "[min(3, A0)]"),
        (1, max, 1, "[max(0, A0 - 1)]"),
        (-2, max, 1, "[min(2, A0)]"),
        (0, -1, 1, "[max(0, A0 - 1)]"),
        (0, max, 2, "[floor((A0 + 1)/(2))]"),
        (-1, i64::MIN, -1, "[A0]"),
        (-1, i64::MIN, -2, "[floor((A0 + 1)/(2))]"),
        (3, 0, -1, "[?]"),
        (-3, -1, 1, "[max(0, -max(0, A0 - 3) + max(0, A0 - 1))]"),
        (-3, 2, 1, "[max(0, min(2, A0) - max(0, A0 - 3))]"),
        (2, -2, 1, "[max(0, A0 - 4)]"),
        (1, 3, 1, "[max(0, min(3, A0) - 1)]"),
    ];
    for size in 0..7 {
        for (start, end, step, expected) in rows {
            let found = slice(&[size], start, end, step).inferred();
            assert_eq!(found, [expected], "[{start}:{end}:{step}] of {size}");
        }
    }
    let old = node("Slice", 1).input(data(&[4, 5])).set("starts", &[1, 0][..]).set("ends", &[3, 9][..]);
    assert_eq!(old.inferred(), ["[max(0, min(3, A0) - 1), min(9, A1)]"]);
}

#[test]
fn slices_of_every_range_agree_with_execution() {
    let bounds = [i64::MIN, -4, -2, -1, 0, 1, 2, 4, i64::MAX];
    for size in 0..4 {
        for start in bounds {
            for end in bounds {
                for step in [1, 2, -1, -3] {
                    slice(&[size, 2], start, end, step).inferred();
                }
            }
        }
    }
}

#[test]
fn joined_and_split_axes_are_sums_and_quotients() {
    let joined = node("Concat", 13).inputs([data(&[2, 3]), data(&[4, 3])]).set("axis", 0);
    assert_eq!(joined.inferred(), ["[A0 + B0, A1]"]);
    let joined = node("Concat", 1).inputs([data(&[2, 3]), data(&[2, 1])]);
    assert_eq!(joined.inferred(), ["[A0, A1 + B1]"]);
    assert_eq!(node("Split", 2).input(data(&[6])).outputs(2).inferred(), vec!["[floor((A0)/(2))]"; 2]);
    let numbered = node("Split", 18).input(data(&[5])).set("num_outputs", 2).outputs(2);
    assert_eq!(numbered.inferred(), ["[floor((A0 + 1)/(2))]", "[A0 - floor((A0 + 1)/(2))]"]);
    let listed = node("Split", 13).input(data(&[2, 5])).input(list(&[1, 4])).set("axis", -1).outputs(2);
    assert_eq!(listed.inferred(), ["[A0, 1]", "[A0, 4]"]);
    let attribute = node("Split", 2).input(data(&[5])).set("split", &[2, 3][..]).outputs(2);
    assert_eq!(attribute.inferred(), ["[2]", "[3]"]);
}

#[test]
fn reshapes_are_products_and_quotients() {
    let reshape = |shape: &[usize], target: &[i64]| node("Reshape", 14).input(data(shape)).input(list(target));
    assert_eq!(reshape(&[2, 3, 4], &[0, -1]).inferred(), ["[A0, A1*A2]"]);
    assert_eq!(reshape(&[2, 3, 4], &[-1]).inferred(), ["[A0*A1*A2]"]);
    assert_eq!(reshape(&[2, 3, 4], &[6, -1]).inferred(), ["[6, floor((A0*A1*A2)/(6))]"]);
    assert_eq!(reshape(&[2, 0], &[0, 0]).inferred(), ["[A0, A1]"]);
    assert_eq!(reshape(&[2, 0], &[3, 0]).set("allowzero", 1).inferred(), ["[3, 0]"]);
    let old = node("Reshape", 1).input(data(&[2, 3])).set("shape", &[3, -1][..]);
    assert_eq!(old.inferred(), ["[3, floor((A0*A1)/(3))]"]);
    assert_eq!(node("Flatten", 13).input(data(&[2, 3, 4])).set("axis", -1).inferred(), ["[A0*A1, A2]"]);
    assert_eq!(node("Flatten", 1).input(data(&[2, 3])).set("axis", 2).inferred(), ["[A0*A1, 1]"]);
    assert_eq!(node("Squeeze", 13).input(data(&[1, 3])).input(list(&[-2])).inferred(), ["[A1]"]);
    assert_eq!(node("Squeeze", 1).input(data(&[1, 3])).inferred(), ["?"]);
    assert_eq!(node("Unsqueeze", 13).input(data(&[3])).input(list(&[0, -1])).inferred(), ["[1, A0, 1]"]);
    assert_eq!(node("Unsqueeze", 11).input(data(&[3])).set("axes", &[1][..]).inferred(), ["[A0, 1]"]);
}

#[test]
fn moved_elements_keep_their_sizes() {
    let image = || data(&[1, 4, 2, 6]);
    let blocks = |op: &str| node(op, 13).input(image()).set("blocksize", 2);
    assert_eq!(blocks("DepthToSpace").inferred(), ["[A0, floor((A1)/(4)), 2*A2, 2*A3]"]);
    assert_eq!(blocks("SpaceToDepth").inferred(), ["[A0, 4*A1, floor((A2)/(2)), floor((A3)/(2))]"]);
    assert_eq!(node("Transpose", 13).input(data(&[2, 3])).inferred(), ["[A1, A0]"]);
    let ordered = node("Transpose", 13).input(data(&[2, 3, 4])).set("perm", &[2, 0, 1][..]);
    assert_eq!(ordered.inferred(), ["[A2, A0, A1]"]);
    assert_eq!(node("Tile", 13).input(data(&[2, 3])).input(list(&[2, 0])).inferred(), ["[2*A0, 0]"]);
    let tiled = node("Tile", 1).inputs([data(&[2, 3]), floats(&[1], &[2.0]), floats(&[1], &[1.0])]);
    tiled.inferred();
    assert_eq!(node("Expand", 13).input(data(&[3, 1])).input(list(&[2, 1, 4])).inferred(), ["[2, A0, 4]"]);
    let padded = node("Pad", 13).input(data(&[2, 3])).input(list(&[1, 0, 2, -1]));
    assert_eq!(padded.inferred(), ["[A0 + 3, A1 - 1]"]);
    let padded = node("Pad", 18).input(data(&[2, 3])).input(list(&[1, 2])).absent().input(list(&[-1]));
    assert_eq!(padded.inferred(), ["[A0, A1 + 3]"]);
    let padded = node("Pad", 1).input(data(&[2])).set("paddings", &[1, 1][..]);
    assert_eq!(padded.inferred(), ["[A0 + 2]"]);
    let cropped = node("CenterCropPad", 18).input(data(&[2, 9])).input(list(&[4])).set("axes", &[1][..]);
    assert_eq!(cropped.inferred(), ["[A0, 4]"]);
    let scattered = node("TensorScatter", 24).inputs([data(&[1, 4, 2]), data(&[1, 2, 2])]);
    assert_eq!(scattered.set("axis", 1).inferred(), ["[A0, A1, A2]"]);
}

#[test]
fn selections_have_the_shape_of_their_indices() {
    let gathered = |indices: Tensor| node("Gather", 13).input(data(&[2, 3, 4])).input(indices).set("axis", 1);
    assert_eq!(gathered(ints(&[2, 2], &[0, 1, 2, 0])).inferred(), ["[A0, B0, B1, A2]"]);
    assert_eq!(gathered(ints(&[], &[2])).inferred(), ["[A0, A2]"]);
    let elements = node("GatherElements", 13).input(data(&[2, 3])).input(ints(&[1, 2], &[0, 1]));
    assert_eq!(elements.inferred(), ["[B0, B1]"]);
    let tuples = |indices: Tensor| node("GatherND", 13).input(data(&[2, 3, 4])).input(indices);
    assert_eq!(tuples(list(&[1, 2])).inferred(), ["[A2]"]);
    assert_eq!(tuples(ints(&[2, 1], &[1, 2])).set("batch_dims", 1).inferred(), ["?"]);
    let hot = node("OneHot", 11).input(ints(&[2, 2], &[0, 1, 2, 0])).input(ints(&[], &[5])).input(ints(&[2], &[0, 1]));
    assert_eq!(hot.set("axis", 1).inferred(), ["[A0, 5, A1]"]);
    let flags = typed(ElementType::Bool, &[3], &[1.0, 0.0, 1.0]);
    let compressed = || node("Compress", 11).input(data(&[2, 3])).input(flags.clone());
    assert_eq!(compressed().set("axis", 1).inferred(), ["[A0, ?]"]);
    assert_eq!(compressed().inferred(), ["[?]"]);
    assert_eq!(node("NonZero", 13).input(data(&[2, 3])).inferred(), ["[2, ?]"]);
    assert_eq!(node("NonZero", 13).input(data(&[])).inferred(), ["[0, ?]"]);
    node("NonZero", 13).input(strings(&[2], &["", "a"])).inferred();
}

#[test]
fn created_tensors_have_the_shapes_of_their_operands() {
    assert_eq!(node("Shape", 15).input(data(&[2, 3, 4])).set("start", -2).inferred(), ["[2]"]);
    assert_eq!(node("Shape", 15).input(data(&[2])).set("start", 1).set("end", 0).inferred(), ["[0]"]);
    assert_eq!(node("Size", 13).input(data(&[2, 3])).inferred(), ["[]"]);
    assert_eq!(node("ConstantOfShape", 9).input(list(&[2, 3])).inferred(), ["[2, 3]"]);
    let filled = node("ConstantOfShape", 9).input(list(&[2])).set("value", ints(&[1], &[7]));
    assert_eq!(filled.inferred(), ["[2]"]);
    assert_eq!(node("EyeLike", 9).input(data(&[2, 3])).set("dtype", 7).inferred(), ["[A0, A1]"]);
    let range = |start: i64, limit: i64, delta: i64| {
        let scalar = |value: i64| ints(&[], &[value]);
        node("Range", 11).inputs([scalar(start), scalar(limit), scalar(delta)])
    };
    for (start, limit, delta, expected) in [(0, 7, 3, "[3]"), (5, 0, -2, "[3]"), (3, 1, 1, "[0]")] {
        assert_eq!(range(start, limit, delta).inferred(), [expected]);
    }
    let scalar = |value: f64| floats(&[], &[value]);
    assert_eq!(node("Range", 11).inputs([scalar(0.0), scalar(1.0), scalar(0.3)]).inferred(), ["[?]"]);
    for (name, value) in [("value_int", 3.into()), ("value_ints", (&[1i64, 2][..]).into())] {
        let value: crate::model::Attribute = value;
        node("Constant", 13).set(name, value).inferred();
    }
    assert_eq!(node("Constant", 13).set("value", data(&[2, 1])).inferred(), ["[2, 1]"]);
}

/// A vector of `int64` with these elements.
fn vector(elements: &[&Dim]) -> ValueFact {
    ValueFact {
        value_type: Some(ValueType::Tensor(ElementType::Int64)),
        shape: Some(vec![Dim::Size(elements.len())]),
        elements: Some(elements.iter().map(|dim| Size::from_dim(dim)).collect()),
        ..ValueFact::default()
    }
}

fn written(fact: &ValueFact) -> String {
    let dim = |element: Option<Size>| element.map_or(Dim::Unknown, Size::dim);
    shape_text(fact.symbolic_elements().map(|elements| elements.into_iter().map(dim).collect::<Vec<_>>()).as_deref())
}

#[test]
fn arithmetic_of_shapes_follows_names() {
    let name = |name: &str| Dim::Name(Arc::from(name));
    let (n, c) = (name("N"), name("C"));
    let value = |values: &[i64]| ValueFact::from_value(list(values).into());
    let scalar = |value: i64| ValueFact::from_value(ints(&[], &[value]).into());
    let typed = |facts: Vec<ValueFact>| facts.first().map(written).unwrap_or_default();
    let run = |op: &str, facts: &[ValueFact]| {
        let placeholders = facts.iter().map(|_| data(&[]));
        typed(node(op, 13).inputs(placeholders).infer(facts))
    };
    let sizes = vector(&[&n, &c]);
    assert_eq!(run("Add", &[sizes.clone(), value(&[1])]), "[N + 1, C + 1]");
    assert_eq!(run("Sub", &[value(&[1, 2]), sizes.clone()]), "[-N + 1, -C + 2]");
    assert_eq!(run("Mul", &[sizes.clone(), sizes.clone()]), "[N*N, C*C]");
    assert_eq!(run("Div", &[sizes.clone(), value(&[2, -2])]), "[floor((N)/(2)), ?]");
    assert_eq!(run("Max", &[sizes.clone(), scalar(2)]), "[max(2, N), max(2, C)]");
    assert_eq!(run("Neg", &[vector(&[&n])]), "[-N]");
    assert_eq!(run("Gather", &[sizes.clone(), scalar(-1)]), "[C]");
    assert_eq!(run("Squeeze", &[vector(&[&n]), value(&[0])]), "[N]");
    assert_eq!(run("Slice", &[sizes.clone(), value(&[1]), value(&[9])]), "[C]");
    assert_eq!(run("ReduceProd", std::slice::from_ref(&sizes)), "[C*N]");
    assert_eq!(run("Identity", std::slice::from_ref(&sizes)), "[N, C]");
    let joined = node("Concat", 13).inputs([data(&[]), data(&[])]).set("axis", 0);
    assert_eq!(typed(joined.infer(&[sizes.clone(), value(&[-1])])), "[N, C, -1]".replace("-1", "?"));
    let shape = ValueFact { shape: Some(vec![n.clone(), c.clone()]), ..ValueFact::default() };
    assert_eq!(run("Shape", std::slice::from_ref(&shape)), "[N, C]");
    assert_eq!(run("Size", std::slice::from_ref(&shape)), "[C*N]");
    let target = |facts: &[ValueFact]| {
        let node = node("Reshape", 13).inputs([data(&[]), data(&[])]);
        shape_text(node.infer(facts)[0].shape.as_deref())
    };
    // A 0 copies the size of the same axis, so only the same name is certain there.
    assert_eq!(target(&[shape.clone(), vector(&[&n, &c])]), "[N, C]");
    assert_eq!(target(&[shape.clone(), vector(&[&c, &n])]), "[?, ?]");
    assert_eq!(target(&[shape, vector(&[&c.plus_int(1)])]), "[C + 1]");
}
