//! Bodies of archive entries as cases.

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::{TypeError, ValueType};
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, DrawnTensor, Expected, ExpectedOutput, Level, Named, RuleRef, UpstreamOverride};
use crate::compare::Accuracy;
use crate::compare::statistics::Distribution;
use crate::suite::archive_bytes::{EDGE, HOSTILE, JUDGED, REFUSAL, RULE, RUN_TIME, put_int};
use crate::suite::archive_cursor::{ArchiveError, Cursor};
use crate::suite::archive_directory::{ArchiveEntry, Directory};

/// Key of the field `raw_data` of a `TensorProto`: field 9, bytes after their length.
const RAW_DATA: u8 = (9 << 3) | 2;

/// An entry that is read. Its case has no folder and no refusal yet.
#[derive(Debug)]
pub(super) struct ArchivedCase {
    pub(super) case: Case,
    /// External data files by their path relative to the model.
    pub(super) files: Vec<(String, Bytes)>,
    pub(super) refusal: Option<ArchivedRefusal>,
}

/// Refusal of a case, whose control is another entry.
#[derive(Debug)]
pub(super) struct ArchivedRefusal {
    pub(super) rule: String,
    /// Number of the entry of the control.
    pub(super) control: u64,
    pub(super) only_at_run_time: bool,
}

/// Reads the level of an entry only.
pub(super) fn level_of(directory: &Directory, entry: &ArchiveEntry) -> Result<Level, ArchiveError> {
    let mut reader = BodyReader::new(directory, entry, 0);
    reader.cursor.int()?;
    reader.level()
}

/// Returns the level with this number.
fn level_from_number(number: u8) -> Option<Level> {
    [Level::Required, Level::Recommended, Level::Open].into_iter().nth(number.into())
}

/// Reader of the body of an entry.
#[derive(Debug)]
pub(super) struct BodyReader<'a> {
    directory: &'a Directory,
    cursor: Cursor<'a>,
    /// Largest total size of the blobs in bytes.
    memory: u64,
    /// Total size of the blobs that were read.
    used: u64,
    /// The draws that made blobs of the body.
    drawn: Vec<DrawnTensor>,
}

