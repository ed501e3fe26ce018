//! Releases of ONNX by their texts, which decide the levels of some cases.

use std::fmt;
use std::str::FromStr;

use onnx_conformance_reference::spec::Specs;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Version of ONNX whose texts decide, such as 1.18.0. It may be later than the release that the suite is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextRelease([u32; 3]);

/// Releases whose texts decide a case: from `since` on, and before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "TextRangeFile"))]
pub struct TextRange {
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<TextRelease>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<TextRelease>,
}

/// A range as it is written: `{since: 1.24.0}`, `{until: 1.24.0}`, or both.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct TextRangeFile {
    /// The first release whose text decides the case.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    since: Option<KnownRelease>,
    /// The first later release whose text does not.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    until: Option<KnownRelease>,
}

/// An end of a range as it is written. An error points at it.
struct KnownRelease(TextRelease);

impl<'de> Deserialize<'de> for KnownRelease {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KnownRelease, D::Error> {
        deserializer.deserialize_str(ReleaseVisitor)
    }
}

struct ReleaseVisitor;

impl Visitor<'_> for ReleaseVisitor {
    type Value = KnownRelease;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a release of ONNX with three numbers, such as {}", TextRelease::newest())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<KnownRelease, E> {
        TextRelease::known(text).map(KnownRelease).map_err(E::custom)
    }
}

/// Error in the name of a release, or in a range of releases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text is not a version.
    #[error("'{0}' is not a version of ONNX, such as {newest}; known releases: {all}", newest = TextRelease::newest(), all = known_releases())]
    NoVersion(String),
    /// The version is neither a release nor a later one.
    #[error("there is no ONNX release {0}; known releases: {all}; later versions are allowed, too", all = known_releases())]
    NoRelease(TextRelease),
    /// A range has no end.
    #[error("a range of texts needs `since`, `until` or both, as in {{since: {newest}}}", newest = TextRelease::newest())]
    NoEnd,
    /// A range contains no release.
    #[error("no release is from {since} on and before {until}; `until` is the first release that is not in the range")]
    Empty {
        /// The first release.
        since: TextRelease,
        /// The release after the last.
        until: TextRelease,
    },
}

fn known_releases() -> String {
    let releases = Specs::embedded().releases().map(|all| all.releases.as_slice()).unwrap_or_default();
    releases.iter().map(|release| release.onnx.as_str()).collect::<Vec<_>>().join(", ")
}

impl TextRelease {
    /// Returns the release that the suite is made for. Its texts decide, unless others are selected.
    pub fn newest() -> TextRelease {
        Specs::embedded().newest_release().parse().unwrap_or(TextRelease([0; 3]))
    }

    /// Returns the release if it is not the one that the suite is made for.
    pub fn if_other(self) -> Option<TextRelease> {
        Some(self).filter(|release| *release != TextRelease::newest())
    }

    /// Parses a release of ONNX, or a version later than all of them.
    pub fn known(text: &str) -> Result<TextRelease, TextError> {
        let release: TextRelease = text.parse()?;
        let releases = Specs::embedded().releases().map(|all| all.releases.as_slice()).unwrap_or_default();
        let is_known = releases.iter().any(|known| known.onnx.parse() == Ok(release));
        if is_known || release > TextRelease::newest() { Ok(release) } else { Err(TextError::NoRelease(release)) }
    }
}

/// Parses any version: `1.18.0`, or `1.18` for the same.
impl FromStr for TextRelease {
    type Err = TextError;

    fn from_str(text: &str) -> Result<TextRelease, TextError> {
        let number = |part: &str| part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        match numbers.as_deref() {
            Some([major, minor]) => Ok(TextRelease([*major, *minor, 0])),
            Some([major, minor, patch]) => Ok(TextRelease([*major, *minor, *patch])),
            _ => Err(TextError::NoVersion(text.to_owned())),
        }
    }
}

impl fmt::Display for TextRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Serialize for TextRelease {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TextRelease {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextRelease, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl TextRange {
    /// Creates the range of the releases from `since` on and before `until`.
    pub fn new(since: Option<TextRelease>, until: Option<TextRelease>) -> Result<TextRange, TextError> {
        match (since, until) {
            (None, None) => Err(TextError::NoEnd),
            (Some(since), Some(until)) if since >= until => Err(TextError::Empty { since, until }),
            _ => Ok(TextRange { since, until }),
        }
    }

    /// Returns true if the text of a release is in the range.
    pub fn covers(self, text: TextRelease) -> bool {
        self.since.is_none_or(|since| since <= text) && self.until.is_none_or(|until| text < until)
    }

