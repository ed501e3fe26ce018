//! op.yaml: the cases and rules of an operator, for all its versions.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::spec::{AllowedValues, Changes, Draws, NeutralInputs};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::case::{Level, TextLevel, TextRange};
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::alternatives::{Label, OneOrEach};
use crate::generate::file::expression::Size;
use crate::generate::file::literal::Literal;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::output::OutputFile;
use crate::generate::file::since::Since;
use crate::generate::file::type_list::TypeList;
use crate::generate::file::value_file::{InputFile, ValueFile};
use crate::generate::file::words::Words;
use crate::generate::file::yaml_text::YamlText;

/// The cases and rules of an operator, for all its versions: `specs/<domain>/<operator>/op.yaml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperatorFile {
    /// The operator's name, as the folder is called.
    pub op: String,
    /// One sentence, in our own words.
    pub summary: String,
    /// Remarks about all cases of the file.
    #[serde(default)]
    pub note: String,
    /// The outputs in terms of the inputs and attributes, as mathematics in plain text. It is the rule that the cases
    /// outside of `constraints` show.
    #[serde(default)]
    pub formula: String,
    /// The shapes of the outputs in terms of the inputs and attributes.
    #[serde(default)]
    pub shape: String,
    /// Accuracy of the outputs, unless a case has its own.
    #[serde(default)]
    pub accuracy: AccuracyFile,
    /// The arithmetic of the operator, which restricts the fills of its cases.
    #[serde(default)]
    pub computes: BTreeSet<Computation>,
    /// Nodes whose outputs are random.
    #[serde(default)]
    pub draws: Draws,
    /// Inputs that do not accept any value: shapes, axes, counts, positions, containers. The value of each is valid if any
    /// is.
    #[serde(default)]
    pub neutral: NeutralInputs,
    /// True if the sizes of some inputs follow from those of others by the arithmetic of windows.
    #[serde(default)]
    pub tied_sizes: bool,
    /// Values of each string attribute, by version if they change.
    #[serde(default)]
    pub values: AllowedValues,
    /// Parameters with another name in some version: the newest name, then the older ones in turn.
    #[serde(default)]
    pub rename: Ordered<Vec<String>>,
    /// Type parameters with another name in some version: the newest name, then the older ones in turn.
    #[serde(default)]
    pub rename_types: Ordered<Vec<String>>,
    /// Cases placed first. The first one also runs at the version's last opset. Each signature refusal has the first
    /// case that gives the broken part as its control.
    #[serde(default)]
    pub first: Vec<String>,
    /// Parts that cases share, by name.
    #[serde(default)]
    pub given: Ordered<GivenFile>,
    /// Changes of meaning by the version that has them, with the cases that show them. Signatures are compared by
    /// program.
    #[serde(default)]
    pub changes: Changes,
    /// Cases of the rule `formula`, with every type and shape: those that no other rule is about.
    #[serde(default)]
    pub cases: Vec<CaseFile>,
    /// Cases that must be refused and break no constraint, besides those from the signature.
    #[serde(default)]
    pub refuse: Vec<RefusalFile>,
    /// Demands and promises of the operator, by id, with the cases that show them and the refusals that break them.
    #[serde(default)]
    pub constraints: Ordered<ConstraintFile>,
}

/// Arithmetic of an operator. tests/suite checks that its cases respect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Computation {
    /// It adds products or elements: every partial sum of filled values must be exact, in any order.
    Sums,
    /// It rounds to integers or to another type: no filled value may be a tie.
    Rounds,
    /// It rounds quotients of sums: no quotient may be near a tie.
    RoundsSums,
    /// It searches for the largest or smallest: no two filled elements may be equal, except on purpose.
    Searches,
    /// It writes at indices: no two filled indices may be equal.
    Scatters,
    /// It only adds and multiplies: in a required case no integer may overflow its type.
    Arithmetic,
}

