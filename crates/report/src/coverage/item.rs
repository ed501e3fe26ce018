//! Coverage items of an operator version, derived from its signature.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;

/// Kind of coverage item: one line of the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the title of each says what it is")]
pub enum CoverageKind {
    Executed,
    LastOpset,
    TypeCell,
    AttributeLeftOut,
    AttributeDefault,
    AttributeOther,
    Enumerated,
    InputGiven,
    InputLeftOut,
    InputEmptyName,
    InputCount,
    OutputGiven,
    OutputLeftOut,
    OutputEmptyName,
    OutputCount,
    NotANumber,
    PositiveInfinity,
    NegativeInfinity,
    NegativeZero,
    Subnormal,
    Overflow,
    Smallest,
    Largest,
    Empty,
    RankZero,
    ConstraintKept,
    ConstraintBroken,
    Refusal,
}

impl CoverageKind {
    /// Every kind, in the order of the totals.
    pub const ALL: [CoverageKind; 28] = [
        CoverageKind::Executed,
        CoverageKind::LastOpset,
        CoverageKind::TypeCell,
        CoverageKind::AttributeLeftOut,
        CoverageKind::AttributeDefault,
        CoverageKind::AttributeOther,
        CoverageKind::Enumerated,
        CoverageKind::InputGiven,
        CoverageKind::InputLeftOut,
        CoverageKind::InputEmptyName,
        CoverageKind::InputCount,
        CoverageKind::OutputGiven,
        CoverageKind::OutputLeftOut,
        CoverageKind::OutputEmptyName,
        CoverageKind::OutputCount,
        CoverageKind::NotANumber,
        CoverageKind::PositiveInfinity,
        CoverageKind::NegativeInfinity,
        CoverageKind::NegativeZero,
        CoverageKind::Subnormal,
        CoverageKind::Overflow,
        CoverageKind::Smallest,
        CoverageKind::Largest,
        CoverageKind::Empty,
        CoverageKind::RankZero,
        CoverageKind::ConstraintKept,
        CoverageKind::ConstraintBroken,
        CoverageKind::Refusal,
    ];

    /// Returns the title in the totals.
    pub const fn title(self) -> &'static str {
        match self {
            CoverageKind::Executed => "operator versions that a case runs",
            CoverageKind::LastOpset => "operator versions at the last opset of their range",
            CoverageKind::TypeCell => "type cells",
            CoverageKind::AttributeLeftOut => "attributes omitted",
            CoverageKind::AttributeDefault => "attributes at their default, written out",
            CoverageKind::AttributeOther => "attributes at another value",
            CoverageKind::Enumerated => "values of enumerated attributes",
            CoverageKind::InputGiven => "optional inputs present",
            CoverageKind::InputLeftOut => "optional inputs omitted",
            CoverageKind::InputEmptyName => "optional inputs omitted by an empty name",
            CoverageKind::InputCount => "counts of variadic inputs (1, 2, 3 and more)",
            CoverageKind::OutputGiven => "optional outputs requested",
            CoverageKind::OutputLeftOut => "optional outputs omitted",
            CoverageKind::OutputEmptyName => "optional outputs omitted by an empty name",
            CoverageKind::OutputCount => "counts of variadic outputs (1, 2, 3 and more)",
            CoverageKind::NotANumber => "float operators: NaN",
            CoverageKind::PositiveInfinity => "float operators: infinity",
            CoverageKind::NegativeInfinity => "float operators: negative infinity",
            CoverageKind::NegativeZero => "float operators: -0.0",
            CoverageKind::Subnormal => "float operators: a subnormal number",
            CoverageKind::Overflow => "float operators: finite inputs, infinite output",
            CoverageKind::Smallest => "integer operators: the smallest integer",
            CoverageKind::Largest => "integer operators: the largest integer",
            CoverageKind::Empty => "first inputs that are empty",
            CoverageKind::RankZero => "first inputs of rank 0",
            CoverageKind::ConstraintKept => "constraints that a case satisfies",
            CoverageKind::ConstraintBroken => "constraints with refusals that a case violates",
            CoverageKind::Refusal => "refusals that follow from signatures",
        }
    }

    /// Returns the group in the list of missing items.
    pub const fn group(self) -> &'static str {
        match self {
            CoverageKind::Executed | CoverageKind::LastOpset => "runs",
            CoverageKind::TypeCell => "types",
            CoverageKind::AttributeLeftOut
            | CoverageKind::AttributeDefault
            | CoverageKind::AttributeOther
            | CoverageKind::Enumerated => "attributes",
            CoverageKind::InputGiven
            | CoverageKind::InputLeftOut
            | CoverageKind::InputEmptyName
            | CoverageKind::InputCount => "inputs",
            CoverageKind::OutputGiven
            | CoverageKind::OutputLeftOut
            | CoverageKind::OutputEmptyName
            | CoverageKind::OutputCount => "outputs",
            CoverageKind::NotANumber
            | CoverageKind::PositiveInfinity
            | CoverageKind::NegativeInfinity
            | CoverageKind::NegativeZero
            | CoverageKind::Subnormal
            | CoverageKind::Overflow
            | CoverageKind::Smallest
            | CoverageKind::Largest => "values",
            CoverageKind::Empty | CoverageKind::RankZero => "shapes",
            CoverageKind::ConstraintKept | CoverageKind::ConstraintBroken => "constraints",
            CoverageKind::Refusal => "refusals",
        }
    }
}

