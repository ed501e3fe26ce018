//! Output of a test binary, in the formats of Rust's own test harness.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use serde_json::json;

use crate::libtest::arguments::{Arguments, Color, Format};
use crate::libtest::trial::{Conclusion, Outcome, TrialResult};

/// Number of characters in a line of the terse format.
const COLUMNS: usize = 88;

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";

/// Prints the events of a run.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    format: Format,
    is_colored: bool,
    log: Option<File>,
    /// Number of tests of the run.
    total: usize,
    /// Number of tests that have ended.
    ended: usize,
    /// Number of characters in the current line of the terse format.
    column: usize,
}

impl<'a> Printer<'a> {
    pub(super) fn new(arguments: &Arguments, total: usize, out: &'a mut dyn Write) -> io::Result<Printer<'a>> {
        let log = match &arguments.logfile {
            Some(path) => Some(File::create(path).map_err(|error| {
                io::Error::new(error.kind(), format!("the log file {} cannot be created: {error}", path.display()))
            })?),
            None => None,
        };
        let is_colored = match arguments.color {
            Color::Auto => can_show_colors(),
            Color::Always => true,
            Color::Never => false,
        };
        Ok(Printer { out, format: arguments.format, is_colored, log, total, ended: 0, column: 0 })
    }

    /// Prints a test of a list.
    pub(super) fn list(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.out, "{name}: test")
    }

    /// Prints the end of a list.
    pub(super) fn list_end(&mut self) -> io::Result<()> {
        if self.format == Format::Pretty {
            if self.total > 0 {
                writeln!(self.out)?;
            }
            writeln!(self.out, "{}, 0 benchmarks", tests(self.total))?;
        }
        self.out.flush()
    }

    /// Prints the start of the run.
    pub(super) fn start(&mut self) -> io::Result<()> {
        match self.format {
            Format::Json => self.json(&json!({"type": "suite", "event": "started", "test_count": self.total})),
            _ => writeln!(self.out, "\nrunning {}", tests(self.total)),
        }
    }

    /// Prints the start of a test.
    pub(super) fn begin(&mut self, name: &str) -> io::Result<()> {
        match self.format {
            Format::Pretty => {
                write!(self.out, "test {name} ... ")?;
                self.out.flush()
            }
            Format::Terse => Ok(()),
            Format::Json => self.json(&json!({"type": "test", "event": "started", "name": name})),
        }
    }

    /// Prints the end of a test.
    pub(super) fn end(&mut self, result: &TrialResult) -> io::Result<()> {
        self.ended += 1;
        let name = &result.name;
        if let Some(log) = &mut self.log {
            let outcome = match result.outcome {
                Outcome::Passed => "ok",
                Outcome::Failed(_) => "failed",
                Outcome::Ignored(_) => "ignored",
            };
            writeln!(log, "{outcome} {name}")?;
        }
        match self.format {
            Format::Pretty => {
                let text = match &result.outcome {
                    Outcome::Passed => self.paint(GREEN, "ok"),
                    Outcome::Failed(_) => self.paint(RED, "FAILED"),
                    Outcome::Ignored(reason) if reason.is_empty() => self.paint(YELLOW, "ignored"),
                    Outcome::Ignored(reason) => self.paint(YELLOW, &format!("ignored, {reason}")),
                };
                writeln!(self.out, "{text}")
            }
            Format::Terse => self.terse(result),
            Format::Json => {
                let mut event = json!({"type": "test", "name": name});
                match &result.outcome {
                    Outcome::Passed => event["event"] = "ok".into(),
                    Outcome::Failed(message) => {
                        event["event"] = "failed".into();
                        event["stdout"] = message.as_str().into();
                    }
                    Outcome::Ignored(reason) => {
                        event["event"] = "ignored".into();
                        if !reason.is_empty() {
                            event["message"] = reason.as_str().into();
                        }
                    }
                }
                self.json(&event)
            }
        }
    }

    /// Prints a character for a test, or a line for a failure.
    fn terse(&mut self, result: &TrialResult) -> io::Result<()> {
        let text = match result.outcome {
            Outcome::Passed => self.paint(GREEN, "."),
            Outcome::Ignored(_) => self.paint(YELLOW, "i"),
            Outcome::Failed(_) => {
                let text = self.paint(RED, "FAILED");
                if self.column > 0 {
                    writeln!(self.out)?;
                }
                self.column = 0;
                return writeln!(self.out, "{} --- {text}", result.name);
            }
        };
        write!(self.out, "{text}")?;
        self.column += 1;
        if self.column == COLUMNS {
            writeln!(self.out, " {}/{}", self.ended, self.total)?;
            self.column = 0;
        }
        self.out.flush()
    }

    /// Prints the failures by name with their messages, and the summary.
    pub(super) fn finish(
        &mut self,
        conclusion: &Conclusion,
        failures: &[(String, String)],
        time: Duration,
    ) -> io::Result<()> {
        let Conclusion { passed, failed, ignored, filtered_out } = conclusion;
        if self.format == Format::Json {
            return self.json(&json!({
                "type": "suite", "event": if *failed == 0 { "ok" } else { "failed" }, "passed": passed,
                "failed": failed, "ignored": ignored, "measured": 0, "filtered_out": filtered_out,
                "exec_time": time.as_secs_f64(),
            }));
        }
        if self.column > 0 {
            writeln!(self.out)?;
        }
        if !failures.is_empty() {
            writeln!(self.out, "\nfailures:\n")?;
            for (name, message) in failures {
                writeln!(self.out, "---- {name} stdout ----\n{message}\n")?;
            }
            writeln!(self.out, "\nfailures:")?;
            for (name, _) in failures {
                writeln!(self.out, "    {name}")?;
            }
        }
        let verdict = if *failed == 0 { self.paint(GREEN, "ok") } else { self.paint(RED, "FAILED") };
        writeln!(
            self.out,
            "\ntest result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; {filtered_out} \
             filtered out; finished in {:.2}s\n",
            time.as_secs_f64()
        )?;
        self.out.flush()
    }

    fn json(&mut self, event: &serde_json::Value) -> io::Result<()> {
        writeln!(self.out, "{event}")?;
        self.out.flush()
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.is_colored { format!("{color}{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Returns a number of tests with its noun.
fn tests(count: usize) -> String {
    format!("{count} test{}", if count == 1 { "" } else { "s" })
}

/// Returns true if standard output is a terminal that shows colors, and the user has not turned them off.
fn can_show_colors() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").map_or(cfg!(unix), |value| value == "dumb");
    // The console of older Windows prints escape sequences; newer terminals set one of these variables.
    let is_known = cfg!(not(windows)) || is_set("WT_SESSION") || is_set("TERM");
    io::stdout().is_terminal() && is_known && !is_dumb && !is_set("NO_COLOR")
}