/// A demand or promise of an operator: a sentence, or a sentence with its cases.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "SentenceOrParts"))]
pub struct ConstraintFile {
    /// The sentence.
    pub says: String,
    /// The cases that show it.
    pub cases: Vec<CaseFile>,
    /// The refusals that break it.
    pub refuse: Vec<RefusalFile>,
    /// The line of the constraint in the file, counted from 1.
    pub line: Option<usize>,
    /// The change of meaning that is the sentence, if there is one.
    pub rule_of: Option<RuleOf>,
    /// The inputs, outputs and attributes that it is about.
    pub about: Vec<String>,
    /// The releases whose texts state it, unless all do. Its cases are open by other texts.
    pub text: Option<TextRange>,
    /// A remark for readers.
    pub note: String,
}

/// Versions whose rule is a constraint, according to a change of meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOf {
    /// The version with the change, and the later ones: the rule is what the change `says`.
    From(u32),
    /// The versions before the change: the rule is what it `was`.
    Before(u32),
}

/// A constraint with its cases.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ConstraintParts {
    /// The demand or promise in one sentence.
    says: Option<String>,
    /// The version whose change is the rule, instead of `says`. Of several changes, it is the one that names a case of
    /// the rule.
    change: Option<u32>,
    /// The version whose change ends the rule, instead of `says`: the rule is what it `was`.
    before: Option<u32>,
    /// The inputs, outputs and attributes that it is about, or `types`.
    #[serde(default)]
    about: Vec<String>,
    /// The releases whose texts state it, unless all do. Its cases are open by other texts.
    text: Option<TextRange>,
    /// A remark for readers.
    #[serde(default)]
    note: String,
    /// The cases that show it.
    #[serde(default)]
    cases: Vec<CaseFile>,
    /// The refusals that break it.
    #[serde(default)]
    refuse: Vec<RefusalFile>,
}

/// The two forms of a constraint.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is asked for")]
enum SentenceOrParts {
    /// A sentence only.
    Sentence(String),
    /// With its cases.
    Parts(ConstraintParts),
}

impl<'de> Deserialize<'de> for ConstraintFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConstraintVisitor)
    }
}

/// Distinguishes a sentence from a constraint with cases by its form, so that an error points at the mistake inside.
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
        let ConstraintParts { says, change, before, about, text, note, cases, refuse } =
            ConstraintParts::deserialize(MapAccessDeserializer::new(map))?;
        let (says, rule_of) = match (says, change, before) {
            (Some(says), None, None) => (says, None),
            (None, Some(since), None) => (String::new(), Some(RuleOf::From(since))),
            (None, None, Some(since)) => (String::new(), Some(RuleOf::Before(since))),
            _ => return Err(A::Error::custom("a rule has exactly one of `says`, `change` and `before`")),
        };
        Ok(ConstraintFile { says, cases, refuse, line: None, rule_of, about, text, note })
    }
}

/// Part of a case that several cases share. A case's own entry replaces one of the same name.
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
    /// Values of the outer graph that only the node's subgraphs use.
    #[serde(default)]
    pub captured: Ordered<ValueFile>,
    /// Settings by parameter.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// Nodes in ONNX's text syntax.
    pub nodes: Option<String>,
    /// The types that the cases run with, by type parameter.
    #[serde(default)]
    pub only: Ordered<TypeList>,
    /// The types that the cases do not run with, by type parameter.
    #[serde(default)]
    pub except: Ordered<TypeList>,
    /// Outputs derived by hand, by name.
    #[serde(default)]
    pub outputs: Ordered<OutputFile>,
    /// The accuracy, if not the operator's.
    pub accuracy: Option<AccuracyFile>,
}

