//! Models that a runtime must refuse: the good form of a pattern with one violation.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{AttributeProto, Message as _, ModelProto, NodeProto};

use crate::case::{Case, DataSet, Expected, Named, Refusal};
use crate::generate::file::ordered::Ordered;
use crate::generate::make::model::Declared;
use crate::generate::make::topics::file::{FormFile, Part};
use crate::generate::make::topics::topic::{Family, PlannedRefusal, Topic};
use crate::generate::plan::catalog::GenerateError;

/// Makes a refusal. Models with external data belong to `folder`.
pub(crate) fn refusal(topic: &Topic, planned: &PlannedRefusal<'_>, folder: &Path) -> Result<Case, GenerateError> {
    let PlannedRefusal { id, file, control, .. } = planned;
    let error = |rule: String| topic.error_of_refusal(planned, &rule);
    let draft = topic.draft(control)?;
    let control_case = topic.case(control, &draft, folder)?;
    let mut form = replaced(&control.form, &file.replace).map_err(error)?;
    if let Some(initializers) = &file.initializers {
        form.initializers.clone_from(initializers);
    }
    if let Some(sparse) = &file.sparse {
        form.sparse.clone_from(sparse);
    }
    let draft = form.with_own_nodes(&control.row, &draft).map_err(|reason| error(reason.to_string()))?;
    let declared: Vec<Declared> =
        values(&control_case).iter().map(|named| Declared::new(&named.name, &named.value)).collect();
    let model = form.model(&control.row, &draft, topic.family.graph_name(), &declared);
    let mut model = model.map_err(|reason| error(reason.to_string()))?;
    if let Some(part) = file.without {
        take_out(&mut model, part).ok_or_else(|| error("the model does not have the part to remove".to_owned()))?;
    }
    let documented = |model: &mut ModelProto, says: &str| {
        model.doc_string = (topic.family == Family::Format).then(|| says.to_owned()).or(model.doc_string.take());
        Bytes::from(model.encode_to_vec())
    };
    let is_same = documented(&mut model, &control.pattern.says) == control_case.model;
    let mut bytes = documented(&mut model, &file.why);
    if matches!(file.without, Some(Part::Tail)) {
        bytes.truncate(bytes.len() / 2);
    }
    if is_same && !matches!(file.without, Some(Part::Tail)) {
        return Err(error("it violates nothing; add `replace`, `without`, `initializers` or `sparse`".to_owned()));
    }
    Ok(Case {
        folder: form.is_outside().then(|| folder.to_owned()),
        refusal: Some(Refusal {
            rule: file.why.clone(),
            control: Box::new(control_case),
            only_at_run_time: file.only_at_run_time,
        }),
        level: file.level,
        ..Case::new(id.clone(), bytes, vec![DataSet { inputs: draft.supplied(), outputs: Vec::new() }])
    })
}

/// Returns the expected outputs of a case.
fn values(case: &Case) -> Vec<Named> {
    let outputs = case.data.first().into_iter().flat_map(|data| &data.outputs);
    let value = |output: &crate::case::ExpectedOutput| match &output.expected {
        Expected::Value(value, _) => Some(Named { name: output.name.clone(), value: value.clone() }),
        _ => None,
    };
    outputs.filter_map(value).collect()
}

/// Returns the form with replaced texts.
fn replaced(form: &FormFile, replace: &Ordered<String>) -> Result<FormFile, String> {
    let mut form = form.clone();
    for (from, to) in &replace.0 {
        let functions = form.functions.iter_mut().flatten();
        let mut texts: Vec<&mut String> = form.model.iter_mut().chain(form.nodes.iter_mut()).chain(functions).collect();
        let count: usize = texts.iter().map(|text| text.matches(from.as_str()).count()).sum();
        if count != 1 {
            return Err(format!(
                "'{from}' must occur exactly once in the text of the good form, but occurs {count} times"
            ));
        }
        for text in &mut texts {
            **text = text.replace(from.as_str(), to);
        }
    }
    Ok(form)
}

/// Removes a part of a model; returns `None` if the model does not have it.
fn take_out(model: &mut ModelProto, part: Part) -> Option<()> {
    fn node(model: &mut ModelProto) -> Option<&mut NodeProto> {
        model.graph.as_mut()?.node.first_mut()
    }
    fn attribute(model: &mut ModelProto) -> Option<&mut AttributeProto> {
        node(model)?.attribute.first_mut()
    }
    match part {
        Part::Graph => model.graph.take().map(drop),
        Part::IrVersion => model.ir_version.take().map(drop),
        Part::Imports => (!std::mem::take(&mut model.opset_import).is_empty()).then_some(()),
        Part::Operator => node(model)?.op_type.take().map(drop),
        Part::AttributeName => attribute(model)?.name.take().map(drop),
        Part::AttributeType => attribute(model)?.r#type.take().map(drop),
        Part::AttributeValue => {
            let attribute = attribute(model)?;
            *attribute =
                AttributeProto { name: attribute.name.take(), r#type: attribute.r#type, ..AttributeProto::default() };
            Some(())
        }
        Part::InputType => model.graph.as_mut()?.input.first_mut()?.r#type.take().map(drop),
        Part::InputElement => match model.graph.as_mut()?.input.first_mut()?.r#type.as_mut()?.value.as_mut()? {
            type_proto::Value::TensorType(tensor) => tensor.elem_type.take().map(drop),
            _ => None,
        },
        Part::InputName => model.graph.as_mut()?.input.first_mut()?.name.take().map(drop),
        Part::Tail => Some(()),
    }
}
