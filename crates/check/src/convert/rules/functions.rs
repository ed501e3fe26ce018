//! Operators with a function body, at opsets that do not have them yet: each is expanded by its body.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;

use super::axes::{as_int, axis_of};
use super::inputs::numbers;
use super::rule::Replacement;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_float, get_int, get_string};
use crate::convert::draft::{Draft, NewNode};
use crate::facts::ValueFact;

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "CastLike", replace: cast_like },
    Replacement { operator: "Celu", replace: celu },
    Replacement { operator: "Gelu", replace: gelu },
    Replacement { operator: "GreaterOrEqual", replace: greater_or_equal },
    Replacement { operator: "HardSwish", replace: hard_swish },
    Replacement { operator: "LayerNormalization", replace: layer_normalization },
    Replacement { operator: "LessOrEqual", replace: less_or_equal },
    Replacement { operator: "Mish", replace: mish },
];

/// Expansion of an operator by its body: new nodes of one element type, then the converted node itself as the last one.
struct Body<'d, 'n> {
    draft: &'d mut Draft<'n>,
    element: ElementType,
}

impl<'d, 'n> Body<'d, 'n> {
    /// Starts the body of a floating-point operator. Narrow types are refused, because they would round after every step.
    fn new(draft: &'d mut Draft<'n>) -> Step<Body<'d, 'n>> {
        let element = draft.element(0)?;
        if draft.onnx_opset() < 7 {
            return impossible("the function body broadcasts, which opsets below 7 do not support");
        }
        match element {
            ElementType::Float | ElementType::Double => Ok(Body { draft, element }),
            other => impossible(format!("every step of the function body would round to {other}")),
        }
    }

    fn number(&mut self, value: f64) -> Step<String> {
        let tensor = numbers(self.element, &[], &[value])?;
        let stem = self.draft.stem("constant");
        Ok(self.draft.add_constant(&stem, &tensor))
    }

    fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> Step<String> {
        self.draft.before(NewNode { op, inputs, attributes, element: Some(self.element) })
    }

    /// Turns the node itself into the last one of the body, with inputs of the body's element type.
    fn last(self, op: &str, inputs: &[&str]) {
        let fact = ValueFact::from_type(ValueType::Tensor(self.element));
        let name = self.draft.node.op_type().to_owned();
        self.draft.node.attribute.clear();
        self.draft.arrange_inputs(&[]);
        for (position, input) in inputs.iter().enumerate() {
            self.draft.set_input(position, (*input).to_owned(), Some(fact.clone()));
        }
        self.draft.node.op_type = Some(op.to_owned());
        self.draft.edit(format!("{name} is expanded into its function body"));
    }
}

fn cast_like(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let element = draft.element(1)?;
    let to = super::cast::target(draft, element);
    draft.node.attribute = vec![to];
    draft.arrange_inputs(&[Some(0)]);
    draft.node.op_type = Some("Cast".to_owned());
    draft.edit(format!("CastLike is replaced by Cast to {element}"));
    Ok(())
}

fn celu(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let alpha = get_float(&draft.node, "alpha")?.unwrap_or(1.0);
    if !(alpha.is_normal() && alpha > 0.0) {
        return impossible(format!("the function body of Celu divides by alpha, which is {alpha:?}"));
    }
    let x = draft.input(0);
    let mut body = Body::new(draft)?;
    let alpha = body.number(f64::from(alpha))?;
    // Only the negative part is divided, because a positive value may overflow.
    let positive = body.node("Relu", &[&x], Vec::new())?;
    let opposite = body.node("Neg", &[&x], Vec::new())?;
    let size = body.node("Relu", &[&opposite], Vec::new())?;
    let negative = body.node("Neg", &[&size], Vec::new())?;
    let scaled = body.node("Div", &[&negative, &alpha], Vec::new())?;
    let elu = body.node("Elu", &[&scaled], vec![attributes::float("alpha", 1.0)])?;
    let curve = body.node("Mul", &[&alpha, &elu], Vec::new())?;
    body.last("Add", &[&positive, &curve]);
    Ok(())
}

