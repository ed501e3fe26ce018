//! What other runtimes confirm. An expectation file lists exactly the cases that its runtime does not pass, and the gate
//! holds the runtime to it; so a judged case that the file does not list is confirmed at the version that it names.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use globset::GlobMatcher;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::spec::{Specs, canonical_domain};

use crate::case::{Case, Evidence, Level, named_cells};
use crate::run::{Book, ExpectationError, Expectations};
use crate::suite::{Source, Suite, SuiteError, Unit, is_glob, loose_glob};

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
    lacks: Lacks,
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
        let facts = Facts::of(case);
        let confirming = self.0.iter().filter(|witness| witness.confirms(case, &facts));
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
        let words = file.expect.iter().filter_map(|entry| entry.unsupported.as_deref());
        let lacks = words.map(Lack::read).collect::<Result<Vec<_>, _>>();
        let lacks = Lacks::new(lacks.map_err(|rule| ExpectationError::Layout(format!("{}: {rule}", file.path())))?);
        Ok(Witness { evidence, version, strict: file.strict, book: Book::of_any_place(file)?, lacks })
    }

    fn confirms(&self, case: &Case, facts: &Facts<'_>) -> bool {
        let is_gated = case.level == Level::Required || self.strict;
        is_gated && !self.book.has_entry_about(&case.id) && !self.lacks.any_about(facts)
    }
}

/// What a runtime may say it lacks, as far as the words name what stands in a model. It says so in its own words, so all
/// cases that they may be about are left unconfirmed.
#[derive(Debug, Default)]
struct Lack {
    /// An operator version, or a glob over them.
    operator: Option<Operator>,
    /// An element type.
    element: Option<String>,
    /// A version of a domain.
    opset: Option<(String, i64)>,
}

#[derive(Debug)]
enum Operator {
    Version(String),
    Glob(GlobMatcher),
}

impl Lack {
    /// Reads words such as `tensor(double) in ai.onnx/Conv-22`.
    fn read(words: &str) -> Result<Lack, String> {
        let mut lack = Lack::default();
        let tokens: Vec<&str> = words.split_whitespace().collect();
        let operator = tokens.iter().find(|token| token.contains('/') && !token.contains('('));
        lack.operator = match operator {
            Some(text) if is_glob(text) => {
                let glob = loose_glob(text).map_err(|error| error.to_string())?;
                Some(Operator::Glob(glob.compile_matcher()))
            }
            Some(text) => Some(Operator::Version((*text).to_owned())),
            None => None,
        };
        let element = words.split_once("tensor(").and_then(|(_, rest)| Some(rest.split_once(')')?.0));
        lack.element = element.filter(|name| !is_glob(name)).map(|name| format!("tensor({name})"));
        if let ["opset", version, "of", domain] = tokens.as_slice() {
            lack.opset = version.parse().ok().map(|version| ((*domain).to_owned(), version));
        }
        Ok(lack)
    }

    fn is_about(&self, facts: &Facts<'_>) -> bool {
        let operator = match &self.operator {
            Some(Operator::Glob(glob)) => facts.versions().any(|version| glob.is_match(version)),
            Some(Operator::Version(text)) => facts.versions().any(|version| version == text),
            None => true,
        };
        operator
            && self.element.as_ref().is_none_or(|element| facts.types().any(|text| text.contains(element)))
            && self.opset.as_ref().is_none_or(|opset| facts.opsets().contains(opset))
    }
}

/// What a runtime lacks, by the operator version that it is about.
#[derive(Debug, Default)]
struct Lacks {
    of_version: HashMap<String, Vec<Lack>>,
    others: Vec<Lack>,
}

impl Lacks {
    fn new(all: Vec<Lack>) -> Lacks {
        let mut lacks = Lacks::default();
        for lack in all {
            match &lack.operator {
                Some(Operator::Version(version)) => lacks.of_version.entry(version.clone()).or_default().push(lack),
                _ => lacks.others.push(lack),
            }
        }
        lacks
    }

    fn any_about(&self, facts: &Facts<'_>) -> bool {
        let named = facts.versions().filter_map(|version| self.of_version.get(version)).flatten();
        named.chain(&self.others).any(|lack| lack.is_about(facts))
    }
}

/// What stands in a case's model, found out when it is first asked for.
struct Facts<'a> {
    case: &'a Case,
    cells: OnceCell<BTreeSet<String>>,
    types: OnceCell<BTreeSet<String>>,
    opsets: OnceCell<Vec<(String, i64)>>,
}

impl Facts<'_> {
    fn of(case: &Case) -> Facts<'_> {
        Facts { case, cells: OnceCell::new(), types: OnceCell::new(), opsets: OnceCell::new() }
    }

    fn cells(&self) -> &BTreeSet<String> {
        self.cells.get_or_init(|| named_cells(&self.case.model, Specs::embedded()))
    }

    /// The operator versions that the nodes call.
    fn versions(&self) -> impl Iterator<Item = &str> {
        self.cells().iter().map(String::as_str).filter(|cell| !cell.contains(' '))
    }

    /// The types of inputs and outputs, and those that the nodes' type parameters stand for.
    fn types(&self) -> impl Iterator<Item = &str> {
        let types = self.types.get_or_init(|| {
            let data = self.case.data.iter();
            let inputs = data.clone().flat_map(|data| &data.inputs).map(|input| input.value.value_type());
            let outputs = data.flat_map(|data| &data.outputs).map(|output| output.want.declared().0);
            let cells = self.cells().iter().filter_map(|cell| Some(cell.split_once('=')?.1.to_owned()));
            inputs.chain(outputs).map(|value_type| value_type.to_string()).chain(cells).collect()
        });
        types.iter().map(String::as_str)
    }

    /// The versions of domains that the model imports.
    fn opsets(&self) -> &[(String, i64)] {
        self.opsets.get_or_init(|| {
            let imports = decode::model(self.case.model.clone()).unwrap_or_default().opset_import;
            imports.iter().map(|import| (canonical_domain(import.domain()).to_owned(), import.version())).collect()
        })
    }
}

/// The suite with what other runtimes confirm among the evidence of its cases. For the project's own cases only: of
/// others the expectation files say nothing. They are read when the first case is.
#[must_use]
pub fn confirmed(suite: Suite) -> Suite {
    suite.map_sources(|source| Box::new(Confirmed(source)))
}

/// A source whose cases say which runtimes confirm them.
struct Confirmed(Box<dyn Source + Send>);

impl Source for Confirmed {
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
        let text = format!("runtime: onnxruntime\nexpect:\n{entries}");
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
            ("  - {unsupported: operator ai.onnx/Abs-13}\n", false),
            ("  - {unsupported: 'operator ai.onnx/Abs-*'}\n", false),
            ("  - {unsupported: operator ai.onnx/Abs-6}\n", true),
            ("  - {unsupported: tensor(int8) in ai.onnx/Abs-13}\n", false),
            ("  - {unsupported: 'tensor(int8) in ai.onnx/A*'}\n", false),
            ("  - {unsupported: tensor(int16) in ai.onnx/Abs-13}\n", true),
            ("  - {unsupported: 'tensor(int8)*'}\n", false),
            ("  - {unsupported: 'tensor(complex64)*'}\n", true),
            ("  - {unsupported: opset 13 of ai.onnx}\n", false),
            ("  - {unsupported: opset 14 of ai.onnx}\n", true),
            ("  - {unsupported: in words of its own}\n", false),
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
