//! Sample cases for the pages, one per behaviour: model, inputs and expected outputs, to read, copy and run.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use onnx_conformance_cases::case::{Case, CaseId};
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog, cases};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::run::Confirm as _;
use onnx_conformance_reference::proto::{Message as _, decode, encode};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::value::Value;
use serde::Serialize;

use crate::describe_case;
use crate::site::onnx_text::{make_node, model, numpy_type, python_elements};
use crate::site::playground::inputs_text;
use crate::site::table::VersionTable;

/// Maximum size of a model on a page, in bytes.
const MAX_BYTES: usize = 4_000;
/// Maximum size of an input that a page stores as bytes.
const MAX_INPUT: usize = 600;

/// A case to read, copy and run.
#[derive(Debug, Serialize)]
pub struct Sample {
    /// The id.
    id: String,
    /// Text with the model, the inputs and the expected outputs.
    text: String,
    /// Evidence for the expected outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    /// Control case of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<String>,
    /// The model in ONNX's text syntax.
    #[serde(skip_serializing_if = "Option::is_none")]
    onnx: Option<String>,
    /// The inputs of the first run in the same syntax.
    #[serde(skip_serializing_if = "Option::is_none")]
    feed: Option<String>,
    /// The node as a call of `helper.make_node`.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The model's bytes in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The inputs of the first run as Python expressions, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<(String, String)>>,
}

/// Samples of an operator.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// A case per behaviour: at the newest version that has it, with the first types.
    pub(crate) behaviours: BTreeMap<String, Sample>,
    /// Other requested cases, by id.
    pub(crate) others: BTreeMap<String, Sample>,
}

/// Returns a sample per behaviour in these versions, and the cases of these ids. `inspect` gets each case that is made for it.
pub(crate) fn samples(
    catalog: &OperatorCatalog,
    tables: &[VersionTable],
    evidence: &ConfirmingRuntimes<'_>,
    ids: &BTreeSet<&str>,
    inspect: &mut dyn FnMut(&Case),
) -> Result<Samples, GenerateError> {
    let mut samples = Samples::default();
    for table in tables.iter().rev() {
        let prefix = format!("{}/", table.version.qualified());
        let of_version = ids.iter().filter(|id| id.starts_with(&prefix));
        let mut wanted: BTreeMap<String, Option<&str>> = of_version.map(|id| ((*id).to_owned(), None)).collect();
        for (position, behaviour) in table.behaviours.iter().enumerate() {
            if samples.behaviours.contains_key(&behaviour.name) {
                continue;
            }
            let of_behaviour = || table.cases.iter().filter(|case| case.behaviour == position);
            let is_plain = |types: &[(String, String)]| types.iter().any(|(_, label)| label == "float");
            let chosen = of_behaviour().find(|case| is_plain(&case.types)).or_else(|| of_behaviour().next());
            wanted.extend(chosen.map(|case| (format!("{prefix}{}", case.name), Some(behaviour.name.as_str()))));
        }
        if wanted.is_empty() {
            continue;
        }
        for mut case in cases(catalog, &table.version, &|id| wanted.contains_key(id))? {
            inspect(&case);
            evidence.confirm(&mut case);
            match wanted.get(&case.id) {
                Some(Some(behaviour)) => samples.behaviours.insert((*behaviour).to_owned(), sample(&case)),
                _ => samples.others.insert(case.id.clone(), sample(&case)),
            };
        }
    }
    Ok(samples)
}

/// Makes the case of an id; `None` if no operator version of the suite has it.
pub fn case_sample(id: &str) -> Result<Option<Sample>, GenerateError> {
    let version = CaseId::parse(id).version().filter(|version| Specs::embedded().get(version).is_ok());
    let Some(version) = version else { return Ok(None) };
    let made = cases(OperatorCatalog::shared(), &version, &|planned| planned == id)?;
    Ok(made.first().map(sample))
}

fn sample(case: &Case) -> Sample {
    let decoded = decode::model(case.model.clone()).ok();
    let nodes = decoded.as_ref().and_then(|model| model.graph.as_ref()).map(|graph| graph.node.as_slice());
    let node = match nodes {
        Some([node]) => make_node(node),
        _ => None,
    };
    let inputs = || {
        let data = case.data.first()?;
        data.inputs.iter().map(|input| Some((input.name.clone(), expression(&input.value)?))).collect()
    };
    let is_small = case.model.len() <= MAX_BYTES;
    Sample {
        id: case.id.clone(),
        text: describe_case::describe_parts(case),
        evidence: case.evidence_text(),
        control: case.refusal.as_ref().map(|refusal| refusal.control.id.clone()),
        feed: case.data.first().filter(|_| is_small).and_then(|data| inputs_text(&data.inputs)),
        onnx: decoded.as_ref().filter(|_| is_small).and_then(model),
        node,
        model: is_small.then(|| BASE64.encode(&case.model)),
        inputs: is_small.then(inputs).flatten(),
    }
}

