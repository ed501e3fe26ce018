//! Few entries for many failures: one for each thing that a runtime lacks, one for each group of cases that end alike.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::Variant;
use crate::expectations::entry::Entry;
use crate::run::{CaseResult, Outcome};

/// An entry, and the positions of the failures that it stands for.
pub(super) type EntryGroup = (Entry, Vec<usize>);

/// What a runtime says it lacks, and the positions of the failures for which it does.
type Lack<'a> = (&'a str, Vec<usize>);

/// The entries for these failures. `judged` are all results that an entry for a group could cover besides; a group is
/// listed as one only where all of it fails alike. No entry for ids is about two operators. `exact` entries are all for ids.
pub(super) fn group_failures(failures: &[&CaseResult], judged: &[&CaseResult], exact: bool) -> Vec<EntryGroup> {
    let lacking = |result: &CaseResult| !exact && result.outcome == Outcome::Unsupported && result.missing.is_some();
    let (lacks, others): (Vec<usize>, Vec<usize>) = (0..failures.len()).partition(|&index| lacking(failures[index]));
    let mut folded = fold_lacks(failures, &lacks, judged);
    let covered: BTreeSet<&str> = lacks.iter().map(|&index| failures[index].id.as_str()).collect();
    let judged: Vec<&CaseResult> =
        judged.iter().copied().filter(|result| !covered.contains(result.id.as_str())).collect();
    folded.extend(fold_ids(failures, &others, &judged));
    folded
}

/// An entry for each thing that is lacking, by the runtime's own words. A type is one thing where no case with it passes,
/// whatever operators lack it; so are the versions of an operator where no case of the operator, with the type, passes.
fn fold_lacks(failures: &[&CaseResult], lacks: &[usize], judged: &[&CaseResult]) -> Vec<EntryGroup> {
    let passing = judged.iter().filter(|result| result.outcome == Outcome::Pass);
    let passing = Passing::of(passing.flat_map(|result| result.cells.iter().chain(&result.named)));
    let mut whats: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &index in lacks {
        whats.entry(failures[index].missing.as_deref().unwrap_or_default()).or_default().push(index);
    }
    let mut groups: BTreeMap<(String, bool), Vec<Lack<'_>>> = BTreeMap::new();
    let mut folded = Vec::new();
    for (what, cases) in whats {
        match passing.group(what) {
            Some(group) => groups.entry(group).or_default().push((what, cases)),
            None => folded.push((Entry::lacking(what), cases)),
        }
    }
    for ((pattern, spans_operators), whats) in groups {
        let entry = match whats.as_slice() {
            [(what, _)] => Entry::lacking(what),
            _ => Entry { spans_operators, ..Entry::lacking(&pattern) },
        };
        folded.push((entry, whats.into_iter().flat_map(|(_, cases)| cases).collect()));
    }
    folded.sort_by(|(a, _), (b, _)| a.unsupported.cmp(&b.unsupported));
    folded
}

/// What cases that pass are made of.
#[derive(Default)]
struct Passing<'a> {
    types: BTreeSet<&'a str>,
    operators: BTreeSet<&'a str>,
    cells: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Passing<'a> {
    /// Reads operator versions, `ai.onnx/Abs-13`, and type cells, `ai.onnx/Abs-13 T=tensor(float)`.
    fn of(cells: impl Iterator<Item = &'a String>) -> Passing<'a> {
        let mut passing = Passing::default();
        for cell in cells {
            let (version, rest) = cell.split_once(' ').unwrap_or((cell, ""));
            let Some((operator, _)) = version.rsplit_once('-') else { continue };
            passing.operators.insert(operator);
            if let Some((_, value_type)) = rest.split_once('=') {
                passing.types.extend(tensor(value_type));
                passing.cells.insert((operator, value_type));
            }
        }
        passing
    }

    /// The pattern of the thing that something lacking is a part of, if no case that passes has that thing, and whether
    /// that is one of several operators.
    fn group(&self, what: &str) -> Option<(String, bool)> {
        let missing = tensor(what).filter(|tensor| what.starts_with(tensor) && !self.types.contains(tensor));
        if let Some(tensor) = missing {
            return Some((format!("{}*", escaped(tensor)), true));
        }
        let (version, value_type) = match what.split_once(" in ") {
            Some((value_type, version)) => (version, Some(value_type)),
            None => (what.strip_prefix("operator ")?, None),
        };
        let (operator, since) = version.rsplit_once('-')?;
        since.parse::<u32>().ok()?;
        let passes = match value_type {
            Some(value_type) => self.cells.contains(&(operator, value_type)),
            None => self.operators.contains(operator),
        };
        let lacking = what.strip_suffix(since).filter(|_| !passes)?;
        Some((format!("{}*", escaped(lacking)), false))
    }
}

