//! The vendored cases of an ONNX release, indexed by its list of checksums.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::case::{Case, Feed, read_folder};
use crate::compare::Accuracy;
use crate::suite::upstream::rejudge;
use crate::suite::{Source, SuiteError, Unit};

/// The vendored cases of an ONNX release.
#[derive(Debug)]
pub struct Corpus {
    folder: PathBuf,
    prefix: String,
    cases: Vec<String>,
    rules: Rules,
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

impl Corpus {
    /// Indexes the cases in the folder of a release, and insists on as many as its `tolerances.yaml` records.
    pub fn open(folder: &Path) -> Result<Corpus, SuiteError> {
        let rules_path = folder.join("tolerances.yaml");
        let rules: Rules = serde_yaml::from_str(&read(&rules_path)?)
            .map_err(|error| SuiteError::File { path: rules_path.clone(), rule: error.to_string() })?;
        let sums = folder.join("SHA256SUMS");
        let cases: Vec<String> = read(&sums)?
            .lines()
            .filter_map(|line| line.split_once("  ")?.1.strip_suffix("/model.onnx").map(str::to_owned))
            .collect();
        for (group, &recorded) in &rules.cases {
            let of_group = |case: &&String| case.split_once('/').is_some_and(|(name, _)| name == group);
            let found = cases.iter().filter(of_group).count();
            if found != recorded {
                let rule =
                    format!("lists {found} cases of {group}, but {recorded} are recorded; vendor the release again");
                return Err(SuiteError::File { path: sums, rule });
            }
        }
        let prefix = format!("onnx-{}", rules.release);
        Ok(Corpus { folder: folder.to_owned(), prefix, cases, rules })
    }

    fn accuracy(&self, case: &str) -> Accuracy {
        let tolerance = self.rules.exceptions.get(case).unwrap_or(&self.rules.default);
        Accuracy::Close { relative: tolerance.rtol, absolute: tolerance.atol }
    }

    fn feed(&self, case: &str) -> Feed {
        match case.split_once('/').and_then(|(group, _)| self.rules.inputs.get(group)) {
            Some(Inputs::Ramp) => Feed::Ramp,
            None => Feed::Files,
        }
    }
}

fn read(path: &Path) -> Result<String, SuiteError> {
    std::fs::read_to_string(path).map_err(|source| SuiteError::Io { path: path.to_owned(), source })
}

impl Source for Corpus {
    fn units(&self) -> Vec<Unit> {
        self.cases.iter().map(|case| Unit { name: format!("{}/{case}", self.prefix) }).collect()
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        Ok(vec![unit.name.clone()])
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let case = unit.name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_prefix('/'));
        let Some(case) = case.filter(|_| wanted(&unit.name)) else { return Ok(Vec::new()) };
        let folder = self.folder.join(case);
        let mut case = read_folder(&unit.name, &folder, &self.accuracy(case), self.feed(case))?;
        rejudge(&mut case);
        Ok(vec![case])
    }
}
