//! Command line of a test binary, with the options of Rust's own test harness.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use thiserror::Error;

/// Environment variable with the number of threads, for a command line without `--test-threads`.
const THREADS: &str = "RUST_TEST_THREADS";

/// Options of a test binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) action: Action,
    /// Selects only ignored tests. No test is marked as ignored before it runs, so this selects nothing.
    pub(super) ignored: bool,
    /// Runs benchmarks. There are none, and the tests are ignored.
    pub(super) bench: bool,
    /// Compares names with the filters as a whole.
    pub(super) exact: bool,
    pub(super) format: Format,
    pub(super) color: Color,
    pub(super) test_threads: Option<NonZeroUsize>,
    /// File that gets a line for each test.
    pub(super) logfile: Option<PathBuf>,
    /// Filters of tests to omit.
    pub(super) skip: Vec<String>,
    /// Filters. A test is selected if one of them matches. Without filters, all tests are selected.
    pub(super) filters: Vec<String>,
}

/// Request of a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Action {
    /// Run the tests.
    #[default]
    Run,
    /// List the tests.
    List,
    /// Print the options.
    Help,
}

/// Format of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// A line for each test.
    #[default]
    Pretty,
    /// A character for each test that does not fail.
    Terse,
    /// A JSON object for each event.
    Json,
}

/// Coloring of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Color {
    /// In a terminal only.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Error in the command line of a test binary.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum ArgumentError {
    #[error("unknown option {0}; --help lists the options")]
    Unknown(String),
    #[error("option {0} needs a value")]
    NoValue(String),
    #[error("option {0} has no value")]
    ExtraValue(String),
    #[error("{option}={value}: expected {expected}")]
    Value { option: &'static str, value: String, expected: &'static str },
    #[error("argument '{0}' is not valid Unicode")]
    NotUnicode(String),
}

/// Option of the command line.
struct Definition {
    name: &'static str,
    /// Another spelling, or nothing.
    other: &'static str,
    /// Placeholder of its value, or nothing.
    value: &'static str,
    help: &'static str,
}

const fn option(name: &'static str, other: &'static str, value: &'static str, help: &'static str) -> Definition {
    Definition { name, other, value, help }
}

/// The options. [`Arguments::set`] applies them.
const OPTIONS: &[Definition] = &[
    option("--list", "", "", "List the tests"),
    option("--exact", "", "", "Compare names with FILTER as a whole"),
    option("--skip", "", "FILTER", "Omit tests whose names contain FILTER; may be repeated"),
    option("--ignored", "", "", "Run only tests that are marked as ignored, of which there are none"),
    option("--include-ignored", "", "", "No effect: no test is marked as ignored"),
    option("--test", "", "", "No effect: there are only tests"),
    option("--bench", "", "", "Run benchmarks, of which there are none"),
    option("--test-threads", "", "N", "Number of threads; the variable RUST_TEST_THREADS is the default"),
    option("--format", "", "pretty|terse|json", "Format of the output"),
    option("--quiet", "-q", "", "Short for --format=terse"),
    option("--color", "", "auto|always|never", "Color the output; by default in a terminal"),
    option("--logfile", "", "PATH", "Also write a line for each test to this file"),
    option("--nocapture", "--no-capture", "", "No effect: output is never captured"),
    option("--show-output", "", "", "No effect: output is never captured"),
    option("-Z", "", "unstable-options", "No effect: no option needs it"),
    option("--help", "-h", "", "Print the options"),
];

impl Arguments {
    /// Reads the command line and the environment of this process.
    pub(super) fn from_process() -> Result<Arguments, ArgumentError> {
        Arguments::parse(std::env::args_os().skip(1), std::env::var_os(THREADS))
    }

