//! Digests of cases, which change with any model, input or expected output.

use std::fmt::Write as _;

use hmac_sha256::Hash;
use num_complex::Complex;
use onnx_conformance_reference::dtype::Kind;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{MapKey, Value};

use crate::case::{Case, Expected};
use crate::compare::Accuracy;

/// Number of digits of a digest: enough to detect a change, and short enough to read.
const DIGITS: usize = 16;

/// Computes the digest of cases, in any order: ids, models, inputs, expected outputs with rules and bounds, refusals
/// and levels. It is the same on every machine, since all NaNs count as equal.
pub fn digest(cases: &[Case]) -> String {
    let mut sorted: Vec<&Case> = cases.iter().collect();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    let mut hash = Hash::new();
    for case in sorted {
        hash_case(&mut hash, case);
    }
    hexadecimal(hash)
}

/// Computes the digest of texts, in order.
pub fn digest_of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Hash::new();
    texts.into_iter().for_each(|text| hash_part(&mut hash, text.as_bytes()));
    hexadecimal(hash)
}

fn hexadecimal(hash: Hash) -> String {
    let mut text = String::new();
    for byte in hash.finalize().iter().take(DIGITS / 2) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Hashes bytes after their length, so that lists of parts with the same concatenation differ.
fn hash_part(hash: &mut Hash, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn hash_case(hash: &mut Hash, case: &Case) {
    hash_part(hash, case.id.as_bytes());
    hash_part(hash, &case.model);
    hash_part(hash, format!("{} {}", case.level, case.data.len()).as_bytes());
    for data in &case.data {
        hash_part(hash, format!("{} {}", data.inputs.len(), data.outputs.len()).as_bytes());
        for input in &data.inputs {
            hash_part(hash, input.name.as_bytes());
            hash_value(hash, &input.value);
        }
        for output in &data.outputs {
            hash_part(hash, output.name.as_bytes());
            hash_expected(hash, &output.expected);
        }
    }
    if case.is_hostile {
        hash_part(hash, b"hostile");
    }
    if let Some(refusal) = &case.refusal {
        hash_part(hash, refusal.rule.as_bytes());
        hash_part(hash, refusal.control.id.as_bytes());
    }
}

fn hash_expected(hash: &mut Hash, expected: &Expected) {
    match expected {
        Expected::Value(Value::Tensor(tensor), Accuracy::Bounded(bound)) => {
            hash_part(hash, b"bounded");
            hash_tensor(hash, tensor);
            hash_tensor(hash, bound);
        }
        Expected::Value(value, accuracy) => {
            hash_part(hash, format!("value {accuracy:?}").as_bytes());
            hash_value(hash, value);
        }
        Expected::AnyOf(values) => {
            hash_part(hash, format!("any of {}", values.len()).as_bytes());
            for value in values {
                hash_value(hash, value);
            }
        }
        Expected::Unspecified(value_type, shape) => {
            hash_part(hash, format!("unspecified {value_type} {shape:?}").as_bytes());
        }
        Expected::SameMeanAs(tensor) => {
            hash_part(hash, b"drawn");
            hash_tensor(hash, tensor);
        }
        Expected::DropoutOf { source, ratio } => {
            hash_part(hash, format!("dropped {ratio:?}").as_bytes());
            hash_tensor(hash, source);
        }
        Expected::Set(value) => {
            hash_part(hash, b"set");
            hash_value(hash, value);
        }
        Expected::PermutedAlongAxis(tensor, axis) => {
            hash_part(hash, format!("lanes {axis}").as_bytes());
            hash_value(hash, &Value::Tensor(tensor.clone()));
        }
        Expected::SampledFrom { element, shape, law } => {
            hash_part(hash, format!("distributed {element} {shape:?} {law}").as_bytes());
        }
        Expected::Mask { shape, ratio } => hash_part(hash, format!("mask {shape:?} {ratio:?}").as_bytes()),
    }
}

fn hash_value(hash: &mut Hash, value: &Value) {
    hash_part(hash, value.value_type().to_string().as_bytes());
    match value {
        Value::Tensor(tensor) => hash_tensor(hash, tensor),
        Value::Sparse(sparse) => {
            hash_part(hash, format!("{:?}", sparse.shape).as_bytes());
            hash_tensor(hash, &sparse.values);
            hash_tensor(hash, &sparse.indices);
        }
        Value::Sequence(sequence) => {
            hash_part(hash, sequence.items.len().to_string().as_bytes());
            sequence.items.iter().for_each(|item| hash_value(hash, item));
        }
        Value::Optional(optional) => {
            hash_part(hash, if optional.item.is_some() { b"present" } else { b"absent" });
            optional.item.iter().for_each(|item| hash_value(hash, item));
        }
        Value::Map(map) => {
            hash_part(hash, map.entries.len().to_string().as_bytes());
            for (key, value) in map.entries.iter() {
                match key {
                    MapKey::Integer(key) => hash_part(hash, key.to_string().as_bytes()),
                    MapKey::String(key) => hash_part(hash, key.as_bytes()),
                }
                hash_value(hash, value);
            }
        }
    }
}

fn hash_tensor(hash: &mut Hash, tensor: &Tensor) {
    let element = tensor.element_type();
    hash_part(hash, format!("{} {:?}", ValueType::Tensor(element), tensor.shape()).as_bytes());
    let mut float = |value: f64| hash.update(if value.is_nan() { f64::NAN } else { value }.to_bits().to_le_bytes());
    match element.kind() {
        Kind::Float => tensor.floats().into_iter().for_each(float),
        Kind::Complex => tensor.complexes().into_iter().for_each(|Complex { re, im }| {
            float(re);
            float(im);
        }),
        Kind::String => tensor.strings().iter().for_each(|text| hash_part(hash, text.as_bytes())),
        _ => hash_part(hash, tensor.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{DataSet, ExpectedOutput, Level, Named};
    use crate::compare::Accuracy;
    use onnx_conformance_reference::dtype::ElementType;

    fn case(id: &str, input: f64, output: f64, accuracy: Accuracy) -> Case {
        let value = |value| Value::Tensor(Tensor::of_floats(ElementType::Float, &[1], &[value]).unwrap());
        let inputs = vec![Named { name: "x".to_owned(), value: value(input) }];
        let outputs = vec![ExpectedOutput { name: "y".to_owned(), expected: Expected::Value(value(output), accuracy) }];
        Case::new(id, bytes::Bytes::from_static(b"model"), vec![DataSet { inputs, outputs }])
    }

    #[test]
    fn every_change_shows() {
        let base = digest(&[case("a", 1.0, 2.0, Accuracy::Exact)]);
        for other in [
            case("b", 1.0, 2.0, Accuracy::Exact),
            case("a", -0.0, 2.0, Accuracy::Exact),
            case("a", 1.0, 2.5, Accuracy::Exact),
            case("a", 1.0, 2.0, Accuracy::Ulp(1)),
            Case { level: Level::Open, ..case("a", 1.0, 2.0, Accuracy::Exact) },
            Case { is_hostile: true, ..case("a", 1.0, 2.0, Accuracy::Exact) },
            Case { model: bytes::Bytes::from_static(b"models"), ..case("a", 1.0, 2.0, Accuracy::Exact) },
        ] {
            assert_ne!(digest(&[other]), base);
        }
        assert_ne!(digest(&[]), base);
    }

    #[test]
    fn neither_order_nor_the_bits_of_a_nan_count() {
        let (a, b) = (case("a", 1.0, f64::NAN, Accuracy::Exact), case("b", 1.0, 2.0, Accuracy::Exact));
        let negative = case("a", 1.0, -f64::NAN, Accuracy::Exact);
        assert_eq!(digest(&[a, b.clone()]), digest(&[b, negative]));
    }

    #[test]
    fn zeros_of_either_sign_have_different_digests() {
        let digest_of = |value| digest(&[case("a", value, 0.0, Accuracy::Exact)]);
        assert_ne!(digest_of(0.0), digest_of(-0.0));
    }
}
