//! The outcome of a tool that rewrites models: the new model must be valid, keep its interface, and compute the outputs that the case
//! expects or, for another precision, nearly those of the model of the case.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use onnx_conformance_cases::case::Case;
use onnx_conformance_check::{Level, Limits, check};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto, decode,
};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs, canonical_domain};
use onnx_conformance_subject::{Ask, Builtin};

use crate::run::{CaseResult, Outcome, judge_outputs};

/// Time limit of the built-in executor for a rewritten model.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Compares the outputs of a rewritten model with those of the case or of its model.
pub(super) type CompareOutputs<'a> = &'a dyn Fn(&Case, &Bytes, &Builtin) -> CaseResult;

/// Judges the model that a tool made of that of a case: it has the outputs that the case expects.
pub(super) fn judge(case: &Case, ask: Ask, model: &Bytes, result: &mut CaseResult) {
    judge_by(&has_expected_outputs, (case, ask), model, result);
}

/// Judges the model that a tool made of that of a case, with a comparison of their outputs.
pub(super) fn judge_by(
    compare_outputs: CompareOutputs<'_>,
    (case, ask): (&Case, Ask),
    model: &Bytes,
    result: &mut CaseResult,
) {
    if let Err((outcome, message)) = examine(case, ask, model) {
        (result.outcome, result.message) = (outcome, message);
        return;
    }
    let ran = compare_outputs(case, model, &Builtin::new(TIMEOUT));
    result.ulps = ran.ulps;
    result.distance = ran.distance;
    (result.outcome, result.message) = match ran.outcome {
        Outcome::Error | Outcome::Unsupported => {
            (Outcome::InvalidModel, format!("the resulting model does not run: {}", ran.message))
        }
        // The limit applies to the built-in executor, not to the tool.
        outcome if outcome.is_limit() => {
            (Outcome::NotApplicable, format!("the resulting model is not judged: {}", ran.message))
        }
        outcome => (outcome, ran.message),
    };
}

/// Runs a model on the inputs of the case, and compares its outputs with those that the case expects.
fn has_expected_outputs(case: &Case, model: &Bytes, host: &Builtin) -> CaseResult {
    let ran = judge_outputs(&Case { model: model.clone(), ..case.clone() }, host);
    if ran.outcome != Outcome::Mismatch {
        return ran;
    }
    // The executor's image library rounds decoded JPEG differently than the case expects. That is not a fault of the tool.
    let original = judge_outputs(case, host);
    if original.outcome == Outcome::Pass {
        return ran;
    }
    let message = format!("the built-in executor does not pass the original model either: {}", original.message);
    CaseResult { outcome: Outcome::NotApplicable, message, ..CaseResult::for_case(case) }
}

/// Checks everything about a rewritten model but its outputs.
fn examine(case: &Case, ask: Ask, bytes: &Bytes) -> Result<(), (Outcome, String)> {
    let invalid = |message: String| (Outcome::InvalidModel, message);
    let model = decode::model(bytes.clone()).map_err(|error| invalid(format!("the result is not a model: {error}")))?;
    let before = decode::model(case.model.clone()).unwrap_or_default();
    if let Some(opset) = ask.opset {
        let is = imported(&model);
        if is != Some(i64::from(opset)) {
            let is = is.map_or_else(|| "no opset".to_owned(), |is| format!("opset {is}"));
            return Err((Outcome::WrongOpset, format!("the resulting model imports {is} of ai.onnx, not {opset}")));
        }
    }
    check_interface(&before, &model).map_err(|message| (Outcome::WrongInterface, message))?;
    if let Some((domain, name)) = foreign_operator(&model) {
        let operator = format!("{domain}/{name}");
        if before.functions.iter().any(|it| canonical_domain(it.domain()) == domain && it.name() == name) {
            return Err(invalid(format!("the resulting model calls {operator}, but has lost this function")));
        }
        let message =
            format!("the resulting model contains {operator}, which is no operator of ONNX, and is not judged");
        return Err((Outcome::NotApplicable, message));
    }
    let limits = Limits { deadline: Deadline::never(), ..Limits::default() };
    let report = check(bytes.as_ref(), None, &limits);
    match report.findings.iter().find(|finding| finding.level == Level::Error) {
        Some(finding) => Err(invalid(format!("the resulting model is invalid: {finding}"))),
        None => Ok(()),
    }
}

/// Returns the opset of ONNX's default domain that a model imports.
fn imported(model: &ModelProto) -> Option<i64> {
    let mut imports = model.opset_import.iter();
    imports.find(|import| canonical_domain(import.domain()) == DEFAULT_DOMAIN).map(OperatorSetIdProto::version)
}

/// Returns an error if the inputs or outputs of a model have other names or another order than before.
fn check_interface(before: &ModelProto, after: &ModelProto) -> Result<(), String> {
    let (Some(before), Some(after)) = (&before.graph, &after.graph) else { return Ok(()) };
    // An input with a default may become an initializer or go.
    let defaults: BTreeSet<&str> = [before, after].into_iter().flat_map(initializers).collect();
    let inputs = |graph: &GraphProto| -> Vec<String> {
        let names = graph.input.iter().map(ValueInfoProto::name);
        names.filter(|name| !defaults.contains(name)).map(str::to_owned).collect()
    };
    let outputs = |graph: &GraphProto| -> Vec<String> { graph.output.iter().map(|it| it.name().to_owned()).collect() };
    for (kind, old, new) in [("inputs", inputs(before), inputs(after)), ("outputs", outputs(before), outputs(after))] {
        if old != new {
            return Err(format!(
                "the {kind} of the resulting model are [{}], not [{}]",
                new.join(", "),
                old.join(", ")
            ));
        }
    }
    Ok(())
}

fn initializers(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    graph.initializer.iter().chain(sparse).map(TensorProto::name)
}

/// Returns an operator of a domain that is neither ONNX's nor that of a function of the model.
fn foreign_operator(model: &ModelProto) -> Option<(&str, &str)> {
    let functions: BTreeSet<(&str, &str)> =
        model.functions.iter().map(|function| (canonical_domain(function.domain()), function.name())).collect();
    let is_known = |node: &NodeProto| {
        let domain = canonical_domain(node.domain());
        Specs::embedded().domains().any(|known| known == domain) || functions.contains(&(domain, node.op_type()))
    };
    let bodies = model.functions.iter().map(|function| function.node.as_slice());
    let mut pending: Vec<&[NodeProto]> = model.graph.iter().map(|graph| graph.node.as_slice()).chain(bodies).collect();
    while let Some(nodes) = pending.pop() {
        for node in nodes {
            if !is_known(node) {
                return Some((canonical_domain(node.domain()), node.op_type()));
            }
            pending
                .extend(node.attribute.iter().flat_map(AttributeProto::all_graphs).map(|graph| graph.node.as_slice()));
        }
    }
    None
}
