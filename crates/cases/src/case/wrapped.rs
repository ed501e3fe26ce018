//! Exact no-ops around the inputs and outputs of a model, for the variant `wrapped`.
//!
//! The outputs are those of the case, bit for bit. But an optimizer may rewrite the model differently: each value
//! passes through one no-op, whose operand is a constant for one half of the values, and an input for the other.

use hmac_sha256::Hash;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::{AttributeType, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{DataSet, Named};

/// Digest of the no-ops around models of every type at several opsets. It changes with each model that they change.
pub(crate) const NO_OPS: &str = "9ba32d779fd7558c";

/// Domain of the function of one node.
const DOMAIN: &str = "wrapped";

/// A computation that returns its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoOp {
    /// Two Transposes that reverse the axes.
    TransposePair,
    /// Cast to the type that the value has.
    CastToItself,
    /// x * 1.
    TimesOne,
    /// x - 0, which keeps -0.
    MinusZero,
    /// -(-x).
    NegTwice,
    /// Reshape to the shape that the value has.
    ReshapeToItself,
    /// Unsqueeze of a first axis, and Squeeze of it.
    UnsqueezeAndSqueeze,
    /// Slice of the whole first axis.
    WholeSlice,
    /// Concat of one input.
    ConcatOfOne,
    /// If with a branch that returns the value.
    Branch,
    /// A function whose body is Identity.
    Function,
}

impl NoOp {
    const ALL: [NoOp; 11] = [
        NoOp::TransposePair,
        NoOp::CastToItself,
        NoOp::TimesOne,
        NoOp::MinusZero,
        NoOp::NegTwice,
        NoOp::ReshapeToItself,
        NoOp::UnsqueezeAndSqueeze,
        NoOp::WholeSlice,
        NoOp::ConcatOfOne,
        NoOp::Branch,
        NoOp::Function,
    ];

    /// Returns the operators that it consists of, and the first opset where this form is valid.
    const fn operators(self) -> (&'static [&'static str], u32) {
        match self {
            NoOp::TransposePair => (&["Transpose"], 1),
            NoOp::CastToItself => (&["Cast"], 6),
            NoOp::TimesOne => (&["Mul"], 7),
            NoOp::MinusZero => (&["Sub"], 7),
            NoOp::NegTwice => (&["Neg"], 6),
            NoOp::ReshapeToItself => (&["Reshape"], 5),
            NoOp::UnsqueezeAndSqueeze => (&["Unsqueeze", "Squeeze"], 13),
            NoOp::WholeSlice => (&["Slice"], 10),
            NoOp::ConcatOfOne => (&["Concat"], 4),
            NoOp::Branch => (&["Identity", "If"], 11),
            NoOp::Function => (&["Identity"], 15),
        }
    }

    /// Returns true if it needs the shape of the value, of at least one axis.
    const fn needs_axes(self) -> bool {
        matches!(self, NoOp::TransposePair | NoOp::ReshapeToItself | NoOp::WholeSlice | NoOp::ConcatOfOne)
    }
}

/// A value that passes through a no-op.
struct Wrapped<'a> {
    /// Name of the value that the no-op reads.
    from: &'a str,
    /// Name of its result.
    to: &'a str,
    element: ElementType,
    /// The shape, if it is known.
    shape: Option<&'a [usize]>,
}

/// The additions to a model.
struct Additions {
    opset: u32,
    ir_version: i64,
    /// Name of the case, which decides the choices.
    seed: String,
    initializers: Vec<Named>,
    inputs: Vec<Named>,
    needs_function: bool,
}

/// Puts a no-op around every tensor of the inputs and outputs. Returns `None` if there is none to wrap.
pub(super) fn wrap(model: &mut ModelProto, data: &mut DataSet, seed: &str, opset: u32) -> Option<()> {
    let ir_version = model.ir_version();
    let graph = model.graph.as_mut()?;
    let mut additions = Additions {
        opset,
        ir_version,
        seed: seed.to_owned(),
        initializers: Vec::new(),
        inputs: Vec::new(),
        needs_function: false,
    };
    let before = wrap_inputs(graph, data, &mut additions);
    let after = wrap_outputs(graph, data, &mut additions);
    if before.is_empty() && after.is_empty() {
        return None;
    }
    graph.node.splice(0..0, before);
    graph.node.extend(after);
    let tensor = |named: &Named| Some(encode::tensor(named.value.as_tensor()?, &named.name));
    graph.initializer.extend(additions.initializers.iter().filter_map(tensor));
    graph.input.extend(additions.inputs.iter().map(info));
    data.inputs.extend(additions.inputs);
    if additions.needs_function {
        add_function(model, opset);
    }
    Some(())
}

