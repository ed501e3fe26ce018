//! Evidence: what confirms the expected outputs of a case besides the project's own kernels.

mod confirming_runtimes;
mod digests;

pub use confirming_runtimes::ConfirmingRuntimes;
pub(crate) use confirming_runtimes::FILES as EXPECTATION_FILES;
pub use digests::MeasuredDigests;
