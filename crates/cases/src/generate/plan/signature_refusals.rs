//! Refusals from the signature of a version, each with the first case that has the violated part as its control.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::case::type_in_id;
use crate::generate::plan::version::PlannedCase;
use crate::generate::plan::violation::Violation;

/// A refusal from the signature.
pub(crate) struct SignatureRefusal {
    /// The id after that of the version and `refuse`.
    pub(crate) id: String,
    pub(crate) rule: String,
    /// The position of the control among the planned cases.
    pub(crate) control: usize,
    pub(crate) violation: Violation,
}

/// The refusals of a version from its signature.
pub(crate) struct SignatureRefusals<'a> {
    spec: &'a OpSpec,
    cases: &'a [PlannedCase<'a>],
    /// The first case of a single node.
    first: usize,
    refusals: Vec<SignatureRefusal>,
}

impl<'a> SignatureRefusals<'a> {
    /// Finds all refusals.
    pub(crate) fn find(spec: &'a OpSpec, cases: &'a [PlannedCase<'a>]) -> Vec<SignatureRefusal> {
        // Only a case of a single node can be a control.
        let first = cases.iter().position(|planned| planned.case.nodes.is_none());
        let mut signature = SignatureRefusals { spec, cases, first: first.unwrap_or(0), refusals: Vec::new() };
        if first.is_some() {
            signature.types();
            signature.bound_types();
            signature.inputs();
            signature.variadic();
            signature.outputs();
            signature.attributes();
        }
        signature.refusals
    }
}

impl SignatureRefusals<'_> {
    fn add(&mut self, id: String, rule: String, control: usize, violation: Violation) {
        self.refusals.push(SignatureRefusal { id, rule, control, violation });
    }

    /// Returns the first case that has a formal input of a type parameter, and the position of that input.
    fn first_case_giving(&self, kind: &FormalType) -> Option<(usize, usize)> {
        self.cases.iter().enumerate().find_map(|(control, planned)| {
            let mut given: Vec<usize> = planned.case_at_version.given_inputs().collect();
            given.sort_unstable();
            let is_of_kind = |at: &usize| self.spec.inputs.get(*at).is_some_and(|formal| formal.kind == *kind);
            given.into_iter().find(is_of_kind).map(|at| (control, at))
        })
    }

    /// Adds types of inputs that the version does not allow, including a tensor if only containers are allowed.
    fn types(&mut self) {
        let mut seen = Vec::new();
        for formal in &self.spec.inputs {
            let FormalType::Parameter(parameter) = &formal.kind else {
                self.literal_type(formal);
                continue;
            };
            let Some((control, at)) = self.first_case_giving(&formal.kind).filter(|_| !seen.contains(&parameter))
            else {
                continue;
            };
            seen.push(parameter);
            let given = self.cases.get(control).and_then(|planned| planned.instance.types.get(parameter));
            let is_tensor = |value_type: &ValueType| matches!(value_type, ValueType::Tensor(_));
            let has_tensors = self.spec.allowed(&formal.kind).iter().any(is_tensor);
            let tensor = (!has_tensors).then_some(ValueType::Tensor(ElementType::Float));
            for value_type in disallowed_types(self.spec, parameter, given).into_iter().chain(tensor) {
                let (label, rule) = (type_in_id(&value_type), format!("{parameter} does not allow {value_type}"));
                let violation = Violation::Type { at, value_type };
                self.add(format!("{parameter}={label}"), rule, control, violation);
            }
        }
    }

    /// Adds another type for an input whose type is fixed.
    fn literal_type(&mut self, formal: &FormalParameter) {
        let Some(at) = self.spec.inputs.iter().position(|other| other.name == formal.name) else { return };
        let gives = |planned: &PlannedCase<'_>| planned.case_at_version.given_inputs().any(|given| given == at);
        let Some(control) = self.cases.iter().position(gives) else { return };
        let FormalType::Literal(value_type) = &formal.kind else { return };
        let is_float = value_type.element_type() == ElementType::Float;
        let other = if is_float { ElementType::Int64 } else { ElementType::Float };
        let rule = format!("input '{}' is of type {value_type}", formal.name);
        let violation = Violation::Type { at, value_type: ValueType::Tensor(other) };
        self.add(format!("input-type={}", formal.name), rule, control, violation);
    }

    /// Adds types of outputs that an attribute names and the version does not allow.
    fn bound_types(&mut self) {
        let mut seen = Vec::new();
        for (control, planned) in self.cases.iter().enumerate() {
            let names = planned.case_at_version.type_names();
            for (parameter, how) in &planned.case.bind.0 {
                let (Some(attribute), Some(parameter)) =
                    (how.strip_prefix("attribute "), names.in_version(parameter).map(str::to_owned))
                else {
                    continue;
                };
                let is_of_input =
                    self.spec.inputs.iter().any(|formal| formal.kind == FormalType::Parameter(parameter.clone()));
                if seen.contains(&parameter) || is_of_input {
                    continue;
                }
                for value_type in disallowed_types(self.spec, &parameter, planned.instance.types.get(&parameter)) {
                    let (label, rule) = (type_in_id(&value_type), format!("{parameter} does not allow {value_type}"));
                    let violation =
                        Violation::BoundType { attribute: attribute.to_owned(), element: value_type.element_type() };
                    self.add(format!("{parameter}={label}"), rule, control, violation);
                }
                seen.push(parameter);
            }
        }
    }

