//! A refusal names its rule: the built-in executor refuses each case that breaks a rule of an op.yaml by that rule, so that a kernel does
//! not refuse it for something else by chance.

use std::collections::BTreeMap;

use onnx_conformance::case::Case;
use onnx_conformance::generate::{OperatorCatalog, cases};
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::value::Value;
use rayon::prelude::*;

/// Why the built-in executor refuses a case; nothing where it runs it.
fn refusal(case: &Case) -> Option<String> {
    let model = match read_model(case.model.clone(), &NoExternalData, &LoadLimits::default()) {
        Ok(model) => model,
        Err(error) => return Some(error.to_string()),
    };
    let inputs = case.data.iter().flat_map(|data| &data.inputs);
    let inputs: BTreeMap<String, Value> = inputs.map(|input| (input.name.clone(), input.value.clone())).collect();
    run(&model, inputs, ExecutionLimits::default()).err().map(|error| error.to_string())
}

#[test]
fn a_kernel_names_the_rule_that_a_case_breaks() {
    let operators = OperatorCatalog::embedded();
    let versions: Vec<OperatorVersion> = Specs::embedded().all().filter(|version| operators.has(version)).collect();
    let of_version = |version: &OperatorVersion| {
        let refusals =
            cases(&operators, version, &|id| id.contains("/refuse/")).unwrap_or_else(|error| panic!("{error}"));
        let check = |case: &Case| {
            let rule = format!("{}/{}", version.name, case.rule.as_ref()?.id);
            let message = refusal(case).unwrap_or_else(|| "it runs".to_owned());
            let is_named = message.ends_with(&format!("({rule})"));
            Some(if is_named { Ok(()) } else { Err(format!("{} breaks {rule}: {message}", case.id)) })
        };
        refusals.iter().filter_map(check).collect::<Vec<Result<(), String>>>()
    };
    let checked: Vec<Result<(), String>> = versions.par_iter().flat_map_iter(of_version).collect();
    assert!(checked.len() > 2000, "only {} cases break a rule", checked.len());
    let wrong: Vec<&str> = checked.iter().filter_map(|checked| checked.as_ref().err()).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), checked.len(), wrong.join("\n"));
}
