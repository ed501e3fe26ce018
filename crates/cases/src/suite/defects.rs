//! `defects.yaml`: defective vendored tests, which a correct implementation may fail, each with the reason.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{ValueInfoProto, decode};
use onnx_conformance_reference::spec::yaml;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::Deserialize;

use crate::case::{Case, Expected, Level, UpstreamOverride};
use crate::suite::SuiteError;
use crate::suite::releases::release_key;

/// A defective test and its replacement rule. Without `outputs_of`, `stored_as` or `level` it is recorded and not
/// judged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// The test, such as `node/test_abs`.
    pub test: String,
    /// The first release with the defect.
    pub from: String,
    /// The last release with the defect.
    pub to: String,
    /// The later release whose outputs for the same model and inputs are expected instead.
    #[serde(default)]
    pub outputs_of: Option<String>,
    /// The element type in which values are stored, with the bits of the declared one.
    #[serde(default)]
    pub stored_as: Option<String>,
    /// The level of a test that stores one of several results that the standard allows: `recommended` or `open`.
    #[serde(default)]
    pub level: Option<Level>,
    /// The defect, and the sentence of the standard that it breaks.
    pub because: String,
}

/// All defects by test.
#[derive(Debug, Default)]
pub struct Defects {
    by_test: BTreeMap<String, Vec<Defect>>,
}

impl Defects {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Defects, SuiteError> {
        let file_error = |rule: String| SuiteError::File { path: "testdata/onnx/defects.yaml".into(), rule };
        let list: Vec<Defect> = yaml::read("defects.yaml", text).map_err(|error| file_error(error.message))?;
        let mut defects = Defects::default();
        for defect in list {
            let Defect { test, from, to, .. } = &defect;
            if release_key(from) > release_key(to) {
                return Err(file_error(format!("{test}: the first release, {from}, is later than the last, {to}")));
            }
            let ways = [defect.outputs_of.is_some(), defect.stored_as.is_some(), defect.level.is_some()];
            if ways.into_iter().filter(|is_given| *is_given).count() > 1 {
                return Err(file_error(format!("{test}: write only one of outputs_of, stored_as and level")));
            }
            if defect.level == Some(Level::Required) {
                return Err(file_error(format!("{test}: the level of a listed test must be recommended or open")));
            }
            let others = defects.by_test.entry(test.clone()).or_default();
            if let Some(other) = others.iter().find(|other| other.has(from) || defect.has(&other.from)) {
                return Err(file_error(format!("{test}: {from} to {to} and {} to {} overlap", other.from, other.to)));
            }
            others.push(defect);
        }
        Ok(defects)
    }

    /// Returns the defect of a test in a release.
    pub fn find(&self, release: &str, test: &str) -> Option<&Defect> {
        self.by_test.get(test)?.iter().find(|defect| defect.has(release))
    }

    /// Returns all defects in the order of the tests.
    pub fn iter(&self) -> impl Iterator<Item = &Defect> {
        self.by_test.values().flatten()
    }
}

impl Defect {
    /// Returns true if a release has the defect.
    pub fn has(&self, release: &str) -> bool {
        (release_key(&self.from)..=release_key(&self.to)).contains(&release_key(release))
    }

    /// Returns true if the test is recorded and not judged.
    pub fn is_open(&self) -> bool {
        self.outputs_of.is_none() && self.stored_as.is_none() && self.level.is_none()
    }

    /// Returns true if the test stores one of several results that the standard allows.
    pub fn is_one_of_several(&self) -> bool {
        self.level.is_some()
    }

    /// Applies the defect's rule to a case. `later` is the test of the release that `outputs_of` names.
    pub(super) fn apply(&self, case: &mut Case, later: Option<Case>) {
        if let Some(later) = later {
            for (data, mended) in case.data.iter_mut().zip(later.data) {
                data.outputs = mended.outputs;
            }
            case.judged = Some(UpstreamOverride::Mended);
        } else if let Some(stored) = self.stored_as.as_deref() {
            restore(case, stored);
            case.judged = Some(UpstreamOverride::Restored);
        } else {
            case.level = self.level.unwrap_or(Level::Open);
            if case.level == Level::Open {
                case.evidence.clear();
            }
            let is_ambiguous = self.is_one_of_several();
            case.judged = Some(if is_ambiguous { UpstreamOverride::Ambiguous } else { UpstreamOverride::Defective });
        }
    }
}

/// Reinterprets the bits of values stored as `stored` as the element type that the model declares.
fn restore(case: &mut Case, stored: &str) {
    let Some(graph) = decode::model(case.model.clone()).ok().and_then(|model| model.graph) else { return };
    let infos = graph.input.iter().chain(&graph.output);
    let declared: BTreeMap<&str, ElementType> = infos.filter_map(|info| Some((info.name(), element(info)?))).collect();
    let bits = |name: &str, value: &mut Value| {
        let Some((tensor, element)) = value.as_tensor().zip(declared.get(name)) else { return };
        if tensor.element_type().to_string() == stored && tensor.element_type() != *element {
            let restored = Tensor::from_bytes(*element, tensor.shape().to_vec(), tensor.bytes().clone());
            // If the widths differ, the value stays, and the run of the case reports it.
            if let Ok(restored) = restored {
                *value = Value::Tensor(restored);
            }
        }
    };
    for data in &mut case.data {
        for input in &mut data.inputs {
            bits(&input.name, &mut input.value);
        }
        for output in &mut data.outputs {
            if let Expected::Value(value, _) = &mut output.expected {
                bits(&output.name, value);
            }
        }
    }
}

fn element(info: &ValueInfoProto) -> Option<ElementType> {
    match decode::value_type(info.r#type.as_ref()?).ok()? {
        ValueType::Tensor(element) => Some(element),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_file_is_named() {
        let entry = |from: &str, to: &str| format!("- {{test: node/a, from: {from}, to: {to}, because: b}}\n");
        let defects = Defects::parse(&format!("{}{}", entry("1.2.2", "1.9.0"), entry("1.10.0", "1.10.2"))).unwrap();
        assert_eq!(defects.find("1.10.1", "node/a").map(|defect| defect.from.as_str()), Some("1.10.0"));
        assert_eq!(defects.find("1.10.1", "node/b"), None);
        assert_eq!(defects.find("1.11.0", "node/a"), None);
        for (text, expected) in [
            (entry("1.10.0", "1.9.0"), "is later than"),
            (format!("{}{}", entry("1.2.2", "1.9.0"), entry("1.9.0", "1.10.0")), "overlap"),
            (format!("{}{}", entry("1.9.0", "1.9.0"), entry("1.2.2", "1.10.0")), "overlap"),
            (entry("1.9.0", "1.9.0").replace("because", "why"), "why"),
            (entry("1.9.0", "1.9.0").replace("because", "stored_as: a, outputs_of: b, because"), "write only one of"),
            (
                entry("1.9.0", "1.9.0").replace("because", "level: recommended, stored_as: a, because"),
                "write only one of",
            ),
            (entry("1.9.0", "1.9.0").replace("because", "level: required, because"), "recommended or open"),
        ] {
            let error = Defects::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
