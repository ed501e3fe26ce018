//! The facts of op.yaml about random outputs and strings: the built-in executor agrees with them on the cases.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use onnx_conformance_cases::case::Case;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{AttributeProto, Message as _, ModelProto, NodeProto};
use onnx_conformance_reference::spec::{AttributeType, OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::value::Value;

use crate::{FOUND, Made, OPERATORS, assert_none, is_everything_meant};

/// Number of cases that an operator version without random outputs runs twice.
const SAMPLE: usize = 8;

/// Contradictions between the facts and the kernels, and the number of facts that were tried.
#[derive(Default)]
pub(crate) struct Totals {
    contradictions: Vec<String>,
    /// Operator versions with random outputs.
    random: usize,
    /// Values of string attributes.
    values: usize,
}

impl Totals {
    pub(crate) fn of(versions: &[Made]) -> Totals {
        let mut totals = Totals::default();
        for made in versions {
            let spec = Specs::embedded().get(&made.version).unwrap();
            totals.check_draws(made, spec);
            for (name, attribute) in &spec.attributes {
                let is_text = matches!(attribute.kind, AttributeType::String | AttributeType::Strings);
                if is_text && !spec.facts.values(name).is_empty() {
                    totals.check_values(made, spec, name, attribute.kind);
                }
            }
        }
        totals
    }

    pub(crate) fn with(mut self, other: Totals) -> Totals {
        self.contradictions.extend(other.contradictions);
        Totals { random: self.random + other.random, values: self.values + other.values, ..self }
    }

    /// Runs cases with two seeds. The outputs differ if the operator has random ones.
    fn check_draws(&mut self, made: &Made, spec: &OpSpec) {
        let is_random = spec.facts.draws.is_possible();
        let differs = |case: &&Case| {
            let model = with_node(case, spec, |node| {
                node.attribute.retain(|attribute| attribute.name() != "seed");
                true
            });
            model.is_some_and(|model| execute(&model, case, 1).ok() != execute(&model, case, 2).ok())
        };
        let tried = if is_random { usize::MAX } else { SAMPLE };
        let found = made.runnable().take(tried).find(differs);
        self.random += usize::from(is_random);
        match found {
            Some(case) if !is_random => {
                self.contradictions.push(format!("{}: two runs differ, but op.yaml has no `draws`", case.id));
            }
            None if is_random => {
                self.contradictions.push(format!("{}: op.yaml has `draws`, but no two runs differ", spec.version));
            }
            _ => {}
        }
    }

    /// Replaces the value of a string attribute in cases. Some case accepts each value of op.yaml. Other strings, among
    /// them the values of other versions, are refused by a message that lists the values.
    fn check_values(&mut self, made: &Made, spec: &OpSpec, name: &str, kind: AttributeType) {
        let allowed = spec.facts.values(name);
        let specs = Specs::embedded();
        let (domain, operator) = (&spec.version.domain, &spec.version.name);
        let of_all_versions = specs.versions(domain, operator).flat_map(|since| {
            specs.find(domain, operator, since).map_or(&[][..], |other| other.facts.values(name)).iter()
        });
        let refused = of_all_versions.map(String::as_str).filter(|value| !spec.allows(name, value));
        let mut refused: BTreeSet<&str> = refused.chain(["no such value"]).collect();
        let mut accepted: BTreeSet<&str> = allowed.iter().map(String::as_str).collect();
        self.values += accepted.len();
        for case in made.runnable() {
            let result = |value: &str| {
                let model = with_node(case, spec, |node| set_text(node, name, kind, value))?;
                Some(execute(&model, case, 1))
            };
            accepted.retain(|value| !matches!(result(value), Some(Ok(_))));
            refused.retain(|value| {
                let lists = |message: &String| {
                    [name, value]
                        .into_iter()
                        .chain(allowed.iter().map(String::as_str))
                        .all(|part| message.contains(part))
                };
                !matches!(result(value), Some(Err(message)) if lists(&message))
            });
            if accepted.is_empty() && refused.is_empty() {
                return;
            }
        }
        for value in accepted {
            self.contradictions.push(format!("{}: no case runs with {name}={value}", spec.version));
        }
        for value in refused {
            self.contradictions.push(format!("{}: no case refuses {name}={value} and lists {allowed:?}", spec.version));
        }
    }
}

/// Returns the model of a case after a change of its node; `None` if it has none, or the change does not apply.
fn with_node(case: &Case, spec: &OpSpec, change: impl Fn(&mut NodeProto) -> bool) -> Option<ModelProto> {
    let mut model = decode::model(case.model.clone()).ok()?;
    let nodes = &mut model.graph.as_mut()?.node;
    let node = nodes.iter_mut().find(|node| node.op_type() == spec.version.name)?;
    change(node).then_some(model)
}

/// Sets a string attribute. In a list it replaces the first element, so the list must be there.
fn set_text(node: &mut NodeProto, name: &str, kind: AttributeType, value: &str) -> bool {
    let text = Bytes::copy_from_slice(value.as_bytes());
    let given = node.attribute.iter_mut().find(|attribute| attribute.name() == name);
    match (given, kind) {
        (Some(given), AttributeType::Strings) => given.strings.first_mut().map(|first| *first = text).is_some(),
        (None, AttributeType::Strings) => false,
        (Some(given), _) => {
            given.s = Some(text);
            true
        }
        (None, _) => {
            node.attribute.push(AttributeProto {
                name: Some(name.to_owned()),
                r#type: Some(kind.code()),
                s: Some(text),
                ..AttributeProto::default()
            });
            true
        }
    }
}

fn execute(model: &ModelProto, case: &Case, seed: u64) -> Result<Vec<Value>, String> {
    let model = read_model(model.encode_to_vec().into(), &NoExternalData, &LoadLimits::default())
        .map_err(|error| error.to_string())?;
    let inputs = case.data.iter().take(1).flat_map(|data| &data.inputs);
    let inputs: BTreeMap<String, Value> = inputs.map(|input| (input.name.clone(), input.value.clone())).collect();
    run(&model, inputs, ExecutionLimits { seed, ..ExecutionLimits::default() }).map_err(|error| error.to_string())
}

#[test]
fn the_facts_of_op_yaml_hold_for_the_kernels() {
    let Totals { contradictions, random, values } = &FOUND.facts;
    assert!((*random >= 12 && *values > 400) || !is_everything_meant(), "{random} random versions, {values} values");
    assert_none(contradictions);
}

#[test]
fn every_operator_has_a_formula_and_rules_about_its_parameters() {
    let mut missing = Vec::new();
    let mut names = BTreeSet::new();
    for version in Specs::embedded().all().filter(|version| OPERATORS.has(version)) {
        if !names.insert((version.domain.clone(), version.name.clone())) {
            continue;
        }
        let file = OPERATORS.get(&version).unwrap();
        let specs: Vec<_> = Specs::embedded()
            .versions(&version.domain, &version.name)
            .map(|since| Specs::embedded().get(&OperatorVersion::new(&version.domain, &version.name, since)).unwrap())
            .collect();
        let is_parameter = |name: &str| {
            name == "types"
                || specs.iter().any(|spec| {
                    spec.attributes.contains_key(name)
                        || spec.inputs.iter().chain(&spec.outputs).any(|formal| formal.name == name)
                })
        };
        for (key, text) in [("formula", &file.formula), ("shape", &file.shape)] {
            missing.extend(text.is_empty().then(|| format!("{}: {key}", version.name)));
        }
        for (id, rule) in file.constraints.0.iter().filter(|(id, _)| id != "formula") {
            let is_known = !rule.about.is_empty() && rule.about.iter().all(|name| is_parameter(name));
            missing.extend((!is_known).then(|| format!("{}: about of {id}: {:?}", version.name, rule.about)));
        }
    }
    assert!(missing.is_empty() && names.len() > 200, "{} operators: {missing:#?}", names.len());
}
