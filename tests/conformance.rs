//! The whole suite on the built-in executor, as a test binary: a trial for each vendored case, and one for each operator
//! version whose cases come from the specs.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use onnx_conformance::cli::read_expectations;
use onnx_conformance::run::{Expectations, Standing, judge};
use onnx_conformance::runtime::Builtin;
use onnx_conformance::suite::{Source, Suite, Unit};

/// The longest that one case may take.
const TIMEOUT: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite: &'static Suite = match Suite::open(&root.join("testdata")) {
        Ok(suite) => Box::leak(Box::new(suite)),
        Err(error) => panic!("the suite cannot be opened: {error}"),
    };
    let path = root.join("expectations/builtin.yaml");
    let expectations = read_expectations(&path, "builtin").unwrap_or_else(|error| panic!("{error:#}"));
    let expectations = Arc::new(expectations);
    let arguments = Arguments::from_args();
    // One name is found without listing all.
    let units = match &arguments.filter {
        Some(name) if arguments.exact => suite.unit(name).map(|unit| unit.into_iter().collect()),
        _ => suite.units(),
    };
    let trials = units.unwrap_or_else(|error| panic!("{error}")).into_iter().map(|(source, unit)| {
        let expectations = Arc::clone(&expectations);
        Trial::ignorable_test(unit.name.clone(), move || run_unit(source, &unit, &expectations))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Runs the cases of a unit; each one that is not as expected is printed with the command that runs it again.
fn run_unit(source: &(dyn Source + Send), unit: &Unit, expectations: &Expectations) -> Result<Completion, Failed> {
    let cases = source.load(unit, &|_| true)?;
    let runtime = Builtin::new(TIMEOUT);
    let (mut report, mut lacking) = (String::new(), None);
    if let Err(error) = source.check(unit, &cases) {
        let _ = write!(report, "\n{error}");
    }
    for case in &cases {
        let result = judge(case, &runtime);
        match expectations.standing(&result, true, &mut std::collections::BTreeSet::new()) {
            Standing::Pass | Standing::Silent => {}
            Standing::Expected => lacking = Some(result.message),
            Standing::Regression | Standing::Improvement => {
                let _ = write!(
                    report,
                    "\n{} {}\n    {}\n    cargo run --release -- run '{}'",
                    result.outcome, result.id, result.message, result.id
                );
            }
        }
    }
    match (cases.is_empty(), report.is_empty(), lacking) {
        (true, ..) => Err("the unit has no cases".into()),
        (false, false, _) => Err(report.into()),
        (false, true, Some(message)) => Ok(Completion::ignored_with(format!("expected: {message}"))),
        (false, true, None) => Ok(Completion::Completed),
    }
}
