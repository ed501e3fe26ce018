//! Single nodes on the executor: constants are folded, and a node that is refused whatever its inputs hold is found.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::executor::{RunError, run};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode,
};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, FormalParameter, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::facts::ValueFact;
use crate::infer::walk::{NodeView, SMALL};

/// How many nodes of a model are run to fold constants, and how many to see whether they are refused.
const RUNS: (usize, usize) = (4096, 4096);

/// The elements that the inputs of a node may have together for it to be run.
const ELEMENTS: usize = 4096;

/// What one run may use.
const RUN_BYTES: usize = 16 << 20;

/// The bytes of the attributes of a node that is run.
const ATTRIBUTES: usize = 64 << 10;

/// Operators whose outputs do not follow from their inputs.
const RANDOM: [&str; 7] =
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"];

/// Inputs that hold positions: 0 is one of theirs wherever there is any.
const POSITIONS: [&str; 4] = ["indices", "ind", "input_ids", "position_ids"];

/// Runs single nodes, within limits.
pub(super) struct Executor {
    deadline: Deadline,
    folds: usize,
    probes: usize,
    /// The refusals that are known, by what was run.
    refusals: HashMap<Vec<u8>, Option<String>>,
}

impl Executor {
    pub(super) fn new(deadline: &Deadline) -> Executor {
        Executor { deadline: deadline.clone(), folds: RUNS.0, probes: RUNS.1, refusals: HashMap::new() }
    }

    /// Computes the outputs of a node all of whose inputs are known.
    pub(super) fn refine(&mut self, view: &NodeView<'_, '_>, outputs: &mut [ValueFact]) {
        if self.folds == 0 || !is_pure(view) {
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
            let fact = ValueFact::of_value(value);
            if output.value_type.is_some() && output.value_type != fact.value_type {
                return;
            }
            let is_small =
                fact.constant.as_ref().and_then(Value::as_tensor).is_some_and(|tensor| tensor.len() <= SMALL);
            *output = if is_small { fact } else { ValueFact { constant: None, ..fact } };
        }
    }

    /// Why a node is refused whatever its inputs hold that are not known; nothing where some values may do.
    pub(super) fn refusal(&mut self, view: &NodeView<'_, '_>) -> Option<String> {
        if self.probes == 0 || !is_pure(view) || view.node.output.iter().all(String::is_empty) {
            return None;
        }
        let mut elements = 0usize;
        for (fact, at) in view.inputs.iter().zip(0..) {
            let Some(fact) = fact else { continue };
            let Some(ValueType::Tensor(element)) = &fact.value_type else { return None };
            let count = fact.sizes()?.iter().try_fold(1usize, |count, size| count.checked_mul(*size))?;
            elements = elements.checked_add(count).filter(|elements| *elements <= ELEMENTS)?;
            let is_free = fact.constant.is_some() || view.spec.input_at(at).is_some_and(|formal| is_data(view, formal));
            if !is_free || element.kind() == Kind::Complex {
                return None;
            }
        }
        let key = key(view)?;
        if let Some(known) = self.refusals.get(&key) {
            return known.clone();
        }
        self.probes -= 1;
        let mut refusal = None;
        for fill in [Fill::Ones, Fill::Zeros, Fill::Halves] {
            let inputs = view.inputs.iter().map(|fact| fact.map_or(Some(None), |fact| fill.value(fact).map(Some)));
            let refused = match inputs.collect::<Option<Vec<_>>>().map(|inputs| self.run(view, &inputs)) {
                Some(Err(Some(message))) => message,
                _ => {
                    refusal = None;
                    break;
                }
            };
            refusal = Some(refused);
        }
        self.refusals.insert(key, refusal.clone());
        refusal
    }

    /// The outputs that have names; or why the node is invalid, or nothing where it is not known to be.
    fn run(&self, view: &NodeView<'_, '_>, inputs: &[Option<Value>]) -> Result<Vec<Value>, Option<String>> {
        let model = model_of(view, inputs).ok_or(None)?;
        let limits = LoadLimits { bytes: RUN_BYTES, deadline: self.deadline.clone() };
        let model = read_model(Bytes::from(model.encode_to_vec()), &NoExternalData, &limits).map_err(|_| None)?;
        let named = inputs.iter().enumerate().filter_map(|(at, value)| Some((input_name(at), value.clone()?)));
        let limits = ExecutionLimits {
            elements: 1 << 20,
            bytes: RUN_BYTES,
            trips: 1 << 10,
            deadline: self.deadline.clone(),
            ..ExecutionLimits::default()
        };
        let named: BTreeMap<String, Value> = named.collect();
        run(&model, named, limits).map_err(|error| match error {
            RunError::Kernel(error) => match error.root() {
                invalid @ (KernelError::Invalid(_)
                | KernelError::Tensor(_)
                | KernelError::Shape(_)
                | KernelError::Axis(_)) => Some(invalid.to_string()),
                _ => None,
            },
            RunError::Input { .. } => None,
        })
    }
}

