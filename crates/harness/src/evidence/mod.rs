//! Evidence: what confirms the expected outputs of a case besides the project's own kernels.

mod confirming_runtimes;

pub use confirming_runtimes::ConfirmingRuntimes;
