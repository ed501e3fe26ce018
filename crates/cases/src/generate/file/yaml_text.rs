//! The text of a file of cases, for errors that point into it.

use onnx_conformance_reference::spec::yaml::YamlError;

/// A file of cases: its path in messages, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct YamlText<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> YamlText<'a> {
    /// Creates an error that points at a line and column, counted from 1.
    pub(crate) fn error(self, place: (usize, usize), message: String, help: Option<String>) -> Box<YamlError> {
        Box::new(YamlError::new(self.path, self.text, place, message, help))
    }

    /// Creates an error that points at the case or refusal of this name.
    pub(crate) fn error_at_case(self, name: &str, message: String, help: Option<String>) -> Box<YamlError> {
        self.error(self.places(name).next().unwrap_or((1, 1)), message, help)
    }

    /// Finds each `name: NAME` in the text, and returns the line and column of NAME, counted from 1.
    pub(crate) fn places(self, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.text.lines().enumerate().filter_map(move |(line, content)| {
            let column = content.find("name: ")? + "name: ".len();
            let rest = content.get(column..)?;
            let written = rest.split([',', '}', '#']).next().unwrap_or(rest).trim().trim_matches(['"', '\'']);
            (written == name).then_some((line + 1, column + 1))
        })
    }
}
