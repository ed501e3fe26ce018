//! Frozen lists: the cases of a version of the suite, with levels and digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;

use lzma_rust2::LzmaReader;
use onnx_conformance_cases::case::{CaseId, FrozenCase};
use onnx_conformance_cases::suite::{
    Filter, RecordedCase, SUITE_VERSION, SelectedGroup, Suite, SuiteError, recorded_cases,
};
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::promises::version::{is_later, version_numbers};

/// The embedded lists, by suite version, compressed.
static FROZEN_LISTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/frozen_lists.rs"));

/// Maximum size of a list in bytes: about ten times the size of the list of today's suite.
const MAX_SIZE: u64 = 64 << 20;

/// First word of a list.
const HEAD: &str = "suite ";

/// The cases of a version of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct FrozenList {
    /// The version of the suite.
    pub suite: String,
    /// The cases by id.
    pub cases: BTreeMap<String, FrozenCase>,
}

/// An unusable list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrozenListError {
    /// The text is not a version.
    #[error("'{text}' is not a version of the suite; write one such as 0.1.0; this program knows {}", known())]
    NoVersion {
        /// The text.
        text: String,
    },
    /// The version is later than this program's suite.
    #[error("suite {version} is later than suite {SUITE_VERSION} of this program; update the program")]
    Later {
        /// The version.
        version: String,
    },
    /// There is no list of this version.
    #[error("suite {version} has no list in this program, which knows {}", known())]
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
    let own = Some(SUITE_VERSION).filter(|own| FrozenList::versions().all(|frozen| frozen != *own));
    FrozenList::versions().chain(own).collect::<Vec<_>>().join(", ")
}

impl FrozenListError {
    /// Returns why there is no list of a version.
    fn missing(version: &str) -> FrozenListError {
        let version = version.to_owned();
        match version_numbers(&version) {
            None => FrozenListError::NoVersion { text: version },
            Some(_) if is_later(&version) => FrozenListError::Later { version },
            Some(_) => FrozenListError::Unknown { version },
        }
    }
}

