//! What there is to reach of an operator version, as its signature says.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{AttributeType, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;

use crate::report::coverage::enums::Enums;

/// A kind of goal: a line of the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the title of each says what it is")]
pub enum Aspect {
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
    Constraint,
    Refusal,
}

impl Aspect {
    /// Every aspect, in the order of the totals.
    pub const ALL: [Aspect; 27] = [
        Aspect::Executed,
        Aspect::LastOpset,
        Aspect::TypeCell,
        Aspect::AttributeLeftOut,
        Aspect::AttributeDefault,
        Aspect::AttributeOther,
        Aspect::Enumerated,
        Aspect::InputGiven,
        Aspect::InputLeftOut,
        Aspect::InputEmptyName,
        Aspect::InputCount,
        Aspect::OutputGiven,
        Aspect::OutputLeftOut,
        Aspect::OutputEmptyName,
        Aspect::OutputCount,
        Aspect::NotANumber,
        Aspect::PositiveInfinity,
        Aspect::NegativeInfinity,
        Aspect::NegativeZero,
        Aspect::Subnormal,
        Aspect::Overflow,
        Aspect::Smallest,
        Aspect::Largest,
        Aspect::Empty,
        Aspect::RankZero,
        Aspect::Constraint,
        Aspect::Refusal,
    ];

    /// What the totals call it.
    pub const fn title(self) -> &'static str {
        match self {
            Aspect::Executed => "operator versions that a case runs",
            Aspect::LastOpset => "operator versions at the last opset of their range",
            Aspect::TypeCell => "type cells",
            Aspect::AttributeLeftOut => "attributes left out",
            Aspect::AttributeDefault => "attributes at their default, written out",
            Aspect::AttributeOther => "attributes at another value",
            Aspect::Enumerated => "values of enumerated attributes",
            Aspect::InputGiven => "optional inputs given",
            Aspect::InputLeftOut => "optional inputs left out",
            Aspect::InputEmptyName => "optional inputs left out by an empty name",
            Aspect::InputCount => "counts of variadic inputs (1, 2, 3 and more)",
            Aspect::OutputGiven => "optional outputs asked for",
            Aspect::OutputLeftOut => "optional outputs left out",
            Aspect::OutputEmptyName => "optional outputs left out by an empty name",
            Aspect::OutputCount => "counts of variadic outputs (1, 2, 3 and more)",
            Aspect::NotANumber => "float operators: NaN",
            Aspect::PositiveInfinity => "float operators: infinity",
            Aspect::NegativeInfinity => "float operators: negative infinity",
            Aspect::NegativeZero => "float operators: -0.0",
            Aspect::Subnormal => "float operators: a subnormal number",
            Aspect::Overflow => "float operators: finite inputs, infinite output",
            Aspect::Smallest => "integer operators: the smallest integer",
            Aspect::Largest => "integer operators: the largest integer",
            Aspect::Empty => "first inputs that are empty",
            Aspect::RankZero => "first inputs of rank 0",
            Aspect::Constraint => "constraints refused or tested",
            Aspect::Refusal => "refusals that follow from signatures",
        }
    }

    /// What is missing is listed by these.
    pub const fn group(self) -> &'static str {
        match self {
            Aspect::Executed | Aspect::LastOpset => "runs",
            Aspect::TypeCell => "types",
            Aspect::AttributeLeftOut | Aspect::AttributeDefault | Aspect::AttributeOther | Aspect::Enumerated => {
                "attributes"
            }
            Aspect::InputGiven | Aspect::InputLeftOut | Aspect::InputEmptyName | Aspect::InputCount => "inputs",
            Aspect::OutputGiven | Aspect::OutputLeftOut | Aspect::OutputEmptyName | Aspect::OutputCount => "outputs",
            Aspect::NotANumber
            | Aspect::PositiveInfinity
            | Aspect::NegativeInfinity
            | Aspect::NegativeZero
            | Aspect::Subnormal
            | Aspect::Overflow
            | Aspect::Smallest
            | Aspect::Largest => "values",
            Aspect::Empty | Aspect::RankZero => "shapes",
            Aspect::Constraint => "constraints",
            Aspect::Refusal => "refusals",
        }
    }
}

