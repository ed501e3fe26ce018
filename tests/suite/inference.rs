//! Shape and type inference on the suite: it never contradicts the values of a case, and it finds rank and sizes wherever the
//! text determines them.
//!
//! Each case is tried with the sizes of its inputs, and with a name for each of their dimensions. Short inputs after the
//! first are constants in both, as exporters write axes, pads and shapes.
//!
//! `INFERENCE_PRINT=1` prints the cases whose shape is not found.

use std::collections::{BTreeMap, HashMap};

use onnx_conformance_cases::case::{Case, DataSet};
use onnx_conformance_check::Limits;
use onnx_conformance_check::infer::{BodyId, infer, infer_facts};
use onnx_conformance_check::rules::Level;
use onnx_conformance_reference::infer::{Size, ValueFact};
use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{ModelProto, decode, encode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::{FOUND, is_everything_meant};

/// Maximum number of elements of an input that becomes a constant.
const MAX_CONSTANT: usize = 64;

/// One case of this many is also tried with a free dimension, on the executor.
const SAMPLE: usize = 8;

/// Fact about an output that does not follow from the known facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// Rank, and so the sizes, of some outputs.
    Rank,
    /// Sizes of some outputs; all ranks are found.
    Sizes,
}

/// Operators with outputs whose sizes do not follow from the known facts, each with the reason.
const BY_VALUES: &[(&str, Unknown, &str)] = &[
    ("ai.onnx.ml/CastMap", Unknown::Sizes, "the number of entries of the map"),
    ("ai.onnx/BlackmanWindow", Unknown::Sizes, "its first input, the length, is no constant here"),
    ("ai.onnx/Compress", Unknown::Sizes, "conditions of more than 64 elements are no constants here, and count"),
    ("ai.onnx/ConcatFromSequence", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/ConstantOfShape", Unknown::Sizes, "its first input, the shape, is no constant here"),
    ("ai.onnx/HammingWindow", Unknown::Sizes, "its first input, the length, is no constant here"),
    ("ai.onnx/HannWindow", Unknown::Sizes, "its first input, the length, is no constant here"),
    ("ai.onnx/If", Unknown::Sizes, "the branches have different shapes"),
    ("ai.onnx/ImageDecoder", Unknown::Sizes, "the image has a size of its own"),
    ("ai.onnx/Loop", Unknown::Rank, "the trips count, and may change shapes"),
    ("ai.onnx/MelWeightMatrix", Unknown::Sizes, "its first input, the number of bins, is no constant here"),
    ("ai.onnx/NonMaxSuppression", Unknown::Sizes, "the selected boxes count"),
    ("ai.onnx/NonZero", Unknown::Sizes, "the elements that are not 0 count"),
    ("ai.onnx/OptionalGetElement", Unknown::Rank, "the optional holds a value of its own shape"),
    ("ai.onnx/Pad", Unknown::Sizes, "the data, which is no constant here, is also the list of pads"),
    ("ai.onnx/Range", Unknown::Sizes, "its first input, the start, is no constant here"),
    ("ai.onnx/Resize", Unknown::Sizes, "the region to crop and ratios to keep are not followed"),
    ("ai.onnx/Scan", Unknown::Rank, "the axes of scanned inputs without declared shapes are not followed"),
    ("ai.onnx/SequenceAt", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/SequenceErase", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/SequenceInsert", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/SequenceMap", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/Split", Unknown::Sizes, "the first version takes the lengths as data, which are floats"),
    ("ai.onnx/SplitToSequence", Unknown::Rank, "the items of the sequence have shapes of their own"),
    ("ai.onnx/StringNormalizer", Unknown::Sizes, "words that are removed count"),
    ("ai.onnx/StringSplit", Unknown::Sizes, "the longest list of words counts"),
    ("ai.onnx/Unique", Unknown::Sizes, "different elements count"),
];

/// Operators with outputs whose type is not found, each with the reason.
const UNTYPED: &[(&str, &str)] =
    &[("ai.onnx/LinearAttention", "the text names no type for the new state if there is no past one")];

/// Outputs of one operator: their number, and of how many rank and sizes are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    outputs: usize,
    typed: usize,
    ranked: usize,
    sized: usize,
    /// With named dimensions: formulas for all sizes.
    formulas: usize,
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            outputs: self.outputs + other.outputs,
            typed: self.typed + other.typed,
            ranked: self.ranked + other.ranked,
            sized: self.sized + other.sized,
            formulas: self.formulas + other.formulas,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    by_operator: BTreeMap<String, Counts>,
    contradictions: Vec<String>,
}

