//! Made-up inputs, generated from the declarations of a model.

use std::collections::BTreeMap;

use onnx_conformance_check::Limits;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{ValueInfoProto, decode};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use onnx_conformance_cases::case::Named;
use onnx_conformance_cases::generate::Random;

/// Maximum number of elements of a made-up input.
const MAX_ELEMENTS: usize = 1 << 22;

/// Returns a value of the declared type for each input, or the reason why there is none. The same number gives the same values.
/// An unknown dimension gets a size of 1 to 4, the same for every use of its name.
pub fn made_up_inputs(wanted: &[&ValueInfoProto], number: usize, limits: &Limits) -> Result<Vec<Named>, String> {
    let (mut sizes, mut inputs, mut bytes) = (BTreeMap::new(), Vec::new(), 0_usize);
    for input in wanted {
        let random = Random::new(&format!("{number} {}", input.name()));
        let value = made_up(input, random, &mut sizes)?;
        bytes = bytes.saturating_add(value.size());
        if bytes > limits.bytes {
            return Err(format!("the inputs up to '{}' are too large to be made up", input.name()));
        }
        if limits.deadline.is_over() {
            return Err("inputs were not made up in time".to_owned());
        }
        inputs.push(Named { name: input.name().to_owned(), value });
    }
    Ok(inputs)
}

fn made_up(input: &ValueInfoProto, mut random: Random, sizes: &mut BTreeMap<String, usize>) -> Result<Value, String> {
    let name = input.name();
    let declared = input.r#type.as_ref().ok_or_else(|| format!("input '{name}' has no type"))?;
    let Ok(ValueType::Tensor(element)) = decode::value_type(declared) else {
        return Err(format!("input '{name}' is no tensor"));
    };
    let Some(type_proto::Value::TensorType(tensor)) = &declared.value else {
        return Err(format!("input '{name}' is no tensor"));
    };
    let Some(declared) = &tensor.shape else { return Err(format!("the rank of input '{name}' is not declared")) };
    let mut shape = Vec::new();
    for dim in &declared.dim {
        let small = |random: &mut Random| usize::try_from(random.between(1, 4)).unwrap_or(1);
        shape.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) => {
                usize::try_from(*size).map_err(|_| format!("input '{name}' has a negative dimension"))?
            }
            Some(dimension::Value::DimParam(dim)) => *sizes.entry(dim.clone()).or_insert_with(|| small(&mut random)),
            None => small(&mut random),
        });
    }
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    let Some(count) = count.filter(|count| *count <= MAX_ELEMENTS) else {
        return Err(format!("input '{name}' is too large to be made up"));
    };
    filled(element, &shape, count, &mut random).map_err(|error| format!("input '{name}': {error}"))
}

/// Fills a tensor with small numbers: floats are multiples of 1/8 from -8 to 8, integers are 0 to 3.
fn filled(element: ElementType, shape: &[usize], count: usize, random: &mut Random) -> Result<Value, String> {
    let error = |error: TensorError| error.to_string();
    let tensor = match element.kind() {
        Kind::Signed | Kind::Unsigned => {
            let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(0, 3))).collect();
            Tensor::of_integers(element, shape, &values).map_err(error)?
        }
        _ if element == ElementType::String => {
            let texts: Vec<&str> = (0..count).map(|_| if random.below(2) == 0 { "a" } else { "b" }).collect();
            Tensor::of_strings(shape, &texts).map_err(error)?
        }
        _ if element.is_float() => {
            let values: Vec<f64> = (0..count).map(|_| random.between(-64, 64) as f64 / 8.0).collect();
            Tensor::of_floats(element, shape, &values).map_err(error)?
        }
        _ if element == ElementType::Bool => {
            let builder = TensorBuilder::unlimited(element, shape.to_vec());
            let values: Vec<bool> = (0..count).map(|_| random.below(2) == 1).collect();
            builder.and_then(|builder| builder.bools(values)).map_err(error)?
        }
        _ => return Err(format!("no values of {element} are made up")),
    };
    Ok(Value::Tensor(tensor))
}
