//! Shares of the error bounds that outputs take, as numbers of cases, in a file next to the expectations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::compare::{BoundShare, UsedBound};
use onnx_conformance_reference::dtype::{ElementType, UnknownElementType};
use onnx_conformance_reference::spec::{OperatorVersion, OperatorVersionError};

use crate::run::{CaseResult, Outcome};

/// Number of shares.
const SHARES: usize = BoundShare::ALL.len();

/// Numbers of cases by the share of their error bound that they take, for each operator version, element type and bound, one per
/// line: `ai.onnx/Softmax-13 float 8 31 0 2 5 9 1 0 0`. The bound is in representable values, or `-` for one in other units. The
/// numbers are in the order of [`BoundShare::ALL`], so the last two are of cases that break their bound. Cases whose outputs must be
/// equal to the expected ones are omitted, and so are cases that the standard leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredAccuracy {
    versions: BTreeMap<OperatorVersion, VersionBounds>,
}

/// Numbers of cases of an operator version by element type and bound.
type VersionBounds = BTreeMap<(ElementType, Option<u64>), [u32; SHARES]>;

/// Numbers of cases of an operator version with one element type and bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundUse {
    /// The element type.
    pub element: ElementType,
    /// The bound in representable values; `None` for a bound in other units.
    pub ulps: Option<u64>,
    /// The numbers of cases, in the order of [`BoundShare::ALL`].
    pub cases: [u32; SHARES],
}

