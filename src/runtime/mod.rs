//! What is tested: anything that takes a model and inputs, and gives outputs or a reason.

mod builtin;
mod declaration;
mod protocol;
mod stop;

pub use builtin::Builtin;
pub use declaration::{Declaration, ElementName, Opsets};
pub use protocol::{Output, Phase, Request, Response, Runtime};
pub use stop::{Stop, StopReason};
