//! Lists of onnx-mlir, `test/backend/inference_backend.py`: a dictionary, or a list, of the tests that are enabled.
//!
//! An entry `"test_abs_cpu": {STATIC_SHAPE:{}}` enables a test, and one with `{}` does not. Every test that is not enabled counts as
//! failing.

use crate::cli::denylist::list::{DEVICES, ListFault, Listed, NameList, is_test_name};
use crate::cli::denylist::tokens::{Language, Token, code_tokens};

/// Reads a list.
pub(super) fn read(text: &str) -> Result<NameList, ListFault> {
    let tokens = code_tokens(text, Language::Python);
    let mut enabled = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = token.literal().filter(|name| is_test_name(name) && DEVICES.iter().any(|end| name.ends_with(end)));
        let Some(name) = name else { continue };
        if is_enabled(tokens.get(at + 1..).unwrap_or_default()) {
            enabled.push(Listed::named(token.line, name));
        }
    }
    if enabled.is_empty() {
        return Err(ListFault::of_file("enables no test, such as \"test_abs_cpu\": {STATIC_SHAPE:{}}"));
    }
    Ok(NameList { enabled, ..NameList::default() })
}

/// Returns true if the tokens after a name are those of an enabled test: a value that is not empty, or the next item of a list.
fn is_enabled(after: &[Token<'_>]) -> bool {
    let is_at = |at: usize, text: &str| after.get(at).is_some_and(|token| token.is(text));
    let is_item = is_at(0, ",") || is_at(0, "]");
    let is_value = is_at(0, ":") && is_at(1, "{") && !is_at(2, "}");
    is_item || is_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabled_tests_are_read() {
        let text = "    variables.test_to_enable_dict = {\n        # ==OP== Abs\n        \
                    \"test_abs_cpu\": {STATIC_SHAPE:{}, CONSTANT_INPUT:{-1}},\n        \
                    # \"test_add_uint8_cpu\" : {STATIC_SHAPE:{}},\n        \
                    \"test_cast_FLOAT_to_STRING_cpu\": {}, # appears unsupported\n        \
                    \"test_add_cpu\": {STATIC_SHAPE:{}},\n    }\n    name = \"x\" + \"_cpu\"\n";
        let list = read(text).unwrap();
        assert_eq!(list.enabled, [Listed::named(3, "test_abs"), Listed::named(6, "test_add")]);
        assert_eq!(list.failing, []);
        let list =
            read("test_to_enable = [\n    'test_abs_cpu',\n    'test_add_cpu'\n]\nrun('test_sub_cpu')\n").unwrap();
        assert_eq!(list.enabled, [Listed::named(2, "test_abs"), Listed::named(3, "test_add")]);
    }

    #[test]
    fn a_file_without_enabled_tests_is_refused() {
        for text in ["", "import onnx\n", "a = {\"test_abs\": {X:{}}}\n", "a = {\"test_abs_cpu\": {}}\n"] {
            assert!(read(text).unwrap_err().rule.starts_with("enables no test"), "{text}");
        }
    }
}
