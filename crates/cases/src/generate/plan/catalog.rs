//! The op.yaml files of a set of specs, checked against their operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use miette::Diagnostic;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{
    CaseFileKind, LookupError, OpSpec, OperatorVersion, Specs, case_file, embedded,
};

use crate::generate::file::op_file::{CaseFile, OperatorFile, read_operator};
use crate::generate::file::recipe::{RecipeError, Recipes};
use crate::generate::file::type_list::TypeGroups;
use crate::generate::file::written_out::{expand_shorthands, inherit_texts, refuse_anchors};
use crate::generate::file::yaml_text::{Part, YamlText};
use crate::generate::plan::changes;
use crate::generate::plan::concrete::ConcreteCases;
use crate::generate::plan::error::FitError;
use crate::generate::plan::fit::CaseAtVersion;
use crate::generate::plan::nodes;
use crate::generate::plan::refusal_fit;

/// File of the recipes, below the folder of the specs.
const RECIPES: &str = "recipes.yaml";

/// File of the type groups, below the folder of the specs.
const TYPES: &str = "types.yaml";

/// Error of making cases from the specs.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum GenerateError {
    /// A version file or the list of releases cannot be read, or there is no such version.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(#[from] LookupError),
    /// The operator has no op.yaml.
    #[error("{path} is missing; `cargo xtask new-op` creates it")]
    Missing {
        /// The file that is missing.
        path: String,
    },
    /// An op.yaml, or the file of the recipes, is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] Box<YamlError>),
    /// A recipe does not suit an operator that uses it.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Recipe(#[from] Box<RecipeError>),
    /// The built-in executor refuses a case that should run.
    #[error("{id}: a case that must run is refused: {reason}")]
    Refused {
        /// The case.
        id: String,
        /// The reason.
        reason: String,
    },
}

/// The op.yaml files, parsed on first use, and the recipes that they share.
#[derive(Debug)]
pub struct OperatorCatalog {
    root: String,
    files: BTreeMap<String, OperatorEntry>,
    shared: (String, OnceLock<Result<Recipes, GenerateError>>),
    types: (String, OnceLock<Result<TypeGroups, GenerateError>>),
}

/// The op.yaml of an operator.
#[derive(Debug)]
struct OperatorEntry {
    /// The text of op.yaml, continued by those of the parts.
    text: String,
    parts: Vec<Part>,
    file: OnceLock<Result<OperatorFile, GenerateError>>,
    is_whole: OnceLock<Result<(), GenerateError>>,
}

impl OperatorEntry {
    fn new(text: String) -> OperatorEntry {
        OperatorEntry { text, parts: Vec::new(), file: OnceLock::new(), is_whole: OnceLock::new() }
    }

    /// Returns the text with its parts, and the path of the file for errors.
    fn source<'a>(&'a self, path: &'a str) -> YamlText<'a> {
        YamlText { path, text: &self.text, parts: &self.parts }
    }

    /// Adds a part, whose rules follow those of the file.
    fn add(&mut self, path: String, text: String) {
        let lines_before = self.text.lines().count();
        self.text.push_str(text.strip_prefix(Part::HEAD).unwrap_or(&text));
        self.parts.push(Part { path, text, lines_before });
    }
}

