//! The command line: one file a subcommand.

mod command;
mod compare;
pub mod coverage;
mod diff;
pub mod exit;
mod export;
mod failures;
mod gate;
pub mod harness;
mod init;
mod job;
mod list;
mod merge;
mod options;
mod output;
mod progress;
mod reports;
mod results;
mod run;
mod runtime;
mod show;
mod smoke;

pub use command::main;
pub use options::read_expectations;
pub use progress::Progress;
