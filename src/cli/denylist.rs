//! Lists of failing tests of upstream that other projects maintain, as entries of an expectation file.

mod iree;
mod jsonc;
mod lines;
mod list;
mod migraphx;
mod onnx_mlir;
mod onnxruntime;
mod opencv;
mod tokens;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::ValueEnum;
use onnx_conformance_cases::case::read_text;
use onnx_conformance_cases::suite::{Releases, SuiteError};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::{Entry, Expectations};
use onnx_conformance_harness::run::Outcome;
use regex::Regex;

use crate::cli::denylist::list::{DEVICES, ListFault, Listed, NameList, Tests};
use crate::cli::print;
use crate::cli::suggest::nearest;
use crate::cli::usage::{Usage, ValueError};

/// Maximum number of skipped names to print.
const MAX_NAMED: usize = 10;

/// Outcome that no other is worse than. An entry that varies up to it allows every outcome.
const WORST: Outcome = Outcome::Crash;

/// Format of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Opencv,
    OnnxMlir,
    Migraphx,
    Iree,
    Onnxruntime,
    /// One name on a line
    Names,
}

/// A list to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denylist {
    format: Format,
    path: PathBuf,
}

/// Options of an import.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImportOptions<'a> {
    /// Execution provider whose tests are also read.
    pub(crate) provider: Option<&'a str>,
    /// True if unknown names are skipped.
    pub(crate) skip_unknown: bool,
}

/// Ids of the tests that a list names as failing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Imported {
    ids: BTreeSet<String>,
    /// Description of the list, for the head of the file.
    source: String,
}

/// Test of a release.
#[derive(Debug)]
struct ReleaseTest {
    id: String,
    /// The plain name, and the names that upstream's runner gives it for each device.
    names: Vec<String>,
}

/// Entry of a list, ready to be compared with names.
enum Selector {
    Named(String),
    Matching(Regex),
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => Ok(()),
        }
    }
}

impl Format {
    /// Reads the text of a list.
    fn read(self, text: &str, provider: Option<&str>) -> Result<NameList, ListFault> {
        match self {
            Format::Opencv => opencv::read(text),
            Format::OnnxMlir => onnx_mlir::read(text),
            Format::Migraphx => migraphx::read(text),
            Format::Iree => iree::read(text),
            Format::Onnxruntime => onnxruntime::read(text, provider),
            Format::Names => lines::read(text),
        }
    }
}

impl Denylist {
    /// Parses `FORMAT:FILE`.
    pub(crate) fn parse(text: &str) -> Result<Denylist, ValueError> {
        let parsed = text.split_once(':').filter(|(_, path)| !path.is_empty()).and_then(|(format, path)| {
            Some(Denylist { format: Format::from_str(format, false).ok()?, path: PathBuf::from(path) })
        });
        parsed.ok_or_else(|| {
            let known: Vec<String> = Format::value_variants().iter().map(ToString::to_string).collect();
            ValueError::Denylist(known.join(", "))
        })
    }

    /// Returns the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the list, and finds its tests in the releases of ONNX. A test of several releases has the id of the newest one.
    pub(crate) fn import(&self, releases: &Releases, options: ImportOptions<'_>) -> anyhow::Result<Imported> {
        if options.provider.is_some() && self.format != Format::Onnxruntime {
            let rule = format!("--provider is for {}:FILE only; omit it", Format::Onnxruntime);
            bail!(Usage(rule));
        }
        let place = self.path.display().to_string();
        let text = read_text(&self.path).with_context(|| place.clone())?;
        let list = self.format.read(&text, options.provider).map_err(|fault| {
            let hint = format!("is {place} a list of the format {}?", self.format);
            anyhow!("{}; {hint}", fault.in_file(&place))
        })?;
        let tests = tests_of_releases(releases)?;
        let (ids, unknown) = failing_ids(&list, &tests).map_err(|fault| anyhow!("{}", fault.in_file(&place)))?;
        if !options.skip_unknown
            && let Some(first) = unknown.first()
        {
            bail!("{}", unknown_test(first, unknown.len() - 1, &tests).in_file(&place));
        }
        note_skipped(&place, &unknown);
        if ids.is_empty() {
            bail!(
                "{place}: no release of ONNX has a test of the list, so there is nothing to write; check the format and the file"
            );
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Imported { ids, source: format!("{}, a list in the format {}", escape::line(&name), self.format) })
    }
}

