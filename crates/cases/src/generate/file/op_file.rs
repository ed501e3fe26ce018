//! op.yaml: what we author for an operator, for all its versions.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::case::Level;
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::alternatives::{Label, OneOrEach};
use crate::generate::file::expression::Size;
use crate::generate::file::literal::Literal;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::output::OutputFile;
use crate::generate::file::since::Since;
use crate::generate::file::trap::TrapFile;
use crate::generate::file::type_list::TypeList;
use crate::generate::file::value_file::{InputFile, ValueFile};
use crate::generate::file::words::Words;

/// What we author for an operator, for all its versions: `specs/<domain>/<operator>/op.yaml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperatorFile {
    /// The operator's name, as the folder is called.
    pub op: String,
    /// One sentence, in our own words.
    pub summary: String,
    /// How exact the outputs must be, unless a case says otherwise.
    #[serde(default)]
    pub accuracy: AccuracyFile,
    /// What the operator does with numbers; so it is known what the fills of its cases must not have.
    #[serde(default)]
    pub computes: BTreeSet<Computation>,
    /// Parameters that a version spells otherwise: the newest name, and the older ones in turn.
    #[serde(default)]
    pub rename: Ordered<Vec<String>>,
    /// Type parameters that a version calls otherwise: the newest name, and the older ones in turn.
    #[serde(default)]
    pub rename_types: Ordered<Vec<String>>,
    /// Cases that precede all others: a version's first case runs at its last opset too, and what its signature excludes
    /// is tried on the first case that gives what is broken.
    #[serde(default)]
    pub first: Vec<String>,
    /// What cases share, by a name that they give.
    #[serde(default)]
    pub given: Ordered<GivenFile>,
    /// Where versions mean different things, with the cases that tell them from each other.
    #[serde(default)]
    pub traps: Vec<TrapFile>,
    /// What must run and is about no constraint: types, shapes, recipes.
    #[serde(default)]
    pub cases: Vec<CaseFile>,
    /// What must be refused and breaks no constraint, besides what the signature tells.
    #[serde(default)]
    pub refuse: Vec<RefusalFile>,
    /// What the operator demands or promises, by id, with the cases that show it and the refusals of what breaks it.
    #[serde(default)]
    pub constraints: Ordered<ConstraintFile>,
}

/// What an operator does with numbers. The tests in tests/promises and tests/suite hold its cases to what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Computation {
    /// It adds up products or elements: every partial sum of what fills make is exact, in any order.
    Sums,
    /// It rounds to integers or to another type: no value that a fill makes is a tie.
    Rounds,
    /// It rounds quotients of sums: none is beside a tie.
    RoundsSums,
    /// It searches for the largest or smallest: no two elements that a fill makes are equal, unless on purpose.
    Searches,
    /// It writes where indices say: none that fills make are equal.
    Scatters,
    /// It does nothing but add and multiply: in a required case no integer leaves its type.
    Arithmetic,
}

impl OperatorFile {
    /// The traps of the version that begins at this opset.
    pub fn traps_of(&self, since: u32) -> impl Iterator<Item = &TrapFile> {
        self.traps.iter().filter(move |trap| trap.covers(since))
    }
}

/// What an operator demands or promises: a sentence, or a sentence with its cases.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "SentenceOrParts"))]
pub struct ConstraintFile {
    /// The sentence.
    pub says: String,
    /// What shows it.
    pub cases: Vec<CaseFile>,
    /// What breaks it.
    pub refuse: Vec<RefusalFile>,
    /// The line of the file where it stands, counted from 1.
    pub line: Option<usize>,
}

/// A constraint with its cases.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ConstraintParts {
    /// What the operator demands or promises, in one sentence.
    says: String,
    /// The cases that show it.
    #[serde(default)]
    cases: Vec<CaseFile>,
    /// The refusals of what breaks it.
    #[serde(default)]
    refuse: Vec<RefusalFile>,
}

/// How a constraint is written.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is asked for")]
enum SentenceOrParts {
    /// In words alone.
    Sentence(String),
    /// With its cases.
    Parts(ConstraintParts),
}

impl<'de> Deserialize<'de> for ConstraintFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConstraintVisitor)
    }
}

/// Tells a sentence from a constraint with cases by its form, so that a mistake inside is shown where it stands.
struct ConstraintVisitor;

