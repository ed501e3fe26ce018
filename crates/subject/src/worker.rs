//! One process of an adapter: starting it, sending requests, and ending it.

use std::fmt::Write as _;
use std::io;
use std::process::{Command as Program, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use crate::exchange::RequestFiles;
use crate::message::{Command, Message, Numbered, PROTOCOL, Problem, Started, read};
use crate::pipes::{Line, Lines, Tail, drain, reader, writer};
use crate::platform::Process;
use crate::stderr::summarize;
use crate::{Declaration, Launch, Stop};

/// Interval between checks of a process that does not answer.
const TICK: Duration = Duration::from_millis(20);

/// Minimum interval between memory checks. Slow checks are made less often.
const MEMORY_EVERY: Duration = Duration::from_millis(50);

/// Memory checks may take one part in this number of the time.
const MEMORY_SHARE: u32 = 20;

/// Time limit for the end of a process that has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Limits of a process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time limit of a request.
    pub timeout: Duration,
    /// The limit on resident memory of the process and its descendants, in bytes.
    pub memory: Option<u64>,
}

impl Default for Limits {
    /// One minute and 4096 MB.
    fn default() -> Limits {
        Limits { timeout: Duration::from_secs(60), memory: Some(4_096_000_000) }
    }
}

/// Reason why a process is gone.
#[derive(Debug)]
pub(super) enum WorkerExit {
    /// No answer within the time limit.
    Timeout(String),
    /// Exceeded memory limit.
    OutOfMemory(String),
    /// End of the process.
    Exited(String),
    /// Violation of the protocol.
    Violation(Problem, String),
    /// The run is over.
    Stopped,
    /// Failure to start the process.
    NotStarted(io::Error),
}

/// A process that has declared its runtime.
pub(super) struct Worker {
    process: Process,
    requests: Option<Sender<Vec<u8>>>,
    lines: Lines,
    tail: Tail,
    limits: Limits,
    stop: Stop,
    next_memory_check: Instant,
}

impl Worker {
    /// Starts a process and requests its declaration. `mark` identifies the process.
    pub(super) fn start(
        launch: &Launch,
        mark: &str,
        limits: Limits,
        stop: &Stop,
    ) -> Result<(Worker, Declaration), WorkerExit> {
        let mut program = Program::new(&launch.program);
        program.args(&launch.arguments).envs(&launch.environment);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &launch.folder {
            program.current_dir(folder);
        }
        let mut process = Process::spawn(program, mark).map_err(WorkerExit::NotStarted)?;
        let (Some(input), Some(output), Some(error)) = process.pipes() else {
            return Err(WorkerExit::NotStarted(io::Error::other("the process has no pipes")));
        };
        let mut worker = Worker {
            process,
            requests: Some(writer(input)),
            lines: reader(output),
            tail: drain(error),
            limits,
            stop: stop.clone(),
            next_memory_check: Instant::now(),
        };
        let started: Started = worker.ask(&Command::Start { protocol: PROTOCOL }, None)?;
        Ok((worker, started.runtime))
    }

    /// Sends a request and reads its answer. After an error the process is gone.
    pub(super) fn run<T: Numbered>(&mut self, request: &Command, files: &RequestFiles) -> Result<T, WorkerExit> {
        self.tail.begin();
        let answer: T = self.ask(request, Some(files))?;
        if answer.seq() == files.seq {
            // Files written since the last check count, too.
            self.check_limit(0, Some(files))?;
            return Ok(answer);
        }
        // Request numbers are unpredictable, so an answer written before its request is always detected here.
        let line = serde_json::to_vec(&answer).unwrap_or_default();
        Err(self.end_for_violation(unrequested(&line)))
    }

    /// Ends the process as the protocol defines. Returns a protocol violation, and a warning.
    pub(super) fn finish(mut self) -> (Option<String>, Option<String>) {
        let asked = self.unrequested().map_or(Ok(()), |line| Err(self.end_for_violation(unrequested(&line))));
        let deadline = Instant::now() + self.limits.timeout;
        let ended = asked.and_then(|()| {
            self.send(&Command::Stop {});
            // Closing the pipe ends a process that does not know the message.
            self.requests = None;
            match self.wait(deadline, None)? {
                None => self.wait_for_end(deadline),
                Some(line) => Err(self.end_for_violation(unrequested(&line))),
            }
        });
        match ended {
            Ok(()) | Err(WorkerExit::Stopped) => {
                let failed = self.process.end().filter(|status| !status.success());
                (None, failed.map(|status| format!("the process failed when it was stopped ({status})")))
            }
            Err(WorkerExit::Violation(problem, _)) => (Some(problem.to_string()), None),
            Err(death) => (None, Some(format!("when it was stopped: {death}"))),
        }
    }

    fn ask<T: Message>(&mut self, request: &Command, files: Option<&RequestFiles>) -> Result<T, WorkerExit> {
        if let Some(line) = self.unrequested() {
            return Err(self.end_for_violation(unrequested(&line)));
        }
        let deadline = Instant::now() + self.limits.timeout;
        self.send(request);
        let Some(line) = self.wait(deadline, files)? else { return Err(self.exited(&[])) };
        read(&line).map_err(|problem| self.end_for_violation(problem))
    }

