//! Comparison of two runs, case by case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use onnx_conformance_cases::case::{Level, Variant};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::measure::Measured;
use onnx_conformance_harness::run::{CaseResult, Outcome, Read};
use onnx_conformance_subject::Declaration;

/// Changes between two runs, by id.
#[derive(Debug, Default, Serialize)]
pub struct Comparison<'a> {
    /// Runtime of the older run.
    pub old: String,
    /// Runtime of the newer run.
    pub new: String,
    /// True if both ran the same suite. Otherwise cases with the same name may differ.
    pub is_same_suite: bool,
    /// True if the same texts decided the levels of both, or one of them does not name its texts.
    pub is_same_text: bool,
    /// Number of judged cases that pass in at least one of the runs, if they used two variants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_in_either: Option<usize>,
    /// Number of cases with the same outcome in both. An inexact mismatch is another outcome than other mismatches.
    pub same: usize,
    /// Cases that pass now and failed before.
    pub fixed: Vec<Change<'a>>,
    /// Cases that passed before and fail now.
    pub broken: Vec<Change<'a>>,
    /// Cases that crash the runtime now and did not before.
    pub crashes: Vec<Change<'a>>,
    /// Other cases with a different outcome: not passing in either run, or not judged.
    pub changed: Vec<Change<'a>>,
    /// Cases that only one of the runtimes was given. The other declares that it does not support the case, or does not accept
    /// its opset or IR version, or the case has no separate form in the variant of the other run.
    pub taken_by_one: Vec<Change<'a>>,
    /// Cases that only the newer run has.
    pub added: Vec<Change<'a>>,
    /// Cases that only the older run has.
    pub removed: Vec<Change<'a>>,
}

/// A case that differs between two runs.
#[derive(Debug, Serialize)]
pub struct Change<'a> {
    /// Its id.
    pub id: &'a str,
    /// Outcome in the older run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Outcome>,
    /// Largest distance of inexact outputs in the older run, in representable values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_ulps: Option<u64>,
    /// Outcome in the newer run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Outcome>,
    /// Largest distance of inexact outputs in the newer run, in representable values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_ulps: Option<u64>,
    /// Message in the newer run.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub message: &'a str,
}

impl<'a> Comparison<'a> {
    /// Compares two runs.
    pub fn new(old: &'a Read, new: &'a Read) -> Comparison<'a> {
        let is_same_suite = old.header.digest == new.header.digest;
        let is_same_text = old.header.texts_if_other_than(&new.header).is_none();
        let variants = [old, new].map(|read| read.header.selected.variant);
        let are_variants = variants[0] != variants[1];
        let named = |read: &Read| {
            let Declaration { name, version, .. } = &read.header.runtime;
            if are_variants {
                format!("{name} {version} ({})", read.header.selected.variant)
            } else {
                format!("{name} {version}")
            }
        };
        let mut comparison =
            Comparison { old: named(old), new: named(new), is_same_suite, is_same_text, ..Comparison::default() };
        let [old, new] = [old, new].map(|read| by_id(&read.results, are_variants));
        comparison.passed_in_either = are_variants.then(|| passed_in_either(&old, &new));
        for (id, after) in &new {
            let Some(before) = old.get(id) else {
                comparison.added.push(Change::new(id, None, Some(after)));
                continue;
            };
            if ends_alike(before, after) {
                comparison.same += 1;
                continue;
            }
            let change = Change::new(id, Some(before), Some(after));
            let is_crash = |outcome| matches!(outcome, Outcome::Crash | Outcome::ProtocolError);
            let list = match (before.outcome, after.outcome) {
                (Outcome::NotApplicable, _) | (_, Outcome::NotApplicable) if are_variants => {
                    &mut comparison.taken_by_one
                }
                (Outcome::NotDeclared, _) | (_, Outcome::NotDeclared) => &mut comparison.taken_by_one,
                (old, new) if is_crash(new) && !is_crash(old) => &mut comparison.crashes,
                _ if after.level == Level::Open => &mut comparison.changed,
                (Outcome::Pass, new) if !new.is_inconclusive() => &mut comparison.broken,
                (old, Outcome::Pass) if !old.is_inconclusive() => &mut comparison.fixed,
                _ => &mut comparison.changed,
            };
            list.push(change);
        }
        let gone = old.iter().filter(|(id, _)| !new.contains_key(*id));
        let removed = gone.map(|(id, before)| Change::new(id, Some(before), None));
        comparison.removed.extend(removed);
        comparison
    }

    /// Returns true if any case got worse.
    pub fn is_worse(&self) -> bool {
        !self.broken.is_empty() || !self.crashes.is_empty()
    }

    /// Returns the kinds of changes, worst first, with their cases.
    fn lists(&self) -> [(&'static str, &[Change<'a>]); 7] {
        [
            ("new crashes", &self.crashes),
            ("broken", &self.broken),
            ("fixed", &self.fixed),
            ("changed", &self.changed),
            ("taken by one alone", &self.taken_by_one),
            ("added", &self.added),
            ("removed", &self.removed),
        ]
    }

    /// Formats the line of counts.
    fn counts(&self) -> String {
        let lists = self.lists();
        let counts = lists.iter().map(|(name, changes)| format!("{} {name}", changes.len()));
        let either = self.passed_in_either.map(|count| format!("{count} pass in one form or the other"));
        let counts: Vec<String> = counts.chain([format!("{} as before", self.same)]).chain(either).collect();
        counts.join(", ")
    }

    /// Formats the comparison for a terminal, with at most `most` cases of each kind.
    pub fn text(&self, most: usize) -> String {
        let mut text = String::new();
        for (name, changes) in
            self.lists().into_iter().filter(|(_, changes)| !is_same_list(changes, &self.taken_by_one))
        {
            for change in changes.iter().take(most) {
                let _ = writeln!(text, "{name}: {} ({})", escape::line(change.id), change.outcomes());
                if !change.message.is_empty() {
                    let first = change.message.lines().next().unwrap_or_default();
                    let _ = writeln!(text, "    {}", escape::message(first));
                }
            }
            if changes.len() > most {
                let _ = writeln!(text, "... and {} more {name}; --show 0 prints all", changes.len() - most);
            }
        }
        let _ = write!(text, "{} -> {}: {}", escape::line(&self.old), escape::line(&self.new), self.counts());
        text
    }

    /// Formats the comparison as markdown.
    pub fn markdown(&self, most: usize) -> String {
        let mut text =
            format!("## {} → {}\n\n{}\n", escape::markdown(&self.old), escape::markdown(&self.new), self.counts());
        let is_listed = |changes: &[Change<'_>]| !changes.is_empty() && !is_same_list(changes, &self.taken_by_one);
        for (name, changes) in self.lists().into_iter().filter(|(_, changes)| is_listed(changes)) {
            let _ = write!(text, "\n### {name}: {}\n\n| case | outcome |\n|---|---|\n", changes.len());
            for change in changes.iter().take(most) {
                let _ = writeln!(text, "| {} | {} |", escape::markdown_cell_code(change.id), change.outcomes());
            }
            if changes.len() > most {
                let _ = writeln!(text, "\n... and {} more", changes.len() - most);
            }
        }
        text
    }
}

