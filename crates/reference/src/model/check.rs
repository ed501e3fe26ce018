//! Checks of a model before it runs: names, order, operators, signatures.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::deadline::Deadline;
use crate::model::error::{ModelError, broken};
use crate::model::graph::{Attribute, Function, FunctionKey, Graph, Model, Node, Opsets};
use crate::proto::measure::MeasureError;
use crate::spec::{Argument, AttributeType, NodeSignature, OpSpec, Specs, model_domain, validate};

/// Maximum number of nodes of a model after every function call is inlined.
const MAX_NODES: u64 = 1 << 24;

/// Checks a whole model: its imports, its main graph, its functions.
pub(super) fn check_model(model: &Model, deadline: &Deadline) -> Result<(), ModelError> {
    check_opsets("model", &model.opsets)?;
    for (key, function) in &model.functions {
        let place = format!("function {key}");
        check_opsets(&place, &function.opsets)?;
        let scope = Scope { model, opsets: &function.opsets, is_function: true, deadline, visible: Vec::new() };
        scope.check_graph(&place, &function.body)?;
    }
    check_recursion(model)?;
    let place = format!("graph '{}'", model.graph.name);
    check_parameters(model, &place)?;
    let scope = Scope { model, opsets: &model.opsets, is_function: false, deadline, visible: Vec::new() };
    scope.check_graph(&place, &model.graph)
}

/// Checks that every imported version of a known domain exists.
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

/// Checks that the main graph declares the types of inputs and outputs, and that before IR 4 every initializer is an
/// input.
fn check_parameters(model: &Model, place: &str) -> Result<(), ModelError> {
    let graph = &model.graph;
    for (what, parameter) in
        graph.inputs.iter().map(|p| ("input", p)).chain(graph.outputs.iter().map(|p| ("output", p)))
    {
        if parameter.value_type.is_none() {
            return Err(broken(place, format!("{what} '{}' has no type", parameter.name)));
        }
    }
    let inputs: HashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
    match graph.initializers.keys().find(|name| model.ir_version < 4 && !inputs.contains(name.as_str())) {
        Some(name) => Err(broken(
            place,
            format!(
                "initializer '{name}' is not a graph input, which IR version {} requires; IR version 4 does not",
                model.ir_version
            ),
        )),
        None => Ok(()),
    }
}

/// Checks that no function calls itself, directly or indirectly, and that inlining does not grow the model beyond
/// `MAX_NODES`.
///
/// A function is acyclic if all functions that it calls are. Any other calls itself, or one that does.
fn check_recursion(model: &Model) -> Result<(), ModelError> {
    let mut calls: BTreeMap<&FunctionKey, BTreeSet<&FunctionKey>> = BTreeMap::new();
    let mut callers: BTreeMap<&FunctionKey, Vec<&FunctionKey>> = BTreeMap::new();
    for (key, function) in &model.functions {
        let called = calls.entry(key).or_default();
        collect_calls(model, &function.body, called);
        for other in called.iter() {
            callers.entry(other).or_default().push(key);
        }
    }
    let mut acyclic: Vec<&FunctionKey> =
        calls.iter().filter(|(_, called)| called.is_empty()).map(|(key, _)| *key).collect();
    let mut nodes: BTreeMap<&FunctionKey, u64> = BTreeMap::new();
    while let Some(key) = acyclic.pop() {
        calls.remove(key);
        if let Some(function) = model.functions.get(key) {
            nodes.insert(key, expanded(model, &function.body, &nodes));
        }
        for caller in callers.remove(key).unwrap_or_default() {
            if let Some(called) = calls.get_mut(caller)
                && called.remove(key)
                && called.is_empty()
            {
                acyclic.push(caller);
            }
        }
    }
    // From any remaining function, calls lead into a cycle.
    let mut passed = BTreeSet::new();
    let mut next = calls.keys().next().copied();
    while let Some(key) = next {
        if !passed.insert(key) {
            return Err(broken(format!("function {key}"), "calls itself, directly or through another function"));
        }
        next = calls.get(key).and_then(|called| called.first().copied());
    }
    if expanded(model, &model.graph, &nodes) > MAX_NODES {
        let place = format!("graph '{}'", model.graph.name);
        return Err(broken(place, format!("function calls expand to more than {MAX_NODES} nodes, the limit")));
    }
    Ok(())
}

