//! Model inputs, generated from the declarations of a model.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use onnx_conformance_check::Limits;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{GraphProto, TensorProto, TypeProto, ValueInfoProto, decode};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, Value};

use onnx_conformance_cases::case::{Named, Random};

use crate::models::input_hints::{Integers, Sizes, Way, positions, ways};

/// Number of items of a generated sequence, and of entries of a map.
const ITEMS: usize = 2;

/// Maximum number of elements of a generated input.
const MAX_ELEMENTS: usize = 1 << 22;

/// Bytes per element while an input is made: a number or a text in a list, and the element of the tensor.
fn bytes_per_element(element: ElementType) -> usize {
    if element == ElementType::String { 56 } else { 24 }
}

/// Reason why no input can be generated.
#[derive(Debug, thiserror::Error)]
pub enum InputGenerationError {
    /// The inputs exceed the limits.
    #[error("input '{input}' is too large to be generated")]
    TooLarge {
        /// The input that does not fit.
        input: String,
    },
    /// The deadline passed.
    #[error("the inputs were not generated in time")]
    Late,
    /// The declaration of an input is incomplete, or its values cannot be generated.
    #[error("input '{input}' {fault}")]
    Input {
        /// The input.
        input: String,
        /// The missing or unsupported part.
        fault: InputFault,
    },
}

/// Reason why an input cannot be generated from its declaration.
#[derive(Debug, thiserror::Error)]
pub enum InputFault {
    /// The type is not declared.
    #[error("has no type")]
    NoType,
    /// The type is a sparse tensor, or unknown.
    #[error("is not a tensor, a sequence, an optional or a map")]
    UnknownKind,
    /// The rank is not declared.
    #[error("has no declared rank")]
    NoRank,
    /// No values of this type can be generated.
    #[error("has type {0}, for which no values can be generated")]
    Element(ElementType),
    /// The tensor cannot be created.
    #[error("cannot be generated: {0}")]
    Tensor(#[from] TensorError),
}

/// Returns the numbers of two ways in addition to those of a plan: this way with other sizes of all unknown dimensions,
/// and with another size of only the first one, which is usually the batch. The sizes depend on the draw.
pub fn resized_ways(way: usize, ways: usize) -> [usize; 2] {
    [way.saturating_add(ways), way.saturating_add(ways.saturating_mul(2))]
}

/// Unknown dimensions whose sizes differ from those of the first draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resized {
    Nothing,
    All,
    First,
}

/// Ways to generate inputs that suit a model.
///
/// A way chooses the sizes of the unknown dimensions and the values of integers. Only a run shows which of them the
/// model accepts. The most likely ones come first.
#[derive(Debug)]
pub struct InputPlan<'a> {
    wanted: Vec<&'a ValueInfoProto>,
    ways: Vec<Way>,
    /// Number of valid positions of each input that holds positions.
    positions: BTreeMap<&'a str, i64>,
}

/// Returns the graph inputs that have no default from an initializer.
fn inputs_to_give(graph: &GraphProto) -> Vec<&ValueInfoProto> {
    let defaults: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
    graph.input.iter().filter(|input| !defaults.contains(input.name())).collect()
}

