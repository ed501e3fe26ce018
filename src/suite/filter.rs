//! Choosing cases by globs over their ids.

use globset::{GlobBuilder, GlobMatcher};

/// A choice of cases: those that a pattern matches, and no pattern with a leading `!` does.
#[derive(Debug, Default)]
pub struct Filter {
    wanted: Vec<GlobMatcher>,
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
            match pattern.strip_prefix('!') {
                Some(pattern) => filter.unwanted.extend(matchers(pattern)?),
                None => filter.wanted.extend(matchers(pattern)?),
            }
        }
        Ok(filter)
    }

    /// Whether the case is chosen.
    pub fn matches(&self, id: &str) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|glob| glob.is_match(id)))
            && !self.unwanted.iter().any(|glob| glob.is_match(id))
    }

    /// Whether some case of a unit may be chosen, by the unit's name.
    pub fn touches(&self, unit: &str) -> bool {
        self.is_everything() || self.matches(unit) || self.matches(&format!("{unit}/x"))
    }

    /// Whether every case is chosen.
    pub fn is_everything(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
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
    fn what_is_no_glob_is_refused() {
        assert!(Filter::new(&["a[b"]).is_err());
    }
}
