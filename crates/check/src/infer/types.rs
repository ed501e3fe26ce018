//! Type checks: a node against its operator version, and the types of its outputs.

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::proto::Text;
use onnx_conformance_reference::spec::{
    Argument, AttributeType, Bindings, FormalParameter, FormalType, NodeSignature, OpSpec, Presence, Side,
    SignatureError, type_list, violations,
};
use onnx_conformance_reference::types::ValueType;

use crate::facts::ValueFact;
use crate::rules::RuleId;
use onnx_conformance_reference::infer::NodeView;

/// Violation of an operator version by a node.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) rule: RuleId,
    pub(super) message: String,
    /// The input with the offending type.
    pub(super) input: Option<usize>,
    pub(super) edit: Option<String>,
}

/// Checks a node against its operator version. References to a caller's attributes count as set if the call is unknown.
pub(super) fn check(view: &NodeView<'_, '_>, is_call_known: bool) -> (Bindings, Vec<Violation>) {
    let inputs: Vec<Argument> = view.inputs.iter().map(|fact| argument(*fact)).collect();
    let is_output = |name: &Text| if name.is_empty() { Argument::Absent } else { Argument::Unknown };
    let outputs: Vec<Argument> = view.node.output.iter().map(is_output).collect();
    let mut attributes: Vec<(&str, AttributeType)> = Vec::new();
    for attribute in &view.node.attribute {
        let is_given = attribute.ref_attr_name().is_empty() || !is_call_known || view.attributes.has(attribute.name());
        if let Some(kind) = AttributeType::from_code(attribute.r#type.unwrap_or(0)).filter(|_| is_given) {
            attributes.push((attribute.name(), kind));
        }
    }
    let signature = NodeSignature { inputs: &inputs, outputs: &outputs, attributes: &attributes };
    let (bindings, errors) = violations(view.spec, signature);
    let mut found: Vec<Violation> = errors.into_iter().map(|error| violation(view, error)).collect();
    let other = || {
        few_inputs(view)
            .or_else(|| unnamed_inputs(view))
            .or_else(|| constant_values(view))
            .or_else(|| dictionary_keys(view))
    };
    found.extend(excluded_outputs(view).or_else(other));
    (bindings, found)
}

fn argument(fact: Option<&ValueFact>) -> Argument {
    match fact {
        None => Argument::Absent,
        Some(fact) => fact.value_type.clone().map_or(Argument::Unknown, Argument::Typed),
    }
}

fn violation(view: &NodeView<'_, '_>, error: SignatureError) -> Violation {
    let mut message = error.to_string();
    let value = |position: usize| view.node.input.get(position).map_or("", Text::as_str);
    let (rule, input, edit) = match error {
        SignatureError::Missing { side, position, name, .. } => {
            (RuleId::NodeArity, None, Some(format!("add {side} {position} '{name}'")))
        }
        SignatureError::TooFew { side, min, .. } => {
            (RuleId::NodeArity, None, Some(format!("pass at least {min} {side}s")))
        }
        SignatureError::Surplus { side, max, .. } => {
            (RuleId::NodeArity, None, Some(format!("keep at most {max} {side}s")))
        }
        SignatureError::UnknownAttribute { name, .. } => {
            (RuleId::NodeAttribute, None, Some(format!("remove attribute '{name}'")))
        }
        SignatureError::AttributeType { name, expected, .. } => {
            (RuleId::NodeAttributeType, None, Some(format!("change '{name}' to type {expected}")))
        }
        SignatureError::MissingAttribute { name, kind, .. } => {
            (RuleId::NodeAttributeMissing, None, Some(format!("set '{name}' ({kind})")))
        }
        SignatureError::TypeOutside { side, position, name, actual, version, .. } => {
            let allowed: &[ValueType] =
                formal(view.spec, side, position).map_or(&[], |formal| view.spec.allowed(&formal.kind));
            let types = type_list(allowed);
            message = format!(
                "'{}' is {actual}, but {version} allows {types} for {side} {position} '{name}'",
                value(position)
            );
            let edit = best_cast(&actual, allowed).and_then(|to| cast(view, side, position, to));
            (RuleId::NodeType, Some(position), edit)
        }
        SignatureError::Mixed { side, position, first, actual, name, version } => {
            message = format!(
                "'{}' is {actual}, but {version} requires one type for all of '{name}', and the first is {first}",
                value(position)
            );
            (RuleId::NodeType, Some(position), cast_to(view, side, position, &first))
        }
        SignatureError::Rebound { side, position, first, actual, name, parameter, version } => {
            message = format!(
                "'{}' is {actual}, but {side} {position} '{name}' must be {first}, to which {parameter} of {version} is already bound",
                value(position)
            );
            (RuleId::NodeType, Some(position), cast_to(view, side, position, &first))
        }
    };
    Violation { rule, message, input, edit }
}

