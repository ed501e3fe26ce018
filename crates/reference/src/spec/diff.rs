//! The typed difference of two versions of an operator, and of two opsets.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::attribute::{AttributeSpec, AttributeType, DefaultValue};
use super::changes::MeaningChange;
use super::operator::{FormalParameter, FormalType, FunctionKind, OpSpec, Presence};
use super::specs::{LookupError, Specs};
use super::validate::Side;
use super::version::{OperatorVersion, canonical_domain};
use crate::types::ValueType;

/// Difference between a version of an operator and an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the parts of what changed")]
pub enum Change {
    /// The meaning changed, according to `changes` of op.yaml.
    Meaning { version: OperatorVersion, meaning: MeaningChange },
    /// The operator was deprecated or reinstated.
    Deprecated { now: bool },
    /// The version became experimental or stopped being so.
    Experimental { now: bool },
    /// A function body was added, removed, or is now built differently.
    Function { from: Option<FunctionKind>, to: Option<FunctionKind> },
    /// Shape inference was added or removed.
    ShapeInference { now: bool },
    /// An attribute was added.
    AttributeAdded { name: String, kind: AttributeType, required: bool, default: Option<DefaultValue> },
    /// An attribute was removed.
    AttributeRemoved { name: String },
    /// An attribute has another type.
    AttributeType { name: String, from: AttributeType, to: AttributeType },
    /// An attribute became required or optional.
    AttributeRequired { name: String, now: bool },
    /// An attribute has another default.
    AttributeDefault { name: String, from: Option<DefaultValue>, to: Option<DefaultValue> },
    /// An attribute that lists its strings allows more of them.
    ValuesAdded { attribute: String, values: Vec<String> },
    /// An attribute that lists its strings allows fewer of them.
    ValuesRemoved { attribute: String, values: Vec<String> },
    /// An input or output was added.
    ParameterAdded { side: Side, position: usize, name: String, kind: FormalType, presence: Presence },
    /// An input or output was removed.
    ParameterRemoved { side: Side, position: usize, name: String },
    /// An input or output was renamed.
    ParameterRenamed { side: Side, position: usize, from: String, to: String },
    /// An input or output moved to another position.
    ParameterMoved { side: Side, name: String, from: usize, to: usize },
    /// An input or output became required, optional or variadic.
    ParameterPresence { side: Side, name: String, from: Presence, to: Presence },
    /// An input or output has another type parameter.
    ParameterType { side: Side, name: String, from: FormalType, to: FormalType },
    /// A type parameter was renamed.
    TypeParameterRenamed { from: String, to: String },
    /// A type parameter was added.
    TypeParameterAdded { name: String, types: Vec<ValueType> },
    /// A type parameter was removed.
    TypeParameterRemoved { name: String },
    /// A type parameter allows more types.
    TypesAdded { parameter: String, types: Vec<ValueType> },
    /// A type parameter allows fewer types.
    TypesRemoved { parameter: String, types: Vec<ValueType> },
}

/// Differences between a version of an operator and an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionDiff {
    /// The earlier version.
    pub from: OperatorVersion,
    /// The later version.
    pub to: OperatorVersion,
    /// The changes; empty if the versions are the same.
    pub changes: Vec<Change>,
}

/// Differences between two opsets of a domain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpsetDiff {
    /// The domain in its canonical spelling.
    pub domain: String,
    /// The earlier opset.
    pub from: u32,
    /// The later opset.
    pub to: u32,
    /// The operators that are new.
    pub added: Vec<OperatorVersion>,
    /// The operators that changed, by name.
    pub operators: Vec<VersionDiff>,
}

/// Error of a comparison.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum DiffError {
    /// One of the versions does not exist or cannot be read.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The versions are given in the wrong order.
    #[error("{from} is newer than {to}; give the earlier one first")]
    Backwards {
        /// The version or opset given first.
        from: String,
        /// The version or opset given second.
        to: String,
    },
}

/// Compares the versions of an operator at two opsets.
pub fn versions(specs: &Specs, domain: &str, name: &str, from: u32, to: u32) -> Result<VersionDiff, DiffError> {
    let (before, after) = (specs.find(domain, name, from)?, specs.find(domain, name, to)?);
    if before.version.since > after.version.since {
        let (from, to) = (before.version.to_string(), after.version.to_string());
        return Err(DiffError::Backwards { from, to });
    }
    version_diff(specs, before, after)
}

