//! Declarations: the types of inputs, outputs and intermediate values.

use std::collections::HashSet;

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
            if let Err(error) = decode::value_type(declared) {
                let place = Place { item: Some(format!("{noun} '{name}'")), ..context.bodies().place(id) };
                context.push(Finding::new(RuleId::ValueTypeForm, place, error.to_string()));
            }
        }
    }
}
