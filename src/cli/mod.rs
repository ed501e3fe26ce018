//! The command line: one file a subcommand.

mod command;
mod compare;
pub mod coverage;
mod diff;
pub mod exit;
mod export;
mod failures;
pub(crate) mod gate;
mod init;
mod list;
mod merge;
pub(crate) mod options;
pub(crate) mod print;
mod progress;
mod reports;
mod results_file;
mod run;
pub(crate) mod runtime;
mod session;
mod show;
mod smoke;
mod usage;

pub use command::main;
pub use options::read_expectations;
pub use progress::Progress;
