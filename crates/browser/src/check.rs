//! Check and conversion of a model.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::{PlacedEdit, Target, convert_within};
use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::scan::scan;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::GraphProto;
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_report::models::{
    CheckQuestions, DrawnModel, InputPlan, NamedModel, Proof, RunFailure, RunLoaded, RuntimeReport, Trials,
    broken_rule, examine_source, generated_trial,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::RequestError;
use crate::play::run_model;

/// Number of generated inputs on which both models are run and compared.
const TRIALS: usize = 3;

/// Requested opset and IR version.
#[derive(Debug, Deserialize)]
pub(crate) struct ConvertRequest {
    /// The domain of the opset.
    domain: String,
    /// The opset.
    opset: Option<i64>,
    /// The IR version.
    ir: Option<i64>,
}

/// Returns the results of a check, including every measured version of every runtime.
pub(crate) fn check(name: &str, file: &[u8], deadline: &Deadline) -> Value {
    let limits = Limits { deadline: deadline.clone(), ..Limits::default() };
    let source = file.to_vec();
    let model = NamedModel { name, bytes: &source, folder: None };
    let report = examine_source(&model, &CheckQuestions::default(), &limits);
    let (all, mut runtimes) = (Measurements::embedded(), Vec::new());
    for (runtime, versions) in all.runtimes() {
        // A malformed measurement is skipped; the project's tests read every one.
        runtimes.extend(versions.into_iter().filter_map(|version| all.get(runtime, version).ok().flatten()));
    }
    let wanted = CheckQuestions { runtimes, ..CheckQuestions::default() };
    let measured = examine_source(&model, &wanted, &limits).runtimes;
    json!({
        "status": report.status,
        "verdict": report.verdict,
        "facts": report.facts,
        "same_operators": report.same_operators,
        "unedited": report.unedited,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "runtimes": measured.iter().map(runtime).collect::<Vec<_>>(),
        "graph": graph(file, &limits),
    })
}

/// Returns the graphs of a model for a drawing; `None` if the file is not a model.
fn graph(file: &[u8], limits: &Limits) -> Option<DrawnModel> {
    Some(DrawnModel::new(&scan(file, limits).ok()?.model, limits))
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
    let kind = |kind: &onnx_conformance_report::models::KindReport| {
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
        "graphs": report.graphs.iter().map(|graph| json!({"says": graph.to_string(), "case": graph.case})).collect::<Vec<_>>(),
    })
}

/// Returns the converted model with its edits and the proof, or the reasons for a refusal.
pub(crate) fn convert(
    request: &ConvertRequest,
    file: &[u8],
    deadline: &Deadline,
) -> Result<(Value, Vec<u8>), RequestError> {
    let limits = Limits { deadline: deadline.clone(), ..Limits::default() };
    let scan = scan(file, &limits).map_err(|finding| RequestError::NotAModel(finding.message))?;
    if let Some(error) = scan.findings.kept().iter().find(|finding| finding.level == Level::Error) {
        return Err(RequestError::NotAModel(error.message.clone()));
    }
    let model = scan.model;
    let domain = canonical_domain(&request.domain).to_owned();
    if !model.opset_import.iter().any(|import| canonical_domain(import.domain()) == domain) {
        return Err(RequestError::NotImported(domain));
    }
    let opsets = request.opset.map(|opset| BTreeMap::from([(domain, opset)])).unwrap_or_default();
    let target = Target { opsets, ir: request.ir, relabel_only: false };
    let sentences = |edits: &[PlacedEdit]| edits.iter().map(ToString::to_string).collect::<Vec<_>>();
    let conversion = match convert_within(&model, &target, &limits) {
        Ok(conversion) => conversion,
        Err(refusal) => return Ok((json!({ "reasons": sentences(&refusal.reasons) }), Vec::new())),
    };
    let edits = sentences(&conversion.edits);
    let converted = match conversion.file(&model, file) {
        Ok(converted) => Bytes::from(converted.bytes(file)),
        Err(error) => return Ok((json!({ "edits": edits, "reasons": [error.to_string()] }), Vec::new())),
    };
    if let Some(finding) = broken_rule(&converted, &limits).filter(|_| broken_rule(file, &limits).is_none()) {
        let reason = format!("the converted model breaks a rule and is withheld: {finding}");
        return Ok((json!({ "edits": edits, "reasons": [reason] }), Vec::new()));
    }
    Ok(match proof(model.graph.as_ref(), &Bytes::copy_from_slice(file), &converted, &limits)? {
        Proof::Same(text) | Proof::NotVerified(text) => {
            (json!({ "edits": edits, "proof": text, "graph": graph(&converted, &limits) }), converted.into())
        }
        Proof::Differs(text) => {
            let reason = format!("the converted model has different outputs and is withheld: {text}");
            (json!({ "edits": edits, "reasons": [reason] }), Vec::new())
        }
    })
}

fn proof(graph: Option<&GraphProto>, before: &Bytes, after: &Bytes, limits: &Limits) -> Result<Proof, RequestError> {
    let Some(graph) = graph else { return Ok(Proof::not_verified("the model has no graph")) };
    let plan = InputPlan::new(graph);
    match generated_trial(&plan, 0, 0, limits) {
        Ok(_) => {}
        Err(RunFailure::Limit(reason)) => return Err(RequestError::Limit(reason)),
        Err(RunFailure::Model(reason) | RunFailure::Never(reason)) => {
            return Ok(Proof::not_verified(&format!("{reason}; on the command line, `convert` accepts --inputs")));
        }
    }
    let load = |model: &Bytes| {
        let model = model.clone();
        let run: RunLoaded<'_> = Box::new(move |values, _| {
            run_model(&model, values, &limits.deadline).map_err(|error| {
                let reason = error.to_string();
                if limits.deadline.is_over() { RunFailure::Limit(reason) } else { RunFailure::Model(reason) }
            })
        });
        Ok(run)
    };
    let inputs = |number: usize, way: usize| generated_trial(&plan, way, number, limits);
    let trials = Trials { count: TRIALS, ways: &|_| plan.ways(), inputs: &inputs, load: &load };
    let expected = trials.before(before).map_err(|error| RequestError::Limit(error.0))?;
    trials.after(&expected, after).map_err(|error| RequestError::Limit(error.0))
}
