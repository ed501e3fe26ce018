//! Runs trials on threads, and prints their results as Rust's own test harness does.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::Builder;
use std::time::Instant;

use crate::libtest::arguments::{Action, Arguments};
use crate::libtest::printer::Printer;
use crate::libtest::trial::{Conclusion, Outcome, Trial, TrialResult};

/// Trials of one runtime, which run before the trials of the next.
pub(super) struct Batch<'a> {
    /// The selected trials.
    pub(super) trials: Vec<Trial<'a>>,
    /// Number of trials that are not selected.
    pub(super) filtered_out: usize,
    /// Number of threads.
    pub(super) threads: NonZeroUsize,
}

impl<'a> Batch<'a> {
    /// Selects trials by the command line.
    pub(super) fn select(arguments: &Arguments, trials: Vec<Trial<'a>>) -> Batch<'a> {
        let is_selected =
            |trial: &Trial<'_>| arguments.selects(&trial.name) || trial.is_chosen && !arguments.omits(&trial.name);
        let count = trials.len();
        let trials: Vec<Trial<'_>> = trials.into_iter().filter(is_selected).collect();
        let threads = arguments.test_threads.unwrap_or(NonZeroUsize::MIN);
        Batch { filtered_out: count - trials.len(), trials, threads }
    }

    /// Renames the trials.
    pub(super) fn renamed(mut self, name: impl Fn(&str) -> String) -> Batch<'a> {
        for trial in &mut self.trials {
            trial.name = name(&trial.name);
        }
        self
    }
}

/// Runs or lists trials. Output goes to `out`, on the calling thread.
pub(super) fn run(arguments: &Arguments, batches: Vec<Batch<'_>>, out: &mut dyn Write) -> io::Result<Conclusion> {
    let start = Instant::now();
    let filtered_out = batches.iter().map(|batch| batch.filtered_out).sum();
    let mut conclusion = Conclusion { filtered_out, ..Conclusion::default() };
    let mut printer = Printer::new(arguments, batches.iter().map(|batch| batch.trials.len()).sum(), out)?;
    if arguments.action == Action::List {
        batches.iter().flat_map(|batch| &batch.trials).try_for_each(|trial| printer.list(&trial.name))?;
        printer.list_end()?;
        return Ok(conclusion);
    }
    printer.start()?;
    let mut failures = Vec::new();
    let run = |trial: Trial<'_>| if arguments.bench { trial.ignore() } else { trial.run() };
    let mut end = |result: TrialResult, printer: &mut Printer<'_>| {
        printer.end(&result)?;
        match result.outcome {
            Outcome::Passed => conclusion.passed += 1,
            Outcome::Ignored(_) => conclusion.ignored += 1,
            Outcome::Failed(message) => {
                conclusion.failed += 1;
                failures.push((result.name, message));
            }
        }
        Ok::<_, io::Error>(())
    };
    for Batch { trials, threads, .. } in batches {
        let threads = threads.get().min(trials.len());
        if threads <= 1 {
            for trial in trials {
                printer.begin(&trial.name)?;
                end(run(trial), &mut printer)?;
            }
        } else {
            on_threads(threads, trials, &run, |result| {
                printer.begin(&result.name)?;
                end(result, &mut printer)
            })?;
        }
    }
    failures.sort();
    printer.finish(&conclusion, &failures, start.elapsed())?;
    Ok(conclusion)
}