/// Something of an operator version that a case can reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Goal {
    /// The kind.
    pub aspect: Aspect,
    /// Of what; empty where the version has but one of the kind.
    pub of: String,
}

impl Goal {
    /// The goal of a kind that a version has one of.
    pub fn new(aspect: Aspect) -> Goal {
        Goal { aspect, of: String::new() }
    }

    /// The goal of a kind that a version has several of.
    pub fn of(aspect: Aspect, of: impl Into<String>) -> Goal {
        Goal { aspect, of: of.into() }
    }
}

/// How excuses and lists of what is missing name a goal, besides its group.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        match self.aspect {
            Aspect::Executed => f.write_str("any"),
            Aspect::LastOpset => write!(f, "at opset {of}"),
            Aspect::TypeCell | Aspect::Enumerated | Aspect::Constraint | Aspect::Refusal => f.write_str(of),
            Aspect::AttributeLeftOut | Aspect::InputLeftOut | Aspect::OutputLeftOut => write!(f, "{of} left out"),
            Aspect::AttributeDefault => write!(f, "{of} at its default"),
            Aspect::AttributeOther => write!(f, "{of} at another value"),
            Aspect::InputGiven | Aspect::OutputGiven => write!(f, "{of} given"),
            Aspect::InputEmptyName | Aspect::OutputEmptyName => write!(f, "{of} as \"\""),
            Aspect::InputCount | Aspect::OutputCount => write!(f, "{of}"),
            Aspect::NotANumber => f.write_str("NaN"),
            Aspect::PositiveInfinity => f.write_str("inf"),
            Aspect::NegativeInfinity => f.write_str("-inf"),
            Aspect::NegativeZero => f.write_str("-0.0"),
            Aspect::Subnormal => f.write_str("subnormal"),
            Aspect::Overflow => f.write_str("overflow"),
            Aspect::Smallest => f.write_str("smallest integer"),
            Aspect::Largest => f.write_str("largest integer"),
            Aspect::Empty => f.write_str("empty"),
            Aspect::RankZero => f.write_str("rank 0"),
        }
    }
}

/// What there is to reach of a version that is in use and means its operator up to the opset `last`.
pub(super) fn goals(spec: &OpSpec, last: u32, enums: &Enums) -> BTreeSet<Goal> {
    let mut goals = BTreeSet::from([Goal::new(Aspect::Executed), Goal::of(Aspect::LastOpset, last.to_string())]);
    for (parameter, types) in &spec.types {
        goals.extend(types.iter().map(|value_type| Goal::of(Aspect::TypeCell, format!("{parameter}={value_type}"))));
    }
    attributes(spec, enums, &mut goals);
    let sides = [
        (&spec.inputs, [Aspect::InputGiven, Aspect::InputLeftOut, Aspect::InputEmptyName, Aspect::InputCount]),
        (&spec.outputs, [Aspect::OutputGiven, Aspect::OutputLeftOut, Aspect::OutputEmptyName, Aspect::OutputCount]),
    ];
    for (formals, aspects) in sides {
        for (at, formal) in formals.iter().enumerate() {
            let is_first_output = at == 0 && aspects[0] == Aspect::OutputGiven;
            let can_be_left_out = !is_first_output && formals[at + 1..].iter().all(can_be_absent);
            presence(formal, aspects, is_first_output, can_be_left_out, &mut goals);
        }
    }
    values(spec, &mut goals);
    refusals(spec, &mut goals);
    goals
}

fn attributes(spec: &OpSpec, enums: &Enums, goals: &mut BTreeSet<Goal>) {
    for (name, attribute) in &spec.attributes {
        goals.insert(Goal::of(Aspect::AttributeOther, name));
        if !attribute.required {
            goals.insert(Goal::of(Aspect::AttributeLeftOut, name));
        }
        if attribute.default.is_some() {
            goals.insert(Goal::of(Aspect::AttributeDefault, name));
        }
        if matches!(attribute.kind, AttributeType::String | AttributeType::Strings) {
            let values = enums.values(&spec.version, name);
            goals.extend(values.iter().map(|value| Goal::of(Aspect::Enumerated, format!("{name}={value}"))));
        }
    }
}

