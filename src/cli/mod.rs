//! The command line: one file a subcommand.

mod actual;
mod body;
mod check;
mod command;
mod compare;
mod convert;
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
mod report;
mod reports;
mod results_file;
mod run;
pub(crate) mod runtime;
mod session;
mod show;
mod smoke;
mod suggest;
mod target;
mod terminal;
mod trace;
mod usage;
mod verify;

pub use command::main;
pub use options::read_expectations;
pub use progress::Progress;
pub use terminal::TerminalReporter;
