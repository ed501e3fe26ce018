//! Evidence from other runtimes. A measurement lists exactly the cases that its runtime does not pass. Its version therefore
//! confirms every judged case that is not listed.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{Case, Evidence, Level};

use crate::expectations::ExpectationError;
use crate::measure::{Measurement, Measurements};
use crate::run::{Confirm, DecodedCase};
use crate::runtimes::Runtimes;

/// The runtimes that confirm cases, each in the newest version that was measured.
#[derive(Debug, Default)]
pub struct ConfirmingRuntimes<'a>(Vec<(Evidence, &'a Measurement)>);

impl ConfirmingRuntimes<'static> {
    /// Returns the runtimes of the committed measurements, which cover the project's own suite.
    pub fn embedded() -> Result<ConfirmingRuntimes<'static>, ExpectationError> {
        let (runtimes, all) = (Runtimes::embedded()?, Measurements::embedded());
        let mut newest = Vec::new();
        for (runtime, _) in all.runtimes() {
            newest.extend(all.newest(runtime)?);
        }
        Ok(ConfirmingRuntimes::new(&runtimes, newest))
    }
}

impl<'a> ConfirmingRuntimes<'a> {
    /// Selects the measurements of runtimes whose results count as evidence.
    pub fn new(runtimes: &Runtimes, newest: impl IntoIterator<Item = &'a Measurement>) -> ConfirmingRuntimes<'a> {
        let confirming = newest.into_iter().filter(|measurement| runtimes.confirms(measurement.runtime()));
        ConfirmingRuntimes(confirming.map(|it| (Evidence::Runtime(it.runtime().into()), it)).collect())
    }
}

impl ConfirmingRuntimes<'_> {
    /// Returns an empty set, which confirms no case.
    pub fn empty() -> Self {
        ConfirmingRuntimes::default()
    }

    /// Returns the runtimes that pass a case with this id and level in a file of this IR version and these opsets.
    pub fn passing<'b>(
        &'b self,
        id: &'b str,
        level: Level,
        ir: i64,
        opsets: &'b BTreeMap<String, i64>,
    ) -> impl Iterator<Item = &'b Evidence> {
        let passing = self.0.iter().filter(move |(_, measurement)| measurement.passes_in(id, level, ir, opsets));
        passing.map(|(evidence, _)| evidence)
    }

    /// Returns each confirming runtime with its version.
    pub fn versions(&self) -> impl Iterator<Item = (&Evidence, &str)> {
        self.0.iter().map(|(evidence, measurement)| (evidence, measurement.version()))
    }
}

