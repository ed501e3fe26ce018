//! What is tested: anything that takes a model and inputs, and gives outputs or a reason.

mod builtin;
mod declaration;
mod exchange;
mod launch;
pub mod message;
mod pipes;
mod platform;
mod protocol;
#[cfg(test)]
mod schemas;
mod smoke;
mod stop;
mod subprocess;
mod worker;

pub use builtin::Builtin;
pub use declaration::{Declaration, ElementName, Opsets};
pub use launch::{AdapterFile, Launch, LaunchError};
pub use protocol::{Output, Phase, Request, Response, Runtime};
pub use smoke::{Verdict, smoke};
pub use stop::{Stop, StopReason};
pub use subprocess::{Options, Report, StartError, Subprocess};
pub use worker::Limits;
