//! Did you mean: suggests the nearest name for a pattern that selects nothing.

use std::collections::BTreeSet;

use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::Suite;

use crate::cli::print;

/// Maximum number of names that are suggested if several are equally near.
const MAX_SUGGESTED: usize = 4;

/// Number of characters of a name that is too short to be corrected.
const MAX_SHORT: usize = 3;

/// Prints that the patterns select no case, with the nearest name for each.
pub(crate) fn note_nothing_matches(suite: &Suite, patterns: &[String]) {
    print::note("no case matches");
    for pattern in patterns.iter().filter(|pattern| !pattern.starts_with(['!', '@'])) {
        if let Some(near) = choice(&near_patterns(suite, pattern)) {
            print::note(&format!("'{pattern}' selects nothing; did you mean {near}?"));
        }
    }
}

/// Returns the nearest patterns for one that selects nothing: operators, or the id of a case of the operator version.
pub(crate) fn near_patterns(suite: &Suite, pattern: &str) -> Vec<String> {
    let mut all = near(suite, pattern).unwrap_or_default();
    all.retain(|near| near.trim_end_matches("/**") != pattern.trim_end_matches("/**"));
    all
}

/// Formats names as a choice: `'a' or 'b'`; `None` without names.
pub(crate) fn choice(names: &[String]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" or "))
}

fn near(suite: &Suite, pattern: &str) -> Option<Vec<String>> {
    let groups = suite.groups().ok()?;
    let plain = Variant::split_id(pattern).0.trim_end_matches("/**").trim_end_matches('/');
    let mut parts = plain.splitn(3, '/');
    let name: Vec<&str> = parts.by_ref().take(2).collect();
    let name = name.join("/");
    if let Some((source, group)) = groups.iter().find(|(_, group)| group.name == name) {
        let ids = source.ids(group).ok()?;
        return Some(vec![nearest(plain, ids.iter().map(String::as_str))?.to_owned()]);
    }
    let names: BTreeSet<&str> = groups.iter().map(|(_, group)| group.name.as_str()).collect();
    let (wanted, version) = name.rsplit_once('-').unwrap_or((&name, ""));
    let operators: BTreeSet<&str> = names.iter().filter_map(|name| Some(name.rsplit_once('-')?.0)).collect();
    let short = |operator: &&str| operator.rsplit('/').next().unwrap_or_default().to_owned();
    let mut found = all_nearest(wanted, operators.iter().copied());
    if found.is_empty() {
        let shorts: Vec<String> = operators.iter().map(short).collect();
        let near = all_nearest(wanted, shorts.iter().map(String::as_str));
        found = operators.iter().copied().filter(|operator| near.contains(&short(operator).as_str())).collect();
    }
    let same: Vec<String> = found.iter().map(|operator| format!("{operator}-{version}")).collect();
    let same: Vec<String> = same.into_iter().filter(|group| names.contains(group.as_str())).collect();
    if !same.is_empty() {
        return Some(same);
    }
    if !found.is_empty() {
        return Some(found.iter().map(|operator| format!("{operator}-*")).collect());
    }
    Some(vec![nearest(plain, names.into_iter())?.to_owned()])
}

/// Returns the candidate with the smallest edit distance, if that is small.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    all_nearest(wanted, candidates).first().copied()
}

/// Returns the candidates with the smallest edit distance, if that is small: at most [`MAX_SUGGESTED`] of them.
fn all_nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = wanted.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let all: BTreeSet<(usize, &str)> = candidates.map(|candidate| (distance(candidate), candidate)).collect();
    let least = all.first().map_or(usize::MAX, |(distance, _)| *distance);
    let is_near = |(distance, _): &(usize, &str)| *distance == least && least <= wanted.chars().count().div_ceil(4);
    all.into_iter().take_while(is_near).map(|(_, candidate)| candidate).take(MAX_SUGGESTED).collect()
}

/// Returns the candidates that are one edit away from a name. The case of letters does not count. A name of up to three letters
/// has none, since too many names are as near.
pub(crate) fn one_edit_away<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    if name.chars().count() <= MAX_SHORT {
        return BTreeSet::new();
    }
    let lower = name.to_lowercase();
    candidates.filter(|candidate| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()) == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::Generated;

    #[test]
    fn the_nearest_name_is_suggested() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let check = |pattern: &str, expected: Option<&str>| {
            assert_eq!(near_patterns(&suite, pattern), expected.into_iter().collect::<Vec<_>>(), "{pattern}");
        };
        check("ai.onnx/Sofmax-13/**", Some("ai.onnx/Softmax-13"));
        check("ai.onnx/softmax-13", Some("ai.onnx/Softmax-13"));
        check("ai.onnx/Sofmax-*/**", Some("ai.onnx/Softmax-*"));
        check("ai.onnx/Softmax-14", Some("ai.onnx/Softmax-*"));
        check("Softmx", Some("ai.onnx/Softmax-*"));
        check("ai.onnx/Abs-13/nan_and_infinites/T=float", Some("ai.onnx/Abs-13/nan_and_infinities/T=float"));
        check("entirely/other", None);
        check("ai.onnx/Softmax-*/**", None);
        let near = choice(&near_patterns(&suite, "ai.onnx/Sun-13/**")).unwrap();
        assert!(near.contains("'ai.onnx/Sum-13'") && near.contains("'ai.onnx/Sub-13'"), "{near}");
        assert!(!near.contains("Sin"), "Sin has no version 13: {near}");
        assert_eq!(choice(&[]), None);
    }

    #[test]
    fn a_name_is_one_edit_away() {
        let check = |name: &str, expected: &[&str]| {
            let known = ["Relu", "Selu", "Celu", "Softmax", "Sum"];
            assert_eq!(one_edit_away(name, known.into_iter()).into_iter().collect::<Vec<_>>(), expected, "{name}");
        };
        check("Rely", &["Relu"]);
        check("sfotmax", &["Softmax"]);
        check("softmaxx", &["Softmax"]);
        check("Telu", &["Celu", "Relu", "Selu"]);
        check("Sun", &[]);
        check("Softmax", &[]);
        check("Sftmx", &[]);
    }
}
