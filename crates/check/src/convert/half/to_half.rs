//! Conversion of a model, from the request to the result.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};

use super::build::Builder;
use super::half_model::{HalfError, HalfModel};
use super::node_types::is_cast_to;
use super::plan::Plan;
use super::request::HalfRequest;
use super::sizes::keep_sizes;
use crate::infer::{BodyId, infer_facts};
use crate::limits::Limits;

/// First opset at which Cast takes the type.
fn first_cast(element: ElementType) -> u32 {
    let takes = |since: &u32| {
        let spec = Specs::embedded().find(DEFAULT_DOMAIN, "Cast", i64::from(*since));
        spec.is_ok_and(|spec| is_cast_to(spec, element))
    };
    Specs::embedded().versions(DEFAULT_DOMAIN, "Cast").find(takes).unwrap_or_default()
}

/// Converts a model to half precision. The model must be complete: weights that a scan has skipped count as external data.
pub fn to_half(model: &ModelProto, request: &HalfRequest, limits: &Limits) -> Result<HalfModel, HalfError> {
    if !model.training_info.is_empty() {
        return Err(HalfError::Training);
    }
    let inferred = infer_facts(model, limits);
    let opset = inferred.bodies.opset(BodyId::MAIN, "");
    let cast = opset.and_then(|opset| Specs::embedded().find(DEFAULT_DOMAIN, "Cast", opset).ok());
    if let Some(cast) = cast.filter(|cast| !is_cast_to(cast, request.element)) {
        let (version, element) = (cast.version.to_string(), request.element);
        return Err(HalfError::Cast { version, element, opset: first_cast(element) });
    }
    let mut plan = Plan::new(&inferred, request, &limits.deadline)?;
    keep_sizes(&mut plan);
    plan.settle_readers();
    let built = Builder::new(&plan).model();
    match cast {
        _ if limits.deadline.is_over() => Err(HalfError::Late),
        None if built.casts > 0 => Err(HalfError::NoImport),
        _ => Ok(built),
    }
}
