//! Runs a model on given inputs.

#![expect(clippy::indexing_slicing, reason = "the end of the slice is a position in the list, or 0")]

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::kernels::framework::budget::{Budget, ExecutionLimits};
use crate::kernels::framework::call::{Call, Outputs, Result, Subgraphs};
use crate::kernels::framework::error::{KernelError, Missing, invalid, unsupported};
use crate::kernels::framework::registry;
use crate::kernels::framework::sparse::densify;
use crate::model::check::{find_spec, validate_node};
use crate::model::{Attribute, Dim, Function, Graph, Model, Node, Opsets, Parameter};
use crate::spec::{Argument, FormalParameter, FormalType, OpSpec, OperatorVersion, SignatureError};
use crate::types::ValueType;
use crate::value::Value;

/// Maximum number of a node's inputs that an error lists.
const SHOWN: usize = 16;

/// Failed run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model has no such input, or the value does not fit it.
    #[error("input '{name}' {rule}")]
    Input {
        /// The name of the input.
        name: String,
        /// The problem.
        rule: String,
    },
    /// A node failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl RunError {
    /// True if the run failed only because this executor does not support something.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, RunError::Kernel(error) if matches!(error.root(), KernelError::Unsupported { .. }))
    }
}

/// Returns the outputs of a model, in order, given its inputs by name. Inputs that have an initializer may be omitted.
pub fn run(model: &Model, inputs: BTreeMap<String, Value>, limits: ExecutionLimits) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Outputs)
}

/// Executed node with its outputs.
#[derive(Debug)]
pub struct Step<'a> {
    /// The number of subgraphs and functions around it.
    pub depth: usize,
    /// The node.
    pub node: &'a Node,
    /// The value of each output; `None` if the node omits it.
    pub outputs: &'a [Option<Value>],
}

/// Callback that receives each node after it has run.
pub type Trace<'a> = &'a (dyn Fn(&Step<'_>) + Sync);

/// Returns the outputs of a model like [`run`], and calls `trace` after each node.
pub fn run_traced(
    model: &Model,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
    trace: Trace<'_>,
) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Traced(trace))
}

/// Replacement for each kernel; it receives the kernel it replaces.
pub type Fault<'a> = &'a (dyn Fn(&Call<'_>, &'static registry::Kernel) -> Result + Sync);

/// Returns the outputs of a model whose kernels have a known defect, to test whether the suite detects it.
#[cfg(feature = "faults")]
pub fn run_faulty(
    model: &Model,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
    fault: Fault<'_>,
) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Faulty(fault))
}

/// Kind of evaluation.
#[derive(Clone, Copy)]
enum Mode<'a> {
    /// The operators as defined.
    Outputs,
    /// The operators as defined, with a callback after each node.
    Traced(Trace<'a>),
    /// The same accumulations over absolute terms.
    Magnitudes,
    /// Results of defective kernels.
    #[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "the feature alone makes kernels defective"))]
    Faulty(Fault<'a>),
}

/// Returns the magnitudes of the outputs of a one-node model: the same accumulation over absolute terms. `None` if the
/// node's kernel does not accumulate.
pub fn magnitudes(
    model: &Model,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
) -> Result<Option<Vec<Value>>, RunError> {
    let [node] = model.graph.nodes.as_slice() else { return Ok(None) };
    let kernel = find_spec(&model.opsets, node).ok().and_then(|spec| registry::find(&spec.version));
    if kernel.is_none_or(|kernel| !kernel.has_magnitude()) {
        return Ok(None);
    }
    evaluate(model, inputs, limits, Mode::Magnitudes).map(Some)
}

fn evaluate(
    model: &Model,
    mut inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
    mode: Mode<'_>,
) -> Result<Vec<Value>, RunError> {
    let budget = Budget::new(limits);
    budget.count(model.bytes, 1)?;
    inputs.values().try_for_each(|value| budget.count(value.size(), 1))?;
    let no_bindings = BTreeMap::new();
    let context = Context { model, opsets: &model.opsets, bindings: &no_bindings, budget: &budget, depth: 0, mode };
    let mut frame = Frame::new(&context, &model.graph, None);
    let mut sizes = BTreeMap::new();
    for parameter in &model.graph.inputs {
        match inputs.remove(&parameter.name) {
            Some(value) => {
                check_input(parameter, &value, &mut sizes)?;
                frame.values.insert(&parameter.name, frame.dense(value)?);
            }
            None if model.graph.initializers.contains_key(&parameter.name) => {}
            None => {
                let rule = "is missing, and has no initializer as its default".to_owned();
                return Err(RunError::Input { name: parameter.name.clone(), rule });
            }
        }
    }
    if let Some(name) = inputs.into_keys().next() {
        let names: Vec<&str> = model.graph.inputs.iter().map(|input| input.name.as_str()).collect();
        let rule = format!("is not an input of the model; its inputs are {}", names.join(", "));
        return Err(RunError::Input { name, rule });
    }
    Ok(frame.run_graph()?)
}

/// Checks the value against the declared type and shape; a dimension name means one size everywhere.
fn check_input<'a>(
    parameter: &'a Parameter,
    value: &Value,
    sizes: &mut BTreeMap<&'a str, usize>,
) -> Result<(), RunError> {
    let mismatch = |rule: String| Err(RunError::Input { name: parameter.name.clone(), rule });
    let actual = value.value_type();
    match &parameter.value_type {
        Some(declared) if *declared != actual => {
            return mismatch(format!("has type {actual}, but is declared as {declared}"));
        }
        _ => {}
    }
    let (Some(declared), Some(tensor)) = (&parameter.shape, value.as_tensor()) else { return Ok(()) };
    let fits = declared.len() == tensor.rank()
        && declared.iter().zip(tensor.shape()).all(|(dim, &size)| match dim {
            Dim::Size(declared) => *declared == size,
            Dim::Name(name) => *sizes.entry(name).or_insert(size) == size,
            Dim::Sum(_) | Dim::Unknown => true,
        });
    if fits {
        Ok(())
    } else {
        let declared: Vec<String> = declared.iter().map(Dim::to_string).collect();
        let declared = declared.join(", ");
        mismatch(format!("has shape {:?}, which does not match the declared shape [{declared}]", tensor.shape()))
    }
}

