//! The subcommands and their error handling.

use std::env;
use std::fmt::Write as _;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use onnx_conformance_cases::suite::{FilterError, Generated, Releases, SUITE_VERSION, Suite, remove_temporary};
use onnx_conformance_harness::{exit, interrupt};

use crate::cli::old_names::translate;
use crate::cli::screen::shortened;
use crate::cli::usage::{Nothing, Usage};
use crate::cli::{
    check, compare, convert, coverage, diff, explain, export, finding, list, manual, measured, merge, op, pool, print,
    report, run, show, spec, submit_check, trace,
};

/// Conformance tests and opset compatibility for ONNX.
#[derive(Debug, Parser)]
#[command(name = "onnx-conformance", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Colour of output and errors. By default, a terminal shows it unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", hide_default_value = true)]
    color: Color,
}

/// When output is coloured.
#[derive(Debug, Default, Clone, Copy, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> ColorChoice {
        match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check models: rules of the standard, other opsets and IR versions, and runtimes.
    Check(check::Arguments),
    /// Show what changed between two runs, or between two measured versions of a runtime.
    Compare(compare::Arguments),
    /// Print a shell completion script, or write manual pages.
    Completions(manual::Arguments),
    /// Convert a model to another opset, IR version or half precision, and compare both on the built-in executor.
    Convert(convert::Arguments),
    /// Show the operator versions, types and values that the cases cover, and those that they miss.
    Coverage(coverage::Arguments),
    /// Show the changes between two versions of an operator, two opsets, or two versions of the suite.
    Diff(diff::Arguments),
    /// Explain an outcome, or a rule of `check` or of an operator.
    #[command(hide = true)]
    Explain(explain::Arguments),
    /// Write cases as ordinary ONNX test folders, with a manifest.
    Export(export::Arguments),
    /// List the findings about runtimes, show a finding, or print an issue for it.
    #[command(hide = true)]
    Finding(finding::Arguments),
    /// List the ids of cases, findings, measured versions of runtimes, outcomes, or rules.
    List(list::Arguments),
    /// Show the measured versions of runtimes and a summary of their results.
    #[command(hide = true)]
    Measured(measured::Arguments),
    /// Merge the results of several shards.
    Merge(merge::Arguments),
    /// Show a version of an operator: signature, types, results of runtimes, changes, cases, findings.
    #[command(hide = true)]
    Op(op::Arguments),
    /// Print what a version of an operator is: signature, formula, shape, changes, and rules with examples.
    #[command(hide = true)]
    Spec(spec::Arguments),
    /// Write a site with a compatibility matrix from measurements and results files.
    Report(report::Arguments),
    /// Run cases and compare the outcomes with the expectations; check an adapter; write the first expectation file.
    Run(run::Arguments),
    /// Show a case, a version of an operator, a rule, an outcome or a finding.
    Show(show::Arguments),
    /// Seal or verify a submission: the results of a whole run, with the adapter. Print whether the runtime conforms.
    SubmitCheck(submit_check::Arguments),
    /// Print the value of every node of a case or a model, or find the first node that a runtime computes differently.
    Trace(trace::Arguments),
}

/// Runs the command line and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(pool::on_own_stack(run))
}

fn run() -> u8 {
    let (line, old) = translate(env::args_os());
    let arguments = match Arguments::try_parse_from(line) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            // If even this cannot be printed, there is nothing left to do.
            let _ = print::line(&versions());
            return exit::SUCCESS;
        }
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::SUCCESS };
            // If even this cannot be printed, there is nothing left to do.
            let _ = error.print();
            return code;
        }
    };
    ColorChoice::from(arguments.color).write_global();
    // If no handler can be installed, a signal ends the program at once.
    let _ = interrupt::set_signal_handlers();
    if let Some((old, new)) = old.map(|old| (old.name, old.new)).or_else(|| arguments.command.renamed())
        && !arguments.command.is_json()
    {
        print::note(&format!("`{old}` is now `{new}`; the old name goes with the next version"));
    }
    let command = &arguments.command;
    let done = if command.is_shortened() { shortened(|| command.run()) } else { command.run() };
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
        // `check` starts them for several models only.
        if !matches!(self, Command::Check(_)) {
            pool::open()?;
        }
        match self {
            Command::Check(arguments) => check::main(arguments),
            Command::Compare(arguments) => compare::main(arguments),
            Command::Completions(arguments) => manual::main(arguments, Arguments::command()),
            Command::Convert(arguments) => convert::main(arguments),
            Command::Coverage(arguments) => coverage::main(arguments),
            Command::Diff(arguments) => diff::main(arguments),
            Command::Explain(arguments) => explain::main(arguments),
            Command::Export(arguments) => export::main(arguments),
            Command::Finding(arguments) => finding::main(arguments),
            Command::List(arguments) => list::main(arguments),
            Command::Measured(arguments) => measured::main(arguments),
            Command::Merge(arguments) => merge::main(arguments),
            Command::Op(arguments) => op::main(arguments),
            Command::Spec(arguments) => spec::main(arguments),
            Command::Report(arguments) => report::main(arguments),
            Command::Run(arguments) => run::main(arguments),
            Command::Show(arguments) => show::main(arguments),
            Command::SubmitCheck(arguments) => submit_check::main(arguments),
            Command::Trace(arguments) => trace::main(arguments),
        }
    }

    /// Returns true if the output is shortened to the screen of a terminal.
    fn is_shortened(&self) -> bool {
        match self {
            Command::Check(arguments) => arguments.is_shortened(),
            Command::Compare(arguments) => arguments.is_shortened(),
            Command::Coverage(arguments) => arguments.is_shortened(),
            Command::Diff(arguments) => arguments.is_shortened(),
            Command::List(arguments) => arguments.is_shortened(),
            Command::Show(arguments) => arguments.is_shortened(),
            Command::Trace(arguments) => arguments.is_shortened(),
            _ => false,
        }
    }

    /// Returns true if the output is JSON, which comes without a note about an old name.
    fn is_json(&self) -> bool {
        match self {
            Command::Diff(arguments) => arguments.is_json(),
            Command::Measured(arguments) => arguments.is_json(),
            _ => false,
        }
    }

    /// Returns the old and the new name of a command that was renamed.
    fn renamed(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Command::Explain(arguments) if arguments.names_subject() => Some(("explain", "show")),
            Command::Explain(_) => Some(("explain", "list rules")),
            Command::Finding(arguments) if arguments.names_finding() => Some(("finding", "show")),
            Command::Finding(_) => Some(("finding", "list findings")),
            Command::Measured(_) => Some(("measured", "list measured")),
            Command::Op(_) => Some(("op", "show")),
            Command::Spec(_) => Some(("spec", "show --definition")),
            _ => None,
        }
    }
}

/// Returns the output of `--version`: the versions of the program, of the suite and of ONNX, and the digest that results contain.
fn versions() -> String {
    let mut text = format!("onnx-conformance {}\nsuite {SUITE_VERSION}", env!("CARGO_PKG_VERSION"));
    let Ok(releases) = Releases::embedded() else { return text };
    if let [oldest, .., newest] = releases.all() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nONNX {} to {}", oldest.release, newest.release);
    }
    if let Ok(digest) = Suite::project(None, Generated::embedded()).and_then(|suite| suite.digest()) {
        let _ = write!(text, "\ndigest {digest}");
    }
    text
}