/// What fills the inputs that are not known.
#[derive(Clone, Copy)]
enum Fill {
    Ones,
    Zeros,
    Halves,
}

impl Fill {
    fn value(self, fact: &ValueFact) -> Option<Value> {
        if let Some(constant) = &fact.constant {
            return Some(constant.clone());
        }
        let Some(ValueType::Tensor(element)) = fact.value_type else { return None };
        let shape = fact.sizes()?;
        let count = shape.iter().product();
        let tensor = match (element.kind(), self) {
            (Kind::String, _) => Tensor::of_strings(&shape, &vec![if self as u8 == 0 { "a" } else { "" }; count]),
            (Kind::Float, Fill::Halves) => Tensor::of_floats(element, &shape, &vec![0.5; count]),
            (Kind::Float, Fill::Ones) => Tensor::of_floats(element, &shape, &vec![1.0; count]),
            (Kind::Float, Fill::Zeros) => Tensor::of_floats(element, &shape, &vec![0.0; count]),
            (_, fill) => Tensor::of_integers(element, &shape, &vec![i128::from(matches!(fill, Fill::Ones)); count]),
        };
        tensor.ok().map(Value::Tensor)
    }
}

/// Whether the node's outputs follow from inputs and attributes alone, and the executor may try it.
fn is_pure(view: &NodeView<'_, '_>) -> bool {
    let version = &view.spec.version;
    let has_graph = view.attributes.all().any(|(_, attribute)| attribute.g.is_some() || !attribute.graphs.is_empty());
    let is_large = || view.node.attribute.iter().map(Message::encoded_len).sum::<usize>() > ATTRIBUTES;
    let is_known = [DEFAULT_DOMAIN, "ai.onnx.ml"].contains(&version.domain.as_str());
    is_known && !RANDOM.contains(&version.name.as_str()) && !has_graph && !view.attributes.any_open() && !is_large()
}

/// Whether any value may stand at an input: not a shape, an axis or a count, of which the right one is not known.
fn is_data(view: &NodeView<'_, '_>, formal: &FormalParameter) -> bool {
    let is_measure =
        |value_type: &ValueType| matches!(value_type, ValueType::Tensor(ElementType::Int64 | ElementType::Int32));
    let allowed = view.spec.allowed(&formal.kind);
    !allowed.iter().all(is_measure) || POSITIONS.contains(&formal.name.to_ascii_lowercase().as_str())
}

fn input_name(at: usize) -> String {
    format!("i{at}")
}

/// The model of the node alone.
fn model_of(view: &NodeView<'_, '_>, inputs: &[Option<Value>]) -> Option<ModelProto> {
    let attribute = |(name, attribute): (&str, &AttributeProto)| AttributeProto {
        name: Some(name.to_owned()),
        ref_attr_name: None,
        ..attribute.clone()
    };
    let output = |(at, name): (usize, &String)| if name.is_empty() { String::new() } else { format!("o{at}") };
    let node = NodeProto {
        op_type: view.node.op_type.clone(),
        domain: view.node.domain.clone(),
        attribute: view.attributes.all().map(attribute).collect(),
        input: inputs
            .iter()
            .enumerate()
            .map(|(at, value)| value.as_ref().map_or(String::new(), |_| input_name(at)))
            .collect(),
        output: view.node.output.iter().enumerate().map(output).collect(),
        ..NodeProto::default()
    };
    let info = |(at, value): (usize, &Option<Value>)| {
        let value = value.as_ref()?;
        let shape = value.as_tensor().map(Tensor::shape);
        let value_type = encode::value_type(&value.value_type(), shape);
        Some(ValueInfoProto { name: Some(input_name(at)), r#type: Some(value_type), ..ValueInfoProto::default() })
    };
    // The executor does not look at what outputs are declared as.
    let float = encode::value_type(&ValueType::Tensor(ElementType::Float), None);
    let declare = |name: &String| ValueInfoProto {
        name: Some(name.clone()),
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
    let import = OperatorSetIdProto { domain: view.node.domain.clone(), version: Some(view.opset) };
    Some(ModelProto {
        ir_version: Some(i64::from(newest)),
        opset_import: vec![import],
        graph: Some(graph),
        ..ModelProto::default()
    })
}

/// What a refusal follows from: operator, attributes, types, shapes and constants.
fn key(view: &NodeView<'_, '_>) -> Option<Vec<u8>> {
    let zeros: Vec<Option<Value>> = view
        .inputs
        .iter()
        .map(|fact| fact.map_or(Some(None), |fact| Fill::Zeros.value(fact).map(Some)))
        .collect::<Option<_>>()?;
    let constants: Vec<&Value> = view.inputs.iter().filter_map(|fact| fact.as_ref()?.constant.as_ref()).collect();
    let mut key = model_of(view, &zeros)?.encode_to_vec();
    key.extend(format!("{constants:?}").into_bytes());
    Some(key)
}