impl<'a> Change<'a> {
    fn new(id: &'a str, old: Option<&'a CaseResult>, new: Option<&'a CaseResult>) -> Change<'a> {
        Change {
            id,
            old: old.map(|result| result.outcome),
            old_ulps: old.and_then(CaseResult::mismatch_ulps),
            new: new.map(|result| result.outcome),
            new_ulps: new.and_then(CaseResult::mismatch_ulps),
            message: new.map_or("", |result| &result.message),
        }
    }

    fn outcomes(&self) -> String {
        let sides = [(self.old, self.old_ulps), (self.new, self.new_ulps)];
        let outcomes =
            sides.into_iter().filter_map(|(outcome, ulps)| Some(Measured::ended(outcome?, ulps).to_string()));
        outcomes.collect::<Vec<_>>().join(" -> ")
    }
}

/// Returns true if both results have the same outcome, and both or neither of two mismatches are only inexact.
fn ends_alike(old: &CaseResult, new: &CaseResult) -> bool {
    let key = |result: &CaseResult| (result.outcome, result.mismatch_ulps().is_some());
    key(old) == key(new)
}

/// Returns true if two lists are the same object. Cases that only one runtime accepts are counted, and listed only in JSON: the
/// cause is a whole opset.
fn is_same_list(one: &[Change<'_>], other: &[Change<'_>]) -> bool {
    std::ptr::eq(one, other)
}

/// Returns results by id, or by the id without its variant if two variants are compared.
fn by_id(results: &[CaseResult], are_variants: bool) -> BTreeMap<&str, &CaseResult> {
    let id = |id| if are_variants { Variant::split_id(id).0 } else { id };
    results.iter().map(|result| (id(result.id.as_str()), result)).collect()
}

/// Counts the judged cases that pass in at least one of two runs.
fn passed_in_either(old: &BTreeMap<&str, &CaseResult>, new: &BTreeMap<&str, &CaseResult>) -> usize {
    let passes = |result: &CaseResult| result.outcome == Outcome::Pass && result.level != Level::Open;
    let in_old = old.iter().filter(|(_, result)| passes(result)).map(|(id, _)| *id);
    let in_new = new.iter().filter(|(_, result)| passes(result)).map(|(id, _)| *id);
    in_old.chain(in_new).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::result;
    use onnx_conformance_harness::run::{Header, Selected};

    fn read(version: &str, results: Vec<CaseResult>) -> Read {
        let header = Header::new(Declaration::named("a", version), "d".to_owned(), Selected::default());
        Read { header, results, is_torn: false }
    }

    #[test]
    fn two_variants_are_compared_case_by_case() {
        let old = read("1", vec![result("a", Outcome::Error), result("b", Outcome::Pass), result("c", Outcome::Error)]);
        let mut new = read(
            "1",
            vec![
                result("a@constants", Outcome::Pass),
                result("b@constants", Outcome::NotApplicable),
                result("c@constants", Outcome::Error),
            ],
        );
        new.header.selected.variant = Variant::Constants;
        let comparison = Comparison::new(&old, &new);
        assert_eq!(comparison.passed_in_either, Some(2));
        assert_eq!((comparison.fixed.len(), comparison.taken_by_one.len(), comparison.same), (1, 1, 1));
        let text = comparison.text(30);
        assert!(text.starts_with("fixed: a (error -> pass)"), "{text}");
        assert!(text.contains("a 1 (runtime) -> a 1 (constants): "), "{text}");
        assert!(text.ends_with("1 as before, 2 pass in one form or the other"), "{text}");
        assert_eq!(Comparison::new(&old, &old).passed_in_either, None);
    }

    #[test]
    fn inexact_mismatches_have_their_distance() {
        let inexact = |id: &str, ulps| CaseResult { ulps: Some(ulps), ..result(id, Outcome::Mismatch) };
        let old = read("1", vec![inexact("fixed", 1), inexact("nearer", 9), inexact("worse", 3)]);
        let new = read(
            "2",
            vec![
                result("fixed", Outcome::Pass),
                inexact("nearer", 2),
                result("worse", Outcome::Mismatch),
                inexact("x", 4),
            ],
        );
        let comparison = Comparison::new(&old, &new);
        assert_eq!(comparison.same, 1);
        let text = comparison.text(30);
        for line in [
            "fixed: fixed (mismatch by 1 ULP -> pass)\n",
            "changed: worse (mismatch by up to 3 ULP -> mismatch)\n",
            "added: x (mismatch by up to 4 ULP)\n",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(comparison.markdown(30).contains("| `fixed` | mismatch by 1 ULP -> pass |"));
        let json = serde_json::to_value(&comparison).unwrap();
        assert_eq!(
            (&json["changed"][0]["old_ulps"], &json["added"][0]["new_ulps"]),
            (&3.into(), &4.into()),
            "{json:#}"
        );
        assert_eq!(json["changed"][0].get("new_ulps"), None);
    }

    #[test]
    fn every_kind_of_change_is_told_by_id() {
        let old = read(
            "1",
            vec![
                result("broken", Outcome::Pass),
                result("crash", Outcome::Error),
                result("crashed", Outcome::Pass),
                result("fixed", Outcome::Mismatch),
                result("other", Outcome::Mismatch),
                result("quiet", Outcome::Pass),
                result("gone", Outcome::Pass),
                result("same", Outcome::Error),
            ],
        );
        let open = CaseResult { level: Level::Open, ..result("open", Outcome::Error) };
        let mut before = old.clone();
        before.results.push(CaseResult { outcome: Outcome::Pass, ..open.clone() });
        let new = read(
            "2",
            vec![
                result("same", Outcome::Error),
                result("new", Outcome::Pass),
                result("quiet", Outcome::NotDeclared),
                result("other", Outcome::Error),
                result("fixed", Outcome::Pass),
                result("crashed", Outcome::Crash),
                result("crash", Outcome::Crash),
                result("broken", Outcome::Mismatch),
                open,
            ],
        );
        let comparison = Comparison::new(&before, &new);
        let ids = |changes: &[Change<'_>]| changes.iter().map(|change| change.id.to_owned()).collect::<Vec<_>>();
        assert_eq!(ids(&comparison.fixed), ["fixed"]);
        assert_eq!(ids(&comparison.broken), ["broken"]);
        assert_eq!(ids(&comparison.crashes), ["crash", "crashed"]);
        assert_eq!(ids(&comparison.changed), ["open", "other"]);
        assert_eq!(ids(&comparison.taken_by_one), ["quiet"]);
        assert_eq!(
            (ids(&comparison.added), ids(&comparison.removed)),
            (vec!["new".to_owned()], vec!["gone".to_owned()])
        );
        assert!(comparison.is_worse());
        let text = comparison.text(30);
        assert!(text.starts_with("new crashes: crash (error -> crash)\n"), "{text}");
        let line = "a 1 -> a 2: 2 new crashes, 1 broken, 1 fixed, 2 changed, 1 taken by one alone, 1 added, 1 removed, 1 as before";
        assert!(text.ends_with(line), "{text}");
        assert!(comparison.markdown(30).contains("| `fixed` | mismatch -> pass |"));
        assert!(!Comparison::new(&new, &new).is_worse());
    }
}
