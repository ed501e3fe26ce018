//! What other runtimes confirm. An exact expectation file lists the very cases that its runtime does not pass, and the gate
//! holds the runtime to it; so a judged case that the file does not list is confirmed at the version that it names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;

use crate::case::{Case, Evidence, Level};
use crate::run::{Book, ExpectationError, Expectations};
use crate::suite::{Source, Suite, SuiteError, Unit};

/// Every expectation file as it was when the program was built, by name, sorted.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/expectations.rs"));

/// What they say, or why they cannot be read.
static EMBEDDED: LazyLock<Result<Witnesses, String>> =
    LazyLock::new(|| Witnesses::embedded().map_err(|error| error.to_string()));

/// The runtimes whose expectation files say which cases they confirm.
#[derive(Debug)]
pub struct Witnesses(Vec<Witness>);

/// A runtime as its expectation file has it.
#[derive(Debug)]
struct Witness {
    evidence: Evidence,
    version: String,
    strict: bool,
    book: Book,
}

impl Witnesses {
    /// The committed expectation files, of which those that name the version of a runtime count.
    pub fn embedded() -> Result<Witnesses, ExpectationError> {
        let read = |(path, text): &(&str, &str)| {
            let file = Expectations::parse(&format!("expectations/{path}"), text)?;
            let evidence = Evidence::of_runtime(&file.runtime).zip(file.version.clone());
            evidence.map(|(evidence, version)| Witness::new(evidence, version, file)).transpose()
        };
        Ok(Witnesses(FILES.iter().filter_map(|file| read(file).transpose()).collect::<Result<_, _>>()?))
    }

    /// Each runtime that confirms cases, with its version.
    pub fn versions(&self) -> impl Iterator<Item = (Evidence, &str)> {
        self.0.iter().map(|witness| (witness.evidence, witness.version.as_str()))
    }

    /// Adds to a case's evidence the runtimes that confirm its outputs.
    pub fn confirm(&self, case: &mut Case) {
        if !case.has_judged_output() {
            return;
        }
        let confirming = self.0.iter().filter(|witness| witness.confirms(case));
        let confirming: Vec<Evidence> = confirming.map(|witness| witness.evidence).collect();
        for evidence in confirming {
            if !case.evidence.contains(&evidence) {
                case.evidence.push(evidence);
            }
        }
    }
}

impl Witness {
    fn new(evidence: Evidence, version: String, file: Expectations) -> Result<Witness, ExpectationError> {
        let by_words = file.expect.iter().position(|entry| entry.unsupported.is_some());
        if let Some(at) = by_words.or_else(|| (!file.exact).then_some(0)) {
            let rule = "its runtime confirms what the file does not list, so the file says `exact: true` and lists cases alone; \
                        `--update-expectations` writes it so"
                .to_owned();
            return Err(ExpectationError::Entry { path: file.path().to_owned(), number: at + 1, rule });
        }
        Ok(Witness { evidence, version, strict: file.strict, book: Book::of_any_place(file)? })
    }

    fn confirms(&self, case: &Case) -> bool {
        let is_gated = case.level == Level::Required || self.strict;
        is_gated && !self.book.has_entry_about(&case.id)
    }
}

/// The suite with what other runtimes confirm among the evidence of its cases. For the project's own cases only: of
/// others the expectation files say nothing. They are read when the first case is.
#[must_use]
pub fn confirmed(suite: Suite) -> Suite {
    // Of ONNX's older releases, which a whole run leaves out, the files say nothing either.
    suite.map_sources(|source| if source.is_default() { Box::new(Confirmed(source)) } else { source })
}

/// A source whose cases say which runtimes confirm them.
struct Confirmed(Box<dyn Source + Send>);

impl Source for Confirmed {
    fn group(&self) -> Option<&str> {
        self.0.group()
    }

    fn is_default(&self) -> bool {
        self.0.is_default()
    }

    fn content(&self, unit: &Unit) -> Result<Option<String>, SuiteError> {
        self.0.content(unit)
    }

    fn files(&self, id: &str) -> Result<BTreeMap<String, Bytes>, SuiteError> {
        self.0.files(id)
    }

