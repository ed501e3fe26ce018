//! Contexts: the same computation with other roles of its values, or inside a branch or function.
//!
//! Each is a near miss of every rewrite at once: an optimizer that looks only at the nodes rewrites too much.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::AttributeType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::make::topics::model::is_tensor;
use crate::generate::plan::graph_text::{FUNCTIONS, import};

/// A context that a graph is tried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// Every value between nodes is an output, too.
    IntermediateOutputs,
    /// Every tensor between nodes has one more reader.
    IntermediatesReadTwice,
    /// The initializers are inputs.
    WeightsAsInputs,
    /// The initializers are inputs, too, and floats are given twice their default values.
    OverriddenWeights,
    /// The initializers pass through Identity.
    WeightsBehindIdentity,
    /// The initializers are Constant nodes.
    WeightsAsConstants,
    /// The dimensions of inputs and outputs have names instead of sizes.
    DynamicSizes,
    /// The nodes are in a branch, which captures inputs and initializers.
    InBranch,
    /// The nodes are the body of a function, which gets inputs and initializers.
    InFunction,
}

impl Context {
    pub(crate) const ALL: [Context; 9] = [
        Context::IntermediateOutputs,
        Context::IntermediatesReadTwice,
        Context::WeightsAsInputs,
        Context::OverriddenWeights,
        Context::WeightsBehindIdentity,
        Context::WeightsAsConstants,
        Context::DynamicSizes,
        Context::InBranch,
        Context::InFunction,
    ];

    /// Returns the name in ids and files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Context::IntermediateOutputs => "intermediate_outputs",
            Context::IntermediatesReadTwice => "intermediates_read_twice",
            Context::WeightsAsInputs => "weights_as_inputs",
            Context::OverriddenWeights => "overridden_weights",
            Context::WeightsBehindIdentity => "weights_behind_identity",
            Context::WeightsAsConstants => "weights_as_constants",
            Context::DynamicSizes => "dynamic_sizes",
            Context::InBranch => "in_branch",
            Context::InFunction => "in_function",
        }
    }

    /// Describes the context in a sentence.
    pub(crate) const fn says(self) -> &'static str {
        match self {
            Context::IntermediateOutputs => "every value between the nodes is an output of the graph, too",
            Context::IntermediatesReadTwice => "every value between the nodes has one more reader",
            Context::WeightsAsInputs => "the constants are inputs of the graph",
            Context::OverriddenWeights => "the constants are defaults of inputs, which are given other values",
            Context::WeightsBehindIdentity => "the constants pass through Identity",
            Context::WeightsAsConstants => "the constants are Constant nodes",
            Context::DynamicSizes => "the sizes of inputs and outputs are unknown before the run",
            Context::InBranch => "the nodes are in a branch of If, and read values of the graph around it",
            Context::InFunction => "the nodes are the body of a function",
        }
    }

    /// Returns true if the graph in the context computes other outputs.
    pub(crate) fn changes_outputs(self) -> bool {
        self == Context::OverriddenWeights
    }

    /// Returns true if the context changes a graph.
    pub(crate) fn changes(self, draft: &GraphDraft) -> bool {
        let has_sizes = |input: &Named| input.value.as_tensor().is_some_and(|tensor| !tensor.shape().is_empty());
        match self {
            Context::IntermediateOutputs | Context::IntermediatesReadTwice => !draft.intermediates().is_empty(),
            Context::WeightsAsInputs | Context::WeightsBehindIdentity | Context::WeightsAsConstants => {
                !draft.weights.is_empty()
            }
            Context::OverriddenWeights => draft.weights.iter().any(|weight| doubled(weight).is_some()),
            Context::DynamicSizes => draft.inputs.iter().any(has_sizes),
            Context::InBranch | Context::InFunction => true,
        }
    }

    /// Applies the context to a graph. Fails if the values of the graph do not allow it.
    pub(crate) fn apply(self, draft: &GraphDraft) -> Result<GraphDraft, String> {
        Ok(match self {
            Context::IntermediateOutputs => with_outputs(draft, &draft.intermediates()),
            Context::IntermediatesReadTwice => read_twice(draft)?,
            Context::WeightsAsInputs => {
                let inputs = [draft.inputs.as_slice(), &draft.weights].concat();
                GraphDraft { inputs, weights: Vec::new(), ..draft.clone() }
            }
            Context::OverriddenWeights => {
                GraphDraft { overridden: draft.weights.iter().filter_map(doubled).collect(), ..draft.clone() }
            }
            Context::WeightsBehindIdentity => behind_identity(draft),
            Context::WeightsAsConstants => as_constants(draft),
            Context::DynamicSizes => GraphDraft { is_dynamic: true, ..draft.clone() },
            Context::InBranch => in_branch(draft)?,
            Context::InFunction => in_function(draft),
        })
    }
}