/// Context shared by all graphs of one body.
struct Context<'a> {
    model: &'a Model,
    opsets: &'a Opsets,
    /// The attributes passed to the function.
    bindings: &'a BTreeMap<String, Attribute>,
    budget: &'a Budget,
    depth: usize,
    mode: Mode<'a>,
}

/// The values of one graph, nested in those of the enclosing graph.
struct Frame<'a> {
    context: &'a Context<'a>,
    graph: &'a Graph,
    parent: Option<&'a Frame<'a>>,
    /// The inputs of the function that its caller omits.
    absent: HashSet<&'a str>,
    values: HashMap<&'a str, Value>,
}

impl<'a> Frame<'a> {
    fn new(context: &'a Context<'a>, graph: &'a Graph, parent: Option<&'a Frame<'a>>) -> Frame<'a> {
        Frame { context, graph, parent, absent: HashSet::new(), values: HashMap::new() }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).or_else(|| self.parent.and_then(|parent| parent.get(name)))
    }

    /// True if the name is an input of the function that its caller omitted.
    fn is_absent_input(&self, name: &str) -> bool {
        self.absent.contains(name) || self.parent.is_some_and(|parent| parent.is_absent_input(name))
    }

    /// Runs the nodes of the graph in order and returns its outputs.
    fn run_graph(&mut self) -> Result<Vec<Value>> {
        let graph = self.graph;
        for (name, value) in &graph.initializers {
            if !self.values.contains_key(name.as_str()) {
                let value = self.dense(value.clone())?;
                self.values.insert(name, value);
            }
        }
        for (node, last_uses) in graph.nodes.iter().zip(&graph.last_uses) {
            self.context.budget.count_work(1)?;
            let outputs = self.run_node(node)?;
            for (name, value) in node.outputs.iter().zip(outputs.0) {
                if let (Some(value), false) = (value, name.is_empty()) {
                    self.values.insert(name, value);
                }
            }
            for name in last_uses {
                self.values.remove(name.as_str());
            }
        }
        let output = |parameter: &Parameter| {
            let name = &parameter.name;
            self.get(name).cloned().ok_or_else(|| invalid(format!("output '{name}' was omitted by its node")))
        };
        graph.outputs.iter().map(output).collect()
    }

    fn run_node(&self, node: &Node) -> Result {
        let input = |name: &String| {
            if name.is_empty() || self.is_absent_input(name) {
                return Ok(None);
            }
            let missing = || {
                let rule = format!("input '{name}' was omitted by the node that computes it");
                error_at_node(node, None, &[], invalid(rule))
            };
            self.get(name).cloned().map(Some).ok_or_else(missing)
        };
        let inputs: Vec<Option<Value>> = node.inputs.iter().map(input).collect::<Result<_>>()?;
        self.apply_node(node, &inputs)
    }