fn can_be_absent(formal: &FormalParameter) -> bool {
    matches!(formal.presence, Presence::Optional | Presence::Variadic { min: 0, .. })
}

/// A parameter is left out together with all that follow it, where they can be, and but for the first output: a node has
/// one.
fn presence(
    formal: &FormalParameter,
    aspects: [Aspect; 4],
    is_first_output: bool,
    can_be_left_out: bool,
    goals: &mut BTreeSet<Goal>,
) {
    let [given, left_out, empty_name, count] = aspects;
    let name = &formal.name;
    match formal.presence {
        Presence::Single => {}
        Presence::Optional => {
            goals.insert(Goal::of(given, name));
            goals.insert(Goal::of(empty_name, name));
            if can_be_left_out {
                goals.insert(Goal::of(left_out, name));
            }
        }
        Presence::Variadic { min, .. } => {
            let least = if is_first_output { min.max(1) } else { min };
            goals.extend((least..=3.max(least)).map(|number| Goal::of(count, counted(name, number))));
        }
    }
}

/// How often a variadic parameter is given; three stand for more.
pub(super) fn counted(name: &str, number: usize) -> String {
    if number < 3 { format!("{name} {number} times") } else { format!("{name} 3 times or more") }
}

fn values(spec: &OpSpec, goals: &mut BTreeSet<Goal>) {
    if spec.inputs.iter().any(|formal| elements(spec, formal).any(has_infinity)) {
        let aspects = [
            Aspect::NotANumber,
            Aspect::PositiveInfinity,
            Aspect::NegativeInfinity,
            Aspect::NegativeZero,
            Aspect::Subnormal,
        ];
        goals.extend(aspects.map(Goal::new));
        if spec.outputs.iter().any(|formal| elements(spec, formal).any(has_infinity)) {
            goals.insert(Goal::new(Aspect::Overflow));
        }
    }
    if spec.inputs.iter().any(|formal| takes_integers_as_data(spec, formal)) {
        goals.extend([Aspect::Smallest, Aspect::Largest].map(Goal::new));
    }
    if spec.inputs.first().is_some_and(|formal| elements(spec, formal).next().is_some()) {
        goals.extend([Aspect::Empty, Aspect::RankZero].map(Goal::new));
    }
}

/// The element types of the tensors that a parameter takes.
pub(super) fn elements<'a>(spec: &'a OpSpec, formal: &'a FormalParameter) -> impl Iterator<Item = ElementType> + 'a {
    spec.allowed(&formal.kind).iter().filter_map(|value_type| match value_type {
        ValueType::Tensor(element) => Some(*element),
        _ => None,
    })
}

/// Whether a type is a float of IEEE 754's kind; what 8 bits and less make of large numbers is their own.
fn has_infinity(element: ElementType) -> bool {
    let format = element.float_format().filter(|format| format.has_infinity());
    element.is_float() && element.bits() >= 16 && format.is_some()
}

/// Whether integers are what the operator computes with, or moves, rather than counts, indices or shapes: those are of
/// `int32` or `int64` alone.
pub(super) fn takes_integers_as_data(spec: &OpSpec, formal: &FormalParameter) -> bool {
    let is_index = |element: ElementType| matches!(element, ElementType::Int32 | ElementType::Int64);
    elements(spec, formal).any(ElementType::is_integer) && elements(spec, formal).any(|element| !is_index(element))
}

/// What the signature alone excludes, as the ids of refusals name it.
fn refusals(spec: &OpSpec, goals: &mut BTreeSet<Goal>) {
    let mut add = |name: String| goals.insert(Goal::of(Aspect::Refusal, name));
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

/// The goal of a refusal by the end of its id; nothing where it does not follow from the signature.
pub(super) fn refused(spec: &OpSpec, name: &str) -> Option<Goal> {
    let (rule, of) = name.split_once('=').unwrap_or((name, ""));
    let goal = match rule {
        "attribute" => "unknown attribute".to_owned(),
        "missing" | "mixed" | "surplus-input" | "missing-attribute" | "attribute-type" => name.to_owned(),
        parameter if !of.is_empty() && spec.types.contains_key(parameter) => format!("type of {parameter}"),
        _ => return None,
    };
    Some(Goal::of(Aspect::Refusal, goal))
}
