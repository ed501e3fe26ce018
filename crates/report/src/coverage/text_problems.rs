//! Faults of a text.yaml.

use std::collections::BTreeSet;

use super::text::{ShownCases, StatedSentence, TextItem, TextState};
use onnx_conformance_check::RuleId;
use onnx_conformance_reference::spec::Sentence;

/// Minimum length of a reason in letters.
const MIN_REASON: usize = 10;

/// A text.yaml with its operator.
pub(super) struct Check<'a> {
    /// The path of the file.
    pub(super) path: &'a str,
    /// The text of the file.
    pub(super) text: &'a str,
    /// The domain and name of the operator.
    pub(super) operator: &'a str,
    pub(super) items: &'a [TextItem],
    pub(super) sentences: &'a [StatedSentence],
    pub(super) shown: &'a ShownCases<'a>,
}

/// Returns the faults of a file, each with the place and the sentence.
pub(super) fn problems(check: &Check<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: Vec<(&str, BTreeSet<u32>)> = Vec::new();
    for item in check.items {
        let mut report = |what: String| found.push(item.fault(check.path, check.text, &what));
        let known = Sentence::all_of(check.operator);
        let Some(sentence) = item.sentence(known, &format!("{} in this release", check.operator), &mut report) else {
            continue;
        };
        let digest = item.digest();
        item.faults().for_each(&mut report);
        let own: BTreeSet<u32> = sentence.versions().into_iter().collect();
        let named: BTreeSet<u32> = item.versions.iter().copied().collect();
        if let Some(other) = named.difference(&own).next() {
            report(format!("names version {other}, which does not have the sentence"));
        }
        let versions = if named.is_empty() { own } else { named };
        if seen.iter().any(|(other, taken)| *other == digest && !taken.is_disjoint(&versions)) {
            report("has two states in one version; give each its `versions`".to_owned());
        }
        for since in &versions {
            check.missing_cases(item, *since).into_iter().for_each(&mut report);
        }
        seen.push((digest, versions));
    }
    for stated in check.sentences.iter().filter(|stated| stated.state == TextState::Missing) {
        let sentence = stated.sentence;
        let sections: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
        let versions: Vec<String> = stated.versions.iter().map(u32::to_string).collect();
        found.push(format!(
            "{}: no state for '{} {}' ({}, version {}); add an item",
            check.path,
            sentence.digest,
            start_of(sentence.text),
            sections.join(", "),
            versions.join(", ")
        ));
    }
    found
}

impl Check<'_> {
    /// Returns the rules and cases of an item that a version does not have.
    fn missing_cases(&self, item: &TextItem, since: u32) -> Vec<String> {
        let mut missing = Vec::new();
        for rule in &item.rules {
            if !self.shown.known.contains(rule) {
                missing.push(format!("names rule {rule}, which op.yaml does not have"));
            }
        }
        let by_rules = item.rules.iter().any(|rule| self.shown.of_rule(since, rule).next().is_some());
        let by_names = item.cases.iter().any(|name| self.shown.named(since, name).next().is_some());
        let names_cases = !(item.rules.is_empty() && item.cases.is_empty());
        if names_cases && !by_rules && !by_names {
            missing
                .push(format!("has no case in version {since}: neither its rules nor the named cases have one there"));
        }
        missing
    }
}

impl TextItem {
    /// Returns the digest of the sentence.
    pub(super) fn digest(&self) -> &str {
        self.text.split_once(' ').map_or(self.text.as_str(), |(digest, _)| digest)
    }

    /// Describes a fault of the item in a file with this text: `text.yaml:3: '0123abcd Two' has two states`.
    pub(super) fn fault(&self, path: &str, text: &str, fault: &str) -> String {
        let line = text.lines().position(|line| line.contains(self.digest())).map_or(1, |line| line + 1);
        format!("{path}:{line}: '{}' {fault}", self.text)
    }

    /// Finds the sentence of the item among the known ones of a source. Reports a missing one, and one with other words.
    pub(super) fn sentence(
        &self,
        known: &'static [Sentence],
        source: &str,
        report: &mut dyn FnMut(String),
    ) -> Option<&'static Sentence> {
        let (digest, words) = self.text.split_once(' ').unwrap_or((&self.text, ""));
        let sentence = known.iter().find(|sentence| sentence.digest == digest);
        match sentence {
            None => report(format!("is no sentence of {source}; remove it, or give the digest of the new text")),
            Some(sentence) if !sentence.text.starts_with(words) => {
                report(format!("is another sentence: {}", start_of(sentence.text)));
            }
            Some(_) => {}
        }
        sentence
    }

    /// Returns the faults of the item itself.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        let states = [
            !self.rules.is_empty() || !self.cases.is_empty() || !self.check.is_empty(),
            self.by_signature.is_some(),
            self.not_normative.is_some(),
            self.untestable.is_some(),
            self.contradicts.is_some(),
            self.open.is_some(),
        ];
        let count = states.into_iter().filter(|is_given| *is_given).count();
        let number = (count != 1).then(|| {
            format!(
                "has {count} states; give one of rules (with cases), by_signature, not_normative, untestable, contradicts, open"
            )
        });
        let contradiction = self.contradicts.iter().flat_map(|it| [&it.with, &it.reading]);
        let reasons = self.untestable.iter().chain(&self.open).chain(contradiction.skip(1));
        let short = reasons.filter(|reason| reason.trim().len() < MIN_REASON).count();
        let unknown = self.check.iter().filter(|id| !RuleId::ALL.iter().any(|rule| rule.id() == id.as_str()));
        let unknown = unknown.map(|id| format!("names rule {id}, which `check` does not have"));
        number.into_iter().chain((short > 0).then(|| "needs a reason, one sentence".to_owned())).chain(unknown)
    }
}

/// Returns the first words of a sentence.
pub(super) fn start_of(sentence: &str) -> String {
    sentence.split_whitespace().take(8).collect::<Vec<_>>().join(" ")
}
