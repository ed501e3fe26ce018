//! From what a runtime does not pass to as few expectations as say exactly that.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::{CaseResult, Entry, Outcome};

/// The entries that results ask for beyond those that are listed already: one for a type that no case with it gets
/// through, one for each other thing that is missing, then globs under which every case ends alike, then single cases.
///
/// `all` are all results that bear on the runtime; `listed` says which of them an entry accounts for already.
pub(super) fn fold(all: &[&CaseResult], listed: impl Fn(&CaseResult) -> bool) -> Vec<Entry> {
    let open: Vec<&CaseResult> =
        all.iter().copied().filter(|result| result.outcome != Outcome::Pass && !listed(result)).collect();
    let (lacking, failing): (Vec<&CaseResult>, Vec<&CaseResult>) =
        open.into_iter().partition(|result| result.outcome == Outcome::Unsupported && result.missing.is_some());
    let mut entries = capabilities(all, &lacking);
    entries.extend(outcomes(all, &failing));
    entries
}

/// One entry for each thing that is missing.
fn capabilities(all: &[&CaseResult], lacking: &[&CaseResult]) -> Vec<Entry> {
    let missing: BTreeSet<&str> = lacking.iter().filter_map(|result| result.missing.as_deref()).collect();
    let mut by_type: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for what in &missing {
        if let Some((value_type, version)) = what.split_once(" in ") {
            by_type.entry(value_type).or_default().push(version);
        }
    }
    // A type is missing as a whole, or in an operator as a whole, if there are several such lines and nothing passes.
    let passing: BTreeSet<&str> = all
        .iter()
        .filter(|result| result.outcome == Outcome::Pass)
        .flat_map(|result| result.cells.iter().chain(&result.named).map(String::as_str))
        .collect();
    let is_whole = |value_type: &str, operator: &str| {
        let end = format!("={value_type}");
        !passing.iter().any(|cell| cell.starts_with(operator) && cell.ends_with(&end))
    };
    let mut entries = BTreeSet::new();
    for (value_type, operators) in by_type {
        if operators.len() > 1 && is_whole(value_type, "") {
            entries.insert(format!("{value_type} in *"));
            continue;
        }
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for version in operators {
            versions.entry(version.rsplit_once('-').map_or(version, |(name, _)| name)).or_default().push(version);
        }
        for (operator, versions) in versions {
            if versions.len() > 1 && is_whole(value_type, &format!("{operator}-")) {
                entries.insert(format!("{value_type} in {operator}-*"));
            } else {
                entries.extend(versions.into_iter().map(|version| format!("{value_type} in {version}")));
            }
        }
    }
    entries.extend(missing.iter().filter(|what| !what.contains(" in ")).map(|what| (*what).to_owned()));
    entries.into_iter().map(|what| Entry { unsupported: Some(what), ..Entry::default() }).collect()
}

/// Entries by id: the widest globs within an operator under which every case ends alike.
fn outcomes(all: &[&CaseResult], failing: &[&CaseResult]) -> Vec<Entry> {
    // Every pattern that a result could be listed under, and how the results under it end.
    let mut ends: BTreeMap<String, BTreeSet<Outcome>> = BTreeMap::new();
    let mut failures: BTreeMap<String, usize> = BTreeMap::new();
    let operators: BTreeSet<&str> = failing.iter().filter_map(|result| operator(&result.id)).collect();
    for result in all.iter().filter(|result| operator(&result.id).is_some_and(|name| operators.contains(name))) {
        for pattern in patterns(&result.id) {
            ends.entry(pattern).or_default().insert(result.outcome);
        }
    }
    for result in failing {
        for pattern in patterns(&result.id) {
            *failures.entry(pattern).or_default() += 1;
        }
    }
    let mut entries: BTreeMap<String, Outcome> = BTreeMap::new();
    for result in failing {
        let serves = |pattern: &String| ends.get(pattern).is_some_and(|ends| ends.len() == 1);
        let count = |pattern: &String| failures.get(pattern).copied().unwrap_or(0);
        // Of globs that stand for as many failures the first is the widest.
        let candidates = patterns(&result.id).into_iter().filter(serves).filter(|pattern| count(pattern) > 1);
        let pattern = candidates.rev().max_by_key(count).unwrap_or_else(|| result.id.clone());
        entries.insert(pattern, result.outcome);
    }
    let entry = |(cases, outcome)| Entry { cases: Some(cases), outcome: Some(outcome), ..Entry::default() };
    entries.into_iter().map(entry).collect()
}

