//! What can be known of a model before it runs: names, order, operators, signatures.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::graph::{Attribute, FunctionKey, Graph, Model, Node, Opsets};
use crate::model::read::{ModelError, broken};
use crate::spec::{Argument, AttributeType, NodeSignature, OpSpec, Specs, model_domain, validate};

/// Checks a whole model: its imports, its main graph, its functions.
pub(super) fn check_model(model: &Model) -> Result<(), ModelError> {
    check_opsets("model", &model.opsets)?;
    for (key, function) in &model.functions {
        let place = format!("function {key}");
        check_opsets(&place, &function.opsets)?;
        let scope = Scope { model, opsets: &function.opsets, is_function: true, visible: Vec::new() };
        scope.check_graph(&place, &function.body)?;
    }
    check_recursion(model)?;
    let place = format!("graph '{}'", model.graph.name);
    check_parameters(model, &place)?;
    Scope { model, opsets: &model.opsets, is_function: false, visible: Vec::new() }.check_graph(&place, &model.graph)
}

/// Every imported version of a known domain exists.
fn check_opsets(place: &str, opsets: &Opsets) -> Result<(), ModelError> {
    let specs = Specs::embedded();
    for (domain, &version) in &opsets.0 {
        let Ok(newest) = specs.newest_opset(domain) else { continue };
        if version < 1 || version > i64::from(newest) {
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            return Err(broken(place, format!("opset {version} of {domain} is unknown; 1 to {newest} are known")));
        }
    }
    Ok(())
}

/// The main graph declares the types of its inputs and outputs, and before IR 4 every initializer is an input too.
fn check_parameters(model: &Model, place: &str) -> Result<(), ModelError> {
    let graph = &model.graph;
    for (what, parameter) in
        graph.inputs.iter().map(|p| ("input", p)).chain(graph.outputs.iter().map(|p| ("output", p)))
    {
        if parameter.value_type.is_none() {
            return Err(broken(place, format!("{what} '{}' has no type", parameter.name)));
        }
    }
    let is_input = |name: &String| graph.inputs.iter().any(|input| input.name == *name);
    match graph.initializers.keys().find(|name| model.ir_version < 4 && !is_input(name)) {
        Some(name) => Err(broken(
            place,
            format!(
                "initializer '{name}' is no graph input, which IR version {} asks for; 4 does not",
                model.ir_version
            ),
        )),
        None => Ok(()),
    }
}

/// A function may not call itself, directly or through others.
fn check_recursion(model: &Model) -> Result<(), ModelError> {
    let mut done = BTreeSet::new();
    let mut path = Vec::new();
    model.functions.keys().try_for_each(|key| visit_calls(model, key, &mut path, &mut done))
}

fn visit_calls<'a>(
    model: &'a Model,
    key: &'a FunctionKey,
    path: &mut Vec<&'a FunctionKey>,
    done: &mut BTreeSet<&'a FunctionKey>,
) -> Result<(), ModelError> {
    if done.contains(key) {
        return Ok(());
    }
    if path.contains(&key) {
        return Err(broken(format!("function {key}"), "calls itself, directly or through another function"));
    }
    path.push(key);
    if let Some(function) = model.functions.get(key) {
        let mut calls = BTreeSet::new();
        collect_calls(model, &function.body, &mut calls);
        for call in calls {
            visit_calls(model, call, path, done)?;
        }
    }
    path.pop();
    done.insert(key);
    Ok(())
}

fn collect_calls<'a>(model: &'a Model, graph: &'a Graph, calls: &mut BTreeSet<&'a FunctionKey>) {
    for node in &graph.nodes {
        calls.extend(model.functions.get_key_value(&node.function_key()).map(|(key, _)| key));
        for graph in node.attributes.values().flat_map(Attribute::graphs) {
            collect_calls(model, graph, calls);
        }
    }
}

impl Node {
    /// The key under which a function of the model would be that this node calls.
    pub fn function_key(&self) -> FunctionKey {
        FunctionKey { domain: self.domain.clone(), name: self.op_type.clone(), overload: self.overload.clone() }
    }
}

/// The names that a graph sees around it, and what its nodes are looked up in.
struct Scope<'a> {
    model: &'a Model,
    opsets: &'a Opsets,
    /// Whether nodes may refer to attributes of a caller.
    is_function: bool,
    visible: Vec<&'a BTreeSet<&'a str>>,
}

