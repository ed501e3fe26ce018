//! All operator versions, looked up by name and opset; each file is parsed on first use.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{LazyLock, OnceLock};

use foldhash::HashMap;
use miette::Diagnostic;
use thiserror::Error;

use super::changes::Changes;
use super::embedded;
use super::entry;
use super::facts::{Draws, OperatorFacts};
use super::operator::OpSpec;
use super::releases::Releases;
use super::version::{OperatorVersion, canonical_domain};
use super::yaml::{self, YamlError};

/// All operator versions described by the files under one folder.
#[derive(Debug)]
pub struct Specs {
    root: String,
    files: BTreeMap<Text, Text>,
    /// The versions of each operator by domain. Every node of a model is looked up here.
    domains: BTreeMap<String, HashMap<String, BTreeMap<u32, Entry>>>,
    releases: OnceLock<Result<Releases, Box<YamlError>>>,
    /// The newest opset of each domain.
    newest: OnceLock<Result<BTreeMap<String, u32>, LookupError>>,
}

type Text = Cow<'static, str>;

#[derive(Debug)]
struct Entry {
    path: Text,
    /// Boxed to keep an index of unread versions small.
    spec: OnceLock<Result<Box<OpSpec>, Box<SpecError>>>,
}

/// Error of a file under `specs/`.
#[derive(Clone, Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not a version file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// The file describes another operator version than its path.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Misplaced(Box<YamlError>),
    /// Two files claim the same operator version.
    #[error("{first} and {second} both claim {version}")]
    #[diagnostic(help("keep one of the two; a version file is called <domain>/<operator>/<since>.yaml"))]
    Duplicate {
        /// The claimed version.
        version: OperatorVersion,
        /// The file that was read first.
        first: String,
        /// The other file.
        second: String,
    },
    /// No file belongs at this path.
    #[error("{path}: no file is expected here")]
    #[diagnostic(help(
        "specs contains <domain>/<operator>/<since>.yaml, op.yaml and text.yaml beside it, and releases.yaml, recipes.yaml, texts.yaml, types.yaml and exclusions.yaml"
    ))]
    Unexpected {
        /// The file.
        path: String,
    },
}

/// Error of looking up an operator at an opset.
#[derive(Clone, Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum LookupError {
    /// The domain is unknown.
    #[error("domain '{domain}' is unknown; the domains are {known}")]
    UnknownDomain {
        /// The domain in its canonical spelling.
        domain: String,
        /// The known domains.
        known: String,
    },
    /// The domain has no such operator in any opset.
    #[error("{domain} has no operator '{name}'{hint}")]
    UnknownOperator {
        /// The domain in its canonical spelling.
        domain: String,
        /// The requested name.
        name: String,
        /// A suggestion, or empty.
        hint: String,
    },
    /// The opset is older than the operator.
    #[error("{domain} {opset} has no operator '{name}'; it was added in opset {first}")]
    NotYet {
        /// The domain in its canonical spelling.
        domain: String,
        /// The operator.
        name: String,
        /// The requested opset.
        opset: i64,
        /// The first opset that has the operator.
        first: u32,
    },
    /// The opset is newer than any known one.
    #[error("opset {opset} of {domain} is unknown; the newest known is {newest}")]
    NewerOpset {
        /// The domain in its canonical spelling.
        domain: String,
        /// The requested opset.
        opset: i64,
        /// The newest known opset.
        newest: u32,
    },
    /// No operator version begins at exactly this opset.
    #[error("{version} is not a version of the operator; {domain} has {known}", domain = version.domain)]
    NoSuchVersion {
        /// The requested version.
        version: OperatorVersion,
        /// The known versions.
        known: String,
    },
    /// The version's file or the list of releases cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(Box<SpecError>),
}

