//! The cases from the specs, one unit an operator version.

use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::case::Case;
use crate::generate::{GenerateError, cases, has_cases, ids};
use crate::suite::{Source, SuiteError, Unit};

/// The cases from the specs.
#[derive(Debug, Default)]
pub struct Generated;

impl From<GenerateError> for SuiteError {
    fn from(error: GenerateError) -> SuiteError {
        SuiteError::Generate(Box::new(error))
    }
}

impl Source for Generated {
    fn units(&self) -> Vec<Unit> {
        Specs::embedded().all().filter(has_cases).map(|version| Unit { name: version.qualified() }).collect()
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        Ok(ids(&version(unit)?)?)
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(cases(&version(unit)?, wanted)?)
    }
}

fn version(unit: &Unit) -> Result<OperatorVersion, SuiteError> {
    unit.name
        .parse()
        .map_err(|error| SuiteError::Generate(Box::new(GenerateError::Spec(format!("{}: {error}", unit.name)))))
}
