//! The suite as the tests of a runtime's own crate: a test binary for `cargo test` and cargo-nextest.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::case::{Variant, vary};
use crate::cli::gate::{Gate, GateOptions};
use crate::cli::{options, output};
use crate::report::terminal::word;
use crate::run::{CaseResult, Scope, Standing, Tally, judge};
use crate::runtime::{Declaration, Runtime};
use crate::suite::{Filter, Source, Suite, Unit};

/// Set to anything but `0`, it makes a whole run rewrite the expectation file to what came.
pub const UPDATE: &str = "UPDATE_EXPECTATIONS";

/// Runs the project's suite on a runtime as a test binary, and returns its exit code; `main` of a test with
/// `harness = false` has nothing else to do. [`Harness`] says what the tests are, and can be told more.
pub fn libtest(runtime: impl Runtime + Send + 'static, expectations: impl Into<PathBuf>) -> ExitCode {
    Harness::new(runtime, expectations).run()
}

/// A test binary: a trial for each vendored case, and one for each operator version whose cases come from the specs.
///
/// A trial fails where a case does not go as the expectation file says; it is ignored, with the reason, where nothing else
/// than expected failures came. After a run of all trials in one process, as `cargo test` makes, an expectation that
/// matches nothing fails the run as well. `UPDATE_EXPECTATIONS=1` makes such a run rewrite the file.
pub struct Harness {
    runtime: Arc<dyn Runtime + Send>,
    expectations: PathBuf,
    testdata: Option<PathBuf>,
    filters: Vec<String>,
    strict: bool,
    variant: Variant,
    again: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// What the trials of a run share.
struct Shared {
    runtime: Arc<dyn Runtime + Send>,
    declaration: Declaration,
    gate: Gate,
    filter: Filter,
    variant: Variant,
    again: Box<dyn Fn(&str) -> String + Send + Sync>,
    whole: Mutex<(Tally, Vec<CaseResult>)>,
}

/// What is to be said of the expectations as a whole.
enum Finish {
    /// Nothing is wrong with them that no trial has told.
    Holds,
    /// Some of them match nothing, or too much.
    Faulty,
    /// They are what came.
    Updated,
}

impl Harness {
    /// Holds a runtime against an expectation file, which need not be there yet.
    pub fn new(runtime: impl Runtime + Send + 'static, expectations: impl Into<PathBuf>) -> Harness {
        Harness {
            runtime: Arc::new(runtime),
            expectations: expectations.into(),
            testdata: None,
            filters: Vec::new(),
            strict: false,
            variant: Variant::Runtime,
            again: Box::new(|unit| format!("cargo test -- --exact {}", word(unit))),
        }
    }

    /// Takes the vendored cases from this folder, where the project's own is not where the program was built.
    #[must_use]
    pub fn testdata(self, folder: impl Into<PathBuf>) -> Harness {
        Harness { testdata: Some(folder.into()), ..self }
    }

    /// Runs only the cases that these patterns choose, as `onnx-conformance list` does.
    #[must_use]
    pub fn cases(self, filters: &[&str]) -> Harness {
        Harness { filters: filters.iter().map(|&filter| filter.to_owned()).collect(), ..self }
    }

    /// Holds the runtime to what is recommended, too.
    #[must_use]
    pub fn strict(self) -> Harness {
        Harness { strict: true, ..self }
    }

    /// Puts the cases in another form.
    #[must_use]
    pub fn variant(self, variant: Variant) -> Harness {
        Harness { variant, ..self }
    }

    /// Says how a trial, or the case that a failure is about, is run again.
    #[must_use]
    pub fn again(self, command: impl Fn(&str) -> String + Send + Sync + 'static) -> Harness {
        Harness { again: Box::new(command), ..self }
    }

    /// Runs the trials that the command line asks for.
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        self.run_trials(&arguments).unwrap_or_else(|error| {
            output::error(&error);
            ExitCode::from(crate::cli::exit::HARNESS)
        })
    }

    fn run_trials(self, arguments: &Arguments) -> anyhow::Result<ExitCode> {
        let testdata = self.testdata.clone().unwrap_or_else(|| options::project_folder("testdata"));
        // The trials outlive this function's scope; the program ends with them.
        let suite: &'static Suite = Box::leak(Box::new(Suite::open(&testdata)?));
        let shared = Arc::new(self.open()?);
        let units = match &arguments.filter {
            // One name is found without listing all.
            Some(name) if arguments.exact => suite.unit(name)?.into_iter().collect(),
            _ if shared.filter.is_everything() => suite.units()?,
            _ => suite.choose(&shared.filter)?.into_iter().map(|(source, unit, _)| (source, unit)).collect(),
        };
        let trial = |(source, unit): (&'static (dyn Source + Send), Unit)| {
            let shared = Arc::clone(&shared);
            Trial::ignorable_test(unit.name.clone(), move || shared.run_unit(source, &unit))
        };
        let mut trials: Vec<Trial> = units.into_iter().map(trial).collect();
        let whole = Arc::clone(&shared);
        trials.push(Trial::test("expectations", move || whole.check_patterns(suite)));
        let conclusion = libtest_mimic::run(arguments, trials);
        let is_whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list && !arguments.ignored;
        let problems = shared.runtime.finish();
        for problem in &problems {
            output::note(problem);
        }
        Ok(match shared.finish(is_whole)? {
            Finish::Updated => ExitCode::SUCCESS,
            Finish::Holds if problems.is_empty() => conclusion.exit_code(),
            Finish::Holds | Finish::Faulty => ExitCode::FAILURE,
        })
    }

