//! Texts of an onnx package, read from its extension module.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::standard::Texts;
use super::{body, sentence};
use crate::python;

const SCRIPT: &str = include_str!("texts.py");

/// Texts of an operator version, as the script prints them.
#[derive(Deserialize)]
struct Schema {
    version: String,
    doc: String,
    /// Kind, name and description of each attribute, input, output and type parameter.
    parts: Vec<(String, String, String)>,
    /// Function bodies in hexadecimal digits, by opset.
    bodies: BTreeMap<String, String>,
}

/// Reads the texts of the package that is installed for an interpreter.
pub(crate) fn installed(python: &Path) -> Result<Texts> {
    texts(&python::run(python, SCRIPT, &[])?)
}

/// Reads the texts of a wheel, with the `CPython` interpreter that it was built for.
pub(crate) fn of_wheel(wheel: &Path) -> Result<Texts> {
    let file = wheel.file_name().unwrap_or_default().to_string_lossy();
    let tag = file.split('-').nth_back(2).and_then(|tag| tag.strip_prefix("cp3"));
    let minor = tag.with_context(|| format!("{file} is not named like a wheel for CPython 3"))?;
    let version = format!("3.{minor}");
    let python = python::cpython(&version).with_context(|| {
        format!("{file} needs CPython {version}, which is neither on the search path nor below $PYENV_ROOT/versions; install it")
    })?;
    let output = python::run(&python, SCRIPT, &[wheel]).with_context(|| {
        format!("cannot load the extension module of {file}, which runs on the platform of its name only")
    })?;
    texts(&output).with_context(|| format!("cannot read the texts of {file}"))
}

fn texts(output: &[u8]) -> Result<Texts> {
    let schemas: Vec<Schema> =
        serde_json::from_slice(output).context("the output of texts.py is not the expected JSON")?;
    let mut texts = Texts::new();
    for schema in schemas {
        let version = &schema.version;
        let parts = schema.parts.iter().map(|(kind, name, text)| (format!("{version} {kind} {name}"), text));
        for (place, text) in std::iter::once((version.clone(), &schema.doc)).chain(parts) {
            ensure!(!place.contains([',', '#']), "the name of {place} has a comma or a number sign");
            texts.entry(place).or_default().extend(sentence::split(text));
        }
        for (opset, digits) in &schema.bodies {
            let place = format!("{version} body {opset}");
            let sentences = body::sentences(digits, opset).with_context(|| format!("the function body {place}"))?;
            texts.insert(place, sentences);
        }
    }
    texts.retain(|_, sentences| !sentences.is_empty());
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_and_empty_ones_omitted() {
        let output = r#"[{"version": "ai.onnx/A-1", "doc": "One. Two.", "bodies": {},
                          "parts": [["input", "X", "Data"], ["output", "Y", " "]]}]"#;
        let texts = texts(output.as_bytes()).unwrap();
        let places: Vec<(&str, usize)> = texts.iter().map(|(place, it)| (place.as_str(), it.len())).collect();
        assert_eq!(places, [("ai.onnx/A-1", 2), ("ai.onnx/A-1 input X", 1)]);
    }

    #[test]
    fn a_file_that_is_no_wheel_is_refused() {
        let error = of_wheel(Path::new("onnx.zip")).unwrap_err().to_string();
        assert_eq!(error, "onnx.zip is not named like a wheel for CPython 3");
    }
}
