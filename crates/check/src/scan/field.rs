//! A field of an encoded message.

use onnx_conformance_reference::proto::measure::Kind;

/// A field as its key tells it.
pub(super) struct Field {
    pub(super) number: u64,
    /// Where the key stands.
    pub(super) at: u64,
    /// Where the payload begins.
    pub(super) from: u64,
    /// Where it ends.
    pub(super) to: u64,
    /// Whether the payload has a length of its own.
    pub(super) is_delimited: bool,
}

/// A field as messages name it: `field 7 of ModelProto`.
pub(super) fn place(kind: Kind, number: u64) -> String {
    let message = kind.message_name().unwrap_or("a message");
    match kind.field_name(number) {
        Some(name) => format!("field {number} ({name}) of {message}"),
        None => format!("field {number} of {message}"),
    }
}
