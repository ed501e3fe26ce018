//! What must be refused: what the signature tells by itself, and what op.yaml adds.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::spec::{FormalParameter, FormalType, OpSpec, Presence, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Level, Named, Refusal};
use crate::generate::instance::{Fitted, NodeParts, replaced};
use crate::generate::model::{Declared, attribute_message, one_node};
use crate::generate::types::short;
use crate::generate::version::{GenerateError, Planned, Version};

/// A refusal that is planned but not made.
pub(super) struct PlannedRefusal {
    pub(super) id: String,
    rule: String,
    level: Level,
    /// The position of the control among the planned cases.
    control: usize,
    violation: Violation,
}

/// The one thing that is wrong.
enum Violation {
    /// An input of a type outside the constraint.
    Type { input: String, value_type: ValueType },
    /// A required input left out.
    Missing { at: usize },
    /// One input more than the version takes.
    Surplus,
    /// An attribute that the version does not have.
    UnknownAttribute { name: String },
    /// An attribute of another type than declared.
    AttributeType { name: String },
    /// A required attribute left out.
    MissingAttribute { name: String },
    /// A homogeneous variadic input of two types.
    Mixed { at: usize, value_type: ValueType },
    /// What a refusal of op.yaml says, by its name.
    Written { name: String },
}

/// The refusals of a version. Each stands against the version's first case, or against the control that the file names.
pub(super) fn planned(version: &Version<'_>, cases: &[Planned<'_>]) -> Result<Vec<PlannedRefusal>, GenerateError> {
    let mut refusals = Vec::new();
    if let Some(first) = cases.first() {
        let parts = version.parts(first)?;
        signature(version.spec, &parts, &mut refusals);
    }
    for file in &version.file.refuse {
        let since = version.spec.version.since;
        if file.since.is_some_and(|first| since < first) || file.until.is_some_and(|last| since > last) {
            continue;
        }
        let Some(control) = cases.iter().position(|planned| planned.case.name == file.control) else { continue };
        let case = replaced(cases[control].case, &file.inputs, &file.set);
        if Fitted::new(version.file, &case, version.spec).is_err() {
            continue;
        }
        refusals.push(PlannedRefusal {
            id: file.name.clone(),
            rule: version.file.constraints.get(&file.constraint).cloned().unwrap_or_default(),
            level: file.level,
            control,
            violation: Violation::Written { name: file.name.clone() },
        });
    }
    let prefix = format!("{}/refuse", version.spec.version.qualified());
    for refusal in &mut refusals {
        refusal.id = format!("{prefix}/{}", refusal.id);
    }
    Ok(refusals)
}

/// What the signature alone excludes.
fn signature(spec: &OpSpec, parts: &NodeParts, refusals: &mut Vec<PlannedRefusal>) {
    let mut add = |id: String, rule: String, level: Level, violation: Violation| {
        refusals.push(PlannedRefusal { id, rule, level, control: 0, violation });
    };
    let mut seen = Vec::new();
    for (at, name) in parts.input_names.iter().enumerate() {
        let Some(formal) = spec.input_at(at) else { continue };
        let Some(given) = parts.inputs.iter().find(|input| input.name == *name) else { continue };
        if let FormalType::Parameter(parameter) = &formal.kind
            && !seen.contains(&parameter)
        {
            seen.push(parameter);
            for value_type in outside(spec, parameter, &given.value) {
                let (label, rule) = (short(&value_type), format!("{parameter} does not allow {value_type}"));
                let violation = Violation::Type { input: name.clone(), value_type };
                add(format!("{parameter}={label}"), rule, Level::Recommended, violation);
            }
        }
        if formal.presence == Presence::Single {
            let rule = format!("input '{}' is required", formal.name);
            add(format!("missing={}", formal.name), rule, Level::Required, Violation::Missing { at });
        }
    }
    variadic(spec, parts, &mut add);
    if !spec.inputs.last().is_some_and(FormalParameter::is_variadic) {
        let rule = format!("{} takes at most {} inputs", spec.version, spec.inputs.len());
        add("surplus-input".to_owned(), rule, Level::Recommended, Violation::Surplus);
    }
    let unknown = newer_attribute(spec).unwrap_or_else(|| "no_such_attribute".to_owned());
    let rule = format!("{} has no attribute '{unknown}'", spec.version);
    add(format!("attribute={unknown}"), rule, Level::Recommended, Violation::UnknownAttribute { name: unknown });
    for (name, attribute) in &spec.attributes {
        if attribute.required {
            let rule = format!("attribute '{name}' is required");
            add(
                format!("missing-attribute={name}"),
                rule,
                Level::Required,
                Violation::MissingAttribute { name: name.clone() },
            );
        }
        if parts.attributes.iter().any(|other| other.name() == name) {
            let rule = format!("attribute '{name}' is of type {}", attribute.kind);
            add(
                format!("attribute-type={name}"),
                rule,
                Level::Recommended,
                Violation::AttributeType { name: name.clone() },
            );
        }
    }
}

