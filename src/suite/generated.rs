//! The cases from the specs, one unit an operator version.

use std::path::Path;

use onnx_conformance_reference::spec::{OperatorVersion, OperatorVersionError, Specs};
use walkdir::WalkDir;

use crate::case::Case;
use crate::generate::{GenerateError, Operators, cases, ids};
use crate::suite::{Source, SuiteError, Unit};

/// The cases from the specs.
#[derive(Debug)]
pub struct Generated {
    operators: Operators,
}

impl Generated {
    /// The cases of the op.yaml files that the program was built with.
    pub fn embedded() -> Generated {
        Generated { operators: Operators::embedded() }
    }

    /// The cases of these op.yaml files.
    pub fn new(operators: Operators) -> Generated {
        Generated { operators }
    }
}

/// Reads the op.yaml files below a folder, as they are now.
pub fn read_operators(folder: &Path) -> Result<Operators, SuiteError> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(|error| SuiteError::Io { path: folder.to_owned(), source: error.into() })?;
        if entry.file_name() == "op.yaml" {
            let path = entry.path();
            let text =
                std::fs::read_to_string(path).map_err(|source| SuiteError::Io { path: path.to_owned(), source })?;
            let relative = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
            files.push((relative, text));
        }
    }
    Ok(Operators::new(&folder.display().to_string(), files))
}

impl From<GenerateError> for SuiteError {
    fn from(error: GenerateError) -> SuiteError {
        SuiteError::Generate(Box::new(error))
    }
}

impl Source for Generated {
    fn units(&self) -> Vec<Unit> {
        let versions = Specs::embedded().all().filter(|version| self.operators.has(version));
        versions.map(|version| Unit { name: version.qualified() }).collect()
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        Ok(ids(&self.operators, &version(unit)?)?)
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(cases(&self.operators, &version(unit)?, wanted)?)
    }
}

fn version(unit: &Unit) -> Result<OperatorVersion, SuiteError> {
    let wrong = |error: OperatorVersionError| SuiteError::File { path: (&unit.name).into(), rule: error.to_string() };
    unit.name.parse().map_err(wrong)
}