/// A property of an operator version that a case can exercise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoverageItem {
    /// The kind.
    pub kind: CoverageKind,
    /// Name of the item; empty if the version has only one of the kind.
    pub name: String,
}

impl CoverageItem {
    /// Creates an item of a kind that a version has once.
    pub fn new(kind: CoverageKind) -> CoverageItem {
        CoverageItem { kind, name: String::new() }
    }

    /// Creates an item of a kind that a version has several times.
    pub fn named(kind: CoverageKind, name: impl Into<String>) -> CoverageItem {
        CoverageItem { kind, name: name.into() }
    }
}

/// Formats the name of an item without its group, as in exclusions and lists of missing items.
impl fmt::Display for CoverageItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.kind {
            CoverageKind::Executed => f.write_str("any"),
            CoverageKind::LastOpset => write!(f, "at opset {name}"),
            CoverageKind::TypeCell | CoverageKind::Enumerated | CoverageKind::Refusal => f.write_str(name),
            CoverageKind::ConstraintKept => write!(f, "{name} kept by a case"),
            CoverageKind::ConstraintBroken => write!(f, "{name} broken by a case"),
            CoverageKind::AttributeLeftOut | CoverageKind::InputLeftOut | CoverageKind::OutputLeftOut => {
                write!(f, "{name} left out")
            }
            CoverageKind::AttributeDefault => write!(f, "{name} at its default"),
            CoverageKind::AttributeOther => write!(f, "{name} at another value"),
            CoverageKind::InputGiven | CoverageKind::OutputGiven => write!(f, "{name} given"),
            CoverageKind::InputEmptyName | CoverageKind::OutputEmptyName => write!(f, "{name} as \"\""),
            CoverageKind::InputCount | CoverageKind::OutputCount => write!(f, "{name}"),
            CoverageKind::NotANumber => f.write_str("NaN"),
            CoverageKind::PositiveInfinity => f.write_str("inf"),
            CoverageKind::NegativeInfinity => f.write_str("-inf"),
            CoverageKind::NegativeZero => f.write_str("-0.0"),
            CoverageKind::Subnormal => f.write_str("subnormal"),
            CoverageKind::Overflow => f.write_str("overflow"),
            CoverageKind::Smallest => f.write_str("smallest integer"),
            CoverageKind::Largest => f.write_str("largest integer"),
            CoverageKind::Empty => f.write_str("empty"),
            CoverageKind::RankZero => f.write_str("rank 0"),
        }
    }
}

