//! The cases of the format itself, one unit a file under `specs/ir`.

use std::path::{Path, PathBuf};

use crate::case::{Case, digest_of_texts};
use crate::generate::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
use crate::suite::{Source, SuiteError, Unit};

/// The cases of the format itself.
#[derive(Debug)]
pub struct Ir {
    /// Holds the data that models keep outside themselves.
    folder: PathBuf,
}

impl Ir {
    /// The cases of the files that the program was built with. Data outside of models is under `testdata`.
    pub fn new(testdata: &Path) -> Ir {
        Ir { folder: testdata.join("ir").join("external") }
    }

    fn file(unit: &Unit) -> Result<IrFile, SuiteError> {
        let found = embedded_ir().find(|(name, _)| *name == unit.name);
        let missing = || SuiteError::File { path: (&unit.name).into(), rule: "there is no such file of cases".into() };
        let (name, text) = found.ok_or_else(missing)?;
        Ok(read_ir(&name, text)?)
    }
}

impl Source for Ir {
    fn units(&self) -> Result<Vec<Unit>, SuiteError> {
        Ok(embedded_ir().map(|(name, _)| Unit { name }).collect())
    }

    fn unit(&self, name: &str) -> Result<Option<Unit>, SuiteError> {
        Ok(embedded_ir().find(|(other, _)| other == name).map(|(name, _)| Unit { name }))
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        let mut ids = ir_ids(&Self::file(unit)?);
        ids.sort_unstable();
        Ok(ids)
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(ir_cases(&Self::file(unit)?, &self.folder, wanted)?)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        let texts: Vec<&str> = embedded_ir().map(|(_, text)| text).collect();
        Ok(digest_of_texts(texts))
    }
}