/// The tensor type that a text names first: `tensor(float)`.
fn tensor(text: &str) -> Option<&str> {
    let start = text.find("tensor(")?;
    let end = start + text.get(start..)?.find(')')? + 1;
    text.get(start..end)
}

/// A group of cases: the pattern that stands for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// All versions of an operator.
    Operator(String),
    /// What is below a folder, from the outermost.
    Folder(usize, String),
    /// What has a part of this name in a unit: a type, for one.
    Part(String, String),
}

impl Group {
    /// The groups of a case, by its id without a variant.
    fn all(id: &str) -> Vec<Group> {
        let parts: Vec<&str> = id.split('/').collect();
        let version = parts.get(..2).and_then(|unit| unit.join("/").parse::<OperatorVersion>().ok());
        let mut groups = Vec::new();
        let first = match &version {
            Some(version) => {
                groups.push(Group::Operator(format!("{}/{}", version.domain, version.name)));
                let unit = parts[..2].join("/");
                groups.extend(parts.iter().skip(2).map(|part| Group::Part(unit.clone(), (*part).to_owned())));
                2
            }
            // Above three parts, the names of vendored cases are of several operators.
            None => 3,
        };
        groups.extend((first..parts.len()).map(|depth| Group::Folder(depth, parts[..depth].join("/"))));
        groups
    }

    fn pattern(&self) -> String {
        match self {
            Group::Operator(operator) => format!("{}-*/**", escaped(operator)),
            Group::Folder(_, folder) => format!("{}/**", escaped(folder)),
            Group::Part(unit, part) => format!("{}/**/{}", escaped(unit), escaped(part)),
        }
    }
}

/// A text as a pattern that stands for itself.
fn escaped(text: &str) -> String {
    globset::escape(text)
}