    /// Returns the releases at which the range begins and ends.
    pub fn ends(self) -> impl Iterator<Item = TextRelease> {
        self.since.into_iter().chain(self.until)
    }

    /// Returns the first release of the range, and the first one after it.
    pub fn bounds(self) -> (Option<TextRelease>, Option<TextRelease>) {
        (self.since, self.until)
    }
}

impl<'de> Deserialize<'de> for TextRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextRange, D::Error> {
        deserializer.deserialize_map(RangeVisitor)
    }
}

struct RangeVisitor;

impl<'de> Visitor<'de> for RangeVisitor {
    type Value = TextRange;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range of texts, {since: RELEASE}, {until: RELEASE} or both")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextRange, A::Error> {
        let TextRangeFile { since, until } = TextRangeFile::deserialize(MapAccessDeserializer::new(map))?;
        TextRange::new(since.map(|end| end.0), until.map(|end| end.0)).map_err(A::Error::custom)
    }
}

/// Formats the range as records have it: `1.10.0..`, `..1.18.0`, `1.10.0..1.18.0`.
impl fmt::Display for TextRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.since.iter().try_for_each(|since| write!(f, "{since}"))?;
        f.write_str("..")?;
        self.until.iter().try_for_each(|until| write!(f, "{until}"))
    }
}

/// Parses the output of `Display`.
impl FromStr for TextRange {
    type Err = TextError;

    fn from_str(text: &str) -> Result<TextRange, TextError> {
        let (since, until) = text.split_once("..").ok_or(TextError::NoEnd)?;
        let end = |text: &str| (!text.is_empty()).then(|| text.parse()).transpose();
        TextRange::new(end(since)?, end(until)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> TextRelease {
        TextRelease::known(text).unwrap()
    }

    fn range(text: &str) -> Result<TextRange, String> {
        serde_yaml::from_str(text).map_err(|error: serde_yaml::Error| error.to_string())
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        assert!(release("1.9.0") < release("1.10.0") && release("1.10.0") < release("1.10.2"));
        assert_eq!(release("1.3"), release("1.3.0"));
        assert_eq!(release("1.3").to_string(), "1.3.0");
        assert_eq!(TextRelease::newest().to_string(), Specs::embedded().newest_release());
        assert!(release("99.0.0") > TextRelease::newest());
        assert_eq!(release("99.0.0").if_other(), Some(release("99.0.0")));
        assert_eq!(TextRelease::newest().if_other(), None);
    }

    #[test]
    fn a_release_is_known_or_later() {
        for text in ["1.5.1", "0.9.0"] {
            let error = TextRelease::known(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("there is no ONNX release {text}; known releases: 1.0, ")), "{error}");
            assert!(error.contains(Specs::embedded().newest_release()), "{error}");
        }
        for text in ["", "1", "x", "1.x", "1.+2", "1.2.3.4", "1.18.0rc1", "1..2", "1.4294967296"] {
            let error = TextRelease::known(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is not a version of ONNX")), "{error}");
        }
    }

    #[test]
    fn a_range_begins_with_since_and_ends_before_until() {
        let covered = |text: &str| {
            let range = range(text).unwrap();
            assert_eq!(range.to_string().parse(), Ok(range), "{text}");
            let all = ["1.9.0", "1.10.0", "1.10.1", "1.18.0", "99.1.0"];
            all.into_iter().filter(|text| range.covers(release(text))).collect::<Vec<_>>()
        };
        assert_eq!(covered("{since: 1.10.0}"), ["1.10.0", "1.10.1", "1.18.0", "99.1.0"]);
        assert_eq!(covered("{until: 1.10.1}"), ["1.9.0", "1.10.0"]);
        assert_eq!(covered("{since: 1.10.0, until: 1.18.0}"), ["1.10.0", "1.10.1"]);
        assert_eq!(covered("{since: 99.0.0}"), ["99.1.0"]);
    }

    #[test]
    fn an_invalid_range_is_refused() {
        for (text, expected) in [
            ("{}", "needs `since`, `until` or both"),
            ("{since: 1.18.0, until: 1.18.0}", "no release is from 1.18.0 on and before 1.18.0"),
            ("{since: 1.18.0, until: 1.9.0}", "no release is from 1.18.0 on and before 1.9.0"),
            ("{since: 1.5.1}", "no ONNX release 1.5.1"),
            ("{until: soon}", "'soon' is not a version"),
            ("{from: 1.18.0}", "unknown field `from`"),
            ("1.18.0", "invalid type"),
        ] {
            let error = range(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
