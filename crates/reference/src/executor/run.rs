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

/// The most inputs of a node that an error shows.
const SHOWN: usize = 16;

/// A run that gave no outputs.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An input that the model does not take, or takes otherwise.
    #[error("input '{name}' {rule}")]
    Input {
        /// The name of the input.
        name: String,
        /// What is wrong with it.
        rule: String,
    },
    /// A node failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

impl RunError {
    /// Whether the run failed only for what this executor does not have.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, RunError::Kernel(error) if matches!(error.root(), KernelError::Unsupported { .. }))
    }
}

/// The outputs of a model, in order, given its inputs by name. Inputs that have an initializer may be left out.
pub fn run(model: &Model, inputs: BTreeMap<String, Value>, limits: ExecutionLimits) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Outputs)
}

/// A node that has run, and its outputs.
#[derive(Debug)]
pub struct Step<'a> {
    /// How many subgraphs and functions it is nested in.
    pub depth: usize,
    /// The node.
    pub node: &'a Node,
    /// The value of each output; nothing for one that is left out.
    pub outputs: &'a [Option<Value>],
}

/// Is shown each node once it has run.
pub type Trace<'a> = &'a (dyn Fn(&Step<'_>) + Sync);

/// The outputs of a model, as [`run`] gives them; `trace` is shown each node on the way.
pub fn run_traced(
    model: &Model,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
    trace: Trace<'_>,
) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Traced(trace))
}

/// Runs in place of each kernel, which it is given.
pub type Fault<'a> = &'a (dyn Fn(&Call<'_>, &'static registry::Kernel) -> Result + Sync);

/// The outputs of a model whose kernels are wrong in a way that is known, to see whether the suite notices.
#[cfg(feature = "faults")]
pub fn run_faulty(
    model: &Model,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
    fault: Fault<'_>,
) -> Result<Vec<Value>, RunError> {
    evaluate(model, inputs, limits, Mode::Faulty(fault))
}

/// What is computed.
#[derive(Clone, Copy)]
enum Mode<'a> {
    /// What the operators mean.
    Outputs,
    /// What the operators mean, node by node.
    Traced(Trace<'a>),
    /// The same accumulations over absolute terms.
    Magnitudes,
    /// What wrong kernels make of it.
    #[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "the feature alone makes kernels wrong"))]
    Faulty(Fault<'a>),
}

/// The magnitudes of the outputs of a model of one node: the same accumulation over absolute terms. Nothing where the
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
        let rule = format!("is none of the model's, which are {}", names.join(", "));
        return Err(RunError::Input { name, rule });
    }
    Ok(frame.run_graph()?)
}

/// The declared type holds, and so does the shape as far as it is declared; a name means one size everywhere.
fn check_input<'a>(
    parameter: &'a Parameter,
    value: &Value,
    sizes: &mut BTreeMap<&'a str, usize>,
) -> Result<(), RunError> {
    let wrong = |rule: String| Err(RunError::Input { name: parameter.name.clone(), rule });
    let actual = value.value_type();
    match &parameter.value_type {
        Some(declared) if *declared != actual => return wrong(format!("is declared {declared}, but is {actual}")),
        _ => {}
    }
    let (Some(declared), Some(tensor)) = (&parameter.shape, value.as_tensor()) else { return Ok(()) };
    let fits = declared.len() == tensor.rank()
        && declared.iter().zip(tensor.shape()).all(|(dim, &size)| match dim {
            Dim::Size(declared) => *declared == size,
            Dim::Name(name) => *sizes.entry(name).or_insert(size) == size,
            Dim::Unknown => true,
        });
    if fits {
        Ok(())
    } else {
        wrong(format!("has shape {:?}, which the declared {declared:?} excludes", tensor.shape()))
    }
}

/// What all graphs of one body share.
struct Context<'a> {
    model: &'a Model,
    opsets: &'a Opsets,
    /// The attributes that a function was called with.
    bindings: &'a BTreeMap<String, Attribute>,
    budget: &'a Budget,
    depth: usize,
    mode: Mode<'a>,
}