impl Imported {
    /// Returns the number of entries.
    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the text of an expectation file with one entry for each test. Whatever a test ends with is as expected: a failure
    /// varies up to the worst one.
    pub(crate) fn to_yaml(&self, mut expectations: Expectations) -> String {
        let entry = |id: &String| Entry { varies: true, ..Entry::ending(id.clone(), WORST) };
        expectations.expect = self.ids.iter().map(entry).collect();
        let comment = format!(
            "# Made from {}: any outcome of these tests is as expected.\n\
             # `onnx-conformance run --init` writes the file anew from a run, with the outcome of each case.\n",
            self.source
        );
        expectations.to_yaml().replacen('\n', &format!("\n{comment}"), 1)
    }
}

impl ReleaseTest {
    /// Creates a test of a release, called as `node/test_abs`.
    fn new(release: &str, test: &str) -> ReleaseTest {
        let name = test.rsplit('/').next().unwrap_or(test);
        let names = [""].into_iter().chain(DEVICES).map(|device| format!("{name}{device}")).collect();
        ReleaseTest { id: format!("onnx-{release}/{test}"), names }
    }
}

impl Selector {
    fn new(listed: &Listed) -> Result<Selector, ListFault> {
        Ok(match &listed.tests {
            Tests::Named(name) => Selector::Named(name.clone()),
            Tests::Matching(pattern) => Selector::Matching(Regex::new(pattern).map_err(|error| {
                // The last line of the message is the reason.
                let message = error.to_string();
                let reason = message.lines().next_back().unwrap_or_default().trim_start_matches("error: ");
                let rule = format!(
                    "'{pattern}' is not a regular expression that this program reads: {reason}; list the names instead"
                );
                ListFault::of_line(listed.line, rule)
            })?),
        })
    }

    /// Returns true if the entry selects a test. An expression may match anywhere in the name.
    fn selects(&self, test: &ReleaseTest) -> bool {
        match self {
            Selector::Named(name) => test.names.first() == Some(name),
            Selector::Matching(pattern) => test.names.iter().any(|name| pattern.is_match(name)),
        }
    }

    /// Returns the tests of the newest release that has any.
    fn find<'a>(&self, tests: &'a [Vec<ReleaseTest>]) -> Vec<&'a ReleaseTest> {
        for of_release in tests {
            let found: Vec<&ReleaseTest> = of_release.iter().filter(|test| self.selects(test)).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }
}

/// Returns the tests of every release, newest first.
fn tests_of_releases(releases: &Releases) -> Result<Vec<Vec<ReleaseTest>>, SuiteError> {
    let mut tests = Vec::new();
    for (number, release) in releases.all().iter().enumerate().rev() {
        let names = releases.index(number)?.tests.keys();
        tests.push(names.map(|test| ReleaseTest::new(&release.release, test)).collect());
    }
    Ok(tests)
}

/// Returns the ids of the tests that count as failing, and the entries that no release has.
fn failing_ids<'a>(
    list: &'a NameList,
    tests: &[Vec<ReleaseTest>],
) -> Result<(BTreeSet<String>, Vec<&'a Listed>), ListFault> {
    let (mut ids, mut unknown) = (BTreeSet::new(), Vec::new());
    for listed in &list.failing {
        let found = Selector::new(listed)?.find(tests);
        if found.is_empty() {
            unknown.push(listed);
        }
        ids.extend(found.into_iter().map(|test| test.id.clone()));
    }
    let mut enabled = Vec::new();
    for listed in &list.enabled {
        let selector = Selector::new(listed)?;
        // An expression that enables nothing changes nothing.
        if matches!(listed.tests, Tests::Named(_)) && selector.find(tests).is_empty() {
            unknown.push(listed);
        }
        enabled.push(selector);
    }
    if !enabled.is_empty() {
        let is_enabled = |test: &&ReleaseTest| enabled.iter().any(|selector| selector.selects(test));
        let newest = tests.first().into_iter().flatten();
        ids.extend(newest.filter(|test| !is_enabled(test)).map(|test| test.id.clone()));
    }
    Ok((ids, unknown))
}

