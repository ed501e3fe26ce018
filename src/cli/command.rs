//! The subcommands, and what becomes of their errors.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::cli::usage::{Nothing, Usage};
use crate::cli::{
    check, compare, convert, coverage, diff, explain, export, finding, init, list, manual, measured, merge, op, pool,
    print, report, run, show, smoke, trace,
};
use onnx_conformance_cases::suite::{FilterError, Generated, Releases, SUITE_VERSION, Suite, remove_temporary};
use onnx_conformance_harness::{exit, interrupt};

/// Conformance tests and opset compatibility for ONNX.
#[derive(Debug, Parser)]
#[command(name = "onnx-conformance", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say whether models are valid, and what they are at other opsets and IR versions.
    Check(check::Arguments),
    /// Show which cases end otherwise in one results file than in another.
    Compare(compare::Arguments),
    /// Print what makes a shell complete the words of this program.
    Completions(manual::CompletionArguments),
    /// Bring a model to another opset or IR version, and prove on the built-in executor that it gives the same.
    Convert(convert::Arguments),
    /// Show which operator versions and type cells the cases run through, and which they leave out.
    Coverage(coverage::Arguments),
    /// Show what changed between two versions of an operator, or between two opsets.
    Diff(diff::Arguments),
    /// Say what an outcome means, or a rule of `check` or of an operator.
    Explain(explain::Arguments),
    /// Write cases as ordinary ONNX test folders, with a manifest.
    Export(export::Arguments),
    /// List what was found of runtimes, show a finding, or print an issue about it.
    Finding(finding::Arguments),
    /// Run a runtime for the first time and write its expectation file.
    Init(init::Arguments),
    /// List the ids of the cases that the filters choose.
    List(list::Arguments),
    /// Write manual pages: of this program, and of each of its subcommands.
    Man(manual::ManArguments),
    /// Show which versions of which runtimes were measured, and what they do, in numbers.
    Measured(measured::Arguments),
    /// Put the results of several shards together.
    Merge(merge::Arguments),
    /// Show a version of an operator: signature, types, what runtimes do with it, cases, traps, findings.
    Op(op::Arguments),
    /// Write a page and a compatibility matrix from results files.
    Report(report::Arguments),
    /// Run cases and compare the outcomes with what is expected.
    Run(run::Arguments),
    /// Show a case: its model, its inputs and what is expected.
    Show(show::Arguments),
    /// Run a few small models that show whether an adapter is right, and say what is wrong.
    Smoke(smoke::Arguments),
    /// Print the value of every node of a case on the built-in executor.
    Trace(trace::Arguments),
}

/// Runs the command line and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(pool::on_own_stack(run))
}

fn run() -> u8 {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            // Nothing is left to be done where even this cannot be printed.
            let _ = print::line(&versions());
            return exit::SUCCESS;
        }
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::SUCCESS };
            // Nothing is left to be done where even this cannot be printed.
            let _ = error.print();
            return code;
        }
    };
    // Where nobody listens, a signal ends the program at once.
    let _ = interrupt::listen();
    let done = arguments.command.run();
    remove_temporary();
    match done {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            match () {
                () if error.is::<Nothing>() => exit::NOTHING,
                () if error.is::<Usage>() || error.is::<FilterError>() => exit::USAGE,
                () => exit::HARNESS,
            }
        }
    }
}

impl Command {
    fn run(&self) -> anyhow::Result<u8> {
        // A check opens it for several models.
        if !matches!(self, Command::Check(_)) {
            pool::open()?;
        }
        match self {
            Command::Check(arguments) => check::main(arguments),
            Command::Compare(arguments) => compare::main(arguments),
            Command::Completions(arguments) => manual::completions(arguments, Arguments::command()),
            Command::Convert(arguments) => convert::main(arguments),
            Command::Coverage(arguments) => coverage::main(arguments),
            Command::Diff(arguments) => diff::main(arguments),
            Command::Explain(arguments) => explain::main(arguments),
            Command::Export(arguments) => export::main(arguments),
            Command::Finding(arguments) => finding::main(arguments),
            Command::Init(arguments) => init::main(arguments),
            Command::List(arguments) => list::main(arguments),
            Command::Man(arguments) => manual::man(arguments, Arguments::command()),
            Command::Measured(arguments) => measured::main(arguments),
            Command::Merge(arguments) => merge::main(arguments),
            Command::Op(arguments) => op::main(arguments),
            Command::Report(arguments) => report::main(arguments),
            Command::Run(arguments) => run::main(arguments),
            Command::Show(arguments) => show::main(arguments),
            Command::Smoke(arguments) => smoke::main(arguments),
            Command::Trace(arguments) => trace::main(arguments),
        }
    }
}

/// What `--version` prints: the versions of the program, of the suite and of ONNX, and the digest that results name.
fn versions() -> String {
    let mut text = format!("onnx-conformance {}\nsuite {SUITE_VERSION}", env!("CARGO_PKG_VERSION"));
    let Ok(releases) = Releases::embedded() else { return text };
    if let [oldest, .., newest] = releases.all() {
        // Writing to a string does not fail.
        let _ = write!(text, "\nONNX {} to {}", oldest.release, newest.release);
    }
    if let Ok(digest) = Suite::project(None, Generated::embedded()).and_then(|suite| suite.digest()) {
        let _ = write!(text, "\ndigest {digest}");
    }
    text
}
