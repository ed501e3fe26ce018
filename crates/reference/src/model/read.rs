//! Conversion of messages to a model.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use crate::deadline::Deadline;
use crate::model::error::{ModelError, broken};
use crate::model::graph::{
    Attribute, AttributeType, Dim, Function, FunctionKey, Graph, Model, Node, Opsets, Parameter, plain_domain,
};
use crate::proto::decode::{self, DecodeError, ExternalData};
use crate::proto::measure::{DEFAULT_BYTES, Kind, MeasureError, decoded_size};
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    TensorProto, TypeProto, ValueInfoProto, onnx,
};
use crate::spec::Specs;
use crate::tensor::Tensor;
use crate::value::Value;

/// Limits of reading a model. The defaults suit every model of the vendored corpus.
#[derive(Clone, Debug)]
pub struct LoadLimits {
    /// The deadline of reading. Decoding the messages, which the limit of bytes bounds, is a single step.
    pub deadline: Deadline,
    /// The bytes of all messages and tensors, without the file itself. Tensors share the bytes of the file if they can.
    pub bytes: usize,
}

impl Default for LoadLimits {
    fn default() -> LoadLimits {
        LoadLimits { deadline: Deadline::never(), bytes: DEFAULT_BYTES }
    }
}

/// Reads a model and checks everything that can be checked before it runs.
pub fn read_model(bytes: Bytes, external: &dyn ExternalData, limits: &LoadLimits) -> Result<Model, ModelError> {
    // Messages are converted to nodes and names of about the same size, so each counts twice.
    let messages = decoded_size(Kind::Model, &bytes, limits.bytes / 2, &limits.deadline)?;
    let (used, has_constant_inputs) = (Cell::new(2 * messages), Cell::new(false));
    let loader = Loader { external, limits, has_constant_inputs, used };
    let proto = ModelProto::decode(bytes).map_err(DecodeError::from)?;
    let model = loader.model(proto)?;
    super::check::check_model(&model, &limits.deadline)?;
    Ok(model)
}

/// The first version with operator set imports.
const OLDEST_IR_VERSION: i64 = 3;

/// The first version in which constants of a subgraph are not among its inputs.
const IR_OF_CONSTANTS: i64 = 4;

fn check_ir_version(ir_version: i64) -> Result<(), ModelError> {
    let releases = Specs::embedded().releases().map_err(|error| broken("specs/releases.yaml", error.to_string()))?;
    let newest = releases.newest().map_or(OLDEST_IR_VERSION, |release| i64::from(release.ir));
    if (OLDEST_IR_VERSION..=newest).contains(&ir_version) {
        return Ok(());
    }
    let rule = format!("IR version {ir_version} is outside {OLDEST_IR_VERSION} to {newest}, which are supported");
    Err(broken("model", rule))
}

fn opsets(place: &str, protos: &[OperatorSetIdProto]) -> Result<Opsets, ModelError> {
    let mut opsets = Opsets::default();
    for proto in protos {
        let domain = plain_domain(proto.domain());
        if opsets.0.insert(domain.to_owned(), proto.version()).is_some_and(|other| other != proto.version()) {
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            return Err(broken(place, format!("opset_import lists domain '{domain}' with two versions")));
        }
    }
    if opsets.0.is_empty() {
        return Err(broken(place, "opset_import is empty; it must name the version of each domain in use"));
    }
    Ok(opsets)
}

/// Converter of messages to a model, within limits.
struct Loader<'a> {
    external: &'a dyn ExternalData,
    limits: &'a LoadLimits,
    /// True before IR version 4: the constants of a subgraph are among its inputs, after those that the node passes.
    has_constant_inputs: Cell<bool>,
    /// The bytes of messages and tensors so far.
    used: Cell<usize>,
}