fn fold_ids(failures: &[&CaseResult], others: &[usize], judged: &[&CaseResult]) -> Vec<EntryGroup> {
    let mut sizes: BTreeMap<(Group, Variant), usize> = BTreeMap::new();
    for result in judged {
        let (id, variant) = Variant::of_id(&result.id);
        for group in Group::all(id) {
            *sizes.entry((group, variant)).or_default() += 1;
        }
    }
    let mut members: BTreeMap<(Group, Variant), Vec<usize>> = BTreeMap::new();
    for &index in others {
        let (id, variant) = Variant::of_id(&failures[index].id);
        for group in Group::all(id) {
            members.entry((group, variant)).or_default().push(index);
        }
    }
    members.retain(|group, cases| {
        let outcomes: BTreeSet<Outcome> = cases.iter().map(|&index| failures[index].outcome).collect();
        outcomes.len() == 1 && sizes.get(group) == Some(&cases.len())
    });
    let mut waiting: BTreeSet<usize> = others.iter().copied().collect();
    let mut folded = Vec::new();
    for ((group, variant), cases) in members {
        let cases: Vec<usize> = cases.into_iter().filter(|index| waiting.contains(index)).collect();
        if let [first, _, ..] = cases.as_slice() {
            waiting.retain(|index| !cases.contains(index));
            folded.push((Entry::ending(variant.id(&group.pattern()), failures[*first].outcome), cases));
        }
    }
    let alone = |index: usize| (Entry::ending(escaped(&failures[index].id), failures[index].outcome), vec![index]);
    folded.extend(waiting.into_iter().map(alone));
    folded.sort_by(|(a, _), (b, _)| a.cases.cmp(&b.cases));
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::{lacking, result};

    fn check(results: &[CaseResult], expected: &[&str]) {
        let judged: Vec<&CaseResult> = results.iter().collect();
        let failures: Vec<&CaseResult> = results.iter().filter(|result| result.outcome != Outcome::Pass).collect();
        let folded = group_failures(&failures, &judged, false);
        assert_eq!(folded.iter().map(|(entry, _)| entry.to_yaml()).collect::<Vec<_>>(), expected);
        let mut covered: Vec<usize> = folded.into_iter().flat_map(|(_, cases)| cases).collect();
        covered.sort_unstable();
        assert_eq!(covered, (0..failures.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_type_that_no_passing_case_has_is_one_thing_to_lack() {
        let pass = CaseResult { named: vec!["d/A-1 T=tensor(double)".to_owned()], ..result("d/A-1/p", Outcome::Pass) };
        check(
            &[
                lacking("d/A-1/x", "tensor(bfloat16) in d/A-1"),
                lacking("d/B-1/x", "tensor(bfloat16) in d/B-1"),
                lacking("d/A-1/y", "tensor(double) in d/A-1"),
                lacking("d/B-1/y", "tensor(double) in d/B-1"),
                lacking("d/B-1/z", "operator d/B"),
                lacking("d/B-1/w", "operator d/B"),
                lacking("d/C-1/w", "operator d/C-1"),
                lacking("d/C-6/w", "operator d/C-6"),
                lacking("d/A-1/v", "operator d/A-1"),
                lacking("d/A-6/v", "operator d/A-6"),
                lacking("d/D-1/v", "tensor(double) in d/D-1"),
                lacking("d/D-6/v", "tensor(double) in d/D-6"),
                pass,
            ],
            &[
                "{unsupported: operator d/A-1}",
                "{unsupported: operator d/A-6}",
                "{unsupported: operator d/B}",
                "{unsupported: \"operator d/C-*\"}",
                "{unsupported: \"tensor(bfloat16)*\", spans_operators: true}",
                "{unsupported: tensor(double) in d/A-1}",
                "{unsupported: tensor(double) in d/B-1}",
                "{unsupported: \"tensor(double) in d/D-*\"}",
            ],
        );
    }

    #[test]
    fn what_ends_alike_is_one_entry_as_wide_as_can_be() {
        let error = |id: &str| result(id, Outcome::Error);
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), error("d/A-6/a/T=x"), result("d/B-1/a", Outcome::Pass)],
            &["{cases: \"d/A-*/**\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), result("d/A-6/a/T=x", Outcome::Pass)],
            &["{cases: \"d/A-1/**\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), result("d/A-1/b/T=y", Outcome::Pass)],
            &["{cases: \"d/A-1/**/T=x\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/a/T=y"), result("d/A-1/b/T=y", Outcome::Crash)],
            &["{cases: \"d/A-1/a/**\", outcome: error}", "{cases: d/A-1/b/T=y, outcome: crash}"],
        );
        check(
            &[error("onnx-1/node/test_a"), error("onnx-1/node/test_b")],
            &["{cases: onnx-1/node/test_a, outcome: error}", "{cases: onnx-1/node/test_b, outcome: error}"],
        );
    }

    #[test]
    fn what_is_exact_is_listed_by_case() {
        let results = [
            lacking("d/A-1/x", "operator d/A-1"),
            lacking("d/B-1/x", "operator d/B-1"),
            result("d/B-1/y", Outcome::Pass),
        ];
        let judged: Vec<&CaseResult> = results.iter().collect();
        let folded = group_failures(&judged[..2], &judged, true);
        let lines: Vec<String> = folded.iter().map(|(entry, _)| entry.to_yaml()).collect();
        assert_eq!(lines, ["{cases: d/A-1/x, outcome: unsupported}", "{cases: d/B-1/x, outcome: unsupported}"]);
    }

    #[test]
    fn variants_are_listed_apart() {
        let error = |id: &str| result(id, Outcome::Error);
        check(
            &[error("d/A-1/a@constants"), error("d/A-1/b@constants"), result("d/A-1/a", Outcome::Pass)],
            &["{cases: \"d/A-*/**@constants\", outcome: error}"],
        );
        check(&[error("a[b")], &["{cases: \"a[[]b\", outcome: error}"]);
    }
}
