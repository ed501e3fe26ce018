//! Did you mean: suggests the nearest name for a pattern that selects nothing.

use std::collections::BTreeSet;

use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::Suite;

use crate::cli::print;

/// Number of characters of a name that is too short to be corrected.
const MAX_SHORT: usize = 3;

/// Prints that the patterns select no case, with the nearest name for each.
pub(crate) fn note_nothing_matches(suite: &Suite, patterns: &[String]) {
    print::note("no case matches");
    for pattern in patterns.iter().filter(|pattern| !pattern.starts_with(['!', '@'])) {
        if let Some(nearest) = near_pattern(suite, pattern) {
            print::note(&format!("'{pattern}' selects nothing; did you mean '{nearest}'?"));
        }
    }
}

/// Returns the nearest pattern for one that selects nothing: an operator, or the id of a case of the operator version.
pub(crate) fn near_pattern(suite: &Suite, pattern: &str) -> Option<String> {
    near(suite, pattern).filter(|near| near.trim_end_matches("/**") != pattern.trim_end_matches("/**"))
}

fn near(suite: &Suite, pattern: &str) -> Option<String> {
    let groups = suite.groups().ok()?;
    let plain = Variant::split_id(pattern).0.trim_end_matches("/**").trim_end_matches('/');
    let mut parts = plain.splitn(3, '/');
    let name: Vec<&str> = parts.by_ref().take(2).collect();
    let name = name.join("/");
    if let Some((source, group)) = groups.iter().find(|(_, group)| group.name == name) {
        let ids = source.ids(group).ok()?;
        return nearest(plain, ids.iter().map(String::as_str)).map(str::to_owned);
    }
    let names: BTreeSet<&str> = groups.iter().map(|(_, group)| group.name.as_str()).collect();
    let (wanted, version) = name.rsplit_once('-').unwrap_or((&name, ""));
    let operators: BTreeSet<&str> = names.iter().filter_map(|name| Some(name.rsplit_once('-')?.0)).collect();
    let short = |operator: &&str| operator.rsplit('/').next().unwrap_or_default().to_owned();
    let operator = nearest(wanted, operators.iter().copied()).map(str::to_owned).or_else(|| {
        let shorts: Vec<String> = operators.iter().map(short).collect();
        let near = nearest(wanted, shorts.iter().map(String::as_str))?;
        operators.iter().find(|operator| short(operator) == near).map(|operator| (*operator).to_owned())
    });
    if let Some(operator) = operator {
        let same = format!("{operator}-{version}");
        return Some(if names.contains(same.as_str()) { same } else { format!("{operator}-*") });
    }
    nearest(plain, names.into_iter()).map(str::to_owned)
}

/// Returns the candidate with the smallest edit distance, if that is small.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wanted.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let (distance, candidate) = candidates.map(|candidate| (distance(candidate), candidate)).min()?;
    (distance <= wanted.chars().count().div_ceil(4)).then_some(candidate)
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
            assert_eq!(near_pattern(&suite, pattern).as_deref(), expected, "{pattern}");
        };
        check("ai.onnx/Sofmax-13/**", Some("ai.onnx/Softmax-13"));
        check("ai.onnx/softmax-13", Some("ai.onnx/Softmax-13"));
        check("ai.onnx/Sofmax-*/**", Some("ai.onnx/Softmax-*"));
        check("ai.onnx/Softmax-14", Some("ai.onnx/Softmax-*"));
        check("Softmx", Some("ai.onnx/Softmax-*"));
        check("ai.onnx/Abs-13/nan_and_infinites/T=float", Some("ai.onnx/Abs-13/nan_and_infinities/T=float"));
        check("entirely/other", None);
        check("ai.onnx/Softmax-*/**", None);
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
