//! Running cases: the plan, the parallel runner, the outcome of each case, and the results file.

mod balance;
mod common_message;
mod judge;
mod outcome;
mod parts;
mod plan;
mod processor;
mod results;
mod rewrites;
mod runner;
mod scheduler;
mod summary;
mod support;
pub mod test_results;

pub use balance::{BalancedShard, CaseTimes};
pub(crate) use common_message::begins_as;
pub use common_message::{ANY_TEXT, common_message};
pub(crate) use judge::{failure, judge_outputs};
pub use judge::{judge, judge_twice};
pub use outcome::{CaseResult, Outcome};
pub use parts::{MissingShards, Part, PartsError, check_parts};
pub use plan::{Confirm, Plan, Shard, ShardError, plan};
pub(crate) use plan::{digest_text, id_digest, sorted_by_digest};
pub use processor::{ProcessorFeature, ProcessorFeatures, UnknownFeature, feature_list};
pub use results::{
    Header, Machine, OtherRun, Read, ResultsError, Selected, read_results, read_results_file, write_header,
    write_result,
};
pub use rewrites::{PatternNames, Rewrites};
pub use runner::{Event, OfRelease, Runner, Summary, run};
pub use scheduler::{AssignedShard, SchedulerError, assigned_shard};
pub use support::{DecodedCase, undeclared_feature};
