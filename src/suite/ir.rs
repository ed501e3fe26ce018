//! The cases of the format itself, one unit a file under `specs/ir`.

use std::path::{Path, PathBuf};

use crate::case::{Case, digest_of_texts};
use crate::generate::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
use crate::suite::{CaseGroup, Source, SuiteError};

/// The cases of the format itself.
#[derive(Debug)]
pub struct IrCases {
    /// Holds the data that models keep outside themselves.
    folder: PathBuf,
}

impl IrCases {
    /// The cases of the files that the program was built with. Data outside of models is under `testdata`.
    pub fn new(testdata: &Path) -> IrCases {
        IrCases { folder: testdata.join("ir").join("external") }
    }

    fn file(unit: &CaseGroup) -> Result<IrFile, SuiteError> {
        let found = embedded_ir().find(|(name, _)| *name == unit.name);
        let missing = || SuiteError::File { path: (&unit.name).into(), rule: "there is no such file of cases".into() };
        let (name, text) = found.ok_or_else(missing)?;
        Ok(read_ir(&name, text)?)
    }
}

impl Source for IrCases {
    fn units(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(embedded_ir().map(|(name, _)| CaseGroup { name }).collect())
    }

    fn unit(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(embedded_ir().find(|(other, _)| other == name).map(|(name, _)| CaseGroup { name }))
    }

    fn ids(&self, unit: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        let mut ids = ir_ids(&Self::file(unit)?);
        ids.sort_unstable();
        Ok(ids)
    }

    fn load(&self, unit: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(ir_cases(&Self::file(unit)?, &self.folder, wanted)?)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        let texts: Vec<&str> = embedded_ir().map(|(_, text)| text).collect();
        Ok(digest_of_texts(texts))
    }
}