/// Compares every operator of a domain between two opsets.
pub fn opsets(specs: &Specs, domain: &str, from: u32, to: u32) -> Result<OpsetDiff, DiffError> {
    let domain = canonical_domain(domain);
    if from > to {
        return Err(DiffError::Backwards { from: format!("opset {from}"), to: format!("opset {to}") });
    }
    let mut diff = OpsetDiff { domain: domain.to_owned(), from, to, added: Vec::new(), operators: Vec::new() };
    for name in specs.operators(domain) {
        let after = match specs.find(domain, name, to) {
            Err(LookupError::NotYet { .. }) => continue,
            found => found?,
        };
        match specs.find(domain, name, from) {
            Err(LookupError::NotYet { .. }) => diff.added.push(after.version.clone()),
            found => {
                let before = found?;
                if before.version != after.version {
                    diff.operators.push(version_diff(specs, before, after)?);
                }
            }
        }
    }
    Ok(diff)
}

fn version_diff(specs: &Specs, before: &OpSpec, after: &OpSpec) -> Result<VersionDiff, DiffError> {
    let (from, to) = (before.version.clone(), after.version.clone());
    let mut changes = Vec::new();
    for since in specs.versions(&to.domain, &to.name).filter(|since| from.since < *since && *since <= to.since) {
        let version = OperatorVersion { since, ..to.clone() };
        let spec = specs.get(&version)?;
        let meanings = spec.changes.iter().cloned();
        changes.extend(meanings.map(|meaning| Change::Meaning { version: version.clone(), meaning }));
    }
    changes.extend(compare(before, after));
    Ok(VersionDiff { from, to, changes })
}

impl OpsetDiff {
    /// Keeps the changes and the added operators that mention `pattern`.
    #[must_use]
    pub fn grep(mut self, pattern: &str) -> OpsetDiff {
        self.added.retain(|version| version.to_string().contains(pattern));
        for operator in &mut self.operators {
            operator.changes.retain(|change| change.mentions(pattern));
        }
        self.operators.retain(|operator| !operator.changes.is_empty());
        self
    }

    /// The number of type parameters affected by the changes.
    pub fn type_parameters(&self) -> usize {
        self.operators.iter().map(VersionDiff::type_parameters).sum()
    }
}

impl VersionDiff {
    /// The number of type parameters affected by the changes.
    pub fn type_parameters(&self) -> usize {
        let names: std::collections::BTreeSet<&str> = self.changes.iter().filter_map(Change::type_parameter).collect();
        names.len()
    }
}

impl Change {
    /// The affected type parameter, by its name in the later version.
    pub fn type_parameter(&self) -> Option<&str> {
        match self {
            Change::TypeParameterRenamed { to: name, .. }
            | Change::TypeParameterAdded { name, .. }
            | Change::TypeParameterRemoved { name }
            | Change::TypesAdded { parameter: name, .. }
            | Change::TypesRemoved { parameter: name, .. } => Some(name),
            _ => None,
        }
    }

    /// True if the change, or a type in it, contains this text.
    pub fn mentions(&self, pattern: &str) -> bool {
        let types = match self {
            Change::TypeParameterAdded { types, .. }
            | Change::TypesAdded { types, .. }
            | Change::TypesRemoved { types, .. } => types.as_slice(),
            _ => &[],
        };
        self.to_string().contains(pattern) || types.iter().any(|value_type| value_type.to_string().contains(pattern))
    }
}

/// Compares two signatures, that is, everything but `changes`.
pub fn compare(before: &OpSpec, after: &OpSpec) -> Vec<Change> {
    let mut changes = Vec::new();
    if before.deprecated != after.deprecated {
        changes.push(Change::Deprecated { now: after.deprecated });
    }
    if before.experimental != after.experimental {
        changes.push(Change::Experimental { now: after.experimental });
    }
    if before.function != after.function {
        changes.push(Change::Function { from: before.function, to: after.function });
    }
    if before.shape_inference != after.shape_inference {
        changes.push(Change::ShapeInference { now: after.shape_inference });
    }
    compare_attributes(before, after, &mut changes);
    let inputs = pair_formals(&before.inputs, &after.inputs);
    let outputs = pair_formals(&before.outputs, &after.outputs);
    let type_parameters = pair_type_parameters(before, after, inputs.iter().chain(&outputs));
    compare_formals(Side::Input, &inputs, &type_parameters, &mut changes);
    compare_formals(Side::Output, &outputs, &type_parameters, &mut changes);
    compare_types(before, after, &type_parameters, &mut changes);
    changes
}

