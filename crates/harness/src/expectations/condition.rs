//! Condition of an expectation: platforms, processors and versions of the runtime that it applies to.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::{ProcessorFeature, ProcessorFeatures, UnknownFeature, feature_list};

/// Condition of an entry. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Operating system (`linux`, `macos`, `windows`), processor (`x86_64`, `aarch64`), or both (`linux-x86_64`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Versions of the runtime: `>=1.20`, or several comparisons that must all hold, such as `>=1.20, <1.23`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Versions>,
    /// Processors: `[avx512_vnni, avx_vnni]` if they have any of these features, `{without: [avx512_vnni]}` if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Processors>,
}

/// A set of processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenProcessors", into = "WrittenProcessors")]
pub enum Processors {
    /// Processors with any of these features.
    WithAny(ProcessorFeatures),
    /// Processors with none of these features.
    Without(ProcessorFeatures),
}

/// A set of processors as written in YAML. Names are parsed later, because an error in an untagged value does not name
/// the wrong one.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenProcessors {
    WithAny(Vec<String>),
    Without { without: Vec<String> },
}

impl Condition {
    /// Returns true if there is no condition.
    pub fn is_empty(&self) -> bool {
        self.platform.is_none() && self.version.is_none() && self.cpu.is_none()
    }

    /// Returns true if the condition holds for this version of a runtime on a platform such as `linux-x86_64` and a processor
    /// with these features.
    pub fn holds(&self, platform: &str, features: &ProcessorFeatures, version: &str) -> bool {
        let is_here = |wanted: &String| {
            *wanted == platform || platform.split_once('-').is_some_and(|(os, arch)| wanted == os || wanted == arch)
        };
        self.platform.as_ref().is_none_or(is_here)
            && self.version.as_ref().is_none_or(|versions| versions.contain(version))
            && self.cpu.as_ref().is_none_or(|processors| processors.contain(features))
    }
}

impl Processors {
    /// Returns true if the set contains a processor with these features.
    pub fn contain(&self, features: &ProcessorFeatures) -> bool {
        match self {
            Processors::WithAny(any) => !any.is_disjoint(features),
            Processors::Without(none) => none.is_disjoint(features),
        }
    }

    /// The set as flow-style YAML: `[avx2]` or `{without: [avx2]}`.
    pub(super) fn to_yaml(&self) -> String {
        match self {
            Processors::WithAny(features) => format!("[{}]", feature_list(features)),
            Processors::Without(features) => format!("{{without: [{}]}}", feature_list(features)),
        }
    }
}

impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Processors::WithAny(features) => write!(f, "with any of {}", feature_list(features)),
            Processors::Without(features) => write!(f, "without {}", feature_list(features)),
        }
    }
}

/// Condition that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// The list of processor features is empty.
    #[error("`cpu` names no feature; name one, or omit it")]
    NoFeature,
    /// A processor feature is unknown.
    #[error(transparent)]
    Feature(#[from] UnknownFeature),
    /// The text is not a list of comparisons.
    #[error("'{0}' is not a version condition; write for example '>=1.20' or '>=1.20, <1.23'")]
    Versions(String),
}

impl TryFrom<WrittenProcessors> for Processors {
    type Error = ConditionError;

    fn try_from(written: WrittenProcessors) -> Result<Processors, ConditionError> {
        let read = |names: Vec<String>| {
            if names.is_empty() {
                return Err(ConditionError::NoFeature);
            }
            Ok(names.into_iter().map(ProcessorFeature::try_from).collect::<Result<ProcessorFeatures, _>>()?)
        };
        Ok(match written {
            WrittenProcessors::WithAny(names) => Processors::WithAny(read(names)?),
            WrittenProcessors::Without { without } => Processors::Without(read(without)?),
        })
    }
}

impl From<Processors> for WrittenProcessors {
    fn from(processors: Processors) -> WrittenProcessors {
        let written = |features: ProcessorFeatures| features.into_iter().map(String::from).collect();
        match processors {
            Processors::WithAny(features) => WrittenProcessors::WithAny(written(features)),
            Processors::Without(features) => WrittenProcessors::Without { without: written(features) },
        }
    }
}

/// A set of versions: comparisons that must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Versions {
    text: String,
    comparisons: Vec<(Comparison, Vec<u64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Equal,
    Other,
    AtLeast,
    Greater,
}

