//! The runtimes of this project: the `adapter.yaml` and `versions.yaml` of each folder in `adapters/`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_subject::{AdapterFile, CiCases, PythonCall, Question};
use serde::Deserialize;

/// The `adapter.yaml` and the `versions.yaml` of each runtime, embedded at build time.
static FILES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/adapters.rs"));

/// The adapters of runtimes by name.
#[derive(Debug, Default)]
pub struct Runtimes(BTreeMap<String, AdapterFile>);

impl Runtimes {
    /// Parses the adapters that this project has.
    pub fn embedded() -> Result<Runtimes, Box<YamlError>> {
        Runtimes::parse(FILES.iter().map(|(name, text, _)| (*name, *text)))
    }

    /// Parses adapters, each with the name of its folder and the text of its `adapter.yaml`.
    pub fn parse<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Runtimes, Box<YamlError>> {
        let parse = |(name, text): (&str, &str)| {
            Ok((name.to_owned(), AdapterFile::parse(&format!("adapters/{name}/adapter.yaml"), text)?))
        };
        files.into_iter().map(parse).collect::<Result<_, _>>().map(Runtimes)
    }

    /// Returns each runtime with its adapter, sorted by name. Tools, which run no models, are not among them.
    pub fn all(&self) -> impl Iterator<Item = (&str, &AdapterFile)> {
        self.0.iter().filter(|(_, file)| file.asks.is_none()).map(|(name, file)| (name.as_str(), file))
    }

    /// Returns each tool with the question that it answers, sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, Question)> {
        self.0.iter().filter_map(|(name, file)| Some((name.as_str(), file.asks?)))
    }

    /// Returns the tools that this project's CI asks, each with its question.
    pub fn tools_in_ci(&self) -> impl Iterator<Item = (&str, Question)> {
        let is_asked = |name: &str| self.0.get(name).is_some_and(|file| file.ci != CiCases::None);
        self.tools().filter(move |(name, _)| is_asked(name))
    }

    /// Returns the Python code that asks a tool its question, if there is one.
    pub fn python_of_tool(&self, name: &str) -> Option<&PythonCall> {
        self.0.get(name).filter(|file| file.asks.is_some())?.python.as_ref()
    }

    /// Returns true if results of the runtime count as evidence.
    pub fn confirms(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|file| file.confirms)
    }

    /// Returns the runtimes that Python runs without the suite.
    pub fn in_python(&self) -> impl Iterator<Item = (&str, &PythonCall)> {
        self.all().filter_map(|(name, file)| Some((name, file.python.as_ref()?)))
    }
}

/// The `versions.yaml` of each runtime.
static VERSIONS: LazyLock<Result<BTreeMap<&str, Versions>, Box<YamlError>>> = LazyLock::new(|| {
    let parse = |(name, _, text): &(&'static str, &str, &str)| {
        yaml::read(&format!("adapters/{name}/versions.yaml"), text).map(|versions| (*name, versions))
    };
    FILES.iter().map(parse).collect()
});

/// The part of `versions.yaml` that is not about installation.
#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    levels: Vec<String>,
    versions: BTreeMap<String, Version>,
}

#[derive(Deserialize)]
struct Version {
    released: String,
}

/// Returns the day on which a version of a runtime was published, in UTC: `2026-11-13`. Returns `None` for versions that no
/// `versions.yaml` of this project lists.
pub fn released(runtime: &str, version: &str) -> Option<&'static str> {
    let versions = &VERSIONS.as_ref().ok()?.get(runtime)?.versions;
    versions.get(version).map(|version| version.released.as_str())
}

/// Returns the levels of a runtime's optimizer that `versions.yaml` lists, the weakest first. Without a level, the runtime is at
/// the last one.
pub fn levels(runtime: &str) -> &'static [String] {
    let versions = VERSIONS.as_ref().ok().and_then(|all| all.get(runtime));
    versions.map(|versions| versions.levels.as_slice()).unwrap_or_default()
}