fn with_outputs(draft: &GraphDraft, more: &[String]) -> GraphDraft {
    GraphDraft { outputs: [draft.outputs.as_slice(), more].concat(), ..draft.clone() }
}

/// Adds a reader of each tensor between nodes: Unsqueeze, whose result is an output.
fn read_twice(draft: &GraphDraft) -> Result<GraphDraft, String> {
    let values = with_outputs(draft, &draft.intermediates()).run()?;
    let mut changed = draft.clone();
    let axes = "axis_of_readers".to_owned();
    for named in values.iter().skip(draft.outputs.len()).filter(|named| is_tensor(named)) {
        let output = format!("{}_again", named.name);
        let mut reader = node("Unsqueeze", vec![named.name.clone()], vec![output.clone()]);
        if draft.opset < 13 {
            reader.attribute.push(AttributeProto {
                name: Some("axes".to_owned()),
                r#type: Some(AttributeType::Ints.code()),
                ints: vec![0],
                ..AttributeProto::default()
            });
        } else {
            reader.input.push(axes.as_str().into());
        }
        changed.nodes.push(reader);
        changed.outputs.push(output);
    }
    if draft.opset >= 13 {
        let value = Tensor::of_integers(ElementType::Int64, &[1], &[0]).map_err(|error| error.to_string())?;
        changed.weights.push(Named { name: axes, value: Value::Tensor(value) });
    }
    if changed.outputs.len() > draft.outputs.len() {
        Ok(changed)
    } else {
        Err("no value between the nodes is a tensor".to_owned())
    }
}

/// Returns the value that a float initializer is given where it is the default of an input: twice its value, which rounds
/// nothing. Other initializers keep theirs.
fn doubled(weight: &Named) -> Option<Named> {
    let tensor = weight.value.as_tensor().filter(|tensor| tensor.element_type().is_float())?;
    let values: Vec<f64> = tensor.floats().into_iter().map(|value| 2.0 * value).collect();
    let value = Tensor::of_floats(tensor.element_type(), tensor.shape(), &values).ok()?;
    Some(Named { name: weight.name.clone(), value: Value::Tensor(value) })
}

fn behind_identity(draft: &GraphDraft) -> GraphDraft {
    let source = |name: &str| format!("{name}_source");
    let identity = |weight: &Named| node("Identity", vec![source(&weight.name)], vec![weight.name.clone()]);
    let renamed = |weight: &Named| Named { name: source(&weight.name), value: weight.value.clone() };
    GraphDraft {
        nodes: draft.weights.iter().map(identity).chain(draft.nodes.iter().cloned()).collect(),
        weights: draft.weights.iter().map(renamed).collect(),
        ..draft.clone()
    }
}

fn as_constants(draft: &GraphDraft) -> GraphDraft {
    let constants = draft.weights.iter().filter_map(|weight| Some(constant(&weight.name, weight.value.as_tensor()?)));
    GraphDraft { nodes: constants.chain(draft.nodes.iter().cloned()).collect(), weights: Vec::new(), ..draft.clone() }
}

