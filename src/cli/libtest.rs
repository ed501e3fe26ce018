//! The suite as a test binary for a runtime written in Rust: for `cargo test` and cargo-nextest.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::cli::options::{project_folder, read_expectations};
use crate::report::terminal;
use crate::run::{Expectations, Expected, Standing, Used, judge};
use crate::runtime::Runtime;
use crate::suite::{Filter, Source, Suite, Unit};

/// What a test binary runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The cases, by globs over their ids; without one, all.
    pub cases: &'a [&'a str],
    /// Whether recommendations are gated on too, and not only what the standard requires.
    pub strict: bool,
}

/// Runs the suite on a runtime and returns the exit code of the test binary: `fn main` of a test target with
/// `harness = false` calls nothing else.
///
/// There is a trial for each vendored case and one for each operator version, under its name, so that the arguments of
/// `cargo test` and the partitions of cargo-nextest choose among them. A trial fails if a case does not end as the
/// expectation file says, with the command that shows the case. One more trial fails if an entry of that file names no case.
pub fn libtest(runtime: Box<dyn Runtime + Send>, expectations: &Path, options: Options<'_>) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match trials(runtime, expectations, options, &arguments) {
        Ok(trials) => trials,
        Err(error) => {
            crate::cli::output::error(&error);
            return ExitCode::from(crate::cli::exit::HARNESS);
        }
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What all trials share, for as long as the process lives.
struct Shared {
    runtime: Box<dyn Runtime + Send>,
    expectations: Expectations,
    strict: bool,
}

fn trials(
    runtime: Box<dyn Runtime + Send>,
    path: &Path,
    options: Options<'_>,
    arguments: &Arguments,
) -> anyhow::Result<Vec<Trial>> {
    let suite: &'static Suite = Box::leak(Box::new(Suite::open(&project_folder("testdata"))?));
    let filter = Filter::new(options.cases)?;
    let expectations = read_expectations(path, &runtime.declaration().name)?;
    let shared: &'static Shared = Box::leak(Box::new(Shared { runtime, expectations, strict: options.strict }));
    // One name is found without listing all.
    let mut units = match &arguments.filter {
        Some(name) if arguments.exact => suite.unit(name)?.into_iter().collect(),
        _ => suite.units()?,
    };
    units.retain(|(_, unit)| filter.touches(&unit.name));
    let trial = |(source, unit): (&'static (dyn Source + Send), Unit)| {
        Trial::ignorable_test(unit.name.clone(), move || run_unit(source, &unit, shared))
    };
    let mut trials: Vec<Trial> = units.into_iter().map(trial).collect();
    trials.push(Trial::test("expectations", move || every_entry_names_a_case(suite, &shared.expectations)));
    Ok(trials)
}

/// Runs the cases of a unit; each one that is not as expected is printed with the command that shows it.
fn run_unit(source: &(dyn Source + Send), unit: &Unit, shared: &Shared) -> Result<Completion, Failed> {
    let cases = source.load(unit, &|_| true)?;
    let declaration = shared.runtime.declaration();
    let expected = Expected::new(&shared.expectations, &declaration);
    let (mut report, mut lacking) = (String::new(), None);
    if let Err(error) = source.check(unit, &cases) {
        let _ = write!(report, "\n{error}");
    }
    for case in &cases {
        let result = judge(case, &*shared.runtime);
        let what = match expected.standing(&result, shared.strict, &mut Used::default()) {
            Standing::Pass | Standing::Silent => continue,
            Standing::Expected => {
                lacking = Some(result.message);
                continue;
            }
            Standing::Regression => "unexpected",
            Standing::Improvement => "better than expected",
        };
        let _ = write!(report, "\n{}", terminal::failure(what, &result, ""));
    }
    match (cases.is_empty(), report.is_empty(), lacking) {
        (true, ..) => Err("the unit has no cases".into()),
        (false, false, _) => Err(report.into()),
        (false, true, Some(message)) => Ok(Completion::ignored_with(format!("expected: {message}"))),
        (false, true, None) => Ok(Completion::Completed),
    }
}

/// An entry that names no case is out of date, whatever part of the suite is run.
fn every_entry_names_a_case(suite: &Suite, expectations: &Expectations) -> Result<(), Failed> {
    for pattern in expectations.expect.iter().filter_map(|entry| entry.cases.as_ref()) {
        if suite.ids(&Filter::new(&[pattern])?)?.is_empty() {
            return Err(format!("'{pattern}' matches no case; take the entry out").into());
        }
    }
    Ok(())
}
