//! Processor features: instruction sets that select the kernels of a runtime, and so may change its results.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A feature of a processor that an expectation can depend on, by its name in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct ProcessorFeature(&'static str);

/// Features of a processor. A feature of another architecture is absent.
pub type ProcessorFeatures = BTreeSet<ProcessorFeature>;

/// The features that are detected. AMX is not among them: the standard library has no stable test for it.
const FEATURES: [&str; 10] =
    ["avx2", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "dotprod", "fma", "i8mm", "neon", "sve"];

impl ProcessorFeature {
    /// Returns the features of the current processor.
    pub fn here() -> ProcessorFeatures {
        detected().into_iter().filter_map(|(name, is_present)| is_present.then_some(ProcessorFeature(name))).collect()
    }

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<(&'static str, bool)> {
    vec![
        ("avx2", is_x86_feature_detected!("avx2")),
        ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512_vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx_vnni", is_x86_feature_detected!("avxvnni")),
        ("fma", is_x86_feature_detected!("fma")),
    ]
}

#[cfg(target_arch = "aarch64")]
fn detected() -> Vec<(&'static str, bool)> {
    vec![
        ("dotprod", std::arch::is_aarch64_feature_detected!("dotprod")),
        ("i8mm", std::arch::is_aarch64_feature_detected!("i8mm")),
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("sve", std::arch::is_aarch64_feature_detected!("sve")),
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detected() -> Vec<(&'static str, bool)> {
    Vec::new()
}

/// Name of no processor feature that the harness detects.
#[derive(Debug, thiserror::Error)]
#[error("there is no processor feature '{name}' (known features: {known})", name = .0, known = FEATURES.join(", "))]
pub struct UnknownFeature(String);

impl TryFrom<String> for ProcessorFeature {
    type Error = UnknownFeature;

    fn try_from(name: String) -> Result<ProcessorFeature, UnknownFeature> {
        let known = FEATURES.into_iter().find(|known| *known == name);
        known.map(ProcessorFeature).ok_or(UnknownFeature(name))
    }
}

impl<'de> Deserialize<'de> for ProcessorFeature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProcessorFeature, D::Error> {
        ProcessorFeature::try_from(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl From<ProcessorFeature> for String {
    fn from(feature: ProcessorFeature) -> String {
        feature.0.to_owned()
    }
}

impl fmt::Display for ProcessorFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Formats the names of features as a list: `avx2, fma`.
pub fn feature_list<'a>(features: impl IntoIterator<Item = &'a ProcessorFeature>) -> String {
    features.into_iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detected_feature_has_a_known_name() {
        for (name, _) in detected() {
            assert_eq!(ProcessorFeature::try_from(name.to_owned()).unwrap().name(), name);
        }
        let error = ProcessorFeature::try_from("avx1024".to_owned()).unwrap_err();
        assert!(
            error.to_string().starts_with("there is no processor feature 'avx1024' (known features: avx2, avx512_bf16"),
            "{error}"
        );
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_system_reports_the_same_features() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap();
        let flags: BTreeSet<&str> = flags.split_whitespace().collect();
        for (name, is_present) in detected() {
            assert_eq!(flags.contains(name), is_present, "{name}");
        }
    }
}