/// The values of one graph, inside those of the graph around it.
struct Frame<'a> {
    context: &'a Context<'a>,
    graph: &'a Graph,
    parent: Option<&'a Frame<'a>>,
    /// The inputs of the function that its caller leaves out.
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

    /// Whether a name is an input of the function that its caller left out.
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
            let outputs = self.run_node(node, last_uses)?;
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
            self.get(name).cloned().ok_or_else(|| invalid(format!("output '{name}' was left out by its node")))
        };
        graph.outputs.iter().map(output).collect()
    }

    fn run_node(&self, node: &Node, last_uses: &[String]) -> Result {
        let input = |name: &String| {
            if name.is_empty() || self.is_absent_input(name) {
                return Ok(None);
            }
            let missing = || {
                let rule = format!("input '{name}' was left out by the node that computes it");
                at(node, None, &[], invalid(rule))
            };
            self.get(name).cloned().map(Some).ok_or_else(missing)
        };
        let inputs: Vec<Option<Value>> = node.inputs.iter().map(input).collect::<Result<_>>()?;
        self.apply_node(node, &inputs, last_uses)
    }

    fn apply_node(&self, node: &Node, inputs: &[Option<Value>], last_uses: &[String]) -> Result {
        let attributes = self.resolve_attributes(node);
        let result = match self.context.model.function_of(node) {
            Some((_, function)) => self.call_function(node, function, inputs.to_vec(), attributes),
            None => self.call_kernel(node, inputs, &attributes, last_uses),
        };
        if let (Mode::Traced(trace), Ok(outputs)) = (self.context.mode, &result) {
            trace(&Step { depth: self.context.depth, node, outputs: &outputs.0 });
        }
        let operator = || find_spec(self.context.opsets, node).ok().map(|spec| spec.version.clone());
        result.map_err(|error| at(node, operator(), inputs, error))
    }

    /// The node's attributes; inside a function, references are replaced by what it was called with.
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

    fn call_kernel(
        &self,
        node: &Node,
        inputs: &[Option<Value>],
        attributes: &BTreeMap<String, Attribute>,
        last_uses: &[String],
    ) -> Result {
        let spec = find_spec(self.context.opsets, node).map_err(|error| invalid(error.to_string()))?;
        // Trailing empty names say nothing, so that a variadic input ends with the last value.
        let inputs = &inputs[..inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1)];
        let arguments: Vec<Argument> = inputs
            .iter()
            .map(|input| input.as_ref().map_or(Argument::Absent, |value| Argument::Typed(value.value_type())))
            .collect();
        let signature = |error: Box<SignatureError>| invalid(error.to_string());
        let types = validate_node(spec, node, attributes, &arguments).map_err(signature)?;
        let kernel = registry::find(&spec.version).ok_or_else(|| no_kernel(spec))?;
        let wanted: Vec<bool> =
            node.outputs.iter().map(|name| !name.is_empty() && last_uses.binary_search(name).is_err()).collect();
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
        // A kernel's loops end early when the time is over, whatever it makes of that.
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
            return Err(unsupported(Missing::Attribute, "a graph passed to a model-local function as an attribute"));
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

    /// A sparse value as the dense tensor it stands for, which is all that operators take.
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
                "subgraph '{}' takes {} inputs, but is given {}",
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
        self.apply_node(node, &inputs, &[])
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

/// Every type that a type parameter stands for in this call; in a heterogeneous list that may be several.
fn observed(call: &Call<'_>, outputs: &Outputs) -> Vec<(String, ValueType)> {
    let inputs = call.inputs.iter().enumerate().map(|(at, value)| (call.spec.input_at(at), value));
    let outputs = outputs.0.iter().enumerate().map(|(at, value)| (call.spec.output_at(at), value));
    let pair = |(formal, value): (Option<&FormalParameter>, &Option<Value>)| match &formal?.kind {
        FormalType::Parameter(name) => Some((name.clone(), value.as_ref()?.value_type())),
        FormalType::Literal(_) => None,
    };
    inputs.chain(outputs).filter_map(pair).collect()
}

/// A kernel's outputs have the types that the signature gives them: a test of ourselves.
fn check_outputs(call: &Call<'_>, outputs: &Outputs) -> Result<()> {
    let mut types = call.types.clone();
    for (at, value) in outputs.0.iter().enumerate() {
        let (Some(value), Some(formal)) = (value, call.spec.output_at(at)) else { continue };
        let actual = value.value_type();
        let allowed = call.spec.allowed(&formal.kind).contains(&actual);
        let agrees = match &formal.kind {
            FormalType::Parameter(name) if !formal.is_heterogeneous() => {
                *types.entry(name.clone()).or_insert_with(|| actual.clone()) == actual
            }
            _ => true,
        };
        if !(allowed && agrees) {
            let message = format!("{} gave {actual} for output {at} '{}'", call.spec.version, formal.name);
            return Err(KernelError::Internal(message));
        }
    }
    if let Some(observer) = &call.budget.limits().observer {
        observer(call.spec, &observed(call, outputs));
    }
    match (0..call.wanted.len()).find(|&at| call.wants(at) && outputs.0.get(at).is_none_or(Option::is_none)) {
        Some(at) => Err(KernelError::Internal(format!("{} gave no output {at}", call.spec.version))),
        None => Ok(()),
    }
}

fn at(node: &Node, operator: Option<OperatorVersion>, inputs: &[Option<Value>], source: KernelError) -> KernelError {
    let shown = inputs.iter().take(SHOWN).map(|input| input.as_ref().map_or_else(|| "-".to_owned(), Value::to_string));
    let more = inputs.len().checked_sub(SHOWN + 1).map(|more| format!("and {} more", more + 1));
    let shown: Vec<String> = shown.chain(more).collect();
    let place = if shown.is_empty() { node.to_string() } else { format!("{node} on {}", shown.join(", ")) };
    KernelError::At { place, operator, source: Box::new(source) }
}