    fn apply_node(&self, node: &Node, inputs: &[Option<Value>]) -> Result {
        let attributes = self.resolve_attributes(node);
        let result = match self.context.model.function_of(node) {
            Some((_, function)) => self.call_function(node, function, inputs.to_vec(), attributes),
            None => self.call_kernel(node, inputs, &attributes),
        };
        if let (Mode::Traced(trace), Ok(outputs)) = (self.context.mode, &result) {
            trace(&Step { depth: self.context.depth, node, outputs: &outputs.0 });
        }
        let operator = || find_spec(self.context.opsets, node).ok().map(|spec| spec.version.clone());
        result.map_err(|error| error_at_node(node, operator(), inputs, error))
    }

    /// The node's attributes; inside a function, references are replaced by the attributes of the call.
    fn resolve_attributes(&self, node: &Node) -> BTreeMap<String, Attribute> {
        let mut attributes = BTreeMap::new();
        for (name, attribute) in &node.attributes {
            match attribute {
                Attribute::Reference(reference, _) => {
                    attributes.extend(self.context.bindings.get(reference).map(|value| (name.clone(), value.clone())));
                }
                value => {
                    attributes.insert(name.clone(), value.clone());
                }
            }
        }
        attributes
    }

    fn call_kernel(&self, node: &Node, inputs: &[Option<Value>], attributes: &BTreeMap<String, Attribute>) -> Result {
        let spec = find_spec(self.context.opsets, node).map_err(|error| invalid(error.to_string()))?;
        // Trailing empty names are dropped, so that a variadic input ends with the last value.
        let inputs = &inputs[..inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1)];
        let arguments: Vec<Argument> = inputs
            .iter()
            .map(|input| input.as_ref().map_or(Argument::Absent, |value| Argument::Typed(value.value_type())))
            .collect();
        let signature = |error: Box<SignatureError>| invalid(error.to_string());
        let types = validate_node(spec, node, attributes, &arguments).map_err(signature)?;
        let kernel = registry::find(&spec.version).ok_or_else(|| no_kernel(spec))?;
        // A name that nothing uses is an output as well: some operators have a mode with more outputs.
        let wanted: Vec<bool> = node.outputs.iter().map(|name| !name.is_empty()).collect();
        let budget = self.context.budget.nested();
        let call = Call {
            spec,
            opset: self.context.opsets.version(&node.domain).unwrap_or(0),
            inputs,
            attributes,
            wanted: &wanted,
            types: &types,
            subgraphs: self,
            budget: &budget,
        };
        if matches!(self.context.mode, Mode::Magnitudes)
            && let Some(magnitudes) = kernel.magnitude(&call)
        {
            return magnitudes;
        }
        let outputs = match self.context.mode {
            Mode::Faulty(fault) => fault(&call, kernel),
            _ => kernel.run(&call),
        };
        // After the deadline a kernel's loops end early, so its result is not used.
        budget.check_time()?;
        let outputs = outputs.map_err(|error| error.of_operator(&spec.version.name))?;
        check_outputs(&call, &outputs)?;
        Ok(outputs)
    }

    fn call_function(
        &self,
        node: &Node,
        function: &'a Function,
        inputs: Vec<Option<Value>>,
        mut attributes: BTreeMap<String, Attribute>,
    ) -> Result {
        if attributes.values().any(|attribute| !attribute.graphs().is_empty()) {
            return Err(unsupported(
                Missing::Attribute,
                "a graph as an attribute of a call of a model-local function is not supported",
            ));
        }
        if inputs.len() > function.body.inputs.len() || node.outputs.len() > function.body.outputs.len() {
            return Err(invalid(format!(
                "the function takes {} inputs and has {} outputs",
                function.body.inputs.len(),
                function.body.outputs.len()
            )));
        }
        for name in attributes.keys() {
            if !function.attributes.contains(name) && !function.defaults.contains_key(name) {
                return Err(invalid(format!("the function has no attribute '{name}'")));
            }
        }
        for (name, default) in &function.defaults {
            attributes.entry(name.clone()).or_insert_with(|| default.clone());
        }
        let context =
            Context { opsets: &function.opsets, bindings: &attributes, depth: self.deeper()?, ..*self.context };
        let mut frame = Frame::new(&context, &function.body, None);
        let inputs = inputs.into_iter().chain(std::iter::repeat(None));
        for (parameter, value) in function.body.inputs.iter().zip(inputs) {
            match value {
                Some(value) => drop(frame.values.insert(&parameter.name, value)),
                None => drop(frame.absent.insert(&parameter.name)),
            }
        }
        let mut outputs = frame.run_graph()?;
        outputs.truncate(node.outputs.len());
        Ok(outputs.into())
    }

    fn deeper(&self) -> Result<usize> {
        let (depth, max) = (self.context.depth + 1, self.context.budget.limits().depth);
        if depth > max {
            return Err(KernelError::Depth(max));
        }
        Ok(depth)
    }

    /// Converts a sparse value to a dense tensor, since no operator takes a sparse one.
    fn dense(&self, value: Value) -> Result<Value> {
        match value {
            Value::Sparse(sparse) => densify(&sparse, self.context.budget).map(Value::Tensor),
            other => Ok(other),
        }
    }
}

