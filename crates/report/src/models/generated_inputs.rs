//! Model inputs, generated from the declarations of a model.

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

/// Maximum number of elements of a generated input.
const MAX_ELEMENTS: usize = 1 << 22;

/// Bytes per element while an input is made: a number or a text in a list, and the element of the tensor.
fn bytes_per_element(element: ElementType) -> usize {
    if element == ElementType::String { 56 } else { 24 }
}

/// Reason why no input can be generated.
#[derive(Debug, thiserror::Error)]
pub enum InputGenerationError {
    /// The inputs exceed the limits.
    #[error("input '{input}' is too large to be generated")]
    TooLarge {
        /// The input that does not fit.
        input: String,
    },
    /// The deadline passed.
    #[error("the inputs were not generated in time")]
    Late,
    /// The declaration of an input is incomplete, or its values cannot be generated.
    #[error("input '{input}' {fault}")]
    Input {
        /// The input.
        input: String,
        /// The missing or unsupported part.
        fault: InputFault,
    },
}

/// Reason why an input cannot be generated from its declaration.
#[derive(Debug, thiserror::Error)]
pub enum InputFault {
    /// The type is not declared.
    #[error("has no type")]
    NoType,
    /// The type is a sequence, an optional, a map or a sparse tensor.
    #[error("is not a tensor")]
    NotATensor,
    /// The rank is not declared.
    #[error("has no declared rank")]
    NoRank,
    /// A dimension is negative.
    #[error("has a negative dimension")]
    NegativeDimension,
    /// No values of this type can be generated.
    #[error("has type {0}, for which no values can be generated")]
    Element(ElementType),
    /// The tensor cannot be created.
    #[error("cannot be generated: {0}")]
    Tensor(#[from] TensorError),
}

/// Returns a value of the declared type for each input, or the reason why there is none. The same number gives the same values.
/// An unknown dimension gets a size of 1 to 4, the same for every use of its name.
pub fn generate_inputs(
    wanted: &[&ValueInfoProto],
    number: usize,
    limits: &Limits,
) -> Result<Vec<Named>, InputGenerationError> {
    let (mut sizes, mut inputs, mut bytes) = (BTreeMap::new(), Vec::new(), 0_usize);
    for input in wanted {
        let name = input.name().to_owned();
        let mut random = Random::new(&format!("{number} {name}"));
        let in_input = |fault: InputFault| InputGenerationError::Input { input: input.name().to_owned(), fault };
        let (element, shape) = concrete(input, &mut random, &mut sizes).map_err(in_input)?;
        let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
        let needed = |count: &usize| count.saturating_mul(bytes_per_element(element)).saturating_add(bytes);
        let is_small = |count: &usize| *count <= MAX_ELEMENTS && needed(count) <= limits.bytes;
        let Some(count) = count.filter(is_small) else { return Err(InputGenerationError::TooLarge { input: name }) };
        let value = filled(element, &shape, count, &mut random).map_err(in_input)?;
        bytes = bytes.saturating_add(value.size());
        if limits.deadline.is_over() {
            return Err(InputGenerationError::Late);
        }
        inputs.push(Named { name, value });
    }
    Ok(inputs)
}

/// Returns the type and the shape of an input, with a size for each unknown dimension.
fn concrete(
    input: &ValueInfoProto,
    random: &mut Random,
    sizes: &mut BTreeMap<String, usize>,
) -> Result<(ElementType, Vec<usize>), InputFault> {
    let declared = input.r#type.as_ref().ok_or(InputFault::NoType)?;
    let (Ok(ValueType::Tensor(element)), Some(type_proto::Value::TensorType(tensor))) =
        (decode::value_type(declared), &declared.value)
    else {
        return Err(InputFault::NotATensor);
    };
    let declared = tensor.shape.as_ref().ok_or(InputFault::NoRank)?;
    let mut shape = Vec::new();
    for dim in &declared.dim {
        let small = |random: &mut Random| usize::try_from(random.between(1, 4)).unwrap_or(1);
        shape.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) => {
                usize::try_from(*size).map_err(|_| InputFault::NegativeDimension)?
            }
            Some(dimension::Value::DimParam(dim)) => *sizes.entry(dim.clone()).or_insert_with(|| small(random)),
            None => small(random),
        });
    }
    Ok((element, shape))
}

/// Fills a tensor with small numbers: floats are multiples of 1/8 from -8 to 8, integers are 0 to 3.
fn filled(element: ElementType, shape: &[usize], count: usize, random: &mut Random) -> Result<Value, InputFault> {
    let tensor = match element.kind() {
        Kind::Signed | Kind::Unsigned => {
            let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(0, 3))).collect();
            Tensor::of_integers(element, shape, &values)?
        }
        _ if element == ElementType::String => {
            let texts: Vec<&str> = (0..count).map(|_| if random.below(2) == 0 { "a" } else { "b" }).collect();
            Tensor::of_strings(shape, &texts)?
        }
        _ if element.is_float() => {
            let values: Vec<f64> = (0..count).map(|_| random.between(-64, 64) as f64 / 8.0).collect();
            Tensor::of_floats(element, shape, &values)?
        }
        _ if element == ElementType::Bool => {
            let builder = TensorBuilder::unlimited(element, shape.to_vec());
            let values: Vec<bool> = (0..count).map(|_| random.below(2) == 1).collect();
            builder.and_then(|builder| builder.bools(values))?
        }
        _ => return Err(InputFault::Element(element)),
    };
    Ok(Value::Tensor(tensor))
}
