//! Declarations: the names of graphs, and the types of inputs, outputs and intermediate values.

use std::collections::{BTreeSet, HashSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension::Value as Size;
use onnx_conformance_reference::proto::onnx::type_proto::Value as Kind;
use onnx_conformance_reference::proto::{TypeProto, ValueInfoProto, decode};

use crate::finding::{Finding, Place};
use crate::infer::{BodyId, shape_text};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the declarations of all graphs.
pub(super) fn check(context: &mut Context<'_, '_>) {
    for id in context.bodies().ids() {
        let body = context.bodies().body(id);
        let Some(graph) = body.graph() else { continue };
        if graph.name().is_empty() {
            let rule = if body.parent.is_none() { RuleId::GraphName } else { RuleId::SubgraphName };
            context.body(id, rule, "the graph has no name");
        }
        let mut declared = HashSet::new();
        for info in graph.value_info.iter().filter(|info| !info.name().is_empty()) {
            if !declared.insert(info.name()) {
                let name = info.name();
                let place = Place { item: Some(format!("value '{name}'")), ..context.bodies().place(id) };
                let text = format!("value_info has two entries for '{name}'");
                context.push(Finding::new(RuleId::ValueDeclaredTwice, place, text));
            }
        }
        for input in &graph.input {
            check_info(context, id, input, Role::Input);
        }
        for output in &graph.output {
            check_info(context, id, output, Role::Output);
        }
        for info in &graph.value_info {
            check_info(context, id, info, Role::Intermediate);
        }
    }
    check_graph_names(context);
    check_dimension_names(context);
}

/// Notes that graphs share a name, once for the model.
fn check_graph_names(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let named = bodies.ids().filter_map(|id| Some((id, bodies.body(id).graph()?.name())));
    let mut seen = HashSet::new();
    let twice: Vec<(BodyId, &str)> = named.filter(|(_, name)| !name.is_empty() && !seen.insert(*name)).collect();
    if let Some((id, name)) = twice.first() {
        let message = format!("another graph has the name '{name}'; {} graphs have the name of another", twice.len());
        context.body(*id, RuleId::SubgraphNameTwice, message);
    }
}

/// Notes names of dimensions that are not identifiers of C, once for the model.
fn check_dimension_names(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let (mut names, mut first) = (BTreeSet::new(), None);
    for id in bodies.ids() {
        let Some(graph) = bodies.body(id).graph() else { continue };
        let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
        for declared in infos.filter_map(|info| info.r#type.as_ref()) {
            unusual_dimensions(declared, &mut names);
        }
        first = first.or_else(|| (!names.is_empty()).then_some(id));
    }
    if let (Some(id), Some(name)) = (first, names.first()) {
        let message =
            format!("the name '{name}' of a dimension is not an identifier; there are {} such names", names.len());
        context.body(id, RuleId::ValueDimensionName, message);
    }
}

/// Collects the names of dimensions in a type that are not identifiers of C.
fn unusual_dimensions<'m>(declared: &'m TypeProto, names: &mut BTreeSet<&'m str>) {
    let shape = match &declared.value {
        Some(Kind::TensorType(tensor)) => tensor.shape.as_ref(),
        Some(Kind::SparseTensorType(tensor)) => tensor.shape.as_ref(),
        Some(Kind::SequenceType(sequence)) => {
            return sequence.elem_type.iter().for_each(|inner| unusual_dimensions(inner, names));
        }
        Some(Kind::OptionalType(optional)) => {
            return optional.elem_type.iter().for_each(|inner| unusual_dimensions(inner, names));
        }
        Some(Kind::MapType(map)) => return map.value_type.iter().for_each(|inner| unusual_dimensions(inner, names)),
        Some(Kind::OpaqueType(_)) | None => None,
    };
    for dim in shape.into_iter().flat_map(|shape| &shape.dim) {
        if let Some(Size::DimParam(name)) = &dim.value
            && !name.is_empty()
            && !is_identifier(name)
        {
            names.insert(name);
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Role of a declared value in its graph.
#[derive(Clone, Copy)]
enum Role {
    Input,
    Output,
    Intermediate,
}

impl Role {
    fn noun(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Output => "output",
            Role::Intermediate => "value",
        }
    }

    /// The rule that the main graph declares the type.
    fn rule(self) -> Option<RuleId> {
        match self {
            Role::Input => Some(RuleId::GraphInputType),
            Role::Output => Some(RuleId::GraphOutputType),
            Role::Intermediate => None,
        }
    }
}

fn check_info(context: &mut Context<'_, '_>, id: BodyId, info: &ValueInfoProto, role: Role) {
    let (name, noun) = (info.name(), role.noun());
    let is_main = context.bodies().body(id).parent.is_none();
    let declared = info.r#type.as_ref().filter(|declared| declared.value.is_some());
    match (declared, role.rule().filter(|_| is_main)) {
        (None, Some(rule)) => {
            let known = context.inferred.value(id, name).and_then(|fact| fact.value_type.clone());
            let edit = known.map(|known| format!("declare {known}"));
            let place = Place { item: Some(format!("{noun} '{name}'")), ..context.bodies().place(id) };
            context.push(Finding { edit, ..Finding::new(rule, place, format!("{noun} '{name}' has no type")) });
        }
        (None, None) => {}
        (Some(declared), _) => {
            let problem = decode::value_type(declared).err().map(|error| error.to_string());
            if let Some(problem) = problem.or_else(|| key_problem(declared)) {
                let place = Place { item: Some(format!("{noun} '{name}'")), ..context.bodies().place(id) };
                context.push(Finding::new(RuleId::ValueTypeForm, place, problem));
            } else if is_main {
                check_shape(context, id, info, role);
            }
        }
    }
}

/// Returns the problem of a type that contains a map whose keys are neither integers nor strings.
fn key_problem(declared: &TypeProto) -> Option<String> {
    match declared.value.as_ref()? {
        Kind::MapType(map) => {
            let is_key = |key: &ElementType| key.is_integer() || *key == ElementType::String;
            match ElementType::from_code(map.key_type()).filter(is_key) {
                None => Some(format!("key_type {} is neither an integer type nor string", map.key_type())),
                Some(_) => map.value_type.as_deref().and_then(key_problem),
            }
        }
        Kind::SequenceType(sequence) => sequence.elem_type.as_deref().and_then(key_problem),
        Kind::OptionalType(optional) => optional.elem_type.as_deref().and_then(key_problem),
        Kind::TensorType(_) | Kind::SparseTensorType(_) | Kind::OpaqueType(_) => None,
    }
}

/// Checks that a tensor among the inputs and outputs of the main graph declares a shape.
fn check_shape(context: &mut Context<'_, '_>, id: BodyId, info: &ValueInfoProto, role: Role) {
    let Some(Kind::TensorType(tensor)) = info.r#type.as_ref().and_then(|declared| declared.value.as_ref()) else {
        return;
    };
    if tensor.shape.is_some() || matches!(role, Role::Intermediate) {
        return;
    }
    let (name, noun) = (info.name(), role.noun());
    let known = context.inferred.value(id, name).and_then(|fact| fact.shape.as_deref());
    let edit = known.map(|shape| format!("declare the shape {}", shape_text(shape)));
    let place = Place { item: Some(format!("{noun} '{name}'")), ..context.bodies().place(id) };
    context.push(Finding { edit, ..Finding::new(RuleId::GraphShape, place, format!("{noun} '{name}' has no shape")) });
}