/// The number of nodes of a graph after inlining; `known` holds the counts of the functions.
fn expanded(model: &Model, graph: &Graph, known: &BTreeMap<&FunctionKey, u64>) -> u64 {
    let node_count = |node: &Node| {
        let called = model.function_of(node).and_then(|(key, _)| known.get(key)).copied().unwrap_or(0);
        let graphs = node.attributes.values().flat_map(Attribute::graphs);
        graphs.map(|graph| expanded(model, graph, known)).fold(called.saturating_add(1), u64::saturating_add)
    };
    graph.nodes.iter().map(node_count).fold(0, u64::saturating_add)
}

fn collect_calls<'a>(model: &'a Model, graph: &'a Graph, calls: &mut BTreeSet<&'a FunctionKey>) {
    for node in &graph.nodes {
        calls.extend(model.function_of(node).map(|(key, _)| key));
        for graph in node.attributes.values().flat_map(Attribute::graphs) {
            collect_calls(model, graph, calls);
        }
    }
}

impl Model {
    /// The function of the model that the node calls, if any.
    pub(crate) fn function_of(&self, node: &Node) -> Option<(&FunctionKey, &Function)> {
        if self.functions.is_empty() { None } else { self.functions.get_key_value(&node.function_key()) }
    }
}

impl Node {
    /// The key of the function that this node would call.
    pub fn function_key(&self) -> FunctionKey {
        FunctionKey { domain: self.domain.clone(), name: self.op_type.clone(), overload: self.overload.clone() }
    }
}

/// Names visible to a graph from outside, and the context for looking up its nodes.
struct Scope<'a> {
    model: &'a Model,
    opsets: &'a Opsets,
    /// True if nodes may refer to attributes of a caller.
    is_function: bool,
    deadline: &'a Deadline,
    visible: Vec<&'a HashSet<&'a str>>,
}

impl Scope<'_> {
    fn sees(&self, name: &str) -> bool {
        self.visible.iter().any(|names| names.contains(name))
    }

    fn check_graph(&self, place: &str, graph: &Graph) -> Result<(), ModelError> {
        let mut defined: HashSet<&str> = HashSet::new();
        for input in &graph.inputs {
            if input.name.is_empty() || !defined.insert(&input.name) {
                return Err(broken(place, format!("input '{}' is unnamed or a duplicate", input.name)));
            }
        }
        defined.extend(graph.initializers.keys().map(String::as_str));
        for (index, node) in graph.nodes.iter().enumerate() {
            if self.deadline.is_over() {
                return Err(MeasureError::Deadline.into());
            }
            for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                if !defined.contains(name.as_str()) && !self.sees(name) {
                    return Err(broken(format!("{place}, {node}"), undefined_name(graph, index, name)));
                }
            }
            self.check_node(place, node, &defined)?;
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                if self.sees(output) || !defined.insert(output) {
                    return Err(broken(format!("{place}, {node}"), format!("'{output}' is assigned twice")));
                }
            }
        }
        match graph.outputs.iter().find(|output| !defined.contains(output.name.as_str()) && !self.sees(&output.name)) {
            Some(output) => Err(broken(place, format!("no node computes output '{}'", output.name))),
            None => Ok(()),
        }
    }

    fn check_node<'b>(&'b self, place: &str, node: &'b Node, defined: &'b HashSet<&'b str>) -> Result<(), ModelError> {
        if self.model.function_of(node).is_none() {
            self.check_signature(place, node)?;
        } else if self.opsets.version(&node.domain).is_none() {
            return Err(error_at(place, not_imported(node)));
        }
        let is_reference = |(_, value): &(&String, &Attribute)| matches!(value, Attribute::Reference(..));
        if let Some((name, _)) = node.attributes.iter().find(is_reference).filter(|_| !self.is_function) {
            let rule = format!("attribute '{name}' refers to an attribute of the caller, which only functions have");
            return Err(broken(format!("{place}, {node}"), rule));
        }
        if node.attributes.values().all(|attribute| attribute.graphs().is_empty()) {
            return Ok(());
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
        let spec = find_spec(self.opsets, node).map_err(|error| error_at(place, error))?;
        let signature = |source| ModelError::Signature { node: format!("{place}, {node}"), source };
        validate_node(spec, node, &node.attributes, &unknown_types(&node.inputs)).map(drop).map_err(signature)
    }
}

fn error_at(place: &str, error: ModelError) -> ModelError {
    match error {
        ModelError::Operator { node, source } => ModelError::Operator { node: format!("{place}, {node}"), source },
        ModelError::Rule { place: node, rule } => ModelError::Rule { place: format!("{place}, {node}"), rule },
        other => other,
    }
}

fn unknown_types(names: &[String]) -> Vec<Argument> {
    names.iter().map(|name| if name.is_empty() { Argument::Absent } else { Argument::Unknown }).collect()
}

/// Checks a node against an operator version, given the known types of its inputs.
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