impl BoundUse {
    /// Adds the cases of another bound of the same type. Different bounds have no common unit.
    fn add(&mut self, other: &BoundUse) {
        if self.ulps != other.ulps {
            self.ulps = None;
        }
        for (count, more) in self.cases.iter_mut().zip(other.cases) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns the number of all cases.
    pub fn total(&self) -> u64 {
        self.cases.iter().map(|count| u64::from(*count)).sum()
    }

    /// Formats the bound: `8 ULP`.
    pub fn bound(&self) -> String {
        self.ulps.map_or_else(|| "in other units".to_owned(), |ulps| format!("{ulps} ULP"))
    }

    /// Describes the numbers of cases: `31 of 41 exact, the others within 1/4 of the bound`.
    pub fn words(&self) -> String {
        let used = || BoundShare::ALL.into_iter().zip(self.cases).filter(|(_, count)| *count > 0);
        let sum = |holds: bool| -> u64 {
            used().filter(|(share, _)| share.holds() == holds).map(|(_, count)| u64::from(count)).sum()
        };
        let (within, beyond) = (sum(true), sum(false));
        let exact = u64::from(self.cases.first().copied().unwrap_or_default());
        let total = self.total();
        if exact == total {
            return format!("all {total} exact");
        }
        if beyond > 0 && within == exact {
            return format!("{exact} of {total} exact, the others beyond the bound");
        }
        if beyond > 0 {
            return format!("{exact} of {total} exact, {} others within the bound, {beyond} beyond it", within - exact);
        }
        match used().next_back().map(|(share, _)| share) {
            None | Some(BoundShare::Whole) => format!("{exact} of {total} exact, the others within the bound"),
            Some(share) => format!("{exact} of {total} exact, the others within {share} of the bound"),
        }
    }
}

/// A line of a file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{line}: {fault}")]
pub struct AccuracyError {
    path: String,
    line: usize,
    fault: AccuracyFault,
}

/// Fault of a line.
#[derive(Debug, thiserror::Error)]
enum AccuracyFault {
    #[error(
        "is not an operator version, an element type, a bound and {count} numbers of cases, separated by spaces",
        count = SHARES
    )]
    Form,
    #[error(transparent)]
    Version(#[from] OperatorVersionError),
    #[error(transparent)]
    Element(#[from] UnknownElementType),
    #[error("'{0}' is neither a number of representable values nor `-` for a bound in other units")]
    Bound(String),
    #[error("'{0}' is not a number of cases")]
    Count(String),
    #[error("an earlier line has the same operator version, element type and bound")]
    Duplicate,
}

impl MeasuredAccuracy {
    /// File name extension.
    pub(crate) const EXTENSION: &str = "accuracy";

    /// Returns the path of the file for an expectation file: `expectations/tract/0.23.9.accuracy` for
    /// `expectations/tract/0.23.9.yaml`.
    pub fn path(expectations: &Path) -> PathBuf {
        expectations.with_extension(Self::EXTENSION)
    }

    /// Parses the contents of the file called `path`.
    pub fn parse(path: &str, text: &str) -> Result<MeasuredAccuracy, AccuracyError> {
        let mut read = MeasuredAccuracy::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let added = read.add_line(line);
            added.map_err(|fault| AccuracyError { path: path.to_owned(), line: index + 1, fault })?;
        }
        Ok(read)
    }

    fn add_line(&mut self, line: &str) -> Result<(), AccuracyFault> {
        let mut words = line.split(' ');
        let (Some(version), Some(element), Some(bound)) = (words.next(), words.next(), words.next()) else {
            return Err(AccuracyFault::Form);
        };
        let (version, element): (OperatorVersion, ElementType) = (version.parse()?, element.parse()?);
        let ulps = match bound {
            "-" => None,
            number => Some(number.parse::<u64>().map_err(|_| AccuracyFault::Bound(number.to_owned()))?),
        };
        let count = |word: &str| word.parse::<u32>().map_err(|_| AccuracyFault::Count(word.to_owned()));
        let counts: Vec<u32> = words.map(count).collect::<Result<_, _>>()?;
        let counts: [u32; SHARES] = counts.try_into().map_err(|_| AccuracyFault::Form)?;
        match self.versions.entry(version).or_default().insert((element, ulps), counts) {
            None => Ok(()),
            Some(_) => Err(AccuracyFault::Duplicate),
        }
    }

    /// Counts the cases of results.
    pub fn of_results(results: &[CaseResult]) -> MeasuredAccuracy {
        let mut all = MeasuredAccuracy::default();
        for result in results {
            let version = || CaseId::parse(&result.id).version();
            if let Some((bound, version)) = judged_bound(result).and_then(|bound| Some((bound, version()?))) {
                let counts = all.versions.entry(version).or_default().entry((bound.element, bound.ulps)).or_default();
                if let Some(count) = counts.get_mut(bound.share.position()) {
                    *count += 1;
                }
            }
        }
        all
    }

    /// Counts the cases of a run. Operator versions whose cases did not all run have the numbers of the `earlier`
    /// measurement: a case that has changed cannot be subtracted from them. `missing` are groups of cases without
    /// results.
    pub fn after(results: &[CaseResult], earlier: MeasuredAccuracy, missing: &[String]) -> MeasuredAccuracy {
        let not_run = results.iter().filter(|result| result.is_measured);
        let mut not_run: BTreeSet<OperatorVersion> =
            not_run.filter_map(|result| CaseId::parse(&result.id).version()).collect();
        let is_missing = |version: &&OperatorVersion| missing.contains(&version.qualified());
        not_run.extend(earlier.versions.keys().filter(is_missing).cloned());
        let mut all = MeasuredAccuracy::of_results(results);
        all.versions.retain(|version, _| !not_run.contains(version));
        all.versions.extend(earlier.versions.into_iter().filter(|(version, _)| not_run.contains(version)));
        all
    }

    /// Returns true if no case has a bound.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Returns the numbers of cases of an operator version, by element type and bound.
    pub fn of(&self, version: &OperatorVersion) -> Vec<BoundUse> {
        let lines = self.versions.get(version).into_iter().flatten();
        lines.map(|((element, ulps), cases)| BoundUse { element: *element, ulps: *ulps, cases: *cases }).collect()
    }

    /// Returns the numbers of cases of an operator version by element type, whatever their bounds.
    pub fn by_type(&self, version: &OperatorVersion) -> Vec<BoundUse> {
        let mut types: Vec<BoundUse> = Vec::new();
        for next in self.of(version) {
            match types.last_mut().filter(|last| last.element == next.element) {
                Some(last) => last.add(&next),
                None => types.push(next),
            }
        }
        types
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        let mut text = "# Written by `onnx-conformance run --update-expectations`: cases by the share of their error bound that their \
                        outputs take; do not edit.\n# The bound is in ULP, - is one in other units. The numbers are of cases:"
            .to_owned();
        // Writing to a string cannot fail.
        for share in BoundShare::ALL {
            let _ = write!(text, " {share}");
        }
        text.push('\n');
        for (version, lines) in &self.versions {
            for ((element, ulps), cases) in lines {
                let bound = ulps.map_or("-".to_owned(), |ulps| ulps.to_string());
                let _ = write!(text, "{} {element} {bound}", version.qualified());
                for count in cases {
                    let _ = write!(text, " {count}");
                }
                text.push('\n');
            }
        }
        text
    }
}

