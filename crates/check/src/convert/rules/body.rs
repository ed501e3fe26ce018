//! Expansion of an operator into its function body, at the opset before the operator's first version. Each node of the body is
//! then converted to the target by the rules of its own operator.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, texts};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OpSpec, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use super::axes::vector;
use super::inputs::numbers;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes;
use crate::convert::draft::{BodyNode, Draft};
use crate::facts::ValueFact;
use crate::infer::output_facts;

/// Function body of a draft's node; the converted node itself becomes the last node of the body.
pub(super) struct Body<'d, 'n> {
    pub(super) draft: &'d mut Draft<'n>,
    /// The opset of the nodes.
    opset: i64,
    facts: BTreeMap<String, ValueFact>,
}

impl<'d, 'n> Body<'d, 'n> {
    /// Starts the body of an operator whose first version is `from`.
    pub(super) fn new(draft: &'d mut Draft<'n>, from: &OpSpec) -> Body<'d, 'n> {
        let known = draft.node.input.iter().cloned().zip(draft.inputs.iter().cloned());
        let facts = known.filter_map(|(name, fact)| Some((name.to_string(), fact?))).collect();
        Body { draft, opset: i64::from(from.version.since) - 1, facts }
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> String {
        let stem = self.draft.stem("constant");
        let name = self.draft.add_constant(&stem, tensor);
        self.facts.insert(name.clone(), ValueFact::from_value(Value::Tensor(tensor.clone())));
        name
    }

    /// Adds a scalar, rounded to the type.
    pub(super) fn number(&mut self, element: ElementType, value: f64) -> Step<String> {
        let tensor = numbers(element, &[], &[value])?;
        Ok(self.constant(&tensor))
    }

    /// Adds a list of integers.
    pub(super) fn list(&mut self, values: &[i64]) -> Step<String> {
        let tensor = vector(values)?;
        Ok(self.constant(&tensor))
    }

    /// Adds a node and returns the name of its output.
    pub(super) fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> Step<String> {
        let output = self.draft.fresh(&op.to_lowercase());
        self.node_to(&output, op, inputs, attributes)?;
        Ok(output)
    }

    /// Adds a node that computes the value named `output`, such as a later output of the converted node.
    pub(super) fn node_to(&mut self, output: &str, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> Step {
        let node = NodeProto {
            op_type: Some(op.into()),
            input: texts(inputs.iter().copied()),
            output: texts([output]),
            attribute: attributes,
            ..NodeProto::default()
        };
        let spec = match Specs::embedded().find(DEFAULT_DOMAIN, op, self.opset) {
            Ok(spec) => spec,
            Err(error) => return impossible(format!("the function body needs {op}: {error}")),
        };
        let inputs: Vec<Option<ValueFact>> = inputs.iter().map(|name| self.fact(name)).collect();
        let outputs: Vec<Option<ValueFact>> =
            output_facts(&node, spec, self.opset, &inputs).into_iter().map(Some).collect();
        if let Some(Some(fact)) = outputs.first() {
            self.facts.insert(output.to_owned(), fact.clone());
        }
        self.draft.push_body(BodyNode { node, inputs, outputs });
        Ok(())
    }

    /// Casts a value to a later output of the converted node, if that is used.
    pub(super) fn later_output(&mut self, position: usize, value: &str, element: ElementType) -> Step {
        if !self.draft.has_output(position) {
            return Ok(());
        }
        let output = self.draft.node.output.get(position).cloned().unwrap_or_default();
        if self.fact(value).and_then(|fact| fact.value_type) == Some(ValueType::Tensor(element)) {
            return self.node_to(&output, "Identity", &[value], Vec::new());
        }
        self.node_to(&output, "Cast", &[value], vec![cast_to(element)])
    }

    /// Adds a node without attributes.
    pub(super) fn plain(&mut self, op: &str, inputs: &[&str]) -> Step<String> {
        self.node(op, inputs, Vec::new())
    }

    /// Casts a value, unless it has the type already.
    pub(super) fn cast(&mut self, value: String, to: ElementType) -> Step<String> {
        if self.fact(&value).and_then(|fact| fact.value_type) == Some(ValueType::Tensor(to)) {
            return Ok(value);
        }
        self.node("Cast", &[&value], vec![cast_to(to)])
    }

    /// Means over some axes, which are kept with size 1.
    pub(super) fn mean(&mut self, value: &str, axes: &[i64]) -> Step<String> {
        let keepdims = attributes::int("keepdims", 1);
        // From version 18 on, the axes are an input.
        if self.opset < 18 {
            return self.node("ReduceMean", &[value], vec![attributes::ints("axes", axes), keepdims]);
        }
        let axes = self.list(axes)?;
        self.node("ReduceMean", &[value, &axes], vec![keepdims])
    }

    /// Reshapes a value; a 0 keeps the size of the axis.
    pub(super) fn reshape(&mut self, value: &str, shape: &[i64]) -> Step<String> {
        let shape = self.list(shape)?;
        self.plain("Reshape", &[value, &shape])
    }

    /// The known facts about a value.
    pub(super) fn fact(&self, name: &str) -> Option<ValueFact> {
        (!name.is_empty()).then(|| self.facts.get(name).cloned().unwrap_or_default())
    }

    /// Sums over some axes, or over all if none are given, without keeping them.
    pub(super) fn sum(&mut self, value: &str, axes: Option<&[i64]>) -> Step<String> {
        let mut attributes = vec![attributes::int("keepdims", 0)];
        let Some(axes) = axes else { return self.node("ReduceSum", &[value], attributes) };
        // From version 13 on, the axes are an input.
        if self.opset < 13 {
            attributes.push(attributes::ints("axes", axes));
            return self.node("ReduceSum", &[value], attributes);
        }
        let axes = self.list(axes)?;
        self.node("ReduceSum", &[value, &axes], attributes)
    }

    /// Adds or removes axes of size 1.
    pub(super) fn with_axes(&mut self, op: &str, value: &str, axes: &[i64]) -> Step<String> {
        // From version 13 on, the axes are an input.
        if self.opset < 13 {
            return self.node(op, &[value], vec![attributes::ints("axes", axes)]);
        }
        let axes = self.list(axes)?;
        self.plain(op, &[value, &axes])
    }

    /// The larger of two lists of integers, element by element.
    pub(super) fn larger(&mut self, a: &str, b: &str) -> Step<String> {
        let is_less = self.plain("Less", &[a, b])?;
        self.plain("Where", &[&is_less, b, a])
    }

    /// Turns the node itself into the last one of the body. It computes the first output; the body computes the others.
    pub(super) fn last(self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) {
        let facts: Vec<Option<ValueFact>> = inputs.iter().map(|name| self.fact(name)).collect();
        let name = self.draft.node.op_type().to_owned();
        self.draft.node.attribute = attributes;
        self.draft.arrange_inputs(&[]);
        for (position, (input, fact)) in inputs.iter().zip(facts).enumerate() {
            self.draft.set_input(position, (*input).to_owned(), fact);
        }
        self.draft.node.op_type = Some(op.into());
        self.draft.node.output.truncate(1);
        self.draft.outputs.truncate(1);
        self.draft.edit(format!("{name} is expanded into its function body"));
    }

    /// Turns the node itself into a Cast of a value, the last node of the body.
    pub(super) fn last_cast(self, value: &str, to: ElementType) {
        self.last("Cast", &[value], vec![cast_to(to)]);
    }
}

/// The attribute of Cast, from version 6 on.
fn cast_to(element: ElementType) -> AttributeProto {
    attributes::int("to", i64::from(element.code()))
}
