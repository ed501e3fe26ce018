//! Command line: one file per subcommand.

#[cfg(feature = "cli")]
mod actual;
#[cfg(feature = "cli")]
mod body;
#[cfg(feature = "cli")]
mod check;
#[cfg(feature = "cli")]
mod command;
#[cfg(feature = "cli")]
mod compare;
#[cfg(feature = "cli")]
mod convert;
#[cfg(feature = "cli")]
pub mod coverage;
#[cfg(feature = "cli")]
mod diff;
pub mod exit;
#[cfg(feature = "cli")]
mod explain;
#[cfg(feature = "cli")]
mod export;
#[cfg(feature = "cli")]
mod failures;
#[cfg(feature = "cli")]
mod finding;
pub(crate) mod gate;
#[cfg(feature = "cli")]
mod init;
pub(crate) mod interrupt;
#[cfg(feature = "cli")]
mod json_reporter;
#[cfg(feature = "cli")]
mod last_failures;
#[cfg(feature = "cli")]
mod limits;
#[cfg(feature = "cli")]
mod list;
#[cfg(feature = "cli")]
mod manual;
#[cfg(feature = "cli")]
mod measured;
#[cfg(feature = "cli")]
mod merge;
#[cfg(feature = "cli")]
mod op;
pub(crate) mod options;
#[cfg(feature = "cli")]
mod output_file;
#[cfg(feature = "cli")]
mod patterns;
#[cfg(feature = "cli")]
mod pool;
pub(crate) mod print;
#[cfg(feature = "cli")]
mod progress;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(feature = "cli")]
mod reports;
#[cfg(feature = "cli")]
mod results_file;
#[cfg(feature = "cli")]
mod run;
pub(crate) mod runtime;
#[cfg(feature = "cli")]
mod session;
#[cfg(feature = "cli")]
mod show;
#[cfg(feature = "cli")]
mod smoke;
#[cfg(feature = "cli")]
mod standard_text;
#[cfg(feature = "cli")]
mod suggest;
#[cfg(feature = "cli")]
mod target;
#[cfg(feature = "cli")]
mod terminal;
#[cfg(feature = "cli")]
mod trace;
mod usage;
#[cfg(feature = "cli")]
mod verify;

#[cfg(feature = "cli")]
pub use command::main;
pub use options::read_expectations;
#[cfg(feature = "cli")]
pub use progress::Progress;
#[cfg(feature = "cli")]
pub use terminal::TerminalReporter;
