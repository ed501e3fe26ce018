//! Names, types, numbers and tensors as text.

use crate::dtype::{ElementType, Kind};
use crate::model::text::literal::{bits, next_is_type};
use crate::model::text::scanner::Scanner;
use crate::proto::TensorProto;
use crate::proto::Text;
use crate::proto::decode::{self, NoExternalData};
use crate::proto::onnx::tensor_proto::DataLocation;
use crate::proto::onnx::tensor_shape_proto::dimension::Value as Dim;
use crate::proto::onnx::{TensorShapeProto, type_proto};
use crate::tensor::Tensor;

/// A part of a model that the text syntax cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct PrintError {
    /// The part: `attribute 'value' of operator 'Constant'`.
    pub place: String,
    /// The limit of the syntax, and an alternative if there is one.
    pub rule: String,
}

pub(super) type Printed<T = ()> = Result<T, PrintError>;

pub(super) fn refuse<T>(place: impl Into<String>, rule: impl Into<String>) -> Printed<T> {
    Err(PrintError { place: place.into(), rule: rule.into() })
}

/// Prints a tensor with its elements: `float[2] {1.0, 2.0}`.
///
/// # Errors
/// If it has more than `max_elements` elements, or a NaN with a payload.
pub fn print_tensor(tensor: &Tensor, max_elements: usize) -> Result<String, PrintError> {
    Ok(format!("{} {}", tensor_type(tensor), elements(tensor, max_elements, number)?))
}

/// Prints a name, in quotes unless it is an identifier.
pub fn print_name(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// True if the parser reads the word as the start of a type.
pub(super) fn is_type_word(name: &str) -> bool {
    next_is_type(&mut Scanner::new(name))
}

/// Prints the name of a value in a list where types may precede names.
pub(super) fn value_name(name: &str) -> String {
    if is_type_word(name) { quoted(name) } else { print_name(name) }
}

pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

pub(super) fn refusable_list<T>(items: &[T], mut print: impl FnMut(&T) -> Printed<String>) -> Printed<String> {
    Ok(items.iter().map(&mut print).collect::<Printed<Vec<_>>>()?.join(", "))
}

/// Prints the names of a node's inputs or outputs. An empty name is left out, except at the end, where the parser
/// ignores a comma.
pub(super) fn names(names: &[Text]) -> String {
    let last = names.len().saturating_sub(1);
    let print = |(index, name): (usize, &Text)| {
        if name.is_empty() && index < last { String::new() } else { print_name(name) }
    };
    names.iter().enumerate().map(print).collect::<Vec<_>>().join(", ")
}

pub(super) fn element_type(code: Option<i32>) -> Printed<ElementType> {
    let code = code.unwrap_or_default();
    ElementType::from_code(code).map_or_else(|| refuse("a type", format!("{code} is not an element type")), Ok)
}

pub(super) fn shape(shape: Option<&TensorShapeProto>) -> String {
    match shape {
        None => "[]".to_owned(),
        Some(shape) if shape.dim.is_empty() => String::new(),
        Some(shape) => {
            let dims = shape.dim.iter().map(|dim| match &dim.value {
                None => "?".to_owned(),
                Some(Dim::DimValue(size)) => size.to_string(),
                Some(Dim::DimParam(name)) => print_name(name),
            });
            format!("[{}]", dims.collect::<Vec<_>>().join(","))
        }
    }
}

pub(super) fn opaque_type(opaque: &type_proto::Opaque) -> Printed<String> {
    let parts: Vec<&str> = [opaque.domain.as_deref(), opaque.name.as_deref()].into_iter().flatten().collect();
    let is_printable = (opaque.name.is_some() || opaque.domain.is_none())
        && parts.iter().flat_map(|part| part.split('.')).all(is_identifier);
    if is_printable {
        Ok(format!("opaque({})", parts.join(", ")))
    } else {
        refuse("an opaque type", "its domain and name are not identifiers")
    }
}

pub(super) fn decoded(proto: &TensorProto, place: &str) -> Printed<Tensor> {
    if proto.data_location == Some(DataLocation::External as i32) || !proto.external_data.is_empty() {
        return refuse(place, "its data is external; load it first");
    }
    decode::tensor(proto, &NoExternalData).or_else(|error| refuse(place, error.to_string()))
}

pub(super) fn tensor_type(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
    let dims = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(",")) };
    format!("{}{dims}", tensor.element_type())
}

