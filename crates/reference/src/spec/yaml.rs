//! YAML reader whose errors show file, line and caret.

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::entry::entries;
use super::nesting::{DEEPEST, too_deep};

/// Error in a YAML file, with its position.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{path}:{line}: {message}")]
pub struct YamlError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The problem.
    pub message: String,
    #[source_code]
    text: NamedSource<String>,
    #[label("here")]
    span: SourceSpan,
    #[help]
    help: Option<String>,
}

/// Maximum length of a text in bytes.
const LONGEST: usize = 16 << 20;

/// Parses `text`, the contents of the file `path`: at most 16 MiB, with `[` and `{` nested at most 64 deep.
pub fn read<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, Box<YamlError>> {
    if text.len() > LONGEST {
        let rule = format!("the file has {} bytes; at most {LONGEST} are read", text.len());
        return Err(Box::new(YamlError::new(path, "", (1, 1), rule, None)));
    }
    if let Some(place) = too_deep(text) {
        let rule = format!("[ and {{ nest deeper than {DEEPEST}");
        let help = Some("write nested lists and mappings on lines of their own".to_owned());
        return Err(Box::new(YamlError::new(path, text, place, rule, help)));
    }
    parse(path, text, text)
}

/// Parses the top-level entries of `text` with these keys, without the rest, as a mapping that has these keys alone.
pub fn read_entries<T: DeserializeOwned + Default>(path: &str, text: &str, keys: &[&str]) -> Result<T, Box<YamlError>> {
    let part = entries(text, keys);
    match too_deep(&part) {
        _ if part.is_empty() => Ok(T::default()),
        None => parse(path, text, &part),
        Some(_) => read(path, text),
    }
}

/// Parses a part of `text` in which lines have the same numbers.
fn parse<T: DeserializeOwned>(path: &str, text: &str, part: &str) -> Result<T, Box<YamlError>> {
    serde_yaml::from_str(part).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        let (message, help) = split_advice(&error.to_string(), line, column);
        Box::new(YamlError::new(path, text, (line, column), message, help))
    })
}

impl YamlError {
    /// Error at a line and column of `text`, both counted from 1; the caret underlines the token there.
    pub fn new(
        path: &str,
        text: &str,
        (line, column): (usize, usize),
        message: String,
        help: Option<String>,
    ) -> YamlError {
        let named = NamedSource::new(path, text.to_owned()).with_language("yaml");
        YamlError { path: path.to_owned(), line, message, text: named, span: span_at(text, line, column), help }
    }

    /// Moves the error to a line of another text that has the same line.
    #[must_use]
    pub fn moved(self, path: &str, text: &str, line: usize) -> YamlError {
        let start: usize =
            self.text.inner().split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let skipped = self.text.inner().get(start..self.span.offset()).map_or(0, |before| before.chars().count());
        YamlError::new(path, text, (line, skipped + 1), self.message, self.help)
    }
}

/// Removes the position from the message, because the caret shows it, and splits off the advice, which is shown below.
fn split_advice(message: &str, line: usize, column: usize) -> (String, Option<String>) {
    let message =
        message.replace(&format!(" at line {line} column {column}"), "").replace(": unknown field", ": unknown key");
    let message = message.strip_prefix("unknown field").map_or(message.clone(), |rest| format!("unknown key{rest}"));
    match message.split_once("; ").or_else(|| message.split_once(", expected ")) {
        Some((what, keys)) if what.contains("unknown key") => {
            (what.to_owned(), Some(format!("the keys here are {}", keys.trim_start_matches("one of "))))
        }
        Some((what, advice)) => (what.to_owned(), Some(advice.to_owned())),
        None => (message, None),
    }
}

/// The span of the word or value at a line and column.
fn span_at(text: &str, line: usize, column: usize) -> SourceSpan {
    let start_of_line: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start_of_line..).unwrap_or_default().lines().next().unwrap_or_default();
    let skipped: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let length =
        rest.get(skipped..).unwrap_or_default().find([':', ',', '}', ']', '#']).unwrap_or(rest.len() - skipped);
    (start_of_line + skipped, length).into()
}