    fn units(&self) -> Result<Vec<Unit>, SuiteError> {
        self.0.units()
    }

    fn unit(&self, name: &str) -> Result<Option<Unit>, SuiteError> {
        self.0.unit(name)
    }

    fn ids(&self, unit: &Unit) -> Result<Vec<String>, SuiteError> {
        self.0.ids(unit)
    }

    fn load(&self, unit: &Unit, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let wrong = |rule: &String| SuiteError::File { path: "expectations".into(), rule: rule.clone() };
        let witnesses = EMBEDDED.as_ref().map_err(wrong)?;
        let mut cases = self.0.load(unit, wanted)?;
        for case in &mut cases {
            witnesses.confirm(case);
        }
        Ok(cases)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        self.0.fingerprint()
    }

    fn remark(&self) -> Option<String> {
        self.0.remark()
    }

    fn check(&self, unit: &Unit, cases: &[Case]) -> Result<(), SuiteError> {
        self.0.check(unit, cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Want;
    use crate::suite::Generated;

    fn case(id: &str) -> Case {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        suite.find(id).unwrap().unwrap()
    }

    fn confirmed_by(entries: &str, case: &Case) -> bool {
        let text = format!("runtime: onnxruntime\nexact: true\nexpect:\n{entries}");
        let file = Expectations::parse("a.yaml", &text).unwrap();
        let witness = Witness::new(Evidence::Onnxruntime, "1".to_owned(), file).unwrap();
        let mut case = case.clone();
        Witnesses(vec![witness]).confirm(&mut case);
        case.evidence.contains(&Evidence::Onnxruntime)
    }

    #[test]
    fn what_an_entry_may_be_about_is_not_confirmed() {
        let case = case("ai.onnx/Abs-13/any/X=2x3x4/T=int8");
        let rows = [
            ("  []\n", true),
            ("  - {cases: ai.onnx/Abs-13/any/X=2x3x4/T=int8, outcome: error}\n", false),
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
        let judged = case("ai.onnx/Abs-13/any/X=2x3x4/T=int8");
        let open = Case { level: Level::Open, ..judged.clone() };
        let recommended = Case { level: Level::Recommended, ..judged.clone() };
        let mut loose = judged.clone();
        for output in loose.data.iter_mut().flat_map(|data| &mut data.outputs) {
            let (value_type, shape) = output.want.declared();
            output.want = Want::Unspecified(value_type, shape);
        }
        let refusal = case("ai.onnx/Abs-13/refuse/T=string");
        for case in [open, recommended.clone(), loose, refusal] {
            assert!(!confirmed_by("  []\n", &case), "{case:?}");
        }
        assert!(confirmed_by("  []\nstrict: true\n", &recommended));
    }

    #[test]
    fn a_file_that_lists_what_is_lacking_by_words_confirms_nothing() {
        for text in ["expect: []", "exact: true\nexpect:\n  - {unsupported: operator ai.onnx/Abs-13}"] {
            let file = Expectations::parse("a.yaml", &format!("runtime: onnxruntime\n{text}\n")).unwrap();
            let error = Witness::new(Evidence::Onnxruntime, "1".to_owned(), file).unwrap_err();
            assert!(error.to_string().contains("`exact: true`"), "{error}");
        }
    }

    #[test]
    fn the_files_name_the_versions_that_the_adapters_pin() {
        let witnesses = Witnesses::embedded().unwrap();
        let pinned = |folder: &str, package: &str| {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            let path = root.join("adapters").join(folder).join("requirements.txt");
            let text = std::fs::read_to_string(path).unwrap();
            let version = text.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
            version.unwrap().to_owned()
        };
        let versions: Vec<(Evidence, String)> =
            witnesses.versions().map(|(evidence, version)| (evidence, version.to_owned())).collect();
        let reference = (Evidence::OnnxReference, pinned("onnx-reference", "onnx"));
        assert_eq!(versions, [reference, (Evidence::Onnxruntime, pinned("onnxruntime", "onnxruntime"))]);
    }
}
