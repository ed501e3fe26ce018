//! Selection of cases by ids, paths of groups, and globs over ids.

use std::collections::BTreeSet;

use onnx_conformance_testdata::NEWEST;

use crate::case::folders;
use crate::suite::glob::{FilterError, is_glob, wildcard};
use crate::suite::patterns::{Patterns, is_in};
use crate::suite::profile::{PROFILE, Profile};

/// A selection of cases: those that match a pattern, are in every profile that a pattern with a leading `@` names, and match no
/// pattern with a leading `!`.
#[derive(Debug, Default)]
pub struct Filter {
    wanted: Patterns,
    unwanted: Patterns,
    /// Profiles that must contain a case.
    profiles: BTreeSet<Profile>,
    /// The paths below which everything is selected.
    groups: BTreeSet<String>,
    /// If not empty, a case must be in one of these groups.
    within: BTreeSet<String>,
}

impl Filter {
    /// Creates a filter from patterns. Without patterns, every case is selected.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Filter, FilterError> {
        let mut filter = Filter::default();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            if let Some(name) = pattern.strip_prefix(PROFILE) {
                filter.profiles.insert(Profile::named(name)?);
                continue;
            }
            let unwanted = pattern.strip_prefix('!');
            if unwanted.unwrap_or(pattern).trim_end_matches('/').is_empty() {
                return Err(FilterError { pattern: pattern.to_owned(), reason: "it selects no case".to_owned() });
            }
            if let Some(pattern) = unwanted {
                filter.unwanted.add(pattern)?;
            } else {
                filter.wanted.add(pattern)?;
                let group = pattern.strip_suffix("/**").unwrap_or(pattern).trim_end_matches('/');
                filter.groups.extend(Some(group.to_owned()).filter(|group| !is_glob(group)));
            }
        }
        Ok(filter)
    }

    /// Restricts the filter to cases in these groups.
    #[must_use]
    pub fn within(self, groups: impl IntoIterator<Item = String>) -> Filter {
        Filter { within: groups.into_iter().collect(), ..self }
    }

    /// Returns true if the case is selected.
    pub fn matches(&self, id: &str) -> bool {
        let is_within = self.within.is_empty() || folders(id).any(|group| self.within.contains(group));
        is_within
            && (self.wanted.is_empty() || self.wanted.matches(id))
            && !self.unwanted.matches(id)
            && self.profiles.iter().all(|profile| profile.includes(id))
    }

    /// Returns true if neither a pattern nor a group selects cases, so that the default cases of the suite are
    /// selected.
    pub fn is_default(&self) -> bool {
        self.wanted.is_empty() && self.within.is_empty()
    }

    /// Returns true if the whole group of this name is selected.
    pub fn selects_group(&self, group: &str) -> bool {
        self.is_everything() || self.matches(group) || self.matches(&format!("{group}/x"))
    }

    /// Returns true if some case of the group of this name may be selected. Otherwise the group need not be read.
    pub fn may_select_from(&self, group: &str) -> bool {
        let meets = |within: &String| is_in(group, within) || is_in(within, group);
        let is_within = self.within.is_empty() || self.within.iter().any(meets);
        is_within
            && (self.wanted.is_empty() || self.wanted.may_match_from(group))
            && self.profiles.iter().all(|profile| profile.may_include_from(group))
    }

    /// Returns true if it is certain that every case that a pattern can match is selected.
    pub fn selects_all_of(&self, pattern: &str) -> bool {
        let start = &pattern[..wildcard(pattern)];
        if self.is_default() && !may_be_default(start) {
            return false;
        }
        if !is_glob(pattern) && self.matches(pattern) {
            return true;
        }
        let start = &pattern[..wildcard(pattern)];
        let is_in_group = || folders(start).any(|group| self.groups.contains(group));
        let is_restricted = !self.unwanted.is_empty() || !self.within.is_empty() || !self.profiles.is_empty();
        self.is_everything() || (!is_restricted && is_in_group())
    }

    /// Returns true if every case is selected.
    pub fn is_everything(&self) -> bool {
        self.is_default() && self.unwanted.is_empty() && self.profiles.is_empty()
    }
}

