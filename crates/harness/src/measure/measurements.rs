//! The embedded measurements.

use std::io::Read as _;
use std::sync::OnceLock;

use lzma_rust2::LzmaReader;

use crate::expectations::{ExpectationError, HeaderFault, version_key};
use crate::measure::accuracy::{AccuracyError, MeasuredAccuracy};
use crate::measure::digests::MeasuredDigests;
use crate::measure::measurement::Measurement;
use crate::runtimes::at_level;

/// A runtime, its files with the end offset of each in the joined text, and that text, compressed.
type PackedRuntime = (&'static str, &'static [(&'static str, usize)], &'static [u8]);

/// Measurements, their digests and the shares of their error bounds, embedded at build time.
#[expect(clippy::unreadable_literal, reason = "written by the build script")]
static RUNTIMES: &[PackedRuntime] = include!(concat!(env!("OUT_DIR"), "/measurements.rs"));

/// The project's measurements. Each file is parsed on first use.
#[derive(Debug)]
pub struct Measurements {
    /// Sorted by runtime, then by version.
    files: Vec<MeasuredFile>,
}

#[derive(Debug)]
struct MeasuredFile {
    runtime: &'static str,
    version: &'static str,
    read: OnceLock<Measurement>,
    accuracy: OnceLock<Option<MeasuredAccuracy>>,
}

impl Measurements {
    /// Returns the embedded measurements of runtimes as they are used: at the last level of their optimizer.
    pub fn embedded() -> &'static Measurements {
        static ALL: OnceLock<Measurements> = OnceLock::new();
        ALL.get_or_init(|| Measurements::with(|runtime| at_level(runtime).is_none()))
    }

    /// Returns the embedded measurements of runtimes at other levels of their optimizer, such as `onnxruntime-basic`.
    pub fn at_levels() -> &'static Measurements {
        static ALL: OnceLock<Measurements> = OnceLock::new();
        ALL.get_or_init(|| Measurements::with(|runtime| at_level(runtime).is_some()))
    }

    /// Returns the embedded measurements that include those of a runtime, whatever its level.
    pub fn among(runtime: &str) -> &'static Measurements {
        if at_level(runtime).is_some() { Measurements::at_levels() } else { Measurements::embedded() }
    }

    fn with(is_meant: impl Fn(&str) -> bool) -> Measurements {
        let of_runtime = |(runtime, files, _): &PackedRuntime| {
            let runtime = *runtime;
            let versions = files.iter().filter_map(|(name, _)| name.strip_suffix(".yaml"));
            versions.map(move |version| MeasuredFile {
                runtime,
                version,
                read: OnceLock::new(),
                accuracy: OnceLock::new(),
            })
        };
        let meant = RUNTIMES.iter().filter(|(runtime, ..)| is_meant(runtime));
        let mut files: Vec<MeasuredFile> = meant.flat_map(of_runtime).collect();
        files.sort_by_key(|file| (file.runtime, version_key(file.version)));
        Measurements { files }
    }

    /// Returns each measured runtime with its versions, the oldest first.
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

    /// Returns each measured runtime with its versions, as text: `rten (0.27.0), tract (0.23.0, 0.23.9)`.
    pub fn names(&self) -> String {
        let runtimes = self.runtimes().into_iter().map(|(name, versions)| format!("{name} ({})", versions.join(", ")));
        runtimes.collect::<Vec<_>>().join(", ")
    }

    /// Returns the measurement of a version of a runtime; `None` if it was not measured.
    pub fn get(&self, runtime: &str, version: &str) -> Result<Option<&Measurement>, ExpectationError> {
        let file = self.files.iter().find(|file| file.runtime == runtime && file.version == version);
        file.map(MeasuredFile::measurement).transpose()
    }

    /// Returns the shares of the error bounds that a version of a runtime takes; `None` if the measurement does not have them.
    pub fn accuracy(&self, runtime: &str, version: &str) -> Result<Option<&MeasuredAccuracy>, AccuracyError> {
        let file = self.files.iter().find(|file| file.runtime == runtime && file.version == version);
        file.map_or(Ok(None), MeasuredFile::accuracy)
    }

    /// Returns the measurement of the newest version of a runtime.
    pub fn newest(&self, runtime: &str) -> Result<Option<&Measurement>, ExpectationError> {
        self.files.iter().rfind(|file| file.runtime == runtime).map(MeasuredFile::measurement).transpose()
    }

    /// Returns the name and text of the file for a version of a runtime, or for its newest version if that one was not measured.
    pub fn text(&self, runtime: &str, version: &str) -> Option<(String, &'static str)> {
        let of_runtime = || self.files.iter().filter(|file| file.runtime == runtime);
        let file = of_runtime().find(|file| file.version == version).or_else(|| of_runtime().next_back())?;
        Some((format!("{}/{}.yaml", file.runtime, file.version), file.text("yaml")?))
    }

    /// Returns every measurement, sorted by runtime, then by version.
    pub fn all(&self) -> Result<Vec<&Measurement>, ExpectationError> {
        self.files.iter().map(MeasuredFile::measurement).collect()
    }
}

