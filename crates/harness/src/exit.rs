//! Exit codes, to be distinguished by CI jobs.

use crate::expectations::Conclusion;

/// All results are as expected.
pub const SUCCESS: u8 = 0;
/// Some cases do worse than expected.
pub const REGRESSION: u8 = 1;
/// Some cases do better than expected: the expectation file is stale.
pub const STALE: u8 = 2;
/// No case was selected.
pub const NOTHING: u8 = 3;
/// The harness itself failed.
pub const HARNESS: u8 = 4;
/// The run was interrupted, for example by Ctrl-C.
pub const INTERRUPTED: u8 = 130;
/// The command line is invalid.
pub const USAGE: u8 = 64;

/// Returns the exit code of a run.
pub const fn code_for(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Broken => HARNESS,
        Conclusion::Regressions => REGRESSION,
        Conclusion::Improvements => STALE,
        Conclusion::NothingJudged => NOTHING,
        Conclusion::AsExpected => SUCCESS,
    }
}