impl OperatorCatalog {
    /// Returns the files that are embedded in the program.
    pub fn embedded() -> OperatorCatalog {
        OperatorCatalog::new(
            "specs",
            embedded::FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())),
        )
    }

    /// Returns the catalog of the files that are embedded in the program. All callers share the parsed files.
    pub fn shared() -> &'static OperatorCatalog {
        static SHARED: LazyLock<OperatorCatalog> = LazyLock::new(OperatorCatalog::embedded);
        &SHARED
    }

    /// Creates a catalog of files by their paths below the folder `root`, which is used only in errors. Files other
    /// than cases, recipes and type groups are ignored.
    pub fn new(root: &str, files: impl IntoIterator<Item = (String, String)>) -> OperatorCatalog {
        let mut operators = OperatorCatalog {
            root: root.to_owned(),
            files: BTreeMap::new(),
            shared: ("recipes: {}\n".to_owned(), OnceLock::new()),
            types: ("groups: {}\n".to_owned(), OnceLock::new()),
        };
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        for (path, text) in files {
            if path == RECIPES {
                operators.shared.0 = text;
            } else if path == TYPES {
                operators.types.0 = text;
            } else {
                match case_file(&path) {
                    Some((_, CaseFileKind::Main)) => {
                        operators.files.insert(path, OperatorEntry::new(text));
                    }
                    Some((_, CaseFileKind::Part)) => {
                        parts.insert(path, text);
                    }
                    None => {}
                }
            }
        }
        for (path, text) in parts {
            let operator = case_file(&path).map_or("", |(operator, _)| operator);
            if let Some(entry) = operators.files.get_mut(&format!("{operator}/op.yaml")) {
                entry.add(embedded::shown(root, &path), text);
            }
        }
        operators
    }

    /// Returns the texts of all files, in the order of their paths.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(|entry| entry.text.as_str()).chain([self.shared.0.as_str(), &self.types.0])
    }

    /// Returns true if an operator has an op.yaml, without reading it.
    pub fn has(&self, version: &OperatorVersion) -> bool {
        self.files.contains_key(&relative_path(version))
    }

    /// Returns the op.yaml of an operator, with the cases of its recipes.
    pub fn get(&self, version: &OperatorVersion) -> Result<&OperatorFile, GenerateError> {
        let entry = self.entry(version)?;
        entry.file.get_or_init(|| self.read(version, entry)).as_ref().map_err(GenerateError::clone)
    }

    /// Returns the text of an operator's op.yaml, without reading it.
    pub fn text(&self, version: &OperatorVersion) -> Result<&str, GenerateError> {
        Ok(&self.entry(version)?.text)
    }

    /// Checks that every case of an operator is made in some version, with each of its alternatives, and that every
    /// change of meaning has a case that shows it. A case is omitted for types that cannot represent a literal value,
    /// so a mistake in the value could silently omit it everywhere.
    pub(crate) fn check_whole(&self, version: &OperatorVersion) -> Result<(), GenerateError> {
        let path = self.display(version);
        let check = || {
            let (file, entry) = (self.get(version)?, self.entry(version)?);
            let source = entry.source(&path);
            let newest_first = newest_first(version)?;
            check_alternatives(&Places { operators: self, source, file }, &newest_first)?;
            Ok(changes::check(source, file, &newest_first)?)
        };
        self.entry(version)?.is_whole.get_or_init(check).clone()
    }

    fn entry(&self, version: &OperatorVersion) -> Result<&OperatorEntry, GenerateError> {
        self.files.get(&relative_path(version)).ok_or_else(|| self.missing(version))
    }

    fn missing(&self, version: &OperatorVersion) -> GenerateError {
        GenerateError::Missing { path: self.display(version) }
    }

    fn recipes(&self) -> Result<&Recipes, GenerateError> {
        let path = format!("{}/{RECIPES}", self.root);
        let read = || Ok(Recipes::read(YamlText::whole(&path, &self.shared.0), self.groups()?)?);
        self.shared.1.get_or_init(read).as_ref().map_err(GenerateError::clone)
    }

    fn groups(&self) -> Result<&TypeGroups, GenerateError> {
        let path = format!("{}/{TYPES}", self.root);
        let read = || Ok(TypeGroups::read(YamlText::whole(&path, &self.types.0))?);
        self.types.1.get_or_init(read).as_ref().map_err(GenerateError::clone)
    }

    fn read(&self, version: &OperatorVersion, entry: &OperatorEntry) -> Result<OperatorFile, GenerateError> {
        let path = self.display(version);
        let source = entry.source(&path);
        let newest_first = newest_first(version)?;
        refuse_anchors(source)?;
        let mut file = expand_shorthands(source, read_operator(source)?, self.groups()?)?;
        if let Some(newest) = newest_first.first() {
            file = self.recipes()?.expand(source, file, newest)?;
        }
        inherit_texts(source, &mut file)?;
        put_first(source, &mut file)?;
        let places = Places { operators: self, source, file: &file };
        check_names(&places)?;
        check_fits(&places, &newest_first)?;
        Ok(file)
    }

    /// Creates an error that points at a case or refusal of an operator's file, and at its recipe if it has one.
    pub(crate) fn at(
        &self,
        version: &OperatorVersion,
        name: &str,
        message: String,
        help: Option<String>,
    ) -> GenerateError {
        let path = self.display(version);
        match self.get(version).and_then(|file| Ok((file, self.entry(version)?.source(&path)))) {
            Ok((file, source)) => Places { operators: self, source, file }.at(name, message, help),
            Err(error) => error,
        }
    }

    /// Returns the place of a line of an operator's text, for messages.
    pub(super) fn place(&self, version: &OperatorVersion, line: usize) -> String {
        let path = self.display(version);
        let entry = self.entry(version).ok();
        let (text, parts) = entry.map_or(("", &[][..]), |entry| (entry.text.as_str(), &entry.parts));
        let (path, _, line) = YamlText { path: &path, text, parts }.locate(line);
        format!("{path}:{line}")
    }

    /// Returns the path of an operator's op.yaml for messages.
    pub(super) fn display(&self, version: &OperatorVersion) -> String {
        embedded::shown(&self.root, &relative_path(version))
    }
}

