//! Backend tests of an ONNX release as cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::case::{
    Case, DataSet, Evidence, Expected, ExpectedOutput, Feed, FolderInMemory, Level, UpstreamOverride, read_files,
};
use crate::compare::{Accuracy, UPSTREAM_ABSOLUTE, UPSTREAM_RELATIVE};
use crate::suite::defects::{Defect, Defects};
use crate::suite::releases::{FullTest, Releases, Tolerance};
use crate::suite::upstream::rejudge;
use crate::suite::{CaseGroup, Source, SuiteError};

/// Suffix of a case whose operator is replaced by its function body.
const EXPANDED: &str = "_expanded";

/// The group whose inputs are made by upstream's runner.
const RAMP: &str = "light/";

/// Default tolerance of upstream's runner.
const DEFAULT_TOLERANCE: Tolerance = Tolerance { rtol: UPSTREAM_RELATIVE, atol: UPSTREAM_ABSOLUTE };

/// Backend tests of an ONNX release as cases, with ids such as `onnx-1.7.0/node/test_abs`.
#[derive(Debug)]
pub struct VendoredCases {
    releases: Arc<Releases>,
    /// Index of the release.
    number: usize,
    prefix: String,
    defects: Arc<Defects>,
    expanded: OnceLock<BTreeSet<String>>,
}

impl VendoredCases {
    /// Returns the tests of every release, oldest first.
    pub fn all(releases: &Arc<Releases>) -> Result<Vec<VendoredCases>, SuiteError> {
        let defects = Arc::new(Defects::parse(&releases.defects()?)?);
        Ok((0..releases.all().len()).map(|number| VendoredCases::new(releases, number, &defects)).collect())
    }

    /// Returns the tests of the newest embedded release.
    pub fn newest() -> Result<VendoredCases, SuiteError> {
        let releases = Releases::embedded()?;
        let missing = || SuiteError::File { path: "testdata/onnx".into(), rule: "contains no release".to_owned() };
        VendoredCases::all(&releases)?.pop().ok_or_else(missing)
    }

    /// Returns the tests of the release at this index, with the known defects.
    pub fn new(releases: &Arc<Releases>, number: usize, defects: &Arc<Defects>) -> VendoredCases {
        let release = releases.all().get(number).map_or("", |release| &release.release);
        VendoredCases {
            releases: Arc::clone(releases),
            number,
            prefix: format!("onnx-{release}"),
            defects: Arc::clone(defects),
            expanded: OnceLock::new(),
        }
    }

    fn release(&self) -> &str {
        self.prefix.trim_start_matches("onnx-")
    }

    /// Returns the test of an id of this release.
    fn test_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        id.strip_prefix(&self.prefix)?.strip_prefix('/')
    }

    /// Returns the tests that also exist with the function body in place of the operator.
    fn expanded(&self) -> Result<&BTreeSet<String>, SuiteError> {
        if let Some(expanded) = self.expanded.get() {
            return Ok(expanded);
        }
        let tests = self.releases.index(self.number)?.tests.keys();
        let expanded = tests.filter_map(|test| Some(test.split_once(EXPANDED)?.0.to_owned())).collect();
        Ok(self.expanded.get_or_init(|| expanded))
    }

    fn tolerance(&self, test: &str) -> Tolerance {
        let release = self.releases.all().get(self.number);
        release.and_then(|release| release.exceptions.get(test)).copied().unwrap_or(DEFAULT_TOLERANCE)
    }

    /// Reads a test of some release as the case of an id, with the tolerances of this release's runner.
    fn read(&self, number: usize, id: &str, test: &str) -> Result<Option<Case>, SuiteError> {
        let Some(files) = self.releases.read_test(number, test)? else { return Ok(None) };
        let Tolerance { rtol, atol } = self.tolerance(test);
        let accuracy = Accuracy::Close { relative: rtol, absolute: atol };
        let feed = if test.starts_with(RAMP) { Feed::Ramp } else { Feed::Files };
        let folder = FolderInMemory { files: &files, path: &self.place(test) };
        Ok(Some(read_files(id, folder, &accuracy, feed)?))
    }

    /// Returns a test whose values cannot be read: its model, for which no answer is correct.
    fn unreadable(&self, id: &str, test: &str) -> Result<Option<Case>, SuiteError> {
        let model = self.releases.read_test(self.number, test)?.and_then(|mut files| files.remove("model.onnx"));
        let outputs = vec![ExpectedOutput { name: "any".to_owned(), expected: Expected::AnyOf(Vec::new()) }];
        Ok(model.map(|model| Case {
            level: Level::Open,
            ..Case::new(id, model, vec![DataSet { inputs: Vec::new(), outputs }])
        }))
    }

    /// Returns the path of a test for messages.
    fn place(&self, test: &str) -> PathBuf {
        Path::new("testdata/onnx").join(self.release()).join(test)
    }

    fn apply_defect(&self, case: &mut Case, test: &str) -> Result<(), SuiteError> {
        let Some(defect) = self.defects.find(self.release(), test) else { return Ok(()) };
        let later = match &defect.outputs_of {
            None => None,
            Some(release) => {
                let later = self.releases.find(release).map(|number| self.read(number, &case.id, test)).transpose()?;
                let missing = || {
                    let rule =
                        format!("defects.yaml refers to the outputs of {test} in ONNX {release}, which does not exist");
                    SuiteError::File { path: self.place(test), rule }
                };
                Some(later.flatten().ok_or_else(missing)?)
            }
        };
        defect.apply(case, later);
        Ok(())
    }
}