/// A case, or several with alternatives.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// The name, unique in the file.
    #[serde(default)]
    pub name: String,
    /// A remark for readers: the purpose of the case, or the derivation of its values.
    #[serde(default)]
    pub note: String,
    /// The recipes whose cases take this place. No other key is allowed then.
    #[serde(default, rename = "use")]
    pub uses: Vec<String>,
    /// The recipe that the case comes from.
    #[serde(skip)]
    pub recipe: Option<String>,
    /// Size of the values.
    #[serde(default)]
    pub size: CaseSize,
    /// The first version it applies to, or ranges of versions.
    pub since: Option<Since>,
    /// The last version it applies to, by its since.
    pub until: Option<u32>,
    /// Level of the expectation: required, recommended or open.
    #[serde(default)]
    pub level: Level,
    /// The releases whose texts decide the level, unless all do. By other texts the case is open.
    pub text: Option<TextRange>,
    /// The reason for a level below required.
    #[serde(default)]
    pub why: String,
    /// True if the case is about special values: NaN, infinities, signed zeros, subnormals, overflow, ties, empty
    /// tensors or rank 0.
    #[serde(default)]
    pub edge: bool,
    /// The constraint that contains the case.
    #[serde(skip)]
    pub constraint: Option<String>,
    /// Shared parts of the case, by the names under `given`.
    #[serde(default)]
    pub given: Words,
    /// Sizes by name, for shapes and fills.
    #[serde(default, rename = "let")]
    pub names: Ordered<Size>,
    /// The inputs by name. Those that are not listed are absent.
    #[serde(default)]
    pub inputs: Ordered<InputFile>,
    /// Nodes in ONNX's text syntax, including one of the operator, instead of a single node. Inputs and outputs are
    /// then those of the graph, with any names, and each input has a `type`. `$T` stands for the type of a type
    /// parameter.
    pub nodes: Option<String>,
    /// The operator of the file, which must be among `nodes`.
    pub under_test: Option<String>,
    /// Values of the outer graph that only the node's subgraphs use, by name.
    #[serde(default)]
    pub captured: Ordered<ValueFile>,
    /// Inputs of a second run of the same model, which replace those of the first. The model then has named dimensions
    /// instead of sizes.
    #[serde(default, rename = "again")]
    pub second_inputs: Ordered<InputFile>,
    /// Parameters that are attributes in some versions and inputs in others, and other attributes.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// True to combine alternatives one from each list in turn, instead of all with all.
    #[serde(default)]
    pub zip: bool,
    /// Combinations of types: `product` for all.
    pub types: Option<TypesRule>,
    /// The types that the case runs with, by type parameter.
    #[serde(default)]
    pub only: Ordered<TypeList>,
    /// The types that the case does not run with, by type parameter.
    #[serde(default)]
    pub except: Ordered<TypeList>,
    /// A condition on the types, as in `bits(T1) == bits(T2)`, `T1 != T2` or `elem(S) == T`.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// Type parameters of outputs that no input decides: `attribute to`, or `free` if a setting names the parameter as
    /// its type.
    #[serde(default)]
    pub bind: Ordered<String>,
    /// The requested outputs, by name. The default is the required ones and the first.
    pub request: Option<Vec<String>>,
    /// Outputs derived by hand, by name.
    #[serde(default)]
    pub outputs: Ordered<OutputFile>,
    /// True if zeros must have the sign of the expected ones. Only with `accuracy: exact`.
    #[serde(default)]
    pub zero_sign: bool,
    /// The accuracy, if not the operator's.
    pub accuracy: Option<AccuracyFile>,
}

impl CaseFile {
    /// Returns true if the case may apply to the version that begins at this opset.
    pub fn covers(&self, since: u32) -> bool {
        self.since.as_ref().is_none_or(|first| first.covers(since)) && self.until.is_none_or(|last| since <= last)
    }

    /// Returns the level by the texts of some releases, if they decide it.
    pub fn text_level(&self) -> Option<TextLevel> {
        self.text.map(|texts| TextLevel { level: self.level, texts })
    }
}

impl CaseFile {
    /// Returns the case with the inputs of its second run.
    pub(crate) fn second_run(&self) -> CaseFile {
        let mut second = self.clone();
        second.inputs.replace(&self.second_inputs);
        second
    }

    /// Returns the control case with the replacements of a refusal, and without the parameters that it omits.
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

/// Size of the values of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CaseSize {
    /// A few elements, readable by people.
    #[default]
    Plain,
    /// More elements than a vector, a tile or 16 bits hold. The name begins with `large/`, so that filters can exclude
    /// it. A row of types runs with one alternative only.
    Large,
}

