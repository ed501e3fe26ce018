//! `specs/enums.yaml`: the values that a version's text lists for a string attribute.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs, yaml};
use serde::Deserialize;

const PATH: &str = "enums.yaml";

#[derive(Default, Deserialize)]
struct EnumsFile {
    strings: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    attribute: String,
    operators: Vec<String>,
    #[serde(default)]
    since: u32,
    values: Option<Vec<String>>,
}

/// The values by operator and attribute, each list with the version from which on it holds, ascending.
type Values = BTreeMap<(String, String), Vec<(u32, Option<Vec<String>>)>>;

/// The values that an attribute of an operator version may have; nothing where any text may stand.
pub(crate) fn allowed(spec: &OpSpec, attribute: &str) -> Option<&'static [String]> {
    static VALUES: OnceLock<Values> = OnceLock::new();
    let OperatorVersion { domain, name, since } = &spec.version;
    let lists = VALUES.get_or_init(read).get(&(format!("{domain}/{name}"), attribute.to_owned()))?;
    lists.iter().rev().find(|(first, _)| first <= since)?.1.as_deref()
}

fn read() -> Values {
    let text = Specs::embedded().file(PATH).unwrap_or_default();
    let file: EnumsFile = yaml::read(PATH, text).unwrap_or_default();
    let mut values = Values::new();
    for entry in file.strings {
        for operator in entry.operators {
            let lists = values.entry((operator, entry.attribute.clone())).or_default();
            lists.push((entry.since, entry.values.clone()));
            lists.sort_by_key(|(since, _)| *since);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_those_of_the_version() {
        let values = |since| allowed(Specs::embedded().find("", "GridSample", since).unwrap(), "mode");
        assert_eq!(values(16).unwrap(), ["bilinear", "nearest", "bicubic"]);
        assert_eq!(values(20).unwrap(), ["linear", "nearest", "cubic"]);
    }
}
