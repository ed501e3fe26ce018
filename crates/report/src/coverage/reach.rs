//! Coverage of a single case.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{Case, CaseId, Cell, DataSet};
use onnx_conformance_reference::proto::{AttributeProto, Text};
use onnx_conformance_reference::spec::{OperatorVersion, Presence, Specs};
use onnx_conformance_reference::value::Value;

use crate::coverage::item::{CoverageItem, CoverageKind, counted, refused, takes_integers_as_data};
use crate::coverage::node::{self, Node};
use crate::coverage::value::{expects_infinity, extreme_integers, special_floats, tensors};

/// Coverage items of each version.
pub(super) type Reached = BTreeMap<OperatorVersion, BTreeSet<CoverageItem>>;

/// Returns the items that a passing case reaches, given the cells it executed.
pub(super) fn reached(case: &Case, cells: &[String], specs: &Specs) -> Reached {
    let mut reached = Reached::new();
    if case.refusal.is_some() {
        reach_refusal(case, specs, &mut reached);
        return reached;
    }
    for cell in cells {
        let Ok(cell) = cell.parse::<Cell>() else { continue };
        let (version, item) = match cell {
            Cell::Version(version) => (version, CoverageItem::new(CoverageKind::Executed)),
            Cell::Type(cell) => {
                let item = CoverageItem::named(CoverageKind::TypeCell, cell.binding());
                (cell.version, item)
            }
        };
        reached.entry(version).or_default().insert(item);
    }
    reach_by_nodes(case, specs, &mut reached);
    reached
}

/// Adds the items that the nodes of a case reach.
fn reach_by_nodes(case: &Case, specs: &Specs, reached: &mut Reached) {
    node::visit(&case.model, specs, &mut |node| {
        let items = reached.entry(node.spec.version.clone()).or_default();
        items.insert(CoverageItem::named(CoverageKind::LastOpset, node.opset.to_string()));
        attributes(node, items);
        parameters(node, items);
        for data in &case.data {
            values(node, data, items);
        }
    });
}

/// Adds the items of a refusal: its rule, and absent or empty things that its control does not have.
fn reach_refusal(case: &Case, specs: &Specs, reached: &mut Reached) {
    let id = CaseId::parse(&case.id);
    let (Some(version), name) = (id.version(), id.name()) else { return };
    let Ok(spec) = specs.get(&version) else { return };
    if let Some(item) = name.strip_prefix("refuse/").and_then(|name| refused(spec, name)) {
        reached.entry(version).or_default().insert(item);
    }
    if let Some(refusal) = &case.refusal {
        let (mut own, mut repaired) = (Reached::new(), Reached::new());
        reach_by_nodes(case, specs, &mut own);
        reach_by_nodes(&refusal.control, specs, &mut repaired);
        for (version, items) in own {
            let is_repaired = |item: &CoverageItem| repaired.get(&version).is_some_and(|items| items.contains(item));
            let items: Vec<CoverageItem> =
                items.into_iter().filter(|item| says_nothing(item.kind) && !is_repaired(item)).collect();
            reached.entry(version).or_default().extend(items);
        }
    }
}

/// Returns true if a kind is about something absent or empty.
fn says_nothing(kind: CoverageKind) -> bool {
    matches!(
        kind,
        CoverageKind::AttributeLeftOut
            | CoverageKind::InputLeftOut
            | CoverageKind::InputEmptyName
            | CoverageKind::OutputLeftOut
            | CoverageKind::OutputEmptyName
            | CoverageKind::Empty
            | CoverageKind::RankZero
    )
}

fn attributes(node: &Node<'_>, items: &mut BTreeSet<CoverageItem>) {
    for (name, spec) in &node.spec.attributes {
        let Some(attribute) = node.proto.attribute.iter().find(|attribute| attribute.name() == name) else {
            items.insert(CoverageItem::named(CoverageKind::AttributeLeftOut, name));
            continue;
        };
        // In a function, an attribute may refer to one of the call.
        if !attribute.ref_attr_name().is_empty() {
            continue;
        }
        let kind = if node::is_default(spec, attribute) {
            CoverageKind::AttributeDefault
        } else {
            CoverageKind::AttributeOther
        };
        items.insert(CoverageItem::named(kind, name));
        items.extend(
            texts(attribute).map(|value| CoverageItem::named(CoverageKind::Enumerated, format!("{name}={value}"))),
        );
    }
}

fn texts(attribute: &AttributeProto) -> impl Iterator<Item = String> + '_ {
    attribute.s.iter().chain(&attribute.strings).map(|text| String::from_utf8_lossy(text).into_owned())
}

/// Adds optional and variadic parameters, given or not.
fn parameters(node: &Node<'_>, items: &mut BTreeSet<CoverageItem>) {
    let proto = node.proto;
    let sides = [
        (
            &node.spec.inputs,
            &proto.input,
            [
                CoverageKind::InputGiven,
                CoverageKind::InputLeftOut,
                CoverageKind::InputEmptyName,
                CoverageKind::InputCount,
            ],
        ),
        (
            &node.spec.outputs,
            &proto.output,
            [
                CoverageKind::OutputGiven,
                CoverageKind::OutputLeftOut,
                CoverageKind::OutputEmptyName,
                CoverageKind::OutputCount,
            ],
        ),
    ];
    for (formals, names, [given, left_out, empty_name, count]) in sides {
        for (at, formal) in formals.iter().enumerate() {
            let item = match (formal.presence, names.get(at)) {
                (Presence::Single, _) => continue,
                (Presence::Optional, None) => CoverageItem::named(left_out, &formal.name),
                (Presence::Optional, Some(name)) if name.is_empty() => CoverageItem::named(empty_name, &formal.name),
                (Presence::Optional, Some(_)) => CoverageItem::named(given, &formal.name),
                (Presence::Variadic { .. }, _) => {
                    CoverageItem::named(count, counted(&formal.name, names.len().saturating_sub(at)))
                }
            };
            items.insert(item);
        }
    }
}

