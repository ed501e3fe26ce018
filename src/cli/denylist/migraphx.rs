//! Lists of `MIGraphX`, `test/py/onnx_backend_test.py`: calls of `include` and `exclude`, each with a regular expression.
//!
//! Every call counts, whatever its condition. If tests are included, all others count as failing.

use crate::cli::denylist::list::{ListFault, Listed, NameList};
use crate::cli::denylist::tokens::{Language, Token, code_tokens};

/// Reads a list.
pub(super) fn read(text: &str) -> Result<NameList, ListFault> {
    let tokens = code_tokens(text, Language::Python);
    let mut list = NameList::default();
    for at in 0..tokens.len() {
        let Some([dot, method, open, arguments @ ..]) = tokens.get(at..) else { break };
        let is_call = dot.is(".") && open.is("(");
        let listed = || pattern(arguments).map(|pattern| Listed::matching(method.line, &pattern));
        if is_call && method.is("exclude") {
            let rule = "the argument of exclude() is not a string; write the regular expression itself";
            list.failing.push(listed().ok_or_else(|| ListFault::of_line(method.line, rule))?);
        } else if is_call && method.is("include") {
            // A test that the command line of the script names is not part of the list.
            list.enabled.extend(listed());
        }
    }
    if list.failing.is_empty() {
        return Err(ListFault::of_file("has no call such as backend_test.exclude(r'test_abs_cpu')"));
    }
    Ok(list)
}

/// Returns the text of the only argument of a call, if that is a string: one literal, or several in a row.
fn pattern(arguments: &[Token<'_>]) -> Option<String> {
    let mut pattern = String::new();
    for token in arguments {
        match token.literal() {
            Some(text) => pattern.push_str(text),
            None if token.is("r") => {}
            None => return Some(pattern).filter(|pattern| !pattern.is_empty() && token.is(")")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluded_and_included_tests_are_read() {
        let text = "def disabled_tests_onnx_1_7_0(backend_test):\n    backend_test.exclude(r'test_abs_cpu')\n    \
                    backend_test.exclude(\n        r'test_averagepool_2d_'\n        r'ceil_cpu')\n    \
                    # backend_test.exclude(r'test_add_cpu')\n    if testname:\n        \
                    backend_test.include(testname + '.*')\n    else:\n        backend_test.include(r'.*test_a.*')\n";
        let list = read(text).unwrap();
        let excluded = [Listed::matching(2, "test_abs_cpu"), Listed::matching(3, "test_averagepool_2d_ceil_cpu")];
        assert_eq!(list.failing, excluded);
        assert_eq!(list.enabled, [Listed::matching(10, ".*test_a.*")]);
    }

    #[test]
    fn another_file_is_refused() {
        for (text, line, rule) in [
            ("", None, "has no call"),
            ("def exclude(name):\n    pass\n", None, "has no call"),
            ("backend_test.include(r'test_abs')\n", None, "has no call"),
            ("backend_test.exclude('a')\nbackend_test.exclude(name)\n", Some(2), "is not a string"),
            ("backend_test.exclude()\n", Some(1), "is not a string"),
            ("backend_test.exclude(r)\n", Some(1), "is not a string"),
            ("backend_test.exclude('a'", Some(1), "is not a string"),
        ] {
            let fault = read(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}");
            assert!(fault.rule.contains(rule), "{text}: {fault}");
        }
    }
}