fn variadic(spec: &OpSpec, parts: &NodeParts, add: &mut impl FnMut(String, String, Level, Violation)) {
    let Some(formal) = spec.inputs.last() else { return };
    let Presence::Variadic { heterogeneous: false, .. } = formal.presence else { return };
    let at = parts.input_names.len().saturating_sub(1);
    if at < spec.inputs.len() {
        return;
    }
    let given = parts.inputs.last().map(|input| input.value.value_type());
    if let Some(other) = spec.allowed(&formal.kind).iter().find(|allowed| Some(*allowed) != given.as_ref()) {
        let rule = format!("all of '{}' have one type", formal.name);
        let violation = Violation::Mixed { at, value_type: other.clone() };
        add(format!("mixed={}", formal.name), rule, Level::Recommended, violation);
    }
}

/// Two types that the parameter does not allow: one that no version allows, and one that only a later one does.
fn outside(spec: &OpSpec, parameter: &str, given: &Value) -> Vec<ValueType> {
    if !matches!(given, Value::Tensor(_)) {
        return Vec::new();
    }
    let specs = Specs::embedded();
    let version = &spec.version;
    let allowed = |spec: &OpSpec, value_type: &ValueType| {
        spec.types.get(parameter).is_some_and(|types| types.contains(value_type))
    };
    let others: Vec<&OpSpec> = specs
        .versions(&version.domain, &version.name)
        .filter_map(|since| specs.find(&version.domain, &version.name, since).ok())
        .collect();
    let candidates =
        || ElementType::ALL.into_iter().map(ValueType::Tensor).filter(|value_type| !allowed(spec, value_type));
    let never = candidates().find(|value_type| !others.iter().any(|other| allowed(other, value_type)));
    let later = candidates().find(|value_type| {
        others.iter().any(|other| other.version.since > version.since && allowed(other, value_type))
    });
    never.into_iter().chain(later).collect()
}

/// An attribute that only a later version has.
fn newer_attribute(spec: &OpSpec) -> Option<String> {
    let specs = Specs::embedded();
    let version = &spec.version;
    specs
        .versions(&version.domain, &version.name)
        .filter(|since| *since > version.since)
        .filter_map(|since| specs.find(&version.domain, &version.name, since).ok())
        .flat_map(|later| later.attributes.keys())
        .find(|name| !spec.attributes.contains_key(*name))
        .cloned()
}