impl Loader<'_> {
    fn check_time(&self) -> Result<(), ModelError> {
        if self.limits.deadline.is_over() { Err(MeasureError::Deadline.into()) } else { Ok(()) }
    }

    fn model(&self, proto: ModelProto) -> Result<Model, ModelError> {
        let ir_version = proto.ir_version.ok_or_else(|| broken("model", "ir_version is missing"))?;
        check_ir_version(ir_version)?;
        self.has_constant_inputs.set(ir_version < IR_OF_CONSTANTS);
        let graph = proto.graph.ok_or_else(|| broken("model", "the graph is missing"))?;
        let mut functions = BTreeMap::new();
        for proto in proto.functions {
            let key = FunctionKey {
                domain: plain_domain(proto.domain()).to_owned(),
                name: proto.name().to_owned(),
                overload: proto.overload().to_owned(),
            };
            let function = self.function(proto)?;
            if let Some((key, _)) = functions.get_key_value(&key) {
                return Err(broken(format!("function {key}"), "is defined twice"));
            }
            functions.insert(key, function);
        }
        let (opsets, graph) = (opsets("model", &proto.opset_import)?, self.graph(graph)?);
        Ok(Model { ir_version, opsets, functions, graph, bytes: self.used.get() })
    }

    fn function(&self, proto: FunctionProto) -> Result<Function, ModelError> {
        let place = format!("function '{}'", proto.name());
        let parameters = |names: Vec<String>| {
            names.into_iter().map(|name| Parameter { name, value_type: None, shape: None }).collect()
        };
        let mut body = Graph {
            name: proto.name().to_owned(),
            inputs: parameters(proto.input),
            outputs: parameters(proto.output),
            initializers: BTreeMap::new(),
            nodes: self.nodes(proto.node)?,
            last_uses: Vec::new(),
        };
        body.find_last_uses();
        Ok(Function {
            opsets: opsets(&place, &proto.opset_import)?,
            attributes: proto.attribute,
            defaults: self.attributes(&place, proto.attribute_proto)?,
            body,
        })
    }

    fn graph(&self, proto: GraphProto) -> Result<Graph, ModelError> {
        let place = format!("graph '{}'", proto.name());
        let mut initializers = BTreeMap::new();
        let mut add = |name: &str, value: Value| {
            if name.is_empty() {
                return Err(broken(&place, "an initializer has no name"));
            }
            match initializers.insert(name.to_owned(), value) {
                Some(_) => Err(broken(&place, format!("duplicate initializer '{name}'"))),
                None => Ok(()),
            }
        };
        for proto in proto.initializer {
            add(proto.name(), Value::Tensor(self.tensor(&proto)?))?;
        }
        for proto in proto.sparse_initializer {
            let name = proto.values.as_ref().map_or("", |values| values.name());
            add(name, self.sparse(&proto)?)?;
        }
        let parameters = |infos: Vec<ValueInfoProto>| -> Result<Vec<Parameter>, ModelError> {
            infos.iter().map(|info| parameter(&place, info)).collect()
        };
        let mut graph = Graph {
            inputs: parameters(proto.input)?,
            outputs: parameters(proto.output)?,
            initializers,
            nodes: self.nodes(proto.node)?,
            name: proto.name.unwrap_or_default(),
            last_uses: Vec::new(),
        };
        graph.find_last_uses();
        Ok(graph)
    }

    /// Converts a subgraph. Its inputs are those that the node passes.
    fn subgraph(&self, proto: GraphProto) -> Result<Graph, ModelError> {
        let mut graph = self.graph(proto)?;
        let initializers = &graph.initializers;
        let is_constant = |input: &&Parameter| initializers.contains_key(&input.name);
        let constants = graph.inputs.iter().rev().take_while(is_constant).count();
        let problem = if !self.has_constant_inputs.get() {
            graph.inputs.iter().find(is_constant).map(|input| (&input.name, "is also an input"))
        } else if graph.inputs.iter().filter(is_constant).count() > constants {
            let first = graph.inputs.iter().find(is_constant);
            first.map(|input| (&input.name, "is listed before an input without a value"))
        } else {
            let inputs: HashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
            let other = initializers.keys().find(|name| !inputs.contains(name.as_str()));
            other.map(|name| (name, "is not an input, which IR version 3 requires"))
        };
        if let Some((name, rule)) = problem {
            return Err(broken(format!("graph '{}'", graph.name), format!("initializer '{name}' {rule}")));
        }
        graph.inputs.truncate(graph.inputs.len() - if self.has_constant_inputs.get() { constants } else { 0 });
        Ok(graph)
    }

    fn nodes(&self, protos: Vec<NodeProto>) -> Result<Vec<Node>, ModelError> {
        protos.into_iter().map(|proto| self.node(proto)).collect()
    }

    fn node(&self, proto: NodeProto) -> Result<Node, ModelError> {
        self.check_time()?;
        let mut node = Node {
            domain: plain_domain(proto.domain()).to_owned(),
            name: proto.name().to_owned(),
            op_type: proto.op_type().to_owned(),
            overload: proto.overload().to_owned(),
            inputs: proto.input.iter().map(ToString::to_string).collect(),
            outputs: proto.output.iter().map(ToString::to_string).collect(),
            attributes: BTreeMap::new(),
        };
        if node.op_type.is_empty() {
            return Err(broken(node.to_string(), "op_type is empty"));
        }
        node.attributes = self.attributes(&node, proto.attribute)?;
        Ok(node)
    }

    fn attributes(
        &self,
        place: &dyn fmt::Display,
        protos: Vec<AttributeProto>,
    ) -> Result<BTreeMap<String, Attribute>, ModelError> {
        let mut attributes = BTreeMap::new();
        for mut proto in protos {
            let name = proto.name.take().unwrap_or_default();
            let value = self.attribute(&format_args!("{place}, attribute '{name}'"), proto)?;
            if attributes.contains_key(&name) {
                return Err(broken(format!("{place}, attribute '{name}'"), "is a duplicate"));
            }
            attributes.insert(name, value);
        }
        Ok(attributes)
    }

    fn attribute(&self, place: &dyn fmt::Display, proto: AttributeProto) -> Result<Attribute, ModelError> {
        let kind = attribute_type(place, &proto)?;
        if let Some(reference) = proto.ref_attr_name.filter(|name| !name.is_empty()) {
            return Ok(Attribute::Reference(reference, kind));
        }
        let proto = AttributeProto { ref_attr_name: None, ..proto };
        let missing = || broken(place.to_string(), format!("type is {kind}, but no such value is set"));
        // A proto3 writer omits a number of 0 and an empty string.
        let left_out = || if holds_anything(&proto) { Err(missing()) } else { Ok(()) };
        let text = |bytes: &Bytes| {
            let rule = |_| broken(place.to_string(), "contains a string that is not UTF-8");
            std::str::from_utf8(bytes).map(Arc::from).map_err(rule)
        };
        let tensor = |proto: &TensorProto| self.tensor(proto).map(Value::Tensor);
        let types =
            |proto: &TypeProto| decode::value_type(proto).map_err(|error| broken(place.to_string(), error.to_string()));
        Ok(match kind {
            AttributeType::Float => Attribute::Float(proto.f.map_or_else(|| left_out().map(|()| 0.0), Ok)?),
            AttributeType::Int => Attribute::Int(proto.i.map_or_else(|| left_out().map(|()| 0), Ok)?),
            AttributeType::String => match &proto.s {
                Some(bytes) => Attribute::String(text(bytes)?),
                None => left_out().map(|()| Attribute::String("".into()))?,
            },
            AttributeType::Tensor => Attribute::Tensor(tensor(proto.t.as_deref().ok_or_else(missing)?)?),
            AttributeType::SparseTensor => {
                Attribute::SparseTensor(self.sparse(proto.sparse_tensor.as_deref().ok_or_else(missing)?)?)
            }
            AttributeType::Graph => match proto.g {
                Some(graph) => Attribute::Graph(Arc::new(self.subgraph(*graph)?)),
                None => return Err(missing()),
            },
            AttributeType::TypeProto => Attribute::Type(types(proto.tp.as_deref().ok_or_else(missing)?)?),
            AttributeType::Floats => Attribute::Floats(proto.floats.into()),
            AttributeType::Ints => Attribute::Ints(proto.ints.into()),
            AttributeType::Strings => Attribute::Strings(proto.strings.iter().map(text).collect::<Result<_, _>>()?),
            AttributeType::Tensors => Attribute::Tensors(proto.tensors.iter().map(tensor).collect::<Result<_, _>>()?),
            AttributeType::SparseTensors => {
                let sparse = proto.sparse_tensors.iter().map(|proto| self.sparse(proto));
                Attribute::SparseTensors(sparse.collect::<Result<_, _>>()?)
            }
            AttributeType::Graphs => {
                let graphs = proto.graphs.into_iter().map(|proto| self.subgraph(proto).map(Arc::new));
                Attribute::Graphs(graphs.collect::<Result<_, _>>()?)
            }
            AttributeType::TypeProtos => {
                Attribute::Types(proto.type_protos.iter().map(types).collect::<Result<_, _>>()?)
            }
        })
    }

    fn tensor(&self, proto: &TensorProto) -> Result<Tensor, ModelError> {
        self.check_time()?;
        let used = self.used.get().saturating_add(decode::own_bytes(proto));
        if used > self.limits.bytes {
            return Err(MeasureError::Limit(self.limits.bytes).into());
        }
        self.used.set(used);
        Ok(decode::tensor(proto, self.external)?)
    }

    fn sparse(&self, proto: &SparseTensorProto) -> Result<Value, ModelError> {
        self.check_time()?;
        Ok(Value::Sparse(Arc::new(decode::sparse_tensor(proto, self.external)?)))
    }
}

