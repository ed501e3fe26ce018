//! Frozen lists: the cases of a version of the suite, with levels and digests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use lzma_rust2::LzmaReader;
use onnx_conformance_cases::case::FrozenCase;
use onnx_conformance_cases::suite::{Filter, SUITE_VERSION, Suite, SuiteError};
use onnx_conformance_reference::parallel::map_items;

/// The embedded lists, by suite version, compressed.
static PROFILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Maximum size of a list: some ten times that of today's suite.
const MAX_SIZE: u64 = 64 << 20;

/// First word of a list.
const HEAD: &str = "suite ";

/// The cases of a version of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The version of the suite.
    pub suite: String,
    /// The cases by id.
    pub cases: BTreeMap<String, FrozenCase>,
}

/// An unusable list.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no list of this version.
    #[error("no list of suite {version} is in this program, only of {}; a suite version is like 0.1.0", known())]
    Unknown {
        /// The version.
        version: String,
    },
    /// The content is not a list.
    #[error("the list of suite {version} is damaged at line {line}; rebuild the program from a clean checkout")]
    Damaged {
        /// The version.
        version: String,
        /// The line, from 1.
        line: usize,
    },
    /// A case cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// Returns the versions with an embedded list, and the one of this program.
fn known() -> String {
    Profile::versions().chain([SUITE_VERSION]).collect::<Vec<_>>().join(", ")
}

impl Profile {
    /// Returns the suite versions with an embedded list, oldest first.
    pub fn versions() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|(version, _)| *version)
    }

    /// Returns the embedded list of a suite version.
    pub fn embedded(version: &str) -> Result<Profile, ProfileError> {
        let unknown = || ProfileError::Unknown { version: version.to_owned() };
        let (_, packed) = PROFILES.iter().find(|(name, _)| *name == version).ok_or_else(unknown)?;
        let damaged = |_| ProfileError::Damaged { version: version.to_owned(), line: 0 };
        let mut text = String::new();
        let reader = LzmaReader::new_mem_limit(*packed, u32::MAX, None).map_err(damaged)?;
        reader.take(MAX_SIZE).read_to_string(&mut text).map_err(damaged)?;
        Profile::parse(version, &text)
    }

    /// Makes the list of a suite, which takes as long as making all of its cases.
    pub fn new(suite: &Suite) -> Result<Profile, ProfileError> {
        let chosen = suite.choose(&Filter::default())?;
        let frozen = |(source, group, _): &(_, _, Vec<String>)| {
            let source: &&(dyn onnx_conformance_cases::suite::Source + Send) = source;
            let cases = source.load(group, &|_| true)?;
            Ok(cases.iter().map(|case| (case.id.clone(), FrozenCase::new(case))).collect::<Vec<_>>())
        };
        let made = map_items(None, &chosen, frozen).into_iter().collect::<Result<Vec<_>, SuiteError>>()?;
        Ok(Profile { suite: SUITE_VERSION.to_owned(), cases: made.into_iter().flatten().collect() })
    }

    /// Parses the output of `to_text`.
    pub fn parse(version: &str, text: &str) -> Result<Profile, ProfileError> {
        let damaged = |line| ProfileError::Damaged { version: version.to_owned(), line };
        let mut lines = text.lines();
        if lines.next().and_then(|line| line.strip_prefix(HEAD)) != Some(version) {
            return Err(damaged(1));
        }
        let case = |(number, line): (usize, &str)| {
            let (id, facts) = line.split_once(' ').ok_or_else(|| damaged(number))?;
            Ok((id.to_owned(), FrozenCase::parse(facts).ok_or_else(|| damaged(number))?))
        };
        let cases = (2..).zip(lines).map(case).collect::<Result<_, ProfileError>>()?;
        Ok(Profile { suite: version.to_owned(), cases })
    }

    /// Formats the list: the version, then a line for each case, sorted by id.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}{}\n", self.suite);
        for (id, case) in &self.cases {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{id} {case}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_list_reads_back() {
        for version in Profile::versions() {
            let profile = Profile::embedded(version).unwrap();
            assert!(profile.cases.len() > 100_000, "{version}");
            assert_eq!(Profile::parse(version, &profile.to_text()).unwrap(), profile);
        }
        let error = Profile::embedded("9.9.9").unwrap_err().to_string();
        assert!(error.contains("9.9.9") && error.contains(SUITE_VERSION), "{error}");
    }

    #[test]
    fn a_damaged_list_is_refused_with_its_line() {
        let text = "suite 1.0.0\na/b required 0a1b2c 0a1b2c 0e0\n";
        assert_eq!(Profile::parse("1.0.0", text).unwrap().to_text(), text);
        for (text, line) in
            [("", 1), ("suite 1.0.1\n", 1), ("suite 1.0.0\na/b\n", 2), ("suite 1.0.0\na/b needed 0 0 0\n", 2)]
        {
            let error = Profile::parse("1.0.0", text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{text}: {error}");
        }
    }
}
