//! Single-node models: a node extracted from a model, to reproduce its behaviour on any runtime.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use onnx_conformance_check::Source;
use onnx_conformance_check::facts::ValueFact;
use onnx_conformance_check::infer::{Definition, Inferred, NodeId, ValueId};
use onnx_conformance_check::scan::Scan;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::{TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, Text,
    ValueInfoProto, encode,
};
use onnx_conformance_reference::types::ValueType;

/// Maximum number of bytes of a tensor that is copied into a single-node model.
const MAX_WEIGHTS: u64 = 256 << 20;

/// First IR version in which initializers need not be inputs.
const PLAIN_INITIALIZERS: i64 = 4;

/// A checked model to extract nodes from.
pub(super) struct Origin<'a> {
    pub(super) scan: &'a Scan,
    pub(super) inferred: &'a Inferred<'a>,
    /// The file, to read the elements of tensors that the scan skipped.
    pub(super) file: &'a dyn Source,
    /// The file's folder, which has its external data; `None` for a model in memory.
    pub(super) home: Option<&'a Path>,
}

/// Reason why a node cannot be extracted.
#[derive(Debug, thiserror::Error)]
pub(super) enum SingleNodeError {
    /// The id is unknown.
    #[error("the node does not exist")]
    NoNode,
    /// The node reads an undefined name.
    #[error("'{0}' is not defined")]
    Undefined(String),
    /// An attribute of a function's node refers to an attribute of the call.
    #[error("attribute '{0}' is set by the caller of its function")]
    CallerAttribute(String),
    /// A tensor is external data, or too large to be copied.
    #[error("the elements of tensor '{tensor}' in attribute '{attribute}' are not in the model file, or too large")]
    Elements {
        /// Name of the tensor.
        tensor: String,
        /// Name of the attribute.
        attribute: String,
    },
    /// The type of an input or output is not inferred.
    #[error("the type of {role} '{name}' is unknown")]
    UnknownType {
        /// `input` or `output`.
        role: &'static str,
        /// Name of the value.
        name: String,
    },
}

/// Parts of a single-node model.
#[derive(Default)]
struct Parts {
    inputs: Vec<ValueInfoProto>,
    initializers: Vec<TensorProto>,
}

impl Origin<'_> {
    /// Returns the model of a node, or the reason why there is none. Its inputs are graph inputs with the known types and shapes,
    /// or initializers if their values are known before the model runs. Opsets, IR version and called functions are the model's.
    pub(super) fn single_node(&self, id: NodeId) -> Result<ModelProto, SingleNodeError> {
        let mut node = self.inferred.bodies.node(id).ok_or(SingleNodeError::NoNode)?.clone();
        self.complete(&mut node)?;
        let mut parts = Parts::default();
        for name in names_read(&node) {
            let value = self.inferred.bodies.lookup(id.body, &name);
            self.add(&mut parts, &name, value.ok_or_else(|| SingleNodeError::Undefined(name.clone()))?)?;
        }
        let scanned = &self.scan.model;
        if scanned.ir_version() < PLAIN_INITIALIZERS {
            parts.declare_initializers();
        }
        let output = |name: &Text| {
            let fact = self.inferred.value(id.body, name).cloned().unwrap_or_default();
            described(name, &fact, "output")
        };
        let outputs = node.output.iter().filter(|name| !name.is_empty()).map(output);
        let has_functions = self.inferred.bodies.function_of(&node).is_some() || has_graphs(&node);
        let graph = GraphProto {
            name: Some(format!("{} alone", node.op_type())),
            input: parts.inputs,
            initializer: parts.initializers,
            output: outputs.collect::<Result<_, SingleNodeError>>()?,
            node: vec![node],
            ..GraphProto::default()
        };
        let import = |(domain, version): (&String, &i64)| OperatorSetIdProto {
            domain: Some(domain.clone()),
            version: Some(*version),
        };
        Ok(ModelProto {
            ir_version: scanned.ir_version,
            producer_name: Some("onnx-conformance".to_owned()),
            opset_import: self.inferred.bodies.imports(id.body).iter().map(import).collect(),
            functions: if has_functions { scanned.functions.clone() } else { Vec::new() },
            graph: Some(graph),
            ..ModelProto::default()
        })
    }

    /// Adds a value that the node reads: as an initializer if it is known, else as an input.
    fn add(&self, parts: &mut Parts, name: &str, value: ValueId) -> Result<(), SingleNodeError> {
        let fact = self.inferred.fact(value).cloned().unwrap_or_default();
        if let Some(tensor) = self.stored(value) {
            parts.initializers.push(TensorProto { name: Some(name.to_owned()), ..tensor });
            return Ok(());
        }
        match fact.constant.as_ref().and_then(|constant| constant.as_tensor()) {
            Some(tensor) => parts.initializers.push(encode::tensor(tensor, name)),
            None => parts.inputs.push(described(name, &fact, "input")?),
        }
        Ok(())
    }

    /// Returns the whole tensor of an initializer that is not an input, or of a `Constant`.
    fn stored(&self, value: ValueId) -> Option<TensorProto> {
        let bodies = &self.inferred.bodies;
        let site = bodies.site(value)?;
        let body = bodies.body(site.body);
        let tensor = match site.definition {
            Definition::Initializer(at) => body.graph()?.initializer.get(at)?,
            Definition::Node(index, _) => {
                let node = body.nodes().get(index).filter(|node| node.op_type() == "Constant")?;
                let value = node.attribute.iter().find(|attribute| attribute.name() == "value")?;
                value.t.as_deref()?
            }
            Definition::Input(_) | Definition::SparseInitializer(_) => return None,
        };
        self.whole(tensor)
    }

    /// Returns a tensor with its elements, if they are stored in the model's file.
    fn whole(&self, tensor: &TensorProto) -> Option<TensorProto> {
        if tensor.data_location() == DataLocation::External {
            return None;
        }
        let Some(stored) = self.scan.stored(tensor) else { return Some(tensor.clone()) };
        let [field] = stored.fields.as_slice() else { return None };
        let is_singles = field.listed == 0 && field.singles > 0;
        if stored.is_segment || field.bytes > MAX_WEIGHTS || !(is_singles || field.singles == 0) {
            return None;
        }
        let mut encoded = Vec::new();
        for &(offset, length) in &field.parts {
            let mut part = vec![0; usize::try_from(length).ok()?];
            self.file.read_at(offset, &mut part).ok()?;
            encoded.extend(if is_singles { part } else { encode::field(field.field as u32, length, &part) });
        }
        let mut whole = TensorProto { segment: None, ..tensor.clone() };
        whole.merge(encoded.as_slice()).ok()?;
        Some(whole)
    }

    /// Restores the tensor elements that the scan skipped, in attributes and subgraphs.
    fn complete(&self, node: &mut NodeProto) -> Result<(), SingleNodeError> {
        for attribute in &mut node.attribute {
            if !attribute.ref_attr_name().is_empty() {
                return Err(SingleNodeError::CallerAttribute(attribute.name().to_owned()));
            }
            let graphs = attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs);
            let tensors = attribute.t.as_deref_mut().into_iter().chain(&mut attribute.tensors);
            let mut tensors: Vec<&mut TensorProto> = tensors.collect();
            for graph in graphs {
                tensors.extend(&mut graph.initializer);
                graph.node.iter_mut().try_for_each(|node| self.complete(node))?;
            }
            for tensor in tensors {
                let name = attribute.name.clone().unwrap_or_default();
                *tensor = self
                    .whole(tensor)
                    .ok_or_else(|| SingleNodeError::Elements { tensor: tensor.name().to_owned(), attribute: name })?;
            }
        }
        Ok(())
    }
}

