//! Positions of tensor elements in a file.

use crate::scan::field::Field;

/// Position of a tensor's elements in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredData {
    /// The fields with elements, in the order of their first appearance.
    pub fields: Vec<StoredField>,
    /// True if the elements were skipped in the message.
    pub is_elided: bool,
    /// True if the tensor is marked as a segment of another.
    pub is_segment: bool,
}

impl StoredData {
    /// The encoded size of all elements in bytes.
    pub fn bytes(&self) -> u64 {
        self.fields.iter().map(|field| field.bytes).sum()
    }
}

/// Position of one field of a tensor's elements in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredField {
    /// The field.
    pub field: DataField,
    /// Offset and length of its parts: the payload of a list or of raw bytes. Consecutive elements with individual keys are one
    /// part, including the keys.
    pub parts: Vec<(u64, u64)>,
    /// The bytes of lists, raw data and single elements, without keys.
    pub bytes: u64,
    /// The bytes of lists only.
    pub listed: u64,
    /// The number of elements with individual keys; strings always have one.
    pub singles: u64,
}

/// Field of `TensorProto` for elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are ONNX's own")]
pub enum DataField {
    FloatData = 4,
    Int32Data = 5,
    StringData = 6,
    Int64Data = 7,
    RawData = 9,
    DoubleData = 10,
    Uint64Data = 11,
}

impl DataField {
    const ALL: [DataField; 7] = [
        DataField::FloatData,
        DataField::Int32Data,
        DataField::StringData,
        DataField::Int64Data,
        DataField::RawData,
        DataField::DoubleData,
        DataField::Uint64Data,
    ];

    pub(super) fn from_number(number: u64) -> Option<DataField> {
        Self::ALL.into_iter().find(|field| *field as u64 == number)
    }

    /// ONNX's name of the field.
    pub const fn name(self) -> &'static str {
        match self {
            DataField::FloatData => "float_data",
            DataField::Int32Data => "int32_data",
            DataField::StringData => "string_data",
            DataField::Int64Data => "int64_data",
            DataField::RawData => "raw_data",
            DataField::DoubleData => "double_data",
            DataField::Uint64Data => "uint64_data",
        }
    }
}

/// Records a part of a field of elements; returns the number of entries added to the list of parts.
pub(super) fn add_part(fields: &mut Vec<StoredField>, name: DataField, field: &Field) -> usize {
    let bytes = field.to - field.from;
    let at = fields.iter().position(|other| other.field == name).unwrap_or_else(|| {
        fields.push(StoredField { field: name, parts: Vec::new(), bytes: 0, listed: 0, singles: 0 });
        fields.len() - 1
    });
    let Some(stored) = fields.get_mut(at) else { return 0 };
    if name == DataField::RawData {
        // The last one wins.
        (stored.parts, stored.bytes, stored.listed) = (vec![(field.from, bytes)], bytes, bytes);
        return 0;
    }
    let is_single = !field.is_delimited || name == DataField::StringData;
    stored.bytes += bytes;
    stored.singles += u64::from(is_single);
    stored.listed += if is_single { 0 } else { bytes };
    match stored.parts.last_mut().filter(|_| is_single) {
        Some((from, length)) if *from + *length == field.at => {
            *length = field.to - *from;
            return 0;
        }
        _ if is_single => stored.parts.push((field.at, field.to - field.at)),
        _ => stored.parts.push((field.from, bytes)),
    }
    1
}