/// Returns operators with their versions, sorted by name.
fn sorted<'a, T>(operators: impl IntoIterator<Item = (&'a String, &'a T)>) -> Vec<(&'a str, &'a T)> {
    let mut sorted: Vec<(&str, &T)> = operators.into_iter().map(|(name, versions)| (name.as_str(), versions)).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    sorted
}

impl Specs {
    /// The specs that were embedded when this crate was built.
    pub fn embedded() -> &'static Specs {
        static SPECS: LazyLock<Specs> = LazyLock::new(|| {
            let files = embedded::FILES.iter().map(|(path, text)| (Text::Borrowed(*path), Text::Borrowed(*text)));
            #[expect(
                clippy::expect_used,
                reason = "the embedded files are fixed at build time, and a test reads them all"
            )]
            Specs::new("specs", files).expect("the paths of the embedded files are correct, as a test checks")
        });
        &SPECS
    }

    /// Indexes files by their paths relative to the folder `root`, which is used in errors only. Parses none of them.
    pub fn new(root: &str, files: impl IntoIterator<Item = (Text, Text)>) -> Result<Specs, SpecError> {
        let root = root.to_owned();
        let mut specs = Specs {
            root,
            files: BTreeMap::new(),
            domains: BTreeMap::new(),
            releases: OnceLock::new(),
            newest: OnceLock::new(),
        };
        for (path, text) in files {
            specs.add(path, text)?;
        }
        Ok(specs)
    }

    fn add(&mut self, path: Text, text: Text) -> Result<(), SpecError> {
        match expected_file(&path) {
            Some(ExpectedFile::Other) => {}
            Some(ExpectedFile::Version(version)) => {
                let operator = self.domains.entry(version.domain.clone()).or_default().entry(version.name.clone());
                let entry = Entry { path: path.clone(), spec: OnceLock::new() };
                if let Some(first) = operator.or_default().insert(version.since, entry) {
                    let (first, second) = (self.display(&first.path), self.display(&path));
                    return Err(SpecError::Duplicate { version, first, second });
                }
                if path != path_of(&version) {
                    return Err(SpecError::Unexpected { path: self.display(&path) });
                }
            }
            None => return Err(SpecError::Unexpected { path: self.display(&path) }),
        }
        self.files.insert(path, text);
        Ok(())
    }

    fn display(&self, path: &str) -> String {
        embedded::shown(&self.root, path)
    }

    /// Finds the version of an operator for a model that imports `opset`. It may be deprecated.
    pub fn find(&self, domain: &str, name: &str, opset: impl Into<i64>) -> Result<&OpSpec, LookupError> {
        let (domain, opset) = (canonical_domain(domain), opset.into());
        let versions = self.entries(domain, name)?;
        let newest = self.newest_opset(domain)?;
        if opset > i64::from(newest) {
            return Err(LookupError::NewerOpset { domain: domain.to_owned(), opset, newest });
        }
        if let Some((since, entry)) = versions.iter().rev().find(|(since, _)| i64::from(**since) <= opset) {
            return self.read(domain, name, *since, entry);
        }
        let first = versions.keys().next().copied().unwrap_or(newest);
        Err(LookupError::NotYet { domain: domain.to_owned(), name: name.to_owned(), opset, first })
    }

    /// Returns exactly this version of an operator.
    pub fn get(&self, version: &OperatorVersion) -> Result<&OpSpec, LookupError> {
        let versions = self.entries(&version.domain, &version.name)?;
        let no_such_version = || LookupError::NoSuchVersion {
            version: version.clone(),
            known: versions.keys().map(|since| format!("{}-{since}", version.name)).collect::<Vec<_>>().join(", "),
        };
        let entry = versions.get(&version.since).ok_or_else(no_such_version)?;
        self.read(&version.domain, &version.name, version.since, entry)
    }

    /// The opsets that introduced the versions of an operator, ascending; empty if the operator is unknown.
    pub fn versions(&self, domain: &str, name: &str) -> impl Iterator<Item = u32> {
        let operator = self.domains.get(canonical_domain(domain)).and_then(|operators| operators.get(name));
        operator.into_iter().flat_map(|versions| versions.keys().copied())
    }

    /// The nodes of an operator with random outputs, in its newest version; none if the operator is unknown.
    pub fn draws(&self, domain: &str, name: &str) -> Draws {
        let newest = self.versions(domain, name).last();
        let spec = newest.and_then(|since| self.get(&OperatorVersion::new(domain, name, since)).ok());
        spec.map_or(Draws::Never, |spec| spec.facts.draws.clone())
    }

    /// The domains that have operators, in canonical spelling.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.keys().map(String::as_str)
    }

    /// The operators of a domain by name.
    pub fn operators(&self, domain: &str) -> impl Iterator<Item = &str> {
        sorted(self.domains.get(canonical_domain(domain)).into_iter().flatten()).into_iter().map(|(name, _)| name)
    }

    /// Every operator version, by domain, name and since.
    pub fn all(&self) -> impl Iterator<Item = OperatorVersion> {
        self.domains.iter().flat_map(|(domain, operators)| {
            sorted(operators).into_iter().flat_map(move |(name, versions)| {
                versions.keys().map(move |since| OperatorVersion::new(domain, name, *since))
            })
        })
    }

    /// The opsets at which this version is in force: up to the next version, or to the newest opset.
    pub fn opsets(&self, version: &OperatorVersion) -> Result<RangeInclusive<u32>, LookupError> {
        let versions = self.entries(&version.domain, &version.name)?;
        let last = match versions.keys().find(|since| **since > version.since) {
            Some(next) => next - 1,
            None => self.newest_opset(&version.domain)?,
        };
        Ok(version.since..=last)
    }

    /// The opsets of releases at which this version is in force. Those of a version of the next release are of that one.
    /// The cases of a version are at these opsets, so they stay the same in a program with the feature `next`.
    pub fn released_opsets(&self, version: &OperatorVersion) -> Result<RangeInclusive<u32>, LookupError> {
        let range = self.opsets(version)?;
        if Specs::is_next(version) {
            return Ok(range);
        }
        Ok(*range.start()..=self.newest_released_opset(&version.domain)?.min(*range.end()))
    }

    /// The opset of a domain in the newest release; the newest known one if the domain is in no release.
    pub fn newest_released_opset(&self, domain: &str) -> Result<u32, LookupError> {
        let newest = self.releases()?.newest().and_then(|release| release.opsets.get(canonical_domain(domain)));
        newest.map_or_else(|| self.newest_opset(domain), |opset| Ok(*opset))
    }

    /// The newest known opset of a domain.
    pub fn newest_opset(&self, domain: &str) -> Result<u32, LookupError> {
        let domain = canonical_domain(domain);
        let newest = self.newest.get_or_init(|| self.newest_opsets()).as_ref().map_err(Clone::clone)?;
        newest.get(domain).copied().ok_or_else(|| self.unknown_domain(domain))
    }

    fn newest_opsets(&self) -> Result<BTreeMap<String, u32>, LookupError> {
        let of_versions = self.domains.iter().flat_map(|(domain, operators)| {
            operators.values().filter_map(move |versions| Some((domain, *versions.keys().next_back()?)))
        });
        let of_releases = self.releases()?.with_next().flat_map(|release| &release.opsets);
        let mut newest = BTreeMap::<String, u32>::new();
        for (domain, opset) in of_versions.chain(of_releases.map(|(domain, opset)| (domain, *opset))) {
            let known = newest.entry(domain.clone()).or_default();
            *known = opset.max(*known);
        }
        Ok(newest)
    }

    /// The releases of ONNX; empty if the files have no releases.yaml.
    pub fn releases(&self) -> Result<&Releases, LookupError> {
        let read_file = |path: &str| {
            self.file(path).map_or_else(|| Ok(Releases::default()), |text| yaml::read(&self.display(path), text))
        };
        let read = || {
            let next = read_file("next/releases.yaml")?.releases;
            Ok(Releases { next, ..read_file("releases.yaml")? })
        };
        let releases = self.releases.get_or_init(read);
        releases.as_ref().map_err(|error| LookupError::File(Box::new(SpecError::Yaml(error.clone()))))
    }

    /// The version of the newest release, which the suite is made for; empty if the files have no releases.
    pub fn newest_release(&self) -> &str {
        self.releases().ok().and_then(Releases::newest).map_or("", |release| release.onnx.as_str())
    }

    /// Returns true if an embedded operator version is of the next release of ONNX: it is from `specs/next`, which only
    /// the feature `next` embeds.
    pub fn is_next(version: &OperatorVersion) -> bool {
        embedded::is_next(&path_of(version))
    }

    /// The text of a file, by its path relative to the folder.
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// The text of the file of an operator version.
    pub fn text(&self, version: &OperatorVersion) -> Option<&str> {
        let entry = self.domains.get(&version.domain)?.get(&version.name)?.get(&version.since)?;
        self.file(&entry.path)
    }

    fn entries(&self, domain: &str, name: &str) -> Result<&BTreeMap<u32, Entry>, LookupError> {
        let domain = canonical_domain(domain);
        if !self.domains.contains_key(domain) && self.releases()?.newest_opset(domain).is_none() {
            return Err(self.unknown_domain(domain));
        }
        self.domains.get(domain).and_then(|operators| operators.get(name)).ok_or_else(|| {
            let (domain, name, hint) = (domain.to_owned(), name.to_owned(), self.hint(domain, name));
            LookupError::UnknownOperator { domain, name, hint }
        })
    }

    fn unknown_domain(&self, domain: &str) -> LookupError {
        let known = self.domains().collect::<Vec<_>>().join(", ");
        LookupError::UnknownDomain { domain: domain.to_owned(), known }
    }

    /// Suggests an operator that differs only in case, or one of the same name in another domain.
    fn hint(&self, domain: &str, name: &str) -> String {
        let all = || {
            self.domains.iter().flat_map(|(d, operators)| {
                sorted(operators).into_iter().map(move |(operator, _)| (d.as_str(), operator))
            })
        };
        let similar = all().filter(|(_, operator)| operator.eq_ignore_ascii_case(name));
        match similar.max_by_key(|(d, _)| *d == domain) {
            Some((d, operator)) if d == domain => format!("; it has '{operator}'"),
            Some((d, operator)) => format!("; {d} has '{operator}'"),
            None => String::new(),
        }
    }

    fn read<'a>(&'a self, domain: &str, name: &str, since: u32, entry: &'a Entry) -> Result<&'a OpSpec, LookupError> {
        let read =
            || self.read_file(&OperatorVersion::new(domain, name, since), &entry.path).map(Box::new).map_err(Box::new);
        entry.spec.get_or_init(read).as_deref().map_err(|error| LookupError::File(error.clone()))
    }

    fn read_file(&self, version: &OperatorVersion, path: &str) -> Result<OpSpec, SpecError> {
        let text = self.file(path).unwrap_or_default();
        let mut spec: OpSpec = yaml::read(&self.display(path), text)?;
        if spec.version != *version {
            return Err(self.misplaced(version, path, &spec.version));
        }
        self.read_facts(&mut spec)?;
        Ok(spec)
    }

    /// Reads the facts about a version and its changes from the op.yaml of its operator.
    fn read_facts(&self, spec: &mut OpSpec) -> Result<(), Box<YamlError>> {
        let OperatorVersion { domain, name, since } = &spec.version;
        let path = format!("{domain}/{name}/op.yaml");
        let Some(text) = self.file(&path) else { return Ok(()) };
        let path = self.display(&path);
        let mut facts: OperatorFacts = yaml::read_entries(&path, text, &entry::READ)?;
        let all: Vec<u32> = self.versions(domain, name).collect();
        if let Some((unknown, attribute)) = facts.versions().find(|(since, _)| !all.contains(since)) {
            let message = format!("{name} has no version {unknown}, which `values` lists for '{attribute}'");
            let line = text.lines().position(|line| line.starts_with("values:")).map_or(1, |index| index + 1);
            let help = Some(format!("its versions are {all:?}"));
            return Err(Box::new(YamlError::new(&path, text, (line, 1), message, help)));
        }
        let mut changes = std::mem::take(&mut facts.changes.0);
        let later: Vec<u32> = all.into_iter().skip(1).collect();
        if let Some(unknown) = changes.keys().find(|since| !later.contains(since)) {
            let message = format!("{name} has no version {unknown} with one before it");
            let help = match later.as_slice() {
                [] => "it has one version only; remove `changes`".to_owned(),
                later => format!("the versions that can have changes are {later:?}"),
            };
            return Err(Box::new(YamlError::new(
                &path,
                text,
                Changes::place(text, *unknown, 0, "says"),
                message,
                Some(help),
            )));
        }
        let own = changes.remove(since).unwrap_or_default();
        for (number, change) in own.iter().enumerate() {
            if let Some(unknown) = spec.unknown_name(change) {
                let place = Changes::place(text, *since, number, unknown);
                let message = format!("a condition names '{unknown}', which {} does not have", spec.version);
                let help = Some(format!("name a type parameter, input or output as {} does", spec.version));
                return Err(Box::new(YamlError::new(&path, text, place, message, help)));
            }
        }
        let has =
            |name: &String| spec.attributes.contains_key(name) || spec.inputs.iter().any(|input| input.name == *name);
        spec.facts = facts.of_version(*since, has);
        spec.changes = own;
        Ok(())
    }

    /// Error that points at the first line that contradicts the path.
    fn misplaced(&self, expected: &OperatorVersion, path: &str, found: &OperatorVersion) -> SpecError {
        let text = self.file(path).unwrap_or_default();
        let key = if found.name != expected.name {
            "op:"
        } else if found.domain != expected.domain {
            "domain:"
        } else {
            "since:"
        };
        let line = text.lines().position(|line| line.starts_with(key)).map_or(1, |index| index + 1);
        let correct_path = path_of(found);
        let help = match self.text(found) {
            Some(_) => {
                format!("{found} is already in {}; correct the line or remove this file", self.display(&correct_path))
            }
            None => format!("correct the line, or move the file to {}", self.display(&correct_path)),
        };
        let name = |version: &OperatorVersion| {
            if found.domain == expected.domain { version.to_string() } else { version.qualified() }
        };
        let message = format!("the path is that of {}, but the file describes {}", name(expected), name(found));
        let place = (line, key.len() + 2);
        SpecError::Misplaced(Box::new(YamlError::new(&self.display(path), text, place, message, Some(help))))
    }
}

/// The path of an operator version's file.
fn path_of(version: &OperatorVersion) -> String {
    format!("{}/{}/{}.yaml", version.domain, version.name, version.since)
}

/// Kind of file expected at a path under the folder.
enum ExpectedFile {
    Version(OperatorVersion),
    Other,
}

fn expected_file(path: &str) -> Option<ExpectedFile> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["exclusions.yaml" | "recipes.yaml" | "releases.yaml" | "texts.yaml" | "types.yaml"]
        | ["graphs" | "ir" | "documents", _]
        | ["next", "releases.yaml" | "texts.yaml"]
        | [_, _, "op.yaml" | "text.yaml"]
        | [_, _, "cases", _] => Some(ExpectedFile::Other),
        [domain, name, file] => {
            let since = file.strip_suffix(".yaml")?.parse().ok()?;
            Some(ExpectedFile::Version(OperatorVersion {
                domain: (*domain).to_owned(),
                name: (*name).to_owned(),
                since,
            }))
        }
        _ => None,
    }
}
