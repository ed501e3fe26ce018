//! Where an expectation applies.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::runtime::Declaration;

/// Where an expectation applies: all that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The operating system or processor as Rust names them: `linux`, `macos`, `windows`, `x86_64`, `aarch64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Versions of the runtime: comparisons with a comma between, such as `>=1.20, <1.23`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The comparisons that a version can be put to; those of two signs first.
const COMPARISONS: [&str; 6] = [">=", "<=", "==", "!=", ">", "<"];

impl Condition {
    /// Whether the condition can be understood.
    pub fn check(&self) -> Result<(), String> {
        if self.platform.is_none() && self.version.is_none() {
            return Err("an empty `when` says nothing; give it `platform` or `version`, or leave it out".to_owned());
        }
        self.comparisons().map(drop)
    }

    /// Whether the condition holds for a runtime on this machine.
    pub fn holds(&self, runtime: &Declaration) -> bool {
        let here = [std::env::consts::OS, std::env::consts::ARCH];
        let platform = self.platform.as_ref().is_none_or(|platform| here.contains(&platform.as_str()));
        let version = numbers(&runtime.version);
        let holds = |(sign, bound): &(&str, Vec<u64>)| {
            let length = version.len().max(bound.len());
            let padded =
                |numbers: &[u64]| (0..length).map(|at| numbers.get(at).copied().unwrap_or(0)).collect::<Vec<_>>();
            let order = padded(&version).cmp(&padded(bound));
            match *sign {
                ">=" => order.is_ge(),
                "<=" => order.is_le(),
                "==" => order.is_eq(),
                "!=" => order.is_ne(),
                ">" => order.is_gt(),
                _ => order.is_lt(),
            }
        };
        platform && self.comparisons().is_ok_and(|all| all.iter().all(holds))
    }

    fn comparisons(&self) -> Result<Vec<(&'static str, Vec<u64>)>, String> {
        let parts = self.version.iter().flat_map(|version| version.split(',')).map(str::trim);
        let read = |part: &str| {
            let sign = COMPARISONS.into_iter().find(|sign| part.starts_with(sign));
            let bound = sign.map(|sign| numbers(part.trim_start_matches(sign).trim()));
            sign.zip(bound.filter(|bound| !bound.is_empty())).ok_or_else(|| {
                format!("`version: {part}` is no comparison; write {} and a version", COMPARISONS.join(", "))
            })
        };
        parts.map(read).collect()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [("platform", &self.platform), ("version", &self.version)];
        let given: Vec<String> =
            fields.into_iter().filter_map(|(key, value)| Some(format!("{key}: {:?}", value.as_ref()?))).collect();
        write!(f, "{{{}}}", given.join(", "))
    }
}

/// The numbers of a version, up to the first part that is none: `1.23.0+cpu` is 1, 23, 0.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(comparison: &str, version: &str) -> bool {
        let condition = Condition { platform: None, version: Some(comparison.to_owned()) };
        assert_eq!(condition.check(), Ok(()));
        condition.holds(&Declaration::named("any", version))
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(holds(">=1.9", "1.10"));
        assert!(!holds("<1.9", "1.10.1"));
        assert!(holds(">=1.20, <1.23", "1.22.9+cpu"));
        assert!(!holds(">=1.20, <1.23", "1.23"));
        assert!(holds("==1.20", "1.20.0"));
        assert!(holds("!=1.20", "1.20.1"));
    }

    #[test]
    fn a_platform_is_a_system_or_a_processor() {
        let on = |platform: &str| Condition { platform: Some(platform.to_owned()), version: None };
        assert!(on(std::env::consts::OS).holds(&Declaration::named("any", "1")));
        assert!(on(std::env::consts::ARCH).holds(&Declaration::named("any", "1")));
        assert!(!on("beos").holds(&Declaration::named("any", "1")));
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        for wrong in ["1.20", ">= ", "~1", ">=x"] {
            let condition = Condition { platform: None, version: Some(wrong.to_owned()) };
            assert!(condition.check().is_err(), "{wrong}");
        }
        assert!(Condition::default().check().is_err());
    }
}
