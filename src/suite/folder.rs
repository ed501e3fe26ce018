//! Any folder of ordinary ONNX test folders: another release, a model zoo, a user's own.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::case::{Case, Feed, read_folder};
use crate::compare::Accuracy;
use crate::suite::upstream::rejudge;
use crate::suite::{Source, SuiteError, Unit};

/// The tolerances of upstream's runner, which hold where a folder says nothing else.
const UPSTREAM: Accuracy = Accuracy::Close { relative: 1e-3, absolute: 1e-7 };

/// Every folder below one that holds a `model.onnx`.
#[derive(Debug)]
pub struct FolderSuite {
    folder: PathBuf,
    cases: Vec<String>,
}

impl FolderSuite {
    /// Finds the test folders at and below `folder`. A case's id is its path from there.
    pub fn open(folder: &Path) -> Result<FolderSuite, SuiteError> {
        let mut cases = Vec::new();
        for entry in WalkDir::new(folder).follow_links(false).sort_by_file_name() {
            let entry = entry.map_err(|error| SuiteError::walk(folder, error))?;
            if entry.file_name() == "model.onnx" {
                let home = entry.path().parent().unwrap_or(folder);
                cases.push(id(folder, home));
            }
        }
        if cases.is_empty() {
            let rule =
                "no folder here holds a model.onnx; a test folder has model.onnx and test_data_set_0/".to_owned();
            return Err(SuiteError::File { path: folder.to_owned(), rule });
        }
        Ok(FolderSuite { folder: folder.to_owned(), cases })
    }
}

impl FolderSuite {
    /// The cases that are in none of these folders; nothing where no case is left.
    pub(super) fn outside(mut self, roots: &[PathBuf]) -> Option<FolderSuite> {
        self.cases.retain(|case| !roots.iter().any(|root| self.folder.join(case).starts_with(root)));
        (!self.cases.is_empty()).then_some(self)
    }
}

/// The path from the suite's folder, in `/`; for the folder itself, its name.
fn id(folder: &Path, home: &Path) -> String {
    let relative = home.strip_prefix(folder).unwrap_or(home);
    let parts: Vec<String> =
        relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    match (parts.is_empty(), folder.file_name()) {
        (true, Some(name)) => name.to_string_lossy().into_owned(),
        (true, None) => "model".to_owned(),
        (false, _) => parts.join("/"),
    }
}

impl Source for FolderSuite {
    fn units(&self) -> Result<Vec<Unit>, SuiteError> {
        Ok(self.cases.iter().map(|case| Unit { name: case.clone() }).collect())
    }

    fn unit(&self, name: &str) -> Result<Option<Unit>, SuiteError> {
        Ok(self.cases.iter().find(|case| *case == name).map(|case| Unit { name: case.clone() }))
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        Ok(vec![unit.name.clone()])
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(self.cases.join("\n"))
    }

    fn remark(&self) -> Option<String> {
        let Accuracy::Close { relative, absolute } = UPSTREAM else { return None };
        let folder = self.folder.display();
        Some(format!(
            "{folder}: without a manifest, floating outputs are judged by the tolerance of upstream's runner: {relative:e} \
             relative, {absolute:e} absolute"
        ))
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        if !wanted(&unit.name) {
            return Ok(Vec::new());
        }
        let below = self.folder.join(&unit.name);
        let home = if below.join("model.onnx").is_file() { below } else { self.folder.clone() };
        let mut case = read_folder(&unit.name, &home, &UPSTREAM, Feed::Files)?;
        rejudge(&mut case);
        Ok(vec![case])
    }
}
