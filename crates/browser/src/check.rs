//! The check of a model, and its conversion.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance::measure::Measurements;
use onnx_conformance::models::{Proof, RuntimeReport, Wanted, examine_source, made_up_trials, prove};
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::{PlacedEdit, Target};
use onnx_conformance_check::finding::Finding;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::canonical_domain;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::play::run_model;

/// On how many inputs that are made up both models are run and compared.
const TRIALS: usize = 3;

/// What a model is to become.
#[derive(Debug, Deserialize)]
pub(crate) struct ConvertRequest {
    /// The domain that the opset is of.
    domain: String,
    /// The opset.
    opset: Option<i64>,
    /// The IR version.
    ir: Option<i64>,
}

/// What a check says of a model, with every measured version of every runtime.
pub(crate) fn check(name: &str, file: &[u8], deadline: &Deadline) -> Value {
    let limits = Limits { deadline: deadline.clone(), ..Limits::default() };
    let source = file.to_vec();
    let report = examine_source(name, &source, None, &Wanted::default(), &limits);
    let (all, mut runtimes) = (Measurements::embedded(), Vec::new());
    for (runtime, versions) in all.runtimes() {
        // A measurement that is broken says nothing; the project's tests read every one.
        runtimes.extend(versions.into_iter().filter_map(|version| all.get(runtime, version).ok().flatten()));
    }
    let wanted = Wanted { runtimes, ..Wanted::default() };
    let measured = examine_source(name, &source, None, &wanted, &limits).runtimes;
    json!({
        "status": report.status,
        "verdict": report.verdict,
        "facts": report.facts,
        "same_operators": report.same_operators,
        "unedited": report.unedited,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "runtimes": measured.iter().map(runtime).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    let inputs: Vec<String> = finding.inputs.iter().map(ToString::to_string).collect();
    json!({
        "level": finding.level.to_string(),
        "rule": finding.rule.to_string(),
        "place": finding.place.to_string(),
        "message": finding.message,
        "inputs": inputs.join(", "),
        "from": finding.origin.as_ref().map(ToString::to_string),
        "edit": finding.edit,
    })
}

fn runtime(report: &RuntimeReport) -> Value {
    let kind = |kind: &onnx_conformance::models::KindReport| {
        json!({
            "kind": kind.kind,
            "settings": kind.settings,
            "nodes": kind.nodes,
            "first": kind.first,
            "says": kind.says(),
            "verdict": kind.answer.verdict,
            "case": kind.answer.case,
        })
    };
    json!({
        "runtime": report.runtime,
        "version": report.version,
        "verdict": report.verdict.to_string(),
        "refused": report.refused,
        "kinds": report.kinds.iter().map(kind).collect::<Vec<_>>(),
    })
}

/// The model as it was asked for, its edits and the proof; or why there is none.
pub(crate) fn convert(wanted: &ConvertRequest, file: &[u8], deadline: &Deadline) -> Result<(Value, Vec<u8>), String> {
    let model =
        decode::model(Bytes::copy_from_slice(file)).map_err(|error| format!("the file holds no model: {error}"))?;
    let domain = canonical_domain(&wanted.domain).to_owned();
    if !model.opset_import.iter().any(|import| canonical_domain(import.domain()) == domain) {
        return Err(format!("the model imports no opset of {domain}"));
    }
    let opsets = wanted.opset.map(|opset| BTreeMap::from([(domain, opset)])).unwrap_or_default();
    let target = Target { opsets, ir: wanted.ir, relabel_only: false };
    let sentences = |edits: &[PlacedEdit]| edits.iter().map(ToString::to_string).collect::<Vec<_>>();
    let conversion = match onnx_conformance_check::convert::convert(&model, &target) {
        Ok(conversion) => conversion,
        Err(refusal) => return Ok((json!({ "reasons": sentences(&refusal.reasons) }), Vec::new())),
    };
    let edits = sentences(&conversion.edits);
    Ok(match proof(&model, &conversion.model, deadline) {
        Proof::Same(text) | Proof::NotVerified(text) => {
            (json!({ "edits": edits, "proof": text }), conversion.model.encode_to_vec())
        }
        Proof::Differs(text) => {
            let reason = format!("the converted model gives something else, and is not given: {text}");
            (json!({ "edits": edits, "reasons": [reason] }), Vec::new())
        }
    })
}

fn proof(before: &ModelProto, after: &ModelProto, deadline: &Deadline) -> Proof {
    let Some(graph) = &before.graph else { return Proof::not_verified("the model has no graph") };
    let inputs = match made_up_trials(graph, TRIALS) {
        Ok(inputs) => inputs,
        Err(why) => return Proof::not_verified(&format!("{why}; the program's `convert` takes --inputs")),
    };
    prove(before, after, &inputs, &|model, values| run_model(model, values, deadline))
}
