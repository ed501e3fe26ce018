//! Execution of single nodes: folds constants, and finds nodes that fail for all values of their unknown inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::{HashMap, HashMapExt as _};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::executor::{RunError, run};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{Dim, LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, Text, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::{Neutral, Specs};
use onnx_conformance_reference::tensor::shape::element_count;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, Sequence, Value};

use crate::facts::ValueFact;
use crate::infer::digest::{Digest, Digester};
use crate::infer::symbols::{self, Formulas};
use onnx_conformance_reference::infer::{MAX_CONSTANT, NodeView, axis_of};

/// Maximum number of node runs for constant folding.
const MAX_FOLDS: usize = 2048;

/// Maximum number of nodes to run for finding failures.
const MAX_PROBES: usize = 2048;

/// Maximum number of elements in all inputs of a node to run.
const MAX_ELEMENTS: usize = 4096;

/// The same for sizes that are tried for free dimensions. Their inputs repeat one element, and most of these runs end
/// before they compute anything.
const MAX_BOUND_ELEMENTS: usize = 1 << 20;

/// Maximum number of items of an unknown sequence.
const MAX_ITEMS: usize = 1024;

/// Limits of a run: bytes, and elements of one tensor. Beyond them, the result is unknown.
const MAX_RUN_BYTES: usize = 4 << 20;
const MAX_RUN_ELEMENTS: usize = 64 << 10;

/// Maximum size of the attributes of a node to run, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// Executor of single nodes, within limits.
pub(super) struct Executor {
    deadline: Deadline,
    folds: usize,
    probes: usize,
    /// Known failures, by the digest of the node and its inputs.
    refusals: HashMap<Digest, Option<String>>,
    digester: Digester,
}

impl Executor {
    pub(super) fn new(deadline: &Deadline) -> Executor {
        Executor {
            deadline: deadline.clone(),
            folds: MAX_FOLDS,
            probes: MAX_PROBES,
            refusals: HashMap::new(),
            digester: Digester::default(),
        }
    }

    pub(super) fn disable_probes(&mut self) {
        self.probes = 0;
    }

    /// Computes the outputs of a node if all of its inputs are constants.
    pub(super) fn refine(&mut self, view: &NodeView<'_, '_>, outputs: &mut [ValueFact]) {
        if self.folds == 0 || !can_run_alone(view) || view.spec.facts.draws.is_possible() {
            return;
        }
        let inputs: Option<Vec<Option<Value>>> = view
            .inputs
            .iter()
            .map(|fact| fact.map(|fact| fact.constant.clone()).map_or(Some(None), |value| value.map(Some)))
            .collect();
        let Some(inputs) = inputs else { return };
        self.folds -= 1;
        let Ok(values) = self.run(view, &inputs) else { return };
        let mut values = values.into_iter();
        for (output, name) in outputs.iter_mut().zip(&view.node.output) {
            if name.is_empty() {
                continue;
            }
            let Some(value) = values.next() else { return };
            let fact = ValueFact::from_value(value);
            if output.value_type.is_some() && output.value_type != fact.value_type {
                return;
            }
            let is_small =
                fact.constant.as_ref().and_then(Value::as_tensor).is_some_and(|tensor| tensor.len() <= MAX_CONSTANT);
            *output = if is_small { fact } else { ValueFact { constant: None, ..fact } };
        }
    }

    /// Returns the reason if a node fails for all values of its unknown inputs; `None` if some values may be valid.
    pub(super) fn refusal(&mut self, view: &NodeView<'_, '_>) -> Option<String> {
        if self.probes == 0
            || !can_run_alone(view)
            || needs_more_than_inputs(view)
            || view.node.output.iter().all(Text::is_empty)
        {
            return None;
        }
        let sizes = assumed_sizes(view)?;
        // If sizes are assumed, only a failure for all sizes counts.
        let is_assumed = sizes == Sizes::AllOne || view.inputs.iter().flatten().any(|fact| has_unknown_sizes(fact));
        let key = key(&self.digester, view);
        if let Some(known) = self.refusals.get(&key) {
            return known.clone();
        }
        self.probes -= 1;
        let refusal = match self.probe(view, sizes) {
            Some(refused) if has_unknown_parameter(view) => refused.is_for_all_values.then_some(refused.message),
            Some(refused) if refused.is_for_all_sizes || !is_assumed => Some(refused.message),
            Some(_) => self.refusal_for_all_sizes(view),
            None => None,
        };
        self.refusals.insert(key, refusal.clone());
        refusal
    }

