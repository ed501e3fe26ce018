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
mod list;
mod merge;
mod options;
mod print;
mod progress;
mod reports;
mod results_file;
mod run;
mod runtime;
mod session;
mod show;
mod smoke;

pub use command::main;
pub use options::read_expectations;
pub use progress::Progress;
