//! Evidence from other runtimes. A measurement lists exactly the cases that its runtime does not pass. Its version therefore
//! confirms every judged case that is not listed.

use onnx_conformance_cases::case::{Case, Evidence};

use crate::expectations::ExpectationError;
use crate::measure::{Measurement, Measurements};
use crate::run::Confirm;

/// The runtimes that confirm cases, each in the newest version that was measured.
#[derive(Debug, Default)]
pub struct ConfirmingRuntimes<'a>(Vec<(Evidence, &'a Measurement)>);

impl ConfirmingRuntimes<'static> {
    /// Returns the runtimes of the committed measurements, which cover the project's own suite.
    pub fn embedded() -> Result<ConfirmingRuntimes<'static>, ExpectationError> {
        let all = Measurements::embedded();
        let mut confirming = Vec::new();
        for (runtime, _) in all.runtimes() {
            confirming.extend(Evidence::from_runtime(runtime).zip(all.newest(runtime)?));
        }
        Ok(ConfirmingRuntimes(confirming))
    }
}

impl ConfirmingRuntimes<'_> {
    /// Returns an empty set, which confirms no case.
    pub fn empty() -> Self {
        ConfirmingRuntimes::default()
    }

    /// Returns each confirming runtime with its version.
    pub fn versions(&self) -> impl Iterator<Item = (Evidence, &str)> {
        self.0.iter().map(|(evidence, measurement)| (*evidence, measurement.version()))
    }
}

impl Confirm for ConfirmingRuntimes<'_> {
    /// Adds to a case's evidence the runtimes that pass it.
    fn confirm(&self, case: &mut Case) {
        if case.judged_outputs().is_empty() {
            return;
        }
        for (evidence, measurement) in &self.0 {
            if measurement.passes(case) {
                case.confirm(*evidence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::measure::MeasuredDigests;
    use onnx_conformance_cases::case::{Expected, Level};
    use onnx_conformance_cases::suite::{Generated, Suite};

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
        ConfirmingRuntimes(vec![(Evidence::Onnxruntime, &measurement)]).confirm(&mut case);
        case.confirmed_by().contains(&Evidence::Onnxruntime)
    }

    #[test]
    fn unmeasured_cases_are_not_confirmed() {
        let case = case("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8");
        let digests = MeasuredDigests::for_cases([case.id.as_str()]).to_text();
        let rows = [
            ("scope: ['ai.onnx/Abs-*/**']\n", digests.as_str(), true),
            ("scope: ['ai.onnx/Neg-*/**']\n", &digests, false),
            ("scope: ['ai.onnx/**', '!**/T=int8']\n", &digests, false),
            ("scope: ['ai.onnx/**']\n", "", false),
            ("scope: ['ai.onnx/**']\n", "ai.onnx/Abs-13 0123456789abcdef\n", false),
            ("scope: ['ai.onnx/**']\nexpect:\n  - {cases: ai.onnx/Abs-13, outcome: error}\n", &digests, false),
            ("", "", true),
            ("accepts: {ir: [3, 9], opsets: {ai.onnx: [1, 13]}}\n", "", true),
            ("accepts: {ir: [3, 9], opsets: {ai.onnx: [1, 12]}}\n", "", false),
            ("accepts: {ir: [3, 6], opsets: {ai.onnx: [1, 13]}}\n", "", false),
        ];
        for (rest, digests, expected) in rows {
            let digests = Some(digests).filter(|digests| !digests.is_empty());
            assert_eq!(is_confirmed(rest, digests, &case), expected, "{rest} {digests:?}");
        }
        let vendored = Case { id: "onnx-1.23.2/node/test_abs".to_owned(), ..case };
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

    /// File that pins the newest version of each runtime, and the text before the version.
    const PINS: [(Evidence, &str, &str); 4] = [
        (Evidence::OnnxReference, "adapters/onnx-reference/versions.yaml", "requirements: [onnx=="),
        (Evidence::Onnxruntime, "adapters/onnxruntime/versions.yaml", "requirements: [onnxruntime=="),
        (Evidence::Openvino, "adapters/openvino/versions.yaml", "requirements: [openvino=="),
        (Evidence::Tract, "tests/crates/tract-runtime/Cargo.lock", "\nname = \"tract-onnx\"\nversion = \""),
    ];

    fn pinned(runtime: Evidence) -> String {
        let (_, path, before) = PINS.iter().find(|(pinned, ..)| *pinned == runtime).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let text = format!("\n{}", std::fs::read_to_string(path).unwrap());
        let (_, version) = text.rsplit_once(before).unwrap();
        version.chars().take_while(|c| c.is_ascii_alphanumeric() || ".+-".contains(*c)).collect()
    }

    #[test]
    fn the_files_name_the_versions_that_the_adapters_pin() {
        let runtimes = ConfirmingRuntimes::embedded().unwrap();
        let versions: Vec<(Evidence, &str)> = runtimes.versions().collect();
        for required in [Evidence::OnnxReference, Evidence::Onnxruntime] {
            assert!(versions.iter().any(|(runtime, _)| *runtime == required), "{required}");
        }
        for (runtime, version) in versions {
            assert_eq!(version, pinned(runtime), "{runtime}");
        }
        // Runtimes without a measurement are also checked, so that the order is right when they get one.
        assert!(PINS.iter().all(|(runtime, ..)| pinned(*runtime).starts_with(|c: char| c.is_ascii_digit())));
    }
}
