//! Digests of cases, which change with any model, input or expected output.
//!
//! A measurement holds for every case whose digest is unchanged. So the digest of a case does not cover its id or level, nor
//! sentences, nor the newest opset in a case that is run there, nor the newest opset of ONNX's own domain in a case of another
//! domain whose model also imports it.

use std::fmt::{self, Write as _};

use bytes::Bytes;
use hmac_sha256::Hash;
use num_complex::Complex;
use onnx_conformance_reference::dtype::Kind;
use onnx_conformance_reference::proto::{Message as _, OperatorSetIdProto, decode};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, canonical_domain};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{MapKey, Value};

use crate::case::{Case, CaseId, Expected};
use crate::compare::Accuracy;

/// Number of digits of a digest: enough to detect a change, and short enough to read.
const DIGITS: usize = 16;

/// Digest of one case: its model, inputs, expected outputs with rules and bounds, and control. It only distinguishes
/// cases of the same operator version, so 24 bits are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaseDigest([u8; CaseDigest::BYTES]);

impl CaseDigest {
    const BYTES: usize = 3;

    /// Number of hexadecimal digits of the text.
    pub const DIGITS: usize = 2 * CaseDigest::BYTES;

    /// Computes the digest of a case. It is the same on every machine, since all NaNs count as equal.
    pub fn new(case: &Case) -> CaseDigest {
        CaseDigest::shorten(&hash_of(case, Bounds::Covered))
    }

    /// Computes the digest of a case without the bounds of its expected outputs. If it is unchanged and the digest is not, then
    /// the bounds are tighter or wider.
    pub fn without_bounds(case: &Case) -> CaseDigest {
        CaseDigest::shorten(&hash_of(case, Bounds::Ignored))
    }

    fn shorten(hash: &[u8; 32]) -> CaseDigest {
        let [first, second, third, ..] = *hash;
        CaseDigest([first, second, third])
    }

    /// Parses the hexadecimal digits.
    pub fn parse(text: &str) -> Option<CaseDigest> {
        let is_digest = text.len() == CaseDigest::DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(text, 16).ok().filter(|_| is_digest)?;
        let [_, bytes @ ..] = number.to_be_bytes();
        Some(CaseDigest(bytes))
    }
}

impl fmt::Display for CaseDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Computes the digest of cases, in any order: their ids, levels and digests.
pub fn digest(cases: &[Case]) -> String {
    digests(cases).0
}

/// Computes the digest of cases and, in their order, that of each.
pub(crate) fn digests(cases: &[Case]) -> (String, Vec<CaseDigest>) {
    let hashes: Vec<[u8; 32]> = cases.iter().map(|case| hash_of(case, Bounds::Covered)).collect();
    let mut sorted: Vec<(&Case, &[u8; 32])> = cases.iter().zip(&hashes).collect();
    sorted.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let mut all = Hash::new();
    for (case, hash) in sorted {
        hash_part(&mut all, case.id.as_bytes());
        hash_part(&mut all, format!("{}", case.level).as_bytes());
        all.update(hash);
    }
    (hexadecimal(all), hashes.iter().map(CaseDigest::shorten).collect())
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

/// Coverage of the bounds of expected outputs by a digest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    Covered,
    Ignored,
}

fn hash_of(case: &Case, bounds: Bounds) -> [u8; 32] {
    let mut hash = Hash::new();
    hash_part(&mut hash, &without_newest_opsets(CaseId::parse(&case.id), &case.model));
    hash_part(&mut hash, case.data.len().to_string().as_bytes());
    for data in &case.data {
        hash_part(&mut hash, format!("{} {}", data.inputs.len(), data.outputs.len()).as_bytes());
        for input in &data.inputs {
            hash_part(&mut hash, input.name.as_bytes());
            hash_value(&mut hash, &input.value);
        }
        for output in &data.outputs {
            hash_part(&mut hash, output.name.as_bytes());
            hash_expected(&mut hash, &output.expected, bounds);
        }
    }
    if case.is_hostile {
        hash_part(&mut hash, b"hostile");
    }
    if let Some(refusal) = &case.refusal {
        hash_part(&mut hash, b"refuse");
        hash.update(hash_of(&refusal.control, bounds));
    }
    hash.finalize()
}

