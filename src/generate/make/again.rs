//! A second run of the same model, on inputs of other shapes.

use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{Message, ModelProto};

use crate::case::{Case, DataSet, name_dimensions};
use crate::generate::file::op_file::CaseFile;
use crate::generate::file::output::OutputFile;
use crate::generate::plan::catalog::GenerateError;
use crate::generate::plan::fit::{CaseAtVersion, NodeDraft};
use crate::generate::plan::version::{Planned, VersionContext};

/// Gives a case that is made a second run, and its model names in place of sizes.
pub(crate) fn add(version: &VersionContext<'_>, planned: &Planned<'_>, case: &mut Case) -> Result<(), GenerateError> {
    let wrong = |message: String| version.at(&planned.case.name, message);
    let file = second(planned.case);
    let fitted =
        CaseAtVersion::new(version.file, &file, version.spec).map_err(|reason| wrong(format!("again: {reason}")))?;
    if fitted.axes() != planned.fitted.axes() {
        return Err(wrong(
            "again: the inputs of a second run have no alternatives, nor have those in whose place".to_owned(),
        ));
    }
    let mut model = decode::model(case.model.clone()).map_err(|error| wrong(error.to_string()))?;
    name_every_dimension(&mut model);
    case.model = model.encode_to_vec().into();
    let model = read_model(case.model.clone(), &NoExternalData, &LoadLimits::default());
    let model = model.map_err(|error| wrong(format!("again: {error}")))?;
    let Planned { ref id, ref instance, opset, .. } = *planned;
    let planned = Planned { id: id.clone(), fitted, case: &file, instance: instance.clone(), opset };
    let seed = format!("{}/{}/again", version.spec.version.qualified(), instance.name);
    let parts: NodeDraft = planned
        .fitted
        .parts(&instance.choices, &instance.types, Some(&seed))
        .and_then(|parts| parts.ok_or_else(|| "its types cannot hold its values".to_owned()))
        .map_err(|message| wrong(format!("again: {message}")))?;
    let outputs = version.outputs(&planned, &model, &parts)?.expected;
    case.evidence.clear();
    case.data.push(DataSet { inputs: parts.inputs, outputs });
    Ok(())
}

/// The case with the inputs of its second run, whose outputs are computed.
fn second(case: &CaseFile) -> CaseFile {
    let mut second = case.clone();
    for (name, input) in std::mem::take(&mut second.again).0 {
        second.inputs.0.retain(|(other, _)| *other != name);
        second.inputs.0.push((name, input));
    }
    for (_, output) in &mut second.outputs.0 {
        *output = OutputFile::default();
    }
    second
}

fn name_every_dimension(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        name_dimensions(info);
    }
}
