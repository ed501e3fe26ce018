//! `specs/exclusions.yaml`: items that no case can reach, with reasons.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use serde::Deserialize;

use crate::coverage::item::CoverageItem;

/// Items that no case can reach, with reasons.
#[derive(Debug, Default)]
pub struct Exclusions {
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The closed list of reasons, by short name.
    reasons: BTreeMap<String, String>,
    exclusions: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    reason: String,
    /// Item names as in the list of missing items, after their group. A trailing `*` matches anything.
    items: Vec<String>,
    /// `ai.onnx/Abs` for all versions, or `ai.onnx/Abs-13` for one.
    operators: Vec<String>,
}

const PATH: &str = "exclusions.yaml";

impl Exclusions {
    /// Returns the embedded exclusions.
    pub fn embedded() -> Result<Exclusions, Box<YamlError>> {
        let text = Specs::embedded().file(PATH).unwrap_or("{reasons: {}, exclusions: []}");
        Exclusions::read(&format!("specs/{PATH}"), text)
    }

    /// Parses the file. `path` is its name in errors.
    pub fn read(path: &str, text: &str) -> Result<Exclusions, Box<YamlError>> {
        let file: File = yaml::read(path, text)?;
        for entry in &file.exclusions {
            if !file.reasons.contains_key(&entry.reason) {
                let wanted = format!("reason: {}", entry.reason);
                let place = text.lines().enumerate().find_map(|(line, text)| Some((line + 1, text.find(&wanted)? + 9)));
                let help = "the reasons are a closed list; write a new one under `reasons`".to_owned();
                let message = format!("there is no reason '{}'", entry.reason);
                return Err(Box::new(YamlError::new(path, text, place.unwrap_or((1, 1)), message, Some(help))));
            }
        }
        Ok(Exclusions { entries: file.exclusions })
    }

    /// Returns the reason why an item of a version cannot be reached, if there is one.
    pub fn reason(&self, version: &OperatorVersion, item: &CoverageItem) -> Option<&str> {
        let (operator, version) = (format!("{}/{}", version.domain, version.name), version.qualified());
        let name = format!("{} {item}", item.kind.group());
        let entry = self.entries.iter().find(|entry| {
            entry.items.iter().any(|pattern| fits(pattern, &name))
                && entry.operators.iter().any(|other| *other == operator || *other == version)
        })?;
        Some(&entry.reason)
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::item::{CoverageKind, items};

    const TEXT: &str = "
reasons: {bounded: the result is no larger than an input}
exclusions:
  - {reason: bounded, items: [values overflow, types T=*], operators: [ai.onnx/Abs, ai.onnx/Neg-13]}
";

    #[test]
    fn an_excuse_is_for_an_operator_or_a_version() {
        let exclusions = Exclusions::read("exclusions.yaml", TEXT).unwrap();
        let reason = |name, since, item: &CoverageItem| {
            exclusions.reason(&OperatorVersion::new("", name, since), item).is_some()
        };
        let overflow = CoverageItem::new(CoverageKind::Overflow);
        assert!(reason("Abs", 6, &overflow) && reason("Abs", 13, &overflow) && reason("Neg", 13, &overflow));
        assert!(!reason("Neg", 6, &overflow));
        assert!(reason("Abs", 6, &CoverageItem::named(CoverageKind::TypeCell, "T=tensor(bool)")));
        assert!(!reason("Abs", 6, &CoverageItem::new(CoverageKind::NotANumber)));
    }

    #[test]
    fn every_excuse_is_for_something_that_there_is() {
        let specs = Specs::embedded();
        let named = |version: &OperatorVersion| {
            let items = items(specs.get(version).unwrap(), *specs.released_opsets(version).unwrap().end());
            items.iter().map(|item| format!("{} {item}", item.kind.group())).collect::<Vec<_>>()
        };
        let mut unused = Vec::new();
        for entry in &Exclusions::embedded().unwrap().entries {
            for operator in &entry.operators {
                let stands_for = |version: &OperatorVersion| {
                    version.qualified() == *operator || format!("{}/{}", version.domain, version.name) == *operator
                };
                let names: Vec<String> = specs.all().filter(stands_for).flat_map(|version| named(&version)).collect();
                let is_used = |pattern: &String| names.iter().any(|name| fits(pattern, name));
                if !entry.items.iter().any(is_used) {
                    unused.push(format!("{operator} has none of {:?}", entry.items));
                }
            }
        }
        assert!(unused.is_empty(), "{unused:#?}");
    }

    #[test]
    fn a_reason_outside_the_list_is_refused_where_it_stands() {
        let error = Exclusions::read("exclusions.yaml", &TEXT.replace("reason: bounded", "reason: lazy")).unwrap_err();
        assert_eq!(error.to_string(), "exclusions.yaml:4: there is no reason 'lazy'");
    }
}