/// Returns the model without the numbers that a new release of ONNX changes: its newest opsets and, if it has one, its IR version.
/// A case at the last opset imports the newest opset of each domain. A case of another domain than ONNX's own imports the newest
/// opset of that domain if its model has nodes of it.
fn without_newest_opsets(id: CaseId<'_>, bytes: &Bytes) -> Bytes {
    let is_at_last_opset = id.is_at_last_opset();
    if !is_at_last_opset && id.version().is_none_or(|version| version.domain == DEFAULT_DOMAIN) {
        return bytes.clone();
    }
    let Ok(mut model) = decode::model(bytes.clone()) else { return bytes.clone() };
    let is_newest =
        |import: &&mut OperatorSetIdProto| is_at_last_opset || canonical_domain(import.domain()) == DEFAULT_DOMAIN;
    let mut newest = model.opset_import.iter_mut().filter(is_newest).peekable();
    if newest.peek().is_none() {
        return bytes.clone();
    }
    newest.for_each(|import| import.version = None);
    model.ir_version = None;
    model.encode_to_vec().into()
}

fn hash_expected(hash: &mut Hash, expected: &Expected, bounds: Bounds) {
    match expected {
        Expected::Value(value, _) if bounds == Bounds::Ignored => hash_value(hash, value),
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
    use crate::case::{DataSet, ExpectedOutput, Level, Named, Refusal};
    use crate::compare::Accuracy;
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::model::text::parse_model;

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
    fn neither_the_id_nor_the_level_of_a_case_counts_in_its_own_digest() {
        let base = CaseDigest::new(&case("a", 1.0, 2.0, Accuracy::Exact));
        let renamed = Case { level: Level::Open, ..case("b", 1.0, 2.0, Accuracy::Exact) };
        assert_eq!(CaseDigest::new(&renamed), base);
        assert_eq!(CaseDigest::parse(&base.to_string()), Some(base));
        assert_ne!(CaseDigest::new(&case("a", 1.0, 2.5, Accuracy::Exact)), base);
        let refused = |rule: &str, control: Case| Case {
            refusal: Some(Refusal { rule: rule.to_owned(), control: Box::new(control), only_at_run_time: false }),
            ..case("r", 1.0, 2.0, Accuracy::Exact)
        };
        let refusal = CaseDigest::new(&refused("a rule", case("a", 1.0, 2.0, Accuracy::Exact)));
        assert_eq!(CaseDigest::new(&refused("in other words", case("b", 1.0, 2.0, Accuracy::Exact))), refusal);
        assert_ne!(CaseDigest::new(&refused("a rule", case("a", 1.0, 2.5, Accuracy::Exact))), refusal);
        for text in ["", "12345", "1234567", "+12345", "12345g"] {
            assert_eq!(CaseDigest::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_new_opset_changes_the_digest_only_of_a_case_with_a_fixed_opset() {
        let model = |opset| {
            let text = format!(
                r#"<ir_version: {}, opset_import: ["" : {opset}]> g (float[1] x) => (float[1] y) {{ y = Neg (x) }}"#,
                opset / 2
            );
            Bytes::from(parse_model(&text).unwrap().encode_to_vec())
        };
        let digest =
            |id: &str, opset| CaseDigest::new(&Case { model: model(opset), ..case(id, 1.0, -1.0, Accuracy::Exact) });
        assert_eq!(
            digest("ai.onnx/Neg-13/x/T=float@opset=last", 24),
            digest("ai.onnx/Neg-13/x/T=float@opset=last", 26)
        );
        assert_ne!(digest("ai.onnx/Neg-13/x/T=float@opset=21", 21), digest("ai.onnx/Neg-13/x/T=float@opset=21", 23));
    }

    #[test]
    fn a_new_opset_of_the_default_domain_changes_the_digest_of_no_case_of_another_domain() {
        let digest = |id: &str, imports: [i64; 2], ir: i64| {
            let [own, default] = imports;
            let text = format!(
                r#"<ir_version: {ir}, opset_import: ["ai.onnx.ml" : {own}, "" : {default}]> g (float[1] x) => (float[1] y) {{ y = Neg (x) }}"#
            );
            let model = Bytes::from(parse_model(&text).unwrap().encode_to_vec());
            CaseDigest::new(&Case { model, ..case(id, 1.0, -1.0, Accuracy::Exact) })
        };
        let other = "ai.onnx.ml/LabelEncoder-4/x/T=float";
        assert_eq!(digest(other, [4, 24], 10), digest(other, [4, 26], 12));
        assert_ne!(digest(other, [4, 24], 10), digest(other, [3, 24], 10));
        for fixed in ["ai.onnx/Neg-13/x/T=float", "ir/opsets/x"] {
            assert_ne!(digest(fixed, [4, 24], 10), digest(fixed, [4, 26], 10), "{fixed}");
        }
    }

    #[test]
    fn zeros_of_either_sign_have_different_digests() {
        let digest_of = |value| digest(&[case("a", value, 0.0, Accuracy::Exact)]);
        assert_ne!(digest_of(0.0), digest_of(-0.0));
    }
}
