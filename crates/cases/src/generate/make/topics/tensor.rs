//! Tensors as the format stores them, field by field.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::StringStringEntryProto;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{SparseTensorProto, TensorProto};
use serde::Deserialize;

use crate::generate::file::literal::Literal;

/// Error of making the message of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TensorFileError {
    /// The type is not an element type.
    #[error("'{0}' is not an element type")]
    Type(String),
    /// Both a type and a code are given.
    #[error("a tensor must have either a type or a code, not both")]
    TypeAndCode,
    /// Raw bytes are not in hexadecimal.
    #[error("'{0}' is not a list of bytes in hexadecimal, two digits each")]
    Hexadecimal(String),
}

/// A `TensorProto` with any contents of its fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TensorFile {
    /// Empty if absent.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) r#type: Option<String>,
    /// The code of the type instead of its name, such as a code without a type.
    pub(crate) code: Option<i32>,
    #[serde(default)]
    pub(crate) dims: Vec<i64>,
    /// The contents of the fields for elements.
    #[serde(default)]
    pub(crate) stored: Fields,
    /// The entries of `external_data`, if the elements are outside the model.
    pub(crate) external: Option<BTreeMap<String, String>>,
}

/// The fields that hold elements.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Fields {
    /// `raw_data` in hexadecimal. Spaces are ignored.
    raw: Option<String>,
    #[serde(default)]
    int32_data: Vec<i32>,
    #[serde(default)]
    int64_data: Vec<i64>,
    #[serde(default)]
    uint64_data: Vec<u64>,
    #[serde(default)]
    float_data: Vec<f32>,
    #[serde(default)]
    double_data: Vec<f64>,
    #[serde(default)]
    string_data: Vec<String>,
}

/// A `SparseTensorProto`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SparseFile {
    pub(crate) dims: Vec<i64>,
    pub(crate) values: Option<TensorFile>,
    pub(crate) indices: Option<TensorFile>,
}

/// One tensor, in its typed field and in raw bytes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EncodingFile {
    pub(crate) r#type: String,
    /// A note that distinguishes tensors of one type.
    pub(crate) note: Option<String>,
    pub(crate) dims: Vec<i64>,
    /// The contents of the typed field and of the raw bytes.
    pub(crate) stored: Fields,
    /// The elements, derived by hand from the bits.
    pub(crate) values: Literal,
    /// The operator that passes the tensor on, if Identity does not accept it: `Cast <to = 1>`.
    pub(crate) operator: Option<String>,
    /// The type of the output, if it differs.
    pub(crate) output: Option<String>,
}

impl TensorFile {
    pub(crate) fn message(&self) -> Result<TensorProto, TensorFileError> {
        let code = match (&self.r#type, self.code) {
            (Some(name), None) => {
                Some(name.parse::<ElementType>().map_err(|_| TensorFileError::Type(name.clone()))?.code())
            }
            (None, code) => code,
            (Some(_), Some(_)) => return Err(TensorFileError::TypeAndCode),
        };
        let mut proto = TensorProto {
            name: (!self.name.is_empty()).then(|| self.name.clone()),
            data_type: code,
            dims: self.dims.clone(),
            ..TensorProto::default()
        };
        self.stored.fill(&mut proto)?;
        if let Some(entries) = &self.external {
            let entry = |(key, value): (&String, &String)| StringStringEntryProto {
                key: Some(key.clone()),
                value: Some(value.clone()),
            };
            proto.data_location = Some(DataLocation::External as i32);
            proto.external_data = entries.iter().map(entry).collect();
        }
        Ok(proto)
    }
}

impl Fields {
    /// Returns two flags: true if the typed field has elements, and true if there are raw bytes.
    pub(crate) fn given(&self) -> (bool, bool) {
        let typed = self.int32_data.len()
            + self.int64_data.len()
            + self.uint64_data.len()
            + self.float_data.len()
            + self.double_data.len()
            + self.string_data.len();
        (typed > 0, self.raw.is_some())
    }

    /// Returns only the raw bytes, or only the typed fields.
    pub(crate) fn only(&self, raw: bool) -> Fields {
        if raw { Fields { raw: self.raw.clone(), ..Fields::default() } } else { Fields { raw: None, ..self.clone() } }
    }

    fn fill(&self, proto: &mut TensorProto) -> Result<(), TensorFileError> {
        proto.raw_data = self.raw.as_deref().map(bytes).transpose()?;
        proto.int32_data.clone_from(&self.int32_data);
        proto.int64_data.clone_from(&self.int64_data);
        proto.uint64_data.clone_from(&self.uint64_data);
        proto.float_data.clone_from(&self.float_data);
        proto.double_data.clone_from(&self.double_data);
        proto.string_data = self.string_data.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        Ok(())
    }
}

impl SparseFile {
    pub(crate) fn message(&self) -> Result<SparseTensorProto, TensorFileError> {
        let part = |part: &Option<TensorFile>| part.as_ref().map(TensorFile::message).transpose();
        Ok(SparseTensorProto { values: part(&self.values)?, indices: part(&self.indices)?, dims: self.dims.clone() })
    }
}

/// Parses bytes from hexadecimal digits.
fn bytes(text: &str) -> Result<Bytes, TensorFileError> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| match pair {
        [high, low] => u8::from_str_radix(&format!("{high}{low}"), 16).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.map(Bytes::from).ok_or_else(|| TensorFileError::Hexadecimal(text.to_owned()))
}
