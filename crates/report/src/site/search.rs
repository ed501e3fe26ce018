//! Data of the search: attributes with their values, and rules, by operator.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::generate::OperatorFile;
use serde::Serialize;

use crate::site::table::VersionTable;

/// Words of an operator that the search finds.
#[derive(Debug, Serialize)]
pub(crate) struct OperatorWords {
    /// Attributes of all versions, each with the strings that its cases set.
    attributes: BTreeMap<String, BTreeSet<String>>,
    /// Id and sentence of each rule.
    rules: Vec<(String, String)>,
}

impl OperatorWords {
    /// Collects the words of an operator's versions.
    pub(crate) fn new(file: &OperatorFile, tables: &[VersionTable]) -> OperatorWords {
        let mut attributes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for table in tables {
            for name in table.spec.attributes.keys() {
                attributes.entry(name.clone()).or_default();
            }
            for setting in table.cases.iter().flat_map(|case| case.settings.split(' ')) {
                let Some((name, value)) = setting.split_once('=') else { continue };
                // Numbers are not words: `axis=1`.
                if value.starts_with(|c: char| c.is_ascii_alphabetic())
                    && let Some(values) = attributes.get_mut(name)
                {
                    values.insert(value.to_owned());
                }
            }
        }
        let rules = file.constraints.0.iter().map(|(id, rule)| (id.clone(), rule.says.clone())).collect();
        OperatorWords { attributes, rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::generate::OperatorCatalog;
    use onnx_conformance_reference::spec::OperatorVersion;

    #[test]
    fn an_operator_has_its_attributes_their_values_and_its_rules() {
        let version: OperatorVersion = "ai.onnx/Resize-19".parse().unwrap();
        let table = VersionTable::new(&version, &[]).unwrap();
        let catalog = OperatorCatalog::embedded();
        let words = OperatorWords::new(catalog.get(&version).unwrap(), &[table]);
        assert!(words.attributes["mode"].contains("cubic"), "{words:?}");
        assert!(words.attributes["antialias"].is_empty(), "{words:?}");
        assert!(words.rules.iter().any(|(id, says)| id == "C9" && says.starts_with("nearest_mode")), "{words:?}");
    }
}
