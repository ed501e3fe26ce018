//! Values of string attributes listed in the text of a version.

use std::sync::OnceLock;

use onnx_conformance_reference::spec::{Enums, OpSpec, Specs};

/// The allowed values of an attribute of an operator version; empty if any string is allowed.
pub(crate) fn allowed(spec: &OpSpec, attribute: &str) -> &'static [String] {
    static ENUMS: OnceLock<Option<Enums>> = OnceLock::new();
    let enums = ENUMS.get_or_init(|| Enums::read(Specs::embedded()).ok());
    enums.as_ref().map_or(&[], |enums| enums.values(&spec.version, attribute))
}
