//! The command line: one file a subcommand.

mod coverage;
mod diff;
mod list;
mod options;
mod output;
mod progress;
mod run;
mod show;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use options::read_expectations;
pub use progress::Progress;

/// Exit codes: what a CI job can tell apart.
pub mod exit {
    use crate::run::Conclusion;

    /// All as expected.
    pub const SUCCESS: u8 = 0;
    /// Some case does worse than expected.
    pub const REGRESSION: u8 = 1;
    /// Some case does better than expected: the expectation file is stale.
    pub const STALE: u8 = 2;
    /// No case was selected.
    pub const NOTHING: u8 = 3;
    /// The harness itself failed.
    pub const HARNESS: u8 = 4;
    /// The command line is wrong.
    pub const USAGE: u8 = 64;

    /// The exit code of a run.
    pub const fn of(conclusion: Conclusion) -> u8 {
        match conclusion {
            Conclusion::Broken => HARNESS,
            Conclusion::Regressions => REGRESSION,
            Conclusion::Improvements => STALE,
            Conclusion::Nothing => NOTHING,
            Conclusion::AsExpected => SUCCESS,
        }
    }
}

/// Conformance tests and opset compatibility for ONNX.
#[derive(Debug, Parser)]
#[command(name = "onnx-conformance", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show which operator versions and type cells the cases run through, and which they leave out.
    Coverage(coverage::Arguments),
    /// Show what changed between two versions of an operator, or between two opsets.
    Diff(diff::Arguments),
    /// List the ids of the cases that the filters choose.
    List(list::Arguments),
    /// Run cases and hold the outcomes against what is expected.
    Run(run::Arguments),
    /// Show a case: its model, its inputs and what is expected.
    Show(show::Arguments),
}

/// Runs the command line and returns its exit code.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::SUCCESS };
            // Nothing is left to be done where even this cannot be printed.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let done = match &arguments.command {
        Command::Coverage(arguments) => coverage::main(arguments),
        Command::Diff(arguments) => diff::main(arguments),
        Command::List(arguments) => list::main(arguments),
        Command::Run(arguments) => run::main(arguments),
        Command::Show(arguments) => show::main(arguments),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(exit::HARNESS)
        }
    }
}