impl<'a> InputPlan<'a> {
    /// Plans the inputs of a graph that have no default.
    pub fn new(graph: &'a GraphProto) -> InputPlan<'a> {
        let wanted = inputs_to_give(graph);
        let ways = ways(graph, &wanted);
        InputPlan { ways, positions: positions(graph), wanted }
    }

    /// The inputs that are generated.
    pub fn wanted(&self) -> &[&'a ValueInfoProto] {
        &self.wanted
    }

    /// Number of ways.
    pub fn ways(&self) -> usize {
        self.ways.len()
    }

    /// Returns a value of the declared type for each input. The same numbers give the same values; another draw gives other values
    /// of the same sizes, unless the way is one of [`resized_ways`].
    pub fn inputs(&self, way: usize, draw: usize, limits: &Limits) -> Result<Vec<Named>, InputGenerationError> {
        let (mut sizes, mut inputs, mut bytes) = (ChosenSizes::default(), Vec::new(), 0_usize);
        let first = Way { sizes: Sizes::Small(0), integers: Integers::Small };
        let count = self.ways.len().max(1);
        let resized = match way / count {
            0 => Resized::Nothing,
            1 => Resized::All,
            _ => Resized::First,
        };
        let way = way % count;
        let Way { sizes: chosen, integers } = self.ways.get(way).unwrap_or(&first);
        for input in &self.wanted {
            let name = input.name().to_owned();
            let in_input = |fault: InputFault| InputGenerationError::Input { input: input.name().to_owned(), fault };
            let declared = input.r#type.as_ref().ok_or_else(|| in_input(InputFault::NoType))?;
            let left = limits.bytes.saturating_sub(bytes);
            let mut maker = Maker {
                chosen,
                integers: *integers,
                positions: self.positions.get(name.as_str()).copied(),
                resized,
                draw,
                left,
                size_random: Random::new(&format!("{way} {name}")),
                random: Random::new(&format!("{way} {draw} {name}")),
                sizes: &mut sizes,
            };
            let Some(value) = maker.value(declared).map_err(in_input)? else {
                return Err(InputGenerationError::TooLarge { input: name });
            };
            bytes = bytes.saturating_add(value.size());
            if limits.deadline.is_over() {
                return Err(InputGenerationError::Late);
            }
            inputs.push(Named { name, value });
        }
        Ok(inputs)
    }
}

/// Maker of the value of an input.
struct Maker<'a> {
    chosen: &'a Sizes,
    integers: Integers,
    /// Number of valid positions, if the input holds positions.
    positions: Option<i64>,
    /// Dimensions with other sizes than in the first draw.
    resized: Resized,
    /// Number of the draw.
    draw: usize,
    /// Remaining bytes.
    left: usize,
    size_random: Random,
    random: Random,
    sizes: &'a mut ChosenSizes,
}

/// Sizes that were chosen for unknown dimensions.
#[derive(Default)]
struct ChosenSizes {
    named: BTreeMap<String, usize>,
    /// True if some dimension has a chosen size.
    has_any: bool,
}

