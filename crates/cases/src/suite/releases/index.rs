//! `index.txt`: the files of a release, by name and content.
//!
//! A line `FILE DIGITS` is a file outside the tests. `TEST = RELEASE` is a test that is the same in that earlier
//! release, which stores it. A stored test is the line `TEST`, and below it a line ` FILE DIGITS` for each file. The
//! digits are the first 16 of the content's SHA-256.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Entry of a test in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The test is the one of this name in an earlier release.
    SameAs(String),
    /// Its files with the digits of their contents.
    Files(Vec<(String, String)>),
}

/// The index of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The files outside the tests, such as `LICENSE`, with the digits of their contents.
    pub files: BTreeMap<String, String>,
    /// The tests by name, such as `node/test_abs`.
    pub tests: BTreeMap<String, Test>,
}

impl Index {
    /// Formats the file.
    pub fn to_text(&self, heading: &str) -> String {
        let mut text = format!("# {heading}\n");
        // Writing to a string does not fail.
        for (name, digits) in &self.files {
            let _ = writeln!(text, "{name} {digits}");
        }
        for (name, test) in &self.tests {
            match test {
                Test::SameAs(release) => {
                    let _ = writeln!(text, "{name} = {release}");
                }
                Test::Files(files) => {
                    let _ = writeln!(text, "{name}");
                    for (file, digits) in files {
                        let _ = writeln!(text, " {file} {digits}");
                    }
                }
            }
        }
        text
    }

    /// Parses the file. An error is the number of a line.
    pub fn parse(text: &str) -> Result<Index, usize> {
        let mut index = Index::default();
        let mut last: Option<&str> = None;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let is_read = if let Some(file) = line.strip_prefix(' ') {
                last.and_then(|test| index.add_file(test, file))
            } else {
                last = Some(line);
                index.add_line(line)
            };
            is_read.ok_or(number + 1)?;
        }
        let empty = |(_, test): (&String, &Test)| matches!(test, Test::Files(files) if files.is_empty());
        if index.tests.iter().any(empty) { Err(text.lines().count()) } else { Ok(index) }
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let name = words.next().filter(|name| is_path(name))?;
        let is_new = match (words.next(), words.next(), words.next()) {
            (None, ..) => self.tests.insert(name.to_owned(), Test::Files(Vec::new())).is_none(),
            (Some("="), Some(release), None) => {
                self.tests.insert(name.to_owned(), Test::SameAs(release.to_owned())).is_none()
            }
            (Some(digits), None, None) => self.files.insert(name.to_owned(), digits.to_owned()).is_none(),
            _ => false,
        };
        is_new.then_some(())
    }

    fn add_file(&mut self, test: &str, line: &str) -> Option<()> {
        let Some(Test::Files(files)) = self.tests.get_mut(test) else { return None };
        let (name, digits) = line.split_once(' ').filter(|(name, digits)| is_path(name) && !digits.contains(' '))?;
        files.push((name.to_owned(), digits.to_owned()));
        Some(())
    }
}

/// Returns true if a text is a path that leads nowhere but below its base.
fn is_path(text: &str) -> bool {
    text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':']))
}

/// Returns the sort key of a release: the numbers of `1.10.2`.
pub fn release_key(release: &str) -> Vec<u32> {
    release.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        let files =
            vec![("model.onnx".to_owned(), "0a".to_owned()), ("test_data_set_0/x.pb".to_owned(), "0b".to_owned())];
        Index {
            files: [("LICENSE".to_owned(), "0c".to_owned())].into(),
            tests: [
                ("node/test_a".to_owned(), Test::SameAs("1.2.2".to_owned())),
                ("node/test_b".to_owned(), Test::Files(files)),
            ]
            .into(),
        }
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let text = index().to_text("Test.");
        let body = "LICENSE 0c\nnode/test_a = 1.2.2\nnode/test_b\n model.onnx 0a\n test_data_set_0/x.pb 0b\n";
        assert_eq!(text, format!("# Test.\n{body}"));
        assert_eq!(Index::parse(&text), Ok(index()));
    }

    #[test]
    fn an_invalid_line_is_reported_by_its_number() {
        for (text, number) in [
            (" model.onnx 0a\n", 1),
            ("a\n", 1),
            ("a = 1\n model.onnx 0a\n", 2),
            ("a = 1\na = 2\n", 2),
            ("a = 1 2\n", 1),
            ("a\n model.onnx\n", 2),
            ("a\n ../model.onnx 0a\n", 2),
            ("a\n /model.onnx 0a\n", 2),
            ("a/../b = 1\n", 1),
            ("<<<<<<< a b c\n", 1),
        ] {
            assert_eq!(Index::parse(text), Err(number), "{text}");
        }
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        let mut releases = ["1.10.0", "1.2.3", "1.9.0", "1.2.2"];
        releases.sort_by_key(|release| release_key(release));
        assert_eq!(releases, ["1.2.2", "1.2.3", "1.9.0", "1.10.0"]);
    }
}
