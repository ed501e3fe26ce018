//! Changes between two versions of a runtime, as text for a terminal and as markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use onnx_conformance_harness::escape;
use onnx_conformance_harness::measure::Measured;
use onnx_conformance_harness::run::feature_list;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;
use onnx_conformance_subject::Opsets;

use crate::version_changes::{ChangeGroup, ChangedBehaviour, Changes, Kind, SideFacts, VersionChanges};

/// Number of behaviours of a group that are named unless everything is printed.
const NAMED: usize = 5;

impl VersionChanges {
    /// Formats the changes for a terminal, with at most `most` groups of each kind; `usize::MAX` for everything.
    pub fn text(&self, most: usize) -> String {
        let mut text = format!("{}\n", escape::line(&self.title("->")));
        let change = |[old, new]: [String; 2]| if old == new { old } else { format!("{old} -> {new}") };
        let accepted = self.accepted().into_iter().map(|(what, sides)| format!("{what} {}", change(sides)));
        let accepted: Vec<String> = accepted.collect();
        if !accepted.is_empty() {
            let _ = writeln!(text, "  takes {}", accepted.join(", "));
        }
        for line in self.counts() {
            let _ = writeln!(text, "  {line}");
        }
        for (kind, changes) in self.kinds().into_iter().filter(|(_, changes)| changes.cases > 0) {
            let _ = writeln!(text, "\n{}", heading(kind, changes));
            let shown = shown(changes, most);
            let width =
                |of: &dyn Fn(&ChangeGroup) -> String| shown.iter().map(|group| of(group).len()).max().unwrap_or(0);
            let (operators, outcomes) = (width(&ChangeGroup::title), width(&outcomes_of));
            for group in shown {
                let behaviours = behaviours(group, most, &|name| escape::line(name).into_owned());
                let _ =
                    writeln!(text, "  {:operators$}  {:outcomes$}  {behaviours}", group.title(), outcomes_of(group));
            }
            if let Some(rest) = rest(changes, most) {
                let _ = writeln!(text, "  ... and {rest}; --all prints everything");
            }
        }
        text.trim_end().to_owned()
    }

    /// Formats the changes as markdown, with at most `most` groups of each kind; `usize::MAX` for everything.
    pub fn markdown(&self, most: usize) -> String {
        let mut text = format!("## {}\n\n", escape::markdown(&self.title("→")));
        let accepted = self.accepted();
        if !accepted.is_empty() {
            let [old, new] = [&self.old, &self.new].map(|side| escape::markdown(&side.version));
            let _ = writeln!(text, "| takes | {old} | {new} |\n|---|---|---|");
            for (what, [old, new]) in accepted {
                let _ = writeln!(text, "| {what} | {old} | {new} |");
            }
            text.push('\n');
        }
        for line in self.counts() {
            let _ = writeln!(text, "- {line}");
        }
        for (kind, changes) in self.kinds().into_iter().filter(|(_, changes)| changes.cases > 0) {
            let _ = writeln!(
                text,
                "\n### {}\n\n| operator | outcome | behaviours |\n|---|---|---|",
                heading(kind, changes)
            );
            for group in shown(changes, most) {
                let behaviours = behaviours(group, most, &escape::markdown_cell_code);
                let _ = writeln!(text, "| {} | {} | {behaviours} |", group.title(), outcomes_of(group));
            }
            if let Some(rest) = rest(changes, most) {
                let _ = writeln!(text, "\n... and {rest}; `--all` prints everything");
            }
        }
        text.trim_end().to_owned()
    }

    fn title(&self, arrow: &str) -> String {
        let (old, new) = (&self.old, &self.new);
        let runtime = if old.runtime == new.runtime { String::new() } else { format!("{} ", new.runtime) };
        let [old_version, new_version] = [old, new].map(|side| match &side.released {
            Some(day) => format!("{} ({day})", side.version),
            None => side.version.clone(),
        });
        format!("{} {old_version} {arrow} {runtime}{new_version}", old.runtime)
    }

    /// Returns the accepted opsets and IR versions on both sides; none if neither side declares them. A domain other than ONNX's
    /// own is listed if both sides declare its opsets, and they differ.
    fn accepted(&self) -> Vec<(String, [String; 2])> {
        let sides = [&self.old, &self.new];
        if sides.iter().all(|side| side.accepts.is_none()) {
            return Vec::new();
        }
        let of_sides = |of: &dyn Fn(&SideFacts) -> Option<Opsets>| {
            sides.map(|side| match (&side.accepts, of(side)) {
                (None, _) => "not declared".to_owned(),
                (Some(_), None) => "none".to_owned(),
                (Some(_), Some(opsets)) => opsets.to_string(),
            })
        };
        let domains: BTreeSet<&String> =
            sides.iter().filter_map(|side| side.accepts.as_ref()).flat_map(|accepts| accepts.opsets.keys()).collect();
        let are_declared = sides.iter().all(|side| side.accepts.is_some());
        let of_domain = |domain: &String| {
            let opsets = |side: &SideFacts| side.accepts.as_ref()?.opsets.get(domain).copied();
            let of_both = of_sides(&opsets);
            let is_shown = domain == DEFAULT_DOMAIN || (are_declared && of_both[0] != of_both[1]);
            is_shown.then(|| (format!("{} opsets", escape::line(domain)), of_both))
        };
        let ir = of_sides(&|side| Some(side.accepts.as_ref()?.ir));
        domains.into_iter().filter_map(of_domain).chain([("IR versions".to_owned(), ir)]).collect()
    }