/// The operator of a case made from specs: `ai.onnx/Sum` of `ai.onnx/Sum-13/broadcast/T=float`.
fn operator(id: &str) -> Option<&str> {
    let (version, _) = id.match_indices('/').nth(1)?;
    id.get(..version)?
        .rsplit_once('-')
        .filter(|(_, since)| since.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|(name, _)| name)
}

/// The globs that may stand for a case, the widest first: over versions and cases of its operator, or over all of its
/// cases of the same types. A vendored case stands for itself.
fn patterns(id: &str) -> Vec<String> {
    let Some(operator) = operator(id) else { return Vec::new() };
    let parts: Vec<&str> = id.split('/').collect();
    let [domain, version, case, rest @ ..] = parts.as_slice() else { return Vec::new() };
    let mut patterns =
        vec![format!("{operator}-*/**"), format!("{domain}/{version}/**"), format!("{operator}-*/{case}/**")];
    if let Some(types) = rest.last() {
        patterns.push(format!("{operator}-*/**/{types}"));
        patterns.push(format!("{domain}/{version}/{case}/**"));
        patterns.push(format!("{domain}/{version}/**/{types}"));
        patterns.push(format!("{operator}-*/{case}/**/{types}"));
        patterns.push(format!("{operator}-*/{case}/{}", rest.join("/")));
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Level;

    fn result(id: &str, outcome: Outcome, missing: Option<&str>, cells: &[&str]) -> CaseResult {
        CaseResult {
            id: id.to_owned(),
            outcome,
            message: String::new(),
            inputs: String::new(),
            missing: missing.map(str::to_owned),
            ulps: None,
            level: Level::Required,
            judged: None,
            evidence: Vec::new(),
            cells: cells.iter().map(|&cell| cell.to_owned()).collect(),
            named: Vec::new(),
            ms: 0.0,
        }
    }

    /// The selectors of the entries that results fold to.
    fn folded(results: &[CaseResult]) -> Vec<String> {
        let all: Vec<&CaseResult> = results.iter().collect();
        fold(&all, |_| false).into_iter().filter_map(|entry| entry.cases.or(entry.unsupported)).collect()
    }

    #[test]
    fn a_type_that_nothing_passes_with_is_one_line() {
        let lacks = |operator: &str| {
            let what = format!("tensor(bfloat16) in ai.onnx/{operator}-13");
            result(&format!("ai.onnx/{operator}-13/any/T=bfloat16"), Outcome::Unsupported, Some(&what), &[])
        };
        let mut results = vec![lacks("Abs"), lacks("Neg"), lacks("Neg")];
        assert_eq!(folded(&results), ["tensor(bfloat16) in *"]);
        results.push(result("ai.onnx/Cast-13/any", Outcome::Pass, None, &["ai.onnx/Cast-13 T1=tensor(bfloat16)"]));
        assert_eq!(folded(&results), ["tensor(bfloat16) in ai.onnx/Abs-13", "tensor(bfloat16) in ai.onnx/Neg-13"]);
    }

    #[test]
    fn cases_that_end_alike_share_the_widest_glob() {
        let wrong = |id: &str| result(id, Outcome::Mismatch, None, &[]);
        let mut results = vec![
            wrong("ai.onnx/Mod-10/zero/T=int8"),
            wrong("ai.onnx/Mod-10/zero/T=int16"),
            wrong("ai.onnx/Mod-13/zero/T=int16"),
        ];
        assert_eq!(folded(&results), ["ai.onnx/Mod-*/**"]);
        results.push(result("ai.onnx/Mod-13/any/T=int8", Outcome::Pass, None, &[]));
        assert_eq!(folded(&results), ["ai.onnx/Mod-*/zero/**"]);
        results.push(result("ai.onnx/Mod-10/any/T=int16", Outcome::Pass, None, &[]));
        results.push(result("ai.onnx/Mod-10/any/T=int8", Outcome::Error, None, &[]));
        assert_eq!(folded(&results), ["ai.onnx/Mod-*/zero/**", "ai.onnx/Mod-10/any/T=int8"]);
    }

    #[test]
    fn vendored_cases_stand_for_themselves() {
        let wrong = |id: &str| result(id, Outcome::Error, None, &[]);
        let results = [wrong("onnx-1.23.2/node/test_div"), wrong("onnx-1.23.2/node/test_div_bcast")];
        assert_eq!(folded(&results), ["onnx-1.23.2/node/test_div", "onnx-1.23.2/node/test_div_bcast"]);
    }
}
