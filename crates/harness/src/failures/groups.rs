//! Groups of failures: cases of one operator version with the same outcome, gravest group first, each with its worst case.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onnx_conformance_cases::case::CaseId;

use crate::measure::Severity;
use crate::run::{CaseResult, Outcome};

/// Number of words of a message that distinguish failures.
const WORDS: usize = 8;

/// Failures with the same outcome and similar messages.
#[derive(Debug)]
pub struct FailureGroup<'a> {
    /// Common id prefix: the operator version, or the folder of a release's tests.
    pub path: String,
    /// The most telling case.
    pub worst: &'a CaseResult,
    /// The other cases.
    pub others: Vec<&'a CaseResult>,
}

/// Groups failures.
pub fn failure_groups(results: &[CaseResult]) -> Vec<FailureGroup<'_>> {
    let words = |message: &str| message.split(|c: char| !c.is_alphabetic()).take(WORDS).collect::<String>();
    let mut groups: BTreeMap<(String, Outcome, String), Vec<&CaseResult>> = BTreeMap::new();
    for result in results {
        let key = (group_of(&result.id), result.outcome, words(&result.message));
        groups.entry(key).or_default().push(result);
    }
    let mut all: Vec<FailureGroup<'_>> = Vec::new();
    for ((path, ..), mut of_group) in groups {
        // Binding cases first, then the largest error, then the shortest id. Inexact outputs have the smallest errors.
        of_group.sort_by_key(|result| {
            let error = (result.ulps.is_none(), result.ulps);
            (result.level, Reverse(error), result.id.len(), result.id.as_str())
        });
        if let Some((worst, others)) = of_group.split_first() {
            all.push(FailureGroup { path, worst, others: others.to_vec() });
        }
    }
    all.sort_by_key(|group| (Reverse(Severity::from_outcome(group.worst.outcome, false)), Reverse(group.others.len())));
    all
}

/// Sorts the worst case of each group to the front, in group order, followed by the other cases in the same order.
pub fn sort_by_gravity(results: &mut Vec<CaseResult>) {
    let groups = failure_groups(results);
    let worst = groups.iter().map(|group| group.worst.clone());
    let sorted =
        worst.chain(groups.iter().flat_map(|group| group.others.iter().map(|result| (*result).clone()))).collect();
    *results = sorted;
}

/// Returns the operator version of a case, or its folder, or its own path if it has neither.
pub fn group_of(id: &str) -> String {
    let id = CaseId::parse(id);
    match id.version() {
        Some(version) => version.qualified(),
        None => id.path.rsplit_once('/').map_or(id.path, |(folder, _)| folder).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;

    #[test]
    fn the_gravest_group_comes_first_with_its_worst_case() {
        let mut far = result("ai.onnx/Abs-13/far/T=float", Outcome::Mismatch);
        far.ulps = Some(900);
        let mut near = result("ai.onnx/Abs-13/a/T=float", Outcome::Mismatch);
        near.ulps = Some(2);
        let all = [
            result("ai.onnx/Abs-13/a/T=int8", Outcome::Error),
            near,
            far,
            result("ai.onnx/Sum-13/a", Outcome::Crash),
            result("bad", Outcome::Error),
        ];
        let groups = failure_groups(&all);
        let shown: Vec<(&str, &str, usize)> =
            groups.iter().map(|group| (group.path.as_str(), group.worst.id.as_str(), group.others.len())).collect();
        assert_eq!(
            shown[..2],
            [("ai.onnx/Sum-13", "ai.onnx/Sum-13/a", 0), ("ai.onnx/Abs-13", "ai.onnx/Abs-13/far/T=float", 1)]
        );
        assert_eq!(shown.len(), 4);
        let said = |id: &str, message: &str| CaseResult { message: message.to_owned(), ..result(id, Outcome::Error) };
        let of_words = [
            said("ai.onnx/Abs-13/a", "at [2] no kernel"),
            said("ai.onnx/Abs-13/b", "at [7] no kernel"),
            said("ai.onnx/Abs-13/c", "no such type"),
        ];
        assert_eq!(failure_groups(&of_words).len(), 2);
        let mut sorted = all.to_vec();
        sort_by_gravity(&mut sorted);
        let ids: Vec<&str> = sorted.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(
            (ids[0], ids[1], ids[4]),
            ("ai.onnx/Sum-13/a", "ai.onnx/Abs-13/far/T=float", "ai.onnx/Abs-13/a/T=float")
        );
    }
}
