//! Counts of converted cases per pair of versions, and `records/conversions.txt`, which `coverage` shows.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

use onnx_conformance_reference::spec::OperatorVersion;

use crate::examples::Examples;

/// First lines of the record.
const HEAD: &str = "\
# Written by `CONVERT_ALL=1 CONVERT_RECORD=1 cargo test --test convert`: of the cases of an operator version, brought to an
# opset, how many are the same there, how many are edited, and how many are refused. Those that gave something else: none.
";

/// Result of a converted case.
pub(crate) enum Outcome {
    Right {
        is_edited: bool,
    },
    Refused(String),
    Different(String),
    DoesNotRun(String),
    /// Valid before the conversion, but not after it.
    Invalid(String),
    Crashed,
}

/// Results of the cases of a version at another version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    same: usize,
    edited: usize,
    refused: BTreeMap<String, usize>,
    different: Vec<String>,
    does_not_run: Vec<String>,
    invalid: Vec<String>,
    crashed: usize,
    /// Examples of edited cases.
    pub(crate) examples: Examples,
}

/// Counts by operator version and opset.
pub(crate) type Pairs = BTreeMap<(OperatorVersion, u32), Counts>;

impl Counts {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Right { is_edited: false } => self.same += 1,
            Outcome::Right { is_edited: true } => self.edited += 1,
            Outcome::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
            Outcome::Different(message) => self.different.push(message),
            Outcome::DoesNotRun(message) => self.does_not_run.push(message),
            Outcome::Invalid(message) => self.invalid.push(message),
            Outcome::Crashed => self.crashed += 1,
        }
    }

    fn refused(&self) -> usize {
        self.refused.values().sum()
    }

    fn converted(&self) -> usize {
        self.same + self.edited
    }
}

/// Sums of all pairs.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    same: usize,
    edited: usize,
    refused: usize,
    different: usize,
    does_not_run: usize,
    crashed: usize,
}

impl Totals {
    pub(crate) fn of<'a>(pairs: impl IntoIterator<Item = (&'a (OperatorVersion, u32), &'a Counts)>) -> Totals {
        let mut totals = Totals::default();
        for (_, counts) in pairs {
            totals.same += counts.same;
            totals.edited += counts.edited;
            totals.refused += counts.refused();
            totals.different += counts.different.len();
            totals.does_not_run += counts.does_not_run.len();
            totals.crashed += counts.crashed;
        }
        totals
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { same, edited, refused, different, does_not_run, crashed } = self;
        write!(f, "{same} same, {edited} edited, {refused} refused, ")?;
        write!(f, "{different} give something else, {does_not_run} do not run, {crashed} crashed")
    }
}

/// Formats every pair with its counts and the reasons of refusals, followed by the errors.
pub(crate) fn report(pairs: &Pairs) -> String {
    let mut text = String::new();
    for (pair @ (version, since), counts) in pairs {
        writeln!(text, "{version} at {since}: {}", Totals::of([(pair, counts)])).unwrap();
        for (reason, number) in &counts.refused {
            writeln!(text, "  {number} refused: {reason}").unwrap();
        }
    }
    text + &wrong(pairs).join("\n")
}

/// Lists the cases with different outputs, that do not run, or that are no longer valid.
pub(crate) fn wrong(pairs: &Pairs) -> Vec<String> {
    let of_pair = |((version, since), counts): (&(OperatorVersion, u32), &Counts)| {
        let different = counts.different.iter().map(|it| format!("{version} at {since} differs: {it}"));
        let does_not_run = counts.does_not_run.iter().map(|it| format!("{version} at {since} does not run: {it}"));
        let invalid = counts.invalid.iter().map(|it| format!("{version} at {since} is no longer valid: {it}"));
        different.chain(does_not_run).chain(invalid).collect::<Vec<String>>()
    };
    pairs.iter().flat_map(of_pair).collect()
}

/// Returns the path of the record.
pub(crate) fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("records/conversions.txt")
}

/// Formats the record.
pub(crate) fn record(pairs: &Pairs) -> String {
    let row = |((version, since), counts): (&(OperatorVersion, u32), &Counts)| {
        format!("{} {since} {} {} {}\n", version.qualified(), counts.same, counts.edited, counts.refused())
    };
    HEAD.to_owned() + &pairs.iter().map(row).collect::<String>()
}

/// Compares some cases with the record of all: it must have the same pairs. No case may be converted or refused if the record has
/// none of that kind.
pub(crate) fn hold(pairs: &Pairs) {
    let again = "write it anew by `CONVERT_ALL=1 CONVERT_RECORD=1 cargo test --test convert`";
    let text = std::fs::read_to_string(path()).unwrap();
    let mut recorded: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [version, since, same, edited, refused] = words[..] else { panic!("records/conversions.txt: {line}") };
        let number = |text: &str| text.parse::<usize>().unwrap_or_else(|_| panic!("records/conversions.txt: {line}"));
        recorded.insert(format!("{version} {since}"), (number(same) + number(edited), number(refused)));
    }
    for ((version, since), counts) in pairs {
        let pair = format!("{} {since}", version.qualified());
        let (converted, refused) = recorded.remove(&pair).unwrap_or_else(|| panic!("{pair} is not recorded; {again}"));
        assert!(converted > 0 || counts.converted() == 0, "{pair} is converted now; {again}");
        assert!(refused > 0 || counts.refused() == 0, "{pair} is refused now: {:?}; {again}", counts.refused);
    }
    assert!(recorded.is_empty(), "{recorded:?} are recorded, and are no pairs; {again}");
}