/// Returns the fault of an entry that no release has.
fn unknown_test(listed: &Listed, others: usize, tests: &[Vec<ReleaseTest>]) -> ListFault {
    let text = escape::line(listed.text());
    let problem = match listed.tests {
        Tests::Named(_) => {
            let names: BTreeSet<&str> =
                tests.iter().flatten().filter_map(|test| test.names.first()).map(String::as_str).collect();
            let near = nearest(listed.text(), names.into_iter());
            let near = near.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default();
            format!("no release of ONNX has the test '{text}'{near}")
        }
        Tests::Matching(_) => format!("the expression '{text}' matches no test of any release of ONNX"),
    };
    let more = if others > 0 { format!(", nor {others} more of the list") } else { String::new() };
    ListFault::of_line(
        listed.line,
        format!("{problem}{more}; correct the list, or omit such tests with --skip-unknown"),
    )
}

/// Prints the number of skipped entries, and the first of them.
fn note_skipped(place: &str, unknown: &[&Listed]) {
    if unknown.is_empty() {
        return;
    }
    let named: Vec<&str> = unknown.iter().take(MAX_NAMED).map(|listed| listed.text()).collect();
    let more = if unknown.len() > named.len() { ", ..." } else { "" };
    let count = unknown.len();
    print::note(&format!(
        "{place}: {count} entries that no release of ONNX has are skipped: {}{more}",
        named.join(", ")
    ));
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Variant;
    use onnx_conformance_cases::suite::Filter;
    use onnx_conformance_harness::expectations::{Conclusion, ExpectationMatcher, GateResult, Scope};
    use onnx_conformance_harness::run::CaseResult;
    use onnx_conformance_subject::Declaration;

    use super::*;

    fn releases() -> Vec<Vec<ReleaseTest>> {
        let release = |name: &str, tests: &[&str]| tests.iter().map(|test| ReleaseTest::new(name, test)).collect();
        vec![
            release("2.0.0", &["node/test_add", "node/test_add_bcast", "simple/test_sub"]),
            release("1.0.0", &["node/test_add", "node/test_old"]),
        ]
    }

    /// Returns the failing ids and the unknown entries of a list of failing tests.
    fn failing(tests: &[Listed]) -> (Vec<String>, Vec<String>) {
        let list = NameList { failing: tests.to_vec(), ..NameList::default() };
        let (ids, unknown) = failing_ids(&list, &releases()).unwrap();
        (ids.into_iter().collect(), unknown.into_iter().map(|listed| listed.text().to_owned()).collect())
    }

    #[test]
    fn a_test_has_the_id_of_the_newest_release_that_has_it() {
        let names = ["test_add", "test_old_cpu", "test_sub"].map(|name| Listed::named(1, name));
        let (ids, unknown) = failing(&names);
        assert_eq!(ids, ["onnx-1.0.0/node/test_old", "onnx-2.0.0/node/test_add", "onnx-2.0.0/simple/test_sub"]);
        assert!(unknown.is_empty());
        assert_eq!(failing(&[Listed::named(1, "test_ad")]), (vec![], vec!["test_ad".to_owned()]));
    }

    #[test]
    fn an_expression_matches_anywhere_and_with_a_device() {
        let ids = |pattern: &str| failing(&[Listed::matching(1, pattern)]).0;
        assert_eq!(ids("test_add_cpu"), ["onnx-2.0.0/node/test_add"]);
        assert_eq!(ids("^test_add"), ["onnx-2.0.0/node/test_add", "onnx-2.0.0/node/test_add_bcast"]);
        assert_eq!(ids("old$"), ["onnx-1.0.0/node/test_old"]);
        assert!(ids("^add").is_empty());
    }

    #[test]
    fn tests_that_are_not_enabled_fail() {
        let enabled = vec![Listed::named(1, "test_add"), Listed::named(2, "test_ad"), Listed::matching(3, "_none")];
        let list = NameList { enabled, failing: vec![Listed::named(4, "test_add")] };
        let tests = releases();
        let (ids, unknown) = failing_ids(&list, &tests).unwrap();
        let expected = ["onnx-2.0.0/node/test_add", "onnx-2.0.0/node/test_add_bcast", "onnx-2.0.0/simple/test_sub"];
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(unknown, [&Listed::named(2, "test_ad")]);
    }

    #[test]
    fn an_unknown_test_is_reported_with_the_nearest() {
        let fault = |listed: Listed| unknown_test(&listed, 2, &releases()).in_file("a.txt");
        assert_eq!(
            fault(Listed::named(7, "test_ad")),
            "a.txt:7: no release of ONNX has the test 'test_ad' (did you mean 'test_add'?), nor 2 more of the list; correct the \
             list, or omit such tests with --skip-unknown"
        );
        let said = fault(Listed::matching(7, "^x"));
        assert!(
            said.starts_with("a.txt:7: the expression '^x' matches no test of any release of ONNX, nor 2 more"),
            "{said}"
        );
    }

    #[test]
    fn an_expression_that_cannot_be_read_is_reported_with_its_line() {
        let list = NameList { failing: vec![Listed::matching(5, "^test_(?!abs)")], ..NameList::default() };
        let fault = failing_ids(&list, &releases()).unwrap_err();
        assert_eq!(fault.line, Some(5));
        assert!(
            fault.rule.contains("'^test_(?!abs)' is not a regular expression that this program reads: look-around"),
            "{fault}"
        );
    }

    #[test]
    fn a_list_is_named_by_its_format_and_file() {
        let list = Denylist::parse("onnx-mlir:a:b.py").unwrap();
        assert_eq!((list.format, list.path()), (Format::OnnxMlir, Path::new("a:b.py")));
        for text in ["a.py", "opencv:", "nonsense:a.py", ""] {
            let error = Denylist::parse(text).unwrap_err().to_string();
            assert!(error.ends_with("opencv, onnx-mlir, migraphx, iree, onnxruntime, names"), "{text}: {error}");
        }
    }

    /// Returns the file of a list of one test.
    fn file() -> Expectations {
        let ids = BTreeSet::from(["onnx-2.0.0/node/test_add".to_owned()]);
        let imported = Imported { ids, source: "a.txt, a list in the format names".to_owned() };
        let text = imported.to_yaml(Expectations::empty("mine"));
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("# Made from a.txt, a list")), "{text}");
        Expectations::parse("a.yaml", &text).unwrap()
    }

    #[test]
    fn whatever_a_listed_test_ends_with_is_as_expected() {
        assert_eq!((file().runtime.as_str(), file().expect.len()), ("mine", 1));
        for outcome in Outcome::ALL {
            let line = format!(
                "{{\"id\":\"onnx-2.0.0/node/test_add\",\"outcome\":\"{outcome}\",\"level\":\"required\",\"ms\":1.0}}"
            );
            let result: CaseResult = serde_json::from_str(&line).unwrap();
            let matcher = ExpectationMatcher::new(file(), &Declaration::named("mine", "1"), false).unwrap();
            let mut gate = GateResult::default();
            gate.add_result(&result, &matcher);
            gate.finish(&matcher, &Scope { filter: Some(&Filter::default()), variant: Variant::Runtime });
            let expected = if outcome.is_inconclusive() { Conclusion::NothingJudged } else { Conclusion::AsExpected };
            assert_eq!(gate.conclusion(), expected, "{outcome}");
        }
    }
}
