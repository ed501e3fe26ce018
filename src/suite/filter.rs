//! Choosing cases by globs over their ids.

use globset::{GlobBuilder, GlobMatcher};

/// A choice of cases: those that a pattern matches, and no pattern with a leading `!` does.
#[derive(Debug, Default)]
pub struct Filter {
    wanted: Vec<GlobMatcher>,
    /// How the ids that each wanted pattern matches begin.
    beginnings: Vec<String>,
    unwanted: Vec<GlobMatcher>,
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

    /// Whether every case is chosen.
    pub fn is_everything(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

/// The part of a pattern that stands for itself.
fn beginning(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    pattern[..end].trim_end_matches('/')
}

/// The pattern itself, and everything below it, so that the path of a group chooses the group.
fn matchers(pattern: &str) -> Result<[GlobMatcher; 2], FilterError> {
    let glob = |text: &str| {
        GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map(|glob| glob.compile_matcher())
            .map_err(|error| FilterError { pattern: pattern.to_owned(), reason: error.kind().to_string() })
    };
    let base = pattern.trim_end_matches('/');
    Ok([glob(base)?, glob(&format!("{base}/**"))?])
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
    fn what_is_no_glob_is_refused() {
        assert!(Filter::new(&["a[b"]).is_err());
    }
}