/// Formats a value as a Python expression: a numpy array, or a list of them. Types that numpy does not have are decoded by onnx.
pub(crate) fn expression(value: &Value) -> Option<String> {
    match value {
        Value::Tensor(tensor) => {
            if let (Some(name), Some(elements)) = (numpy_type(tensor.element_type()), python_elements(tensor)) {
                let shape: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
                return Some(format!("np.array([{elements}], dtype={name}).reshape([{}])", shape.join(", ")));
            }
            let bytes = encode::tensor(tensor, "").encode_to_vec();
            let is_small = bytes.len() <= MAX_INPUT;
            is_small.then(|| format!("tensor(\"{}\")", BASE64.encode(bytes)))
        }
        Value::Sequence(sequence) => {
            let items: Option<Vec<String>> = sequence.items.iter().map(expression).collect();
            items.map(|items| format!("[{}]", items.join(", ")))
        }
        Value::Optional(optional) => optional.item.as_deref().map_or(Some("None".to_owned()), expression),
        Value::Sparse(_) | Value::Map(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::OperatorVersion;

    fn samples_of(version: &str) -> BTreeMap<String, Sample> {
        let catalog = OperatorCatalog::shared();
        let version: OperatorVersion = version.parse().unwrap();
        let table = VersionTable::new(&version, &[]).unwrap();
        let (evidence, ids) = (ConfirmingRuntimes::empty(), BTreeSet::new());
        samples(catalog, &[table], &evidence, &ids, &mut |_| ()).unwrap().behaviours
    }

    #[test]
    fn a_behaviour_has_a_model_to_copy_and_inputs_to_run() {
        let samples = samples_of("ai.onnx/Sum-13");
        let sample = samples.get("broadcast_known_values").unwrap();
        assert!(sample.id.ends_with("/T=float"));
        assert!(sample.onnx.as_ref().unwrap().contains("sum_out = Sum (data_0_0, data_0_1)"), "{sample:?}");
        assert!(sample.node.as_ref().unwrap().starts_with("helper.make_node(\"Sum\", ["));
        let (_, first) = &sample.inputs.as_ref().unwrap()[0];
        assert_eq!(first, "np.array([1.0, 2.0], dtype=np.float32).reshape([2, 1])");
        let model = BASE64.decode(sample.model.as_ref().unwrap()).unwrap();
        assert!(decode::model(model.into()).unwrap().graph.is_some());
        assert!(samples.get("refuse/shapes_do_not_broadcast").unwrap().control.is_some());
    }

    #[test]
    fn requested_cases_are_added_to_the_samples_of_behaviours() {
        let versions = ["ai.onnx/Sum-8", "ai.onnx/Sum-13"];
        let tables = versions.map(|version| VersionTable::new(&version.parse().unwrap(), &[]).unwrap());
        let id = "ai.onnx/Sum-8/broadcast_known_values/T=double";
        let of_behaviour = "ai.onnx/Sum-13/broadcast_known_values/T=float";
        let ids = BTreeSet::from([id, of_behaviour, "ai.onnx/Sum-8/gone"]);
        let (catalog, evidence, mut inspected) = (OperatorCatalog::shared(), ConfirmingRuntimes::empty(), Vec::new());
        let mut inspect = |case: &Case| inspected.push(case.id.clone());
        let found = samples(catalog, &tables, &evidence, &ids, &mut inspect).unwrap();
        assert!(
            inspected.iter().any(|made| made == id) && inspected.len() == found.behaviours.len() + 1,
            "{inspected:?}"
        );
        assert_eq!(found.behaviours["broadcast_known_values"].id, of_behaviour);
        assert_eq!(found.others.keys().collect::<Vec<_>>(), [id]);
        assert!(found.others[id].text.contains("tensor(double)"), "{}", found.others[id].text);
    }

    #[test]
    fn any_case_is_made_by_its_id() {
        let made = case_sample("ai.onnx/Sum-8/broadcast_known_values/T=double").unwrap().unwrap();
        assert!(made.text.contains("tensor(double)"), "{}", made.text);
        let refused = case_sample("ai.onnx/Sum-13/refuse/shapes_do_not_broadcast").unwrap().unwrap();
        assert!(refused.control.is_some());
        for id in ["ai.onnx/Sum-8/gone", "ai.onnx/Gone-1/a", "ai.onnx/Sum-2/a", "graph/a/b/good", ""] {
            assert!(case_sample(id).unwrap().is_none(), "{id}");
        }
    }

    #[test]
    fn a_type_that_numpy_does_not_have_is_read_by_onnx() {
        let samples = samples_of("ai.onnx/Sum-13");
        let (_, input) = &samples.get("beyond_float16").unwrap().inputs.as_ref().unwrap()[0];
        assert!(input.starts_with("tensor(\""), "{input}");
    }
}
