//! Declarations: the types of inputs, outputs and intermediate values.

use onnx_conformance_reference::proto::{ValueInfoProto, decode};

use crate::finding::{Finding, Place};
use crate::infer::BodyId;
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the declarations of all graphs.
pub(super) fn check(context: &mut Context<'_, '_>) {
    for id in context.bodies().ids() {
        let body = context.bodies().body(id);
        let Some(graph) = body.graph() else { continue };
        let is_main = body.parent.is_none();
        if graph.name().is_empty() && is_main {
            context.body(id, RuleId::GraphName, "the graph has no name");
        }
        for input in &graph.input {
            check_info(context, id, input, "input", is_main.then_some(RuleId::GraphInputType));
        }
        for output in &graph.output {
            check_info(context, id, output, "output", is_main.then_some(RuleId::GraphOutputType));
        }
        for info in &graph.value_info {
            check_info(context, id, info, "value", None);
        }
    }
}

fn check_info(context: &mut Context<'_, '_>, id: BodyId, info: &ValueInfoProto, what: &str, required: Option<RuleId>) {
    let name = info.name();
    let declared = info.r#type.as_ref().filter(|declared| declared.value.is_some());
    match (declared, required) {
        (None, Some(rule)) => {
            let known = context.inferred.value(id, name).and_then(|fact| fact.value_type.clone());
            let edit = known.map(|known| format!("declare {known}"));
            let place = Place { item: Some(format!("{what} '{name}'")), ..context.bodies().place(id) };
            context.push(Finding { edit, ..Finding::new(rule, place, format!("{what} '{name}' has no type")) });
        }
        (None, None) => {}
        (Some(declared), _) => {
            if let Err(error) = decode::value_type(declared) {
                let place = Place { item: Some(format!("{what} '{name}'")), ..context.bodies().place(id) };
                context.push(Finding::new(RuleId::ValueTypeForm, place, error.to_string()));
            }
        }
    }
}
