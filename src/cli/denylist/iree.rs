//! Lists of IREE, `onnx_ops_*.json`: tests that are not compiled or run, and those that are expected to fail.

use crate::cli::denylist::jsonc::Configuration;
use crate::cli::denylist::list::{ListFault, Listed, NameList, is_test_name, plain_name};

/// The keys with tests.
const KEYS: [&str; 4] = ["skip_compile_tests", "skip_run_tests", "expected_compile_failures", "expected_run_failures"];

/// Reads a list.
pub(super) fn read(text: &str) -> Result<NameList, ListFault> {
    let configuration = Configuration::read(text)?;
    let mut failing = Vec::new();
    for key in KEYS {
        for item in configuration.items(key)? {
            let line = configuration.line_of(item);
            let name = item.as_str().filter(|name| is_test_name(plain_name(name)));
            let rule = || format!("expected the name of a test in {key}, but found {item}");
            failing.push(Listed::named(line, name.ok_or_else(|| ListFault::of_line(line, rule()))?));
        }
    }
    NameList::of_failing(failing, format!("has no tests in {}", KEYS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_and_failing_tests_are_read() {
        let text = "{\n  \"config_name\": \"cpu_llvm_sync\",\n  \"skip_compile_tests\": [\n    \
                    \"onnx/node/generated/test_dequantizelinear\",\n  ],\n  \"skip_run_tests\": [],\n  \
                    \"expected_compile_failures\": [\"test_abs\"],\n  \"expected_run_failures\": [\"test_add\"]\n}\n";
        let names = [(4, "test_dequantizelinear"), (7, "test_abs"), (8, "test_add")];
        assert_eq!(read(text).unwrap().failing, names.map(|(line, name)| Listed::named(line, name)));
    }

    #[test]
    fn another_file_is_refused() {
        for (text, rule) in [
            ("", "is not an object in JSON"),
            ("{}", "has no tests in skip_compile_tests"),
            ("{\"skip_run_tests\": [1]}", "expected the name of a test in skip_run_tests, but found 1"),
            ("{\"skip_run_tests\": [\"^test_a\"]}", "but found \"^test_a\""),
            ("{\"skip_run_tests\": \"test_abs\"}", "expected a list of tests for skip_run_tests"),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.rule.contains(rule), "{text}: {fault}");
        }
    }
}