/// Runs trials on threads and passes the results to `end`, on the calling thread. After an error of `end` no further
/// trial starts.
fn on_threads<'a>(
    threads: usize,
    trials: Vec<Trial<'a>>,
    run: &(dyn Fn(Trial<'a>) -> TrialResult + Sync),
    mut end: impl FnMut(TrialResult) -> io::Result<()>,
) -> io::Result<()> {
    let queue = Mutex::new(trials.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for number in 0..threads {
            let sender = sender.clone();
            let work = move || {
                while let Some(trial) = next() {
                    if sender.send(run(trial)).is_err() {
                        break;
                    }
                }
            };
            match Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                // The threads that have started run all trials.
                Err(_) if number > 0 => break,
                Err(error) => return Err(error),
            }
        }
        drop(sender);
        receiver.into_iter().try_for_each(&mut end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libtest::arguments::{Color, Format};
    use crate::libtest::trial::Completion;

    fn trials() -> Vec<Trial<'static>> {
        vec![
            Trial::new("b/passes", || Ok(Completion::Passed)),
            Trial::new("a/fails", || Err("one\ntwo".into())),
            Trial::new("a/skips", || Ok(Completion::Ignored("expected: none".to_owned()))),
            Trial::new("a/panics", || panic!("no {}", "reason")),
        ]
    }

    fn output(line: &[&str]) -> (Conclusion, String) {
        let mut arguments = Arguments::parse(line.iter().map(std::ffi::OsString::from), None).unwrap();
        if arguments.color == Color::Auto {
            // The tests may run in a terminal.
            arguments.color = Color::Never;
        }
        let mut out = Vec::new();
        let batch = Batch::select(&arguments, trials());
        let conclusion = run(&arguments, vec![batch], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let time = text.find("finished in ").map(|at| at + "finished in ".len());
        (conclusion, time.map_or(text.clone(), |at| format!("{}TIME\n", &text[..at])))
    }

    fn check(line: &[&str], expected: &str) {
        let (_, text) = output(line);
        assert_eq!(text, expected, "{line:?}:\n{text}");
    }

    const FAILURES: &str = "\nfailures:\n\n---- a/fails stdout ----\none\ntwo\n\n---- a/panics stdout ----\n\
        test panicked: no reason\n\n\nfailures:\n    a/fails\n    a/panics\n\n\
        test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in TIME\n";

    #[test]
    fn the_output_is_that_of_libtest() {
        let lines = "\nrunning 4 tests\ntest b/passes ... ok\ntest a/fails ... FAILED\n\
            test a/skips ... ignored, expected: none\ntest a/panics ... FAILED\n";
        check(&["--test-threads=1"], &format!("{lines}{FAILURES}"));
        let lines = "\nrunning 4 tests\n.\na/fails --- FAILED\ni\na/panics --- FAILED\n";
        check(&["--test-threads=1", "-q"], &format!("{lines}{FAILURES}"));
        let lines = "\nrunning 1 test\ntest b/passes ... ok\n\n";
        let end = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in TIME\n";
        check(&["passes"], &format!("{lines}{end}"));
        let lines = "\nrunning 1 test\ntest a/skips ... \u{1b}[33mignored, expected: none\u{1b}[0m\n\n";
        let end = "test result: \u{1b}[32mok\u{1b}[0m. 0 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; \
            finished in TIME\n";
        check(&["--color=always", "--exact", "a/skips"], &format!("{lines}{end}"));
        let lines = "\nrunning 1 test\ntest a/panics ... ignored\n\n";
        let end = "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in TIME\n";
        check(&["--bench", "panics"], &format!("{lines}{end}"));
    }

    #[test]
    fn lists_are_those_of_libtest() {
        check(&["--list", "--format", "terse"], "b/passes: test\na/fails: test\na/skips: test\na/panics: test\n");
        check(&["--list", "--format", "terse", "--ignored"], "");
        check(&["--list", "a/s"], "a/skips: test\n\n1 test, 0 benchmarks\n");
        check(&["--list", "--ignored"], "0 tests, 0 benchmarks\n");
    }

    #[test]
    fn threads_run_every_trial_once() {
        let (conclusion, text) = output(&["--test-threads=3", "--format=json"]);
        assert_eq!(conclusion, Conclusion { passed: 1, failed: 2, ignored: 1, filtered_out: 0 });
        let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ended =
            |name: &str| events.iter().filter(|event| event["name"] == name && event["event"] != "started").count();
        assert_eq!(["b/passes", "a/fails", "a/skips", "a/panics"].map(ended), [1; 4], "{text}");
        let failed = events.iter().find(|event| event["event"] == "failed" && event["name"] == "a/fails").unwrap();
        assert_eq!(failed["stdout"], "one\ntwo");
        let last = events.last().unwrap();
        assert_eq!(
            (&last["type"], &last["passed"], &last["failed"]),
            (&"suite".into(), &1.into(), &2.into()),
            "{text}"
        );
    }

    #[test]
    fn batches_run_in_order_and_are_counted_together() {
        let mut arguments =
            Arguments::parse(["b/", "--test-threads=2", "--color=never"].map(Into::into), None).unwrap();
        arguments.format = Format::Terse;
        let chosen = Trial::new("by_a_glob", || Ok(Completion::Passed)).chosen(true);
        let mut batches = vec![Batch::select(&arguments, trials()), Batch::select(&arguments, vec![chosen])];
        batches.push(Batch::select(&arguments, trials()));
        let mut out = Vec::new();
        let conclusion = run(&arguments, batches, &mut out).unwrap();
        assert_eq!(conclusion, Conclusion { passed: 3, failed: 0, ignored: 0, filtered_out: 6 });
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\nrunning 3 tests\n...\n"), "{text}");
        arguments.skip.push("glob".to_owned());
        let chosen = Trial::new("by_a_glob", || Ok(Completion::Passed)).chosen(true);
        assert!(Batch::select(&arguments, vec![chosen]).trials.is_empty());
    }

    #[test]
    fn the_log_file_has_a_line_for_each_test() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        output(&["--logfile", path.to_str().unwrap()]);
        let expected = "ok b/passes\nfailed a/fails\nignored a/skips\nfailed a/panics\n";
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn a_log_file_that_cannot_be_created_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = Arguments { logfile: Some(folder.path().to_owned()), ..Arguments::default() };
        let batch = Batch::select(&arguments, trials());
        let error = run(&arguments, vec![batch], &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
    }
}