impl Parts {
    /// Also declares every initializer as an input.
    fn declare_initializers(&mut self) {
        for tensor in &self.initializers {
            let shape: Vec<usize> = tensor.dims.iter().filter_map(|dim| usize::try_from(*dim).ok()).collect();
            let element = ElementType::from_code(tensor.data_type());
            if let Some(element) = element {
                let value_type = ValueType::Tensor(element);
                self.inputs.push(ValueInfoProto {
                    name: tensor.name.clone(),
                    r#type: Some(encode::value_type(&value_type, Some(&shape))),
                    ..ValueInfoProto::default()
                });
            }
        }
    }
}

/// Declares a value with its known type and shape.
fn described(name: &str, fact: &ValueFact, role: &'static str) -> Result<ValueInfoProto, SingleNodeError> {
    let known = fact.value_type.as_ref().ok_or_else(|| SingleNodeError::UnknownType { role, name: name.to_owned() })?;
    let mut declared = encode::value_type(known, None);
    if let (Some(shape), Some(type_proto::Value::TensorType(tensor))) = (&fact.shape, &mut declared.value) {
        let dim = |dim: &Dim| Dimension {
            value: match dim {
                Dim::Size(size) => i64::try_from(*size).ok().map(dimension::Value::DimValue),
                Dim::Name(name) => Some(dimension::Value::DimParam(name.to_string())),
                // Equal formulas have equal texts, so they stay one dimension.
                Dim::Sum(_) => Some(dimension::Value::DimParam(dim.to_string())),
                Dim::Unknown => None,
            },
            ..Dimension::default()
        };
        tensor.shape = Some(TensorShapeProto { dim: shape.iter().map(dim).collect() });
    }
    Ok(ValueInfoProto { name: Some(name.to_owned()), r#type: Some(declared), ..ValueInfoProto::default() })
}

/// Returns the names that a node reads: its inputs, and the outer names that its subgraphs use.
pub(super) fn names_read(node: &NodeProto) -> Vec<String> {
    let mut names = Vec::new();
    push_names_read(node, &mut vec![HashSet::new()], &mut names);
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn push_names_read<'a>(node: &'a NodeProto, inner: &mut Vec<HashSet<&'a str>>, names: &mut Vec<String>) {
    let outer = |inner: &Vec<HashSet<&'a str>>, name: &str| {
        !name.is_empty() && !inner.iter().any(|defined| defined.contains(name))
    };
    names.extend(node.input.iter().filter(|name| outer(inner, name)).map(ToString::to_string));
    for graph in node.attribute.iter().flat_map(AttributeProto::all_graphs) {
        let made = graph.node.iter().flat_map(|node| &node.output).map(Text::as_str);
        let given = graph.input.iter().map(ValueInfoProto::name).chain(graph.initializer.iter().map(TensorProto::name));
        inner.push(made.chain(given).collect());
        for node in &graph.node {
            push_names_read(node, inner, names);
        }
        names.extend(graph.output.iter().filter(|info| outer(inner, info.name())).map(|info| info.name().to_owned()));
        inner.pop();
    }
}

fn has_graphs(node: &NodeProto) -> bool {
    node.attribute.iter().any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty())
}