    /// Adds omitted required inputs, and too few and too many inputs.
    fn inputs(&mut self) {
        let spec = self.spec;
        let required = |formal: &FormalParameter| match formal.presence {
            Presence::Single => 1,
            Presence::Variadic { min, .. } => min,
            Presence::Optional => 0,
        };
        let mut min = 0;
        for (at, formal) in spec.inputs.iter().enumerate() {
            if formal.presence == Presence::Single {
                let rule = format!("input '{}' is required", formal.name);
                let violation = Violation::Missing { at };
                self.add(format!("missing={}", formal.name), rule, self.first, violation);
            }
            if required(formal) > 0 {
                min = at + required(formal);
            }
        }
        if let Some(count) = min.checked_sub(1) {
            let rule = format!("{} takes at least {min} inputs", spec.version);
            self.add("too-few-inputs".to_owned(), rule, self.first, Violation::Fewer { count });
        }
        if !spec.inputs.last().is_some_and(FormalParameter::is_variadic) {
            let rule = format!("{} takes at most {} inputs", spec.version, spec.inputs.len());
            self.add("surplus-input".to_owned(), rule, self.first, Violation::Surplus);
        }
    }

    /// Adds a homogeneous variadic input of two types.
    fn variadic(&mut self) {
        let Some(formal) = self.spec.inputs.last() else { return };
        let Presence::Variadic { heterogeneous: false, .. } = formal.presence else { return };
        let at = self.spec.inputs.len() - 1;
        let control = self.cases.iter().position(|planned| planned.case_at_version.count_given(at) > 1);
        let Some((control, planned)) = control.and_then(|control| Some((control, self.cases.get(control)?))) else {
            return;
        };
        let given = planned.case_at_version.formal_type(formal, &planned.instance.types);
        let other = self.spec.allowed(&formal.kind).iter().find(|allowed| Some(*allowed) != given.as_ref());
        if let Some(other) = other {
            let rule = format!("all of '{}' have one type", formal.name);
            let violation = Violation::Mixed { value_type: other.clone() };
            self.add(format!("mixed={}", formal.name), rule, control, violation);
        }
    }

    /// Adds one output more than the version has.
    fn outputs(&mut self) {
        let spec = self.spec;
        if !spec.outputs.last().is_some_and(FormalParameter::is_variadic) {
            let rule = format!("{} has at most {} outputs", spec.version, spec.outputs.len());
            self.add("surplus-output".to_owned(), rule, self.first, Violation::SurplusOutput);
        }
    }

    /// Adds unknown attributes, attributes of another type, and omitted required attributes.
    fn attributes(&mut self) {
        let spec = self.spec;
        let others = other_attributes(spec);
        for unknown in others.iter().map(String::as_str).chain(["no_such_attribute"]) {
            let rule = format!("{} has no attribute '{unknown}'", spec.version);
            let violation = Violation::UnknownAttribute { name: unknown.to_owned() };
            self.add(format!("attribute={unknown}"), rule, self.first, violation);
        }
        for (name, attribute) in &spec.attributes {
            if attribute.required {
                let rule = format!("attribute '{name}' is required");
                let violation = Violation::MissingAttribute { name: name.clone() };
                self.add(format!("missing-attribute={name}"), rule, self.first, violation);
            }
            let rule = format!("attribute '{name}' is of type {}", attribute.kind);
            let is_float = attribute.kind == AttributeType::Float;
            let violation = Violation::AttributeType { name: name.clone(), is_float };
            self.add(format!("attribute-type={name}"), rule, self.first, violation);
        }
    }
}

/// Returns types that the parameter does not allow, of the same kind as the given one: one that no version allows, and
/// one that only a later version allows.
fn disallowed_types(spec: &OpSpec, parameter: &str, given: Option<&ValueType>) -> Vec<ValueType> {
    let specs = Specs::embedded();
    let version = &spec.version;
    let types = |spec: &OpSpec| spec.types.get(parameter).cloned().unwrap_or_default();
    let here = types(spec);
    let Some(given) = given.or(here.first()) else { return Vec::new() };
    let others: Vec<&OpSpec> = specs
        .versions(&version.domain, &version.name)
        .filter_map(|since| specs.find(&version.domain, &version.name, since).ok())
        .collect();
    let candidates = || {
        ElementType::ALL
            .into_iter()
            .filter_map(|element| with_element_type(given, element))
            .filter(|other| !here.contains(other))
    };
    let never = candidates().find(|value_type| !others.iter().any(|other| types(other).contains(value_type)));
    let later = candidates().find(|value_type| {
        others.iter().any(|other| other.version.since > version.since && types(other).contains(value_type))
    });
    never.into_iter().chain(later).collect()
}

/// Returns the type with another element type, or `None` if the type has no single element type.
fn with_element_type(given: &ValueType, element: ElementType) -> Option<ValueType> {
    Some(match given {
        ValueType::Tensor(_) => ValueType::Tensor(element),
        ValueType::SparseTensor(_) => ValueType::SparseTensor(element),
        ValueType::Sequence(inner) => ValueType::Sequence(Box::new(with_element_type(inner, element)?)),
        ValueType::Optional(inner) => ValueType::Optional(Box::new(with_element_type(inner, element)?)),
        ValueType::Map(..) => return None,
    })
}

/// Returns an attribute that only a later version has, and one that only an earlier version has.
fn other_attributes(spec: &OpSpec) -> Vec<String> {
    let specs = Specs::embedded();
    let version = &spec.version;
    let only_in = |is_later: bool| {
        specs
            .versions(&version.domain, &version.name)
            .filter(|since| if is_later { *since > version.since } else { *since < version.since })
            .filter_map(|since| specs.find(&version.domain, &version.name, since).ok())
            .flat_map(|other| other.attributes.keys())
            .find(|name| !spec.attributes.contains_key(*name))
            .cloned()
    };
    let (later, earlier) = (only_in(true), only_in(false));
    let earlier = earlier.filter(|name| later.as_ref() != Some(name));
    later.into_iter().chain(earlier).collect()
}