/// Combinations of types that become cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TypesRule {
    /// Every combination, instead of every type of each parameter once.
    Product,
}

/// The value of a parameter: written out, or with a type or a graph.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "not a setting; write a literal, {values: ..., type: ...}, {type: ...}, {graph: ...} or {attribute: ..., input: ...}"
)]
pub enum Setting {
    /// Written out.
    Literal(Literal),
    /// An attribute in some versions and an input in others, written differently.
    Moved(Moved),
    /// A subgraph in ONNX's text syntax, in which `$T` stands for the type of a type parameter.
    Graph(GraphFile),
    /// A tensor, or only a type.
    Typed(TypedFile),
}

/// A parameter that is an attribute in some versions and an input in others, written differently.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// As an attribute.
    pub attribute: Literal,
    /// As an input.
    pub input: Literal,
}

/// A subgraph.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GraphFile {
    /// The text.
    pub graph: String,
}

/// A tensor of a type, or only the type.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypedFile {
    /// A type parameter, or a type.
    pub r#type: Option<String>,
    /// The elements.
    pub values: Option<Literal>,
    /// The value of every element.
    pub all: Option<Literal>,
    /// The shape, unless the nesting of the elements gives it.
    pub shape: Option<Vec<usize>>,
    /// The indices of the elements of a sparse tensor.
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

/// A case that must be refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RefusalFile {
    /// The name, unique among the file's refusals.
    pub name: String,
    /// A remark for readers: the purpose of the refusal.
    #[serde(default)]
    pub note: String,
    /// The broken constraint, which contains the refusal.
    #[serde(skip)]
    pub constraint: Option<String>,
    /// Level of the refusal: required, recommended or open.
    #[serde(default)]
    pub level: Level,
    /// The releases whose texts decide the level, unless all do. By other texts the refusal is open.
    pub text: Option<TextRange>,
    /// The reason for a level below required.
    #[serde(default)]
    pub why: String,
    /// The case that differs from this one only in the violation, and runs.
    pub control: String,
    /// True if only a run shows the violation, and not the model. Checkers are not asked about such a case.
    #[serde(default)]
    pub only_at_run_time: bool,
    /// The first version it applies to, or ranges of versions.
    pub since: Option<Since>,
    /// The last version it applies to, by its since.
    pub until: Option<u32>,
    /// Inputs that replace those of the control. Each alternative is a separate refusal.
    #[serde(default)]
    pub inputs: Ordered<InputFile>,
    /// Parameters that replace those of the control.
    #[serde(default)]
    pub set: Ordered<OneOrEach<Setting>>,
    /// Inputs and attributes of the control to omit.
    #[serde(default)]
    pub without: Vec<String>,
    /// The requested outputs, if not those of the control.
    pub request: Option<Vec<String>>,
}

impl RefusalFile {
    /// Returns true if the refusal may apply to the version that begins at this opset.
    pub fn covers(&self, since: u32) -> bool {
        self.since.as_ref().is_none_or(|first| first.covers(since)) && self.until.is_none_or(|last| since <= last)
    }

    /// Returns the level by the texts of some releases, if they decide it.
    pub fn text_level(&self) -> Option<TextLevel> {
        self.text.map(|texts| TextLevel { level: self.level, texts })
    }
}

/// Reads an op.yaml. The cases of its recipes are not inserted yet.
pub(crate) fn read_operator(source: YamlText<'_>) -> Result<OperatorFile, Box<YamlError>> {
    let YamlText { path, text, .. } = source;
    let file: OperatorFile = yaml::read(path, text).map_err(|error| source.relocate(error))?;
    if path.split('/').rev().nth(1).is_some_and(|folder| folder != file.op) {
        let line = text.lines().position(|line| line.starts_with("op:")).map_or(1, |at| at + 1);
        let message = format!("the folder does not have the name of the operator {}", file.op);
        let help = format!("correct the line, or move the file to a folder named {}", file.op);
        return Err(source.error((line, "op: ".len() + 1), message, Some(help)));
    }
    Ok(file)
}