    /// Reads a command line without the name of the program. `threads` is the value of the environment variable.
    pub(super) fn parse(
        line: impl IntoIterator<Item = OsString>,
        threads: Option<OsString>,
    ) -> Result<Arguments, ArgumentError> {
        let text = |word: OsString| {
            word.into_string().map_err(|word| ArgumentError::NotUnicode(word.to_string_lossy().into_owned()))
        };
        let mut arguments = Arguments::default();
        let mut words = line.into_iter().map(text);
        while let Some(word) = words.next().transpose()? {
            if word == "--" {
                arguments.filters.extend(words.by_ref().collect::<Result<Vec<_>, _>>()?);
            } else if word.len() > 1 && word.starts_with('-') {
                let (name, attached) = split(&word);
                let is_named = |option: &&Definition| [option.name, option.other].contains(&name);
                let found = OPTIONS.iter().find(is_named).ok_or_else(|| ArgumentError::Unknown(name.to_owned()))?;
                let value = match (found.value.is_empty(), attached) {
                    (true, None) => String::new(),
                    (true, Some(_)) => return Err(ArgumentError::ExtraValue(name.to_owned())),
                    (false, Some(value)) => value.to_owned(),
                    (false, None) => {
                        words.next().transpose()?.ok_or_else(|| ArgumentError::NoValue(name.to_owned()))?
                    }
                };
                arguments.set(found.name, value)?;
            } else {
                arguments.filters.push(word);
            }
        }
        if let (None, Some(threads)) = (arguments.test_threads, threads) {
            arguments.test_threads = Some(number(THREADS, text(threads)?)?);
        }
        Ok(arguments)
    }

    fn set(&mut self, name: &'static str, value: String) -> Result<(), ArgumentError> {
        match (name, value.as_str()) {
            ("--list", _) => self.action = Action::List,
            ("--help", _) => self.action = Action::Help,
            ("--ignored", _) => self.ignored = true,
            ("--bench", _) => self.bench = true,
            ("--exact", _) => self.exact = true,
            ("--quiet", _) | ("--format", "terse") => self.format = Format::Terse,
            ("--format", "pretty") => self.format = Format::Pretty,
            ("--format", "json") => self.format = Format::Json,
            ("--color", "auto") => self.color = Color::Auto,
            ("--color", "always") => self.color = Color::Always,
            ("--color", "never") => self.color = Color::Never,
            ("--test-threads", _) => self.test_threads = Some(number(name, value)?),
            ("--logfile", _) => self.logfile = Some(PathBuf::from(value)),
            ("--skip", _) => self.skip.push(value),
            ("--include-ignored" | "--test" | "--nocapture" | "--show-output", _) | ("-Z", "unstable-options") => {}
            _ => {
                let expected = OPTIONS.iter().find(|option| option.name == name).map_or("", |option| option.value);
                return Err(ArgumentError::Value { option: name, value, expected });
            }
        }
        Ok(())
    }

    /// Returns true if the filters select a test.
    pub(super) fn selects(&self, name: &str) -> bool {
        (self.filters.is_empty() || self.filters.iter().any(|text| self.is_met(text, name))) && !self.omits(name)
    }

    /// Returns true if a test is omitted regardless of the filters.
    pub(super) fn omits(&self, name: &str) -> bool {
        self.ignored || self.skip.iter().any(|text| self.is_met(text, name))
    }

    fn is_met(&self, text: &str, name: &str) -> bool {
        if self.exact { name == text } else { name.contains(text) }
    }

    /// Returns true if a filter can only refer to cases: it has a character, such as a slash, that is in no name of a Rust function.
    /// `cargo test` passes all other filters to every test binary of a crate, so most of them select nothing in this one.
    pub(super) fn means_cases(&self) -> bool {
        !self.ignored && self.filters.iter().any(|text| is_about_cases(text))
    }

    /// Returns true if every test is selected and runs.
    pub(super) fn is_whole(&self) -> bool {
        self.filters.is_empty() && self.skip.is_empty() && !self.ignored && !self.bench
    }
}

/// Returns true if a filter has a character that is in no path of a Rust function.
pub(super) fn is_about_cases(filter: &str) -> bool {
    filter.chars().any(|c| !c.is_alphanumeric() && c != '_' && c != ':')
}

/// Splits an option from a value in the same word.
fn split(word: &str) -> (&str, Option<&str>) {
    match (word.strip_prefix("-Z"), word.split_once('=')) {
        (Some(""), _) | (None, None) => (word, None),
        (Some(value), _) => ("-Z", Some(value)),
        (None, Some((name, value))) => (name, Some(value)),
    }
}

/// Reads a number of threads.
fn number(option: &'static str, value: String) -> Result<NonZeroUsize, ArgumentError> {
    let expected = "a whole number of at least 1";
    value.parse().map_err(|_| ArgumentError::Value { option, value, expected })
}

