//! Quantization annotations: the annotated values, and the values that have scales and zero points.

use std::collections::HashSet;

use crate::finding::{Finding, Place};
use crate::infer::BodyId;
use crate::rules::RuleId;
use crate::validity::context::Context;

/// The keys that onnx.proto predefines.
const KEYS: [&str; 2] = ["SCALE_TENSOR", "ZERO_POINT_TENSOR"];

/// Checks the quantization annotations of all graphs.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    for id in bodies.ids() {
        let Some(graph) = bodies.body(id).graph() else { continue };
        for annotation in &graph.quantization_annotation {
            let name = annotation.tensor_name();
            if bodies.lookup(id, name).is_none() {
                push(context, id, name, format!("the annotation is about '{name}', which is no value of the graph"));
            }
            let mut seen = HashSet::new();
            for entry in &annotation.quant_parameter_tensor_names {
                let (key, value) = (entry.key(), entry.value());
                if !seen.insert(key) {
                    push(context, id, name, format!("the annotation has the key '{key}' twice"));
                } else if !KEYS.contains(&key) {
                    push(context, id, name, format!("the key '{key}' is not predefined; {} are", KEYS.join(" and ")));
                }
                if bodies.lookup(id, value).is_none() {
                    push(context, id, name, format!("'{key}' is '{value}', which is no value of the graph"));
                }
            }
        }
    }
}

fn push(context: &mut Context<'_, '_>, id: BodyId, name: &str, message: String) {
    let place = Place { item: Some(format!("annotation of '{name}'")), ..context.bodies().place(id) };
    context.push(Finding::new(RuleId::GraphQuantization, place, message));
}