    fn open(self) -> anyhow::Result<Shared> {
        let declaration = self.runtime.declaration();
        let exists = self.expectations.exists();
        let options = GateOptions {
            // A file that is not there yet expects nothing.
            update_expectations: !exists,
            expectations: Some(self.expectations),
            strict: self.strict,
        };
        Ok(Shared {
            gate: options.open(&declaration, false)?,
            filter: Filter::new(&self.filters)?,
            runtime: self.runtime,
            declaration,
            variant: self.variant,
            again: self.again,
            whole: Mutex::default(),
        })
    }
}

impl Shared {
    /// Runs the cases of a unit; each one that is not as expected is printed with the command that runs it again.
    fn run_unit(&self, source: &(dyn Source + Send), unit: &Unit) -> Result<Completion, Failed> {
        let cases = source.load(unit, &|id| self.filter.matches(id))?;
        let (mut report, mut tally, mut lacking) = (String::new(), Tally::default(), None);
        if self.filter.is_everything()
            && let Err(error) = source.check(unit, &cases)
        {
            let _ = write!(report, "\n{error}");
        }
        let is_empty = cases.is_empty();
        for case in cases {
            let case = match self.variant {
                Variant::Runtime => case,
                variant => match vary(&case, variant) {
                    Some(case) => case,
                    None => continue,
                },
            };
            let result = judge(&case, &*self.runtime, &self.declaration);
            match tally.add_result(&result, &self.gate.book) {
                Standing::Pass | Standing::Silent => {}
                Standing::Expected => lacking = Some(result.message.clone()),
                Standing::Improvement => self.tell(&mut report, "better than expected", &result),
                Standing::Regression => self.tell(&mut report, "unexpected", &result),
            }
            let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
            whole.0.add_result(&result, &self.gate.book);
            whole.1.push(result);
        }
        if let Ok(filter) = Filter::new(&[&unit.name]) {
            let filter = Some(&filter).filter(|_| self.filter.is_everything());
            tally.finish(&self.gate.book, &Scope { filter, variant: self.variant });
        }
        for fault in &tally.faults {
            let _ = write!(report, "\n{fault}");
        }
        match (report.is_empty(), lacking) {
            _ if is_empty && self.filter.is_everything() => Err("the unit has no cases".into()),
            _ if is_empty => Ok(Completion::ignored_with("no case of it is chosen")),
            (false, _) => Err(report.into()),
            (true, Some(message)) if tally.summary.count(crate::run::Outcome::Pass) == 0 => {
                Ok(Completion::ignored_with(format!("expected: {}", message.lines().next().unwrap_or_default())))
            }
            (true, _) => Ok(Completion::Completed),
        }
    }

    /// An entry that names no case of the suite is out of date, whatever part of the suite is run.
    fn check_patterns(&self, suite: &Suite) -> Result<(), Failed> {
        let (book, mut report) = (&self.gate.book, String::new());
        for (at, entry) in book.expectations().expect.iter().enumerate().filter(|(at, _)| book.is_active(*at)) {
            let Some(pattern) = &entry.cases else { continue };
            let (pattern, _) = Variant::of_id(pattern);
            if suite.ids(&Filter::new(&[pattern])?)?.is_empty() {
                let _ = write!(report, "\nexpectation that matches no case: {}", book.expectations().place(at));
            }
        }
        if report.is_empty() { Ok(()) } else { Err(report.into()) }
    }

    fn tell(&self, report: &mut String, what: &str, result: &CaseResult) {
        let _ = write!(report, "\n{what}: {} {}", result.outcome, result.id);
        for line in result.message.lines().chain(result.inputs.lines()) {
            let _ = write!(report, "\n    {line}");
        }
        let _ = write!(report, "\n    {}", (self.again)(&result.id));
    }

    /// Says after the last trial what is wrong with the expectations as a whole, or rewrites them.
    fn finish(&self, is_whole: bool) -> anyhow::Result<Finish> {
        let wants_update = std::env::var_os(UPDATE).is_some_and(|value| value != "0");
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let (tally, results) = &mut *whole;
        if !is_whole {
            if wants_update {
                output::note(&format!("{UPDATE} does nothing in a run of a part of the tests"));
            }
            return Ok(Finish::Holds);
        }
        if wants_update {
            self.gate.update(results, self.variant).context("the expectations cannot be brought up to date")?;
            return Ok(Finish::Updated);
        }
        tally.finish(&self.gate.book, &Scope { filter: Some(&self.filter), variant: self.variant });
        tally.faults.iter().for_each(|fault| output::note(&fault.to_string()));
        let has_changed = !tally.faults.is_empty() || !tally.regressions.is_empty() || !tally.improvements.is_empty();
        if has_changed {
            output::note(&format!("to accept what came: {UPDATE}=1 cargo test, with the same target"));
        }
        Ok(if tally.faults.is_empty() { Finish::Holds } else { Finish::Faulty })
    }
}
