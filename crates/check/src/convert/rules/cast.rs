//! Cast, and operators with a type attribute: the name of the type in version 1, later its number.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::spec::OpSpec;

use super::rule::{Rule, unchanged};
use crate::bounded;
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_float, get_int, get_string};
use crate::convert::draft::{Draft, NewRank};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Cast"], versions: (1, 6), up: to_number, down: to_name },
    Rule { operators: &["Elu", "HardSigmoid", "Selu"], versions: (1, 6), up: cast_floats, down: cast_floats },
    Rule { operators: &["LeakyRelu"], versions: (6, 16), up: cast_floats, down: cast_floats },
    Rule { operators: &["Cast"], versions: (13, 19), up: unchanged, down: without_saturate },
    Rule { operators: &["CastLike"], versions: (15, 19), up: unchanged, down: without_saturate },
    Rule { operators: &["Cast", "CastLike"], versions: (23, 24), up: unchanged, down: without_round_mode },
    Rule { operators: &["LpPool", "GlobalLpPool"], versions: (1, 2), up: norm_to_int, down: norm_to_float },
    Rule { operators: &["QuantizeLinear", "DequantizeLinear"], versions: (10, 13), up: unchanged, down: per_tensor },
    Rule { operators: &["QuantizeLinear"], versions: (13, 19), up: unchanged, down: without_saturate },
    Rule { operators: &["QuantizeLinear"], versions: (19, 21), up: unchanged, down: zero_point_of_type },
    Rule { operators: &["Mod"], versions: (13, 28), up: unchanged, down: truncating_mod },
];

/// The attribute that gives the type of a new Cast.
pub(super) fn target(draft: &Draft, element: ElementType) -> AttributeProto {
    if draft.onnx_opset() < 6 {
        attributes::string("to", &element.name().to_uppercase())
    } else {
        attributes::int("to", i64::from(element.code()))
    }
}

fn to_number(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let Some(name) = get_string(&draft.node, "to")? else { return impossible("attribute to is missing") };
    let Ok(element) = name.to_lowercase().parse::<ElementType>() else {
        return impossible(format!("'{name}' is not an element type"));
    };
    attributes::set(&mut draft.node, attributes::int("to", i64::from(element.code())));
    draft.edit(format!("attribute to becomes the number of the type, {}, instead of its name", element.code()));
    Ok(())
}

fn to_name(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let code = get_int(&draft.node, "to")?.and_then(|code| i32::try_from(code).ok());
    let Some(element) = code.and_then(ElementType::from_code) else {
        return impossible("attribute to is not the number of an element type");
    };
    let name = element.name().to_uppercase();
    attributes::set(&mut draft.node, attributes::string("to", &name));
    draft.edit(format!("attribute to becomes the name of the type, {name}, instead of its number"));
    Ok(())
}

/// The version has none of the types that saturate.
fn without_saturate(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    without(draft, "saturate", "has an effect on float8 types only")
}

fn without_round_mode(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    without(draft, "round_mode", "has an effect on casts to float8e8m0 only")
}

fn without(draft: &mut Draft, name: &str, why: &str) -> Step {
    if attributes::remove(&mut draft.node, name) {
        draft.edit(format!("attribute {name}, which {why}, is removed"));
    }
    Ok(())
}

fn norm_to_int(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(p) = get_float(&draft.node, "p")? {
        #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
        let integer = p as i64;
        // No integer has the sign of -0.0, which is the sign of 1 / p.
        if (integer as f64).to_bits() != f64::from(p).to_bits() {
            return impossible(format!("p of {} is an integer, not {p}", to.version));
        }
        attributes::set(&mut draft.node, attributes::int("p", integer));
        draft.edit(format!("attribute p is converted to the integer {integer}"));
    }
    draft.same_default("p");
    Ok(())
}

fn norm_to_float(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(p) = get_int(&draft.node, "p")? {
        let float = p as f32;
        #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
        if float as i128 != i128::from(p) {
            return impossible(format!("p of {} is a float, which cannot represent {p}", to.version));
        }
        attributes::set(&mut draft.node, attributes::float("p", float));
        draft.edit(format!("attribute p is converted to the float {p}"));
    }
    draft.same_default("p");
    Ok(())
}

/// Requires a single scale, so that axis has no effect. A vector of one element becomes a scalar.
fn per_tensor(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for (position, what) in [(1, "scale"), (2, "zero_point")] {
        if !draft.has_input(position) {
            continue;
        }
        match draft.shape(position)?.as_slice() {
            [] => continue,
            [Dim::Size(1)] => {}
            [Dim::Size(_)] | [_, _, ..] => {
                return impossible(format!("{} requires a scalar scale for all elements", to.version));
            }
            [_] => return unknown(format!("the number of elements of input {position} '{what}' is unknown")),
        }
        let squeeze = |draft: &mut Draft| super::broadcast::squeeze(draft, position, &[0]);
        let has_node = draft.change_rank((position, what), NewRank::Scalar, squeeze)?;
        let node = if has_node { ": Squeeze before" } else { "" };
        draft.edit(format!("{what} of one element becomes a scalar, which {} requires{node}", to.version));
    }
    without(draft, "axis", "has no effect with a scalar scale")
}

/// Replaces `output_dtype` by the type of the zero point.
fn zero_point_of_type(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let code = get_int(&draft.node, "output_dtype")?.unwrap_or(0);
    if code == 0 {
        return Ok(());
    }
    let Some(element) = i32::try_from(code).ok().and_then(ElementType::from_code) else {
        return impossible(format!("output_dtype {code} is not an element type"));
    };
    if !draft.has_input(2) {
        let Some(shape) = draft.fact(1).sizes() else { return unknown("the shape of the scale is unknown") };
        let zeros = bounded::zeros(&shape)?;
        draft.set_constant(2, "zero_point", &super::inputs::numbers(element, &shape, &zeros)?);
    }
    attributes::remove(&mut draft.node, "output_dtype");
    draft.edit(format!("a zero point of type {element} determines the output type of {}", to.version));
    Ok(())
}

fn truncating_mod(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.element(0)?.is_float() && get_int(&draft.node, "fmod")?.unwrap_or(0) == 0 {
        return impossible(format!("{} requires fmod=1 for floats", to.version));
    }
    Ok(())
}

/// Checks that the type of the input can represent the attributes, up to a rounding: the function body of the newer
/// version casts them.
fn cast_floats(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let Ok(element) = draft.element(0) else { return Ok(()) };
    for attribute in &draft.node.attribute {
        let value = f64::from(attribute.f());
        let rounded = element.round(value);
        // Rounding to bfloat16 changes a value by less than 1 / 256; a larger change means that it is out of the type's range.
        let is_near = rounded == value || value.is_nan() || (rounded - value).abs() <= value.abs() / 256.0;
        if !is_near {
            let (name, value) = (attribute.name(), attribute.f());
            return impossible(format!(
                "attribute {name}={value:e} becomes {rounded:e} in {element}, to which one of the versions casts it"
            ));
        }
    }
    Ok(())
}
