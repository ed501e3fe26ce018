//! Runtimes under test: anything that takes a model and inputs, and returns outputs or an error.

mod accepted;
pub mod adapter;
mod adapters;
mod builtin;
mod declaration;
mod exchange;
mod exchange_folder;
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

pub use declaration::{Accepted, Declaration, ElementName, Opsets};
pub(crate) use declaration::{is_name, name_problem, version_problem};
pub use missing_feature::{MissingFeature, MissingFeatureError, OperatorName};
pub use protocol::{Host, Output, Phase, Ran, Request, Response, Runtime};
pub use serve::serve;
pub use worker::Limits;

// For use by the program and the harness when they start runtimes.
#[doc(hidden)]
pub use accepted::accepted;
#[doc(hidden)]
pub use adapters::Adapters;
#[doc(hidden)]
pub use builtin::Builtin;
pub(crate) use external::has_external_data;
#[doc(hidden)]
pub use in_process::InProcess;
#[doc(hidden)]
pub use launch::{AdapterFile, Launch, LaunchError};
#[doc(hidden)]
pub use protocol::Ended;
#[doc(hidden)]
pub use smoke::{Verdict, smoke};
#[doc(hidden)]
pub use stop::{Stop, StopReason};
#[doc(hidden)]
pub use subprocess::{Options, Report, StartError, Subprocess};
