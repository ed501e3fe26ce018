//! What changed from one run to another, case by case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Serialize;

use crate::run::{CaseResult, Outcome};

/// What changed, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Cases that pass now and did not.
    pub fixed: Vec<Change>,
    /// Cases that do worse now.
    pub broken: Vec<Change>,
    /// Cases that now take the runtime down, or break the protocol, and did not.
    pub new_crashes: Vec<Change>,
    /// Cases that fail in another way than they did, no worse.
    pub changed: Vec<Change>,
    /// Cases that only the new run has.
    pub added: Vec<Change>,
    /// Cases that only the old run has.
    pub removed: Vec<Change>,
}

/// A case and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The id of the case.
    pub id: String,
    /// How it ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Outcome>,
    /// How it ends now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Outcome>,
    /// What is said of it now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Compares the results of two runs.
pub fn compare(old: &[CaseResult], new: &[CaseResult]) -> Comparison {
    let by_id = |results: &[CaseResult]| -> BTreeMap<String, CaseResult> {
        results.iter().map(|result| (result.id.clone(), result.clone())).collect()
    };
    let (old, new) = (by_id(old), by_id(new));
    let ids: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut comparison = Comparison::default();
    for id in ids {
        let (before, after) = (old.get(id), new.get(id));
        let change = Change {
            id: id.clone(),
            old: before.map(|result| result.outcome),
            new: after.map(|result| result.outcome),
            message: after.map(|result| result.message.clone()).unwrap_or_default(),
        };
        let list = match (before, after) {
            (None, _) => &mut comparison.added,
            (_, None) => &mut comparison.removed,
            (Some(before), Some(after)) if before.outcome == after.outcome => continue,
            (Some(before), Some(after)) if after.outcome.rank() > before.outcome.rank() => {
                let is_crash = |outcome: Outcome| matches!(outcome, Outcome::Crash | Outcome::ProtocolError);
                if is_crash(after.outcome) { &mut comparison.new_crashes } else { &mut comparison.broken }
            }
            (_, Some(after)) if after.outcome == Outcome::Pass => &mut comparison.fixed,
            _ => &mut comparison.changed,
        };
        list.push(change);
    }
    comparison
}

impl Comparison {
    /// Whether some case does worse.
    pub fn is_worse(&self) -> bool {
        !self.broken.is_empty() || !self.new_crashes.is_empty()
    }

    /// The lists with their names, worst first.
    fn lists(&self) -> [(&'static str, &[Change]); 6] {
        [
            ("new crashes", &self.new_crashes),
            ("broken", &self.broken),
            ("changed", &self.changed),
            ("fixed", &self.fixed),
            ("added", &self.added),
            ("removed", &self.removed),
        ]
    }

    /// The comparison for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, changes) in self.lists().into_iter().filter(|(_, changes)| !changes.is_empty()) {
            let _ = writeln!(text, "{name}: {}", changes.len());
            for change in changes {
                let _ = writeln!(text, "    {}  {}", change.id, change.ends());
            }
        }
        if text.is_empty() { "no case ended otherwise\n".to_owned() } else { text }
    }

    /// The comparison as markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::from("| | cases |\n|---|---|\n");
        for (name, changes) in self.lists() {
            let _ = writeln!(text, "| {name} | {} |", changes.len());
        }
        for (name, changes) in self.lists().into_iter().filter(|(_, changes)| !changes.is_empty()) {
            let _ = write!(text, "\n### {name}\n\n");
            for change in changes {
                let _ = writeln!(text, "- `{}`: {}", change.id, change.ends());
            }
        }
        text
    }
}

impl Change {
    fn ends(&self) -> String {
        match (self.old, self.new) {
            (Some(old), Some(new)) => format!("{old} -> {new}"),
            (Some(only), None) | (None, Some(only)) => only.to_string(),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Level;

    fn result(id: &str, outcome: Outcome) -> CaseResult {
        serde_json::from_value(serde_json::json!({"id": id, "outcome": outcome, "level": Level::Required, "ms": 0.0}))
            .unwrap()
    }

    #[test]
    fn each_change_has_its_list() {
        let old = [
            result("fixed", Outcome::Mismatch),
            result("broken", Outcome::Pass),
            result("crash", Outcome::Error),
            result("milder", Outcome::Crash),
            result("same", Outcome::Pass),
            result("gone", Outcome::Pass),
        ];
        let new = [
            result("fixed", Outcome::Pass),
            result("broken", Outcome::Mismatch),
            result("crash", Outcome::Crash),
            result("milder", Outcome::Error),
            result("same", Outcome::Pass),
            result("new", Outcome::Pass),
        ];
        let comparison = compare(&old, &new);
        let ids = |changes: &[Change]| changes.iter().map(|change| change.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&comparison.fixed), ["fixed"]);
        assert_eq!(ids(&comparison.broken), ["broken"]);
        assert_eq!(ids(&comparison.new_crashes), ["crash"]);
        assert_eq!(ids(&comparison.changed), ["milder"]);
        assert_eq!(ids(&comparison.added), ["new"]);
        assert_eq!(ids(&comparison.removed), ["gone"]);
        assert!(comparison.is_worse());
        assert!(compare(&old, &old).to_text().contains("no case ended otherwise"));
    }
}