fn formal(spec: &OpSpec, side: Side, position: usize) -> Option<&FormalParameter> {
    match side {
        Side::Input => spec.input_at(position),
        Side::Output => spec.output_at(position),
    }
}

fn cast_to(view: &NodeView<'_, '_>, side: Side, position: usize, to: &ValueType) -> Option<String> {
    match to {
        ValueType::Tensor(element) => cast(view, side, position, *element),
        _ => None,
    }
}

fn cast(view: &NodeView<'_, '_>, side: Side, position: usize, to: ElementType) -> Option<String> {
    let from = view.inputs.get(position)?.and_then(|fact| fact.value_type.as_ref())?;
    let is_castable = matches!(from, ValueType::Tensor(element) if element.kind() != Kind::Complex);
    (side == Side::Input && is_castable).then(|| format!("insert Cast(to={} ({to})) before input {position}", to as u8))
}

/// Returns the allowed type that loses the least precision.
fn best_cast(actual: &ValueType, allowed: &[ValueType]) -> Option<ElementType> {
    use ElementType as E;
    let ValueType::Tensor(actual) = actual else { return None };
    let order: &[E] = match actual.kind() {
        Kind::Float => &[E::Double, E::Float, E::Bfloat16, E::Float16],
        Kind::Signed | Kind::Unsigned => {
            &[E::Int64, E::Int32, E::Uint64, E::Uint32, E::Int16, E::Uint8, E::Int8, E::Double, E::Float]
        }
        Kind::Bool => &[E::Uint8, E::Int32, E::Int64, E::Float],
        Kind::Complex | Kind::String => &[],
    };
    // Prefers wider types, except that `float` precedes `double` for floats other than `double`.
    let order = if actual.kind() == Kind::Float && *actual != E::Double {
        &[E::Float, E::Double, E::Bfloat16, E::Float16]
    } else {
        order
    };
    order.iter().copied().find(|to| allowed.contains(&ValueType::Tensor(*to)))
}

/// Checks that the output type given by attributes is allowed by the operator version.
fn excluded_outputs(view: &NodeView<'_, '_>) -> Option<Violation> {
    let formal = view.spec.output_at(0)?;
    let own = registered_type(view, 0)?;
    let allowed = view.spec.allowed(&formal.kind);
    if allowed.contains(&own) {
        return None;
    }
    let message =
        format!("output 0 '{}' would be {own}, but {} allows {}", formal.name, view.spec.version, type_list(allowed));
    Some(Violation { rule: RuleId::NodeType, message, input: None, edit: None })
}

