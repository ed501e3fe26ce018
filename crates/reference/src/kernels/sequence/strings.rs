//! Strings: `StringConcat`, `StringSplit`, `StringNormalizer`, `RegexFullMatch`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Missing, Ruled, broken, unsupported};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::sequence::full_match::FullMatch;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("RegexFullMatch", 20, regex_full_match).shape(rules::same),
    Kernel::new("StringConcat", 20, string_concat).shape(rules::broadcast_all),
    Kernel::new("StringNormalizer", 10, string_normalizer).shape(kept),
    Kernel::new("StringSplit", 20, string_split).shapes_of_all(parts_and_numbers),
];

/// Refuses to create more text than the run may hold. The strings themselves are counted when they are put into a
/// tensor.
fn check_bytes(call: &Call<'_>, lengths: impl Iterator<Item = usize>) -> Result<()> {
    let budget = call.budget.nested();
    let (mut total, mut longest) = (0usize, 0);
    for length in lengths {
        budget.count_work(1)?;
        total = total.saturating_add(length);
        longest = longest.max(length);
    }
    // A string exists twice while it is built.
    budget.count(total.saturating_add(longest), 1)
}

/// `StringConcat`: each pair of elements concatenated, with broadcasting.
fn string_concat(call: &Call<'_>) -> Result {
    let (x, y) = (call.tensor(0)?, call.tensor(1)?);
    let shape = broadcast(x.shape(), y.shape()).rule("C1")?;
    let buffer = call.allocate(ElementType::String, &shape)?;
    let pairs = || {
        let positions = StridedIter::broadcast(x.shape(), &shape).zip(StridedIter::broadcast(y.shape(), &shape));
        positions.filter_map(|(left, right)| x.strings().get(left).zip(y.strings().get(right)))
    };
    check_bytes(call, pairs().map(|(left, right)| left.len() + right.len()))?;
    Ok(buffer.strings(pairs().map(|(left, right)| Arc::from([&**left, &**right].concat())))?.into())
}

/// `StringSplit`: the parts of each element along a new last axis, padded with empty strings, and the number of parts.
fn string_split(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let delimiter = call.optional_string("delimiter").unwrap_or_default();
    // A negative number means no limit, as in Python.
    let max = call.optional_int("maxsplit").and_then(|max| usize::try_from(max).ok());
    let parts: Vec<Vec<&str>> = x
        .strings()
        .iter()
        .map(|text| {
            call.budget.count_work(text.len())?;
            let parts =
                if delimiter.is_empty() { split_at_whitespace(text, max) } else { split_at(text, delimiter, max) };
            // The capacity of a list doubles as it grows.
            call.budget.count(parts.capacity(), size_of::<&str>())?;
            Ok(parts)
        })
        .collect::<Result<_>>()?;
    let width = parts.iter().map(Vec::len).max().unwrap_or(0);
    let mut shape = x.shape().to_vec();
    shape.push(width);
    check_bytes(call, parts.iter().flatten().map(|part| part.len()))?;
    let empty: Arc<str> = Arc::from("");
    let part =
        |parts: &[&str], index: usize| parts.get(index).map_or_else(|| Arc::clone(&empty), |&part| Arc::from(part));
    let all = parts.iter().flat_map(|parts| (0..width).map(move |index| part(parts, index)));
    let strings = call.allocate(ElementType::String, &shape)?.strings(all)?;
    let counts = call.integers(ElementType::Int64, x.shape(), parts.iter().map(|parts| parts.len() as i128))?;
    Ok(vec![strings, counts].into())
}

fn split_at<'a>(text: &'a str, delimiter: &str, max: Option<usize>) -> Vec<&'a str> {
    match max {
        Some(max) => text.splitn(max.saturating_add(1), delimiter).collect(),
        None => text.split(delimiter).collect(),
    }
}

/// Splits a text into words. After `max` splits the rest is one part, trimmed.
fn split_at_whitespace(text: &str, max: Option<usize>) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let end = match max {
            Some(max) if parts.len() >= max => rest.len(),
            _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after.trim_start();
    }
    parts
}

/// `StringNormalizer`: removes stop words, then changes the case of the rest. If none remain, the result is one empty
/// string.
fn string_normalizer(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    if !matches!(x.shape(), [_] | [1, _]) {
        return Err(broken("C4", format!("the input has shape {:?}; it must be [C] or [1, C]", x.shape())));
    }
    check_locale(call)?;
    let change = call
        .one_of::<fn(&str) -> String>(
            "case_change_action",
            &[("NONE", str::to_owned), ("LOWER", str::to_lowercase), ("UPPER", str::to_uppercase)],
        )
        .rule("C2")?;
    let folded: fn(&str) -> String = if call.flag("is_case_sensitive")? { str::to_owned } else { str::to_lowercase };
    let stop_words = call.optional_strings("stopwords").unwrap_or_default();
    let stop_words: HashSet<String> = stop_words.iter().map(|word| folded(word)).collect();
    let kept = x.strings().iter().filter(|text| !stop_words.contains(&folded(text)));
    check_bytes(call, x.strings().iter().map(|text| text.len()))?;
    let mut changed: Vec<Arc<str>> = Vec::new();
    for text in kept {
        // A case change makes a text at most three times as long.
        call.budget.count(text.len(), 3)?;
        call.budget.count_work(text.len())?;
        changed.push(Arc::from(change(text)));
    }
    if changed.is_empty() {
        changed.push(Arc::from(""));
    }
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = changed.len();
    }
    Ok(call.allocate(ElementType::String, &shape)?.strings(changed)?.into())
}