impl<'a> BodyReader<'a> {
    /// Starts reading an entry whose blobs have at most `memory` bytes together.
    pub(super) fn new(directory: &'a Directory, entry: &ArchiveEntry, memory: u64) -> BodyReader<'a> {
        BodyReader { directory, cursor: directory.body(entry), memory, used: 0, drawn: Vec::new() }
    }

    fn level(&mut self) -> Result<Level, ArchiveError> {
        let number = self.cursor.byte()?;
        level_from_number(number).ok_or_else(|| self.cursor.refuse(format!("has the unknown level {number}")))
    }

    /// Reads a whole body.
    pub(super) fn case(mut self, id: &str) -> Result<ArchivedCase, ArchiveError> {
        let flags = self.cursor.int()?;
        let level = self.level()?;
        let model = self.blob()?;
        let files = self.list(|reader| Ok((reader.string()?, reader.blob()?)))?;
        self.skip_model_facts()?;
        let data = self.list(BodyReader::data_set)?;
        let refusal = if flags & REFUSAL == 0 {
            None
        } else {
            let rule = self.string()?;
            // The class follows from the models.
            self.cursor.byte()?;
            let control = self.cursor.int()?;
            Some(ArchivedRefusal { rule, control, only_at_run_time: flags & RUN_TIME != 0 })
        };
        let rule = if flags & RULE == 0 {
            None
        } else {
            Some(RuleRef { id: self.string()?, says: self.string()?, place: self.string()? })
        };
        let judged = if flags & JUDGED == 0 { None } else { Some(self.judged()?) };
        let case = Case {
            level,
            is_edge: flags & EDGE != 0,
            is_hostile: flags & HOSTILE != 0,
            rule,
            judged,
            drawn: self.drawn,
            ..Case::new(id, model, data)
        };
        Ok(ArchivedCase { case, files, refusal })
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, ArchiveError>) -> Result<Vec<T>, ArchiveError> {
        let mut items = Vec::new();
        for _ in 0..self.cursor.count()? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn string(&mut self) -> Result<String, ArchiveError> {
        let number = self.cursor.int()?;
        let text = self.directory.string(number).map(str::to_owned);
        text.ok_or_else(|| self.cursor.refuse(format!("refers to string {number}, which does not exist")))
    }

    fn blob(&mut self) -> Result<Bytes, ArchiveError> {
        let number = self.cursor.int()?;
        self.blob_at(number)
    }

    fn blob_at(&mut self, number: u64) -> Result<Bytes, ArchiveError> {
        let length = self.directory.blob_length(number).unwrap_or(0);
        self.used = self.used.saturating_add(length as u64);
        if self.used > self.memory {
            return Err(ArchiveError::TooLarge { memory: self.memory });
        }
        self.drawn.extend(self.directory.drawn(number).cloned());
        let blob = self.directory.blob(number)?;
        blob.ok_or_else(|| self.cursor.refuse(format!("refers to blob {number}, which does not exist")))
    }

    /// Skips IR version, imports and operators, which the model has, too.
    fn skip_model_facts(&mut self) -> Result<(), ArchiveError> {
        self.cursor.int()?;
        self.list(|reader| Ok((reader.cursor.int()?, reader.cursor.int()?)))?;
        self.list(|reader| Ok((reader.cursor.int()?, reader.cursor.int()?, reader.cursor.int()?)))?;
        Ok(())
    }

    fn judged(&mut self) -> Result<UpstreamOverride, ArchiveError> {
        let name = self.string()?;
        let judged = serde_json::from_value(serde_json::Value::String(name.clone()));
        judged.map_err(|_| self.cursor.refuse(format!("is judged otherwise for the unknown reason '{name}'")))
    }

    fn data_set(&mut self) -> Result<DataSet, ArchiveError> {
        let inputs = self.list(|reader| Ok(Named { name: reader.string()?, value: reader.value()? }))?;
        let outputs =
            self.list(|reader| Ok(ExpectedOutput { name: reader.string()?, expected: reader.expectation()? }))?;
        Ok(DataSet { inputs, outputs })
    }

    fn value_type(&mut self) -> Result<ValueType, ArchiveError> {
        let name = self.string()?;
        name.parse().map_err(|error: TypeError| self.cursor.refuse(error.to_string()))
    }

    fn value(&mut self) -> Result<Value, ArchiveError> {
        let declared = self.value_type()?;
        let is_tensor = matches!(declared, ValueType::Tensor(_));
        let mut message = self.blob()?;
        if let Some(number) = self.cursor.int()?.checked_sub(1) {
            let elements = self.blob_at(number)?;
            if !is_tensor {
                return Err(self.cursor.refuse(format!("has elements apart for a value of type {declared}")));
            }
            message = with_elements(&message, &elements);
        }
        let value = decode::value(message, &declared).map_err(|error| self.cursor.refuse(error.to_string()))?;
        if is_tensor && value.value_type() != declared {
            return Err(self.cursor.refuse(format!("has a {} for a {declared}", value.value_type())));
        }
        Ok(value)
    }

    fn tensor(&mut self) -> Result<Tensor, ArchiveError> {
        match self.value()? {
            Value::Tensor(tensor) => Ok(tensor),
            other => Err(self.cursor.refuse(format!("has a {} instead of a tensor", other.value_type()))),
        }
    }

    fn element(&mut self) -> Result<ElementType, ArchiveError> {
        let code = self.cursor.byte()?;
        let element = ElementType::from_code(code.into());
        element.ok_or_else(|| self.cursor.refuse(format!("has the unknown element type {code}")))
    }

    fn expectation(&mut self) -> Result<Expected, ArchiveError> {
        Ok(match self.cursor.byte()? {
            0 => Expected::Value(self.value()?, self.accuracy()?),
            1 => Expected::AnyOf(self.list(BodyReader::value)?),
            2 => Expected::Set(self.value()?),
            3 => Expected::PermutedAlongAxis(self.tensor()?, self.cursor.signed()?),
            4 => {
                let (element, shape) = (self.element()?, self.cursor.shape()?);
                Expected::SampledFrom { element, shape, law: self.law()? }
            }
            5 => {
                let value_type = self.value_type()?;
                let has_shape = self.cursor.byte()? != 0;
                Expected::Unspecified(value_type, if has_shape { Some(self.cursor.shape()?) } else { None })
            }
            6 => Expected::SameMeanAs(self.tensor()?),
            7 => Expected::DropoutOf { source: self.tensor()?, ratio: self.cursor.double()? },
            8 => Expected::Mask { shape: self.cursor.shape()?, ratio: self.cursor.double()? },
            tag => return Err(self.cursor.refuse(format!("has the unknown rule {tag}"))),
        })
    }

    fn accuracy(&mut self) -> Result<Accuracy, ArchiveError> {
        Ok(match self.cursor.byte()? {
            0 => Accuracy::Exact,
            1 => Accuracy::ExactZeroSign,
            2 => Accuracy::Ulp(self.cursor.int()?),
            3 => Accuracy::Absolute(self.cursor.double()?),
            4 => Accuracy::Roundoffs(self.cursor.double()?),
            5 => Accuracy::Close { relative: self.cursor.double()?, absolute: self.cursor.double()? },
            6 => Accuracy::Bounded(self.tensor()?),
            tag => return Err(self.cursor.refuse(format!("has the unknown accuracy {tag}"))),
        })
    }

    fn law(&mut self) -> Result<Distribution, ArchiveError> {
        Ok(match self.cursor.byte()? {
            0 => Distribution::Normal { mean: self.cursor.double()?, deviation: self.cursor.double()? },
            1 => Distribution::Uniform { low: self.cursor.double()?, high: self.cursor.double()? },
            2 => Distribution::Bernoulli(self.tensor()?),
            3 => Distribution::Multinomial(self.tensor()?),
            tag => return Err(self.cursor.refuse(format!("has the unknown law {tag}"))),
        })
    }
}

/// Appends the field `raw_data` to a serialized `TensorProto`. Fields of a message may have any order.
fn with_elements(message: &[u8], elements: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(message.len() + elements.len() + 11);
    bytes.extend(message);
    bytes.push(RAW_DATA);
    put_int(&mut bytes, elements.len() as u64);
    bytes.extend(elements);
    bytes.into()
}
