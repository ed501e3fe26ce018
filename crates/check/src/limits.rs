//! Limits of a check: memory, time and findings.

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::measure::DEFAULT_BYTES;

/// What a check may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of memory.
    pub bytes: usize,
    /// When the check ends, if it has not before.
    pub deadline: Deadline,
    /// Findings of one level that are kept.
    pub findings: usize,
}

impl Limits {
    /// Bytes that the decoded messages may take: the names, facts and uses of their values take as much again.
    pub(crate) fn message_bytes(&self) -> usize {
        self.bytes / 4
    }

    /// Bytes that shapes and constants of values may take.
    pub(crate) fn fact_bytes(&self) -> usize {
        self.bytes / 32
    }

    /// Bytes that the findings of one level may take.
    pub(crate) fn finding_bytes(&self) -> usize {
        self.bytes / 64
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: DEFAULT_BYTES, deadline: Deadline::never(), findings: 10_000 }
    }
}