impl MeasuredFile {
    fn measurement(&self) -> Result<&Measurement, ExpectationError> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let path = format!("expectations/{}/{}.yaml", self.runtime, self.version);
        let error = |rule| ExpectationError::Header { path: path.clone(), fault: HeaderFault::Measurement(rule) };
        let text = self.text("yaml").ok_or_else(|| error("is not completely embedded; rebuild the program"))?;
        let measurement =
            Measurement::read(&path, text, Some(self.text(MeasuredDigests::EXTENSION).unwrap_or_default()))?;
        let measurement = measurement.ok_or_else(|| error("has no `version`, which a measurement needs"))?;
        if (measurement.runtime(), measurement.version()) != (self.runtime, self.version) {
            return Err(error("the runtime or version differs from its folder and name"));
        }
        Ok(self.read.get_or_init(|| measurement))
    }

    fn accuracy(&self) -> Result<Option<&MeasuredAccuracy>, AccuracyError> {
        if let Some(read) = self.accuracy.get() {
            return Ok(read.as_ref());
        }
        let path = format!("expectations/{}/{}.{}", self.runtime, self.version, MeasuredAccuracy::EXTENSION);
        let text = self.text(MeasuredAccuracy::EXTENSION);
        let read = text.map(|text| MeasuredAccuracy::parse(&path, text)).transpose()?;
        Ok(self.accuracy.get_or_init(|| read).as_ref())
    }

    /// Returns the text of the file with this extension.
    fn text(&self, extension: &str) -> Option<&'static str> {
        let at = RUNTIMES.iter().position(|(runtime, ..)| *runtime == self.runtime)?;
        let (_, files, _) = RUNTIMES.get(at)?;
        let place = files.iter().position(|(name, _)| {
            name.strip_prefix(self.version).and_then(|rest| rest.strip_prefix('.')) == Some(extension)
        })?;
        let start = place.checked_sub(1).map_or(0, |before| files.get(before).map_or(0, |(_, end)| *end));
        unpacked(at)?.get(start..files.get(place)?.1)
    }
}

/// Returns the joined text of a runtime's files, by its index.
fn unpacked(at: usize) -> Option<&'static str> {
    static ALL: [OnceLock<Option<String>>; RUNTIMES.len()] = [const { OnceLock::new() }; RUNTIMES.len()];
    let unpack = || {
        let (_, _, packed) = RUNTIMES.get(at)?;
        let mut text = String::new();
        LzmaReader::new_mem_limit(*packed, u32::MAX, None).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    };
    ALL.get(at)?.get_or_init(unpack).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_every_measurement_can_be_read() {
        let (whole, at_levels) = (Measurements::embedded().all().unwrap(), Measurements::at_levels().all().unwrap());
        for measurement in whole.into_iter().chain(at_levels) {
            let unreadable = measurement.unreadable();
            assert!(unreadable.is_empty(), "{} {}: {unreadable:?}", measurement.runtime(), measurement.version());
        }
    }

    #[test]
    fn the_shares_of_bounds_of_every_measurement_can_be_read() {
        for all in [Measurements::embedded(), Measurements::at_levels()] {
            for file in &all.files {
                let read = all.accuracy(file.runtime, file.version).unwrap();
                assert_eq!(read.is_some(), file.text(MeasuredAccuracy::EXTENSION).is_some());
            }
        }
        assert!(Measurements::embedded().accuracy("onnxruntime", "0.0.1").unwrap().is_none());
    }
}
