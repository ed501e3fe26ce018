//! Findings of a check within its limits. Each level has its own limit, so notes never displace errors. Excess findings are
//! counted.

use crate::facts::Origin;
use crate::finding::{Described, Finding, Place};
use crate::limits::Limits;
use crate::rules::{Level, RuleId};
use crate::shorten::{MAX_NAME, shorten_owned};

/// Maximum length of a message or edit, in bytes.
const MAX_MESSAGE: usize = 2_000;

/// Maximum number of inputs, and of dimensions of one, that a finding describes.
const MAX_DESCRIBED: usize = 32;

/// Findings by level, with the number of those dropped because of a limit.
#[derive(Clone, Debug)]
pub struct Findings {
    kept: Vec<Finding>,
    levels: [LevelUsage; 3],
    max_count: usize,
    max_bytes: usize,
}

/// Usage of one level.
#[derive(Clone, Copy, Debug, Default)]
struct LevelUsage {
    count: usize,
    bytes: usize,
    dropped: usize,
}

impl Findings {
    /// An empty list with the limits of a check.
    pub fn new(limits: &Limits) -> Findings {
        Findings {
            kept: Vec::new(),
            levels: [LevelUsage::default(); 3],
            max_count: limits.findings,
            max_bytes: limits.finding_bytes(),
        }
    }

    /// The kept findings, in the order of discovery.
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    fn usage_mut(&mut self, level: Level) -> &mut LevelUsage {
        let [errors, warnings, notes] = &mut self.levels;
        match level {
            Level::Error => errors,
            Level::Warning => warnings,
            Level::Note => notes,
        }
    }

    /// Returns true and counts a dropped finding if this level is full, so that the finding need not be built.
    pub(crate) fn drops(&mut self, level: Level) -> bool {
        let (max_count, max_bytes) = (self.max_count, self.max_bytes);
        let usage = self.usage_mut(level);
        let is_full = usage.count >= max_count || usage.bytes >= max_bytes;
        usage.dropped = usage.dropped.saturating_add(usize::from(is_full));
        is_full
    }

    /// Adds a finding, or counts it as dropped if its level is full. Long texts are shortened.
    pub(crate) fn push(&mut self, finding: Finding) {
        if self.drops(finding.level) {
            return;
        }
        let finding = with_limited_texts(finding).with_fixability();
        let bytes = size(&finding);
        let usage = self.usage_mut(finding.level);
        usage.count += 1;
        usage.bytes = usage.bytes.saturating_add(bytes);
        self.kept.push(finding);
    }

    /// Adds the findings of another list.
    pub(crate) fn absorb(&mut self, other: Findings) {
        for level in [Level::Error, Level::Warning, Level::Note] {
            let dropped = other.usage(level).dropped;
            let usage = self.usage_mut(level);
            usage.dropped = usage.dropped.saturating_add(dropped);
        }
        for finding in other.kept {
            self.push(finding);
        }
    }

    fn usage(&self, level: Level) -> LevelUsage {
        let [errors, warnings, notes] = self.levels;
        match level {
            Level::Error => errors,
            Level::Warning => warnings,
            Level::Note => notes,
        }
    }

    /// Returns the findings by level, worst first, with an error for each level that dropped some.
    pub(crate) fn into_sorted(mut self) -> Vec<Finding> {
        for level in [Level::Error, Level::Warning, Level::Note] {
            let usage = self.usage(level);
            if usage.dropped > 0 {
                let message = format!(
                    "only {} of {} {level}s are listed",
                    usage.count,
                    usage.count.saturating_add(usage.dropped)
                );
                let finding = Finding::new(RuleId::FileLimit, Place::default(), message);
                self.kept.push(finding.with_edit("fix the listed ones and check again"));
            }
        }
        self.kept.sort_by_key(|finding| finding.level);
        self.kept
    }
}

/// Returns the finding with its texts shortened and its descriptions limited.
fn with_limited_texts(finding: Finding) -> Finding {
    Finding {
        message: shorten_owned(finding.message, MAX_MESSAGE),
        edit: finding.edit.map(|edit| shorten_owned(edit, MAX_MESSAGE)),
        inputs: finding.inputs.into_iter().take(MAX_DESCRIBED).map(limited_input).collect(),
        origin: finding.origin.map(limited_origin),
        place: Place { item: finding.place.item.map(|item| shorten_owned(item, MAX_NAME)), ..finding.place },
        ..finding
    }
}