    /// Returns the lines of counts.
    fn counts(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "of {} judged cases that both take, {} are broken, {} fixed, {} fail in another way, {} end as before",
            self.both, self.broken.cases, self.fixed.cases, self.otherwise.cases, self.same
        )];
        let changed = [(&self.newly_taken, "newer"), (&self.no_longer_taken, "older")];
        for (changes, which) in changed.into_iter().filter(|(changes, _)| changes.cases > 0) {
            lines.push(format!("{} that only the {which} version takes", plural(changes.cases, "case")));
        }
        if self.not_compared > 0 {
            lines.push(format!("not compared: {} cases that were judged on one version only", self.not_compared));
        }
        if let (Some(old), Some(new)) = (&self.old.processor, &self.new.processor)
            && old != new
        {
            lines.push(format!(
                "the processors differ and may be the cause of some changes: [{}] and [{}]",
                feature_list(old),
                feature_list(new)
            ));
        }
        lines
    }
}

/// Formats the title with the number of cases, and the outcomes of newly taken ones.
fn heading(kind: Kind, changes: &Changes) -> String {
    let heading = format!("{}: {}", kind.title(), plural(changes.cases, "case"));
    if kind != Kind::NewlyTaken {
        return heading;
    }
    let outcomes = changes.outcomes().into_iter().map(|(outcome, count)| format!("{count} {}", outcome.name()));
    format!("{heading}: {}", outcomes.collect::<Vec<_>>().join(", "))
}

fn shown(changes: &Changes, most: usize) -> &[ChangeGroup] {
    changes.groups.get(..most).unwrap_or(&changes.groups)
}

/// Returns the number of groups and cases that are not shown.
fn rest(changes: &Changes, most: usize) -> Option<String> {
    let rest = changes.groups.get(shown(changes, most).len()..).filter(|rest| !rest.is_empty())?;
    let cases = rest.iter().map(|group| group.cases).sum();
    Some(format!("{} more lines with {}", rest.len(), plural(cases, "case")))
}

/// Formats the change of outcome: `pass -> error`, `mismatch by 1 ULP -> mismatch`, or the only outcome.
fn outcomes_of(group: &ChangeGroup) -> String {
    let sides = [(group.old, group.old_ulps), (group.new, group.new_ulps)];
    let outcomes = sides.into_iter().filter_map(|(outcome, ulps)| Some(Measured::ended(outcome?, ulps).to_string()));
    outcomes.collect::<Vec<_>>().join(" -> ")
}

/// Formats the behaviours with their numbers of cases, the versions if they are not all of the group's, and the findings.
fn behaviours(group: &ChangeGroup, most: usize, name: &dyn Fn(&str) -> String) -> String {
    let one = |behaviour: &ChangedBehaviour| {
        let versions = if behaviour.versions == group.versions {
            String::new()
        } else {
            format!(" in {}", group.ranges(&behaviour.versions))
        };
        let findings: Vec<String> = behaviour.findings.iter().map(|id| format!(" [{}]", escape::line(id))).collect();
        format!("{} ({}{versions}){}", name(&behaviour.name), behaviour.cases, findings.concat())
    };
    let count = if most == usize::MAX { most } else { NAMED };
    let named = group.behaviours.iter().take(count).map(one).collect::<Vec<_>>().join(", ");
    match group.behaviours.len().saturating_sub(count) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::findings::Findings;
    use onnx_conformance_harness::measure::Measurement;

    use crate::version_changes::Side;

    fn changes() -> VersionChanges {
        let read = |version: &str, opset: u32, entries: &str| {
            let cpu = if version == "1" { "avx2, avx512f" } else { "avx2" };
            let text = format!(
                "runtime: onnxruntime\nversion: \"{version}\"\ncpu: [{cpu}]\nstrict: true\nexact: true\n\
                 accepts: {{ir: [3, 14], opsets: {{ai.onnx: [1, {opset}]}}}}\nexpect:\n{entries}"
            );
            Measurement::read("a.yaml", &text, None).unwrap().unwrap()
        };
        let old = read("1", 24, "  - {cases: 'ai.onnx/Gather-13/every_axis/**/T=string,*', outcome: mismatch}\n");
        let new = read("2", 26, "  - {cases: 'ai.onnx/Abs-13/known_values/T=float', outcome: error}\n");
        VersionChanges::new(&Side::from_measurement(&old), &Side::from_measurement(&new), Findings::embedded().unwrap())
    }

    #[test]
    fn the_text_names_opsets_counts_behaviours_and_findings() {
        let text = changes().text(1);
        for line in [
            "onnxruntime 1 -> 2\n",
            "\n  takes ai.onnx opsets 1 to 24 -> 1 to 26, IR versions 3 to 14\n",
            " are broken, ",
            "\n  the processors differ and may be the cause of some changes: [avx2, avx512f] and [avx2]\n",
            "\nbroken: 1 case\n  Abs-13  pass -> error  known_values (1)\n",
            "\n  Gather-13  mismatch -> pass  every_axis (",
            " [gather-strings]\n",
            "\nnewly taken: ",
            "; --all prints everything",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
    }

    #[test]
    fn everything_is_printed_on_demand() {
        let (changes, few) = (changes(), changes().text(1).lines().count());
        let all = changes.text(usize::MAX);
        assert!(!all.contains("--all") && all.lines().count() > few, "{all}");
        let markdown = changes.markdown(1);
        for line in [
            "## onnxruntime 1 → 2\n\n| takes | 1 | 2 |\n|---|---|---|\n| ai.onnx opsets | 1 to 24 | 1 to 26 |\n",
            "\n### broken: 1 case\n\n| operator | outcome | behaviours |\n|---|---|---|\n| Abs-13 | pass -> error | `known_values` (1) |\n",
            "; `--all` prints everything",
        ] {
            assert!(markdown.contains(line), "no {line:?} in\n{markdown}");
        }
    }
}
