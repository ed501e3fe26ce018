//! Unknown fields, from vendors or from later releases of ONNX.

use onnx_conformance_reference::proto::measure::Kind;
use onnx_conformance_reference::spec::Specs;

use crate::finding::{Finding, Place};
use crate::rules::RuleId;
use crate::scan::field::{Field, place};

/// Maximum number of unknown fields to keep with their positions.
const MAX_LISTED: usize = 100;

/// Unknown fields of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// The total number.
    pub count: u64,
    /// The first hundred, in file order.
    pub first: Vec<UnknownField>,
}

/// Unknown field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// The kind of the message that contains it.
    pub message: Kind,
    /// The enclosing message, and the number of the field there, if the kind alone does not identify the message.
    pub holder: Option<(Kind, u64)>,
    /// The field number.
    pub number: u64,
    /// The byte offset in the file.
    pub offset: u64,
}

impl UnknownField {
    /// Formats the field for messages: `field 99 of NodeProto`.
    pub fn place(&self) -> String {
        match self.holder.filter(|_| self.message.message_name().is_none()) {
            Some((holder, number)) => format!("field {} of {}", self.number, place(holder, number)),
            None => place(self.message, self.number),
        }
    }
}

impl UnknownFields {
    /// Counts a field if it is unknown.
    pub(super) fn count_if_unknown(&mut self, message: Kind, holder: Option<(Kind, u64)>, field: &Field) {
        if message.has_field(holder, field.number) {
            return;
        }
        self.count += 1;
        if self.first.len() < MAX_LISTED {
            self.first.push(UnknownField { message, holder, number: field.number, offset: field.at });
        }
    }

    /// The finding for all of them.
    pub(super) fn finding(&self) -> Option<Finding> {
        let first = self.first.first()?;
        let others = match self.count - 1 {
            0 => String::new(),
            1 => ", and 1 more such field".to_owned(),
            others => format!(", and {others} more such fields"),
        };
        let release = Specs::embedded().newest_release();
        let message = format!("byte {}: {} is not defined by ONNX {release}{others}", first.offset, first.place());
        Some(Finding::new(RuleId::FileUnknownField, Place::default(), message).with_offset(first.offset))
    }
}
