//! Running cases: a plan, a parallel runner, what is expected, and a stream of events.

mod book;
mod condition;
mod declared;
mod evidence;
mod expectations;
mod fold;
mod judge;
mod layout;
mod outcome;
mod plan;
mod results;
mod runner;
mod tally;
mod update;
mod whole_file;

pub use book::{Book, Standing};
pub use condition::{Condition, Versions};
pub use declared::undeclared;
pub use evidence::{Witnesses, confirmed};
pub use expectations::{Entry, ExpectationError, Expectations};
pub use judge::judge;
pub use outcome::{CaseResult, Outcome};
pub use plan::{Plan, Shard, plan};
pub use results::{Header, Machine, Read, ResultsError, Selected, read_results, write_header, write_result};
pub use runner::{Event, OfRelease, Summary, run, run_inspected};
pub use tally::{Conclusion, Fault, FaultKind, Scope, Tally};
pub use update::{first_expectations, updated_expectations};
pub use whole_file::{WholeFile, lock_folder, write_whole};