/// Returns the text of `--help`.
pub(super) fn help() -> String {
    let mut text =
        "Usage: [OPTIONS] [FILTER]...\n\nRuns the tests whose names contain a FILTER, by default all. A FILTER may also be the id of a \
         case, a part\nof ids with a slash, or a glob over ids: 'ai.onnx/Abs-*/**/T=float'.\n\n"
            .to_owned();
    for option in OPTIONS {
        let mut name = option.name.to_owned();
        if !option.other.is_empty() {
            let _ = write!(name, ", {}", option.other);
        }
        if !option.value.is_empty() {
            let _ = write!(name, " {}", option.value);
        }
        let _ = writeln!(text, "    {name:28} {}", option.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Arguments, ArgumentError> {
        Arguments::parse(line.iter().map(OsString::from), None)
    }

    fn error(line: &[&str]) -> String {
        parse(line).unwrap_err().to_string()
    }

    #[test]
    fn every_option_is_read() {
        for option in OPTIONS {
            let values: Vec<&str> = if option.value.is_empty() { vec![""] } else { option.value.split('|').collect() };
            for value in values {
                let value = if value == "N" { "3" } else { value };
                let line = [option.name, value];
                let line = if value.is_empty() { &line[..1] } else { &line[..] };
                let parsed = parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
                assert!(parsed.filters.is_empty(), "{line:?}");
                if !option.other.is_empty() {
                    assert_eq!(parse(&[option.other]).unwrap(), parsed, "{line:?}");
                }
            }
            assert!(help().contains(option.help), "{}", option.name);
        }
    }

    #[test]
    fn a_value_may_be_in_the_same_word() {
        let line = ["--test-threads=2", "--format=json", "-Zunstable-options", "--skip=a=b", "c", "--", "--list"];
        let expected = Arguments {
            test_threads: NonZeroUsize::new(2),
            format: Format::Json,
            skip: vec!["a=b".to_owned()],
            filters: vec!["c".to_owned(), "--list".to_owned()],
            ..Arguments::default()
        };
        assert_eq!(parse(&line).unwrap(), expected);
    }

    #[test]
    fn errors_name_the_option() {
        assert_eq!(error(&["--frobnicate=3"]), "unknown option --frobnicate; --help lists the options");
        assert_eq!(error(&["-x"]), "unknown option -x; --help lists the options");
        assert_eq!(error(&["--skip"]), "option --skip needs a value");
        assert_eq!(error(&["--list=all"]), "option --list has no value");
        assert_eq!(error(&["--format", "junit"]), "--format=junit: expected pretty|terse|json");
        assert_eq!(error(&["--color="]), "--color=: expected auto|always|never");
        assert_eq!(error(&["--test-threads", "0"]), "--test-threads=0: expected a whole number of at least 1");
        let variable = Arguments::parse([], Some("many".into())).unwrap_err().to_string();
        assert_eq!(variable, "RUST_TEST_THREADS=many: expected a whole number of at least 1");
    }

    #[test]
    fn the_command_line_precedes_the_environment() {
        let threads = |line: &[&str]| {
            Arguments::parse(line.iter().map(OsString::from), Some("3".into()))
                .unwrap()
                .test_threads
                .map(NonZeroUsize::get)
        };
        assert_eq!((threads(&[]), threads(&["--test-threads", "2"])), (Some(3), Some(2)));
    }

    #[test]
    fn a_filter_that_no_function_can_have_means_cases() {
        for (line, expected) in [
            (&["ai.onnx/Abs-13"][..], true),
            (&["Abs-*"][..], true),
            (&["Abs-13"][..], true),
            (&["overflow", "tests::a_b"][..], false),
            (&["--skip", "Abs-13"][..], false),
            (&["Abs-13", "--ignored"][..], false),
        ] {
            assert_eq!(parse(line).unwrap().means_cases(), expected, "{line:?}");
        }
    }

    #[test]
    fn a_test_is_selected_by_any_filter_and_omitted_by_any_skip() {
        let check = |line: &[&str], expected: &[&str]| {
            let arguments = parse(line).unwrap();
            let names = ["Abs-13", "Abs-6", "Add-13", "Add-1"];
            let found: Vec<&str> = names.into_iter().filter(|name| arguments.selects(name)).collect();
            assert_eq!(found, expected, "{line:?}");
        };
        check(&[], &["Abs-13", "Abs-6", "Add-13", "Add-1"]);
        check(&["Abs", "Add-13"], &["Abs-13", "Abs-6", "Add-13"]);
        check(&["--exact", "Add-1", "Abs-6"], &["Abs-6", "Add-1"]);
        check(&["--skip", "Abs", "--skip", "13"], &["Add-1"]);
        check(&["--exact", "--skip", "Add-1"], &["Abs-13", "Abs-6", "Add-13"]);
        check(&["--ignored"], &[]);
        check(&["--include-ignored"], &["Abs-13", "Abs-6", "Add-13", "Add-1"]);
    }
}