    /// Runs a node on values of each kind, and returns the reason if it fails for all of them.
    fn probe(&self, view: &NodeView<'_, '_>, sizes: Sizes) -> Option<Invalid> {
        let mut refusal: Option<Invalid> = None;
        for fill in [Fill::Ones, Fill::Zeros, Fill::Halves] {
            let refused = (Probe { fill, sizes }).inputs(view).and_then(|inputs| self.run(view, &inputs).err())??;
            let (sizes, values) =
                refusal.map_or((true, true), |first| (first.is_for_all_sizes, first.is_for_all_values));
            refusal = Some(Invalid {
                is_for_all_sizes: sizes && refused.is_for_all_sizes,
                is_for_all_values: values && refused.is_for_all_values,
                ..refused
            });
        }
        refusal
    }

    /// Returns the reason if a node fails for every size of its free dimensions that is tried.
    fn refusal_for_all_sizes(&self, view: &NodeView<'_, '_>) -> Option<String> {
        let independent = || symbols::assignments(view, Formulas::Independent).filter(|_| symbols::has_formulas(view));
        let mut refusal = None;
        for facts in symbols::assignments(view, Formulas::Evaluated).or_else(independent)? {
            let bound = NodeView { inputs: facts.iter().map(Option::as_ref).collect(), ..*view };
            let mut counts = bound.inputs.iter().flatten().map(|fact| element_count(&fact.sizes()?).ok());
            let elements = counts.try_fold(0usize, |sum, count| sum.checked_add(count?));
            elements.filter(|elements| *elements <= MAX_BOUND_ELEMENTS)?;
            if self.deadline.is_over() {
                return None;
            }
            let refused = self.probe(&bound, Sizes::Known)?;
            refusal.get_or_insert(refused);
        }
        // The first assignment gives the message.
        refusal
            .map(|refusal| format!("{} (with examples of the unknown dimensions; no size is valid)", refusal.message))
    }