impl Confirm for ConfirmingRuntimes<'_> {
    /// Adds to a case's evidence the runtimes that pass it.
    fn confirm(&self, case: &mut Case) {
        if case.judged_outputs().is_empty() {
            return;
        }
        let passing: Vec<bool> = {
            let decoded = DecodedCase::new(case);
            self.0.iter().map(|(_, measurement)| measurement.passes(&decoded)).collect()
        };
        for ((evidence, _), passes) in self.0.iter().zip(passing) {
            if passes {
                case.confirm(evidence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::measure::MeasuredDigests;
    use onnx_conformance_cases::case::Expected;
    use onnx_conformance_cases::suite::{Generated, Suite};
    use onnx_conformance_subject::CiCases;

    fn case(id: &str) -> Case {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        suite.find(id).unwrap().unwrap()
    }

    fn confirmed_by(entries: &str, case: &Case) -> bool {
        is_confirmed(&format!("expect:\n{entries}"), None, case)
    }

    /// Returns true if a measurement with these digests confirms the case.
    fn is_confirmed(rest: &str, digests: Option<&str>, case: &Case) -> bool {
        let text = format!("runtime: onnxruntime\nversion: 1.2\nexact: true\n{rest}");
        let measurement = Measurement::read("a.yaml", &text, digests).unwrap().unwrap();
        let mut case = case.clone();
        ConfirmingRuntimes::new(&Runtimes::embedded().unwrap(), [&measurement]).confirm(&mut case);
        case.confirmed_by().contains(&Evidence::Runtime("onnxruntime".into()))
    }

    #[test]
    fn unmeasured_cases_are_not_confirmed() {
        let case = case("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8");
        let digests = MeasuredDigests::for_cases([case.id.as_str()]).to_text();
        let rows = [
            ("scope: ['ai.onnx/Abs-*/**']\n", Some(digests.as_str()), true),
            ("scope: ['ai.onnx/Neg-*/**']\n", Some(&digests), false),
            ("scope: ['ai.onnx/**', '!**/T=int8']\n", Some(&digests), false),
            ("", Some(""), false),
            ("", Some("ai.onnx/Abs-13 0123456789abcdef\n"), false),
            ("expect:\n  - {cases: ai.onnx/Abs-13, outcome: error}\n", Some(&digests), false),
            ("", None, true),
            ("accepts: {ir: [3, 9], opsets: {ai.onnx: [1, 13]}}\n", None, true),
            ("accepts: {ir: [3, 9], opsets: {ai.onnx: [1, 12]}}\n", None, false),
            ("accepts: {ir: [3, 6], opsets: {ai.onnx: [1, 13]}}\n", None, false),
        ];
        for (rest, digests, expected) in rows {
            assert_eq!(is_confirmed(rest, digests, &case), expected, "{rest} {digests:?}");
        }
        let vendored = Case { id: "onnx-1.14.1/node/test_abs".to_owned(), ..case };
        assert!(!is_confirmed("scope: ['**']\n", Some(&digests), &vendored) && is_confirmed("", None, &vendored));
    }

    #[test]
    fn cases_of_an_entry_are_not_confirmed() {
        let case = case("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8");
        let rows = [
            ("  []\n", true),
            ("  - {cases: ai.onnx/Abs-13/ranks/X=2x3x4/T=int8, outcome: error}\n", false),
            ("  - {cases: 'ai.onnx/Abs-13/**/T=int8', outcome: error, when: {platform: none-such}}\n", false),
            ("  - {cases: ai.onnx/Abs-6, outcome: error}\n", true),
            ("  - {cases: 'ai.onnx/Abs-13/**@constants', outcome: error}\n", true),
            ("  - {cases: 'ai.onnx/Abs-13/**', outcome: unsupported}\n", false),
        ];
        for (entries, expected) in rows {
            assert_eq!(confirmed_by(entries, &case), expected, "{entries}");
        }
    }

    #[test]
    fn unjudged_cases_are_not_confirmed() {
        let judged = case("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8");
        let open = Case { level: Level::Open, ..judged.clone() };
        let recommended = Case { level: Level::Recommended, ..judged.clone() };
        let mut loose = judged.clone();
        for output in loose.data.iter_mut().flat_map(|data| &mut data.outputs) {
            let (value_type, shape) = output.expected.declared();
            output.expected = Expected::Unspecified(value_type, shape);
        }
        let refusal = case("ai.onnx/Abs-13/refuse/T=string");
        for case in [open, recommended.clone(), loose, refusal] {
            assert!(!confirmed_by("  []\n", &case), "{case:?}");
        }
        assert!(confirmed_by("  []\nstrict: true\n", &recommended));
    }

    #[test]
    fn a_file_that_lists_missing_features_confirms_nothing() {
        for text in ["expect: []", "exact: true\nexpect:\n  - {unsupported: operator ai.onnx/Abs-13}"] {
            let text = format!("runtime: onnxruntime\nversion: 1.2\n{text}\n");
            let error = Measurement::read("a.yaml", &text, None).unwrap_err();
            assert!(error.to_string().contains("`exact: true`"), "{error}");
        }
    }

    /// Returns the newest version that `versions.yaml` of an adapter lists, or that its crate's `Cargo.lock` pins.
    fn pinned(runtime: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &str| format!("\n{}", std::fs::read_to_string(root.join(path)).unwrap());
        let versions = read(&format!("adapters/{runtime}/versions.yaml"));
        let value = |key: &str| versions.split(&format!("\n{key}: ")).nth(1).and_then(|rest| rest.lines().next());
        let (text, before) = match value("manifest") {
            Some(folder) => {
                let package = value("crate").unwrap();
                (read(&format!("{folder}/Cargo.lock")), format!("\nname = \"{package}\"\nversion = \""))
            }
            None => (versions.clone(), format!("requirements: [{}==", value("package").unwrap())),
        };
        let (_, version) = text.rsplit_once(&before).unwrap();
        version.chars().take_while(|c| c.is_ascii_alphanumeric() || ".+-".contains(*c)).collect()
    }

    #[test]
    fn the_files_name_the_versions_that_the_adapters_pin() {
        let confirming = ConfirmingRuntimes::embedded().unwrap();
        let runtimes = Runtimes::embedded().unwrap();
        for (evidence, version) in confirming.versions() {
            assert_eq!(version, pinned(&evidence.to_string()), "{evidence}");
        }
        // The runtimes that CI runs on every case are measured, since their evidence is never stale.
        for (name, _) in runtimes.all().filter(|(_, file)| file.ci == CiCases::Whole) {
            assert!(confirming.versions().any(|(evidence, _)| evidence.to_string() == name), "{name}");
        }
        // Runtimes without a measurement are also checked, so that the order is right when they get one.
        let pins: Vec<String> = runtimes.all().map(|(name, _)| pinned(name)).collect();
        assert!(pins.len() > 4 && pins.iter().all(|pin| pin.starts_with(|c: char| c.is_ascii_digit())), "{pins:?}");
    }
}