/// Prints `{1.0, 2.0}`, with each number as `number` writes it.
pub(super) fn elements(
    tensor: &Tensor,
    max_elements: usize,
    number: fn(ElementType, u64) -> Printed<String>,
) -> Printed<String> {
    if tensor.len() > max_elements {
        return refuse("", format!("it has {} elements, more than {max_elements}", tensor.len()));
    }
    let element = tensor.element_type();
    let items: Vec<String> = match element.kind() {
        Kind::String => tensor.strings().iter().map(|text| quoted(text)).collect(),
        Kind::Complex => {
            let component = element.component();
            let words = tensor.bytes().chunks_exact(component.size().max(1)).map(word);
            words.map(|bits| number(component, bits)).collect::<Printed<_>>()?
        }
        _ => (0..tensor.len()).map(|index| number(element, tensor.bits_at(index))).collect::<Printed<_>>()?,
    };
    Ok(format!("{{{}}}", items.join(", ")))
}

pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
}

/// Prints a number so that it reads back to the same bits: a narrow float that has no decimal text as its bit pattern.
pub(super) fn number(element: ElementType, stored: u64) -> Printed<String> {
    #[expect(clippy::cast_possible_truncation, reason = "the value came from an f32 or narrower and fits it")]
    let text = match element.kind() {
        Kind::Bool => return Ok(u8::from(stored != 0).to_string()),
        Kind::Float if element == ElementType::Double => decimal(element.decode_f64(stored)),
        Kind::Float if element == ElementType::Float => {
            u32::try_from(stored).map_or_else(|_| String::new(), |bits| decimal_f32(f32::from_bits(bits)))
        }
        Kind::Float => decimal_f32(element.decode_f64(stored) as f32),
        _ => return Ok(element.decode_i128(stored).to_string()),
    };
    let mut scanner = Scanner::new(&text);
    let read = scanner.literal().ok().and_then(|literal| bits(element, &literal).ok());
    if read == Some(stored) {
        Ok(text)
    } else if element.bits() < 32 {
        Ok(stored.to_string())
    } else {
        refuse("", format!("the bits {stored:#x} are a NaN with a payload, which has no text"))
    }
}

/// Prints a number as `onnx.parser` reads it: a narrow float as its bit pattern.
pub(super) fn number_of_model(element: ElementType, stored: u64) -> Printed<String> {
    if element.kind() == Kind::Float && element.bits() < 32 { Ok(stored.to_string()) } else { number(element, stored) }
}

pub(super) fn decimal(value: f64) -> String {
    signed_nan(value.is_nan(), value.is_sign_negative()).unwrap_or_else(|| format!("{value:?}"))
}

pub(super) fn decimal_f32(value: f32) -> String {
    signed_nan(value.is_nan(), value.is_sign_negative()).unwrap_or_else(|| format!("{value:?}"))
}

pub(super) fn signed_nan(is_nan: bool, is_negative: bool) -> Option<String> {
    is_nan.then(|| if is_negative { "-nan" } else { "nan" }.to_owned())
}

pub(super) fn float(value: f32) -> Printed<String> {
    number(ElementType::Float, u64::from(value.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_bits() {
        let rows = [
            (ElementType::Float, 0x8000_0000, Ok("-0.0")),
            (ElementType::Float, 1, Ok("1e-45")),
            (ElementType::Float, 0x7f80_0000, Ok("inf")),
            (ElementType::Float, 0x7fc0_0000, Ok("nan")),
            (ElementType::Float, 0x7fc0_0001, Err("NaN with a payload")),
            (ElementType::Double, 1, Ok("5e-324")),
            (ElementType::Float16, 0x3c00, Ok("1.0")),
            (ElementType::Float16, 0x7e01, Ok("32257")),
            (ElementType::Bool, 1, Ok("1")),
            (ElementType::Int8, 0x80, Ok("-128")),
        ];
        for (element, bits, expected) in rows {
            match (number(element, bits), expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{element} {bits:#x}"),
                (Err(error), Err(rule)) => assert!(error.rule.contains(rule), "{error}"),
                (printed, _) => panic!("{element} {bits:#x}: {printed:?}"),
            }
        }
    }
}
