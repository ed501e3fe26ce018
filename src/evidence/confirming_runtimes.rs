//! What other runtimes confirm. An exact expectation file lists the very cases that its runtime does not pass, as they were
//! measured; so a judged case that the file does not list is confirmed at the version that it names.

use std::collections::BTreeSet;
use std::path::Path;

use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::{Case, CaseId, Evidence, Level};
use crate::evidence::digests::MeasuredDigests;
use crate::expectations::{ExpectationError, ExpectationMatcher, Expectations};
use crate::run::{Confirm, undeclared_feature};
use crate::runtime::Declaration;

/// Every expectation file, and the digests beside it, as they were when the program was built, by name, sorted.
pub(crate) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/expectations.rs"));

/// The runtimes whose expectation files say which cases they confirm.
#[derive(Debug, Default)]
pub struct ConfirmingRuntimes(Vec<ConfirmingRuntime>);

/// A runtime as its expectation file has it.
#[derive(Debug)]
struct ConfirmingRuntime {
    evidence: Evidence,
    version: String,
    matcher: ExpectationMatcher,
    /// The files that it takes; cases in others were not sent.
    accepts: Declaration,
    /// The operator versions whose cases are what they were when they were measured, where the measurement has a scope; one
    /// of the whole suite is held to it by CI.
    unchanged: Option<BTreeSet<OperatorVersion>>,
}

impl ConfirmingRuntimes {
    /// The committed expectation files, of which those that name the version of a runtime count. They are about the
    /// project's own suite.
    pub fn embedded() -> Result<ConfirmingRuntimes, ExpectationError> {
        let files = FILES.iter().filter(|(name, _)| Path::new(name).extension().is_some_and(|end| end == "yaml"));
        let runtime = |(name, text): &(&str, &str)| {
            let digests = MeasuredDigests::path(Path::new(name));
            let digests = FILES.iter().find(|(name, _)| Path::new(name) == digests).map_or("", |(_, text)| text);
            ConfirmingRuntime::read(&format!("expectations/{name}"), text, digests).transpose()
        };
        Ok(ConfirmingRuntimes(files.filter_map(runtime).collect::<Result<_, _>>()?))
    }

    /// No runtime: nothing is known of the cases.
    pub fn none() -> ConfirmingRuntimes {
        ConfirmingRuntimes::default()
    }

    /// Each runtime that confirms cases, with its version.
    pub fn versions(&self) -> impl Iterator<Item = (Evidence, &str)> {
        self.0.iter().map(|runtime| (runtime.evidence, runtime.version.as_str()))
    }
}

impl Confirm for ConfirmingRuntimes {
    /// Adds to a case's evidence the runtimes that pass it.
    fn confirm(&self, case: &mut Case) {
        if case.judged_outputs().is_empty() {
            return;
        }
        for runtime in &self.0 {
            if runtime.confirms(case) {
                case.confirm(runtime.evidence);
            }
        }
    }
}

impl ConfirmingRuntime {
    /// Reads an expectation file with its digests; nothing for one that names no runtime of note, or no version.
    fn read(path: &str, text: &str, digests: &str) -> Result<Option<ConfirmingRuntime>, ExpectationError> {
        let file = Expectations::parse(path, text)?;
        let Some((evidence, version)) = Evidence::of_runtime(&file.runtime).zip(file.version.clone()) else {
            return Ok(None);
        };
        let inexact = file.expect.iter().position(|entry| entry.unsupported.is_some());
        if let Some(index) = inexact.or_else(|| (!file.exact).then_some(0)) {
            let rule = "its runtime confirms what the file does not list, so the file says `exact: true` and lists cases alone; \
                        `--update-expectations` writes it so"
                .to_owned();
            return Err(ExpectationError::Entry { path: file.path().to_owned(), number: index + 1, rule });
        }
        let unchanged = (!file.scope.is_empty()).then(|| MeasuredDigests::parse(digests).unchanged());
        let accepts = file.accepts.iter().fold(Declaration::named(&file.runtime, &version), Declaration::accepting);
        let matcher = ExpectationMatcher::of_every_condition(file)?;
        Ok(Some(ConfirmingRuntime { evidence, version, matcher, accepts, unchanged }))
    }

    fn confirms(&self, case: &Case) -> bool {
        let counts = case.level == Level::Required || self.matcher.is_strict();
        counts
            && self.was_measured(&case.id)
            && !self.matcher.has_entry_about(&case.id)
            && undeclared_feature(case, &self.accepts).is_none()
    }

    /// Whether the case was measured as it is.
    fn was_measured(&self, id: &str) -> bool {
        let id = CaseId::parse(id);
        let is_unchanged = |versions: &BTreeSet<OperatorVersion>| id.version().is_some_and(|it| versions.contains(&it));
        self.matcher.is_in_scope(id.path) && self.unchanged.as_ref().is_none_or(is_unchanged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Expected;
    use crate::suite::{Generated, Suite};

    fn case(id: &str) -> Case {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        suite.find(id).unwrap().unwrap()
    }

    fn confirmed_by(entries: &str, case: &Case) -> bool {
        is_confirmed(&format!("expect:\n{entries}"), "", case)
    }

    /// Whether a measurement confirms a case that is in these digests.
    fn is_confirmed(rest: &str, digests: &str, case: &Case) -> bool {
        let text = format!("runtime: onnxruntime\nversion: 1.2\nexact: true\n{rest}");
        let runtime = ConfirmingRuntime::read("a.yaml", &text, digests).unwrap().unwrap();
        let mut case = case.clone();
        ConfirmingRuntimes(vec![runtime]).confirm(&mut case);
        case.confirmed_by().contains(&Evidence::Onnxruntime)
    }

    #[test]
    fn what_was_not_measured_is_not_confirmed() {
        let case = case("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8");
        let digests = MeasuredDigests::of_cases([case.id.as_str()]).to_text();
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
            assert_eq!(is_confirmed(rest, digests, &case), expected, "{rest} {digests}");
        }
        let vendored = Case { id: "onnx-1.23.2/node/test_abs".to_owned(), ..case };
        assert!(!is_confirmed("scope: ['**']\n", &digests, &vendored) && is_confirmed("", "", &vendored));
    }

    #[test]
    fn what_an_entry_may_be_about_is_not_confirmed() {
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
    fn what_is_not_judged_is_not_confirmed() {
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
            let error = ConfirmingRuntime::read("a.yaml", &text, "").unwrap_err();
            assert!(error.to_string().contains("`exact: true`"), "{error}");
        }
    }

    /// Where the version of each runtime is pinned: a file, and the text before the version.
    const PINS: [(Evidence, &str, &str); 4] = [
        (Evidence::OnnxReference, "adapters/onnx-reference/requirements.txt", "\nonnx=="),
        (Evidence::Onnxruntime, "adapters/onnxruntime/requirements.txt", "\nonnxruntime=="),
        (Evidence::Openvino, "adapters/openvino/requirements.txt", "\nopenvino=="),
        (Evidence::Tract, "tests/crates/tract-runtime/Cargo.lock", "\nname = \"tract-onnx\"\nversion = \""),
    ];

    fn pinned(runtime: Evidence) -> String {
        let (_, path, before) = PINS.iter().find(|(pinned, ..)| *pinned == runtime).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let text = format!("\n{}", std::fs::read_to_string(path).unwrap());
        let (_, version) = text.split_once(before).unwrap();
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
        // Also of a runtime that has no file yet, so that the place is right when it gets one.
        assert!(PINS.iter().all(|(runtime, ..)| pinned(*runtime).starts_with(|c: char| c.is_ascii_digit())));
    }
}