/// Renames each input of the graph, and returns the nodes that compute the value of the old name from the new one.
fn wrap_inputs(graph: &mut GraphProto, data: &mut DataSet, additions: &mut Additions) -> Vec<NodeProto> {
    let mut nodes = Vec::new();
    let defaults: Vec<String> = graph.initializer.iter().map(|tensor| tensor.name().to_owned()).collect();
    for input in &mut data.inputs {
        let Value::Tensor(tensor) = &input.value else { continue };
        let Some(info) = graph.input.iter_mut().find(|info| info.name() == input.name) else { continue };
        if defaults.contains(&input.name) {
            continue;
        }
        let outside = format!("{}_outside", input.name);
        let (element, shape) = (tensor.element_type(), Some(tensor.shape()));
        let Some(made) = additions.nodes(&Wrapped { from: &outside, to: &input.name, element, shape }) else {
            continue;
        };
        nodes.extend(made);
        info.name = Some(outside.clone());
        input.name = outside;
    }
    nodes
}

/// Renames each output of the graph, and returns the nodes that compute the value of the new name from the old one.
fn wrap_outputs(graph: &mut GraphProto, data: &mut DataSet, additions: &mut Additions) -> Vec<NodeProto> {
    let mut nodes = Vec::new();
    for output in &mut data.outputs {
        let (ValueType::Tensor(element), shape) = output.expected.declared() else { continue };
        let Some(info) = graph.output.iter_mut().find(|info| info.name() == output.name) else { continue };
        let outside = format!("{}_wrapped", output.name);
        let wrapped = Wrapped { from: &output.name, to: &outside, element, shape: shape.as_deref() };
        let Some(made) = additions.nodes(&wrapped) else { continue };
        nodes.extend(made);
        info.name = Some(outside.clone());
        output.name = outside;
    }
    nodes
}

impl Additions {
    /// Returns the nodes of a no-op for the value. Returns `None` if no operator at the opset takes its type.
    fn nodes(&mut self, wrapped: &Wrapped<'_>) -> Option<Vec<NodeProto>> {
        let fitting: Vec<NoOp> = NoOp::ALL.into_iter().filter(|no_op| self.fits(*no_op, wrapped)).collect();
        let choice = self.choice(wrapped.to, "no-op");
        let no_op = *fitting.get(choice.checked_rem(fitting.len())?)?;
        let between = format!("{}_between", wrapped.to);
        let (from, to) = (wrapped.from, wrapped.to);
        let shape = wrapped.shape.unwrap_or_default();
        Some(match no_op {
            NoOp::TransposePair => {
                vec![with_ints(node("Transpose", &[from], &between), "perm", (0..shape.len()).rev()), {
                    with_ints(node("Transpose", &[&between], to), "perm", (0..shape.len()).rev())
                }]
            }
            NoOp::CastToItself => vec![with_int(node("Cast", &[from], to), "to", i64::from(wrapped.element.code()))],
            NoOp::TimesOne => vec![node("Mul", &[from, &self.operand(to, wrapped.element, &[], &[1])?], to)],
            NoOp::MinusZero => vec![node("Sub", &[from, &self.operand(to, wrapped.element, &[], &[0])?], to)],
            NoOp::NegTwice => vec![node("Neg", &[from], &between), node("Neg", &[&between], to)],
            NoOp::ReshapeToItself => {
                let sizes: Vec<i128> = shape.iter().map(|size| *size as i128).collect();
                let sizes = self.operand(to, ElementType::Int64, &[shape.len()], &sizes)?;
                vec![node("Reshape", &[from, &sizes], to)]
            }
            NoOp::UnsqueezeAndSqueeze => {
                let axes = self.operand(to, ElementType::Int64, &[1], &[0])?;
                vec![node("Unsqueeze", &[from, &axes], &between), node("Squeeze", &[&between, &axes], to)]
            }
            NoOp::WholeSlice => {
                let start = self.operand(&format!("{to}_start"), ElementType::Int64, &[1], &[0])?;
                let end = self.operand(&format!("{to}_end"), ElementType::Int64, &[1], &[i128::from(i64::MAX)])?;
                vec![node("Slice", &[from, &start, &end], to)]
            }
            NoOp::ConcatOfOne => vec![with_int(node("Concat", &[from], to), "axis", 0)],
            NoOp::Branch => {
                let condition = self.operand(to, ElementType::Bool, &[], &[1])?;
                vec![branch(wrapped, &condition)]
            }
            NoOp::Function => {
                self.needs_function = true;
                vec![NodeProto { domain: Some(DOMAIN.into()), ..node("Same", &[from], to) }]
            }
        })
    }

