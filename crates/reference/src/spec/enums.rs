//! `specs/enums.yaml`: allowed values of string attributes, which only the operators' texts define.

use serde::Deserialize;

use super::specs::Specs;
use super::version::OperatorVersion;
use super::yaml::{self, YamlError};

const PATH: &str = "enums.yaml";

/// Allowed values of string attributes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enums {
    strings: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    attribute: String,
    operators: Vec<String>,
    #[serde(default)]
    since: u32,
    /// Empty if any string is allowed.
    #[serde(default)]
    values: Vec<String>,
}

impl Enums {
    /// Reads the list from these specs.
    pub fn read(specs: &Specs) -> Result<Enums, Box<YamlError>> {
        yaml::read(&format!("specs/{PATH}"), specs.file(PATH).unwrap_or("strings: []"))
    }

    /// The values of an attribute at a version; empty if any string is allowed.
    pub fn values(&self, version: &OperatorVersion, attribute: &str) -> &[String] {
        self.entry(version, attribute).map_or(&[], |entry| &entry.values)
    }

    fn entry(&self, version: &OperatorVersion, attribute: &str) -> Option<&Entry> {
        let is_operator = |operator: &String| {
            operator.strip_prefix(&version.domain).and_then(|rest| rest.strip_prefix('/')) == Some(&version.name)
        };
        let entries = self.strings.iter().filter(|entry| {
            entry.attribute == attribute && entry.since <= version.since && entry.operators.iter().any(is_operator)
        });
        entries.max_by_key(|entry| entry.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::AttributeType;

    #[test]
    fn every_string_attribute_is_listed_and_nothing_else() {
        let specs = Specs::embedded();
        let enums = Enums::read(specs).unwrap();
        let mut used: Vec<*const Entry> = Vec::new();
        for version in specs.all() {
            for (name, attribute) in &specs.get(&version).unwrap().attributes {
                let is_text = matches!(attribute.kind, AttributeType::String | AttributeType::Strings);
                let entry = enums.entry(&version, name).filter(|_| is_text);
                assert_eq!(entry.is_some(), is_text, "{version} {name}");
                used.extend(entry.map(std::ptr::from_ref));
            }
        }
        for entry in &enums.strings {
            assert!(used.contains(&std::ptr::from_ref(entry)), "no version has {entry:?}");
            for operator in &entry.operators {
                let (domain, name) = operator.split_once('/').unwrap();
                assert!(specs.versions(domain, name).next().is_some(), "there is no {operator}");
            }
        }
    }

    #[test]
    fn a_later_list_takes_the_place_of_an_earlier_one() {
        let enums = Enums::read(Specs::embedded()).unwrap();
        let count = |since| enums.values(&OperatorVersion::new("", "Pad", since), "mode").len();
        assert_eq!((count(18), count(19), count(25)), (3, 4, 4));
    }
}
