//! What a case reaches.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::proto::AttributeProto;
use onnx_conformance_reference::spec::{OperatorVersion, Presence, Specs};
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet};
use crate::report::coverage::goal::{Aspect, Goal, counted, refused, takes_integers_as_data};
use crate::report::coverage::node::{self, Node};
use crate::report::coverage::value::{extreme_integers, special_floats, tensors, wants_infinity};

/// Goals, each of a version.
pub(super) type Reached = BTreeSet<(OperatorVersion, Goal)>;

/// What a case reaches that passes, having gone through these cells.
pub(super) fn reached(case: &Case, cells: &[String], specs: &Specs) -> Reached {
    let mut reached = Reached::new();
    if case.refusal.is_some() {
        reach_refusal(case, specs, &mut reached);
        return reached;
    }
    for cell in cells {
        let (version, cell) =
            cell.split_once(' ').map_or((cell.as_str(), None), |(version, cell)| (version, Some(cell)));
        let Ok(version) = version.parse::<OperatorVersion>() else { continue };
        let goal = cell.map_or(Goal::new(Aspect::Executed), |cell| Goal::of(Aspect::TypeCell, cell));
        reached.insert((version, goal));
    }
    reached.extend(of_nodes(case, specs));
    reached
}

/// What the nodes of a case reach.
fn of_nodes(case: &Case, specs: &Specs) -> Reached {
    let mut reached = Reached::new();
    node::visit(&case.model, specs, &mut |node| {
        let mut goals = BTreeSet::new();
        goals.insert(Goal::of(Aspect::LastOpset, node.opset.to_string()));
        attributes(node, &mut goals);
        parameters(node, &mut goals);
        for data in &case.data {
            values(node, data, &mut goals);
        }
        reached.extend(goals.into_iter().map(|goal| (node.spec.version.clone(), goal)));
    });
    reached
}

/// A refusal reaches its rule, and what it leaves out or empties unlike its control.
fn reach_refusal(case: &Case, specs: &Specs, reached: &mut Reached) {
    let Some((version, name)) = split_id(&case.id) else { return };
    let Ok(spec) = specs.get(&version) else { return };
    if let Some(goal) = name.strip_prefix("refuse/").and_then(|name| refused(spec, name)) {
        reached.insert((version, goal));
    }
    if let Some(refusal) = &case.refusal {
        let (own, repaired) = (of_nodes(case, specs), of_nodes(&refusal.control, specs));
        reached.extend(own.difference(&repaired).filter(|(_, goal)| says_nothing(goal.aspect)).cloned());
    }
}

/// Whether an aspect is about what is not there.
fn says_nothing(aspect: Aspect) -> bool {
    matches!(
        aspect,
        Aspect::AttributeLeftOut
            | Aspect::InputLeftOut
            | Aspect::InputEmptyName
            | Aspect::OutputLeftOut
            | Aspect::OutputEmptyName
            | Aspect::Empty
            | Aspect::RankZero
    )
}

/// The version of a generated case, and the rest of its id; nothing for a vendored one.
pub(super) fn split_id(id: &str) -> Option<(OperatorVersion, &str)> {
    let (domain, rest) = id.split_once('/')?;
    let (version, name) = rest.split_once('/')?;
    Some((format!("{domain}/{version}").parse().ok()?, name))
}

fn attributes(node: &Node<'_>, goals: &mut BTreeSet<Goal>) {
    for (name, spec) in &node.spec.attributes {
        let Some(attribute) = node.proto.attribute.iter().find(|attribute| attribute.name() == name) else {
            goals.insert(Goal::of(Aspect::AttributeLeftOut, name));
            continue;
        };
        // In a function, an attribute may stand for one of the call.
        if !attribute.ref_attr_name().is_empty() {
            continue;
        }
        let aspect = if node::is_default(spec, attribute) { Aspect::AttributeDefault } else { Aspect::AttributeOther };
        goals.insert(Goal::of(aspect, name));
        goals.extend(texts(attribute).map(|value| Goal::of(Aspect::Enumerated, format!("{name}={value}"))));
    }
}

fn texts(attribute: &AttributeProto) -> impl Iterator<Item = String> + '_ {
    attribute.s.iter().chain(&attribute.strings).map(|text| String::from_utf8_lossy(text).into_owned())
}

/// Optional and variadic parameters, given and not.
fn parameters(node: &Node<'_>, goals: &mut BTreeSet<Goal>) {
    let proto = node.proto;
    let sides = [
        (
            &node.spec.inputs,
            &proto.input,
            [Aspect::InputGiven, Aspect::InputLeftOut, Aspect::InputEmptyName, Aspect::InputCount],
        ),
        (
            &node.spec.outputs,
            &proto.output,
            [Aspect::OutputGiven, Aspect::OutputLeftOut, Aspect::OutputEmptyName, Aspect::OutputCount],
        ),
    ];
    for (formals, names, [given, left_out, empty_name, count]) in sides {
        for (at, formal) in formals.iter().enumerate() {
            let goal = match (formal.presence, names.get(at)) {
                (Presence::Single, _) => continue,
                (Presence::Optional, None) => Goal::of(left_out, &formal.name),
                (Presence::Optional, Some(name)) if name.is_empty() => Goal::of(empty_name, &formal.name),
                (Presence::Optional, Some(_)) => Goal::of(given, &formal.name),
                (Presence::Variadic { .. }, _) => {
                    Goal::of(count, counted(&formal.name, names.len().saturating_sub(at)))
                }
            };
            goals.insert(goal);
        }
    }
}