/// Returns the coverage items of a supported version that is current up to the opset `last`.
pub(super) fn items(spec: &OpSpec, last: u32) -> BTreeSet<CoverageItem> {
    let mut items = BTreeSet::from([
        CoverageItem::new(CoverageKind::Executed),
        CoverageItem::named(CoverageKind::LastOpset, last.to_string()),
    ]);
    for (parameter, types) in &spec.types {
        items.extend(
            types
                .iter()
                .map(|value_type| CoverageItem::named(CoverageKind::TypeCell, format!("{parameter}={value_type}"))),
        );
    }
    attributes(spec, &mut items);
    let sides = [
        (
            &spec.inputs,
            [
                CoverageKind::InputGiven,
                CoverageKind::InputLeftOut,
                CoverageKind::InputEmptyName,
                CoverageKind::InputCount,
            ],
        ),
        (
            &spec.outputs,
            [
                CoverageKind::OutputGiven,
                CoverageKind::OutputLeftOut,
                CoverageKind::OutputEmptyName,
                CoverageKind::OutputCount,
            ],
        ),
    ];
    for (formals, kinds) in sides {
        for (at, formal) in formals.iter().enumerate() {
            let is_first_output = at == 0 && kinds[0] == CoverageKind::OutputGiven;
            let can_be_left_out = !is_first_output && formals[at + 1..].iter().all(can_be_absent);
            items.extend(presence(formal, kinds, is_first_output, can_be_left_out));
        }
    }
    values(spec, &mut items);
    refusals(spec, &mut items);
    items
}

fn attributes(spec: &OpSpec, items: &mut BTreeSet<CoverageItem>) {
    for (name, attribute) in &spec.attributes {
        items.insert(CoverageItem::named(CoverageKind::AttributeOther, name));
        if !attribute.required {
            items.insert(CoverageItem::named(CoverageKind::AttributeLeftOut, name));
        }
        if attribute.default.is_some() {
            items.insert(CoverageItem::named(CoverageKind::AttributeDefault, name));
        }
        if matches!(attribute.kind, AttributeType::String | AttributeType::Strings) {
            items.extend(
                spec.facts
                    .values(name)
                    .iter()
                    .map(|value| CoverageItem::named(CoverageKind::Enumerated, format!("{name}={value}"))),
            );
        }
    }
}

fn can_be_absent(formal: &FormalParameter) -> bool {
    matches!(formal.presence, Presence::Optional | Presence::Variadic { min: 0, .. })
}

/// Returns the items of an optional or variadic parameter. A parameter can be left out only together with all that follow it. The
/// first output cannot be left out, since a node has at least one output.
fn presence(
    formal: &FormalParameter,
    kinds: [CoverageKind; 4],
    is_first_output: bool,
    can_be_left_out: bool,
) -> Vec<CoverageItem> {
    let [given, left_out, empty_name, count] = kinds;
    let name = &formal.name;
    match formal.presence {
        Presence::Single => Vec::new(),
        Presence::Optional => {
            let kinds = [Some(given), Some(empty_name), can_be_left_out.then_some(left_out)];
            kinds.into_iter().flatten().map(|kind| CoverageItem::named(kind, name)).collect()
        }
        Presence::Variadic { min, .. } => {
            let least = if is_first_output { min.max(1) } else { min };
            (least..=3.max(least)).map(|number| CoverageItem::named(count, counted(name, number))).collect()
        }
    }
}

/// Formats the number of arguments of a variadic parameter; 3 includes all larger numbers.
pub(super) fn counted(name: &str, number: usize) -> String {
    if number < 3 { format!("{name} {number} times") } else { format!("{name} 3 times or more") }
}