impl Maker<'_> {
    /// Returns a value of this type; `None` if it is too large.
    fn value(&mut self, declared: &TypeProto) -> Result<Option<Value>, InputFault> {
        let value_type = decode::value_type(declared).map_err(|_| InputFault::UnknownKind)?;
        let inner = |inner: &Option<Box<TypeProto>>| inner.as_deref().cloned().ok_or(InputFault::NoType);
        match (&declared.value, &value_type) {
            (Some(type_proto::Value::TensorType(tensor)), ValueType::Tensor(element)) => {
                let shape = tensor.shape.as_ref().ok_or(InputFault::NoRank)?;
                let shape: Vec<usize> = shape.dim.iter().map(|dim| self.size(dim.value.as_ref())).collect();
                self.tensor(*element, &shape)
            }
            (Some(type_proto::Value::SequenceType(sequence)), ValueType::Sequence(item)) => {
                let declared = inner(&sequence.elem_type)?;
                let items: Option<Vec<Value>> = (0..ITEMS).map(|_| self.value(&declared)).collect::<Result<_, _>>()?;
                Ok(items.map(|items| Value::Sequence(Sequence::new((**item).clone(), items))))
            }
            (Some(type_proto::Value::OptionalType(optional)), ValueType::Optional(item)) => {
                let value = self.value(&inner(&optional.elem_type)?)?;
                let present = |value| Optional { item_type: (**item).clone(), item: Some(Arc::new(value)) };
                Ok(value.map(present).map(Value::Optional))
            }
            (Some(type_proto::Value::MapType(map)), ValueType::Map(key, item)) => {
                let declared = inner(&map.value_type)?;
                let mut entries = BTreeMap::new();
                for number in 0..ITEMS {
                    let Some(value) = self.value(&declared)? else { return Ok(None) };
                    let key = match key {
                        ElementType::String => MapKey::String(["a", "b"].get(number).copied().unwrap_or("c").into()),
                        _ => MapKey::Integer(i128::try_from(number).unwrap_or_default()),
                    };
                    entries.insert(key, value);
                }
                let map = Map { key_type: *key, value_type: (**item).clone(), entries: Arc::new(entries) };
                Ok(Some(Value::Map(map)))
            }
            _ => Err(InputFault::UnknownKind),
        }
    }

    /// Returns the size of a dimension: as declared, or chosen.
    fn size(&mut self, dim: Option<&dimension::Value>) -> usize {
        let name = match dim {
            Some(dimension::Value::DimValue(size)) => match usize::try_from(*size) {
                Ok(size) => return size,
                // Exporters write -1 for an unknown size, and runtimes take it as that.
                Err(_) => None,
            },
            Some(dimension::Value::DimParam(name)) => Some(name),
            None => None,
        };
        let small = usize::try_from(self.size_random.between(1, 4)).unwrap_or(1);
        if let Some(chosen) = name.and_then(|name| self.sizes.named.get(name)) {
            return *chosen;
        }
        let is_first = !std::mem::replace(&mut self.sizes.has_any, true);
        let size = match self.chosen {
            Sizes::Small(_) => small,
            Sizes::Image(_) if is_first => 1,
            Sizes::All(size) | Sizes::Image(size) => *size,
            Sizes::One(chosen, size) if name == Some(chosen) => *size,
            Sizes::One(..) => 2,
        };
        let is_kept = matches!(self.chosen, Sizes::One(chosen, _) if name == Some(chosen));
        let size = match self.resized {
            Resized::All if !is_kept => other_size(self.draw),
            Resized::First if is_first && !is_kept => other_size(self.draw),
            _ => size,
        };
        if let Some(name) = name {
            self.sizes.named.insert(name.clone(), size);
        }
        size
    }

    /// Returns a filled tensor; `None` if it is too large.
    fn tensor(&mut self, element: ElementType, shape: &[usize]) -> Result<Option<Value>, InputFault> {
        let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
        let is_small =
            |count: &usize| *count <= MAX_ELEMENTS && count.saturating_mul(bytes_per_element(element)) <= self.left;
        let Some(count) = count.filter(is_small) else { return Ok(None) };
        let value = self.filled(element, shape, count)?;
        self.left = self.left.saturating_sub(value.size());
        Ok(Some(value))
    }

    /// Fills a tensor with small numbers: integers are 0 to 3, or positions in their range. Floats depend on the draw: multiples of
    /// 1/8 from -8 to 8; multiples of 1/64 from -1 to 1, for which functions such as Softmax do not saturate; the first half of the
    /// elements as in the first draw, mixed with special values, and the other half as in the second one.
    fn filled(&mut self, element: ElementType, shape: &[usize], count: usize) -> Result<Value, InputFault> {
        /// Floats at which functions change: signed zeros, small, large, and around 1.
        const SPECIAL: [f64; 8] = [0.0, -0.0, 1.0, -1.0, 0.001, -0.001, 100.0, -100.0];
        let random = &mut self.random;
        let tensor = match element.kind() {
            Kind::Signed | Kind::Unsigned => {
                let integer = |random: &mut Random| match (self.integers, self.positions) {
                    (Integers::Small, Some(count)) => random.between(0, count.saturating_sub(1).max(0)),
                    (Integers::Small, None) => random.between(0, 3),
                    (Integers::Same(value), _) => value,
                };
                let values: Vec<i128> = (0..count).map(|_| i128::from(integer(random))).collect();
                Tensor::of_integers(element, shape, &values)?
            }
            _ if element == ElementType::String => {
                let texts: Vec<&str> = (0..count).map(|_| if random.below(2) == 0 { "a" } else { "b" }).collect();
                Tensor::of_strings(shape, &texts)?
            }
            _ if element.is_float() => {
                let draw = self.draw % 3;
                let is_special = |at: usize| draw == 2 && at < count.div_ceil(2);
                let step = |at: usize| if draw == 0 || is_special(at) { 8.0 } else { 64.0 };
                let float = |at: usize| match SPECIAL.get(usize::try_from(random.below(16)).unwrap_or(0)) {
                    Some(special) if is_special(at) => *special,
                    _ => random.between(-64, 64) as f64 / step(at),
                };
                let values: Vec<f64> = (0..count).map(float).collect();
                Tensor::of_floats(element, shape, &values)?
            }
            _ if element == ElementType::Bool => {
                let builder = TensorBuilder::unlimited(element, shape.to_vec());
                let values: Vec<bool> = (0..count).map(|_| random.below(2) == 1).collect();
                builder.and_then(|builder| builder.bools(values))?
            }
            _ => return Err(InputFault::Element(element)),
        };
        Ok(Value::Tensor(tensor))
    }
}