    /// Returns true if the operators of a no-op take the value at the opset.
    fn fits(&self, no_op: NoOp, wrapped: &Wrapped<'_>) -> bool {
        let (operators, first_opset) = no_op.operators();
        let value_type = ValueType::Tensor(wrapped.element);
        let takes = |operator: &&str| {
            let spec = Specs::embedded().find("", operator, i64::from(self.opset));
            spec.is_ok_and(|spec| spec.types.values().any(|types| types.contains(&value_type)))
        };
        let has_axes = wrapped.shape.is_some_and(|shape| !shape.is_empty());
        // Reshape reads a size of 0 as the size of its input, which is the same; Cast of a string parses it.
        let is_valid = match no_op {
            NoOp::CastToItself => wrapped.element != ElementType::String,
            NoOp::Function => self.ir_version >= 8,
            _ => true,
        };
        is_valid && self.opset >= first_opset && (has_axes || !no_op.needs_axes()) && operators.iter().all(takes)
    }

    /// Adds an operand of a no-op, as an initializer or an input, and returns its name.
    fn operand(&mut self, name: &str, element: ElementType, shape: &[usize], values: &[i128]) -> Option<String> {
        let floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        let tensor = match element {
            ElementType::Bool => Tensor::from_vec(shape.to_vec(), values.iter().map(|value| *value != 0).collect()),
            _ if element.is_float() => Tensor::of_floats(element, shape, &floats),
            _ => Tensor::of_integers(element, shape, values),
        };
        let named = Named { name: format!("{name}_operand"), value: Value::Tensor(tensor.ok()?) };
        let name = named.name.clone();
        // Before IR version 4 an initializer must also be an input.
        let is_constant = self.ir_version >= 4 && self.choice(&name, "constant").is_multiple_of(2);
        if is_constant { &mut self.initializers } else { &mut self.inputs }.push(named);
        Some(name)
    }

    /// Draws a number for a value and a question, the same number every time.
    fn choice(&self, name: &str, question: &str) -> usize {
        let digest = Hash::hash(format!("{}#{name}#{question}", self.seed).as_bytes());
        digest.iter().take(4).fold(0, |number, byte| number << 8 | usize::from(*byte))
    }
}

fn info(named: &Named) -> ValueInfoProto {
    let shape = named.value.as_tensor().map(|tensor| tensor.shape().to_vec());
    ValueInfoProto {
        name: Some(named.name.clone()),
        r#type: Some(encode::value_type(&named.value.value_type(), shape.as_deref())),
        ..ValueInfoProto::default()
    }
}

fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(operator.into()),
        input: texts(inputs.iter().copied()),
        output: texts([output]),
        ..NodeProto::default()
    }
}

fn with_int(mut node: NodeProto, name: &str, value: i64) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Int.code()),
        i: Some(value),
        ..AttributeProto::default()
    });
    node
}

fn with_ints(mut node: NodeProto, name: &str, values: impl Iterator<Item = usize>) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Ints.code()),
        ints: values.filter_map(|value| i64::try_from(value).ok()).collect(),
        ..AttributeProto::default()
    });
    node
}