/// Checks that optional inputs in front of a variadic one are named, with "" if they are omitted: ONNX counts them, as in `Inputs (2 - ∞)`
/// of Loop-11.
fn few_inputs(view: &NodeView<'_, '_>) -> Option<Violation> {
    let (last, others) = view.spec.inputs.split_last()?;
    let (min, given) = (others.len(), view.node.input.len());
    let message = format!("{} takes at least {min} inputs, not {given}", view.spec.version);
    let edit = Some(format!("pass at least {min} inputs, with \"\" for an omitted one"));
    let is_few = matches!(last.presence, Presence::Variadic { min: 0, .. }) && given < min;
    is_few.then_some(Violation { rule: RuleId::NodeArity, message, input: None, edit })
}

/// Checks that `Gradient` has an input for each name of `xs` and `zs`.
fn unnamed_inputs(view: &NodeView<'_, '_>) -> Option<Violation> {
    if view.spec.version.name != "Gradient" || view.attributes.any_open() {
        return None;
    }
    let count = |name: &str| view.attributes.get(name).map_or(0, |names| names.strings.len());
    // Empty names at the end are omitted inputs.
    let inputs = view.inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let names = count("xs") + count("zs");
    let message = format!("xs and zs have {names} names, but the node has {inputs} inputs");
    (names != inputs).then_some(Violation { rule: RuleId::NodeConstraint, message, input: None, edit: None })
}

/// Checks that `Constant` has no second value. Its values may be too large for a run, which would otherwise find the
/// error.
fn constant_values(view: &NodeView<'_, '_>) -> Option<Violation> {
    if view.spec.version.name != "Constant" || view.attributes.any_open() {
        return None;
    }
    let names: Vec<&str> = view.attributes.all().map(|(name, _)| name).collect();
    let message = format!("exactly one of the attributes that hold the value must be set, not {names:?} (Constant/C1)");
    (names.len() > 1).then_some(Violation { rule: RuleId::NodeConstraint, message, input: None, edit: None })
}

/// Checks that the keys of the map of `DictVectorizer` have the type of its vocabulary.
fn dictionary_keys(view: &NodeView<'_, '_>) -> Option<Violation> {
    if view.spec.version.name != "DictVectorizer" || view.attributes.any_open() {
        return None;
    }
    let Some(ValueType::Map(key, _)) = view.inputs.first().copied().flatten()?.value_type.as_ref() else { return None };
    let is_set = |name: &str| view.attributes.has(name);
    let expected = match (is_set("string_vocabulary"), is_set("int64_vocabulary")) {
        (true, false) => ElementType::String,
        (false, true) => ElementType::Int64,
        _ => return None,
    };
    let message = format!("the keys of the map are {key}, but those of the vocabulary {expected} (DictVectorizer/C5)");
    (*key != expected).then_some(Violation { rule: RuleId::NodeConstraint, message, input: Some(0), edit: None })
}

/// The facts that the operator's signature and rules give about the outputs of a node: types only.
pub(super) fn outputs(view: &NodeView<'_, '_>, bindings: &Bindings) -> Vec<ValueFact> {
    let fact =
        |position: usize| ValueFact { value_type: output_type(view, bindings, position), ..ValueFact::default() };
    (0..view.node.output.len()).map(fact).collect()
}

/// The type of an output by the rule of the kernel table; `None` if the signature determines it, or if it is unknown.
fn registered_type(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    registry::find(&view.spec.version)?.output_type(view, position)
}

fn output_type(view: &NodeView<'_, '_>, bindings: &Bindings, position: usize) -> Option<ValueType> {
    let formal = view.spec.output_at(position)?;
    if let Some(own) = registered_type(view, position) {
        return view.spec.allowed(&formal.kind).contains(&own).then_some(own);
    }
    match &formal.kind {
        FormalType::Literal(literal) => Some(literal.clone()),
        FormalType::Parameter(parameter) => {
            let bound = bindings.get(parameter).filter(|_| !formal.is_heterogeneous());
            match (bound, view.spec.types.get(parameter).map(Vec::as_slice)) {
                (Some(bound), _) => Some(bound.clone()),
                (None, Some([only])) => Some(only.clone()),
                _ => None,
            }
        }
    }
}
