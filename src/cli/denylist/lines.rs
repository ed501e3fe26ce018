//! Plain lists: one name of a test on a line. `#` begins a comment.

use crate::cli::denylist::list::{ListFault, Listed, NameList, is_test_name, plain_name};

/// Reads a list.
pub(super) fn read(text: &str) -> Result<NameList, ListFault> {
    let mut failing = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let name = line.split('#').next().unwrap_or_default().trim();
        if name.is_empty() {
            continue;
        }
        if !is_test_name(plain_name(name)) {
            return Err(ListFault::of_line(
                number,
                format!("expected the name of a test, such as test_abs, but found {name}"),
            ));
        }
        failing.push(Listed::named(number, name));
    }
    NameList::of_failing(failing, "has no names of tests, such as test_abs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name() {
        let list = read("# ours\ntest_abs_cpu  # by 1 ULP\n\n  onnx/node/generated/test_add\n").unwrap();
        assert_eq!(list.failing, [Listed::named(2, "test_abs"), Listed::named(4, "test_add")]);
    }

    #[test]
    fn a_line_that_is_no_name_is_refused() {
        assert_eq!(read("# none\n").unwrap_err().line, None);
        let fault = read("test_abs\ntest_.*\n").unwrap_err();
        assert_eq!(fault.line, Some(2));
        assert!(fault.rule.ends_with("but found test_.*"), "{fault}");
    }
}
