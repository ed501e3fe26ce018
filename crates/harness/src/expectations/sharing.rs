//! Joins entries that say the same about several operators, graph patterns or near misses.

use std::collections::HashMap;

use crate::expectations::entry::{Entry, EntryGroup};
use crate::run::Outcome;

/// Maximum number of alternatives of an entry, so that its line can be read.
const MAX_ALTERNATIVES: usize = 24;

/// The text of an entry around the part in which others differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    before: String,
    after: String,
    outcome: Option<Outcome>,
    is_feature: bool,
}

/// Joins entries whose texts differ only in the operator version, the pattern of a graph or its near miss:
/// `ai.onnx/{Cos-*,Sin-7}/known_values/T=double`. An entry keeps its position, or has that of the first one joined with it.
pub(super) fn join_similar(groups: Vec<EntryGroup>) -> Vec<EntryGroup> {
    let mut joined: Vec<(Option<Frame>, Vec<String>, EntryGroup)> = Vec::new();
    let mut known: HashMap<Frame, usize> = HashMap::new();
    for (entry, cases) in groups {
        let Some((frame, part)) = Frame::of(&entry) else {
            joined.push((None, Vec::new(), (entry, cases)));
            continue;
        };
        let place = known.get(&frame).copied().and_then(|at| joined.get_mut(at));
        if let Some((_, parts, (_, all))) = place.filter(|(_, parts, _)| parts.len() < MAX_ALTERNATIVES) {
            parts.push(part);
            all.extend(cases);
        } else {
            known.insert(frame.clone(), joined.len());
            joined.push((Some(frame), vec![part], (entry, cases)));
        }
    }
    let finish = |(frame, parts, (entry, cases)): (Option<Frame>, Vec<String>, EntryGroup)| match frame {
        Some(frame) if parts.len() > 1 => (frame.entry(entry, parts), cases),
        _ => (entry, cases),
    };
    joined.into_iter().map(finish).collect()
}

impl Frame {
    /// Splits the text of an entry; `None` if it has no part in which others may differ.
    fn of(entry: &Entry) -> Option<(Frame, String)> {
        if entry.varies || entry.message.is_some() {
            return None;
        }
        let (before, part, after) = match (&entry.cases, &entry.unsupported) {
            (Some(pattern), _) => split_pattern(pattern)?,
            (None, feature) => split_feature(feature.as_deref()?)?,
        };
        let is_plain = !part.contains(['{', '}', '[', ']', '?', '\\', ',', '@', ' ']) && !part.contains("**");
        let (outcome, is_feature) = (entry.outcome, entry.cases.is_none());
        is_plain.then(|| {
            (Frame { before: before.to_owned(), after: after.to_owned(), outcome, is_feature }, part.to_owned())
        })
    }

    /// Returns an entry with several alternatives.
    fn entry(&self, first: Entry, mut parts: Vec<String>) -> Entry {
        parts.sort();
        let text = Some(format!("{}{{{}}}{}", self.before, parts.join(","), self.after));
        if self.is_feature { Entry { unsupported: text, ..first } } else { Entry { cases: text, ..first } }
    }
}

/// Splits a pattern of ids around its operator version, graph pattern or near miss.
fn split_pattern(pattern: &str) -> Option<(&str, &str, &str)> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let position = match parts.as_slice() {
        ["graph", "wrapped", _, _, ..] => 3,
        ["graph", _, _, "near", _, ..] => 4,
        ["graph", _, _, _, ..] => 2,
        [_, version, _, ..] if is_version(version) => 1,
        _ => return None,
    };
    let start = parts.iter().take(position).map(|part| part.len() + 1).sum::<usize>();
    let end = start + parts.get(position)?.len();
    Some((pattern.get(..start)?, pattern.get(start..end)?, pattern.get(end..)?))
}

/// Splits the text of a missing feature before its operator: `tensor(int64) in ai.onnx/Abs-*`. A missing operator has an entry of
/// its own.
fn split_feature(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.rfind('/')? + 1;
    let (before, part) = text.split_at_checked(at)?;
    (before.contains(" in ") || before.contains(" of ")).then_some((before, part, ""))
}

