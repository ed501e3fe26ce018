//! An element type by its name, for serde.

use onnx_conformance_reference::dtype::ElementType;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes the name.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn serialize<S: Serializer>(element: &ElementType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(element)
}

/// Reads the name.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ElementType, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|_| Error::custom(format!("'{name}' is not an element type")))
}
