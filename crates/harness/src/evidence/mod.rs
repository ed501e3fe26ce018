//! Evidence: confirmation of a case's expected outputs by something other than the project's own kernels.

mod confirming_runtimes;

pub use confirming_runtimes::ConfirmingRuntimes;
