//! The values that a version's text lists for a string attribute.

use std::sync::OnceLock;

use onnx_conformance_reference::spec::{Enums, OpSpec, Specs};

/// The values that an attribute of an operator version may have; none where any text may stand.
pub(crate) fn allowed(spec: &OpSpec, attribute: &str) -> &'static [String] {
    static ENUMS: OnceLock<Option<Enums>> = OnceLock::new();
    let enums = ENUMS.get_or_init(|| Enums::read(Specs::embedded()).ok());
    enums.as_ref().map_or(&[], |enums| enums.values(&spec.version, attribute))
}