fn parameter(place: &str, info: &ValueInfoProto) -> Result<Parameter, ModelError> {
    let name = info.name().to_owned();
    let declared = info.r#type.as_ref().filter(|declared| declared.value.is_some());
    let value_type = declared
        .map(decode::value_type)
        .transpose()
        .map_err(|error| broken(format!("{place}, value '{name}'"), error.to_string()))?;
    Ok(Parameter { name, value_type, shape: declared.and_then(declared_shape) })
}

fn declared_shape(proto: &TypeProto) -> Option<Vec<Dim>> {
    use onnx::tensor_shape_proto::dimension::Value as V;
    let Some(onnx::type_proto::Value::TensorType(tensor)) = &proto.value else { return None };
    let dim = |dim: &onnx::tensor_shape_proto::Dimension| match &dim.value {
        Some(V::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Size),
        Some(V::DimParam(name)) if !name.is_empty() => Dim::Name(name.as_str().into()),
        _ => Dim::Unknown,
    };
    tensor.shape.as_ref().map(|shape| shape.dim.iter().map(dim).collect())
}

/// True if any value field is set.
fn holds_anything(proto: &AttributeProto) -> bool {
    let empty = AttributeProto {
        name: proto.name.clone(),
        doc_string: proto.doc_string.clone(),
        r#type: proto.r#type,
        ..AttributeProto::default()
    };
    *proto != empty
}

