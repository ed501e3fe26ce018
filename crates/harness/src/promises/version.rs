//! Versions of the suite.

use onnx_conformance_cases::suite::SUITE_VERSION;

/// Returns the version in the value of `suite:` of an expectation file, such as `0.1.0 08fcdb34d27a364b`. An older file has only
/// the digest.
pub fn suite_version(suite: &str) -> Option<&str> {
    suite.split(' ').next().filter(|word| word.contains('.'))
}

/// Returns true if a version is later than this program's.
pub fn is_later(version: &str) -> bool {
    version_numbers(version) > version_numbers(SUITE_VERSION)
}

/// Returns the three numbers of a version; `None` if the text is not a version.
pub(super) fn version_numbers(version: &str) -> Option<[u32; 3]> {
    let numbers = version.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_names_a_version_or_only_a_digest() {
        assert_eq!(suite_version("0.1.0 08fcdb34d27a364b"), Some("0.1.0"));
        assert_eq!(suite_version("08fcdb34d27a364b"), None);
        assert_eq!(suite_version(""), None);
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(version_numbers("0.10.0") > version_numbers("0.9.9"));
        assert!(is_later("99.0.0") && !is_later(SUITE_VERSION) && !is_later("0.0.9"));
        for text in ["", "99", "99.0", "99.0.0.0", "99.0.x", "99.0.-1"] {
            assert!(version_numbers(text).is_none() && !is_later(text), "{text}");
        }
    }
}