fn compare_attributes(before: &OpSpec, after: &OpSpec, changes: &mut Vec<Change>) {
    for name in before.attributes.keys().filter(|name| !after.attributes.contains_key(*name)) {
        changes.push(Change::AttributeRemoved { name: name.clone() });
    }
    for (name, attribute) in &after.attributes {
        match before.attributes.get(name) {
            Some(earlier) => {
                compare_attribute(name, earlier, attribute, changes);
                compare_values(name, before.facts.values(name), after.facts.values(name), changes);
            }
            None => changes.push(Change::AttributeAdded {
                name: name.clone(),
                kind: attribute.kind,
                required: attribute.required,
                default: attribute.default.clone(),
            }),
        }
    }
}

fn compare_attribute(name: &str, before: &AttributeSpec, after: &AttributeSpec, changes: &mut Vec<Change>) {
    let name = || name.to_owned();
    if before.kind != after.kind {
        changes.push(Change::AttributeType { name: name(), from: before.kind, to: after.kind });
    }
    if before.required != after.required {
        changes.push(Change::AttributeRequired { name: name(), now: after.required });
    }
    if before.default != after.default {
        let (from, to) = (before.default.clone(), after.default.clone());
        changes.push(Change::AttributeDefault { name: name(), from, to });
    }
}

/// Compares the strings that an attribute allows. A list without strings allows any, so it adds and removes none.
fn compare_values(attribute: &str, before: &[String], after: &[String], changes: &mut Vec<Change>) {
    if before.is_empty() || after.is_empty() {
        return;
    }
    let only_in = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|value| !those.contains(value)).cloned().collect()
    };
    let (added, removed) = (only_in(after, before), only_in(before, after));
    if !added.is_empty() {
        changes.push(Change::ValuesAdded { attribute: attribute.to_owned(), values: added });
    }
    if !removed.is_empty() {
        changes.push(Change::ValuesRemoved { attribute: attribute.to_owned(), values: removed });
    }
}

/// Formal parameter with its positions in the earlier and the later version.
struct Pair<'a> {
    before: Option<(usize, &'a FormalParameter)>,
    after: Option<(usize, &'a FormalParameter)>,
}

/// Pairs parameters of the same name, then the others by position; removed ones come last.
fn pair_formals<'a>(before: &'a [FormalParameter], after: &'a [FormalParameter]) -> Vec<Pair<'a>> {
    let is_named = |formals: &[FormalParameter], name: &str| formals.iter().any(|formal| formal.name == name);
    let mut pairs = Vec::new();
    for (position, formal) in after.iter().enumerate() {
        let same_name = before.iter().enumerate().find(|(_, earlier)| earlier.name == formal.name);
        let same_place =
            || before.get(position).filter(|earlier| !is_named(after, &earlier.name)).map(|f| (position, f));
        pairs.push(Pair { before: same_name.or_else(same_place), after: Some((position, formal)) });
    }
    let is_paired = |place: usize| pairs.iter().any(|pair| pair.before.is_some_and(|(other, _)| other == place));
    let removed: Vec<_> = before.iter().enumerate().filter(|(position, _)| !is_paired(*position)).collect();
    pairs.extend(removed.into_iter().map(|earlier| Pair { before: Some(earlier), after: None }));
    pairs
}

/// Pairs type parameters that govern the same formal parameter, unchanged names first; then by name alone.
fn pair_type_parameters<'a>(
    before: &'a OpSpec,
    after: &'a OpSpec,
    formals: impl Iterator<Item = &'a Pair<'a>>,
) -> BTreeMap<&'a str, &'a str> {
    let uses: Vec<(&str, &str)> = formals.filter_map(type_parameters_of).collect();
    let same_name = uses.iter().filter(|(earlier, later)| earlier == later);
    let other_name = uses.iter().filter(|(earlier, later)| earlier != later);
    let unused: Vec<(&str, &str)> = before
        .types
        .keys()
        .filter(|name| after.types.contains_key(*name))
        .map(|name| (name.as_str(), name.as_str()))
        .collect();
    let mut pairs = BTreeMap::new();
    for &(earlier, later) in same_name.chain(other_name).chain(&unused) {
        if !pairs.contains_key(earlier) && !pairs.values().any(|taken| *taken == later) {
            pairs.insert(earlier, later);
        }
    }
    pairs
}