/// The declared type.
fn attribute_type(place: &dyn fmt::Display, proto: &AttributeProto) -> Result<AttributeType, ModelError> {
    use onnx::attribute_proto::AttributeType as P;
    Ok(match P::try_from(proto.r#type.unwrap_or(0)).unwrap_or(P::Undefined) {
        P::Float => AttributeType::Float,
        P::Int => AttributeType::Int,
        P::String => AttributeType::String,
        P::Tensor => AttributeType::Tensor,
        P::Graph => AttributeType::Graph,
        P::SparseTensor => AttributeType::SparseTensor,
        P::TypeProto => AttributeType::TypeProto,
        P::Floats => AttributeType::Floats,
        P::Ints => AttributeType::Ints,
        P::Strings => AttributeType::Strings,
        P::Tensors => AttributeType::Tensors,
        P::Graphs => AttributeType::Graphs,
        P::SparseTensors => AttributeType::SparseTensors,
        P::TypeProtos => AttributeType::TypeProtos,
        P::Undefined => return Err(broken(place.to_string(), "type is missing or unknown")),
    })
}

impl Graph {
    /// Fills `last_uses`: for each node, the names that are not used after it.
    fn find_last_uses(&mut self) {
        let mut used: HashSet<&str> = self.outputs.iter().map(|output| output.name.as_str()).collect();
        let mut last_uses = vec![Vec::new(); self.nodes.len()];
        let mut names = Vec::new();
        for (node, last) in self.nodes.iter().zip(&mut last_uses).rev() {
            node.names_used(&mut names);
            names.extend(node.outputs.iter().map(String::as_str));
            names.sort_unstable();
            *last = names.drain(..).filter(|name| used.insert(name)).map(str::to_owned).collect();
        }
        self.last_uses = last_uses;
    }
}

impl Node {
    /// Collects the names that the node and its subgraphs read.
    fn names_used<'a>(&'a self, names: &mut Vec<&'a str>) {
        names.extend(self.inputs.iter().map(String::as_str).filter(|name| !name.is_empty()));
        for graph in self.attributes.values().flat_map(Attribute::graphs) {
            names.extend(graph.outputs.iter().map(|output| output.name.as_str()));
            graph.nodes.iter().for_each(|node| node.names_used(names));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::decode::NoExternalData;

    #[test]
    fn a_number_or_text_that_is_left_out_is_zero_or_empty() {
        use onnx::attribute_proto::AttributeType as P;
        let read = |kind: P, f: Option<f32>| {
            let proto = AttributeProto { name: Some("a".into()), r#type: Some(kind as i32), f, ..Default::default() };
            let limits = LoadLimits::default();
            let (used, has_constant_inputs) = (Cell::new(0), Cell::new(false));
            Loader { external: &NoExternalData, limits: &limits, has_constant_inputs, used }.attribute(&"here", proto)
        };
        assert!(matches!(read(P::Int, None).unwrap(), Attribute::Int(0)));
        assert!(matches!(read(P::Float, None).unwrap(), Attribute::Float(value) if value == 0.0));
        assert!(matches!(read(P::String, None).unwrap(), Attribute::String(text) if text.is_empty()));
        assert!(read(P::Int, Some(2.0)).unwrap_err().to_string().contains("no such value is set"));
        assert!(read(P::Tensor, None).unwrap_err().to_string().contains("no such value is set"));
    }
}
