//! Reading YAML so that a mistake is shown with file, line and caret.

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::nesting::{DEEPEST, too_deep};

/// A YAML file that is not what it should be, and where.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{path}:{line}: {message}")]
pub struct YamlError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    #[source_code]
    text: NamedSource<String>,
    #[label("here")]
    span: SourceSpan,
    #[help]
    help: Option<String>,
}

/// The longest text that is read.
const LONGEST: usize = 16 << 20;

/// Reads `text`, the contents of the file called `path`: at most 16 MiB in which `[` and `{` nest at most 64 deep.
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
    serde_yaml::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        let (message, help) = split_advice(&error.to_string(), line, column);
        Box::new(YamlError::new(path, text, (line, column), message, help))
    })
}

impl YamlError {
    /// An error at a line and column, both counted from 1, of `text`; the caret underlines what stands there.
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
}

/// Takes the place off the message, which the caret shows, and the advice after it, which goes below.
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

/// The word or value that starts at a line and column, within the text.
fn span_at(text: &str, line: usize, column: usize) -> SourceSpan {
    let start_of_line: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start_of_line..).unwrap_or_default().lines().next().unwrap_or_default();
    let skipped: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let length =
        rest.get(skipped..).unwrap_or_default().find([':', ',', '}', ']', '#']).unwrap_or(rest.len() - skipped);
    (start_of_line + skipped, length).into()
}
