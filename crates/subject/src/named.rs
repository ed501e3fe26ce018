//! A value with its name.

use onnx_conformance_reference::value::Value;

/// A value with the name of the graph input or output it belongs to.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}
