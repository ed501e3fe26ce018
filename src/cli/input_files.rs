//! Inputs of a model in files: `input_0.pb` and so on, as in the test folders of ONNX.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::{MAX_BINARY, Named, read_file};
use onnx_conformance_reference::proto::{ValueInfoProto, decode};
use onnx_conformance_report::models::TrialInputs;

/// Returns the folder and its subfolders, as far as they contain inputs.
pub(crate) fn folders_of_inputs(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        folders.push(entry.with_context(|| folder.display().to_string())?.path());
    }
    folders.retain(|folder| folder.join("input_0.pb").is_file());
    folders.sort();
    if folders.is_empty() {
        bail!("{}: no input_0.pb in the folder or its subfolders", folder.display());
    }
    Ok(folders)
}

/// Reads the inputs in a folder.
pub(crate) fn inputs_in_folder(folder: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<TrialInputs> {
    let mut inputs = Vec::new();
    for (position, input) in wanted.iter().enumerate() {
        let path = folder.join(format!("input_{position}.pb"));
        let context = || path.display().to_string();
        let declared = input
            .r#type
            .as_ref()
            .context("an input has no type")
            .and_then(|declared| Ok(decode::value_type(declared)?));
        let bytes = read_file(&path, MAX_BINARY).with_context(context)?;
        let value = decode::value(bytes.into(), &declared.with_context(context)?).with_context(context)?;
        inputs.push(Named { name: input.name().to_owned(), value });
    }
    Ok((folder.display().to_string(), inputs))
}