fn type_parameters_of<'a>(pair: &Pair<'a>) -> Option<(&'a str, &'a str)> {
    match (&pair.before?.1.kind, &pair.after?.1.kind) {
        (FormalType::Parameter(earlier), FormalType::Parameter(later)) => Some((earlier, later)),
        _ => None,
    }
}

fn compare_formals(side: Side, pairs: &[Pair], renamed: &BTreeMap<&str, &str>, changes: &mut Vec<Change>) {
    for pair in pairs {
        match (pair.before, pair.after) {
            (Some(before), Some(after)) => changes.extend(compare_formal(side, before, after, renamed)),
            (Some((position, formal)), None) => {
                changes.push(Change::ParameterRemoved { side, position, name: formal.name.clone() });
            }
            (None, Some((position, formal))) => {
                let (name, kind) = (formal.name.clone(), formal.kind.clone());
                changes.push(Change::ParameterAdded { side, position, name, kind, presence: formal.presence });
            }
            (None, None) => {}
        }
    }
}

fn compare_formal(
    side: Side,
    (place, before): (usize, &FormalParameter),
    (position, after): (usize, &FormalParameter),
    renamed: &BTreeMap<&str, &str>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let name = || after.name.clone();
    if before.name != after.name {
        changes.push(Change::ParameterRenamed { side, position, from: before.name.clone(), to: name() });
    }
    if place != position {
        changes.push(Change::ParameterMoved { side, name: name(), from: place, to: position });
    }
    if before.presence != after.presence {
        changes.push(Change::ParameterPresence { side, name: name(), from: before.presence, to: after.presence });
    }
    let unchanged = match (&before.kind, &after.kind) {
        (FormalType::Parameter(earlier), FormalType::Parameter(later)) => {
            renamed.get(earlier.as_str()) == Some(&later.as_str())
        }
        (earlier, later) => earlier == later,
    };
    if !unchanged {
        changes.push(Change::ParameterType { side, name: name(), from: before.kind.clone(), to: after.kind.clone() });
    }
    changes
}

