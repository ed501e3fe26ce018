//! Moves entries about tests from one release to the next, where the files of the tests are the same.

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::Filter;

use super::tests_of::TestChanges;

/// A text after the move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) text: String,
    /// Number of moved patterns.
    pub(crate) count: usize,
    /// Patterns that stay, each with its line, from 1, and the reason.
    pub(crate) left: Vec<(usize, String)>,
}

impl Moved {
    /// Removes the lines of entries that stay. The outcome on the changed test is unknown.
    fn without_left(mut self) -> Moved {
        let is_entry = |line: &str| line.trim_start().starts_with("- {") && line.ends_with('}');
        let is_left = |number: usize| self.left.iter().any(|(left, _)| *left == number);
        let lines = self.text.lines().enumerate().filter(|(at, line)| !(is_left(at + 1) && is_entry(line)));
        self.text = lines.flat_map(|(_, line)| [line, "\n"]).collect();
        self
    }
}

/// Moves the patterns over tests of the old release in a file: ids, and globs that match only tests with the same files.
pub(crate) fn entries(text: &str, tests: &TestChanges) -> Result<Moved> {
    let prefix = format!("onnx-{}/", tests.old);
    let mut moved = Moved::default();
    for (at, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(&prefix) {
            let length = end_of_pattern(before, after);
            let pattern = &after[..length];
            moved.text.push_str(before);
            match reason_to_stay(pattern, tests)? {
                None => {
                    moved.text.extend(["onnx-", &tests.new, "/"]);
                    moved.count += 1;
                }
                Some(reason) => {
                    moved.text.push_str(&prefix);
                    moved.left.push((at + 1, format!("{prefix}{pattern}: {reason}")));
                }
            }
            moved.text.push_str(pattern);
            rest = &after[length..];
        }
        moved.text.push_str(rest);
        moved.text.push('\n');
    }
    Ok(moved)
}

/// Moves the entries of a measurement. Those about changed tests are removed.
pub(crate) fn measurement(text: &str, tests: &TestChanges) -> Result<Moved> {
    Ok(entries(text, tests)?.without_left())
}

/// Returns the length of a pattern after its first part: up to the quote that opened it, or to the end of a plain YAML scalar.
pub(super) fn end_of_pattern(before: &str, after: &str) -> usize {
    let quote = before.trim_end_matches('!').chars().next_back().filter(|c| ['\'', '"'].contains(c));
    let ends = |c: char| quote.map_or_else(|| c.is_whitespace() || ",]}".contains(c), |quote| c == quote);
    after.find(ends).unwrap_or(after.len())
}

/// Returns why a pattern over tests of the old release does not hold for the new one.
fn reason_to_stay(pattern: &str, tests: &TestChanges) -> Result<Option<String>> {
    let filter = Filter::new(&[pattern]).with_context(|| pattern.to_owned())?;
    let found = |of: &std::collections::BTreeSet<String>| -> Vec<String> {
        of.iter().filter(|test| filter.matches(test)).cloned().collect()
    };
    let (changed, removed) = (found(&tests.changed), found(&tests.removed));
    Ok(if !changed.is_empty() {
        Some(format!("other files in {}: {}", tests.new, changed.join(", ")))
    } else if !removed.is_empty() {
        Some(format!("not in {}: {}", tests.new, removed.join(", ")))
    } else if tests.equal.iter().any(|test| filter.matches(test)) {
        None
    } else {
        Some("matches no test".to_owned())
    })
}

/// Returns the digests of a measurement with the line of the new release instead of the old one's, followed by the
/// tests that were not measured. `None` if the tests have changed since the measurement.
pub(crate) fn digests(text: &str, tests: &TestChanges, old: &str, new: &str) -> Option<String> {
    let unmeasured: Vec<&str> = tests.unmeasured().map(String::as_str).collect();
    let line = format!("onnx-{} {old}", tests.old);
    text.lines().find(|found| *found == line)?;
    let moved = [&[format!("onnx-{}", tests.new).as_str(), new], &unmeasured[..]].concat().join(" ");
    let lines = text.lines().map(|found| if found == line { moved.as_str() } else { found });
    Some(lines.flat_map(|line| [line, "\n"]).collect())
}