/// Refuses locales of three languages whose case rules differ from Unicode's default.
fn check_locale(call: &Call<'_>) -> Result<()> {
    let Some(locale) = call.optional_string("locale") else { return Ok(()) };
    let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default().to_ascii_lowercase();
    match language.as_str() {
        "tr" | "az" | "lt" if call.string("case_change_action")? != "NONE" => {
            let hint = "the reference uses the rules of all other languages; omit the locale, or set \
             case_change_action to NONE";
            Err(unsupported(Missing::Attribute, format!("the locale '{locale}' has its own case rules; {hint}")))
        }
        _ => Ok(()),
    }
}

/// `RegexFullMatch`: true for each element that matches the pattern from its first character to its last.
fn regex_full_match(call: &Call<'_>) -> Result {
    let x: &Tensor = call.tensor(0)?;
    let pattern = call.string("pattern")?;
    let budget = call.budget.nested();
    let mut pattern = FullMatch::new(pattern, &budget)?;
    let matches = x.strings().iter().map(|text| pattern.is_match(text));
    let matches = matches.collect::<Result<Vec<bool>>>()?;
    Ok(call.allocate(ElementType::Bool, x.shape())?.bools(matches)?.into())
}

/// The number of strings outside the stop words, at least 1.
fn kept(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let keeps_all = match view.attributes.get("stopwords") {
        Some(words) => words.strings.is_empty(),
        None => !view.attributes.is_open("stopwords"),
    };
    let length = shape.last_mut()?;
    *length = if keeps_all { length.max(&Dim::Size(1)) } else { Dim::Unknown };
    match shape.as_mut_slice() {
        [_] => {}
        [rows, _] => *rows = Dim::Size(1),
        _ => return None,
    }
    Some(shape)
}

/// The parts along a new last axis, and their numbers in the shape of the input.
fn parts_and_numbers(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let numbers = view.shape(0);
    let parts = numbers.clone().map(|mut shape| {
        shape.push(if shape.contains(&Dim::Size(0)) { Dim::Size(0) } else { Dim::Unknown });
        shape
    });
    vec![parts, numbers]
}

#[cfg(test)]
mod tests {
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::testing::{OneNode, node, strings};

    #[test]
    fn joining_respects_the_limits() {
        let long = || strings(&[], &[&"x".repeat(600)]);
        let limits = ExecutionLimits { bytes: 1000, ..ExecutionLimits::default() };
        let refused = node("StringConcat", 20).input(long()).input(long()).limits(limits);
        assert!(refused.error().contains("over the limit of 1000 bytes"));
    }

    fn split(texts: &[&str]) -> OneNode {
        node("StringSplit", 20).input(strings(&[texts.len()], texts)).outputs(2)
    }

    #[test]
    fn splitting_at_whitespace_trims_the_rest_too() {
        let outputs = split(&["  a  b c  ", ""]).set("maxsplit", 1).run().unwrap();
        assert_eq!(outputs[0].as_tensor().unwrap().strings().join("|"), "a|b c||");
        assert_eq!(outputs[1].as_tensor().unwrap().integers(), [2, 0]);
        let outputs = split(&["\ta\u{2003}b\n"]).set("maxsplit", -1).set("delimiter", "").run().unwrap();
        assert_eq!(outputs[0].as_tensor().unwrap().strings().join("|"), "a|b");
    }

    #[test]
    fn stop_words_are_removed_before_the_case_changes() {
        let normalize = |words: &[&str]| node("StringNormalizer", 10).input(strings(&[words.len()], words));
        let y = normalize(&["The", "the", "ß", ""]).set("stopwords", &["THE"][..]).set("case_change_action", "UPPER");
        assert_eq!(y.tensor().strings().join("|"), "SS|");
        assert!(node("StringNormalizer", 10).input(strings(&[2, 1], &["a", "b"])).error().contains("[2, 1]"));
        assert!(normalize(&["i"]).set("locale", "tr_TR").set("case_change_action", "UPPER").error().contains("tr_TR"));
    }

    #[test]
    fn a_match_is_of_the_whole_text_in_re2_syntax() {
        let rows: [(&str, &str, bool); 11] = [
            (r"\D\W\S", "٣éé", true),
            (r"[\d_]+", "1_2", true),
            (r"[[:alpha:]&&b]+", "a&b", true),
            (r"\Qa.b\E+", "a.bb", true),
            ("a{1,x}{", "a{1,x}{", true),
            (r"\<a\>\-", "<a>-", true),
            (r"\p{^Greek}\P{^Greek}", "aα", true),
            ("(?i-s:A)(?U:b+?)(?:c*?)", "abbc", true),
            ("a{1000}", "a", false),
            ("[a*+]{2}", "+*", true),
            (r"\*+", "**", true),
        ];
        for (pattern, text, expected) in rows {
            let y = node("RegexFullMatch", 20).input(strings(&[], &[text])).set("pattern", pattern).tensor();
            assert_eq!(y.bools(), [expected], "{pattern} on {text:?}");
        }
        for pattern in [r"a{2,1}", "a+??", "a{2,1001}", r"\_"] {
            let refused = node("RegexFullMatch", 20).input(strings(&[], &["a"])).set("pattern", pattern);
            assert!(refused.error().contains("is not RE2 syntax"), "{pattern}");
        }
    }
}
