//! Field of an encoded message.

use onnx_conformance_reference::proto::measure::Kind;

/// Position and number of a field.
pub(super) struct Field {
    pub(super) number: u64,
    /// The position of the key.
    pub(super) at: u64,
    /// The start of the payload.
    pub(super) from: u64,
    /// The end of the payload.
    pub(super) to: u64,
    /// True if the payload is length-delimited.
    pub(super) is_delimited: bool,
}

/// Formats a field for messages: `field 7 of ModelProto`.
pub(super) fn place(kind: Kind, number: u64) -> String {
    let message = kind.message_name().unwrap_or("a message");
    match kind.field_name(number) {
        Some(name) => format!("field {number} ({name}) of {message}"),
        None => format!("field {number} of {message}"),
    }
}
