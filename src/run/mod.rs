//! Running cases: a plan, a parallel runner, what is expected, and a stream of events.

mod expectations;
mod judge;
mod outcome;
mod results;
mod runner;
mod tally;

pub use expectations::{Entry, ExpectationError, Expectations, Standing};
pub use judge::judge;
pub use outcome::{CaseResult, Outcome};
pub use results::{Header, ResultsError, read_results, write_header, write_result};
pub use runner::{Event, Plan, Summary, plan, run, run_inspected};
pub use tally::{Conclusion, Tally};
