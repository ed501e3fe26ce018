//! The vendored cases of an ONNX release, indexed by its list of checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use onnx_conformance_reference::spec::yaml;
use serde::Deserialize;

use crate::case::{Case, Evidence, Feed, UpstreamOverride, read_folder, read_text};
use crate::compare::Accuracy;
use crate::suite::upstream::rejudge;
use crate::suite::{CaseGroup, Source, SuiteError};

/// What stands behind a case's name where the function body takes the place of the operator.
const EXPANDED: &str = "_expanded";

/// The vendored cases of an ONNX release.
#[derive(Debug)]
pub struct VendoredCases {
    folder: PathBuf,
    prefix: String,
    rules: OnceLock<Rules>,
    expanded: OnceLock<BTreeSet<String>>,
}

/// `tolerances.yaml`: what upstream's runner knows of the cases besides their files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    release: String,
    cases: BTreeMap<String, usize>,
    #[expect(clippy::zero_sized_map_values, reason = "the names are what the file says; only one is known")]
    inputs: BTreeMap<String, Inputs>,
    default: Tolerance,
    exceptions: BTreeMap<String, Tolerance>,
}

/// Where the inputs of a group come from that has no files for them.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Inputs {
    Ramp,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tolerance {
    rtol: f64,
    atol: f64,
}

impl VendoredCases {
    /// The cases in the folder of a release, called as the release is. No file is read before it is needed.
    pub fn new(folder: &Path) -> VendoredCases {
        let release = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let prefix = format!("onnx-{release}");
        VendoredCases { folder: folder.to_owned(), prefix, rules: OnceLock::new(), expanded: OnceLock::new() }
    }

    fn rules(&self) -> Result<&Rules, SuiteError> {
        if let Some(rules) = self.rules.get() {
            return Ok(rules);
        }
        let path = self.folder.join("tolerances.yaml");
        let wrong = |rule: String| SuiteError::File { path: path.clone(), rule };
        let rules: Rules =
            yaml::read(&path.display().to_string(), &read(&path)?).map_err(|error| wrong(error.message))?;
        if self.prefix != format!("onnx-{}", rules.release) {
            return Err(wrong(format!(
                "is about release {}, not the one that its folder is called after",
                rules.release
            )));
        }
        Ok(self.rules.get_or_init(|| rules))
    }

    /// The case that an id of this corpus names, in the form that the files use.
    fn case_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        id.strip_prefix(&self.prefix)?.strip_prefix('/')
    }

    /// The cases that are there a second time with the function body in the place of its operator.
    fn expanded(&self) -> Result<&BTreeSet<String>, SuiteError> {
        if let Some(expanded) = self.expanded.get() {
            return Ok(expanded);
        }
        let checksums = read(&self.folder.join("SHA256SUMS"))?;
        let expanded = listed(&checksums).filter_map(|case| Some(case.split_once(EXPANDED)?.0.to_owned())).collect();
        Ok(self.expanded.get_or_init(|| expanded))
    }

    fn accuracy(rules: &Rules, case: &str) -> Accuracy {
        let tolerance = rules.exceptions.get(case).unwrap_or(&rules.default);
        Accuracy::Close { relative: tolerance.rtol, absolute: tolerance.atol }
    }

    fn feed(rules: &Rules, case: &str) -> Feed {
        match case.split_once('/').and_then(|(group, _)| rules.inputs.get(group)) {
            Some(Inputs::Ramp) => Feed::Ramp,
            None => Feed::Files,
        }
    }
}

/// The cases of a list of checksums.
fn listed(checksums: &str) -> impl Iterator<Item = &str> {
    checksums.lines().filter_map(|line| line.split_once("  ")?.1.strip_suffix("/model.onnx"))
}

fn read(path: &Path) -> Result<String, SuiteError> {
    read_text(path).map_err(|error| SuiteError::Io { path: path.to_owned(), error })
}

impl Source for VendoredCases {
    /// As many cases as `tolerances.yaml` records: a corpus that collapsed is none.
    fn units(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        let path = self.folder.join("SHA256SUMS");
        let checksums = read(&path)?;
        let cases: Vec<&str> = listed(&checksums).collect();
        for (group, &recorded) in &self.rules()?.cases {
            let of_group = |case: &&&str| case.split_once('/').is_some_and(|(name, _)| name == group);
            let found = cases.iter().filter(of_group).count();
            if found != recorded {
                let rule =
                    format!("lists {found} cases of {group}, but {recorded} are recorded; vendor the release again");
                return Err(SuiteError::File { path, rule });
            }
        }
        Ok(cases.iter().map(|case| CaseGroup { name: format!("{}/{case}", self.prefix) }).collect())
    }

    fn unit(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        // A case is there where its model is; the list of checksums is long, and read only to list all.
        let is_there = |case: &&str| !case.contains("..") && self.folder.join(case).join("model.onnx").is_file();
        Ok(self.case_of(name).filter(is_there).map(|_| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, unit: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(vec![unit.name.clone()])
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        read(&self.folder.join("SHA256SUMS"))
    }

    fn load(&self, unit: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let Some(name) = self.case_of(&unit.name).filter(|_| wanted(&unit.name)) else { return Ok(Vec::new()) };
        let (folder, rules) = (self.folder.join(name), self.rules()?);
        let mut case = read_folder(&unit.name, &folder, &Self::accuracy(rules, name), Self::feed(rules, name))?;
        rejudge(&mut case);
        // What is drawn differs between an operator and its body.
        let is_drawn = matches!(case.judged, Some(UpstreamOverride::Draws | UpstreamOverride::Dropout));
        if !is_drawn && self.expanded()?.contains(name) {
            case.confirm(Evidence::Body);
        }
        Ok(vec![case])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendored_case_is_found_by_its_name() {
        let corpus = VendoredCases::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/onnx/1.23.2"));
        let units = corpus.units().unwrap();
        assert!(units.iter().all(|unit| corpus.unit(&unit.name).unwrap().as_ref() == Some(unit)));
        for name in ["onnx-1.23.2/node/test_no_such", "onnx-1.23.2/node", "onnx-1.23.2/simple/../node/test_abs"] {
            assert_eq!(corpus.unit(name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_no_release_is_an_error() {
        let corpus = VendoredCases::new(Path::new("no/such/folder"));
        assert!(corpus.units().is_err());
        assert_eq!(corpus.unit("ai.onnx/Sum-13").unwrap(), None);
    }
}