impl Totals {
    pub(crate) fn of<'a>(operator: &str, cases: impl IntoIterator<Item = &'a Case>) -> Totals {
        let mut totals = Totals::default();
        for case in cases {
            totals.add(operator, case);
        }
        totals
    }

    pub(crate) fn with(mut self, other: Totals) -> Totals {
        for (operator, counts) in other.by_operator {
            let sum = self.by_operator.entry(operator).or_default();
            *sum = sum.plus(counts);
        }
        self.contradictions.extend(other.contradictions);
        self
    }

    /// Returns the operators with outputs whose rank or sizes are not found, sorted.
    fn unknown(&self) -> Vec<(&str, Unknown)> {
        let unknown = |counts: &Counts| match counts {
            counts if counts.ranked < counts.outputs => Some(Unknown::Rank),
            counts if counts.sized < counts.outputs => Some(Unknown::Sizes),
            _ => None,
        };
        let rows = self.by_operator.iter();
        rows.filter_map(|(operator, counts)| Some((operator.as_str(), unknown(counts)?))).collect()
    }

    /// Checks that a valid node stays valid if one of its dimensions has a name. The id of the case selects which.
    fn check_free_dimension(&mut self, case: &Case, model: &ModelProto, data: &DataSet) {
        let axes: Vec<(&str, usize)> = data
            .inputs
            .iter()
            .filter_map(|input| Some((input.name.as_str(), input.value.as_tensor()?)))
            .flat_map(|(name, tensor)| (0..tensor.rank()).map(move |axis| (name, axis)))
            .collect();
        let choice = case.id.bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let is_selected = choice.is_multiple_of(SAMPLE);
        let axis = axes.get((choice / SAMPLE) % axes.len().max(1)).filter(|_| is_selected);
        let Some(&(name, axis)) = axis else { return };
        let shape = data.inputs.iter().find(|input| input.name == name).and_then(|input| input.value.as_tensor());
        let sizes = shape.map(Tensor::shape).unwrap_or_default();
        let mut free = model.clone();
        set_dimensions(&mut free, name, &|at| {
            if at == axis {
                dimension::Value::DimParam("free".to_owned())
            } else {
                dimension::Value::DimValue(i64::try_from(sizes[at]).unwrap())
            }
        });
        let inferred = infer(&free, &Limits::default());
        for finding in inferred.findings.kept().iter().filter(|finding| finding.level == Level::Error) {
            self.contradictions.push(format!("{}: axis {axis} of '{name}' is free: {}", case.id, finding.message));
        }
    }

    #[expect(clippy::print_stdout, reason = "what is asked for, for --nocapture")]
    fn add(&mut self, operator: &str, case: &Case) {
        let Some(data) = case.data.first() else { return };
        let Ok(mut model) = decode::model(case.model.clone()) else { return };
        let mut sizes: HashMap<String, usize> = HashMap::new();
        let graph = model.graph.get_or_insert_default();
        for info in graph.value_info.iter_mut().chain(&mut graph.output) {
            info.r#type = None;
        }
        graph.input.retain(|info| {
            let value = data.inputs.iter().find(|input| input.name == info.name()).map(|input| &input.value);
            let is_first = graph.node.first().and_then(|node| node.input.first()).is_some_and(|it| it == info.name());
            let tensor = value.and_then(Value::as_tensor).filter(|tensor| !is_first && tensor.len() <= MAX_CONSTANT);
            graph.initializer.extend(tensor.map(|tensor| encode::tensor(tensor, info.name())));
            tensor.is_none()
        });
        let mut named = model.clone();
        for input in &data.inputs {
            let Some(tensor) = input.value.as_tensor() else { continue };
            let size = |at: usize| dimension::Value::DimValue(i64::try_from(tensor.shape()[at]).unwrap());
            set_dimensions(&mut model, &input.name, &size);
            let name = |at: usize| dimension::Value::DimParam(format!("{}_{at}", input.name));
            if set_dimensions(&mut named, &input.name, &name) {
                let name = |at: usize| format!("{}_{at}", input.name);
                sizes.extend(tensor.shape().iter().enumerate().map(|(at, size)| (name(at), *size)));
            }
        }
        self.check_free_dimension(case, &model, data);
        let (known, formulas) = (outputs(&model), outputs(&named));
        for output in &data.outputs {
            let (value_type, shape) = output.expected.declared();
            let mut counts = Counts { outputs: 1, ..Counts::default() };
            for (facts, is_named) in [(&known, false), (&formulas, true)] {
                let fact = facts.get(&output.name).cloned().unwrap_or_default();
                if fact.value_type.as_ref().is_some_and(|known| *known != value_type) {
                    let message = format!("{}: '{}' is inferred as {:?}", case.id, output.name, fact.value_type);
                    self.contradictions.push(message);
                }
                let dims = fact.shape.as_deref();
                if let (Some(dims), Some(shape)) = (dims, &shape)
                    && !agrees(dims, shape, &sizes)
                {
                    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
                    let message = format!("{}: '{}' is inferred as {dims:?}, but is {shape:?}", case.id, output.name);
                    self.contradictions.push(message);
                }
                let is_found = dims.is_some_and(|dims| !dims.contains(&Dim::Unknown)) || shape.is_none();
                if is_named {
                    counts.formulas = usize::from(is_found);
                } else {
                    counts.typed = usize::from(fact.value_type.is_some());
                    counts.ranked = usize::from(dims.is_some() || shape.is_none());
                    counts.sized = usize::from(is_found);
                }
                if !is_found && std::env::var_os("INFERENCE_PRINT").is_some() {
                    println!("unknown {} {} {is_named} {dims:?} {shape:?}", case.id, output.name);
                }
            }
            let sum = self.by_operator.entry(operator.to_owned()).or_default();
            *sum = sum.plus(counts);
        }
    }
}

