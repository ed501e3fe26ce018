//! `records/unchanged.txt`: the cases that differ between two states of an operator version. All other cases stay measured when
//! cases are added or changed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use onnx_conformance_reference::spec::OperatorVersion;

use onnx_conformance_cases::suite::Filter;

static TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/records/unchanged.txt"));

/// A line of the file: `ai.onnx/NonZero-13 ab12 cd34 one_value/** scalar/T=float`. It lists the cases of a version that are new
/// or changed in the second of two states, given by the digests in `records/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnchangedLine {
    /// The operator version.
    pub version: OperatorVersion,
    /// The digest of its cases before.
    pub before: String,
    /// The digest of its cases after.
    pub after: String,
    /// New or changed cases, as patterns over the part of ids after the version.
    pub changed: Vec<String>,
}

impl UnchangedLine {
    /// Parses a line; `None` for any other format, such as a comment.
    pub fn parse(line: &str) -> Option<UnchangedLine> {
        let mut words = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
        let version = words.next()?.parse().ok()?;
        Some(UnchangedLine { version, before: words.next()?, after: words.next()?, changed: words.collect() })
    }

    /// Returns the lines of the embedded file.
    pub fn embedded() -> impl Iterator<Item = UnchangedLine> {
        TEXT.lines().filter_map(UnchangedLine::parse)
    }

    /// Returns the patterns over whole ids.
    fn patterns(&self) -> impl Iterator<Item = String> {
        let version = self.version.qualified();
        self.changed.iter().map(move |pattern| format!("{version}/{pattern}"))
    }

    /// Formats the line.
    pub fn to_text(&self) -> String {
        let UnchangedLine { version, before, after, changed } = self;
        [version.qualified(), before.clone(), after.clone()]
            .into_iter()
            .chain(changed.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Returns a filter of the cases that are new or changed between two digests; `None` if unknown.
pub(super) fn unchanged_since(version: &OperatorVersion, before: &str, after: &str) -> Option<&'static Filter> {
    type States = BTreeMap<(OperatorVersion, String, String), Filter>;
    static LINES: OnceLock<States> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let read = |line: UnchangedLine| {
            // A filter without patterns would select everything.
            let nothing = (line.changed.is_empty()).then(|| "!**".to_owned());
            let filter = Filter::new(&line.patterns().chain(nothing).collect::<Vec<_>>()).ok()?;
            Some(((line.version, line.before, line.after), filter))
        };
        UnchangedLine::embedded().filter_map(read).collect()
    });
    lines.get(&(version.clone(), before.to_owned(), after.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::{recorded_cases, recorded_digests};

    #[test]
    fn lines_read_back_and_choose_cases_that_there_are() {
        let now: BTreeMap<OperatorVersion, &str> = recorded_digests().collect();
        for line in UnchangedLine::embedded() {
            assert_eq!(UnchangedLine::parse(&line.to_text()).as_ref(), Some(&line));
            let text = line.to_text();
            assert_eq!(now.get(&line.version), Some(&line.after.as_str()), "of other cases; take it out: {text}");
            let filters = line.patterns().map(|pattern| (Filter::new(&[&pattern]).unwrap(), pattern));
            for (filter, pattern) in filters {
                let cases = recorded_cases(&line.version);
                assert!(cases.iter().any(|case| filter.matches(&case.id)), "{pattern} chooses no case: {text}");
            }
        }
        let read = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(UnchangedLine::embedded().count(), read);
        assert_eq!(UnchangedLine::parse("# a b c"), None);
    }

    #[test]
    fn a_state_that_no_line_is_about_says_nothing() {
        for line in UnchangedLine::embedded() {
            let filter = unchanged_since(&line.version, &line.before, &line.after).unwrap();
            assert_eq!(
                line.changed.is_empty(),
                recorded_cases(&line.version).iter().all(|case| !filter.matches(&case.id))
            );
            assert!(unchanged_since(&line.version, &line.after, &line.before).is_none());
        }
    }
}