    /// Returns the outputs that have names. The error is the reason why the node is invalid, or `None` if that is
    /// unknown.
    fn run(&self, view: &NodeView<'_, '_>, inputs: &[Option<Value>]) -> Result<Vec<Value>, Option<Invalid>> {
        let model = model_of(view, inputs).ok_or(None)?;
        let limits = LoadLimits { bytes: MAX_RUN_BYTES, deadline: self.deadline.clone() };
        let model = read_model(Bytes::from(model.encode_to_vec()), &NoExternalData, &limits).map_err(|_| None)?;
        let named = inputs.iter().enumerate().filter_map(|(at, value)| Some((input_name(at), value.clone()?)));
        let limits = ExecutionLimits {
            elements: MAX_RUN_ELEMENTS,
            bytes: MAX_RUN_BYTES,
            trips: 1 << 10,
            deadline: self.deadline.clone(),
            ..ExecutionLimits::default()
        };
        let named: BTreeMap<String, Value> = named.collect();
        run(&model, named, limits).map_err(|error| match error {
            RunError::Kernel(error) => match error.root() {
                invalid @ (KernelError::Invalid { .. }
                | KernelError::Tensor(_)
                | KernelError::Shape(_)
                | KernelError::Axis { .. }) => {
                    let is_for_all_values = matches!(invalid, KernelError::Invalid { for_all_sizes: true, .. });
                    Some(Invalid {
                        message: invalid.to_string(),
                        is_for_all_sizes: is_for_all_values || matches!(invalid, KernelError::Axis { .. }),
                        is_for_all_values,
                    })
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// Reason why a node is invalid.
struct Invalid {
    message: String,
    /// True if it follows from the attributes, the ranks of the inputs, and the axes that inputs give.
    is_for_all_sizes: bool,
    /// True if it follows from the attributes and the ranks of the inputs alone.
    is_for_all_values: bool,
}

/// Sizes of the unknown inputs of a node to run.
#[derive(Clone, Copy, PartialEq)]
enum Sizes {
    /// Known sizes; the others are 1.
    Known,
    /// All 1, for inputs that are too large: a failure may still be one for all sizes.
    AllOne,
}

impl Sizes {
    /// The sizes of a tensor of known rank.
    fn resolve(self, fact: &ValueFact) -> Option<Vec<usize>> {
        let size = |dim: &Dim| match dim {
            Dim::Size(size) if self == Sizes::Known => *size,
            _ => 1,
        };
        Some(fact.shape.as_ref()?.iter().map(size).collect())
    }
}

/// Returns true if a node has an unknown input without a value that is known to be valid.
fn has_unknown_parameter(view: &NodeView<'_, '_>) -> bool {
    let is_unknown = |fact: &ValueFact, at| fact.constant.is_none() && neutral(view, at) == Some(Neutral::Unknown);
    view.inputs.iter().zip(0..).any(|(fact, at)| fact.is_some_and(|fact| is_unknown(fact, at)))
}

fn has_unknown_sizes(fact: &ValueFact) -> bool {
    matches!(fact.value_type, Some(ValueType::Tensor(_))) && fact.constant.is_none() && fact.sizes().is_none()
}

/// The number of items for an unknown sequence: enough for the position that the node reads or writes. `None` if that is too many.
fn item_count(view: &NodeView<'_, '_>) -> Option<usize> {
    let is_position = |at: usize| view.spec.input_at(at).is_some_and(|formal| formal.name == "position");
    let mut positions = view.inputs.iter().zip(0..).filter(|(_, at)| is_position(*at)).filter_map(|(fact, _)| *fact);
    let constant = positions.next().and_then(|fact| fact.constant.as_ref()?.as_tensor());
    let position = constant.and_then(|tensor| tensor.indices().first().copied()).unwrap_or(0);
    let count = usize::try_from(position.unsigned_abs()).ok()?.checked_add(1)?;
    Some(count.max(2)).filter(|count| *count <= MAX_ITEMS)
}

/// The sizes to run a node with; `None` if its inputs cannot be assumed.
fn assumed_sizes(view: &NodeView<'_, '_>) -> Option<Sizes> {
    // `None` if there are too many.
    let mut elements = Some(0usize);
    for (fact, at) in view.inputs.iter().zip(0..) {
        let Some(fact) = fact.filter(|fact| fact.constant.is_none()) else { continue };
        let count = match (&fact.value_type, neutral(view, at)) {
            (Some(ValueType::Tensor(element)), _) if element.kind() != Kind::Complex => {
                Sizes::Known.resolve(fact)?.iter().try_fold(1usize, |count, size| count.checked_mul(*size))
            }
            (Some(ValueType::Sequence(_)), Some(Neutral::Items)) => Some(2 * item_count(view)?),
            (Some(ValueType::Map(..)), Some(Neutral::Empty)) => Some(0),
            _ => return None,
        };
        elements = elements.and_then(|sum| sum.checked_add(count?)).filter(|sum| *sum <= MAX_ELEMENTS);
    }
    match elements {
        Some(_) => Some(Sizes::Known),
        None => (view.inputs.len() <= MAX_ELEMENTS).then_some(Sizes::AllOne),
    }
}

/// Values for unknown data inputs.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    Ones,
    Zeros,
    Halves,
}

/// Inputs of a run that tests whether a node can be valid.
#[derive(Clone, Copy)]
struct Probe {
    fill: Fill,
    sizes: Sizes,
}

impl Probe {
    /// Returns a value for each input.
    fn inputs(self, view: &NodeView<'_, '_>) -> Option<Vec<Option<Value>>> {
        let input = |(fact, at): (Option<&ValueFact>, usize)| match fact {
            None => Some(None),
            Some(fact) => self.input(view, fact, at).map(Some),
        };
        view.inputs.iter().copied().zip(0..).map(input).collect()
    }

    fn input(self, view: &NodeView<'_, '_>, fact: &ValueFact, at: usize) -> Option<Value> {
        if let Some(constant) = &fact.constant {
            return Some(constant.clone());
        }
        match fact.value_type.as_ref()? {
            ValueType::Tensor(element) => {
                let shape = self.sizes.resolve(fact)?;
                let tensor = match neutral(view, at) {
                    Some(neutral) if neutral != Neutral::Unknown => {
                        Tensor::of_integers(*element, &shape, &integers(neutral, view, self.sizes, &shape)?).ok()
                    }
                    _ => self.fill.tensor(*element, &shape),
                };
                tensor.map(Value::Tensor)
            }
            ValueType::Map(key_type, value_type) => Some(Value::Map(Map {
                key_type: *key_type,
                value_type: (**value_type).clone(),
                entries: Arc::default(),
            })),
            ValueType::Sequence(item) => {
                let ValueType::Tensor(element) = **item else { return None };
                // bounded: by MAX_ITEMS.
                let items = vec![Value::Tensor(self.fill.tensor(element, &[2])?); item_count(view)?];
                Some(Value::Sequence(Sequence::new((**item).clone(), items)))
            }
            _ => None,
        }
    }
}

impl Fill {
    /// A tensor that repeats one element and takes the memory of that element; strings are written out.
    fn tensor(self, element: ElementType, shape: &[usize]) -> Option<Tensor> {
        let one = match (element.kind(), self) {
            (Kind::String, Fill::Ones) => Tensor::of_strings(&[], &["1"]),
            (Kind::String, Fill::Zeros) => Tensor::of_strings(&[], &["0"]),
            (Kind::String, Fill::Halves) => Tensor::of_strings(&[], &[""]),
            (Kind::Float, Fill::Ones) => Tensor::of_floats(element, &[], &[1.0]),
            (Kind::Float, Fill::Zeros) => Tensor::of_floats(element, &[], &[0.0]),
            (Kind::Float, Fill::Halves) => Tensor::of_floats(element, &[], &[0.5]),
            (_, fill) => Tensor::of_integers(element, &[], &[i128::from(fill == Fill::Ones)]),
        };
        let is_small = element.kind() != Kind::String || element_count(shape).is_ok_and(|count| count <= MAX_ELEMENTS);
        let builder = TensorBuilder::unlimited(element, shape.to_vec()).ok().filter(|_| is_small)?;
        // bounded: one element, or as many strings as were counted.
        builder.repeat(&one.ok()?).ok()
    }
}

/// The neutral elements of a tensor of this shape.
fn integers(neutral: Neutral, view: &NodeView<'_, '_>, sizes: Sizes, shape: &[usize]) -> Option<Vec<i128>> {
    let count = element_count(shape).ok().filter(|count| *count <= MAX_ELEMENTS)?;
    let size = |dim: Option<&Dim>| match dim {
        Some(Dim::Size(size)) => i128::try_from(*size).ok(),
        _ => None,
    };
    let first = |value: i128, rest: i128| std::iter::once(value).chain(std::iter::repeat(rest)).take(count).collect();
    Some(match neutral {
        Neutral::Zeros => repeated(0, count),
        Neutral::Ones => repeated(1, count),
        Neutral::Counting => (0i128..).take(count).collect(),
        Neutral::Batch => first(size(view.shape(0)?.first())?, 1),
        Neutral::Parts if shape.is_empty() => vec![1],
        Neutral::Parts => {
            let dims = view.shape(0)?;
            let axis = axis_of(view.attributes.int("axis").unwrap_or(0), Some(dims.len()))?;
            first(size(dims.get(axis))?, 0)
        }
        // Known indices of `MaxUnpool` may be out of range for the assumed shape.
        Neutral::Same if view.inputs.get(1).copied().flatten()?.constant.is_some() => return None,
        Neutral::Same => {
            let sizes = sizes.resolve(view.inputs.first().copied().flatten()?)?;
            let sizes = sizes.into_iter().chain(std::iter::repeat(1)).take(count);
            sizes.map(|size| i128::try_from(size).ok()).collect::<Option<_>>()?
        }
        Neutral::SingleAxes => {
            let dims = view.shape(0)?;
            let (single, others): (Vec<usize>, Vec<usize>) =
                (0..dims.len()).partition(|axis| dims.get(*axis) == Some(&Dim::Size(1)));
            let axes = single.into_iter().chain(others).chain(std::iter::repeat(0)).take(count);
            axes.map(|axis| i128::try_from(axis).ok()).collect::<Option<_>>()?
        }
        Neutral::Window => {
            let window = view.inputs.get(2).copied().flatten();
            let length = window.map_or(Some(1), |_| size(view.shape(2)?.first()));
            repeated(length?, count)
        }
        Neutral::Items | Neutral::Empty | Neutral::Unknown => return None,
    })
}

/// Repeats an element for an unknown input.
fn repeated<T: Clone>(element: T, count: usize) -> Vec<T> {
    // bounded: by MAX_ELEMENTS.
    std::iter::repeat_n(element, count).collect()
}

/// True if the node can run alone: it has no subgraphs and no unknown attributes.
fn can_run_alone(view: &NodeView<'_, '_>) -> bool {
    let has_graph = view.attributes.all().any(|(_, attribute)| attribute.g.is_some() || !attribute.graphs.is_empty());
    let is_large = || view.node.attribute.iter().map(Message::encoded_len).sum::<usize>() > MAX_ATTRIBUTE_BYTES;
    !has_graph && !view.attributes.any_open() && !is_large()
}

/// True if runs on assumed inputs prove nothing: `Gradient` reads the graph around it, and `OneHotEncoder` refuses all values
/// except its categories.
fn needs_more_than_inputs(view: &NodeView<'_, '_>) -> bool {
    match view.spec.version.name.as_str() {
        "Gradient" => true,
        "OneHotEncoder" => view.attributes.int("zeros") == Some(0),
        _ => false,
    }
}

/// The neutral value of an input; `None` if it is data, which may have any value.
fn neutral(view: &NodeView<'_, '_>, at: usize) -> Option<Neutral> {
    view.spec.facts.neutral.get(&view.spec.input_at(at)?.name).copied()
}

fn input_name(at: usize) -> String {
    format!("i{at}")
}

/// Builds a model with this node only.
fn model_of(view: &NodeView<'_, '_>, inputs: &[Option<Value>]) -> Option<ModelProto> {
    let attribute = |(name, attribute): (&str, &AttributeProto)| AttributeProto {
        name: Some(name.to_owned()),
        ref_attr_name: None,
        ..attribute.clone()
    };
    let output = |(at, name): (usize, &Text)| if name.is_empty() { Text::new() } else { format!("o{at}").into() };
    let node = NodeProto {
        op_type: view.node.op_type.clone(),
        domain: view.node.domain.clone(),
        attribute: view.attributes.all().map(attribute).collect(),
        input: texts(
            inputs.iter().enumerate().map(|(at, value)| value.as_ref().map_or(String::new(), |_| input_name(at))),
        ),
        output: view.node.output.iter().enumerate().map(output).collect(),
        ..NodeProto::default()
    };
    let info = |(at, value): (usize, &Option<Value>)| {
        let value = value.as_ref()?;
        let shape = value.as_tensor().map(Tensor::shape);
        let value_type = encode::value_type(&value.value_type(), shape);
        Some(ValueInfoProto { name: Some(input_name(at)), r#type: Some(value_type), ..ValueInfoProto::default() })
    };
    // The executor ignores the declared types of outputs.
    let float = encode::value_type(&ValueType::Tensor(ElementType::Float), None);
    let declare = |name: &Text| ValueInfoProto {
        name: Some(name.to_string()),
        r#type: Some(float.clone()),
        ..ValueInfoProto::default()
    };
    let graph = GraphProto {
        input: inputs.iter().enumerate().filter_map(info).collect(),
        output: node.output.iter().filter(|name| !name.is_empty()).map(declare).collect(),
        node: vec![node],
        name: Some("node".to_owned()),
        ..GraphProto::default()
    };
    let newest = Specs::embedded().releases().ok()?.newest()?.ir;
    let import =
        OperatorSetIdProto { domain: view.node.domain.as_ref().map(ToString::to_string), version: Some(view.opset) };
    Some(ModelProto {
        ir_version: Some(i64::from(newest)),
        opset_import: vec![import],
        graph: Some(graph),
        ..ModelProto::default()
    })
}

/// Digest of everything that determines a failure: operator, opset, attributes, types, shapes, constants, and used
/// outputs.
fn key(digester: &Digester, view: &NodeView<'_, '_>) -> Digest {
    let mut key = digester.begin();
    // An operator version has one specification.
    key.hashed(&(std::ptr::from_ref(view.spec).addr(), view.opset));
    key.bytes(&view.node.output.iter().map(|name| u8::from(!name.is_empty())).collect::<Vec<u8>>());
    for (name, attribute) in view.attributes.all() {
        key.bytes(name.as_bytes());
        key.bytes(&attribute.encode_to_vec());
    }
    for fact in &view.inputs {
        let constant = fact.and_then(|fact| fact.constant.as_ref());
        key.hashed(&fact.map(|fact| (&fact.value_type, &fact.shape, &fact.elements, constant.is_some())));
        if let Some(constant) = constant {
            key.text(format_args!("{constant:?}"));
        }
    }
    key.end()
}
