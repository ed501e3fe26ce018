//! The runtimes of this project: the `adapter.yaml` of each folder in `adapters/`.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_subject::{AdapterFile, PythonCall};

/// The `adapter.yaml` of each runtime, embedded at build time.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/adapters.rs"));

/// The adapters of runtimes by name.
#[derive(Debug, Default)]
pub struct Runtimes(BTreeMap<String, AdapterFile>);

impl Runtimes {
    /// Parses the adapters that this project has.
    pub fn embedded() -> Result<Runtimes, Box<YamlError>> {
        Runtimes::parse(FILES.iter().copied())
    }

    /// Parses adapters, each with the name of its folder and the text of its `adapter.yaml`.
    pub fn parse<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Runtimes, Box<YamlError>> {
        let parse = |(name, text): (&str, &str)| {
            Ok((name.to_owned(), AdapterFile::parse(&format!("adapters/{name}/adapter.yaml"), text)?))
        };
        files.into_iter().map(parse).collect::<Result<_, _>>().map(Runtimes)
    }

    /// Returns each runtime with its adapter, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &AdapterFile)> {
        self.0.iter().map(|(name, file)| (name.as_str(), file))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ConfirmingRuntimes;
    use crate::measure::Measurement;
    use onnx_conformance_cases::case::Evidence;
    use onnx_conformance_subject::CiCases;

    #[test]
    fn a_new_runtime_is_one_folder() {
        let text =
            "command: [eleventh]\nconfirms: true\nci: part\npython:\n  import: import e\n  run: outputs = e(path)\n";
        let runtimes = Runtimes::parse(FILES.iter().copied().chain([("eleventh", text)])).unwrap();
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
    fn an_unknown_key_is_an_error_with_its_line_and_the_known_keys() {
        let error = Runtimes::parse([("eleventh", "command: [a]\nconfirm: true\n")]).unwrap_err();
        let text = format!("{error:?} {error}");
        for part in ["adapters/eleventh/adapter.yaml:2", "`confirm`", "confirms", "ci_omits"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