fn relative_path(version: &OperatorVersion) -> String {
    format!("{}/{}/op.yaml", version.domain, version.name)
}

/// Returns all versions of an operator, newest first.
fn newest_first(version: &OperatorVersion) -> Result<Vec<&'static OpSpec>, GenerateError> {
    let (domain, name) = (&version.domain, &version.name);
    let mut sinces: Vec<u32> = Specs::embedded().versions(domain, name).collect();
    sinces.reverse();
    let get = |since| Ok(Specs::embedded().get(&OperatorVersion::new(domain, name, since))?);
    sinces.into_iter().map(get).collect()
}

/// A file, for errors that point at its cases and refusals.
struct Places<'a> {
    operators: &'a OperatorCatalog,
    source: YamlText<'a>,
    file: &'a OperatorFile,
}

impl Places<'_> {
    fn at(&self, name: &str, message: String, help: Option<String>) -> GenerateError {
        let recipe = self.file.cases.iter().filter(|case| case.name == name).find_map(|case| case.recipe.as_ref());
        match (recipe, self.operators.recipes()) {
            (Some(recipe), Ok(recipes)) => {
                let case = *recipes.point_at_case(name, help);
                Box::new(RecipeError::new(self.source, recipe, &message, case)).into()
            }
            _ => self.source.error_at_case(name, message, help).into(),
        }
    }
}

/// Moves the cases under `first` to the front.
fn put_first(source: YamlText<'_>, file: &mut OperatorFile) -> Result<(), GenerateError> {
    let rank = |name: &str| file.first.iter().position(|first| first == name).unwrap_or(file.first.len());
    if let Some(name) = file.first.iter().find(|name| !file.cases.iter().any(|case| case.name == **name)) {
        let line = source.text.lines().position(|line| line.starts_with("first:")).map_or(1, |at| at + 1);
        let help = Some("it lists cases of the file, or of the recipes that it uses".to_owned());
        let message = format!("`first` names the case '{name}', which does not exist");
        return Err(source.error((line, 1), message, help).into());
    }
    let mut cases: Vec<(usize, CaseFile)> = Vec::new();
    cases.extend(std::mem::take(&mut file.cases).into_iter().map(|case| (rank(&case.name), case)));
    cases.sort_by_key(|(rank, _)| *rank);
    file.cases = cases.into_iter().map(|(_, case)| case).collect();
    Ok(())
}