/// What is special in the values of a node's inputs, as far as they are inputs of the case.
fn values(node: &Node<'_>, data: &DataSet, goals: &mut BTreeSet<Goal>) {
    let known: BTreeMap<&str, &Value> = data.inputs.iter().map(|input| (input.name.as_str(), &input.value)).collect();
    let (mut floats, mut count) = (BTreeSet::new(), 0);
    for (at, name) in node.proto.input.iter().enumerate() {
        let (Some(formal), Some(value)) = (node.spec.input_at(at), known.get(name.as_str())) else { continue };
        if at == 0 {
            shapes(value, goals);
        }
        for tensor in tensors(value) {
            floats.extend(special_floats(tensor));
            count += if tensor.element_type().is_float() { tensor.len() } else { 0 };
            if takes_integers_as_data(node.spec, formal) {
                goals.extend(extreme_integers(tensor).into_iter().map(Goal::new));
            }
        }
    }
    let is_finite = [Aspect::NotANumber, Aspect::PositiveInfinity, Aspect::NegativeInfinity]
        .iter()
        .all(|aspect| !floats.contains(aspect));
    let overflows =
        |name: &String| data.outputs.iter().any(|output| output.name == *name && wants_infinity(&output.want));
    if count > 0 && is_finite && node.proto.output.iter().any(overflows) {
        goals.insert(Goal::new(Aspect::Overflow));
    }
    goals.extend(floats.into_iter().map(Goal::new));
}

fn shapes(value: &Value, goals: &mut BTreeSet<Goal>) {
    let Some(tensor) = value.as_tensor() else { return };
    if tensor.is_empty() {
        goals.insert(Goal::new(Aspect::Empty));
    }
    if tensor.rank() == 0 {
        goals.insert(Goal::new(Aspect::RankZero));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Operators, cases};

    /// Whether the cases of a version whose ids begin so reach a goal.
    fn check(version: &str, beginning: &str, goal: &Goal, expected: bool) {
        let version: OperatorVersion = version.parse().unwrap();
        let wanted = |id: &str| id.starts_with(&format!("{}/{beginning}", version.qualified()));
        let cases = cases(&Operators::embedded(), &version, &wanted).unwrap();
        assert!(!cases.is_empty(), "{version} {beginning}");
        let is_reached =
            cases.iter().any(|case| reached(case, &[], Specs::embedded()).contains(&(version.clone(), goal.clone())));
        assert_eq!(is_reached, expected, "{version} {beginning} {goal}");
    }

    #[test]
    fn values_and_shapes_are_those_of_the_inputs() {
        check("Abs-13", "special/", &Goal::new(Aspect::NotANumber), true);
        check("Abs-13", "any/X=0x3/", &Goal::new(Aspect::NotANumber), false);
        check("Abs-13", "any/X=0x3/", &Goal::new(Aspect::Empty), true);
        check("Abs-13", "any/X=scalar/", &Goal::new(Aspect::RankZero), true);
        check("Abs-13", "least_integer/", &Goal::new(Aspect::Smallest), true);
        check("Abs-13", "any/X=2x3x4/", &Goal::of(Aspect::LastOpset, "28"), true);
    }

    #[test]
    fn attributes_are_left_out_at_their_default_or_another() {
        let automatic = |value: &str| Goal::of(Aspect::Enumerated, format!("auto_pad={value}"));
        check("Conv-22", "automatic/auto_pad=VALID/", &automatic("VALID"), true);
        check("Conv-22", "automatic/auto_pad=VALID/", &automatic("NOTSET"), false);
        check("Conv-22", "automatic/auto_pad=VALID/", &Goal::of(Aspect::AttributeOther, "auto_pad"), true);
        check("Conv-22", "automatic/auto_pad=NOTSET/", &Goal::of(Aspect::AttributeDefault, "auto_pad"), true);
        check("Conv-22", "biased/", &Goal::of(Aspect::InputGiven, "B"), true);
    }

    #[test]
    fn a_refusal_reaches_its_rule_alone() {
        check("Abs-13", "refuse/T=string", &Goal::of(Aspect::Refusal, "type of T"), true);
        check("Abs-13", "refuse/T=string", &Goal::new(Aspect::Executed), false);
        check("Abs-13", "refuse/surplus-input", &Goal::of(Aspect::Refusal, "surplus-input"), true);
    }
}
