//! Limits of a check: memory, time and findings.

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::measure::DEFAULT_BYTES;

/// Limits of a check.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Memory in bytes.
    pub bytes: usize,
    /// The end of the time for the check.
    pub deadline: Deadline,
    /// Maximum number of findings to keep per level.
    pub findings: usize,
}

impl Limits {
    /// Maximum bytes of the decoded messages; the names, facts and uses of their values need as much again.
    pub(crate) fn message_bytes(&self) -> usize {
        self.bytes / 4
    }

    /// Maximum bytes of the shapes and constants of values.
    pub(crate) fn fact_bytes(&self) -> usize {
        self.bytes / 32
    }

    /// Maximum bytes of the findings of one level.
    pub(crate) fn finding_bytes(&self) -> usize {
        self.bytes / 64
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: DEFAULT_BYTES, deadline: Deadline::never(), findings: 10_000 }
    }
}