impl Scope<'_> {
    fn sees(&self, name: &str) -> bool {
        self.visible.iter().any(|names| names.contains(name))
    }

    fn check_graph(&self, place: &str, graph: &Graph) -> Result<(), ModelError> {
        let mut defined: BTreeSet<&str> = BTreeSet::new();
        for input in &graph.inputs {
            if input.name.is_empty() || !defined.insert(&input.name) {
                return Err(broken(place, format!("input '{}' is unnamed or stands twice", input.name)));
            }
        }
        defined.extend(graph.initializers.keys().map(String::as_str));
        let producers: BTreeMap<&str, usize> = graph
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(at, node)| node.outputs.iter().map(move |output| (output.as_str(), at)))
            .collect();
        for (at, node) in graph.nodes.iter().enumerate() {
            for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                if !defined.contains(name.as_str()) && !self.sees(name) {
                    return Err(broken(format!("{place}, {node}"), undefined(graph, &producers, at, name)));
                }
            }
            self.check_node(place, node, &defined)?;
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                if self.sees(output) || !defined.insert(output) {
                    return Err(broken(
                        format!("{place}, {node}"),
                        format!("'{output}' has a value already; every name is assigned once"),
                    ));
                }
            }
        }
        match graph.outputs.iter().find(|output| !defined.contains(output.name.as_str()) && !self.sees(&output.name)) {
            Some(output) => Err(broken(place, format!("output '{}' is computed by no node", output.name))),
            None => Ok(()),
        }
    }

    fn check_node<'b>(&'b self, place: &str, node: &'b Node, defined: &'b BTreeSet<&'b str>) -> Result<(), ModelError> {
        if !self.model.functions.contains_key(&node.function_key()) {
            self.check_signature(place, node)?;
        } else if self.opsets.version(&node.domain).is_none() {
            return Err(at(place, not_imported(node)));
        }
        let is_reference = |(_, value): &(&String, &Attribute)| matches!(value, Attribute::Reference(..));
        if let Some((name, _)) = node.attributes.iter().find(is_reference).filter(|_| !self.is_function) {
            let rule = format!("attribute '{name}' refers to an attribute of the caller, which only functions have");
            return Err(broken(format!("{place}, {node}"), rule));
        }
        let mut visible = self.visible.clone();
        visible.push(defined);
        let inner = Scope { visible, ..*self };
        for (name, attribute) in &node.attributes {
            for graph in attribute.graphs() {
                inner.check_graph(&format!("{place}, {node}, attribute '{name}'"), graph)?;
            }
        }
        Ok(())
    }

    fn check_signature(&self, place: &str, node: &Node) -> Result<(), ModelError> {
        let spec = find_spec(self.opsets, node).map_err(|error| at(place, error))?;
        let signature = |source| ModelError::Signature { node: format!("{place}, {node}"), source };
        validate_node(spec, node, &node.attributes, &unknown_types(&node.inputs)).map(drop).map_err(signature)
    }
}

fn at(place: &str, error: ModelError) -> ModelError {
    match error {
        ModelError::Operator { node, source } => ModelError::Operator { node: format!("{place}, {node}"), source },
        ModelError::Rule { place: node, rule } => ModelError::Rule { place: format!("{place}, {node}"), rule },
        other => other,
    }
}

fn unknown_types(names: &[String]) -> Vec<Argument> {
    names.iter().map(|name| if name.is_empty() { Argument::Absent } else { Argument::Unknown }).collect()
}

/// Checks a node against an operator version, with what is known of its inputs' types.
pub(crate) fn validate_node(
    spec: &OpSpec,
    node: &Node,
    attributes: &BTreeMap<String, Attribute>,
    inputs: &[Argument],
) -> Result<crate::spec::Bindings, Box<crate::spec::SignatureError>> {
    let attributes: Vec<(&str, AttributeType)> =
        attributes.iter().map(|(name, value)| (name.as_str(), value.attribute_type())).collect();
    let outputs = unknown_types(&node.outputs);
    validate(spec, NodeSignature { inputs, outputs: &outputs, attributes: &attributes })
}

/// The operator version that a node means.
pub(crate) fn find_spec(opsets: &Opsets, node: &Node) -> Result<&'static OpSpec, ModelError> {
    let operator = |source| ModelError::Operator { node: node.to_string(), source };
    let opset = opsets.version(&node.domain).ok_or_else(|| not_imported(node))?;
    Specs::embedded().find(&node.domain, &node.op_type, opset).map_err(operator)
}

fn not_imported(node: &Node) -> ModelError {
    let domain = if node.domain.is_empty() { "ai.onnx" } else { model_domain(&node.domain) };
    broken(node.to_string(), format!("domain '{domain}' is not in opset_import; import the version meant"))
}

/// Why a name has no value where a node uses it.
fn undefined(graph: &Graph, producers: &BTreeMap<&str, usize>, at: usize, name: &str) -> String {
    let Some(&producer) = producers.get(name) else {
        return format!("input '{name}' is no graph input, no initializer, and no node's output");
    };
    if reaches(graph, producers, producer, at) {
        return format!("input '{name}' depends on this node's own output: the graph has a cycle");
    }
    format!("input '{name}' is computed by a later node; nodes stand in topological order")
}

/// Whether the node at `from` depends, through any number of nodes, on the one at `to`.
fn reaches(graph: &Graph, producers: &BTreeMap<&str, usize>, from: usize, to: usize) -> bool {
    let (mut stack, mut seen) = (vec![from], BTreeSet::new());
    while let Some(at) = stack.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            let inputs = graph.nodes.get(at).map_or(&[][..], |node| &node.inputs);
            stack.extend(inputs.iter().filter_map(|name| producers.get(name.as_str())));
        }
    }
    false
}