/// Makes a planned refusal.
pub(super) fn make(
    version: &Version<'_>,
    cases: &[Planned<'_>],
    refusal: &PlannedRefusal,
) -> Result<Case, GenerateError> {
    let nothing = || GenerateError::Refused { id: refusal.id.clone(), reason: "it has no control".to_owned() };
    let planned = cases.get(refusal.control).ok_or_else(nothing)?;
    let control = version.make(planned)?;
    let mut parts = version.parts(planned)?;
    let outputs: Vec<Declared> = control.data.iter().flat_map(|data| &data.outputs).map(declared).collect();
    break_rule(version, planned, &refusal.violation, &mut parts)?;
    Ok(Case {
        id: refusal.id.clone(),
        model: one_node(version.spec, planned.opset, &parts, &outputs),
        folder: None,
        data: vec![DataSet { inputs: parts.inputs, outputs: Vec::new() }],
        refusal: Some(Refusal { rule: refusal.rule.clone(), control: Box::new(control) }),
        level: refusal.level,
        evidence: Vec::new(),
        judged: None,
    })
}

fn declared(output: &crate::case::Expected) -> Declared {
    let (value_type, shape) = output.want.declared();
    Declared { name: output.name.clone(), value_type, shape }
}

/// Breaks exactly one rule of a node that is right.
fn break_rule(
    version: &Version<'_>,
    planned: &Planned<'_>,
    violation: &Violation,
    parts: &mut NodeParts,
) -> Result<(), GenerateError> {
    match violation {
        Violation::Type { input, value_type } => {
            // Every input that shares the type parameter changes with it, so that the type alone is wrong.
            let parameter = |name: &String| {
                let at = parts.input_names.iter().position(|other| other == name)?;
                version.spec.input_at(at).map(|formal| formal.kind.clone())
            };
            let kind = parameter(input);
            let shared: Vec<String> =
                parts.input_names.iter().filter(|name| parameter(name) == kind).cloned().collect();
            for given in parts.inputs.iter_mut().filter(|given| shared.contains(&given.name)) {
                retype(given, value_type.element_type());
            }
        }
        Violation::Missing { at } => {
            if let Some(name) = parts.input_names.get_mut(*at) {
                let name = std::mem::take(name);
                parts.inputs.retain(|input| input.name != name);
            }
        }
        Violation::Surplus => {
            while parts.input_names.len() < version.spec.inputs.len() {
                parts.input_names.push(String::new());
            }
            parts.input_names.push("surplus".to_owned());
            parts.inputs.push(Named { name: "surplus".to_owned(), value: zeros(ElementType::Float, &[1]) });
        }
        Violation::UnknownAttribute { name } => parts.attributes.push(attribute_message(name, &Attribute::Int(1))),
        Violation::AttributeType { name } => {
            for other in parts.attributes.iter_mut().filter(|other| other.name() == name) {
                let wrong = if other.f.is_some() { Attribute::Int(1) } else { Attribute::Float(1.0) };
                *other = attribute_message(name, &wrong);
            }
        }
        Violation::MissingAttribute { name } => parts.attributes.retain(|other| other.name() != name),
        Violation::Mixed { at, value_type } => {
            let name = parts.input_names.get(*at).cloned().unwrap_or_default();
            for given in parts.inputs.iter_mut().filter(|given| given.name == name) {
                retype(given, value_type.element_type());
            }
        }
        Violation::Written { name } => *parts = written(version, planned, name)?,
    }
    Ok(())
}

/// The node of a refusal of op.yaml.
fn written(version: &Version<'_>, planned: &Planned<'_>, name: &str) -> Result<NodeParts, GenerateError> {
    let wrong = |message: &str| version.at(name, message.to_owned());
    let file = version.file.refuse.iter().find(|file| file.name == name).ok_or_else(|| wrong("is not there"))?;
    let case = replaced(planned.case, &file.inputs, &file.set);
    let fitted = Fitted::new(version.file, &case, version.spec).map_err(|reason| version.at(name, reason))?;
    let seed = format!("{}/refuse/{name}", version.spec.version.qualified());
    let picks = vec![0; 16];
    fitted
        .parts(&picks, &planned.instance.types, Some(&seed))
        .map_err(|message| version.at(name, message))?
        .ok_or_else(|| wrong("its types cannot hold its values"))
}

fn zeros(element: ElementType, shape: &[usize]) -> Value {
    let count: usize = shape.iter().product();
    let tensor = match element {
        ElementType::String => Tensor::of_strings(shape, &vec![""; count]),
        _ => Tensor::of_integers(element, shape, &vec![0; count]),
    };
    Value::Tensor(tensor.unwrap_or_else(|error| unreachable!("a small tensor: {error}")))
}

fn retype(given: &mut Named, element: ElementType) {
    if let Value::Tensor(tensor) = &given.value {
        given.value = zeros(element, tensor.shape());
    }
}