/// Adds the special values of a node's inputs that are also inputs of the case.
fn values(node: &Node<'_>, data: &DataSet, items: &mut BTreeSet<CoverageItem>) {
    let known: BTreeMap<&str, &Value> = data.inputs.iter().map(|input| (input.name.as_str(), &input.value)).collect();
    let (mut floats, mut count) = (BTreeSet::new(), 0);
    for (at, name) in node.proto.input.iter().enumerate() {
        let (Some(formal), Some(value)) = (node.spec.input_at(at), known.get(name.as_str())) else { continue };
        if at == 0 {
            shapes(value, items);
        }
        for tensor in tensors(value) {
            floats.extend(special_floats(tensor));
            count += if tensor.element_type().is_float() { tensor.len() } else { 0 };
            if takes_integers_as_data(node.spec, formal) {
                items.extend(extreme_integers(tensor).into_iter().map(CoverageItem::new));
            }
        }
    }
    let is_finite = [CoverageKind::NotANumber, CoverageKind::PositiveInfinity, CoverageKind::NegativeInfinity]
        .iter()
        .all(|kind| !floats.contains(kind));
    let is_given = |name: &Text| name.is_empty() || known.contains_key(name.as_str());
    let overflows =
        |name: &Text| data.outputs.iter().any(|output| output.name == *name && expects_infinity(&output.expected));
    // Another input, such as a constant, may be infinite.
    if count > 0 && is_finite && node.proto.input.iter().all(is_given) && node.proto.output.iter().any(overflows) {
        items.insert(CoverageItem::new(CoverageKind::Overflow));
    }
    items.extend(floats.into_iter().map(CoverageItem::new));
}

fn shapes(value: &Value, items: &mut BTreeSet<CoverageItem>) {
    let Some(tensor) = value.as_tensor() else { return };
    if tensor.is_empty() {
        items.insert(CoverageItem::new(CoverageKind::Empty));
    }
    if tensor.rank() == 0 {
        items.insert(CoverageItem::new(CoverageKind::RankZero));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::generate::{OperatorCatalog, cases};

    /// Checks whether the cases of a version with this id prefix reach an item.
    fn check(version: &str, beginning: &str, item: &CoverageItem, expected: bool) {
        let version: OperatorVersion = version.parse().unwrap();
        let wanted = |id: &str| id.starts_with(&format!("{}/{beginning}", version.qualified()));
        let cases = cases(&OperatorCatalog::embedded(), &version, &wanted).unwrap();
        assert!(!cases.is_empty(), "{version} {beginning}");
        let is_reached = cases.iter().any(|case| {
            let reached = reached(case, &[], Specs::embedded());
            reached.get(&version).is_some_and(|items| items.contains(item))
        });
        assert_eq!(is_reached, expected, "{version} {beginning} {item}");
    }

    #[test]
    fn values_and_shapes_are_those_of_the_inputs() {
        check("Abs-13", "nan_and_infinities/", &CoverageItem::new(CoverageKind::NotANumber), true);
        check("Abs-13", "ranks/X=0x3/", &CoverageItem::new(CoverageKind::NotANumber), false);
        check("Abs-13", "ranks/X=0x3/", &CoverageItem::new(CoverageKind::Empty), true);
        check("Abs-13", "ranks/X=scalar/", &CoverageItem::new(CoverageKind::RankZero), true);
        check("Abs-13", "least_integer/", &CoverageItem::new(CoverageKind::Smallest), true);
        let newest = Specs::embedded().newest_opset("").unwrap();
        check("Abs-13", "ranks/X=2x3x4/", &CoverageItem::named(CoverageKind::LastOpset, newest.to_string()), true);
    }

    #[test]
    fn attributes_are_left_out_at_their_default_or_another() {
        let automatic = |value: &str| CoverageItem::named(CoverageKind::Enumerated, format!("auto_pad={value}"));
        check("Conv-22", "automatic/auto_pad=VALID/", &automatic("VALID"), true);
        check("Conv-22", "automatic/auto_pad=VALID/", &automatic("NOTSET"), false);
        check(
            "Conv-22",
            "automatic/auto_pad=VALID/",
            &CoverageItem::named(CoverageKind::AttributeOther, "auto_pad"),
            true,
        );
        check(
            "Conv-22",
            "automatic/auto_pad=NOTSET/",
            &CoverageItem::named(CoverageKind::AttributeDefault, "auto_pad"),
            true,
        );
        check("Conv-22", "biased/", &CoverageItem::named(CoverageKind::InputGiven, "B"), true);
    }

    #[test]
    fn a_refusal_reaches_its_rule_alone() {
        check("Abs-13", "refuse/T=string", &CoverageItem::named(CoverageKind::Refusal, "type of T"), true);
        check("Abs-13", "refuse/T=string", &CoverageItem::new(CoverageKind::Executed), false);
        check("Abs-13", "refuse/surplus-input", &CoverageItem::named(CoverageKind::Refusal, "surplus-input"), true);
    }
}
