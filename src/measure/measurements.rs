//! Every measurement that comes with the program.

use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;

use crate::expectations::{ExpectationError, version_key};
use crate::measure::digests::MeasuredDigests;
use crate::measure::measurement::Measurement;

/// Every measurement, and the digests beside it, compressed, as they were when the program was built, by name, sorted.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/measurements.rs"));

/// The measurements of the project, of which each file is read when it is first needed.
#[derive(Debug)]
pub struct Measurements {
    /// By runtime, then by version.
    files: Vec<MeasuredFile>,
}

#[derive(Debug)]
struct MeasuredFile {
    name: &'static str,
    runtime: &'static str,
    version: &'static str,
    read: OnceLock<Measurement>,
}

impl Measurements {
    /// The measurements that the program was built with.
    pub fn embedded() -> &'static Measurements {
        static ALL: OnceLock<Measurements> = OnceLock::new();
        ALL.get_or_init(|| {
            let file = |name: &'static str| {
                let (runtime, version) = name.strip_suffix(".yaml")?.split_once('/')?;
                Some(MeasuredFile { name, runtime, version, read: OnceLock::new() })
            };
            let mut files: Vec<MeasuredFile> = FILES.iter().filter_map(|(name, _)| file(name)).collect();
            files.sort_by_key(|file| (file.runtime, version_key(file.version)));
            Measurements { files }
        })
    }

    /// Each runtime that was measured, with its versions, the oldest first.
    pub fn runtimes(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let mut runtimes: Vec<(&str, Vec<&str>)> = Vec::new();
        for file in &self.files {
            match runtimes.last_mut().filter(|(runtime, _)| *runtime == file.runtime) {
                Some((_, versions)) => versions.push(file.version),
                None => runtimes.push((file.runtime, vec![file.version])),
            }
        }
        runtimes
    }

    /// The measurement of a version of a runtime; nothing where it was not measured.
    pub fn get(&self, runtime: &str, version: &str) -> Result<Option<&Measurement>, ExpectationError> {
        let file = self.files.iter().find(|file| file.runtime == runtime && file.version == version);
        file.map(MeasuredFile::measurement).transpose()
    }

    /// The measurement of the newest version of a runtime.
    pub fn newest(&self, runtime: &str) -> Result<Option<&Measurement>, ExpectationError> {
        self.files.iter().rfind(|file| file.runtime == runtime).map(MeasuredFile::measurement).transpose()
    }

    /// The name and text of the file of a version of a runtime, or of its newest version where that was not measured.
    pub fn text(&self, runtime: &str, version: &str) -> Option<(&'static str, String)> {
        let of_runtime = || self.files.iter().filter(|file| file.runtime == runtime);
        let file = of_runtime().find(|file| file.version == version).or_else(|| of_runtime().next_back())?;
        Some((file.name, text_of(file.name)?))
    }

    /// Every measurement, by runtime, then by version.
    pub fn all(&self) -> Result<Vec<&Measurement>, ExpectationError> {
        self.files.iter().map(MeasuredFile::measurement).collect()
    }
}

impl MeasuredFile {
    fn measurement(&self) -> Result<&Measurement, ExpectationError> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let path = format!("expectations/{}", self.name);
        let digests = MeasuredDigests::path(Path::new(self.name));
        let wrong = |rule: &str| ExpectationError::Header { path: path.clone(), rule: rule.to_owned() };
        let text = text_of(self.name).ok_or_else(|| wrong("is not embedded as a whole; build the program anew"))?;
        let digests = text_of(&digests.to_string_lossy());
        let measurement = Measurement::read(&path, &text, digests.as_deref())?;
        let measurement = measurement.ok_or_else(|| wrong("names no version, which its folder is for"))?;
        if (measurement.runtime(), measurement.version()) != (self.runtime, self.version) {
            return Err(wrong("is about another runtime or version than its folder and name say"));
        }
        Ok(self.read.get_or_init(|| measurement))
    }
}

/// The text of an embedded file.
fn text_of(name: &str) -> Option<String> {
    let at = FILES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    let mut text = String::new();
    ZlibDecoder::new(FILES.get(at)?.1).read_to_string(&mut text).ok()?;
    Some(text)
}
