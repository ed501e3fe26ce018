//! Fields that ONNX does not have: of a vendor, or of a later release.

use onnx_conformance_reference::proto::measure::Kind;

use crate::finding::{Finding, Place};
use crate::rules::RuleId;
use crate::scan::field::{Field, place};

/// How many such fields are kept with their places.
const KEPT: usize = 100;

/// The fields of a model that ONNX does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// How many there are.
    pub count: u64,
    /// The first hundred, in the order of the file.
    pub first: Vec<UnknownField>,
}

/// A field that ONNX does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// The kind of message that it is in.
    pub message: Kind,
    /// The message around that one, and the number of its field there, where the kind alone does not name the message.
    pub holder: Option<(Kind, u64)>,
    /// Its number.
    pub number: u64,
    /// The byte of the file at which it begins.
    pub offset: u64,
}

impl UnknownField {
    /// The field as messages name it: `field 99 of NodeProto`.
    pub fn place(&self) -> String {
        match self.holder.filter(|_| self.message.message_name().is_none()) {
            Some((holder, number)) => format!("field {} of {}", self.number, place(holder, number)),
            None => place(self.message, self.number),
        }
    }
}

impl UnknownFields {
    /// Counts a field, unless ONNX has it.
    pub(super) fn note(&mut self, message: Kind, holder: Option<(Kind, u64)>, field: &Field) {
        if message.has_field(holder, field.number) {
            return;
        }
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(UnknownField { message, holder, number: field.number, offset: field.at });
        }
    }

    /// The finding about all of them.
    pub(super) fn finding(&self) -> Option<Finding> {
        let first = self.first.first()?;
        let others = match self.count - 1 {
            0 => String::new(),
            1 => ", and 1 more such field".to_owned(),
            others => format!(", and {others} more such fields"),
        };
        let message = format!("byte {}: {} is not of ONNX 1.23{others}", first.offset, first.place());
        Some(Finding::new(RuleId::FileUnknown, Place::default(), message).with_offset(first.offset))
    }
}