/// Splits the name of a runtime at a level of its optimizer: `onnxruntime` and `basic` of `onnxruntime-basic`. Returns `None` for
/// any other name.
pub fn at_level(name: &str) -> Option<(&'static str, &'static str)> {
    // Most names are names of adapters, so no file need be read.
    if FILES.iter().any(|(runtime, ..)| *runtime == name) {
        return None;
    }
    FILES.iter().find_map(|(runtime, ..)| {
        let level = name.strip_prefix(runtime)?.strip_prefix('-')?;
        let (_, weaker) = levels(runtime).split_last()?;
        Some((*runtime, weaker.iter().find(|known| *known == level)?.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ConfirmingRuntimes;
    use crate::measure::{Measurement, Measurements};
    use onnx_conformance_cases::case::Evidence;

    #[test]
    fn ci_asks_a_checker_and_an_optimizer() {
        let runtimes = Runtimes::embedded().unwrap();
        let asked: Vec<Question> = runtimes.tools_in_ci().map(|(_, question)| question).collect();
        assert!(asked.contains(&Question::Check) && asked.contains(&Question::Optimize), "{asked:?}");
        assert!(asked.len() < runtimes.tools().count(), "{asked:?}");
    }

    #[test]
    fn a_new_runtime_is_one_folder() {
        let text =
            "command: [eleventh]\nconfirms: true\nci: part\npython:\n  import: import e\n  run: outputs = e(path)\n";
        let runtimes =
            Runtimes::parse(FILES.iter().map(|(name, text, _)| (*name, *text)).chain([("eleventh", text)])).unwrap();
        let (_, file) = runtimes.all().find(|(name, _)| *name == "eleventh").unwrap();
        assert_eq!(file.ci, CiCases::Part);
        assert!(runtimes.in_python().any(|(name, call)| name == "eleventh" && call.import == "import e"));
        let text = "runtime: eleventh\nversion: 1.0\nexact: true\nexpect: []\n";
        let measurement = Measurement::read("a.yaml", text, None).unwrap().unwrap();
        let confirming = ConfirmingRuntimes::new(&runtimes, [&measurement]);
        let eleventh = Evidence::Runtime("eleventh".into());
        assert_eq!(confirming.versions().collect::<Vec<_>>(), [(&eleventh, "1.0")]);
        assert_eq!(ConfirmingRuntimes::new(&Runtimes::default(), [&measurement]).versions().count(), 0);
    }

    #[test]
    fn every_measured_version_has_a_release_date_before_its_measurement() {
        for measurement in Measurements::embedded().all().unwrap() {
            let (runtime, version) = (measurement.runtime(), measurement.version());
            let day = released(runtime, version).unwrap_or_else(|| panic!("{runtime} {version} has no release date"));
            let shape: String = day.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            assert_eq!(shape, "0000-00-00", "{runtime} {version}");
            assert!(day <= measurement.date().unwrap(), "{runtime} {version} was measured before {day}");
        }
        assert_eq!(released("onnxruntime", "0.0.0"), None);
    }

    #[test]
    fn a_level_is_part_of_the_name_of_a_runtime() {
        assert_eq!(at_level("onnxruntime-basic"), Some(("onnxruntime", "basic")));
        assert_eq!(at_level("onnxruntime-all"), None, "the level without a name");
        assert_eq!(at_level("onnx-reference"), None);
        assert_eq!(at_level("onnxruntime-none"), None);
        for (runtime, file) in Runtimes::embedded().unwrap().all().filter(|(name, _)| !levels(name).is_empty()) {
            assert!(
                file.options.contains_key("level"),
                "{runtime} lists levels, and its adapter has no option `level`"
            );
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line_and_the_known_keys() {
        let error = Runtimes::parse([("eleventh", "command: [a]\nconfirm: true\n")]).unwrap_err();
        let text = format!("{error:?} {error}");
        for part in ["adapters/eleventh/adapter.yaml:2", "`confirm`", "confirms", "ci_omits"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
