//! What is tested: anything that takes a model and inputs, and gives outputs or a reason.

mod accepted;
pub mod adapter;
mod adapters;
mod builtin;
mod declaration;
mod exchange;
mod external;
mod in_process;
mod launch;
pub mod message;
mod missing_feature;
mod pipes;
mod platform;
mod protocol;
#[cfg(test)]
mod schemas;
mod serve;
mod smoke;
mod stderr;
mod stop;
mod subprocess;
mod worker;

pub use accepted::accepted;
pub use adapters::Adapters;
pub use builtin::Builtin;
pub use declaration::{Accepted, Declaration, ElementName, Opsets};
pub(crate) use external::has_external_data;
pub use in_process::InProcess;
pub use launch::{AdapterFile, Launch, LaunchError};
pub use missing_feature::{MissingFeature, MissingFeatureError, OperatorName};
pub use protocol::{Ended, Host, Output, Phase, Ran, Request, Response, Runtime};
pub use serve::serve;
pub use smoke::{Verdict, smoke};
pub use stop::{Stop, StopReason};
pub use subprocess::{Options, Report, StartError, Subprocess};
pub use worker::Limits;