impl FrozenList {
    /// Returns the suite versions with an embedded list, oldest first.
    pub fn versions() -> impl Iterator<Item = &'static str> {
        FROZEN_LISTS.iter().map(|(version, _)| *version)
    }

    /// Returns the embedded list of a suite version.
    pub fn embedded(version: &str) -> Result<FrozenList, FrozenListError> {
        let found = FROZEN_LISTS.iter().find(|(name, _)| *name == version);
        let (_, packed) = found.ok_or_else(|| FrozenListError::missing(version))?;
        let damaged = |_| FrozenListError::Damaged { version: version.to_owned(), line: 0 };
        let mut text = String::new();
        let reader = LzmaReader::new_mem_limit(*packed, u32::MAX, None).map_err(damaged)?;
        reader.take(MAX_SIZE).read_to_string(&mut text).map_err(damaged)?;
        FrozenList::parse(version, &text)
    }

    /// Makes the list of a suite. This generates all its cases, so it takes as long.
    pub fn new(suite: &Suite) -> Result<FrozenList, FrozenListError> {
        let chosen = suite.choose(&Filter::default())?;
        let frozen = |(source, group, _): &SelectedGroup<'_>| {
            let cases = source.load(group, &|_| true)?;
            Ok(cases.iter().map(|case| (case.id.clone(), FrozenCase::new(case))).collect::<Vec<_>>())
        };
        let made = map_items(None, &chosen, frozen).into_iter().collect::<Result<Vec<_>, SuiteError>>()?;
        Ok(FrozenList { suite: SUITE_VERSION.to_owned(), cases: made.into_iter().flatten().collect() })
    }

    /// Parses the output of `to_text`.
    pub fn parse(version: &str, text: &str) -> Result<FrozenList, FrozenListError> {
        let damaged = |line| FrozenListError::Damaged { version: version.to_owned(), line };
        let mut lines = text.lines();
        if lines.next().and_then(|line| line.strip_prefix(HEAD)) != Some(version) {
            return Err(damaged(1));
        }
        let case = |(number, line): (usize, &str)| {
            let (id, facts) = line.split_once(' ').ok_or_else(|| damaged(number))?;
            Ok((id.to_owned(), FrozenCase::parse(facts).ok_or_else(|| damaged(number))?))
        };
        let cases = (2..).zip(lines).map(case).collect::<Result<_, FrozenListError>>()?;
        Ok(FrozenList { suite: version.to_owned(), cases })
    }

    /// Returns the ids of the cases from the specs whose level or digest differs from that in `records/`, or that only the list or
    /// only the records have.
    pub fn contradictions(&self) -> Vec<String> {
        let versions: Vec<OperatorVersion> = Specs::embedded().all().collect();
        let recorded: BTreeMap<&str, &RecordedCase> =
            versions.iter().flat_map(recorded_cases).map(|case| (case.id.as_str(), case)).collect();
        let groups: BTreeSet<String> = versions.iter().map(OperatorVersion::qualified).collect();
        let differs = |case: &&&RecordedCase| {
            let frozen = self.cases.get(&case.id);
            frozen.is_none_or(|frozen| !is_recorded_as(frozen, case))
        };
        let differing = recorded.values().filter(differs).map(|case| case.id.clone());
        let is_gone = |id: &&String| groups.contains(CaseId::parse(id).group()) && !recorded.contains_key(id.as_str());
        let mut found: Vec<String> = differing.chain(self.cases.keys().filter(is_gone).cloned()).collect();
        found.sort_unstable();
        found
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

/// Returns true if a case has the level and the digest of the list in `records/`, too.
pub(super) fn is_recorded_as(frozen: &FrozenCase, case: &RecordedCase) -> bool {
    (frozen.level, frozen.digest) == (case.facts.level, case.digest)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::{CaseDigest, Level};

    use super::*;

    #[test]
    fn every_embedded_list_reads_back() {
        for version in FrozenList::versions() {
            let list = FrozenList::embedded(version).unwrap();
            assert!(list.cases.len() > 100_000, "{version}");
            assert_eq!(FrozenList::parse(version, &list.to_text()).unwrap(), list);
        }
    }

    #[test]
    fn a_missing_list_is_refused_with_the_way_out() {
        let error = |version: &str| FrozenList::embedded(version).unwrap_err().to_string();
        let later = error("9.9.9");
        let way_out = format!("later than suite {SUITE_VERSION} of this program; update the program");
        assert!(later.starts_with("suite 9.9.9 is ") && later.ends_with(&way_out), "{later}");
        let earlier = error("0.0.1");
        assert!(earlier.starts_with("suite 0.0.1 has no list") && earlier.contains(SUITE_VERSION), "{earlier}");
        for text in ["", "1", "0.1", "0.1.x", "0.1.0.0"] {
            let other = error(text);
            assert!(other.contains(&format!("'{text}' is not a version")) && other.contains("0.1.0"), "{other}");
        }
    }

    #[test]
    fn a_frozen_list_of_this_version_fits_the_records() {
        if let Ok(list) = FrozenList::embedded(SUITE_VERSION) {
            let contradictions = list.contradictions();
            let most = contradictions.len().min(10);
            assert!(
                contradictions.is_empty(),
                "profiles/{SUITE_VERSION}.lzma is frozen, but {} cases differ: {:?}; raise SUITE_VERSION in \
                 crates/cases/src/suite/version.rs",
                contradictions.len(),
                &contradictions[..most]
            );
        }
    }

    #[test]
    fn a_list_that_contradicts_the_records_is_noticed() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 13);
        let recorded = recorded_cases(&version);
        let frozen = |case: &RecordedCase, digest: CaseDigest| FrozenCase {
            level: case.facts.level,
            digest,
            without_bounds: digest,
            tolerance: 0.0,
        };
        let cases = recorded.iter().map(|case| (case.id.clone(), frozen(case, case.digest))).collect();
        let mut list = FrozenList { suite: SUITE_VERSION.to_owned(), cases };
        let of_abs = |list: &FrozenList| -> Vec<String> {
            let is_of_abs = |id: &String| id.starts_with("ai.onnx/Abs-13/");
            list.contradictions().into_iter().filter(is_of_abs).collect()
        };
        assert_eq!(of_abs(&list), Vec::<String>::new());
        let [changed, lost, raised] = [0, 1, 2].map(|at| recorded[at].id.clone());
        list.cases.insert(changed.clone(), frozen(&recorded[0], recorded[1].digest));
        list.cases.remove(&lost);
        list.cases.insert(raised.clone(), FrozenCase { level: Level::Open, ..list.cases[&raised] });
        let gone = "ai.onnx/Abs-13/gone".to_owned();
        list.cases.insert(gone.clone(), frozen(&recorded[0], recorded[0].digest));
        let mut expected = vec![changed, lost, raised, gone];
        expected.sort_unstable();
        assert_eq!(of_abs(&list), expected);
    }

    #[test]
    fn a_damaged_list_is_refused_with_its_line() {
        let text = "suite 1.0.0\na/b required 0a1b2c 0a1b2c 0e0\n";
        assert_eq!(FrozenList::parse("1.0.0", text).unwrap().to_text(), text);
        for (text, line) in
            [("", 1), ("suite 1.0.1\n", 1), ("suite 1.0.0\na/b\n", 2), ("suite 1.0.0\na/b needed 0 0 0\n", 2)]
        {
            let error = FrozenList::parse("1.0.0", text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{text}: {error}");
        }
    }
}
