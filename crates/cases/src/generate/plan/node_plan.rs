//! The planned node of a case: all names and literal values, with the fills still to be made.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::spec::AttributeType;
use onnx_conformance_reference::types::ValueType;

use crate::generate::file::op_file::Setting;
use crate::generate::file::value_file::InputFile;
use crate::generate::plan::error::PlanError;
use crate::generate::plan::fit::{CaseAtVersion, Parameter};
use crate::generate::plan::graph_text::Parameters;
use crate::generate::plan::nodes::graph_outputs;
use crate::generate::plan::settings::{attribute, input_setting, with_types};
use crate::generate::plan::types::Assignment;
use crate::generate::plan::value_plan::{ValueBuilder, ValueError, ValuePlan};

/// A node with its inputs, whose fills are not made yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodePlan {
    /// The names of the node's inputs; `""` for an omitted one.
    pub(crate) input_names: Vec<String>,
    /// The values of the inputs that are given.
    pub(crate) inputs: Vec<InputPlan>,
    /// The attributes.
    pub(crate) attributes: Vec<AttributePlan>,
    /// The names of the node's outputs; `""` for one that is not requested.
    pub(crate) output_names: Vec<String>,
    /// The nodes of the graph, if there are several.
    pub(crate) nodes: Vec<NodeProto>,
}

/// An input of the model.
#[derive(Clone, Debug)]
pub(crate) struct InputPlan {
    /// The name in the model.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: ValuePlan,
    /// The name of the random stream for its fill, after that of the case.
    pub(crate) stream: String,
}

/// An attribute of the node, with its name.
#[derive(Clone, Debug)]
pub(crate) enum AttributePlan {
    /// A value.
    Value(String, Attribute),
    /// A subgraph, as text.
    Graph(String, String),
}

impl AttributePlan {
    /// Returns the attribute's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            AttributePlan::Value(name, _) | AttributePlan::Graph(name, _) => name,
        }
    }
}

/// A value of a formal input, and the name of the random stream for its fill.
type Given = (ValuePlan, String);

impl NodePlan {
    /// Plans the node of a case with its alternatives and types chosen. Returns `None` if a type cannot hold a literal
    /// value.
    pub(crate) fn new(
        case_at_version: &CaseAtVersion<'_>,
        choices: &[usize],
        types: &Assignment,
    ) -> Result<Option<NodePlan>, PlanError> {
        let names = case_at_version.sizes()?;
        let type_names = case_at_version.type_names();
        let written: &Assignment = &type_names.as_written(types);
        let builder = ValueBuilder { names: &names, types: written };
        let mut choices = choices.iter().copied();
        if case_at_version.case.nodes.is_some() {
            return NodePlan::for_nodes(case_at_version, &builder, &mut choices);
        }
        let Some(mut given) = inputs(case_at_version, &builder, types, &mut choices)? else { return Ok(None) };
        let mut attributes = Vec::new();
        for (name, choice) in &case_at_version.case.set.0 {
            let setting = choice.pick(&mut choices)?;
            match (case_at_version.parameter(name), setting) {
                (Some(Parameter::Attribute(name, AttributeType::Graph)), Setting::Graph(file)) => {
                    attributes.push(AttributePlan::Graph(name.to_owned(), with_types(&file.graph, written)));
                }
                (Some(Parameter::Attribute(name, kind)), _) => {
                    let Some(value) = attribute(kind, setting, written)? else { return Ok(None) };
                    attributes.push(AttributePlan::Value(name.to_owned(), value));
                }
                (Some(Parameter::Input(position, formal)), _) => {
                    let declared = case_at_version.formal_type(formal, types);
                    let Some(value) = input_setting(setting, declared.as_ref(), written)? else { return Ok(None) };
                    given.insert(position, vec![(ValuePlan::Written(value), String::new())]);
                }
                (None, _) => {}
            }
        }
        for (parameter, how) in &case_at_version.case.bind.0 {
            let (Some(name), Some(value_type)) = (how.strip_prefix("attribute "), written.get(parameter)) else {
                continue;
            };
            let code = Attribute::Int(i64::from(value_type.element_type().code()));
            attributes.push(AttributePlan::Value(name.to_owned(), code));
        }
        let (input_names, inputs) = named(case_at_version, given);
        let output_names = case_at_version.output_names();
        let mut plan = NodePlan { input_names, inputs, attributes, output_names, nodes: Vec::new() };
        for (name, file) in &case_at_version.case.captured.0 {
            let Some(value) = builder.plan(file, None, &mut std::iter::empty())? else { return Ok(None) };
            plan.inputs.push(InputPlan { name: name.clone(), value, stream: name.clone() });
        }
        Ok(Some(plan))
    }

    /// Plans several nodes, with the inputs and outputs of their graph.
    fn for_nodes(
        case_at_version: &CaseAtVersion<'_>,
        builder: &ValueBuilder<'_>,
        choices: &mut impl Iterator<Item = usize>,
    ) -> Result<Option<NodePlan>, PlanError> {
        let mut plan = NodePlan::default();
        let float = ValueType::Tensor(ElementType::Float);
        for (name, input) in &case_at_version.case.inputs.0 {
            let InputFile::One(file) = input else {
                return Err(PlanError::SeveralValues(name.clone()));
            };
            let Some(value) = builder.plan(file, Some(&float), choices)? else { return Ok(None) };
            plan.inputs.push(InputPlan { name: name.clone(), value, stream: format!("{name}.0") });
        }
        let text = case_at_version.case.nodes.as_deref().unwrap_or_default();
        plan.nodes = Parameters::of_types(builder.types).nodes("nodes", text)?;
        plan.output_names = graph_outputs(case_at_version.case).map(str::to_owned).collect();
        Ok(Some(plan))
    }
}

/// Plans the values of the formal inputs, by position. Returns `None` if a type cannot hold one of them.
fn inputs(
    case_at_version: &CaseAtVersion<'_>,
    builder: &ValueBuilder<'_>,
    types: &Assignment,
    choices: &mut impl Iterator<Item = usize>,
) -> Result<Option<BTreeMap<usize, Vec<Given>>>, ValueError> {
    let mut given = BTreeMap::new();
    for (name, input) in &case_at_version.case.inputs.0 {
        let Some((position, formal)) = case_at_version.input(name) else { continue };
        let declared = case_at_version.formal_type(formal, types);
        let mut values = Vec::new();
        for (index, file) in input.values().0.iter().enumerate() {
            let Some(value) = builder.plan(file, declared.as_ref(), choices)? else { return Ok(None) };
            values.push((value, format!("{name}.{index}")));
        }
        given.insert(position, values);
    }
    Ok(Some(given))
}

/// Returns the names of the node's inputs, and the inputs under their names in the model.
fn named(case_at_version: &CaseAtVersion<'_>, mut given: BTreeMap<usize, Vec<Given>>) -> (Vec<String>, Vec<InputPlan>) {
    let (mut names, mut inputs) = (Vec::new(), Vec::new());
    let count = given.keys().next_back().map_or(0, |last| last + 1);
    for (position, formal) in case_at_version.spec.inputs.iter().enumerate().take(count) {
        let values = given.remove(&position).unwrap_or_default();
        if values.is_empty() && !formal.is_variadic() {
            names.push(String::new());
        }
        for (index, (value, stream)) in values.into_iter().enumerate() {
            let name = if formal.is_variadic() { format!("{}_{index}", formal.name) } else { formal.name.clone() };
            names.push(name.clone());
            inputs.push(InputPlan { name, value, stream });
        }
    }
    (names, inputs)
}
