//! Choosing cases by globs over their ids.

use globset::{Glob, GlobBuilder, GlobMatcher};

/// A choice of cases: those that a pattern matches, and no pattern with a leading `!` does.
#[derive(Debug, Default)]
pub struct Filter {
    wanted: Vec<GlobMatcher>,
    /// How the ids that each wanted pattern matches begin.
    beginnings: Vec<String>,
    unwanted: Vec<GlobMatcher>,
    /// The paths of which everything below is wanted.
    groups: Vec<String>,
}

/// A pattern that is no glob.
#[derive(Debug, thiserror::Error)]
#[error("'{pattern}' is not a pattern: {reason}; write ids with * within a part, ** across parts, and {{a,b}}")]
pub struct FilterError {
    pattern: String,
    reason: String,
}

impl Filter {
    /// A filter of any number of patterns; without one, every case is chosen.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Filter, FilterError> {
        let mut filter = Filter::default();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            if let Some(pattern) = pattern.strip_prefix('!') {
                filter.unwanted.extend(matchers(pattern)?);
            } else {
                filter.wanted.extend(matchers(pattern)?);
                filter.beginnings.push(beginning(pattern).to_owned());
                let group = pattern.strip_suffix("/**").unwrap_or(pattern).trim_end_matches('/');
                filter.groups.extend(Some(group.to_owned()).filter(|group| !is_glob(group)));
            }
        }
        Ok(filter)
    }

    /// Whether the case is chosen.
    pub fn matches(&self, id: &str) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|glob| glob.is_match(id)))
            && !self.unwanted.iter().any(|glob| glob.is_match(id))
    }

    /// Whether the unit as a whole is chosen, by its name.
    pub fn touches(&self, unit: &str) -> bool {
        self.is_everything() || self.matches(unit) || self.matches(&format!("{unit}/x"))
    }

    /// Whether some case of a unit may be chosen, by the unit's name; a unit of which this is not so need not be read.
    pub fn may_choose_from(&self, unit: &str) -> bool {
        let fits = |beginning: &String| unit.starts_with(beginning.as_str()) || beginning.starts_with(unit);
        self.beginnings.is_empty() || self.beginnings.iter().any(fits)
    }

    /// Whether every case that a pattern can match is chosen; where that is not plain, it is not so.
    pub fn chooses_all_of(&self, pattern: &str) -> bool {
        if !is_glob(pattern) && self.matches(pattern) {
            return true;
        }
        let start = &pattern[..wildcard(pattern)];
        let holds = |group: &String| start.strip_prefix(group.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.is_everything() || (self.unwanted.is_empty() && self.groups.iter().any(holds))
    }

    /// Whether every case is chosen.
    pub fn is_everything(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

/// Whether something in a pattern does not stand for itself.
pub(crate) fn is_glob(pattern: &str) -> bool {
    wildcard(pattern) < pattern.len()
}

/// Where the first thing in a pattern is that does not stand for itself, or its end.
pub(crate) fn wildcard(pattern: &str) -> usize {
    pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len())
}

/// The part of a pattern that stands for itself.
fn beginning(pattern: &str) -> &str {
    pattern[..wildcard(pattern)].trim_end_matches('/')
}

/// The pattern itself, and everything below it, so that the path of a group chooses the group.
pub(crate) fn globs(pattern: &str) -> Result<[Glob; 2], FilterError> {
    let base = pattern.trim_end_matches('/');
    Ok([glob(base, pattern, true)?, glob(&format!("{base}/**"), pattern, true)?])
}

/// A pattern over texts that have no parts: `*` stands for anything.
pub(crate) fn loose_glob(pattern: &str) -> Result<Glob, FilterError> {
    glob(pattern, pattern, false)
}

fn glob(text: &str, pattern: &str, has_parts: bool) -> Result<Glob, FilterError> {
    let glob = GlobBuilder::new(text).literal_separator(has_parts).build();
    glob.map_err(|error| FilterError { pattern: pattern.to_owned(), reason: error.kind().to_string() })
}

fn matchers(pattern: &str) -> Result<[GlobMatcher; 2], FilterError> {
    Ok(globs(pattern)?.map(|glob| glob.compile_matcher()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_part() {
        let rows = [
            ("onnx-1.23.2/node/test_{size,sum}*", "onnx-1.23.2/node/test_sum_example", true),
            ("onnx-*/node/test_sum", "onnx-1.23.2/node/test_sum_example", false),
            ("onnx-*", "onnx-1.23.2/node/test_sum_example", true),
            ("*/test_sum_example", "onnx-1.23.2/node/test_sum_example", false),
            ("**/test_sum_example", "onnx-1.23.2/node/test_sum_example", true),
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
    fn a_unit_is_left_out_only_where_no_id_of_it_can_match() {
        let filter = Filter::new(&["ai.onnx/Sum-13/b*", "ai.onnx/{Abs,Add}-*", "!ai.onnx/Sum-13/**"]).unwrap();
        for (unit, expected) in [
            ("ai.onnx/Sum-13", true),
            ("ai.onnx/Sum-1", true),
            ("ai.onnx/Sub-13", true),
            ("onnx-1.23.2/node/test_sum", false),
        ] {
            assert_eq!(filter.may_choose_from(unit), expected, "{unit}");
        }
        assert!(!Filter::new(&["ai.onnx/Sum-13"]).unwrap().may_choose_from("ai.onnx/Sub-13"));
        assert!(Filter::new(&["!a"]).unwrap().may_choose_from("a"));
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
            assert_eq!(filter.chooses_all_of(pattern), expected, "{pattern}");
        }
        assert!(Filter::default().chooses_all_of("**"));
        let filter = Filter::new(&["a", "!a/b*"]).unwrap();
        assert!(!filter.chooses_all_of("a/*") && !filter.chooses_all_of("a/bc") && filter.chooses_all_of("a/c"));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        assert!(Filter::new(&["a[b"]).is_err());
    }
}