fn limited_input(input: Described) -> Described {
    let shape = input.shape.map(|mut shape| {
        if shape.len() > MAX_DESCRIBED {
            let hidden = shape.len() - MAX_DESCRIBED;
            shape.truncate(MAX_DESCRIBED);
            shape.push(format!("... ({hidden} more)"));
        }
        shape
    });
    Described { name: shorten_owned(input.name, MAX_NAME), shape, ..input }
}

fn limited_origin(origin: Origin) -> Origin {
    match origin {
        Origin::GraphInput(name) => Origin::GraphInput(shorten_owned(name, MAX_NAME)),
        Origin::SubgraphInput(name) => Origin::SubgraphInput(shorten_owned(name, MAX_NAME)),
        Origin::FunctionInput(name) => Origin::FunctionInput(shorten_owned(name, MAX_NAME)),
        Origin::Initializer(name) => Origin::Initializer(shorten_owned(name, MAX_NAME)),
        Origin::Node(node) => Origin::Node(shorten_owned(node, MAX_NAME)),
    }
}

/// The approximate memory of a finding in bytes.
fn size(finding: &Finding) -> usize {
    use crate::finding::{NodePlace, PathStep};
    let node = |node: &NodePlace| size_of::<NodePlace>() + node.name.len() + node.operator.len() + node.output.len();
    let step = |step: &PathStep| {
        size_of::<PathStep>()
            + match step {
                PathStep::Graph(name) | PathStep::Function(name) => name.len(),
                PathStep::Subgraph { node: place, attribute } => node(place) + attribute.len(),
                PathStep::Call(place) => node(place),
            }
    };
    let input = |input: &Described| {
        let shape = input.shape.iter().flatten().map(|dim| size_of::<String>() + dim.len());
        size_of::<Described>() + input.name.len() + shape.sum::<usize>()
    };
    size_of::<Finding>()
        + finding.message.len()
        + finding.edit.as_ref().map_or(0, String::len)
        + finding.place.item.as_ref().map_or(0, String::len)
        + finding.place.node.as_ref().map_or(0, node)
        + finding.place.path.iter().map(step).sum::<usize>()
        + finding.inputs.iter().map(input).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(findings: usize) -> Limits {
        Limits { findings, ..Limits::default() }
    }

    fn finding(rule: RuleId) -> Finding {
        Finding::new(rule, Place::default(), "x")
    }

    #[test]
    fn notes_displace_no_error_and_dropped_findings_are_an_error() {
        let mut findings = Findings::new(&limits(2));
        assert_eq!(RuleId::NodeDead.level(), Level::Note);
        for _ in 0..5 {
            findings.push(finding(RuleId::NodeDead));
        }
        findings.push(finding(RuleId::ValueCycle));
        let sorted = findings.into_sorted();
        let texts: Vec<(RuleId, &str)> = sorted.iter().map(|it| (it.rule, it.message.as_str())).collect();
        let limit = (RuleId::FileLimit, "only 2 of 5 notes are listed");
        assert_eq!(texts, [(RuleId::ValueCycle, "x"), limit, (RuleId::NodeDead, "x"), (RuleId::NodeDead, "x")]);
    }

    #[test]
    fn lists_are_joined_within_one_limit() {
        let (mut one, mut two) = (Findings::new(&limits(2)), Findings::new(&limits(2)));
        for findings in [&mut one, &mut two] {
            for _ in 0..3 {
                findings.push(finding(RuleId::ValueCycle));
            }
        }
        one.absorb(two);
        let sorted = one.into_sorted();
        assert_eq!(sorted.len(), 3);
        assert_eq!(sorted[2].message, "only 2 of 6 errors are listed");
    }

    #[test]
    fn few_large_findings_fill_the_memory() {
        let mut findings = Findings::new(&Limits { bytes: 64 << 10, ..Limits::default() });
        for _ in 0..10 {
            findings.push(Finding::new(RuleId::ValueCycle, Place::default(), "n".repeat(1 << 20)));
        }
        assert!(findings.kept().iter().all(|finding| finding.message.len() < 2_100));
        assert_eq!(findings.kept().iter().count(), 1);
        assert_eq!(findings.into_sorted()[1].message, "only 1 of 10 errors are listed");
    }
}