fn compare_types(before: &OpSpec, after: &OpSpec, pairs: &BTreeMap<&str, &str>, changes: &mut Vec<Change>) {
    for name in before.types.keys().filter(|name| !pairs.contains_key(name.as_str())) {
        changes.push(Change::TypeParameterRemoved { name: name.clone() });
    }
    for (name, types) in &after.types {
        let earlier = pairs.iter().find(|(_, later)| **later == name).map(|(earlier, _)| *earlier);
        let Some(earlier) = earlier else {
            changes.push(Change::TypeParameterAdded { name: name.clone(), types: types.clone() });
            continue;
        };
        if earlier != name {
            changes.push(Change::TypeParameterRenamed { from: earlier.to_owned(), to: name.clone() });
        }
        let earlier = before.types.get(earlier).map_or(&[][..], Vec::as_slice);
        let only_in = |these: &[ValueType], those: &[ValueType]| -> Vec<ValueType> {
            these.iter().filter(|value_type| !those.contains(value_type)).cloned().collect()
        };
        let (added, removed) = (only_in(types, earlier), only_in(earlier, types));
        if !added.is_empty() {
            changes.push(Change::TypesAdded { parameter: name.clone(), types: added });
        }
        if !removed.is_empty() {
            changes.push(Change::TypesRemoved { parameter: name.clone(), types: removed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(name: &str, from: u32, to: u32) -> Vec<String> {
        let diff = versions(Specs::embedded(), "", name, from, to).unwrap();
        assert_eq!((diff.from.since, diff.to.since), (from, to));
        diff.changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn opset_13_adds_bfloat16_and_nothing_else() {
        for (name, from) in [("Sum", 8), ("Size", 1), ("Shape", 1), ("Identity", 1)] {
            assert_eq!(diff(name, from, 13), ["tensor(bfloat16) added to T"], "{name}");
        }
    }

    #[test]
    fn sum_6_drops_an_attribute_and_gains_shape_inference() {
        assert_eq!(diff("Sum", 1, 6), ["shape inference added", "attribute consumed_inputs removed"]);
    }

    #[test]
    fn sum_8_broadcasts() {
        assert_eq!(diff("Sum", 6, 8), ["Sum-8: The inputs broadcast to each other. Before, all had one shape."]);
    }

    #[test]
    fn shape_15_gains_start_and_end() {
        let added = ["attribute end added (int, no default)", "attribute start added (int, default 0)"];
        assert_eq!(diff("Shape", 13, 15)[1..], added);
        assert!(diff("Shape", 13, 15)[0].starts_with("Shape-15: "));
    }

    #[test]
    fn later_shapes_gain_types() {
        let float8 = "tensor(float8e4m3fn|float8e4m3fnuz|float8e5m2|float8e5m2fnuz) added to T";
        assert_eq!(diff("Shape", 15, 19), [float8]);
        assert_eq!(diff("Shape", 19, 21), ["tensor(int4), tensor(uint4) added to T"]);
        assert_eq!(diff("Shape", 21, 23), ["tensor(float4e2m1) added to T"]);
        assert_eq!(diff("Shape", 23, 24), ["tensor(float8e8m0) added to T"]);
        assert_eq!(diff("Shape", 24, 25), ["tensor(int2), tensor(uint2) added to T"]);
    }

    #[test]
    fn identity_14_takes_sequences_and_identity_16_optionals() {
        let elements =
            "bool|complex128|complex64|double|float|float16|int16|int32|int64|int8|string|uint16|uint32|uint64|uint8";
        let sequences = format!("seq(tensor({elements})) added to V");
        assert_eq!(diff("Identity", 13, 14), ["type parameter T renamed to V".to_owned(), sequences]);
        let optionals = format!("optional(seq(tensor({elements}))), optional(tensor({elements})) added to V");
        assert_eq!(diff("Identity", 14, 16), [optionals]);
    }

    #[test]
    fn opset_13_adds_bfloat16_to_75_type_parameters_of_74_operators() {
        let diff = opsets(Specs::embedded(), "", 12, 13).unwrap().grep("bfloat16");
        assert_eq!((diff.type_parameters(), diff.operators.len(), diff.added.len()), (75, 74, 0));
    }

    #[test]
    fn a_moved_attribute_is_removed_here_and_added_there() {
        let changes = diff("Squeeze", 11, 13);
        assert!(changes.contains(&"attribute axes removed".to_owned()), "{changes:?}");
        assert!(changes.contains(&"input axes added at 1 (tensor(int64), optional)".to_owned()), "{changes:?}");
    }

    #[test]
    fn a_split_type_parameter_is_one_added() {
        let changes = diff("Pow", 7, 12);
        assert!(changes.contains(&"input Y has type T1 instead of T".to_owned()), "{changes:?}");
        assert!(changes.iter().any(|change| change.starts_with("type parameter T1 added: ")), "{changes:?}");
    }

    #[test]
    fn strings_of_an_attribute_are_added_and_removed() {
        let mode = "attribute coordinate_transformation_mode";
        assert!(diff("Resize", 10, 11).contains(&"attribute mode allows cubic".to_owned()));
        assert!(diff("Resize", 11, 13).contains(&format!("{mode} no longer allows tf_half_pixel_for_nn")));
        assert_eq!(diff("Resize", 18, 19)[1..], [format!("{mode} allows half_pixel_symmetric")]);
        let grid = diff("GridSample", 16, 20);
        assert!(grid.contains(&"attribute mode allows linear, cubic".to_owned()), "{grid:?}");
        assert!(grid.contains(&"attribute mode no longer allows bilinear, bicubic".to_owned()), "{grid:?}");
    }

    #[test]
    fn meanings_are_collected_along_the_way() {
        assert!(diff("Sum", 1, 13).iter().any(|change| change.starts_with("Sum-8: ")));
    }

    #[test]
    fn the_earlier_version_comes_first() {
        let error = versions(Specs::embedded(), "", "Sum", 13, 8).unwrap_err().to_string();
        assert_eq!(error, "Sum-13 is newer than Sum-8; give the earlier one first");
    }
}