/// Returns an If whose branches both return the value.
fn branch(wrapped: &Wrapped<'_>, condition: &str) -> NodeProto {
    let graph = |name: &str| {
        let output = format!("{}_of_{name}", wrapped.to);
        let declared = ValueInfoProto {
            name: Some(output.clone()),
            r#type: Some(encode::value_type(&ValueType::Tensor(wrapped.element), None)),
            ..ValueInfoProto::default()
        };
        let graph = GraphProto {
            name: Some(name.to_owned()),
            node: vec![node("Identity", &[wrapped.from], &output)],
            output: vec![declared],
            ..GraphProto::default()
        };
        AttributeProto {
            name: Some(format!("{name}_branch")),
            r#type: Some(AttributeType::Graph.code()),
            g: Some(Box::new(graph)),
            ..AttributeProto::default()
        }
    };
    NodeProto { attribute: vec![graph("then"), graph("else")], ..node("If", &[condition], wrapped.to) }
}

/// Adds the function that returns its argument, and its import.
fn add_function(model: &mut ModelProto, opset: u32) {
    let import = |domain: &str, version: u32| OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(i64::from(version)),
    };
    model.functions.push(FunctionProto {
        name: Some("Same".to_owned()),
        domain: Some(DOMAIN.to_owned()),
        input: vec!["x".to_owned()],
        output: vec!["y".to_owned()],
        node: vec![node("Identity", &["x"], "y")],
        opset_import: vec![import("", opset)],
        ..FunctionProto::default()
    });
    model.opset_import.push(import(DOMAIN, 1));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use onnx_conformance_reference::proto::{Message as _, decode};

    use super::*;
    use crate::case::{Case, Expected, ExpectedOutput, Variant, digest, vary};
    use crate::compare::Accuracy;

    /// Returns a case of one Identity.
    fn identity(element: ElementType, shape: &[usize], opset: u32) -> Case {
        let size = shape.iter().product::<usize>();
        let tensor = match element {
            ElementType::Bool => Tensor::from_vec(shape.to_vec(), vec![true; size]),
            element if element.is_float() => Tensor::of_floats(element, shape, &vec![1.0; size]),
            element => Tensor::of_integers(element, shape, &vec![1; size]),
        };
        let value = Value::Tensor(tensor.unwrap());
        let [input, output] = ["x", "y"].map(|name| Named { name: name.to_owned(), value: value.clone() });
        let graph = GraphProto {
            node: vec![node("Identity", &["x"], "y")],
            input: vec![info(&input)],
            output: vec![info(&output)],
            ..GraphProto::default()
        };
        let lowest = Specs::embedded().releases().unwrap().lowest_ir("", opset).unwrap();
        let model = ModelProto {
            ir_version: Some(lowest.into()),
            opset_import: vec![OperatorSetIdProto { domain: None, version: Some(opset.into()) }],
            graph: Some(graph),
            ..ModelProto::default()
        };
        let outputs = vec![ExpectedOutput { name: "y".to_owned(), expected: Expected::Value(value, Accuracy::Exact) }];
        let id = format!("identity/{opset}/{element}/{shape:?}");
        Case::new(id, model.encode_to_vec().into(), vec![DataSet { inputs: vec![input], outputs }])
    }

    /// Returns the wrapped forms of a model in several types and shapes at every opset up to one.
    fn wrapped() -> Vec<Case> {
        let mut cases = Vec::new();
        for element in ["float", "float16", "bfloat16", "double", "int8", "int64", "uint8", "bool"] {
            let element = element.parse().unwrap();
            for shape in [&[][..], &[1], &[2, 3], &[0, 2], &[2, 1, 2]] {
                cases.extend((1..=25).filter_map(|opset| vary(&identity(element, shape, opset), Variant::Wrapped)));
            }
        }
        cases
    }

    #[test]
    fn the_digest_is_that_of_the_no_ops() {
        assert_eq!(digest(&wrapped()), NO_OPS, "the no-ops have changed, so write this digest");
    }

    #[test]
    fn every_no_op_has_its_turn() {
        let operators: BTreeSet<String> = wrapped()
            .iter()
            .flat_map(|case| decode::model(case.model.clone()).unwrap().graph.unwrap().node)
            .map(|node| node.op_type().to_owned())
            .collect();
        let missing =
            |no_op: &NoOp| !no_op.operators().0.iter().all(|name| operators.contains(*name) || *name == "Identity");
        let missing: Vec<NoOp> = NoOp::ALL.into_iter().filter(missing).collect();
        assert!(missing.is_empty() && operators.contains("Same"), "{missing:?}, {operators:?}");
    }
}