/// Puts the nodes into the branch of an If that runs. The other branch has constants of the same types.
fn in_branch(draft: &GraphDraft) -> Result<GraphDraft, String> {
    let values = draft.run()?;
    let name_outside = |name: &str| format!("{name}_of_branch");
    let info = |name: &str, value: &Value| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(encode::value_type(&value.value_type(), None)),
        ..ValueInfoProto::default()
    };
    let other = |named: &Named| {
        let zeros = named.value.as_tensor().and_then(|tensor| {
            let bytes = vec![0; tensor.bytes().len()].into();
            Tensor::from_bytes(tensor.element_type(), tensor.shape().to_vec(), bytes).ok()
        });
        let zeros = zeros.ok_or_else(|| format!("the output '{}' is no tensor of numbers", named.name))?;
        Ok(constant(&format!("{}_otherwise", named.name), &zeros))
    };
    let then_branch = GraphProto {
        name: Some("then".to_owned()),
        node: draft.nodes.clone(),
        output: values.iter().map(|named| info(&named.name, &named.value)).collect(),
        ..GraphProto::default()
    };
    let else_branch = GraphProto {
        name: Some("otherwise".to_owned()),
        node: values.iter().map(other).collect::<Result<_, String>>()?,
        output: values.iter().map(|named| info(&format!("{}_otherwise", named.name), &named.value)).collect(),
        ..GraphProto::default()
    };
    let graph = |name: &str, graph: GraphProto| AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Graph.code()),
        g: Some(Box::new(graph)),
        ..AttributeProto::default()
    };
    let truth = Tensor::from_vec(Vec::new(), vec![true]).map_err(|error| error.to_string())?;
    let condition = Named { name: "condition".to_owned(), value: Value::Tensor(truth) };
    let outputs: Vec<String> = draft.outputs.iter().map(|name| name_outside(name)).collect();
    let mut branch = node("If", vec![condition.name.clone()], outputs.clone());
    branch.attribute = vec![graph("then_branch", then_branch), graph("else_branch", else_branch)];
    Ok(GraphDraft {
        nodes: vec![branch],
        inputs: [draft.inputs.as_slice(), &[condition]].concat(),
        outputs,
        ..draft.clone()
    })
}

/// Makes the nodes the body of a function that the graph calls.
fn in_function(draft: &GraphDraft) -> GraphDraft {
    let names: Vec<String> = draft.inputs.iter().chain(&draft.weights).map(|named| named.name.clone()).collect();
    let function = FunctionProto {
        name: Some("Pattern".to_owned()),
        domain: Some(FUNCTIONS.to_owned()),
        input: names.clone(),
        output: draft.outputs.clone(),
        node: draft.nodes.clone(),
        opset_import: vec![import("", draft.opset), import(FUNCTIONS, 1)],
        ..FunctionProto::default()
    };
    let mut call = node("Pattern", names, draft.outputs.clone());
    call.domain = Some(FUNCTIONS.into());
    let functions = std::iter::once(function).chain(draft.functions.iter().cloned()).collect();
    GraphDraft { nodes: vec![call], functions, ..draft.clone() }
}

fn node(operator: &str, input: Vec<String>, output: Vec<String>) -> NodeProto {
    NodeProto { op_type: Some(operator.into()), input: texts(input), output: texts(output), ..NodeProto::default() }
}

/// Returns a Constant node with the value of a tensor.
fn constant(name: &str, tensor: &Tensor) -> NodeProto {
    let mut constant = node("Constant", Vec::new(), vec![name.to_owned()]);
    constant.attribute.push(AttributeProto {
        name: Some("value".to_owned()),
        r#type: Some(AttributeType::Tensor.code()),
        t: Some(Box::new(encode::tensor(tensor, ""))),
        ..AttributeProto::default()
    });
    constant
}
