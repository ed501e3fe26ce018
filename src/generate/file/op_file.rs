//! op.yaml: what we author for an operator, for all its versions.

use std::collections::BTreeSet;

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::types::ValueType;
use serde::Deserialize;

use crate::case::Level;
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::alternatives::{Label, OneOrEach};
use crate::generate::file::expression::Size;
use crate::generate::file::literal::Literal;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::output::OutputFile;
use crate::generate::file::value_file::{InputFile, ValueFile};

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
    /// What the operator demands or promises, by ids that cases and refusals name.
    #[serde(default)]
    pub constraints: Ordered<String>,
    /// Parameters that a version spells otherwise: the newest name, and the older ones in turn.
    #[serde(default)]
    pub rename: Ordered<Vec<String>>,
    /// What must run.
    #[serde(default)]
    pub cases: Vec<CaseFile>,
    /// What must be refused, besides what the signature tells.
    #[serde(default)]
    pub refuse: Vec<RefusalFile>,
}

/// A case, or with alternatives several.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// The name, unique in the file.
    #[serde(default)]
    pub name: String,
    /// The recipes whose cases stand in this place, instead of one: nothing but `constraint`, for those that name none,
    /// stands beside it.
    #[serde(default, rename = "use")]
    pub uses: Vec<String>,
    /// The recipe that the case comes from.
    #[serde(skip)]
    pub recipe: Option<String>,
    /// How large the values are.
    #[serde(default)]
    pub size: CaseSize,
    /// The first version it is for.
    pub since: Option<u32>,
    /// The last version it is for, by its since.
    pub until: Option<u32>,
    /// How binding the expectation is.
    #[serde(default)]
    pub level: Level,
    /// The constraint that the case is about.
    pub constraint: Option<String>,
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
    pub only: Ordered<Vec<ValueType>>,
    /// The types that the case is not for, by type parameter.
    #[serde(default)]
    pub except: Ordered<Vec<ValueType>>,
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
        self.since.is_none_or(|first| first <= since) && self.until.is_none_or(|last| since <= last)
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
            Setting::Typed(typed) => match (&typed.values, &typed.r#type) {
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
    /// The constraint that is broken.
    pub constraint: String,
    /// How binding the refusal is.
    #[serde(default)]
    pub level: Level,
    /// The case that differs from this one in the violation alone, and runs.
    pub control: String,
    /// The first version it is for.
    pub since: Option<u32>,
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
        self.since.is_none_or(|first| first <= since) && self.until.is_none_or(|last| since <= last)
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
    for case in &file.cases {
        check_use(path, text, case)?;
    }
    check_names(path, text, "refusal", file.refuse.iter().map(|refusal| refusal.name.as_str()))?;
    Ok(file)
}

/// A case has a name, or uses recipes and has nothing of its own.
fn check_use(path: &str, text: &str, case: &CaseFile) -> Result<(), Box<YamlError>> {
    let name = case.uses.first().map_or(case.name.as_str(), String::as_str);
    let at = |message: String, help: &str| {
        let line = text.lines().position(|line| line.contains("use:") && line.contains(name)).map_or(1, |at| at + 1);
        Err(Box::new(YamlError::new(path, text, (line, 1), message, Some(help.to_owned()))))
    };
    let empty = CaseFile { uses: case.uses.clone(), constraint: case.constraint.clone(), ..CaseFile::default() };
    match case.uses.is_empty() {
        true if case.name.is_empty() => at("a case has no name".to_owned(), "give it `name`, or let it `use` recipes"),
        false if *case != empty => at(
            format!("a case that uses '{name}' has something of its own"),
            "beside `use` stands `constraint` alone; write a case of its own",
        ),
        _ => Ok(()),
    }
}

fn check_names<'a>(
    path: &str,
    text: &str,
    kind: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), Box<YamlError>> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let place = places(text, name).last().unwrap_or((1, 1));
            let help = "a name becomes part of ids; give each its own".to_owned();
            return Err(Box::new(YamlError::new(
                path,
                text,
                place,
                format!("another {kind} is called '{name}'"),
                Some(help),
            )));
        }
    }
    Ok(())
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
