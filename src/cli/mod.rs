//! The command line: one file a subcommand.

mod command;
pub mod coverage;
mod diff;
pub mod exit;
mod list;
mod options;
mod output;
mod progress;
mod run;
mod runtime;
mod show;
mod smoke;

pub use command::main;
pub use options::read_expectations;
pub use progress::Progress;