/// Returns true for the second part of an operator version, or of all versions: `Abs-13`, `Abs-*`.
fn is_version(part: &str) -> bool {
    let since = part.rsplit_once('-').map_or("", |(_, since)| since);
    since == "*" || (!since.is_empty() && since.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(entries: Vec<Entry>) -> Vec<String> {
        let groups = entries.into_iter().enumerate().map(|(index, entry)| (entry, vec![index])).collect();
        let groups = join_similar(groups);
        let mut cases: Vec<usize> = groups.iter().flat_map(|(_, cases)| cases).copied().collect();
        let count = cases.len();
        cases.sort_unstable();
        assert_eq!(cases, (0..count).collect::<Vec<_>>());
        groups.into_iter().map(|(entry, _)| entry.to_yaml()).collect()
    }

    #[test]
    fn entries_that_differ_in_the_operator_are_one() {
        let error = |pattern: &str| Entry::ending(pattern.to_owned(), Outcome::Error);
        let crash = |pattern: &str| Entry::ending(pattern.to_owned(), Outcome::Crash);
        let entries = vec![
            error("d/B-*/x/T=y"),
            error("d/A-1/x/T=y"),
            crash("d/C-1/x/T=y"),
            error("d/D-1/**"),
            error("e/E-1/x/T=y"),
            error("d/F-1/x/T=y@constants"),
            error("d/{G,H}-1/x/T=y"),
            error("onnx-1.0/node/a"),
            error("onnx-1.0/node/b"),
            Entry { varies: true, ..error("d/I-1/x/T=y") },
            Entry::with_message("a message".to_owned(), Outcome::Error),
        ];
        assert_eq!(
            joined(entries),
            [
                "{cases: \"d/{A-1,B-*}/x/T=y\", outcome: error}",
                "{cases: d/C-1/x/T=y, outcome: crash}",
                "{cases: \"d/D-1/**\", outcome: error}",
                "{cases: e/E-1/x/T=y, outcome: error}",
                "{cases: d/F-1/x/T=y@constants, outcome: error}",
                "{cases: \"d/{G,H}-1/x/T=y\", outcome: error}",
                "{cases: onnx-1.0/node/a, outcome: error}",
                "{cases: onnx-1.0/node/b, outcome: error}",
                "{cases: d/I-1/x/T=y, outcome: error, varies: true}",
                "{outcome: error, message: a message}",
            ]
        );
    }

    #[test]
    fn entries_of_graphs_differ_in_the_near_miss_or_the_pattern() {
        let error = |pattern: &str| Entry::ending(pattern.to_owned(), Outcome::Error);
        let entries = vec![
            error("graph/t/p/near/a/T=y"),
            error("graph/t/p/near/b/T=y"),
            error("graph/t/p/in/in_branch"),
            error("graph/t/q/in/in_branch"),
            error("graph/t/q/near/c@constants"),
            error("graph/t/q/near/d@constants"),
            error("graph/wrapped/d/A-1/x"),
            error("graph/wrapped/d/B-*/x"),
        ];
        assert_eq!(
            joined(entries),
            [
                "{cases: \"graph/t/p/near/{a,b}/T=y\", outcome: error}",
                "{cases: \"graph/t/{p,q}/in/in_branch\", outcome: error}",
                "{cases: graph/t/q/near/c@constants, outcome: error}",
                "{cases: graph/t/q/near/d@constants, outcome: error}",
                "{cases: \"graph/wrapped/d/{A-1,B-*}/x\", outcome: error}",
            ]
        );
    }

    #[test]
    fn missing_features_differ_in_the_operator() {
        let texts = ["tensor(bool) in d/A-1", "tensor(bool) in d/B-*", "operator d/A", "operator d/B", "tensor(bool)"];
        let entries = texts.into_iter().map(Entry::unsupported).collect();
        assert_eq!(
            joined(entries),
            [
                "{unsupported: \"tensor(bool) in d/{A-1,B-*}\"}",
                "{unsupported: operator d/A}",
                "{unsupported: operator d/B}",
                "{unsupported: tensor(bool)}",
            ]
        );
    }

    #[test]
    fn a_line_has_a_limited_number_of_alternatives() {
        let entries = (0..60).map(|since| Entry::ending(format!("d/A-{since}/x"), Outcome::Error)).collect();
        let lines = joined(entries);
        let counts: Vec<usize> = lines.iter().map(|line| line.matches(',').count()).collect();
        assert_eq!(counts, [24, 24, 12]);
    }
}
