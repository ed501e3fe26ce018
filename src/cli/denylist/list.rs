//! Contents of a list of upstream's tests, whatever its format.

/// Suffixes that upstream's runner appends to the name of a test, one for each device.
pub(super) const DEVICES: [&str; 2] = ["_cpu", "_cuda"];

/// The tests of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameList {
    /// Tests that fail, or that are not run.
    pub(super) failing: Vec<Listed>,
    /// Tests that are run, in a list that says so; every other test counts as failing. Empty in other lists.
    pub(super) enabled: Vec<Listed>,
}

impl NameList {
    /// Creates a list of tests that fail. Without any, the file is refused for the reason `empty`.
    pub(super) fn of_failing(failing: Vec<Listed>, empty: impl Into<String>) -> Result<NameList, ListFault> {
        if failing.is_empty() { Err(ListFault::of_file(empty)) } else { Ok(NameList { failing, enabled: Vec::new() }) }
    }
}

/// Entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Line of the entry, from 1.
    pub(super) line: usize,
    /// The selected tests.
    pub(super) tests: Tests,
}

/// Tests that an entry selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tests {
    /// The test with this name, without a device.
    Named(String),
    /// Tests with a match of this regular expression anywhere in their names.
    Matching(String),
}

impl Listed {
    /// Creates an entry for one test, whose name may have folders before it and a device after it.
    pub(super) fn named(line: usize, name: &str) -> Listed {
        Listed { line, tests: Tests::Named(plain_name(name).to_owned()) }
    }

    /// Creates an entry with a regular expression.
    pub(super) fn matching(line: usize, pattern: &str) -> Listed {
        Listed { line, tests: Tests::Matching(pattern.to_owned()) }
    }

    /// Returns the name or the regular expression.
    pub(super) fn text(&self) -> &str {
        match &self.tests {
            Tests::Named(text) | Tests::Matching(text) => text,
        }
    }
}

/// Fault of a list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub(super) struct ListFault {
    /// Line of the fault, from 1; `None` for the whole file.
    pub(super) line: Option<usize>,
    /// The problem and its remedy.
    pub(super) rule: String,
}

impl ListFault {
    /// Creates a fault of the whole file.
    pub(super) fn of_file(rule: impl Into<String>) -> ListFault {
        ListFault { line: None, rule: rule.into() }
    }

    /// Creates a fault of a line.
    pub(super) fn of_line(line: usize, rule: impl Into<String>) -> ListFault {
        ListFault { line: Some(line), rule: rule.into() }
    }

    /// Formats the fault with its file: `a.txt:3: ...`.
    pub(super) fn in_file(&self, place: &str) -> String {
        match self.line {
            Some(line) => format!("{place}:{line}: {}", self.rule),
            None => format!("{place}: {}", self.rule),
        }
    }
}

/// Returns the name of a test without folders and device: `test_abs` for `onnx/node/generated/test_abs` and `test_abs_cpu`.
pub(super) fn plain_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    DEVICES.iter().find_map(|device| name.strip_suffix(device)).unwrap_or(name)
}

/// Returns true if a text can be the name of a test of upstream.
pub(super) fn is_test_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.strip_prefix("test_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_folder_and_no_device() {
        for name in ["test_abs", "test_abs_cpu", "test_abs_cuda", "onnx/node/generated/test_abs"] {
            assert_eq!(plain_name(name), "test_abs", "{name}");
        }
        assert!(is_test_name("test_cast_FLOAT_to_STRING") && !is_test_name("test_") && !is_test_name("test_a.*"));
    }

    #[test]
    fn a_fault_names_its_place() {
        assert_eq!(ListFault::of_line(3, "is bad").in_file("a.txt"), "a.txt:3: is bad");
        assert_eq!(ListFault::of_file("is bad").in_file("a.txt"), "a.txt: is bad");
    }
}
