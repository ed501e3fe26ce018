//! Cases about the format itself, one group per file under `specs/ir`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use onnx_conformance_subject::run_folder::RunFolder;

use crate::case::Case;
use crate::generate::Family;
use crate::suite::archived::remove_archived_files;
use crate::suite::hostile::remove_hostile_files;
use crate::suite::topics::Topics;
use crate::suite::{CaseGroup, Source, SuiteError};

static FORMAT: Topics = Topics::new(Family::Format);

/// The files below `testdata/ir/external`, by relative path.
static DATA: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/external.rs"));

/// The folder with the embedded data. It outlives the suite, since cases refer to it.
static WRITTEN: Mutex<Option<RunFolder>> = Mutex::new(None);

/// Removes the temporary folders of models with external data. A program calls it before it exits.
pub fn remove_temporary() {
    // A folder that cannot be removed does no harm.
    drop(WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).take());
    remove_hostile_files();
    remove_archived_files();
}

/// Cases about the format itself.
#[derive(Debug)]
pub struct IrCases {
    data: Data,
}

/// Location of external data.
#[derive(Debug)]
enum Data {
    /// A folder.
    Folder(PathBuf),
    /// The program itself. The data is written to a temporary folder when the first model needs it.
    Embedded,
}

impl IrCases {
    /// Returns the cases of the embedded files. External data is in the folder `testdata`.
    pub fn new(testdata: &Path) -> IrCases {
        IrCases { data: Data::Folder(testdata.join("ir").join("external")) }
    }

    /// Returns the cases of the embedded files, with the embedded external data. Its temporary folder stays until
    /// [`remove_temporary`] is called.
    pub fn embedded() -> IrCases {
        IrCases { data: Data::Embedded }
    }

    /// Returns the folder of external data.
    fn folder(&self) -> Result<PathBuf, SuiteError> {
        if let Data::Folder(folder) = &self.data {
            return Ok(folder.clone());
        }
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*written {
            return Ok(folder.path().to_owned());
        }
        let folder = write_data().map_err(|error| {
            let hint = "temporary files are written here; set TMPDIR to a writable folder, or pass `testdata` of a \
                        checkout with --testdata";
            let error = io::Error::new(error.kind(), format!("{error}; {hint}"));
            SuiteError::Io { path: std::env::temp_dir(), error }
        })?;
        Ok(written.insert(folder).path().to_owned())
    }
}

impl Source for IrCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(FORMAT.groups())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(FORMAT.find_group(name))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        FORMAT.ids(group)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        FORMAT.load(group, &self.folder()?, wanted)
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(Family::Format.prefix())
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(FORMAT.fingerprint())
    }

    fn fingerprints(&self) -> Result<BTreeMap<String, String>, SuiteError> {
        Ok(FORMAT.fingerprints())
    }
}

/// Writes the data into a new temporary folder.
fn write_data() -> io::Result<RunFolder> {
    let folder = RunFolder::new_in(&std::env::temp_dir())?;
    for (name, bytes) in DATA {
        let path = folder.path().join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_data_is_that_of_the_project() {
        let project = IrCases::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")).folder().unwrap();
        let embedded = IrCases::embedded().folder().unwrap();
        for name in ["weights.bin", "below/more.bin"] {
            assert_eq!(fs::read(embedded.join(name)).unwrap(), fs::read(project.join(name)).unwrap(), "{name}");
        }
        assert_eq!(IrCases::embedded().folder().unwrap(), embedded);
    }
}