/// Returns true if ids with this prefix may be selected by default. Of ONNX's releases only the newest is.
fn may_be_default(start: &str) -> bool {
    let of_newest = |rest: &str| rest.strip_prefix(NEWEST).is_some_and(|rest| rest.starts_with('/'));
    start.strip_prefix("onnx-").is_none_or(of_newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Releases;

    #[test]
    fn the_newest_release_is_the_last_of_the_list() {
        assert_eq!(Releases::embedded().unwrap().all().last().unwrap().release, NEWEST);
    }

    #[test]
    fn stars_stay_within_a_part() {
        let rows = [
            ("onnx-1.14.1/node/test_{size,sum}*", "onnx-1.14.1/node/test_sum_example", true),
            ("onnx-*/node/test_sum", "onnx-1.14.1/node/test_sum_example", false),
            ("onnx-*", "onnx-1.14.1/node/test_sum_example", true),
            ("*/test_sum_example", "onnx-1.14.1/node/test_sum_example", false),
            ("**/test_sum_example", "onnx-1.14.1/node/test_sum_example", true),
            ("ai.onnx/Sum-13", "ai.onnx/Sum-13/broadcast/T=float", true),
            ("ai.onnx/Sum-1", "ai.onnx/Sum-13/broadcast/T=float", false),
        ];
        for (pattern, id, expected) in rows {
            assert_eq!(Filter::new(&[pattern]).unwrap().matches(id), expected, "{pattern} on {id}");
        }
    }

    #[test]
    fn an_exclamation_mark_excludes() {
        let filter = Filter::new(&["a/**", "!a/b*"]).unwrap();
        assert!(filter.matches("a/c"));
        assert!(!filter.matches("a/bc"));
        assert!(Filter::new(&["!a"]).unwrap().matches("b"));
    }

    #[test]
    fn a_group_is_skipped_only_if_none_of_its_ids_can_match() {
        let filter = Filter::new(&["ai.onnx/Sum-13/b*", "ai.onnx/{Abs,Add}-*", "!ai.onnx/Sum-13/**"]).unwrap();
        for (group, expected) in [
            ("ai.onnx/Sum-13", true),
            ("ai.onnx/Sum-1", true),
            ("ai.onnx/Sub-13", false),
            ("ai.onnx/Add-7", true),
            ("onnx-1.14.1/node/test_sum", false),
        ] {
            assert_eq!(filter.may_select_from(group), expected, "{group}");
        }
        assert!(!Filter::new(&["ai.onnx/Sum-13"]).unwrap().may_select_from("ai.onnx/Sub-13"));
        assert!(Filter::new(&["!a"]).unwrap().may_select_from("a"));
    }

    #[test]
    fn a_filter_knows_which_patterns_it_chooses_all_of() {
        let filter = Filter::new(&["ai.onnx/Sum-13", "ai.onnx/Abs-*/**", "a/b/**"]).unwrap();
        for (pattern, expected) in [
            ("ai.onnx/Sum-13/x", true),
            ("ai.onnx/Sum-13/*/T=float", true),
            ("ai.onnx/Sum-1*", false),
            ("ai.onnx/Abs-13/x", true),
            ("ai.onnx/Abs-13/*", false),
            ("a/b/c*", true),
            ("a/*", false),
        ] {
            assert_eq!(filter.selects_all_of(pattern), expected, "{pattern}");
        }
        assert!(Filter::default().selects_all_of("**"));
        let filter = Filter::new(&["a", "!a/b*"]).unwrap();
        assert!(!filter.selects_all_of("a/*") && !filter.selects_all_of("a/bc") && filter.selects_all_of("a/c"));
    }

    #[test]
    fn a_profile_restricts_the_other_patterns() {
        let filter = Filter::new(&["@float", "ai.onnx/Add-*", "!ai.onnx/Add-7/**"]).unwrap();
        assert!(filter.matches("ai.onnx/Add-13/broadcast/T=float"));
        for other in
            ["ai.onnx/Add-13/broadcast/T=double", "ai.onnx/Sub-13/broadcast/T=float", "ai.onnx/Add-7/x/T=float"]
        {
            assert!(!filter.matches(other), "{other}");
        }
        let profile = Filter::new(&["@float"]).unwrap();
        assert!(profile.is_default() && !profile.is_everything() && !profile.selects_all_of("**"));
        assert!(!Filter::new(&["@values"]).unwrap().may_select_from("ai.onnx/Add-13"));
        assert!(Filter::new(&["@full"]).unwrap().matches("ai.onnx/Add-13/broadcast/T=double"));
        let error = Filter::new(&["@flaot"]).unwrap_err().to_string();
        assert!(error.contains("'@flaot'") && error.contains("@values, @pr, @float, @full"), "{error}");
    }

    #[test]
    fn an_invalid_glob_is_refused() {
        assert!(Filter::new(&["a[b"]).is_err());
        for empty in ["", "/", "!", "!/"] {
            let error = Filter::new(&["a", empty]).unwrap_err().to_string();
            assert!(error.contains("it selects no case"), "{empty}: {error}");
        }
    }

    #[test]
    fn ids_are_looked_up_whatever_their_number() {
        let ids: Vec<String> = (0..10_000).map(|at| format!("d/Op-{}/case_{at}", at % 700)).collect();
        let filter = Filter::new(&ids).unwrap();
        let all = (0..20_000).map(|at| format!("d/Op-{}/case_{at}", at % 700));
        assert_eq!(all.filter(|id| filter.matches(id)).count(), 10_000);
        assert!(filter.may_select_from("d/Op-699") && !filter.may_select_from("d/Op-700"));
        assert!(!filter.matches("d/Op-1") && !filter.matches("d/Op-1/case_1x") && filter.matches("d/Op-1/case_1/x"));
        assert!(filter.selects_all_of("d/Op-1/case_1/*") && !filter.selects_all_of("d/Op-1/*"));
    }
}
