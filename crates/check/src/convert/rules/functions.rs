//! Operators with a function body, at opsets that do not have them yet: each is expanded by its body.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::body::Body;
use super::rule::{Replacement, Rule, unchanged};
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_float, get_string};
use crate::convert::draft::Draft;

pub(super) const RULES: &[Rule] =
    &[Rule { operators: &["Celu"], versions: (12, 28), up: unchanged, down: celu_of_other_types }];

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "CastLike", replace: cast_like },
    Replacement { operator: "Celu", replace: celu },
    Replacement { operator: "Gelu", replace: gelu },
    Replacement { operator: "GreaterOrEqual", replace: greater_or_equal },
    Replacement { operator: "HardSwish", replace: hard_swish },
    Replacement { operator: "LessOrEqual", replace: less_or_equal },
    Replacement { operator: "LinearAttention", replace: loop_body },
    Replacement { operator: "Mish", replace: mish },
    Replacement { operator: "SequenceMap", replace: loop_body },
    Replacement { operator: "Shrink", replace: shrink },
    Replacement { operator: "SwiGLU", replace: swiglu },
    Replacement { operator: "Swish", replace: swish },
    Replacement { operator: "ThresholdedRelu", replace: thresholded_relu },
];

/// The type that a body computes in: float for narrower types, so that only the result is rounded.
pub(super) fn wide(element: ElementType) -> Step<ElementType> {
    match element {
        ElementType::Float | ElementType::Double => Ok(element),
        ElementType::Float16 | ElementType::Bfloat16 => Ok(ElementType::Float),
        other => impossible(format!("the function body is not expanded for {other}")),
    }
}

/// Body of an elementwise operator, with input 0 in the type that the body computes in.
struct Curve<'d, 'n> {
    body: Body<'d, 'n>,
    x: String,
    /// The type of the input.
    element: ElementType,
    /// The type in which the body computes.
    wide: ElementType,
}

impl<'d, 'n> Curve<'d, 'n> {
    fn new(draft: &'d mut Draft<'n>, from: &OpSpec) -> Step<Curve<'d, 'n>> {
        let (element, x) = (draft.element(0)?, draft.input(0));
        let wide = wide(element)?;
        let mut body = Body::new(draft, from);
        let x = body.cast(x, wide)?;
        Ok(Curve { body, x, element, wide })
    }

    fn number(&mut self, value: f64) -> Step<String> {
        self.body.number(self.wide, value)
    }

    fn last(mut self, op: &str, inputs: &[&str]) -> Step {
        if self.element == self.wide {
            self.body.last(op, inputs, Vec::new());
            return Ok(());
        }
        let result = self.body.plain(op, inputs)?;
        self.body.last_cast(&result, self.element);
        Ok(())
    }
}

fn cast_like(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let element = draft.element(1)?;
    let to = super::cast::target(draft, element);
    draft.node.attribute = vec![to];
    draft.arrange_inputs(&[Some(0)]);
    draft.node.op_type = Some("Cast".into());
    draft.edit(format!("CastLike is replaced by Cast to {element}"));
    Ok(())
}

fn celu(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let alpha = get_float(&draft.node, "alpha")?.unwrap_or(1.0);
    if !(alpha.is_normal() && alpha > 0.0) {
        return impossible(format!("the function body of Celu divides by alpha, which is {alpha:?}"));
    }
    let mut curve = Curve::new(draft, from)?;
    let (alpha, x) = (curve.number(f64::from(alpha))?, curve.x.clone());
    let body = &mut curve.body;
    // Only the negative part is divided, because a positive value may overflow.
    let positive = body.plain("Relu", &[&x])?;
    let opposite = body.plain("Neg", &[&x])?;
    let size = body.plain("Relu", &[&opposite])?;
    let negative = body.plain("Neg", &[&size])?;
    let scaled = body.plain("Div", &[&negative, &alpha])?;
    let elu = body.node("Elu", &[&scaled], vec![attributes::float("alpha", 1.0)])?;
    let below = body.plain("Mul", &[&alpha, &elu])?;
    curve.last("Add", &[&positive, &below])
}

/// Expands the types that version 12 does not have, which supports only float.
fn celu_of_other_types(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    match draft.element(0)? {
        ElementType::Float => Ok(()),
        _ => celu(draft, from, to),
    }
}