/// Returns the bound that decided a result; `None` if none did, or if the standard leaves the outputs open.
fn judged_bound(result: &CaseResult) -> Option<UsedBound> {
    let is_judged = result.level != Level::Open && matches!(result.outcome, Outcome::Pass | Outcome::Mismatch);
    result.bound.filter(|_| is_judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;

    fn with_bound(id: &str, outcome: Outcome, share: BoundShare, ulps: Option<u64>) -> CaseResult {
        CaseResult {
            bound: Some(UsedBound { element: ElementType::Float, ulps, share }),
            ..result(&format!("ai.onnx/{id}"), outcome)
        }
    }

    fn lines(accuracy: &MeasuredAccuracy) -> Vec<String> {
        accuracy.to_text().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn cases_are_counted_by_type_bound_and_share() {
        let open =
            CaseResult { level: Level::Open, ..with_bound("Exp-13/o", Outcome::Pass, BoundShare::Half, Some(4)) };
        let results = [
            with_bound("Exp-13/a", Outcome::Pass, BoundShare::Exact, Some(4)),
            with_bound("Exp-13/b", Outcome::Pass, BoundShare::Exact, Some(4)),
            with_bound("Exp-13/c", Outcome::Mismatch, BoundShare::Fourfold, Some(4)),
            with_bound("Exp-13/d", Outcome::Pass, BoundShare::Whole, None),
            with_bound("Exp-13/e", Outcome::Crash, BoundShare::Half, Some(4)),
            result("ai.onnx/Abs-13/a", Outcome::Pass),
            CaseResult { id: "graph/x".to_owned(), ..with_bound("Exp-13/f", Outcome::Pass, BoundShare::Half, None) },
            open,
        ];
        let counted = MeasuredAccuracy::of_results(&results);
        assert_eq!(
            lines(&counted),
            ["ai.onnx/Exp-13 float - 0 0 0 0 0 1 0 0", "ai.onnx/Exp-13 float 4 2 0 0 0 0 0 1 0"]
        );
        assert_eq!(MeasuredAccuracy::parse("a", &counted.to_text()).unwrap(), counted);
        let of_exp = counted.of(&"Exp-13".parse().unwrap());
        assert_eq!(of_exp[1], BoundUse { element: ElementType::Float, ulps: Some(4), cases: [2, 0, 0, 0, 0, 0, 1, 0] });
        let by_type = counted.by_type(&"Exp-13".parse().unwrap());
        assert_eq!(by_type, [BoundUse { element: ElementType::Float, ulps: None, cases: [2, 0, 0, 0, 0, 1, 1, 0] }]);
        assert!(counted.of(&"Abs-13".parse().unwrap()).is_empty());
    }

    #[test]
    fn the_numbers_are_described_in_words() {
        let of = |cases| BoundUse { element: ElementType::Float, ulps: Some(8), cases };
        for (cases, words) in [
            ([9, 0, 0, 0, 0, 0, 0, 0], "all 9 exact"),
            ([9, 1, 0, 3, 0, 0, 0, 0], "9 of 13 exact, the others within 1/4 of the bound"),
            ([0, 0, 0, 0, 0, 1, 0, 0], "0 of 1 exact, the others within the bound"),
            ([2, 0, 0, 0, 0, 0, 1, 0], "2 of 3 exact, the others beyond the bound"),
            ([1, 2, 0, 0, 0, 0, 3, 4], "1 of 10 exact, 2 others within the bound, 7 beyond it"),
        ] {
            assert_eq!(of(cases).words(), words);
        }
        assert_eq!(of([0; 8]).bound(), "8 ULP");
    }

    #[test]
    fn versions_that_were_not_run_as_a_whole_have_the_earlier_numbers() {
        let earlier = "ai.onnx/Exp-6 float 4 9 0 0 0 0 0 0 0\nai.onnx/Exp-13 float 4 9 0 0 0 0 0 0 0\n\
                       ai.onnx/Log-13 float 4 9 0 0 0 0 0 0 0\nai.onnx/Tan-7 float 4 9 0 0 0 0 0 0 0\n";
        let earlier = MeasuredAccuracy::parse("a", earlier).unwrap();
        let results = [
            with_bound("Exp-13/a", Outcome::Pass, BoundShare::Half, Some(4)),
            CaseResult { is_measured: true, ..result("ai.onnx/Exp-13/b", Outcome::Pass) },
            with_bound("Log-13/a", Outcome::Pass, BoundShare::Half, Some(4)),
            with_bound("Sin-7/a", Outcome::Pass, BoundShare::Half, None),
            CaseResult { is_measured: true, ..result("ai.onnx/Sin-7/b", Outcome::Pass) },
        ];
        let after = MeasuredAccuracy::after(&results, earlier, &["ai.onnx/Tan-7".to_owned()]);
        let expected = [
            "ai.onnx/Exp-13 float 4 9 0 0 0 0 0 0 0",
            "ai.onnx/Log-13 float 4 0 0 0 0 1 0 0 0",
            "ai.onnx/Tan-7 float 4 9 0 0 0 0 0 0 0",
        ];
        assert_eq!(lines(&after), expected);
    }

    #[test]
    fn a_bad_line_is_an_error_with_its_place() {
        let good = "ai.onnx/Exp-13 float 4 1 0 0 0 0 0 0 0";
        for (line, fault) in [
            ("<<<<<<< HEAD", "is not an operator version, an element type, a bound and 8 numbers"),
            ("", "is not an operator version"),
            ("ai.onnx/Exp-13 float 4 1 0 0", "is not an operator version"),
            ("ai.onnx/Exp-13 float 4 1 0 0 0 0 0 0 0 0", "is not an operator version"),
            ("ai.onnx/Exp float 4 1 0 0 0 0 0 0 0", "'ai.onnx/Exp' is not an operator version"),
            ("ai.onnx/Exp-13 float17 4 1 0 0 0 0 0 0 0", "'float17' is not an element type"),
            ("ai.onnx/Exp-13 float four 1 0 0 0 0 0 0 0", "'four' is neither a number"),
            ("ai.onnx/Exp-13 float 8 1 0 0 0 0 0 0 -1", "'-1' is not a number of cases"),
            (good, "an earlier line has the same"),
        ] {
            let text = format!("# a comment\n{good}\n{line}\n");
            let error = MeasuredAccuracy::parse("expectations/a/1.accuracy", &text).unwrap_err().to_string();
            assert!(error.starts_with("expectations/a/1.accuracy:3: ") && error.contains(fault), "{line}: {error}");
        }
    }
}