/// Finds the operator version of a node.
pub(crate) fn find_spec(opsets: &Opsets, node: &Node) -> Result<&'static OpSpec, ModelError> {
    let operator = |source| ModelError::Operator { node: node.to_string(), source };
    let opset = opsets.version(&node.domain).ok_or_else(|| not_imported(node))?;
    Specs::embedded().find(&node.domain, &node.op_type, opset).map_err(operator)
}

fn not_imported(node: &Node) -> ModelError {
    let domain = if node.domain.is_empty() { "ai.onnx" } else { model_domain(&node.domain) };
    broken(node.to_string(), format!("domain '{domain}' is not in opset_import; import the intended version"))
}

/// Explains why a name is undefined at a node.
fn undefined_name(graph: &Graph, index: usize, name: &str) -> String {
    let nodes = graph.nodes.iter().enumerate();
    let producers: HashMap<&str, usize> =
        nodes.flat_map(|(index, node)| node.outputs.iter().map(move |output| (output.as_str(), index))).collect();
    let Some(&producer) = producers.get(name) else {
        return format!("input '{name}' is not a graph input, an initializer or the output of a node");
    };
    if depends_on(graph, &producers, producer, index) {
        return format!("input '{name}' depends on this node's own output: the graph has a cycle");
    }
    format!("input '{name}' is computed by a later node; nodes must be in topological order")
}