fn values(spec: &OpSpec, items: &mut BTreeSet<CoverageItem>) {
    if spec.inputs.iter().any(|formal| elements(spec, formal).any(has_infinity)) {
        let kinds = [
            CoverageKind::NotANumber,
            CoverageKind::PositiveInfinity,
            CoverageKind::NegativeInfinity,
            CoverageKind::NegativeZero,
            CoverageKind::Subnormal,
        ];
        items.extend(kinds.map(CoverageItem::new));
        if spec.outputs.iter().any(|formal| elements(spec, formal).any(has_infinity)) {
            items.insert(CoverageItem::new(CoverageKind::Overflow));
        }
    }
    if spec.inputs.iter().any(|formal| takes_integers_as_data(spec, formal)) {
        items.extend([CoverageKind::Smallest, CoverageKind::Largest].map(CoverageItem::new));
    }
    if spec.inputs.first().is_some_and(|formal| elements(spec, formal).next().is_some()) {
        items.extend([CoverageKind::Empty, CoverageKind::RankZero].map(CoverageItem::new));
    }
}

/// Returns the element types of the tensors that a parameter accepts.
pub(super) fn elements<'a>(spec: &'a OpSpec, formal: &'a FormalParameter) -> impl Iterator<Item = ElementType> + 'a {
    spec.allowed(&formal.kind).iter().filter_map(|value_type| match value_type {
        ValueType::Tensor(element) => Some(*element),
        _ => None,
    })
}

/// Returns true for IEEE 754 float types. Types of at most 8 bits have their own rules for large numbers.
fn has_infinity(element: ElementType) -> bool {
    let format = element.float_format().filter(|format| format.has_infinity());
    element.is_float() && element.bits() >= 16 && format.is_some()
}

/// Returns true if integers are data that the operator computes with or moves, not counts, indices or shapes, which only allow
/// `int32` or `int64`.
pub(super) fn takes_integers_as_data(spec: &OpSpec, formal: &FormalParameter) -> bool {
    let is_index = |element: ElementType| matches!(element, ElementType::Int32 | ElementType::Int64);
    elements(spec, formal).any(ElementType::is_integer) && elements(spec, formal).any(|element| !is_index(element))
}

/// Adds the refusals that follow from the signature, named as in case ids.
fn refusals(spec: &OpSpec, items: &mut BTreeSet<CoverageItem>) {
    let mut add = |name: String| items.insert(CoverageItem::named(CoverageKind::Refusal, name));
    for formal in &spec.inputs {
        if let FormalType::Parameter(parameter) = &formal.kind
            && (1..ElementType::ALL.len()).contains(&elements(spec, formal).count())
        {
            add(format!("type of {parameter}"));
        }
        if formal.presence == Presence::Single {
            add(format!("missing={}", formal.name));
        }
    }
    match spec.inputs.last() {
        Some(formal) if formal.is_heterogeneous() => {}
        Some(formal) if formal.is_variadic() => {
            if spec.allowed(&formal.kind).len() > 1 {
                add(format!("mixed={}", formal.name));
            }
        }
        _ => drop(add("surplus-input".to_owned())),
    }
    add("unknown attribute".to_owned());
    for (name, attribute) in &spec.attributes {
        if attribute.required {
            add(format!("missing-attribute={name}"));
        }
        add(format!("attribute-type={name}"));
    }
}

/// Returns the item of a refusal by the end of its id; `None` if it does not follow from the signature.
pub(super) fn refused(spec: &OpSpec, name: &str) -> Option<CoverageItem> {
    let (rule, of) = name.split_once('=').unwrap_or((name, ""));
    let item = match rule {
        "attribute" => "unknown attribute".to_owned(),
        "missing" | "mixed" | "surplus-input" | "missing-attribute" | "attribute-type" => name.to_owned(),
        parameter if !of.is_empty() && spec.types.contains_key(parameter) => format!("type of {parameter}"),
        _ => return None,
    };
    Some(CoverageItem::named(CoverageKind::Refusal, item))
}