/// Extends the defects that end with the old release to the new one, where a test has the same files.
pub(crate) fn defects(text: &str, tests: &TestChanges) -> Moved {
    let (mut moved, mut test) = (Moved::default(), "");
    let last = format!("  to: {}", tests.old);
    for (at, line) in text.lines().enumerate() {
        test = line.strip_prefix("- test: ").unwrap_or(test);
        if line != last {
            moved.text.push_str(line);
        } else if tests.equal.contains(test) {
            moved.text.extend(["  to: ", &tests.new]);
            moved.count += 1;
        } else {
            moved.text.push_str(line);
            let state = if tests.changed.contains(test) { "has other files in" } else { "is not in" };
            moved.left.push((at + 1, format!("{test} {state} {}", tests.new)));
        }
        moved.text.push('\n');
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> TestChanges {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        TestChanges {
            old: "9.0.0".to_owned(),
            new: "9.1.0".to_owned(),
            equal: names(&["node/test_a", "node/test_b"]),
            changed: names(&["node/test_c"]),
            added: names(&["node/test_e"]),
            removed: names(&["node/test_d"]),
        }
    }

    #[test]
    fn entries_move_where_the_files_are_the_same() {
        let text = "# Head.\nexpect:\n\
                    \x20 - {cases: onnx-9.0.0/node/test_a, outcome: error}\n\
                    \x20 - {cases: \"onnx-9.0.0/node/test_{a,b}\", outcome: error}\n\
                    \x20 - {cases: onnx-9.0.0/node/test_c, outcome: error}\n\
                    \x20 - {cases: [onnx-9.0.0/node/test_d, 'onnx-9.0.0/node/test_*', '!onnx-9.0.0/node/test_b']}\n\
                    \x20 - {cases: onnx-8.9.0/node/test_a, outcome: error}\n";
        let moved = entries(text, &changes()).unwrap();
        let expected = text
            .replace("cases: onnx-9.0.0/node/test_a,", "cases: onnx-9.1.0/node/test_a,")
            .replace("onnx-9.0.0/node/test_{a,b}", "onnx-9.1.0/node/test_{a,b}")
            .replace("!onnx-9.0.0/node/test_b", "!onnx-9.1.0/node/test_b");
        assert_eq!((moved.text.as_str(), moved.count), (expected.as_str(), 3));
        assert_eq!(
            moved.left,
            [
                (5, "onnx-9.0.0/node/test_c: other files in 9.1.0: node/test_c".to_owned()),
                (6, "onnx-9.0.0/node/test_d: not in 9.1.0: node/test_d".to_owned()),
                (6, "onnx-9.0.0/node/test_*: other files in 9.1.0: node/test_c".to_owned()),
            ]
        );
    }

    #[test]
    fn a_measurement_loses_the_entries_of_changed_tests() {
        let text = "expect:\n  - {cases: onnx-9.0.0/node/test_c, outcome: error}\n  - {cases: onnx-9.0.0/node/test_b, outcome: error}\n";
        let moved = measurement(text, &changes()).unwrap();
        assert_eq!(moved.text, "expect:\n  - {cases: onnx-9.1.0/node/test_b, outcome: error}\n");
        assert_eq!((moved.count, moved.left.len()), (1, 1));
    }

    #[test]
    fn digests_name_the_tests_that_were_not_measured() {
        let text = "# Head.\nir 00\nonnx-9.0.0 ab\n";
        let moved = digests(text, &changes(), "ab", "cd").unwrap();
        assert_eq!(moved, "# Head.\nir 00\nonnx-9.1.0 cd node/test_c node/test_e\n");
        assert_eq!(digests(text, &changes(), "ac", "cd"), None);
    }

    #[test]
    fn defects_last_as_long_as_the_files_are_the_same() {
        let defect = |test: &str, to: &str| format!("- test: {test}\n  from: 8.9.0\n  to: {to}\n  because: x\n");
        let text = ["node/test_a", "node/test_c", "node/test_d"].map(|test| defect(test, "9.0.0")).concat();
        let moved = defects(&(text.clone() + &defect("node/test_b", "8.9.0")), &changes());
        let expected = text.replacen("to: 9.0.0", "to: 9.1.0", 1) + &defect("node/test_b", "8.9.0");
        assert_eq!((moved.text.as_str(), moved.count), (expected.as_str(), 1));
        assert_eq!(
            moved.left,
            [(7, "node/test_c has other files in 9.1.0".to_owned()), (11, "node/test_d is not in 9.1.0".to_owned())]
        );
    }
}
