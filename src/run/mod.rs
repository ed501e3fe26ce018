//! Running cases: a plan, a parallel runner, what is expected, and a stream of events.

mod condition;
mod declared;
mod expectations;
mod fold;
mod judge;
mod outcome;
mod plan;
mod results;
mod runner;
mod tally;
mod update;

pub use condition::Condition;
pub use expectations::{Entry, ExpectationError, Expectations, Expected, Standing, Used};
pub use judge::judge;
pub use outcome::{CaseResult, Outcome};
pub use plan::{Plan, Shard, plan};
pub use results::{Header, ResultsError, read_results, write_header, write_result};
pub use runner::{Event, Summary, run, run_inspected};
pub use tally::{Conclusion, Tally};
