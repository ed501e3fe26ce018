//! Names of the runtimes of a test binary, which are prefixes of the names of their tests: `f16::ai.onnx/Abs-13`.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::libtest::arguments::Arguments;

/// Text between the name of a runtime and that of its test.
const SEPARATOR: &str = "::";

/// Error in the names of the runtimes of a test binary.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum NameError {
    #[error("'{0}' cannot be the name of a runtime in a test binary: use letters, digits, '.', '_' and '-'")]
    Invalid(String),
    #[error("two runtimes of the test binary are called '{0}'; `Harness::named` gives each a name of its own")]
    Duplicate(String),
    #[error("two runtimes of the test binary have no name; `Harness::named` gives one")]
    Unnamed,
}

/// Fails if two runtimes have the same name, or a name cannot begin the names of tests.
pub(super) fn check_names<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Result<(), NameError> {
    let mut known = BTreeSet::new();
    for name in names {
        let is_valid = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        if let Some(name) = name.filter(|name| !is_valid(name)) {
            return Err(NameError::Invalid(name.to_owned()));
        }
        if !known.insert(name) {
            return Err(name.map_or(NameError::Unnamed, |name| NameError::Duplicate(name.to_owned())));
        }
    }
    Ok(())
}

/// Returns the name of a runtime's test.
pub(super) fn test_name(runtime: Option<&str>, test: &str) -> String {
    runtime.map_or_else(|| test.to_owned(), |name| format!("{name}{SEPARATOR}{test}"))
}

/// Returns the options for the tests of one runtime, whose filters have no name of a runtime; `None` if the command line selects none
/// of them.
///
/// A filter that begins with the name of a runtime is about that runtime. Other filters apply to all runtimes, unless
/// the names of tests are compared as a whole.
pub(super) fn arguments_of(arguments: &Arguments, runtime: Option<&str>, names: &[&str]) -> Option<Arguments> {
    let is_exact = arguments.exact;
    // An empty text selects all tests of the runtime.
    let own = |text: &String| -> Option<String> {
        let mut with_name =
            names.iter().filter_map(|name| Some((*name, text.strip_prefix(*name)?.strip_prefix(SEPARATOR)?)));
        if let Some((name, rest)) = with_name.next() {
            return (runtime == Some(name)).then(|| rest.to_owned());
        }
        let is_in_name = |name: &str| format!("{name}{SEPARATOR}").contains(text.as_str());
        match runtime {
            Some(_) if is_exact => None,
            Some(name) if is_in_name(name) => Some(String::new()),
            Some(_) | None => Some(text.clone()),
        }
    };
    let mut filters: Vec<String> = arguments.filters.iter().filter_map(own).collect();
    let skip: Vec<String> = arguments.skip.iter().filter_map(own).collect();
    if filters.is_empty() && !arguments.filters.is_empty() || !is_exact && skip.iter().any(String::is_empty) {
        return None;
    }
    if !is_exact && filters.iter().any(String::is_empty) {
        filters.clear();
    }
    Some(Arguments { skip, filters, ..arguments.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["f16", "gpu"];

    /// Compares the filters and skips of the runtime without name, of `f16` and of `gpu`.
    fn check(line: &[&str], expected: [Option<(&[&str], &[&str])>; 3]) {
        let arguments = Arguments::parse(line.iter().map(std::ffi::OsString::from), None).unwrap();
        for (runtime, expected) in [None, Some("f16"), Some("gpu")].into_iter().zip(expected) {
            let found = arguments_of(&arguments, runtime, &NAMES).map(|found| (found.filters, found.skip));
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let expected = expected.map(|(filters, skip)| (owned(filters), owned(skip)));
            assert_eq!(found, expected, "{line:?} for {runtime:?}");
        }
    }

    #[test]
    fn a_filter_without_a_name_is_about_all_runtimes() {
        check(&[], [Some((&[], &[])); 3]);
        check(&["Abs-13", "--skip", "Abs-1"], [Some((&["Abs-13"], &["Abs-1"])); 3]);
        let id = "ai.onnx/Abs-13/known_values/T=float";
        check(&["--exact", id], [Some((&[id], &[])), None, None]);
    }

    #[test]
    fn a_filter_with_a_name_is_about_its_runtime() {
        check(&["f16::"], [None, Some((&[], &[])), None]);
        check(&["f16::Abs", "gpu::ai.onnx/*/**"], [None, Some((&["Abs"], &[])), Some((&["ai.onnx/*/**"], &[]))]);
        check(&["f16::Abs", "f16::"], [None, Some((&[], &[])), None]);
        check(&["--exact", "gpu::smoke"], [None, None, Some((&["smoke"], &[]))]);
        check(&["f16"], [Some((&["f16"], &[])), Some((&[], &[])), Some((&["f16"], &[]))]);
    }

    #[test]
    fn a_runtime_can_be_skipped() {
        check(&["--skip", "gpu::"], [Some((&[], &[])), Some((&[], &[])), None]);
        check(&["--skip", "gpu::Abs"], [Some((&[], &[])), Some((&[], &[])), Some((&[], &["Abs"]))]);
    }

    #[test]
    fn names_are_distinct_and_plain() {
        assert_eq!(check_names([None, Some("f16"), Some("x86-64.v3")]), Ok(()));
        assert_eq!(check_names([None, None]), Err(NameError::Unnamed));
        assert_eq!(check_names([Some("a"), Some("a")]), Err(NameError::Duplicate("a".to_owned())));
        for name in ["", "a::b", "a/b", "a b"] {
            assert_eq!(check_names([Some(name)]), Err(NameError::Invalid(name.to_owned())));
        }
    }
}
