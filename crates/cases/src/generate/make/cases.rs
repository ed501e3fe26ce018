//! The cases of one operator version, made from their plans: models, inputs and expected outputs.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_reference::model::{LoadLimits, Model, ModelError, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{Message, ModelProto};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::{Case, DataSet, ExpectedOutput, Refusal, name_dimensions};
use crate::generate::make::draft::NodeDraft;
use crate::generate::make::expected::{Outputs, Run};
use crate::generate::make::model::{Declared, single_node_model};
use crate::generate::plan::catalog::{GenerateError, OperatorCatalog};
use crate::generate::plan::node_plan::NodePlan;
use crate::generate::plan::refusals::PlannedRefusal;
use crate::generate::plan::version::{PlannedCase, VersionContext};
use crate::generate::plan::version_plan::VersionPlan;

/// Makes the selected cases of a version.
pub fn cases(
    operators: &OperatorCatalog,
    version: &OperatorVersion,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Case>, GenerateError> {
    let plan = VersionPlan::new(operators, version)?;
    let refusals: Vec<&PlannedRefusal> = plan.refusals.iter().filter(|refusal| wanted(&refusal.id)).collect();
    let mut cases = Vec::new();
    let mut controls: BTreeMap<usize, Case> = BTreeMap::new();
    for (index, planned) in plan.cases.iter().enumerate() {
        let (is_wanted, is_control) = (wanted(&planned.id), refusals.iter().any(|refusal| refusal.control == index));
        if !is_wanted && !is_control {
            continue;
        }
        let case = case(&plan.version, planned)?;
        if is_control {
            controls.insert(index, case.clone());
        }
        cases.extend(is_wanted.then_some(case));
    }
    for refusal in refusals {
        let missing = || GenerateError::Refused { id: refusal.id.clone(), reason: "it has no control".to_owned() };
        let (planned, control) =
            plan.cases.get(refusal.control).zip(controls.get(&refusal.control)).ok_or_else(missing)?;
        cases.push(refused(&plan.version, refusal, planned, control)?);
    }
    Ok(cases)
}

/// Makes a positive case: its model, inputs and expected outputs.
fn case(version: &VersionContext<'_>, planned: &PlannedCase<'_>) -> Result<Case, GenerateError> {
    let draft = draft(version, planned, &planned.instance.node, "")?;
    let guess = Declared::guess(planned, &draft);
    let refused = |error: ModelError| GenerateError::Refused { id: planned.id.clone(), reason: error.to_string() };
    let model = model(single_node_model(version.spec, planned.opset, &draft, &guess)).map_err(refused)?;
    let Outputs { declared, expected, evidence } =
        Run { version, planned, draft: &draft, is_first: true }.outputs(&model)?;
    let (level, text) = version.level(planned.case.level, planned.case.text);
    let mut case = Case {
        rule: version.rule(planned.case.constraint.as_deref()),
        level,
        text,
        why: planned.case.why.clone(),
        note: planned.case.note.clone(),
        is_edge: planned.case.edge,
        evidence,
        drawn: draft.drawn.clone(),
        ..Case::new(
            planned.id.clone(),
            single_node_model(version.spec, planned.opset, &draft, &declared),
            vec![DataSet { inputs: draft.inputs, outputs: expected }],
        )
    };
    if let Some(node) = &planned.second_run {
        add_second_run(version, planned, node, &mut case)?;
    }
    Ok(case)
}

/// Adds a second run on inputs of other shapes to a case. Its model then has named dimensions instead of sizes.
fn add_second_run(
    version: &VersionContext<'_>,
    planned: &PlannedCase<'_>,
    node: &NodePlan,
    case: &mut Case,
) -> Result<(), GenerateError> {
    let error = |error: ModelError| version.at(&planned.case.name, format_args!("again: {error}"));
    let mut named = decode::model(case.model.clone()).map_err(|decode| error(decode.into()))?;
    name_every_dimension(&mut named);
    case.model = named.encode_to_vec().into();
    let model = model(case.model.clone()).map_err(error)?;
    let draft = draft(version, planned, node, "/again")?;
    let outputs = Run { version, planned, draft: &draft, is_first: false }.outputs(&model)?.expected;
    case.evidence.clear();
    case.drawn.extend(draft.drawn);
    case.data.push(DataSet { inputs: draft.inputs, outputs });
    Ok(())
}

fn name_every_dimension(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        name_dimensions(info);
    }
}

/// Makes a negative case.
fn refused(
    version: &VersionContext<'_>,
    refusal: &PlannedRefusal,
    planned: &PlannedCase<'_>,
    control: &Case,
) -> Result<Case, GenerateError> {
    let mut outputs: Vec<Declared> = control.data.iter().flat_map(|data| &data.outputs).map(declared).collect();
    let draft = match &refusal.name {
        None => draft(version, planned, &refusal.node, "")?,
        Some(name) => {
            let seed = format!("{}/refuse/{name}", version.spec.version.qualified());
            let draft = NodeDraft::new(&refusal.node, &seed).map_err(|error| version.at(name, error))?;
            let more = Declared::guess(planned, &draft);
            let is_new = |declared: &Declared| !control.data.iter().any(|data| has_output(data, &declared.name));
            outputs.retain(|output| draft.output_names.contains(&output.name));
            outputs.extend(more.into_iter().filter(is_new));
            draft
        }
    };
    let (level, text) = version.level(refusal.level, refusal.text);
    Ok(Case {
        refusal: Some(Refusal {
            rule: refusal.rule.clone(),
            control: Box::new(control.clone()),
            only_at_run_time: refusal.only_at_run_time,
        }),
        rule: version.rule(refusal.constraint.as_deref()),
        level,
        text,
        why: refusal.why.clone(),
        note: refusal.note.clone(),
        drawn: draft.drawn.clone(),
        ..Case::new(
            refusal.id.clone(),
            single_node_model(version.spec, planned.opset, &draft, &outputs),
            vec![DataSet { inputs: draft.inputs, outputs: Vec::new() }],
        )
    })
}

/// Makes the node of a planned case, with values from the random streams of the case's name.
fn draft(
    version: &VersionContext<'_>,
    planned: &PlannedCase<'_>,
    node: &NodePlan,
    run: &str,
) -> Result<NodeDraft, GenerateError> {
    let seed = format!("{}/{}{run}", version.spec.version.qualified(), planned.instance.name);
    NodeDraft::new(node, &seed).map_err(|error| version.at(&planned.case.name, error))
}

fn model(bytes: Bytes) -> Result<Model, ModelError> {
    read_model(bytes, &NoExternalData, &LoadLimits::default())
}

fn declared(output: &ExpectedOutput) -> Declared {
    let (value_type, shape) = output.expected.declared();
    Declared { name: output.name.clone(), value_type, shape }
}

fn has_output(data: &DataSet, name: &str) -> bool {
    data.outputs.iter().any(|output| output.name == name)
}
