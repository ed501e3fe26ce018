//! Text of an issue for a finding: the behaviour, the standard, and a program that reproduces it.

use std::fmt::Write as _;

use onnx_conformance_cases::case::Case;
use onnx_conformance_harness::escape::markdown;
use onnx_conformance_harness::findings::{Finding, MeasuredVersions};
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_reference::proto::decode;

use crate::describe_case::describe_parts;
use crate::site::{model_text, python_expression};

/// Helper for values of types that numpy does not have.
const BYTES: &str = "\ndef tensor(text):\n    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(base64.b64decode(text)))\n\n";

/// Returns an issue in markdown, ready to file. The sample is a case that shows the finding.
pub fn issue(finding: &Finding, versions: &MeasuredVersions, sample: &Case) -> String {
    let mut text = format!("# {}\n\n{}\n", markdown(&finding.title), markdown(&finding.does));
    let _ = write!(text, "\nThe standard: {}\n", markdown(&finding.proof.to_string()));
    if let Some(conclusion) = &finding.text {
        let _ = write!(text, "\n{}\n", markdown(conclusion));
    }
    let _ = write!(text, "\nMeasured in {} {versions}.\n", finding.runtime);
    match program(finding.runtime, sample) {
        Some(program) => {
            let _ = write!(text, "\n```python\n{program}```\n");
        }
        None => {
            let _ = write!(text, "\n    onnx-conformance run --runtime {} '{}'\n", finding.runtime, sample.id);
        }
    }
    let _ = write!(
        text,
        "\nModel, inputs and expected outputs (case `{}`):\n\n```\n{}\n```\n",
        sample.id,
        describe_parts(sample)
    );
    text
}

/// Returns a Python program that runs a case; `None` if the runtime has no Python API or the case is too large.
pub(crate) fn program(runtime: &str, case: &Case) -> Option<String> {
    let runtimes = Runtimes::embedded().ok()?;
    let (_, call) = runtimes.in_python().find(|(name, _)| *name == runtime)?;
    let (import, run) = (&call.import, call.run.trim_end());
    let model = model_text(&decode::model(case.model.clone()).ok()?)?;
    let inputs: Vec<String> = case
        .data
        .first()?
        .inputs
        .iter()
        .map(|input| Some(format!("    {:?}: {},\n", input.name, python_expression(&input.value)?)))
        .collect::<Option<_>>()?;
    let inputs = inputs.concat();
    let has_bytes = inputs.contains("tensor(\"");
    let base64 = if has_bytes { "import base64\n\n" } else { "" };
    let helper = if has_bytes { BYTES } else { "" };
    Some(format!(
        "{base64}import numpy as np\nimport onnx\nimport onnx.parser\n{import}\n{helper}\nmodel = onnx.parser.parse_model(r'''\n{model}''')\n\
         inputs = {{\n{inputs}}}\npath = \"model.onnx\"\nonnx.save(model, path)\n{run}\nprint(outputs)\n"
    ))
}
