//! Folders of ordinary ONNX test folders: another release, a model zoo, a user's own tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::case::{Case, Feed, read_folder};
use crate::compare::{Accuracy, UPSTREAM};
use crate::suite::upstream::rejudge;
use crate::suite::walk::{walk, walk_to_depth};
use crate::suite::{CaseGroup, Source, SuiteError};

/// All folders below one that contain a `model.onnx`.
#[derive(Debug)]
pub struct FolderSuite {
    /// The folder of each case by its id.
    folders: BTreeMap<String, PathBuf>,
    /// Largest total size in bytes of the files of a case.
    memory: Option<u64>,
}

impl FolderSuite {
    /// Finds the test folders at and below `folder`. A case's id is its path from there.
    pub fn open(folder: &Path) -> Result<FolderSuite, SuiteError> {
        let mut folders = BTreeMap::new();
        for entry in walk(folder) {
            let entry = entry?;
            if entry.is_named("model.onnx") {
                let home = entry.path.parent().unwrap_or(folder);
                if let Some(other) = folders.insert(id(folder, home), home.to_owned()) {
                    let rule =
                        format!("has the same id as {}: {}; rename one of them", other.display(), id(folder, home));
                    return Err(SuiteError::File { path: home.to_owned(), rule });
                }
            }
        }
        if folders.is_empty() {
            let rule =
                "no folder here contains a model.onnx; a test folder has model.onnx and test_data_set_0/".to_owned();
            return Err(SuiteError::File { path: folder.to_owned(), rule });
        }
        Ok(FolderSuite { folders, memory: None })
    }

    /// Keeps the cases outside these folders. Returns `None` if no case remains.
    pub(super) fn outside(mut self, roots: &[PathBuf]) -> Option<FolderSuite> {
        self.folders.retain(|_, home| !roots.iter().any(|root| home.starts_with(root)));
        (!self.folders.is_empty()).then_some(self)
    }
}

/// Returns the path from the suite's folder, with `/`. For the folder itself, returns its name.
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
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(self.folders.keys().map(|id| CaseGroup { name: id.clone() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(self.folders.contains_key(name).then(|| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(vec![group.name.clone()])
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(self.folders.keys().map(String::as_str).collect::<Vec<_>>().join("\n"))
    }

    fn limit(&mut self, memory: u64) {
        self.memory = Some(memory);
    }

    fn remark(&self) -> Option<String> {
        let Accuracy::Close { relative, absolute } = UPSTREAM else { return None };
        Some(format!(
            "without a manifest, floating outputs are judged by the tolerance of upstream's runner: {relative:e} relative, \
             {absolute:e} absolute ({} cases)",
            self.folders.len()
        ))
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        if !wanted(&group.name) {
            return Ok(Vec::new());
        }
        let Some(home) = self.folders.get(&group.name) else { return Ok(Vec::new()) };
        let is_value = |path: &Path| path.extension().is_some_and(|end| end == "pb");
        let values = walk_to_depth(home, 2).filter_map(Result::ok).map(|entry| entry.path);
        let files = values.filter(|path| is_value(path)).chain([home.join("model.onnx")]);
        SuiteError::check_size(self.memory, files, || Case::without_data(&group.name))?;
        let mut case = read_folder(&group.name, home, &UPSTREAM, Feed::Files)?;
        rejudge(&mut case);
        Ok(vec![case])
    }
}
