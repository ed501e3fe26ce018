//! `diff suite@FROM suite@TO`: the changes between two versions of the suite.

use std::fmt::Write as _;

use onnx_conformance_cases::suite::{Generated, SUITE_VERSION, Suite};
use onnx_conformance_harness::promises::{Changes, FrozenList, FrozenListError, Kind, Renames};
use onnx_conformance_report::diff::Format;

use crate::cli::print;
use crate::cli::usage::Usage;

/// Number of behaviours of a kind that are printed without `--all`.
const SHOWN: usize = 5;

/// Changes from a version of the suite to a later one.
pub(crate) struct SuiteDiff {
    changes: Changes,
}

impl SuiteDiff {
    /// Compares two versions. The later one is that of this program if none is given.
    pub(crate) fn new(from: &str, to: Option<&str>) -> anyhow::Result<SuiteDiff> {
        let (to, renames) = (to.unwrap_or(SUITE_VERSION), Renames::embedded());
        let earlier = list(from)?;
        let changes = match to {
            to if to == from => Changes::between(&earlier, &earlier, renames),
            to if is_in_progress(to) => Changes::since(&earlier, &suite_in_progress()?, renames)?,
            to => Changes::between(&earlier, &list(to)?, renames),
        };
        Ok(SuiteDiff { changes })
    }

    /// Prints the changes: text, with all behaviours or the first of each kind, or JSON with every case.
    pub(crate) fn print(&self, format: Format, is_all: bool) -> anyhow::Result<()> {
        match format {
            Format::Text => print::styled(text(&self.changes, is_all).trim_end()),
            Format::Markdown => print::line(markdown(&self.changes).trim_end()),
            Format::Json => print::json(&self.changes),
        }
    }
}

/// Returns true if a version is that of this program and has no frozen list yet.
fn is_in_progress(version: &str) -> bool {
    version == SUITE_VERSION && FrozenList::versions().all(|frozen| frozen != version)
}

/// Returns the suite of this program, with a note that it has no frozen list yet.
fn suite_in_progress() -> anyhow::Result<Suite> {
    print::note(&format!("suite {SUITE_VERSION} is not frozen yet; its cases are those of this program"));
    Ok(Suite::project(None, Generated::embedded())?)
}

/// Returns the list of a version: a frozen one, or that of the cases in this program.
fn list(version: &str) -> anyhow::Result<FrozenList> {
    if is_in_progress(version) {
        return Ok(FrozenList::new(&suite_in_progress()?)?);
    }
    FrozenList::embedded(version).map_err(|error| match error {
        FrozenListError::NoVersion { .. } | FrozenListError::Later { .. } | FrozenListError::Unknown { .. } => {
            Usage(error.to_string()).into()
        }
        _ => error.into(),
    })
}

/// Formats the changes: a line per kind with its number of cases, then its behaviours.
fn text(changes: &Changes, is_all: bool) -> String {
    let mut text = format!("suite {} -> {}\n", changes.from, changes.to);
    if changes.cases.is_empty() {
        text.push_str("no case differs\n");
    }
    // Writing to a string cannot fail.
    for kind in Kind::ALL.into_iter().filter(|kind| changes.count(*kind) > 0) {
        let behaviours = changes.behaviours(kind);
        let _ = writeln!(text, "\n{kind}: {}", cases(changes.count(kind)));
        let shown = if is_all { behaviours.len() } else { SHOWN };
        for (name, count) in behaviours.iter().take(shown) {
            let _ = writeln!(text, "{count:>7}  {name}");
        }
        if behaviours.len() > shown {
            let _ = writeln!(text, "         and {} more; --all prints them", behaviours.len() - shown);
        }
    }
    text
}

/// Formats the changes as a table per kind.
fn markdown(changes: &Changes) -> String {
    let mut text = format!("## suite {} → {}\n", changes.from, changes.to);
    if changes.cases.is_empty() {
        text.push_str("\nno case differs\n");
    }
    // Writing to a string cannot fail.
    for kind in Kind::ALL.into_iter().filter(|kind| changes.count(*kind) > 0) {
        let _ = writeln!(text, "\n### {kind}: {}\n\n| behaviour | cases |\n|---|---|", cases(changes.count(kind)));
        for (name, count) in changes.behaviours(kind) {
            let _ = writeln!(text, "| {name} | {count} |");
        }
    }
    text
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: &str, cases: &[String]) -> FrozenList {
        FrozenList::parse(version, &format!("suite {version}\n{}", cases.concat())).unwrap()
    }

    #[test]
    fn behaviours_are_listed_by_kind() {
        let case = |name: &str, level: &str| format!("ai.onnx/Abs-13/{name}/T=float {level} 0a1b2c 0a1b2c 0e0\n");
        let new: Vec<String> = (10..30)
            .map(|number| {
                case(&format!("new_{number}"), "required")
                    .replace("0a1b2c 0a1b2c", &format!("0000{number} 0000{number}"))
            })
            .collect();
        let from = list("1.0.0", &[case("known", "open"), case("other", "required")]);
        let to = list("1.1.0", &[&[case("known", "required")], &new[..], &[case("renamed", "required")]].concat());
        let changes = Changes::between(&from, &to, &Renames::default());
        let shown = text(&changes, false);
        assert!(
            shown.starts_with(
                "suite 1.0.0 -> 1.1.0\n\nraised: 1 case\n      1  ai.onnx/Abs-13/known\n\nrenamed: 1 case\n"
            ),
            "{shown}"
        );
        assert!(shown.ends_with("         and 15 more; --all prints them\n"), "{shown}");
        assert_eq!(text(&changes, true).lines().count(), shown.lines().count() + 14);
        assert_eq!(
            text(&Changes::between(&from, &from, &Renames::default()), false),
            "suite 1.0.0 -> 1.0.0\nno case differs\n"
        );
        let page = markdown(&changes);
        assert!(page.starts_with("## suite 1.0.0 → 1.1.0\n\n### raised: 1 case\n\n| behaviour | cases |\n"), "{page}");
        assert!(page.contains("\n|---|---|\n| ai.onnx/Abs-13/known | 1 |\n"), "{page}");
    }
}