fn gelu(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let is_tanh = get_string(&draft.node, "approximate")?.is_some_and(|value| value == "tanh");
    let mut curve = Curve::new(draft, from)?;
    let x = curve.x.clone();
    let (half, one) = (curve.number(0.5)?, curve.number(1.0)?);
    let gate = if is_tanh {
        let (three, cubic) = (curve.number(3.0)?, curve.number(0.044_715)?);
        let scale = curve.number((2.0 / std::f64::consts::PI).sqrt())?;
        let cube = curve.body.plain("Pow", &[&x, &three])?;
        let term = curve.body.plain("Mul", &[&cubic, &cube])?;
        let sum = curve.body.plain("Add", &[&x, &term])?;
        let inner = curve.body.plain("Mul", &[&scale, &sum])?;
        curve.body.plain("Tanh", &[&inner])?
    } else {
        let root = curve.number(std::f64::consts::FRAC_1_SQRT_2)?;
        let inner = curve.body.plain("Mul", &[&x, &root])?;
        curve.body.plain("Erf", &[&inner])?
    };
    let raised = curve.body.plain("Add", &[&one, &gate])?;
    let halved = curve.body.plain("Mul", &[&half, &x])?;
    curve.last("Mul", &[&halved, &raised])
}

fn hard_swish(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let mut curve = Curve::new(draft, from)?;
    let x = curve.x.clone();
    let settings = vec![attributes::float("alpha", 1.0 / 6.0), attributes::float("beta", 0.5)];
    let gate = curve.body.node("HardSigmoid", &[&x], settings)?;
    curve.last("Mul", &[&x, &gate])
}

fn mish(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let mut curve = Curve::new(draft, from)?;
    let x = curve.x.clone();
    let soft = curve.body.plain("Softplus", &[&x])?;
    let gate = curve.body.plain("Tanh", &[&soft])?;
    curve.last("Mul", &[&x, &gate])
}

/// `x * Sigmoid(alpha * x)`.
fn swish(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let alpha = get_float(&draft.node, "alpha")?.unwrap_or(1.0);
    let mut curve = Curve::new(draft, from)?;
    let (alpha, x) = (curve.number(f64::from(alpha))?, curve.x.clone());
    let scaled = curve.body.plain("Mul", &[&alpha, &x])?;
    let gate = curve.body.plain("Sigmoid", &[&scaled])?;
    curve.last("Mul", &[&x, &gate])
}

/// `a * Sigmoid(alpha * a) * b`, with alpha in the type of the inputs.
fn swiglu(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let alpha = get_float(&draft.node, "alpha")?.unwrap_or(1.0);
    let (alpha, b) = (draft.element(0)?.round(f64::from(alpha)), draft.input(1));
    let mut curve = Curve::new(draft, from)?;
    let (alpha, x) = (curve.number(alpha)?, curve.x.clone());
    let b = curve.body.cast(b, curve.wide)?;
    let scaled = curve.body.plain("Mul", &[&alpha, &x])?;
    let gate = curve.body.plain("Sigmoid", &[&scaled])?;
    let swish = curve.body.plain("Mul", &[&x, &gate])?;
    curve.last("Mul", &[&swish, &b])
}

/// `Where(alpha < x, x, 0)`, with alpha in the type of the input.
fn thresholded_relu(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, x) = (draft.element(0)?, draft.input(0));
    let alpha = get_float(&draft.node, "alpha")?.unwrap_or(1.0);
    let mut body = Body::new(draft, from);
    let (alpha, zero) = (body.number(element, f64::from(alpha))?, body.number(element, 0.0)?);
    let is_above = body.plain("Less", &[&alpha, &x])?;
    body.last("Where", &[&is_above, &x, &zero], Vec::new());
    Ok(())
}

/// Fails, since the function body runs a subgraph repeatedly, which is not built.
fn loop_body(_: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (name, since) = (&from.version.name, from.version.since);
    impossible(format!("{name} was added in opset {since}, and its function body, a loop, is not built"))
}

/// Fails, since the function body selects elements by Where, which has the same first opset.
fn shrink(_: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    impossible("the function body of Shrink needs Where, which also begins with opset 9")
}

fn less_or_equal(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    or_equal(draft, from, "Less")
}

fn greater_or_equal(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    or_equal(draft, from, "Greater")
}

/// Expands to the strict comparison or equality.
fn or_equal(draft: &mut Draft, from: &OpSpec, strict: &str) -> Step {
    let (a, b) = (draft.input(0), draft.input(1));
    let mut body = Body::new(draft, from);
    let (is_strict, is_equal) = (body.plain(strict, &[&a, &b])?, body.plain("Equal", &[&a, &b])?);
    body.last("Or", &[&is_strict, &is_equal], Vec::new());
    Ok(())
}
