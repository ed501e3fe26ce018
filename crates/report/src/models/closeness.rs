//! Tolerance between the outputs of two correct computations of a model.

use onnx_conformance_cases::compare::{Accuracy, UPSTREAM_ABSOLUTE, UPSTREAM_RELATIVE};
use onnx_conformance_reference::dtype::{ElementType, FloatFormat};
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, decode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

/// Returns the tolerance of ONNX's own tests, widened by a share of the largest element. `share` computes it from the unit roundoff
/// of the type, or of `half` if the value was computed in that type.
pub(super) fn closeness(expected: &Value, half: Option<ElementType>, share: impl FnOnce(f64) -> f64) -> Accuracy {
    let roundoff = |element: ElementType| element.float_format().map_or(0.0, FloatFormat::unit_roundoff);
    let tensor = expected.as_tensor().filter(|tensor| tensor.element_type().is_float());
    let slack = tensor.map_or(0.0, |tensor| {
        let coarsest = roundoff(tensor.element_type()).max(half.map_or(0.0, roundoff));
        share(coarsest) * largest(tensor)
    });
    Accuracy::Close { relative: UPSTREAM_RELATIVE, absolute: slack.max(UPSTREAM_ABSOLUTE) }
}

/// Returns the coarsest 16-bit float type that a graph computes in: of weights, inputs, constants and Casts, in
/// subgraphs too.
pub(super) fn half_type(graph: &GraphProto) -> Option<ElementType> {
    let weights = graph.initializer.iter().filter_map(|tensor| ElementType::from_code(tensor.data_type()));
    let inputs =
        graph.input.iter().filter_map(|input| Some(decode::value_type(input.r#type.as_ref()?).ok()?.element_type()));
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    let casts = attributes()
        .filter(|attribute| attribute.name() == "to")
        .filter_map(|attribute| ElementType::from_code(i32::try_from(attribute.i()).ok()?));
    let constants = attributes()
        .flat_map(AttributeProto::all_tensors)
        .filter_map(|tensor| ElementType::from_code(tensor.data_type()));
    let inner = attributes().flat_map(AttributeProto::all_graphs).filter_map(half_type);
    coarsest_half(weights.chain(inputs).chain(casts).chain(constants).chain(inner))
}

/// Returns the coarsest of these types that are floats of 16 bits.
pub(super) fn coarsest_half(types: impl Iterator<Item = ElementType>) -> Option<ElementType> {
    // bfloat16 is the coarser one, and the larger one in the order of types.
    types.filter(|element| matches!(element, ElementType::Float16 | ElementType::Bfloat16)).max()
}

/// Returns the largest magnitude of a float tensor, except for masks: infinity, and values near the end of the type's
/// range.
fn largest(tensor: &Tensor) -> f64 {
    let end = tensor.element_type().max_finite().map_or(f64::MAX, |max| max / 2.0);
    let sizes = tensor.stream(Tensor::floats).map(f64::abs).filter(|size| *size < end);
    sizes.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::compare::compare;
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    #[test]
    fn a_mask_does_not_hide_the_other_elements() {
        let value = |mask: f64, other: f64| {
            Value::Tensor(Tensor::of_floats(ElementType::Float, &[3], &[mask, other, 4.0]).unwrap())
        };
        for mask in [f64::from(f32::MIN), f64::NEG_INFINITY, 0.0] {
            let expected = value(mask, 1e-6);
            let accuracy = || closeness(&expected, None, |roundoff| 32.0 * roundoff);
            assert!(compare(&expected, &value(mask, 5e-6), &accuracy()).is_ok(), "{mask}");
            assert!(compare(&expected, &value(mask, 1e-4), &accuracy()).is_err(), "{mask}");
        }
    }

    #[test]
    fn a_float_behind_half_precision_is_as_close_as_that() {
        let half = |body: &str| {
            let text = format!(
                r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x, bool c) => (float[2] y) {{ {body} }}"#
            );
            half_type(parse_model(&text).unwrap().graph.as_ref().unwrap())
        };
        assert_eq!(half("y = Exp (x)"), None);
        assert_eq!(half("a = Cast <to = 10> (x) y = Cast <to = 1> (a)"), Some(ElementType::Float16));
        let inner = "y = If (c) <then_branch = t () => (float[2] p) { a = Cast <to = 16> (x) p = Cast <to = 1> (a) }, \
                     else_branch = e () => (float[2] q) { q = Neg (x) }>";
        assert_eq!(half(inner), Some(ElementType::Bfloat16));
        let value = |last: f64| Value::Tensor(Tensor::of_floats(ElementType::Float, &[2], &[8.0, last]).unwrap());
        let is_near = |half: Option<ElementType>| {
            let accuracy = closeness(&value(0.01), half, |roundoff| 32.0 * roundoff);
            compare(&value(0.01), &value(0.02), &accuracy).is_ok()
        };
        assert!(is_near(Some(ElementType::Float16)) && !is_near(None));
    }
}
