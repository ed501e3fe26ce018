//! The text of a file of cases, for errors that point into it.

use onnx_conformance_reference::spec::yaml::YamlError;

/// A file of cases: its path in messages, and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct YamlText<'a> {
    pub(crate) path: &'a str,
    /// The text, with the rules of the parts after the file's own.
    pub(crate) text: &'a str,
    /// The files in `cases` that the text continues with, in order.
    pub(crate) parts: &'a [Part],
}

/// A file in the folder `cases` beside an op.yaml: more of its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The path in messages.
    pub(crate) path: String,
    /// The contents.
    pub(crate) text: String,
    /// The number of lines before the rules of the part.
    pub(crate) lines_before: usize,
}

impl Part {
    /// The first line of a part, which the rules of op.yaml replace.
    pub(crate) const HEAD: &'static str = "constraints:\n";
}

impl<'a> YamlText<'a> {
    /// Creates the text of a file without parts.
    pub(crate) fn whole(path: &'a str, text: &'a str) -> YamlText<'a> {
        YamlText { path, text, parts: &[] }
    }

    /// Creates an error that points at a line and column, counted from 1.
    pub(crate) fn error(self, (line, column): (usize, usize), message: String, help: Option<String>) -> Box<YamlError> {
        let (path, text, line) = self.locate(line);
        Box::new(YamlError::new(path, text, (line, column), message, help))
    }

    /// Moves an error about the whole text into the file that has its line.
    pub(crate) fn relocate(self, error: Box<YamlError>) -> Box<YamlError> {
        let (path, text, line) = self.locate(error.line);
        if path == self.path { error } else { Box::new(error.moved(path, text, line)) }
    }

    /// Returns the file with a line of the text, its contents, and the line in it.
    pub(crate) fn locate(self, line: usize) -> (&'a str, &'a str, usize) {
        match self.parts.iter().rfind(|part| line > part.lines_before) {
            Some(part) => (&part.path, &part.text, line - part.lines_before + 1),
            None => (self.path, self.text, line),
        }
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
