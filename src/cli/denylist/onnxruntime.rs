//! Lists of onnxruntime, `onnxruntime/test/testdata/onnx_backend_test_series_filters.jsonc`: regular expressions.
//!
//! An item may be a pair: the opsets of ONNX that it is for, and the expression. The expression counts for each opset.

use serde_json::Value;

use crate::cli::denylist::jsonc::Configuration;
use crate::cli::denylist::list::{ListFault, Listed, NameList};

/// The key with tests that fail everywhere. Those of an execution provider are in a key with its name appended.
const FAILING: &str = "current_failing_tests";

/// Further keys with tests that are excluded everywhere.
const EXCLUDED: [&str; 4] = [
    "tests_with_pre_opset7_dependencies",
    "unsupported_usages",
    "failing_permanently",
    "test_with_types_disabled_due_to_binary_size_concerns",
];

/// Reads the lists that hold everywhere, and that of an execution provider.
pub(super) fn read(text: &str, provider: Option<&str>) -> Result<NameList, ListFault> {
    let configuration = Configuration::read(text)?;
    let of_provider = provider.map(|provider| key_of(&configuration, provider)).transpose()?;
    let keys = [FAILING].into_iter().chain(EXCLUDED).chain(of_provider);
    let mut failing = Vec::new();
    for key in keys {
        for item in configuration.items(key)? {
            failing.push(listed(&configuration, key, item)?);
        }
    }
    NameList::of_failing(failing, format!("has no tests in {FAILING}, {}", EXCLUDED.join(", ")))
}

/// Returns the key with the tests of an execution provider.
fn key_of<'a>(configuration: &'a Configuration<'_>, provider: &str) -> Result<&'a str, ListFault> {
    let name_of = |key: &'a str| key.strip_prefix(FAILING)?.strip_prefix('_');
    let keys = || configuration.members.keys().map(String::as_str);
    let is_asked = |key: &&'a str| name_of(key).is_some_and(|name| name.eq_ignore_ascii_case(provider));
    let found = keys().find(is_asked);
    found.ok_or_else(|| {
        let known: Vec<&str> = keys().filter_map(name_of).collect();
        ListFault::of_file(format!("has no tests of the provider {provider}, only of {}", known.join(", ")))
    })
}

/// Returns the entry of an item: an expression, or a pair of opsets and expression.
fn listed(configuration: &Configuration<'_>, key: &str, item: &Value) -> Result<Listed, ListFault> {
    let pattern = match item {
        Value::Array(pair) => pair.get(1).filter(|_| pair.len() == 2),
        other => Some(other),
    };
    let line = configuration.line_of(pattern.unwrap_or(item));
    let rule =
        || format!("expected a regular expression, or a pair of opsets and expression, in {key}, but found {item}");
    let text = pattern.and_then(Value::as_str).ok_or_else(|| ListFault::of_line(line, rule()))?;
    Ok(Listed::matching(line, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n    // Failing temporarily.\n    \"current_failing_tests\": [\n        \"^test_adagrad\", // no Adagrad(1)\n        \
                        [\"^opset1[0-8]\", \"^test_max_int16\"]\n    ],\n    \"current_failing_tests_DNNL\": [\"^test_range\"],\n    \
                        \"failing_permanently\": [\n        \"^test_cast_FLOAT_to_STRING\"\n    ]\n}\n";

    fn entries(items: &[(usize, &str)]) -> Vec<Listed> {
        items.iter().map(|(line, pattern)| Listed::matching(*line, pattern)).collect()
    }

    #[test]
    fn expressions_that_hold_everywhere_are_read() {
        let everywhere = [(4, "^test_adagrad"), (5, "^test_max_int16"), (9, "^test_cast_FLOAT_to_STRING")];
        assert_eq!(read(TEXT, None).unwrap().failing, entries(&everywhere));
    }

    #[test]
    fn those_of_a_provider_are_added() {
        let failing = read(TEXT, Some("dnnl")).unwrap().failing;
        assert_eq!(failing.last(), entries(&[(7, "^test_range")]).first());
        assert_eq!(failing.len(), 4);
        let fault = read(TEXT, Some("QNN")).unwrap_err();
        assert_eq!(fault.rule, "has no tests of the provider QNN, only of DNNL");
    }

    #[test]
    fn another_file_is_refused() {
        for (text, rule) in [
            ("", "is not an object in JSON"),
            ("{\"rtol_default\": 0.001}", "has no tests in current_failing_tests, "),
            ("{\"current_failing_tests\": [1]}", "in current_failing_tests, but found 1"),
            ("{\"current_failing_tests\": [[\"a\"]]}", "but found [\"a\"]"),
            ("{\"current_failing_tests\": [[\"a\", \"b\", \"c\"]]}", "but found [\"a\",\"b\",\"c\"]"),
        ] {
            let fault = read(text, None).unwrap_err();
            assert!(fault.rule.contains(rule), "{text}: {fault}");
        }
    }
}
