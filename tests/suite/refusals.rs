//! A refusal names its rule. The built-in executor must refuse each case that violates a rule of an op.yaml by that rule, not for
//! another reason by chance.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::Case;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::value::Value;

use crate::{FOUND, Made, is_everything_meant};

/// Returns why the built-in executor refuses a case; `None` if it runs.
fn refusal(case: &Case) -> Option<String> {
    let model = match read_model(case.model.clone(), &NoExternalData, &LoadLimits::default()) {
        Ok(model) => model,
        Err(error) => return Some(error.to_string()),
    };
    let inputs = case.data.iter().flat_map(|data| &data.inputs);
    let inputs: BTreeMap<String, Value> = inputs.map(|input| (input.name.clone(), input.value.clone())).collect();
    run(&model, inputs, ExecutionLimits::default()).err().map(|error| error.to_string())
}

/// Checks that each case that violates a rule is refused by it.
pub(crate) fn check(made: &Made) -> Vec<Result<(), String>> {
    let check = |case: &Case| {
        let rule = format!("{}/{}", made.version.name, case.rule.as_ref()?.id);
        let message = refusal(case).unwrap_or_else(|| "it runs".to_owned());
        let is_named = message.ends_with(&format!("({rule})"));
        Some(if is_named { Ok(()) } else { Err(format!("{} breaks {rule}: {message}", case.id)) })
    };
    made.cases.iter().filter(|case| case.id.contains("/refuse/")).filter_map(check).collect()
}

#[test]
fn a_kernel_names_the_rule_that_a_case_breaks() {
    let checked = &FOUND.refusals;
    assert!(checked.len() > 2000 || !is_everything_meant(), "only {} cases break a rule", checked.len());
    let wrong: Vec<&str> = checked.iter().filter_map(|checked| checked.as_ref().err()).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), checked.len(), wrong.join("\n"));
}