impl<'de> Visitor<'de> for ConstraintVisitor {
    type Value = ConstraintFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sentence, or {says: ..., cases: [...], refuse: [...]}")
    }

    fn visit_str<E: Error>(self, says: &str) -> Result<ConstraintFile, E> {
        Ok(ConstraintFile { says: says.to_owned(), ..ConstraintFile::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ConstraintFile, A::Error> {
        let ConstraintParts { says, cases, refuse } = ConstraintParts::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ConstraintFile { says, cases, refuse, line: None })
    }
}

/// What cases share: a part of a case, which stands before what each has itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GivenFile {
    /// Sizes by name.
    #[serde(default, rename = "let")]
    pub names: Ordered<Size>,
    /// Inputs by name.
    #[serde(default)]
    pub inputs: Ordered<InputFile>,
    /// Values around the node that only its subgraphs use.
    #[serde(default)]
    pub captured: Ordered<ValueFile>,
    /// Settings by parameter.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// Nodes in ONNX's text syntax.
    pub nodes: Option<String>,
    /// The types that the cases are for, by type parameter.
    #[serde(default)]
    pub only: Ordered<TypeList>,
    /// The types that the cases are not for, by type parameter.
    #[serde(default)]
    pub except: Ordered<TypeList>,
    /// Outputs derived by hand, by name.
    #[serde(default)]
    pub outputs: Ordered<OutputFile>,
    /// Other than the operator's.
    pub accuracy: Option<AccuracyFile>,
}

/// A case, or with alternatives several.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// The name, unique in the file.
    #[serde(default)]
    pub name: String,
    /// The recipes whose cases stand in this place, instead of one: nothing stands beside it.
    #[serde(default, rename = "use")]
    pub uses: Vec<String>,
    /// The recipe that the case comes from.
    #[serde(skip)]
    pub recipe: Option<String>,
    /// How large the values are.
    #[serde(default)]
    pub size: CaseSize,
    /// The first version it is for, or ranges of versions.
    pub since: Option<Since>,
    /// The last version it is for, by its since.
    pub until: Option<u32>,
    /// How binding the expectation is.
    #[serde(default)]
    pub level: Level,
    /// Whether the case is about special values: NaN, infinities, signed zeros, subnormals, overflow, ties, what is empty or of rank 0.
    #[serde(default)]
    pub edge: bool,
    /// The constraint that holds the case.
    #[serde(skip)]
    pub constraint: Option<String>,
    /// What the case shares with others, by the names under `given`.
    #[serde(default)]
    pub given: Words,
    /// Sizes by name, for shapes and fills.
    #[serde(default, rename = "let")]
    pub names: Ordered<Size>,
    /// The inputs by name; those left out are absent.
    #[serde(default)]
    pub inputs: Ordered<InputFile>,
    /// Nodes in ONNX's text syntax, one of the operator among them, instead of one node: inputs and outputs are then those
    /// of the graph, by names of their own, and each input has a `type`. `$T` stands for the type of a type parameter.
    pub nodes: Option<String>,
    /// The operator of the file, which must be among `nodes`.
    pub under_test: Option<String>,
    /// Values around the node that only its subgraphs use, by name.
    #[serde(default)]
    pub captured: Ordered<ValueFile>,
    /// Inputs of a second run of the same model, in place of the first one's. The model then names dimensions instead of
    /// giving their sizes.
    #[serde(default)]
    pub again: Ordered<InputFile>,
    /// Parameters that are attributes in some versions and inputs in others, or just attributes.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// Takes alternatives one from each list in turn, instead of every combination.
    #[serde(default)]
    pub zip: bool,
    /// Which combinations of types: `product` for every one.
    pub types: Option<TypesRule>,
    /// The types that the case is for, by type parameter.
    #[serde(default)]
    pub only: Ordered<TypeList>,
    /// The types that the case is not for, by type parameter.
    #[serde(default)]
    pub except: Ordered<TypeList>,
    /// A condition on the types, as in `bits(T1) == bits(T2)`, `T1 != T2` or `elem(S) == T`.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// Type parameters of outputs that something other than an input decides: `attribute to`, or `free` where a
    /// setting names the parameter as its type.
    #[serde(default)]
    pub bind: Ordered<String>,
    /// The outputs asked for, by name; the required ones and the first, unless told.
    pub request: Option<Vec<String>>,
    /// Outputs derived by hand, by name.
    #[serde(default)]
    pub outputs: Ordered<OutputFile>,
    /// Whether zeros must have the sign of the expected ones; only with `accuracy: exact`.
    #[serde(default)]
    pub zero_sign: bool,
    /// Other than the operator's.
    pub accuracy: Option<AccuracyFile>,
}

impl CaseFile {
    /// Whether the case may be for the version that begins at this opset.
    pub fn covers(&self, since: u32) -> bool {
        self.since.as_ref().is_none_or(|first| first.covers(since)) && self.until.is_none_or(|last| since <= last)
    }
}

impl CaseFile {
    /// The case with the inputs of its second run.
    pub(crate) fn second_run(&self) -> CaseFile {
        let mut second = self.clone();
        second.inputs.replace(&self.again);
        second
    }

    /// The control case with what a refusal writes in its place, and without what it omits.
    pub(crate) fn control_with_violation(&self, refusal: &RefusalFile) -> CaseFile {
        let mut case = self.clone();
        let is_omitted = |name: &str| refusal.without.iter().any(|omitted| omitted == name);
        case.inputs.replace(&refusal.inputs);
        case.set.replace(&refusal.set);
        case.inputs.0.retain(|(name, _)| !is_omitted(name));
        case.set.0.retain(|(name, _)| !is_omitted(name));
        case.bind.0.retain(|(_, how)| !how.strip_prefix("attribute ").is_some_and(is_omitted));
        case.request = refusal.request.clone().or(case.request);
        case
    }
}