/// Comparison signs. Longer signs precede their own prefixes.
const SIGNS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Other),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Versions {
    /// Returns true if the set contains a version. Numbers are compared part by part, and `1.20` equals `1.20.0`. A suffix after
    /// the number in a part (`1.20.1rc2`, `1.20.1+cpu`) is ignored.
    pub fn contain(&self, version: &str) -> bool {
        let version = numbers(version);
        self.comparisons.iter().all(|(comparison, bound)| {
            let order = compare(&version, bound);
            match comparison {
                Comparison::Less => order == Ordering::Less,
                Comparison::AtMost => order != Ordering::Greater,
                Comparison::Equal => order == Ordering::Equal,
                Comparison::Other => order != Ordering::Equal,
                Comparison::AtLeast => order != Ordering::Less,
                Comparison::Greater => order == Ordering::Greater,
            }
        })
    }
}

impl TryFrom<String> for Versions {
    type Error = ConditionError;

    fn try_from(text: String) -> Result<Versions, ConditionError> {
        let mut comparisons = Vec::new();
        for part in text.split(',').map(str::trim) {
            let sign = SIGNS.iter().find_map(|(sign, comparison)| Some((part.strip_prefix(sign)?.trim(), *comparison)));
            match sign {
                Some((bound, comparison)) if bound.starts_with(|c: char| c.is_ascii_digit()) => {
                    comparisons.push((comparison, numbers(bound)));
                }
                _ => return Err(ConditionError::Versions(text)),
            }
        }
        Ok(Versions { text, comparisons })
    }
}

impl From<Versions> for String {
    fn from(versions: Versions) -> String {
        versions.text
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Sort key of versions: their numbers, then their text.
pub fn version_key(version: &str) -> (Vec<u64>, String) {
    (numbers(version), version.to_owned())
}

/// Returns the leading numbers of a version, up to the first part that is not only a number.
fn numbers(version: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    for part in version.trim_start_matches('v').split('.') {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let Ok(number) = part.get(..digits).unwrap_or_default().parse() else { break };
        numbers.push(number);
        if digits < part.len() {
            break;
        }
    }
    numbers
}

fn compare(a: &[u64], b: &[u64]) -> Ordering {
    let part = |numbers: &[u64], index: usize| numbers.get(index).copied().unwrap_or(0);
    let mut parts = (0..a.len().max(b.len())).map(|index| part(a, index).cmp(&part(b, index)));
    parts.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(text: &str) -> Versions {
        Versions::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        for (wanted, version, expected) in [
            (">=1.20", "1.20.0", true),
            (">=1.20", "1.3", false),
            (">=1.20, <1.23", "1.22.9+cpu", true),
            (">=1.20, <1.23", "1.23.0rc1", false),
            ("== 2", "2.0.0", true),
            ("!=2", "2.0.1.dev3", true),
            ("<=1.2.3", "v1.2.4", false),
            (">1", "1.0", false),
        ] {
            assert_eq!(versions(wanted).contain(version), expected, "{version} in {wanted}");
        }
        for wrong in ["", "1.20", ">=", ">=1,", ">=x"] {
            assert!(Versions::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_platform_is_a_system_or_a_processor_or_both() {
        let on = |platform: &str| Condition { platform: Some(platform.to_owned()), ..Condition::default() };
        let none = ProcessorFeatures::new();
        for (platform, expected) in
            [("linux", true), ("x86_64", true), ("linux-x86_64", true), ("macos", false), ("linux-aarch64", false)]
        {
            assert_eq!(on(platform).holds("linux-x86_64", &none, "1"), expected, "{platform}");
        }
        let both = Condition { version: Some(versions("<2")), ..on("linux") };
        assert!(both.holds("linux-x86_64", &none, "1.9") && !both.holds("linux-x86_64", &none, "2.0"));
    }

    #[test]
    fn a_processor_has_any_of_the_features_or_none() {
        let set = |names: &[&str]| -> ProcessorFeatures {
            names.iter().map(|name| ProcessorFeature::try_from((*name).to_owned()).unwrap()).collect()
        };
        for (written, features, expected) in [
            ("[avx512_vnni, avx_vnni]", &["avx2", "avx_vnni"][..], true),
            ("[avx512_vnni, avx_vnni]", &["avx2"], false),
            ("{without: [avx512_vnni, avx_vnni]}", &["avx2"], true),
            ("{without: [avx512_vnni, avx_vnni]}", &["avx512_vnni"], false),
            ("{without: [avx512_vnni]}", &[], true),
        ] {
            let text = format!("runtime: a\nexpect:\n  - {{cases: x, outcome: error, when: {{cpu: {written}}}}}\n");
            let file = crate::expectations::Expectations::parse("a.yaml", &text).unwrap();
            let condition = file.expect[0].when.clone().unwrap();
            assert_eq!(condition.holds("linux-x86_64", &set(features), "1"), expected, "{written}: {features:?}");
            assert!(file.to_yaml().contains(&format!("when: {{cpu: {written}}}")), "{}", file.to_yaml());
        }
    }
}
