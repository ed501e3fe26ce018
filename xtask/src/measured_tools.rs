//! The files of measured tools in the tree.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use onnx_conformance_harness::expectations::{Expectations, version_key};
use walkdir::WalkDir;

use crate::workspace;

/// Folder of the measurements of tools.
const FOLDER: &str = "expectations/tools";

/// Returns the measurements of tools, sorted by tool, then by version. They are read once.
pub(crate) fn measurements() -> Result<&'static [Expectations]> {
    static FILES: OnceLock<Vec<Expectations>> = OnceLock::new();
    if let Some(files) = FILES.get() {
        return Ok(files);
    }
    let parse = |(path, text): (String, String)| Expectations::parse(&path, &text);
    let texts = yaml_files(&workspace::root().join(FOLDER))?;
    let mut files: Vec<Expectations> = texts.into_iter().map(parse).collect::<Result<_, _>>()?;
    let key = |file: &Expectations| (file.runtime.clone(), version_key(file.version.as_deref().unwrap_or_default()));
    files.sort_by_key(key);
    Ok(FILES.get_or_init(|| files))
}

/// Returns the YAML files below a folder, with their paths.
pub(crate) fn yaml_files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let path = entry?.into_path();
        if path.extension().is_some_and(|end| end == "yaml") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            files.push((path.display().to_string(), text));
        }
    }
    Ok(files)
}