/// Infers the outputs of a model.
fn outputs(model: &ModelProto) -> HashMap<String, ValueFact> {
    let inferred = infer_facts(model, &Limits::default());
    let names = model.graph.iter().flat_map(|graph| &graph.output).map(|info| info.name().to_owned());
    names.filter_map(|name| Some((name.clone(), inferred.value(BodyId::MAIN, &name)?.clone()))).collect()
}

/// Compares inferred dimensions with a shape; a formula has the value for the sizes of its names.
fn agrees(dims: &[Dim], shape: &[usize], sizes: &HashMap<String, usize>) -> bool {
    let agrees = |(dim, size): (&Dim, &usize)| {
        let Some(formula) = Size::from_dim(dim) else { return true };
        formula.evaluate(&|name| sizes.get(name).copied()) == i64::try_from(*size).ok()
    };
    dims.len() == shape.len() && dims.iter().zip(shape).all(agrees)
}

/// Declares the dimensions of an input of the main graph; false if the graph has no such input, or one of unknown rank.
fn set_dimensions(model: &mut ModelProto, name: &str, dimension: &dyn Fn(usize) -> dimension::Value) -> bool {
    let inputs = model.graph.iter_mut().flat_map(|graph| &mut graph.input);
    let input = inputs.into_iter().find(|info| info.name() == name);
    let kind = input.and_then(|info| info.r#type.as_mut()).and_then(|kind| kind.value.as_mut());
    let Some(type_proto::Value::TensorType(tensor)) = kind else { return false };
    let Some(shape) = &mut tensor.shape else { return false };
    for (at, dim) in shape.dim.iter_mut().enumerate() {
        dim.value = Some(dimension(at));
    }
    true
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures that docs/check.md states, for --nocapture")]
fn inference_never_contradicts_execution_and_finds_what_the_text_decides() {
    let totals = &FOUND.inference;
    let all = totals.by_operator.values().fold(Counts::default(), |sum, counts| sum.plus(*counts));
    println!("all: {all:?}");
    for (operator, counts) in &totals.by_operator {
        if counts.sized < counts.outputs || counts.typed < counts.outputs || counts.formulas < counts.outputs {
            println!("{operator}: {counts:?}");
        }
    }
    let found = &totals.contradictions;
    assert!(found.is_empty(), "{} contradictions:\n{}", found.len(), found[..found.len().min(200)].join("\n"));
    if is_everything_meant() {
        let listed: Vec<(&str, Unknown)> =
            BY_VALUES.iter().map(|(operator, unknown, _)| (*operator, *unknown)).collect();
        assert_eq!(totals.unknown(), listed, "operators with outputs whose sizes are not found, and BY_VALUES");
        let untyped = totals.by_operator.iter().filter(|(_, counts)| counts.typed < counts.outputs);
        let untyped: Vec<&str> = untyped.map(|(operator, _)| operator.as_str()).collect();
        let listed: Vec<&str> = UNTYPED.iter().map(|(operator, _)| *operator).collect();
        assert_eq!(untyped, listed, "operators with outputs whose type is not found, and UNTYPED");
    }
}

#[test]
fn every_kernel_has_a_rule_for_its_shapes() {
    let rows = registry::all().filter(|kernel| !kernel.infers_shapes());
    let missing: Vec<String> = rows.map(|kernel| format!("{:?}", kernel.row())).collect();
    assert!(missing.is_empty(), "no rule for the shapes of {}", missing.join(", "));
}