/// Checks that names are unique, and that recipes and refusals name existing constraints and controls.
fn check_names(places: &Places<'_>) -> Result<(), GenerateError> {
    let file = places.file;
    file.cases.iter().try_for_each(|case| nodes::check(places.source, &file.op, case))?;
    let mut seen = BTreeSet::new();
    if let Some(case) = file.cases.iter().find(|case| !seen.insert(&case.name)) {
        let help = "names become part of ids, so each must be unique".to_owned();
        let message = format!("duplicate case '{}'", case.name);
        let is_shared = file.cases.iter().any(|other| other.name == case.name && other.recipe.is_some());
        let place = places.source.places(&case.name).last();
        return match place.filter(|_| !is_shared) {
            Some(place) => Err(places.source.error(place, message, Some(help)).into()),
            None => Err(places.at(&case.name, message, Some(help))),
        };
    }
    let check_constraint = |name: &str, id: &str| {
        if file.constraints.get(id).is_some() {
            return Ok(());
        }
        let help = format!("write {id} under `constraints`, or correct the id");
        Err(places.at(name, format!("there is no constraint {id}"), Some(help)))
    };
    for case in &file.cases {
        case.constraint.iter().try_for_each(|id| check_constraint(&case.name, id))?;
    }
    for refusal in &file.refuse {
        if !file.cases.iter().any(|case| case.name == refusal.control) {
            let message = format!("the control '{}' does not exist", refusal.control);
            let help = "a control is a case that runs and differs only in the violation".to_owned();
            return Err(places.at(&refusal.name, message, Some(help)));
        }
    }
    Ok(())
}

/// Checks that every case and every refusal fits some version of the operator.
fn check_fits(places: &Places<'_>, newest_first: &[&OpSpec]) -> Result<(), GenerateError> {
    let file = places.file;
    for case in &file.cases {
        let versions: Vec<&OpSpec> =
            newest_first.iter().copied().filter(|spec| case.covers(spec.version.since)).collect();
        let reason = if versions.is_empty() {
            let sinces: Vec<u32> = newest_first.iter().rev().map(|spec| spec.version.since).collect();
            Some(format!("since and until exclude all versions: {sinces:?}"))
        } else {
            reason_not_applicable(file, case, &versions).map(|reason| reason.to_string())
        };
        if let Some(reason) = reason {
            let message = format!("the case '{}' applies to no version of {}", case.name, file.op);
            return Err(places.at(&case.name, message, Some(reason)));
        }
    }
    for refusal in &file.refuse {
        if let Some(reason) = refusal_fit::reason_not_applicable(file, refusal, newest_first) {
            let message = format!("the refusal '{}' applies to no version of {}", refusal.name, file.op);
            return Err(places.at(&refusal.name, message, Some(reason.to_string())));
        }
    }
    Ok(())
}

/// Checks that every case is made in some version, with each of its alternatives.
fn check_alternatives(places: &Places<'_>, newest_first: &[&OpSpec]) -> Result<(), GenerateError> {
    for case in &places.file.cases {
        let at = |message: String, help: Option<String>| places.at(&case.name, message, help);
        let mut left: Option<Vec<(Vec<usize>, String)>> = None;
        for case_at_version in newest_first.iter().filter_map(|spec| CaseAtVersion::new(places.file, case, spec).ok()) {
            let cases = ConcreteCases::new(&case_at_version).map_err(|error| at(error.to_string(), None))?;
            let all = cases.alternatives();
            let made = cases.cases().map_err(|error| at(error.to_string(), None))?;
            let left = left.get_or_insert(all);
            left.retain(|(choices, _)| made.iter().all(|instance| instance.choices != *choices));
            if left.is_empty() {
                break;
            }
        }
        if let Some((_, name)) = left.iter().flatten().next() {
            let message = format!("no type can represent the values of '{name}'");
            let help = "no version has a case of it; correct the values or the types";
            return Err(at(message, Some(help.to_owned())));
        }
    }
    Ok(())
}

/// Returns the reason why a case does not fit the first of these versions, or `None` if it fits any.
fn reason_not_applicable(file: &OperatorFile, case: &CaseFile, versions: &[&OpSpec]) -> Option<FitError> {
    let mut first = None;
    for spec in versions {
        let reason = CaseAtVersion::new(file, case, spec).err()?;
        first.get_or_insert(reason);
    }
    first
}
