//! Data of the page of rules of `check`.

use onnx_conformance_check::rules::{Example, Fix, Level, RuleId};
use serde::Serialize;

/// Rule that a valid model follows.
#[derive(Debug, Serialize)]
pub(crate) struct CheckRule {
    id: RuleId,
    level: Level,
    says: &'static str,
    source: &'static str,
    why: &'static str,
    /// Model that breaks it, in ONNX's text form.
    #[serde(skip_serializing_if = "Option::is_none")]
    bad: Option<&'static str>,
    /// Similar model that follows it.
    good: &'static str,
    fix: &'static str,
    /// True if the fix changes neither the results nor the runtimes that load the model.
    safe: bool,
}

/// Returns all rules.
pub(crate) fn data() -> Vec<CheckRule> {
    RuleId::ALL.into_iter().map(rule).collect()
}

fn rule(id: RuleId) -> CheckRule {
    let (fix, safe) = match id.fix() {
        Fix::Safe(text) => (text, true),
        Fix::Unsafe(text) => (text, false),
    };
    let bad = match id.bad() {
        Example::Text(text) => Some(text),
        Example::Hex(_) | Example::Change(_) => None,
    };
    CheckRule {
        id,
        level: id.level(),
        says: id.sentence(),
        source: id.source(),
        why: id.why(),
        bad,
        good: id.good(),
        fix,
        safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_its_sentence_a_model_and_a_fix() {
        let rules = data();
        let rule = rules.iter().find(|rule| rule.id.id() == "node/deprecated").unwrap();
        assert!(rule.bad.is_some_and(|bad| bad.contains("Upsample")), "{rule:?}");
        assert!(rule.good.contains("Resize") && !rule.fix.is_empty() && !rule.safe, "{rule:?}");
    }
}