/// True if the node at `from` depends, directly or indirectly, on the node at `to`.
fn depends_on(graph: &Graph, producers: &HashMap<&str, usize>, from: usize, to: usize) -> bool {
    let (mut stack, mut seen) = (vec![from], BTreeSet::new());
    while let Some(index) = stack.pop() {
        if index == to {
            return true;
        }
        if seen.insert(index) {
            let inputs = graph.nodes.get(index).map_or(&[][..], |node| &node.inputs);
            stack.extend(inputs.iter().filter_map(|name| producers.get(name.as_str())));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::executor::run;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::kernels::framework::error::KernelError;
    use crate::model::text::parse_model;
    use crate::model::{LoadLimits, read_model};
    use crate::proto::decode::NoExternalData;
    use crate::proto::{
        GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, Text, ValueInfoProto, texts,
    };
    use crate::testing::floats;
    use crate::value::Value;

    fn read(proto: &ModelProto, limits: &LoadLimits) -> Result<Model, ModelError> {
        read_model(proto.encode_to_vec().into(), &NoExternalData, limits)
    }

    /// A model that calls the first of a chain of functions; each calls the next.
    fn chain(functions: usize, last: &str) -> ModelProto {
        let mut text = "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>
            g (float x) => (float y) { y = f.f0 (x) }"
            .to_owned();
        let head = "<domain: \"f\", opset_import: [\"\" : 21, \"f\" : 1]>";
        for index in 1..functions {
            write!(text, "{head} f{} (x) => (y) {{ y = f.f{index} (x) }}", index - 1).unwrap();
        }
        write!(text, "{head} f{} (x) => (y) {{ y = {last} (x) }}", functions - 1).unwrap();
        parse_model(&text).unwrap()
    }

    /// Runs the work on a thread with the default stack size.
    fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, work);
            thread.unwrap().join().unwrap()
        })
    }

    fn run_chain(functions: usize) -> Result<Vec<Value>, crate::executor::RunError> {
        on_a_thread(|| {
            let model = read(&chain(functions, "Abs"), &LoadLimits::default()).unwrap();
            run(&model, BTreeMap::from([("x".to_owned(), floats(&[], &[-1.0]).into())]), ExecutionLimits::default())
        })
    }

    #[test]
    fn a_long_chain_of_functions_loads_and_is_too_deep_to_run() {
        let error = run_chain(6000).unwrap_err();
        assert!(error.to_string().contains("nest deeper than the limit of 64"), "{error}");
        let crate::executor::RunError::Kernel(error) = error else { panic!("{error}") };
        assert!(matches!(error.root(), KernelError::Depth(64)));
    }

    #[test]
    fn the_deepest_chain_of_functions_fits_a_stack() {
        assert_eq!(run_chain(64).unwrap(), [Value::from(floats(&[], &[1.0]))]);
    }

    #[test]
    fn a_function_that_calls_itself_is_named() {
        let error = on_a_thread(|| read(&chain(6000, "f.f5990"), &LoadLimits::default()).unwrap_err().to_string());
        assert!(error.contains("function f/f599") && error.contains("calls itself"), "{error}");
    }

    /// A chain of functions; each calls the next twice.
    fn doubling(functions: usize) -> ModelProto {
        let mut proto = chain(functions, "Abs");
        for function in &mut proto.functions {
            let first = function.node[0].clone();
            let (from, to) = (first.output[0].clone(), Text::from("between"));
            function.node[0].output[0].clone_from(&to);
            function.node.push(NodeProto { input: texts([to]), output: texts([from]), ..first });
        }
        proto
    }

    #[test]
    fn calls_that_double_beyond_the_limit_are_refused_while_loading() {
        let error = read(&doubling(60), &LoadLimits::default()).unwrap_err().to_string();
        assert!(error.contains("expand to more than 16777216 nodes"), "{error}");
        assert!(read(&doubling(20), &LoadLimits::default()).is_ok());
        let mut unused = doubling(60);
        unused.graph.as_mut().unwrap().node[0].op_type = Some("Abs".into());
        unused.graph.as_mut().unwrap().node[0].domain = None;
        assert!(read(&unused, &LoadLimits::default()).is_ok());
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("n{index}")).collect()
    }

    fn model(ir_version: i64, graph: GraphProto) -> ModelProto {
        let import = OperatorSetIdProto { version: Some(9), ..OperatorSetIdProto::default() };
        ModelProto {
            ir_version: Some(ir_version),
            opset_import: vec![import],
            graph: Some(graph),
            ..ModelProto::default()
        }
    }

    /// A model with as many inputs as initializers, in an IR version where every initializer must be an input.
    fn many_initializers(count: usize) -> ModelProto {
        let float =
            crate::proto::encode::value_type(&crate::types::ValueType::Tensor(crate::dtype::ElementType::Float), None);
        let tensor = crate::proto::encode::tensor(&floats(&[], &[1.0]), "");
        let input =
            |name| ValueInfoProto { name: Some(name), r#type: Some(float.clone()), ..ValueInfoProto::default() };
        let initializer = |name| TensorProto { name: Some(name), ..tensor.clone() };
        model(
            3,
            GraphProto {
                input: names(count).into_iter().map(input).collect(),
                initializer: names(count).into_iter().map(initializer).collect(),
                ..GraphProto::default()
            },
        )
    }

    #[test]
    fn wide_models_take_time_in_proportion_to_their_size() {
        assert_eq!(read(&many_initializers(60_000), &LoadLimits::default()).unwrap().graph.initializers.len(), 60_000);
        let node = NodeProto { op_type: Some("Constant".into()), ..NodeProto::default() };
        let error =
            read(&model(4, GraphProto { node: vec![node; 100_000], ..GraphProto::default() }), &LoadLimits::default());
        assert!(error.unwrap_err().to_string().contains("Constant"));
        let split = NodeProto {
            op_type: Some("Split".into()),
            input: texts(["x"]),
            output: texts(names(200_000)),
            ..NodeProto::default()
        };
        let input =
            ValueInfoProto { name: Some("x".to_owned()), ..many_initializers(1).graph.unwrap().input.remove(0) };
        let graph = GraphProto { node: vec![split], input: vec![input], ..GraphProto::default() };
        let model = read(&model(4, graph), &LoadLimits::default()).unwrap();
        let inputs = BTreeMap::from([("x".to_owned(), floats(&[200_000], &vec![1.0; 200_000]).into())]);
        assert_eq!(run(&model, inputs, ExecutionLimits::default()).unwrap(), []);
    }

    #[test]
    fn loading_ends_with_its_deadline_and_its_memory() {
        let limits = LoadLimits { deadline: Deadline::new(|| true), ..LoadLimits::default() };
        let error = read(&many_initializers(1), &limits).unwrap_err();
        assert!(matches!(error, ModelError::Limit(MeasureError::Deadline)), "{error}");
        let limits = LoadLimits { bytes: 1 << 20, ..LoadLimits::default() };
        let error = read(&many_initializers(60_000), &limits).unwrap_err();
        assert!(matches!(error, ModelError::Limit(MeasureError::Limit(_))), "{error}");
    }

    #[test]
    fn tensors_of_external_files_count_before_they_are_read() {
        let text = "<ir_version: 10, opset_import: [\"\" : 21]> g () => () <float[100] a = [\"location\": \"w\"]> {}";
        let error = read(&parse_model(text).unwrap(), &LoadLimits::default()).unwrap_err();
        assert!(error.to_string().contains("needs a model that was read from a folder"), "{error}");
        let text = text.replace("100", "2000000000");
        let error = read(&parse_model(&text).unwrap(), &LoadLimits::default()).unwrap_err();
        assert!(matches!(error, ModelError::Limit(MeasureError::Limit(_))), "{error}");
    }
}
