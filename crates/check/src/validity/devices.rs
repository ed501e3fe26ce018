//! Device configurations: the devices of the model, and the distribution of tensors over them.

use std::collections::HashSet;

use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::proto::onnx::{DeviceConfigurationProto, ShardingSpecProto};

use crate::facts::ValueFact;
use crate::infer::NodeId;
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the device configurations of the model and of its nodes.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let configurations = &bodies.model.configuration;
    for (configuration, number) in configurations.iter().zip(0..) {
        if let Some(problem) = problem(configuration) {
            context.model(RuleId::DeviceConfiguration, format!("device configuration {number} {problem}"), None);
        }
    }
    let names: HashSet<&str> = configurations.iter().map(DeviceConfigurationProto::name).collect();
    for id in bodies.node_ids() {
        let Some(node) = bodies.node(id) else { continue };
        for device in node.device_configurations() {
            let name = device.configuration_id();
            if name.is_empty() || !names.contains(name) {
                let message =
                    format!("the node refers to the device configuration '{name}', which the model does not have");
                context.node(id, RuleId::DeviceReference, message, None);
            }
            for sharding in &device.sharding_spec {
                check_sharding(context, id, node, sharding);
            }
        }
    }
}

/// Returns the problem of a configuration.
fn problem(configuration: &DeviceConfigurationProto) -> Option<String> {
    let (count, named) = (configuration.num_devices(), configuration.device.len());
    if configuration.name().is_empty() {
        Some("has no name".to_owned())
    } else if count < 1 {
        Some(format!("has {count} devices; it must have at least one"))
    } else if named > 0 && usize::try_from(count) != Ok(named) {
        Some(format!("has {count} devices, but names {named}"))
    } else {
        None
    }
}

/// Checks the tensor of a sharding and its axes.
fn check_sharding(context: &mut Context<'_, '_>, id: NodeId, node: &NodeProto, sharding: &ShardingSpecProto) {
    let name = sharding.tensor_name();
    if name.is_empty() || !node.input.iter().chain(&node.output).any(|own| own.as_str() == name) {
        let message = format!("the node shards '{name}', which is none of its inputs and outputs");
        return context.node(id, RuleId::DeviceTensor, message, None);
    }
    let rank = context.inferred.value(id.body, name).and_then(ValueFact::rank);
    let rank = rank.and_then(|rank| i64::try_from(rank).ok());
    for dim in &sharding.sharded_dim {
        let problem = match (dim.axis, rank) {
            (None, _) => Some(format!("a sharding of '{name}' has no axis")),
            (Some(axis), Some(rank)) if !(-rank..rank).contains(&axis) => {
                Some(format!("'{name}' is sharded along axis {axis}, but has {rank} axes"))
            }
            _ => None,
        };
        if let Some(message) = problem {
            context.node(id, RuleId::DeviceAxis, message, None);
        }
        for shards in dim.simple_sharding.iter().map(|simple| simple.num_shards.unwrap_or(0)).filter(|count| *count < 1)
        {
            let message = format!("an axis of '{name}' is divided into {shards} shards; there must be at least one");
            context.node(id, RuleId::DeviceShards, message, None);
        }
    }
}
