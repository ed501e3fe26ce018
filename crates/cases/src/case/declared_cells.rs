//! Cells that a model declares before it runs: operator versions of its nodes, and type cells where types are declared.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, ValueInfoProto, decode,
};
use onnx_conformance_reference::spec::{FormalType, OpSpec, Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;

use crate::case::TypeCell;

/// Types of named values in a graph. A name that is not in the graph is looked up in the outer graph.
#[derive(Default)]
struct Types<'a> {
    own: HashMap<String, ValueType>,
    outer: Option<&'a Types<'a>>,
}

impl Types<'_> {
    fn get(&self, name: &str) -> Option<&ValueType> {
        self.own.get(name).or_else(|| self.outer.and_then(|outer| outer.get(name)))
    }
}

/// Returns the operator versions that the nodes of a model name, with subgraphs and functions, and the type cells that
/// follow from its declared types: `ai.onnx/Sum-13` and `ai.onnx/Sum-13 T=tensor(float)`. Empty if the bytes are not
/// a model.
pub fn named_cells(model: &Bytes, specs: &Specs) -> BTreeSet<String> {
    let Ok(model) = decode::model(model.clone()) else { return BTreeSet::new() };
    let key = |function| (canonical_domain(FunctionProto::domain(function)), function.name());
    let functions = model.functions.iter().map(key).collect();
    let mut census = Census { specs, functions, opsets: &model.opset_import, cells: BTreeSet::new() };
    if let Some(graph) = &model.graph {
        census.graph(graph, &Types::default());
    }
    for function in &model.functions {
        census.opsets = if function.opset_import.is_empty() { &model.opset_import } else { &function.opset_import };
        census.nodes(&function.node, Types::default());
    }
    census.cells
}

struct Census<'a> {
    specs: &'a Specs,
    /// Domains and names of the model's functions.
    functions: HashSet<(&'a str, &'a str)>,
    opsets: &'a [OperatorSetIdProto],
    cells: BTreeSet<String>,
}

impl<'a> Census<'a> {
    fn graph(&mut self, graph: &GraphProto, outer: &Types<'_>) {
        let mut types = Types { own: HashMap::new(), outer: Some(outer) };
        let infos = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
        types.own.extend(infos.filter_map(|info| Some((info.name().to_owned(), declared(info)?))));
        types.own.extend(graph.initializer.iter().filter_map(|tensor| {
            let element = ElementType::from_code(tensor.data_type())?;
            Some((tensor.name().to_owned(), ValueType::Tensor(element)))
        }));
        self.nodes(&graph.node, types);
    }

    fn nodes(&mut self, nodes: &[NodeProto], mut types: Types<'_>) {
        for node in nodes {
            for graph in node.attribute.iter().flat_map(AttributeProto::all_graphs) {
                self.graph(graph, &types);
            }
            if let Some(spec) = self.spec(node) {
                self.node(node, spec, &mut types);
            }
        }
    }

    /// Returns the operator version that a node names, or `None` if it calls one of the model's functions.
    fn spec(&self, node: &NodeProto) -> Option<&'a OpSpec> {
        let domain = canonical_domain(node.domain());
        if self.functions.contains(&(domain, node.op_type())) {
            return None;
        }
        let import = self.opsets.iter().find(|import| canonical_domain(import.domain()) == domain)?;
        self.specs.find(domain, node.op_type(), import.version()).ok()
    }

    fn node(&mut self, node: &NodeProto, spec: &OpSpec, types: &mut Types<'_>) {
        let inputs = node.input.iter().enumerate().map(|(at, name)| (spec.input_at(at), name));
        let outputs = node.output.iter().enumerate().map(|(at, name)| (spec.output_at(at), name));
        let mut bound: BTreeMap<&str, ValueType> = BTreeMap::new();
        for (formal, name) in inputs.chain(outputs) {
            let Some(formal) = formal.filter(|_| !name.is_empty()) else { continue };
            let parameter = match &formal.kind {
                FormalType::Parameter(parameter) => Some(parameter.as_str()),
                FormalType::Literal(_) => None,
            };
            // The values of a heterogeneous parameter may differ in type.
            let same = parameter.filter(|_| !formal.is_heterogeneous()).and_then(|parameter| bound.get(parameter));
            let allowed = spec.allowed(&formal.kind);
            let known = match allowed {
                [only] => Some(only),
                _ => types.get(name).or(same).filter(|known| allowed.contains(known)),
            };
            let Some(known) = known.cloned() else { continue };
            if types.get(name).is_none() {
                types.own.insert(name.to_string(), known.clone());
            }
            if let Some(parameter) = parameter {
                let (version, parameter_name) = (spec.version.clone(), parameter.to_owned());
                let cell = TypeCell { version, parameter: parameter_name, value_type: known.clone() };
                self.cells.insert(cell.to_string());
                bound.insert(parameter, known);
            }
        }
        self.cells.insert(spec.version.qualified());
    }
}

fn declared(info: &ValueInfoProto) -> Option<ValueType> {
    decode::value_type(info.r#type.as_ref()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::proto::{Message, ModelProto, encode, texts};

    fn value(name: &str, element: ElementType) -> ValueInfoProto {
        let declared = encode::value_type(&ValueType::Tensor(element), None);
        ValueInfoProto { name: Some(name.to_owned()), r#type: Some(declared), ..Default::default() }
    }

    fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
        NodeProto {
            op_type: Some(operator.into()),
            input: texts(inputs.iter().copied()),
            output: texts([output]),
            ..Default::default()
        }
    }

    fn check(graph: GraphProto, expected: &[&str]) {
        let import = OperatorSetIdProto { version: Some(13), ..Default::default() };
        let model = ModelProto { opset_import: vec![import], graph: Some(graph), ..Default::default() };
        let cells = named_cells(&model.encode_to_vec().into(), Specs::embedded());
        assert_eq!(cells.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn types_follow_from_node_to_node() {
        let graph = GraphProto {
            input: vec![value("x", ElementType::Float)],
            node: vec![node("Sum", &["x"], "sum"), node("Shape", &["sum"], "shape"), node("Size", &["shape"], "size")],
            ..Default::default()
        };
        let expected = [
            "ai.onnx/Shape-13",
            "ai.onnx/Shape-13 T1=tensor(int64)",
            "ai.onnx/Shape-13 T=tensor(float)",
            "ai.onnx/Size-13",
            "ai.onnx/Size-13 T1=tensor(int64)",
            "ai.onnx/Size-13 T=tensor(int64)",
            "ai.onnx/Sum-13",
            "ai.onnx/Sum-13 T=tensor(float)",
        ];
        check(graph, &expected);
    }

    #[test]
    fn subgraphs_see_the_types_around_them_and_unknown_operators_are_left_out() {
        let inner = GraphProto { node: vec![node("Size", &["x"], "size")], ..Default::default() };
        let mut outer = node("NoSuchOperator", &[], "y");
        outer.attribute = vec![AttributeProto { g: Some(Box::new(inner)), ..Default::default() }];
        let graph = GraphProto {
            input: vec![value("x", ElementType::Int8)],
            node: vec![outer, node("Abs", &["y"], "z")],
            ..Default::default()
        };
        check(
            graph,
            &[
                "ai.onnx/Abs-13",
                "ai.onnx/Size-13",
                "ai.onnx/Size-13 T1=tensor(int64)",
                "ai.onnx/Size-13 T=tensor(int8)",
            ],
        );
    }

    #[test]
    fn bytes_that_are_not_a_model_name_no_cells() {
        assert!(named_cells(&Bytes::from_static(b"\xff\xff"), Specs::embedded()).is_empty());
    }
}