    /// Returns a line that arrived before a request.
    fn unrequested(&self) -> Option<Vec<u8>> {
        match self.lines.lines.try_recv() {
            Ok(Line::Whole(line, _) | Line::TooLong(line)) => Some(line),
            Ok(Line::End(rest)) if !rest.is_empty() => Some(rest),
            Ok(Line::End(_)) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    fn send(&self, request: &Command) {
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        // If the writer is gone, so is the process, which the reader detects.
        let _ = self.requests.as_ref().map(|requests| requests.send(line));
    }

    /// Waits for the next line. Returns `None` if the process has closed its output without an incomplete line.
    fn wait(&mut self, deadline: Instant, files: Option<&RequestFiles>) -> Result<Option<Vec<u8>>, WorkerExit> {
        loop {
            if self.stop.is_set() {
                self.process.end();
                return Err(WorkerExit::Stopped);
            }
            self.check_memory(files)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.timeout());
            }
            match self.lines.lines.recv_timeout(left.min(TICK)) {
                Ok(Line::Whole(line, false)) => return Ok(Some(line)),
                Ok(Line::Whole(line, true)) => return Err(self.end_for_violation(second_line(&line))),
                Ok(Line::TooLong(line)) => return Err(self.end_for_violation(too_long(&line))),
                Ok(Line::End(rest)) if rest.is_empty() => return Ok(None),
                Ok(Line::End(rest)) => return Err(self.exited(&rest)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.process.has_exited() => return self.last_line(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Returns the last line of an ended process, even if a descendant holds its output open.
    fn last_line(&mut self) -> Result<Option<Vec<u8>>, WorkerExit> {
        match self.lines.lines.recv_timeout(TICK) {
            Ok(Line::Whole(line, false)) => Ok(Some(line)),
            Ok(Line::Whole(line, true)) => Err(self.end_for_violation(second_line(&line))),
            Ok(Line::TooLong(line)) => Err(self.end_for_violation(too_long(&line))),
            Ok(Line::End(rest)) if !rest.is_empty() => Err(self.exited(&rest)),
            Ok(Line::End(_)) | Err(_) => Ok(None),
        }
    }

    fn check_memory(&mut self, files: Option<&RequestFiles>) -> Result<(), WorkerExit> {
        let started = Instant::now();
        if started < self.next_memory_check {
            return Ok(());
        }
        let resident = self.limits.memory.and_then(|_| self.process.resident()).unwrap_or(0);
        let checked = self.check_limit(resident, files);
        self.next_memory_check = started + MEMORY_EVERY.max(started.elapsed() * MEMORY_SHARE);
        checked
    }

    /// Ends a process that exceeds its limits: resident memory and request files together, or too many files.
    fn check_limit(&mut self, resident: u64, files: Option<&RequestFiles>) -> Result<(), WorkerExit> {
        let files = match files.map_or(Ok(0), RequestFiles::added) {
            Ok(files) => files,
            Err(problem) => return Err(self.end_for_violation(problem)),
        };
        let Some(limit) = self.limits.memory.filter(|limit| resident.saturating_add(files) > *limit) else {
            return Ok(());
        };
        self.process.end();
        let mut message = format!("more than {} MB of memory were used", limit / 1_000_000);
        if files > limit / 2 {
            let _ = write!(message, ", {} MB of them by files of the request", files / 1_000_000);
        }
        Err(WorkerExit::OutOfMemory(self.with_stderr(message)))
    }

    fn timeout(&mut self) -> WorkerExit {
        self.process.end();
        let mut message = format!("no answer within {} s", self.limits.timeout.as_secs_f64());
        let unfinished = self.lines.unfinished();
        if unfinished > 0 {
            let _ = write!(message, "; received {unfinished} bytes of an incomplete line");
        }
        WorkerExit::Timeout(self.with_stderr(message))
    }

    fn wait_for_end(&mut self, deadline: Instant) -> Result<(), WorkerExit> {
        while !self.process.has_exited() {
            if self.stop.is_set() {
                return Err(WorkerExit::Stopped);
            }
            if Instant::now() >= deadline {
                return Err(self.timeout());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Handles a process that has closed its output; `rest` is an incomplete line.
    pub(super) fn exited(&mut self, rest: &[u8]) -> WorkerExit {
        let until = Instant::now() + EXIT_TIMEOUT;
        while !self.process.has_exited() && Instant::now() < until && !self.stop.is_set() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let by_itself = self.process.has_exited();
        let mut message = match self.process.end() {
            Some(status) if by_itself => format!("the process ended ({status})"),
            _ => "the process closed its standard output".to_owned(),
        };
        if !rest.is_empty() {
            let _ = write!(message, " after {} bytes of a line", rest.len());
        }
        WorkerExit::Exited(self.with_stderr(message))
    }

    /// Ends a process that has violated the protocol, since its further output is meaningless.
    pub(super) fn end_for_violation(&mut self, problem: Problem) -> WorkerExit {
        self.process.end();
        let stderr = self.with_stderr(String::new());
        WorkerExit::Violation(problem, stderr)
    }

    /// Appends a one-line summary of standard error during the request to a message.
    fn with_stderr(&self, message: String) -> String {
        let stderr = summarize(&self.tail.text());
        if stderr.is_empty() { message } else { format!("{message} [stderr: {stderr}]") }
    }
}

impl std::fmt::Display for WorkerExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WorkerExit::Timeout(message) | WorkerExit::OutOfMemory(message) | WorkerExit::Exited(message) => {
                f.write_str(message)
            }
            WorkerExit::Violation(problem, stderr) => write!(f, "{problem}{stderr}"),
            WorkerExit::Stopped => f.write_str("the run was stopped"),
            WorkerExit::NotStarted(error) => write!(f, "{error}"),
        }
    }
}

fn unrequested(line: &[u8]) -> Problem {
    let fix = "answer each request once, after it was sent and with its `seq`, and write no other line";
    Problem::new(line, "received a line that does not answer a pending request", fix)
}

fn second_line(line: &[u8]) -> Problem {
    Problem::new(line, "received more than one line for one request", "answer each request with one line")
}

fn too_long(line: &[u8]) -> Problem {
    Problem::new(line, "the line is longer than 1 MiB", "end each answer with a newline, and write values to files")
}