fn gelu(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let is_tanh = get_string(&draft.node, "approximate")?.is_some_and(|value| value == "tanh");
    let x = draft.input(0);
    let mut body = Body::new(draft)?;
    let (half, one) = (body.number(0.5)?, body.number(1.0)?);
    let curve = if is_tanh {
        let (three, cubic) = (body.number(3.0)?, body.number(0.044_715)?);
        let scale = body.number((2.0 / std::f64::consts::PI).sqrt())?;
        let cube = body.node("Pow", &[&x, &three], Vec::new())?;
        let term = body.node("Mul", &[&cubic, &cube], Vec::new())?;
        let sum = body.node("Add", &[&x, &term], Vec::new())?;
        let inner = body.node("Mul", &[&scale, &sum], Vec::new())?;
        body.node("Tanh", &[&inner], Vec::new())?
    } else {
        let root = body.number(std::f64::consts::FRAC_1_SQRT_2)?;
        let inner = body.node("Mul", &[&x, &root], Vec::new())?;
        body.node("Erf", &[&inner], Vec::new())?
    };
    let raised = body.node("Add", &[&one, &curve], Vec::new())?;
    let halved = body.node("Mul", &[&half, &x], Vec::new())?;
    body.last("Mul", &[&halved, &raised]);
    Ok(())
}

fn hard_swish(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let x = draft.input(0);
    let mut body = Body::new(draft)?;
    let settings = vec![attributes::float("alpha", 1.0 / 6.0), attributes::float("beta", 0.5)];
    let gate = body.node("HardSigmoid", &[&x], settings)?;
    body.last("Mul", &[&x, &gate]);
    Ok(())
}

fn mish(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let x = draft.input(0);
    let mut body = Body::new(draft)?;
    let soft = body.node("Softplus", &[&x], Vec::new())?;
    let gate = body.node("Tanh", &[&soft], Vec::new())?;
    body.last("Mul", &[&x, &gate]);
    Ok(())
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, over the axes from `axis` on.
fn layer_normalization(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if draft.has_output(1) || draft.has_output(2) {
        return impossible("the outputs Mean and InvStdDev of LayerNormalization are not expanded");
    }
    if get_int(&draft.node, "stash_type")?.unwrap_or(1) != 1 || draft.element(0)? != ElementType::Float {
        return impossible("LayerNormalization is expanded only for float inputs and stash_type=1");
    }
    let (rank, axis) = (draft.rank(0)?, get_int(&draft.node, "axis")?.unwrap_or(-1));
    let axes: Vec<i64> = (axis_of(axis, rank)?..rank).map(as_int).collect();
    let epsilon = get_float(&draft.node, "epsilon")?.unwrap_or(1e-5);
    let (x, scale, bias) = (draft.input(0), draft.input(1), draft.input(2));
    let mut body = Body::new(draft)?;
    let over = || vec![attributes::ints("axes", &axes), attributes::int("keepdims", 1)];
    let mean = body.node("ReduceMean", &[&x], over())?;
    let deviation = body.node("Sub", &[&x, &mean], Vec::new())?;
    let square = body.node("Mul", &[&deviation, &deviation], Vec::new())?;
    let variance = body.node("ReduceMean", &[&square], over())?;
    let epsilon = body.number(f64::from(epsilon))?;
    let raised = body.node("Add", &[&variance, &epsilon], Vec::new())?;
    let root = body.node("Sqrt", &[&raised], Vec::new())?;
    let normalized = body.node("Div", &[&deviation, &root], Vec::new())?;
    if bias.is_empty() {
        body.last("Mul", &[&normalized, &scale]);
        return Ok(());
    }
    let scaled = body.node("Mul", &[&normalized, &scale], Vec::new())?;
    body.last("Add", &[&scaled, &bias]);
    Ok(())
}

fn less_or_equal(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    or_equal(draft, "Less")
}

fn greater_or_equal(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    or_equal(draft, "Greater")
}

/// Expands to the strict comparison or equality.
fn or_equal(draft: &mut Draft, strict: &str) -> Step {
    let (a, b, element) = (draft.input(0), draft.input(1), draft.element(0)?);
    if draft.onnx_opset() < 7 {
        return impossible(format!("{strict} does not broadcast below opset 7"));
    }
    let mut compare =
        |op: &str| draft.before(NewNode { op, inputs: &[&a, &b], attributes: Vec::new(), element: Some(element) });
    let (is_strict, is_equal) = (compare(strict)?, compare("Equal")?);
    Body { draft, element: ElementType::Bool }.last("Or", &[&is_strict, &is_equal]);
    Ok(())
}