impl Source for VendoredCases {
    fn common_prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }

    fn is_default(&self) -> bool {
        self.number + 1 == self.releases.all().len()
    }

    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        let tests = self.releases.index(self.number)?.tests.keys();
        Ok(tests.map(|test| CaseGroup { name: format!("{}/{test}", self.prefix) }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        let Some(test) = self.test_of(name) else { return Ok(None) };
        let is_there = self.releases.index(self.number)?.tests.contains_key(test);
        Ok(is_there.then(|| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(vec![group.name.clone()])
    }

    fn content(&self, group: &CaseGroup) -> Result<Option<String>, SuiteError> {
        let Some(test) = self.test_of(&group.name) else { return Ok(None) };
        let Some(FullTest { origin, .. }) = self.releases.test(self.number, test)? else { return Ok(None) };
        let Tolerance { rtol, atol } = self.tolerance(test);
        let defect = self.defects.find(self.release(), test).map_or(String::new(), |defect| format!("{defect:?}"));
        Ok(Some(format!("{origin} {test} {rtol} {atol} {defect}")))
    }

    fn files(&self, id: &str) -> Result<BTreeMap<String, Bytes>, SuiteError> {
        let Some(test) = self.test_of(id) else { return Ok(BTreeMap::new()) };
        Ok(self.releases.read_test(self.number, test)?.unwrap_or_default())
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        self.releases.fingerprint(self.number)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let Some(test) = self.test_of(&group.name).filter(|_| wanted(&group.name)) else { return Ok(Vec::new()) };
        let read = match self.read(self.number, &group.name, test) {
            Err(SuiteError::Case(_)) if self.defects.find(self.release(), test).is_some_and(Defect::is_open) => {
                self.unreadable(&group.name, test)?
            }
            read => read?,
        };
        let Some(mut case) = read else { return Ok(Vec::new()) };
        self.apply_defect(&mut case, test)?;
        rejudge(&mut case);
        // Random values differ between an operator and its body.
        let is_drawn = matches!(case.judged, Some(UpstreamOverride::Draws | UpstreamOverride::Dropout));
        if !is_drawn && self.expanded()?.contains(test) {
            case.confirm(&Evidence::Body);
        }
        Ok(vec![case])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::Specs;

    #[test]
    fn a_vendored_case_is_found_by_its_name() {
        let cases = VendoredCases::newest().unwrap();
        let groups = cases.groups().unwrap();
        assert!(groups.iter().all(|group| cases.find_group(&group.name).unwrap().as_ref() == Some(group)));
        let newest = Specs::embedded().newest_release();
        for name in ["node/test_no_such", "node", "simple/../node/test_abs"] {
            let name = format!("onnx-{newest}/{name}");
            assert_eq!(cases.find_group(&name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_folder_without_releases_is_an_error() {
        assert!(Releases::from_folder(Path::new("no/such/folder")).is_err());
    }
}
