//! Cases from the specs, one group per operator version.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use onnx_conformance_reference::spec::{OperatorVersion, OperatorVersionError, Specs, case_file};

use crate::case::{Case, TextRelease, digest, digest_of_texts, read_text};
use crate::generate::{GenerateError, OperatorCatalog, cases, ids};
use crate::suite::records::{RecordParts, digest_of_sources, path_of};
use crate::suite::walk::walk;
use crate::suite::{CaseGroup, Source, SuiteError};

/// Cases from the specs.
#[derive(Debug)]
pub struct Generated {
    /// The op.yaml files of a folder; `None` for the embedded ones.
    given: Option<OperatorCatalog>,
    /// The release whose texts decide the levels.
    text: TextRelease,
}

/// The records of the operators, each read on first use.
static RECORDS: LazyLock<BTreeMap<String, OnceLock<Option<Record>>>> = LazyLock::new(|| {
    let specs = Specs::embedded();
    let entries = |domain| specs.operators(domain).map(move |name| (format!("{domain}/{name}"), OnceLock::new()));
    specs.domains().flat_map(entries).collect()
});

/// The record of an operator. It is fresh if it was made from the embedded files.
#[derive(Debug)]
struct Record {
    parts: RecordParts<'static>,
    is_fresh: bool,
}

impl Generated {
    /// Returns the cases of the embedded op.yaml files. Each file is read when it is needed, once in a process.
    pub fn embedded() -> Generated {
        Generated { given: None, text: TextRelease::newest() }
    }

    /// Returns the cases of these op.yaml files.
    pub fn new(operators: OperatorCatalog) -> Generated {
        Generated { given: Some(operators), text: TextRelease::newest() }
    }

    /// Returns the cases with their levels by the texts of this release, instead of the suite's release.
    #[must_use]
    pub fn by_text(self, text: TextRelease) -> Generated {
        Generated { text, ..self }
    }

    fn operators(&self) -> &OperatorCatalog {
        match &self.given {
            Some(given) => given,
            None => OperatorCatalog::shared(),
        }
    }

    /// Returns the record of an operator; `None` for op.yaml files of a folder.
    fn record(&self, version: &OperatorVersion) -> Option<&'static Record> {
        if self.given.is_some() {
            return None;
        }
        let operator = format!("{}/{}", version.domain, version.name);
        let read = || {
            let parts = RecordParts::embedded(&operator)?;
            let is_fresh = parts.source == digest_of_sources(&operator);
            Some(Record { parts, is_fresh })
        };
        RECORDS.get(&operator)?.get_or_init(read).as_ref()
    }
}

/// Reads the op.yaml files below a folder of specs. With the feature `next`, those of its folder `next` replace others.
pub fn read_operators(folder: &Path) -> Result<OperatorCatalog, SuiteError> {
    let mut files = Vec::new();
    let next = folder.join("next");
    for root in [folder, &next].into_iter().take(if cfg!(feature = "next") && next.is_dir() { 2 } else { 1 }) {
        read_files(root, &mut files)?;
    }
    Ok(OperatorCatalog::new(&folder.display().to_string(), files))
}

fn read_files(root: &Path, files: &mut Vec<(String, String)>) -> Result<(), SuiteError> {
    for entry in walk(root) {
        let entry = entry?;
        let path = entry.path.as_path();
        let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        if ["recipes.yaml", "types.yaml"].contains(&relative.as_str()) || case_file(&relative).is_some() {
            let text = read_text(path).map_err(|error| SuiteError::Io { path: path.to_owned(), error })?;
            files.push((relative, text));
        }
    }
    Ok(())
}

impl From<GenerateError> for SuiteError {
    fn from(error: GenerateError) -> SuiteError {
        SuiteError::Generate(Box::new(error))
    }
}

impl Source for Generated {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        let operators = self.operators();
        let versions = Specs::embedded().all().filter(|version| operators.has(version) && can_be_made(version));
        Ok(versions.map(|version| CaseGroup { name: version.qualified() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        let known = |version: &OperatorVersion| {
            let mut versions = Specs::embedded().versions(&version.domain, &version.name);
            version.qualified() == name
                && versions.any(|since| since == version.since)
                && self.operators().has(version)
                && can_be_made(version)
        };
        Ok(name.parse().ok().filter(known).map(|version| CaseGroup { name: version.qualified() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        let version = version(group)?;
        let record = self.record(&version).filter(|record| record.is_fresh);
        if let Some(ids) = record.and_then(|record| record.parts.ids(&group.name, version.since)) {
            return Ok(ids);
        }
        let mut ids = ids(self.operators(), &version)?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let mut cases = cases(self.operators(), &version(group)?, wanted)?;
        for case in &mut cases {
            case.judge_by(self.text);
        }
        Ok(cases)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(digest_of_texts(self.operators().texts()))
    }

    fn check(&self, group: &CaseGroup, cases: &[Case]) -> Result<(), SuiteError> {
        // Records have the levels by the text of the suite's release.
        if self.text != TextRelease::newest() {
            return Ok(());
        }
        let version = version(group)?;
        // The contents of a development build may change, so they have no record.
        if Specs::is_next(&version) {
            return Ok(());
        }
        let recorded = self.record(&version).and_then(|record| record.parts.digest(version.since));
        if self.given.is_some() || recorded.is_some_and(|recorded| recorded == digest(cases)) {
            return Ok(());
        }
        let path = path_of(&format!("{}/{}", version.domain, version.name));
        let rule = format!("the cases of {version} have changed; if that is intended, run `cargo xtask gen`");
        Err(SuiteError::File { path: path.into(), rule })
    }
}

/// Returns true if the built-in executor, which makes expected outputs, has the operator. Images need the feature
/// `images`.
fn can_be_made(version: &OperatorVersion) -> bool {
    cfg!(feature = "images") || version.name != "ImageDecoder"
}

fn version(group: &CaseGroup) -> Result<OperatorVersion, SuiteError> {
    let file_error =
        |error: OperatorVersionError| SuiteError::File { path: (&group.name).into(), rule: error.to_string() };
    group.name.parse().map_err(file_error)
}