impl Subgraphs for Frame<'_> {
    fn run(&self, graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>> {
        if inputs.len() != graph.inputs.len() {
            return Err(invalid(format!(
                "subgraph '{}' takes {} inputs, but was given {}",
                graph.name,
                graph.inputs.len(),
                inputs.len()
            )));
        }
        let context = Context { depth: self.deeper()?, ..*self.context };
        let mut frame = Frame::new(&context, graph, Some(self));
        for (parameter, value) in graph.inputs.iter().zip(inputs) {
            if let Some(declared) = parameter.value_type.as_ref().filter(|declared| **declared != value.value_type()) {
                let (name, actual) = (&parameter.name, value.value_type());
                return Err(invalid(format!(
                    "input '{name}' of subgraph '{}' is {actual}, not {declared}",
                    graph.name
                )));
            }
            frame.values.insert(&parameter.name, value);
        }
        frame.run_graph()
    }

    fn enclosing(&self) -> &Graph {
        self.graph
    }

    fn apply(&self, node: &Node, inputs: Vec<Option<Value>>) -> Result {
        self.apply_node(node, &inputs)
    }
}

fn no_kernel(spec: &OpSpec) -> KernelError {
    let what = if registry::all().any(|kernel| kernel.row().1 == spec.version.name) {
        Missing::Version
    } else {
        Missing::Operator
    };
    unsupported(what, format!("the reference has no kernel for {}", spec.version.qualified()))
}

/// All types that each type parameter has in this call; a heterogeneous list may have several.
fn observed(call: &Call<'_>, outputs: &Outputs) -> Vec<(String, ValueType)> {
    let inputs = call.inputs.iter().enumerate().map(|(index, value)| (call.spec.input_at(index), value));
    let outputs = outputs.0.iter().enumerate().map(|(index, value)| (call.spec.output_at(index), value));
    let pair = |(formal, value): (Option<&FormalParameter>, &Option<Value>)| match &formal?.kind {
        FormalType::Parameter(name) => Some((name.clone(), value.as_ref()?.value_type())),
        FormalType::Literal(_) => None,
    };
    inputs.chain(outputs).filter_map(pair).collect()
}

/// Checks a kernel's outputs against the types of the signature: a self-test.
fn check_outputs(call: &Call<'_>, outputs: &Outputs) -> Result<()> {
    let mut types = call.types.clone();
    for (index, value) in outputs.0.iter().enumerate() {
        let (Some(value), Some(formal)) = (value, call.spec.output_at(index)) else { continue };
        let actual = value.value_type();
        let allowed = call.spec.allowed(&formal.kind).contains(&actual);
        let agrees = match &formal.kind {
            FormalType::Parameter(name) if !formal.is_heterogeneous() => {
                *types.entry(name.clone()).or_insert_with(|| actual.clone()) == actual
            }
            _ => true,
        };
        if !(allowed && agrees) {
            let message = format!("{} returned {actual} for output {index} '{}'", call.spec.version, formal.name);
            return Err(KernelError::Internal(message));
        }
    }
    if let Some(observer) = &call.budget.limits().observer {
        observer(call.spec, &observed(call, outputs));
    }
    match (0..call.wanted.len()).find(|&index| call.wants(index) && outputs.0.get(index).is_none_or(Option::is_none)) {
        Some(index) => Err(KernelError::Internal(format!("{} returned no output {index}", call.spec.version))),
        None => Ok(()),
    }
}

fn error_at_node(
    node: &Node,
    operator: Option<OperatorVersion>,
    inputs: &[Option<Value>],
    source: KernelError,
) -> KernelError {
    let shown = inputs.iter().take(SHOWN).map(|input| input.as_ref().map_or_else(|| "-".to_owned(), Value::to_string));
    let more = inputs.len().checked_sub(SHOWN + 1).map(|more| format!("and {} more", more + 1));
    let shown: Vec<String> = shown.chain(more).collect();
    let place = if shown.is_empty() { node.to_string() } else { format!("{node} on {}", shown.join(", ")) };
    KernelError::At { place, operator, source: Box::new(source) }
}