/// Returns the size of a dimension in a draw after the first one: 2, then 3. A function along one element would hide errors.
fn other_size(draw: usize) -> usize {
    if draw % 2 == 1 { 2 } else { 3 }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    /// Returns the values of the first input, for each way.
    fn first_inputs(text: &str) -> Vec<Value> {
        let model = parse_model(text).unwrap();
        let plan = InputPlan::new(model.graph.as_ref().unwrap());
        let first = |way| plan.inputs(way, 0, &Limits::default()).unwrap().remove(0).value;
        (0..plan.ways()).map(first).collect()
    }

    fn has_shape(values: &[Value], shape: &[usize]) -> bool {
        values.iter().any(|value| value.as_tensor().is_some_and(|tensor| tensor.shape() == shape))
    }

    #[test]
    fn sizes_of_constants_are_tried_for_all_dimensions_and_for_each() {
        let values = first_inputs(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[B, 40] x) => (float[5, 8, C] y) {
                s = Constant <value_ints = [5, 8, 8]> ()
                y = Reshape (x, s)
            }"#,
        );
        assert!(has_shape(&values, &[8, 40]) && has_shape(&values, &[5, 40]), "{values:?}");
        let values = first_inputs(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[A, B] x, float[7, 5] w) => (float[A, 5] y) { y = MatMul (x, w) }"#,
        );
        assert!(has_shape(&values, &[7, 7]) && has_shape(&values, &[2, 7]), "{values:?}");
    }

    #[test]
    fn positions_are_in_their_range() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (int64[64] x) => (float[64, 1] y) <float[2, 1] w = {1, 2}> {
            c = Cast <to = 6> (x)
            y = Gather (w, c)
        }"#;
        let values = first_inputs(text);
        let indices = values[0].as_tensor().unwrap().indices();
        assert!(indices.contains(&1) && indices.iter().all(|index| (0..2).contains(index)), "{indices:?}");
    }

    #[test]
    fn sequences_optionals_and_maps_are_generated() {
        let model = |declared: &str| {
            let text = format!(
                r#"<ir_version: 8, opset_import: ["" : 15]> g ({declared} x) => (float[N] y) {{ y = Any (x) }}"#
            );
            first_inputs(&text).remove(0)
        };
        let Value::Sequence(sequence) = model("seq(float[2, N])") else { panic!() };
        assert_eq!(sequence.items.len(), ITEMS);
        assert!(matches!(model("optional(float[3])"), Value::Optional(optional) if optional.item.is_some()));
        assert!(matches!(model("map(int64, float)"), Value::Map(map) if map.entries.len() == ITEMS));
    }

    #[test]
    fn many_defaults_of_inputs_take_time_in_proportion() {
        let name = |at: usize| Some(format!("a long name of an input, so that it takes time to compare: {at}"));
        let graph = GraphProto {
            input: (0..60_000).map(|at| ValueInfoProto { name: name(at), ..ValueInfoProto::default() }).collect(),
            initializer: (1..60_000).map(|at| TensorProto { name: name(at), ..TensorProto::default() }).collect(),
            ..GraphProto::default()
        };
        let started = Instant::now();
        assert_eq!(inputs_to_give(&graph), [&graph.input[0]]);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn a_negative_dimension_is_unknown() {
        let mut model = parse_model(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[9, 3] x) => (float[N] y) { y = Any (x) }"#,
        )
        .unwrap();
        let declared = model.graph.as_mut().unwrap().input[0].r#type.as_mut().unwrap();
        let Some(type_proto::Value::TensorType(tensor)) = &mut declared.value else { panic!() };
        tensor.shape.as_mut().unwrap().dim[0].value = Some(dimension::Value::DimValue(-1));
        let plan = InputPlan::new(model.graph.as_ref().unwrap());
        assert!(plan.ways() > 1);
        let input = plan.inputs(0, 0, &Limits::default()).unwrap().remove(0).value;
        let shape = input.as_tensor().unwrap().shape().to_vec();
        assert!((1..=4).contains(&shape[0]) && shape[1] == 3, "{shape:?}");
    }

    #[test]
    fn images_have_a_batch_of_one() {
        let text = |dims: &str| {
            format!(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[{dims}] x) => (float[N] y) {{ y = Any (x) }}"#)
        };
        for dims in ["N, 3, H, W", "N, 3, S, S", "?, 3, ?, ?"] {
            let values = first_inputs(&text(dims));
            assert!(has_shape(&values, &[1, 3, 32, 32]) && has_shape(&values, &[1, 3, 224, 224]), "{dims}");
        }
        assert!(!has_shape(&first_inputs(&text("N, 3, H, 8")), &[1, 3, 32, 8]));
    }

    #[test]
    fn another_draw_has_the_same_sizes_and_other_values() {
        let model = parse_model(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, M, 9] x) => (float[N] y) { y = Any (x) }"#,
        );
        let model = model.unwrap();
        let plan = InputPlan::new(model.graph.as_ref().unwrap());
        let draw = |draw| plan.inputs(0, draw, &Limits::default()).unwrap().remove(0).value;
        let (one, other) = (draw(0), draw(1));
        assert_eq!(one.as_tensor().unwrap().shape(), other.as_tensor().unwrap().shape());
        assert!(one != other && draw(0) == one);
        let zeros = draw(2).as_tensor().unwrap().floats().into_iter().filter(|value| *value == 0.0).count();
        assert!(zeros > 0);
        let largest =
            |value: &Value| value.as_tensor().unwrap().floats().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(largest(&one) > 1.0 && largest(&other) <= 1.0, "{one:?} {other:?}");
    }

    #[test]
    fn a_later_draw_may_have_other_sizes() {
        let model = parse_model(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, M, 9] x, float[M, N] z) => (float[N] y) { y = Any (x, z) }"#,
        );
        let model = model.unwrap();
        let plan = InputPlan::new(model.graph.as_ref().unwrap());
        let shapes = |way: usize, draw: usize| {
            let inputs = plan.inputs(way, draw, &Limits::default()).unwrap();
            inputs.iter().map(|input| input.value.as_tensor().unwrap().shape().to_vec()).collect::<Vec<_>>()
        };
        let [all, first] = resized_ways(0, plan.ways());
        assert_eq!(shapes(all, 1), [vec![2, 2, 9], vec![2, 2]]);
        assert_eq!(shapes(all, 2), [vec![3, 3, 9], vec![3, 3]]);
        let columns = shapes(0, 0)[0][1];
        assert_eq!(shapes(first, 2), [vec![3, columns, 9], vec![columns, 3]]);
        let way = plan.ways.iter().position(|way| way.sizes == Sizes::One("N".to_owned(), 9));
        if let Some(way) = way {
            assert_eq!(shapes(resized_ways(way, plan.ways())[0], 1)[0], [9, 2, 9]);
        }
    }
}