/// How large the values of a case are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CaseSize {
    /// A few elements, which people can follow.
    #[default]
    Plain,
    /// More than fits a vector, a tile or 16 bits. The name has `large/` before it, so that filters can leave it out, and a
    /// row of types runs with one alternative alone.
    Large,
}

/// Which combinations of types become cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TypesRule {
    /// Every combination, instead of every type of each parameter once.
    Product,
}

/// The value of a parameter: written out, or with a type or a graph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "no setting is written so; it is a literal, {values: ..., type: ...}, {type: ...}, {graph: ...} or {attribute: ..., input: ...}"
)]
pub enum Setting {
    /// Written out.
    Literal(Literal),
    /// Differs between the versions in which it is an attribute and those in which it is an input.
    Moved(Moved),
    /// A subgraph in ONNX's text syntax, in which `$T` stands for the type of a type parameter.
    Graph(GraphFile),
    /// A tensor, or only a type.
    Typed(TypedFile),
}

/// A parameter that is an attribute in some versions and an input in others, and spelt differently.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// As an attribute.
    pub attribute: Literal,
    /// As an input.
    pub input: Literal,
}

/// A subgraph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GraphFile {
    /// The text.
    pub graph: String,
}

/// A tensor of a type, or only the type.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypedFile {
    /// A type parameter, or a type.
    pub r#type: Option<String>,
    /// The elements.
    pub values: Option<Literal>,
    /// What every element of the shape is.
    pub all: Option<Literal>,
    /// The shape, where the nesting of the elements does not give it.
    pub shape: Option<Vec<usize>>,
    /// Where the elements of a sparse tensor stand.
    pub sparse: Option<Literal>,
}

impl Label for Setting {
    fn label(&self) -> String {
        match self {
            Setting::Literal(literal) | Setting::Moved(Moved { attribute: literal, .. }) => literal.label(),
            Setting::Graph(_) => "graph".to_owned(),
            Setting::Typed(typed) => match (typed.values.as_ref().or(typed.all.as_ref()), &typed.r#type) {
                (Some(values), _) => values.label(),
                (None, Some(name)) => name.replace(['(', ')'], "_"),
                (None, None) => "typed".to_owned(),
            },
        }
    }
}

/// What must be refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RefusalFile {
    /// The name, unique among the file's refusals.
    pub name: String,
    /// The constraint that is broken, which holds the refusal.
    #[serde(skip)]
    pub constraint: Option<String>,
    /// How binding the refusal is.
    #[serde(default)]
    pub level: Level,
    /// The case that differs from this one in the violation alone, and runs.
    pub control: String,
    /// The first version it is for, or ranges of versions.
    pub since: Option<Since>,
    /// The last version it is for, by its since.
    pub until: Option<u32>,
    /// Inputs in place of the control's; each alternative is a refusal of its own.
    #[serde(default)]
    pub inputs: Ordered<InputFile>,
    /// Parameters in place of the control's.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// Inputs and attributes of the control that are left out.
    #[serde(default)]
    pub without: Vec<String>,
    /// The outputs asked for, in place of the control's.
    pub request: Option<Vec<String>>,
}

impl RefusalFile {
    /// Whether the refusal may be for the version that begins at this opset.
    pub fn covers(&self, since: u32) -> bool {
        self.since.as_ref().is_none_or(|first| first.covers(since)) && self.until.is_none_or(|last| since <= last)
    }
}

/// Reads an op.yaml, without putting in the cases of the recipes that it uses.
pub(crate) fn read_operator(path: &str, text: &str) -> Result<OperatorFile, Box<YamlError>> {
    let file: OperatorFile = yaml::read(path, text)?;
    if path.split('/').rev().nth(1).is_some_and(|folder| folder != file.op) {
        let line = text.lines().position(|line| line.starts_with("op:")).map_or(1, |at| at + 1);
        let message = format!("this folder is not the one of {}", file.op);
        let help = format!("correct the line, or move the file to the folder {}", file.op);
        return Err(Box::new(YamlError::new(path, text, (line, "op: ".len() + 1), message, Some(help))));
    }
    Ok(file)
}

/// An error that points at the case or refusal of this name.
pub(crate) fn at_case(path: &str, text: &str, name: &str, message: String, help: Option<String>) -> Box<YamlError> {
    Box::new(YamlError::new(path, text, places(text, name).next().unwrap_or((1, 1)), message, help))
}

/// Where the text says `name: NAME`: the lines and columns of NAME, counted from 1.
pub(crate) fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    text.lines().enumerate().filter_map(move |(line, content)| {
        let column = content.find("name: ")? + "name: ".len();
        let rest = content.get(column..)?;
        let written = rest.split([',', '}', '#']).next().unwrap_or(rest).trim().trim_matches(['"', '\'']);
        (written == name).then_some((line + 1, column + 1))
    })
}
