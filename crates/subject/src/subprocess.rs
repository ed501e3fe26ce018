//! A runtime behind the adapter protocol: a pool of processes, their files, and the handling of their deaths.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::exchange::RequestFiles;
use crate::exchange_folder::ExchangeFolder;
use crate::id::CaseId;
use crate::launch::help_without_package;
use crate::message::{Answer, Answered, Command, Optimized, Problem, advice};
use crate::stderr::masked;
use crate::worker::{Limits, Worker, WorkerExit};
use crate::{Ask, Declaration, Ended, Host, Launch, Operators, Question, Ran, Request, Response, Stop, StopReason};

/// Number of failed restarts in a row after which the run ends.
const MAX_RESTARTS: usize = 3;

/// Number of equal crashes of an operator version, each confirmed by a second run, after which an equal crash is not
/// confirmed again.
const MAX_CONFIRMED_CRASHES: usize = 3;

/// Lower bound of request numbers; the upper bound is its double. All have the same length, and every language
/// represents them exactly.
const MIN_REQUEST_NUMBER: u64 = 1 << 52;

/// Options for running an adapter.
pub struct Options {
    /// The number of processes.
    pub workers: usize,
    /// The limits of a process.
    pub limits: Limits,
    /// The number of processes that may die in a row without an answer.
    pub restarts: usize,
    /// True if each request gets a separate process.
    pub isolate: bool,
    /// A function that receives each problem with a message, including mere warnings.
    pub report: Option<Report>,
}

impl Default for Options {
    fn default() -> Options {
        Options { workers: 1, limits: Limits::default(), restarts: 200, isolate: false, report: None }
    }
}

/// A function that receives problems.
pub type Report = Box<dyn Fn(&str) + Send + Sync>;

/// A runtime behind the adapter protocol.
pub struct Subprocess {
    launch: Launch,
    options: Options,
    stop: Stop,
    declaration: Declaration,
    exchange: Mutex<Arc<ExchangeFolder>>,
    idle: Mutex<Vec<Option<Worker>>>,
    freed: Condvar,
    requests: AtomicU64,
    /// Makes the numbers of requests, which no adapter can predict.
    numbers: RandomState,
    /// The number of confirmed crashes with the same message, per operator version.
    crashes: Mutex<BTreeMap<(String, String), usize>>,
    deaths: AtomicUsize,
    problems: AtomicUsize,
}

/// An adapter that cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The program cannot be run.
    #[error("cannot start {program}: {error}; {help}")]
    Program {
        /// The program.
        program: String,
        /// The reason.
        error: io::Error,
        /// A hint for the user.
        help: String,
    },
    /// The program did not declare its runtime.
    #[error("{program} did not answer `start`: {message}")]
    Silent {
        /// The program.
        program: String,
        /// The actual behavior.
        message: String,
    },
    /// The folder for files cannot be created.
    #[error("cannot create a folder for the files of cases: {0}")]
    Files(io::Error),
    /// The run was stopped.
    #[error("stopped before the runtime had started")]
    Stopped,
}

impl Subprocess {
    /// Starts the first process of an adapter.
    pub fn start(launch: Launch, options: Options, stop: &Stop) -> Result<Subprocess, StartError> {
        let exchange = ExchangeFolder::new(options.workers).map_err(StartError::Files)?;
        let program = launch.program.display().to_string();
        let (worker, declaration) =
            Worker::start(&launch, &next_mark(), options.limits, stop).map_err(|death| match death {
                WorkerExit::NotStarted(error) => StartError::Program { program, error, help: launch.help.clone() },
                WorkerExit::Stopped => StartError::Stopped,
                death if launch.folder.is_none() => {
                    let message = death.to_string();
                    StartError::Silent { program, message: format!("{message}{}", help_without_package(&message)) }
                }
                death => StartError::Silent { program, message: format!("{death}; {}", launch.help) },
            })?;
        let mut idle: Vec<Option<Worker>> = (1..options.workers).map(|_| None).collect();
        idle.push(Some(worker));
        Ok(Subprocess {
            launch,
            options,
            stop: stop.clone(),
            declaration,
            exchange: Mutex::new(Arc::new(exchange)),
            idle: Mutex::new(idle),
            freed: Condvar::new(),
            requests: AtomicU64::new(0),
            numbers: RandomState::new(),
            crashes: Mutex::default(),
            deaths: AtomicUsize::new(0),
            problems: AtomicUsize::new(0),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Option<Worker>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot of the pool; the most recently used one is reused first.
    fn take(&self) -> Option<Worker> {
        let idle = self.freed.wait_while(self.idle(), |idle| idle.is_empty());
        idle.unwrap_or_else(PoisonError::into_inner).pop().flatten()
    }

    fn give_back(&self, worker: Option<Worker>) {
        self.idle().push(worker);
        self.freed.notify_one();
    }

    /// Runs a request in a worker, which is started if necessary. Afterwards the slot holds the worker only if it
    /// lives.
    fn attempt(&self, place: &mut Option<Worker>, request: &Request<'_>) -> Result<Response, WorkerExit> {
        self.exchange_with(place, request, |worker, command, files| {
            self.answer(worker, command, files, request.ask.question)
        })
    }

    /// Sends a request as [`Subprocess::attempt`] does. `ask` gets the worker and the files.
    fn exchange_with<T>(
        &self,
        place: &mut Option<Worker>,
        request: &Request<'_>,
        ask: impl FnOnce(&mut Worker, &Command, &RequestFiles) -> Result<T, WorkerExit>,
    ) -> Result<T, WorkerExit> {
        let mut worker = match place.take() {
            Some(worker) => worker,
            None => self.restart()?,
        };
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let seq = MIN_REQUEST_NUMBER + self.numbers.hash_one(number) % MIN_REQUEST_NUMBER;
        let (mut files, command) = match self.write(seq, request) {
            Ok(written) => written,
            Err(error) => return Err(self.give_up(format!("the files of {} cannot be written: {error}", request.id))),
        };
        let answered = ask(&mut worker, &command, &files);
        let (death, removed) = match (answered, files.remove()) {
            (Ok(response), Ok(())) => {
                self.deaths.store(0, Ordering::Relaxed);
                *place = Some(worker).filter(|_| !self.options.isolate);
                return Ok(response);
            }
            (Ok(_), Err(problem)) => (worker.end_for_violation(problem), files.remove()),
            (Err(death), removed) => (death, removed),
        };
        if removed.is_err() {
            // Later requests must not be blamed for the files of this one. Without a new folder they use the old one.
            let _ = self.replace_exchange();
        }
        Err(death)
    }

    /// Sends a request to a worker and reads its answer. After an error the process is gone.
    fn answer(
        &self,
        worker: &mut Worker,
        command: &Command,
        files: &RequestFiles,
        question: Question,
    ) -> Result<Response, WorkerExit> {
        let answer: Answer = worker.run(command, files)?;
        if question == Question::Run {
            self.advise(&answer);
        }
        Ok(match answer.result {
            Answered::Ok => match files.response(question) {
                Ok(response) => response,
                Err(problem) => return Err(worker.end_for_violation(problem)),
            },
            Answered::Unsupported(missing) => Response::Unsupported { what: missing.what, message: missing.message },
            Answered::Error(failure) => Response::Error { phase: failure.phase, message: failure.message },
        })
    }

    /// Writes the files of a request. If the adapter has removed the folder of the run or made it unusable, a new one
    /// is used.
    fn write(&self, seq: u64, request: &Request<'_>) -> io::Result<(RequestFiles, Command)> {
        let exchange = Arc::clone(&self.exchange());
        RequestFiles::write(&exchange, seq, request).or_else(|error| {
            let fresh = self.replace_exchange().map_err(|_| error)?;
            RequestFiles::write(&fresh, seq, request)
        })
    }

    /// Replaces the folder of the run for later requests. The old one is removed with the last request that has files
    /// in it.
    fn replace_exchange(&self) -> io::Result<Arc<ExchangeFolder>> {
        let fresh = Arc::new(ExchangeFolder::new(self.options.workers)?);
        let old = std::mem::replace(&mut *self.exchange(), Arc::clone(&fresh));
        drop(old);
        Ok(fresh)
    }

    fn exchange(&self) -> MutexGuard<'_, Arc<ExchangeFolder>> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restarts a process that is gone. It must declare the same as the first one.
    fn restart(&self) -> Result<Worker, WorkerExit> {
        let mut last = String::new();
        for _ in 0..MAX_RESTARTS {
            match Worker::start(&self.launch, &next_mark(), self.options.limits, &self.stop) {
                Ok((worker, declaration)) if declaration == self.declaration => return Ok(worker),
                Ok(_) => "its declaration differs from that of the first process".clone_into(&mut last),
                Err(WorkerExit::Stopped) => return Err(WorkerExit::Stopped),
                Err(death) => last = death.to_string(),
            }
        }
        Err(self.give_up(format!("cannot restart {}: {last}", self.launch.program.display())))
    }

    /// Ends the run, since no further case can run.
    fn give_up(&self, reason: String) -> WorkerExit {
        self.stop.set(StopReason::Failed(reason));
        WorkerExit::Stopped
    }

    /// Counts a death, and ends the run after too many in a row.
    fn count_death(&self, death: &WorkerExit) {
        if matches!(death, WorkerExit::Stopped) {
            return;
        }
        let deaths = self.deaths.fetch_add(1, Ordering::Relaxed) + 1;
        if deaths >= self.options.restarts.max(1) {
            self.give_up(format!("{deaths} processes in a row ended without an answer, the last one: {death}"));
        }
        if let WorkerExit::Violation(problem, _) = death {
            self.report(problem);
        }
    }

    fn report(&self, problem: &Problem) {
        if let Some(report) = &self.options.report {
            self.problems.fetch_add(1, Ordering::Relaxed);
            report(&format_problem(problem));
        }
    }

    fn advise(&self, answer: &Answer) {
        if self.options.report.is_some()
            && let Some((rule, fix)) = advice(answer)
        {
            self.report(&Problem::new(&serde_json::to_vec(answer).unwrap_or_default(), rule, fix));
        }
    }

    /// Sends a request again, alone, to a fresh process after a crash. The second run counts, since an earlier request
    /// may have left the first process broken.
    fn rerun_alone(&self, place: &mut Option<Worker>, request: &Request<'_>, first: String) -> Ran {
        let known = (group(request.id).to_owned(), first);
        if self.crashes().get(&known).is_some_and(|count| *count >= MAX_CONFIRMED_CRASHES) {
            return Ended::Crash(known.1).into();
        }
        match self.attempt(place, request).map_or_else(|death| self.ended(death), Ended::Answered) {
            Ended::Crash(second) => {
                if second == known.1 {
                    *self.crashes().entry(known).or_default() += 1;
                }
                Ended::Crash(second).into()
            }
            ended => Ran { ended, flaky: Some(known.1) },
        }
    }

    fn crashes(&self) -> MutexGuard<'_, BTreeMap<(String, String), usize>> {
        self.crashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a death and returns it as the end of its request.
    fn ended(&self, death: WorkerExit) -> Ended {
        self.count_death(&death);
        match death {
            WorkerExit::Exited(message) => Ended::Crash(message),
            WorkerExit::Timeout(message) => Ended::Timeout(message),
            WorkerExit::OutOfMemory(message) => Ended::OutOfMemory(message),
            death @ WorkerExit::Violation(..) => Ended::ProtocolError(masked(&death.to_string())),
            // The run is over, and the case has no result.
            death @ (WorkerExit::Stopped | WorkerExit::NotStarted(_)) => Ended::Crash(death.to_string()),
        }
    }
}

/// Returns a mark that no other process of any host in this program has. Processes with the mark of one that ends are
/// ended.
fn next_mark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    STARTED.fetch_add(1, Ordering::Relaxed).to_string()
}

/// Returns the operator version of a case, or the case itself if it has none.
fn group(id: &str) -> &str {
    let parsed = CaseId::parse(id);
    if parsed.version().is_some() { parsed.group() } else { id }
}

/// Formats a problem on separate lines.
fn format_problem(problem: &Problem) -> String {
    let mut text = format!("protocol: {}\n    fix: {}", problem.rule, problem.fix);
    if !problem.line.is_empty() {
        let _ = write!(text, "\n    line: {}", problem.line);
    }
    text
}

impl Host for Subprocess {
    fn declaration(&self) -> Declaration {
        self.declaration.clone()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let mut place = self.take();
        let ran = match self.attempt(&mut place, request).map_or_else(|death| self.ended(death), Ended::Answered) {
            Ended::Crash(first) if !self.stop.is_set() => self.rerun_alone(&mut place, request, first),
            ended => ended.into(),
        };
        self.give_back(place);
        ran
    }

    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        if self.options.isolate || self.stop.is_set() {
            return None;
        }
        // The current process ends.
        drop(self.take());
        let mut place = None;
        let ended = self.attempt(&mut place, request).map_or_else(|death| self.ended(death), Ended::Answered);
        self.give_back(place);
        Some(ended.into())
    }

    fn optimize(&self, model: &Bytes) -> Option<Result<Operators, String>> {
        if !self.declaration.reports_rewrites() || self.stop.is_set() {
            return None;
        }
        let mut place = self.take();
        let request = Request { id: "optimize", model, folder: None, inputs: &[], outputs: &[], ask: Ask::RUN };
        let answered = self.exchange_with(&mut place, &request, |worker, command, files| {
            worker.run::<Optimized>(&command.to_optimize(), files).map(|answer| answer.result)
        });
        self.give_back(place);
        Some(answered.unwrap_or_else(|death| Err(self.ended(death).message().to_owned())))
    }

    fn jobs(&self) -> Option<usize> {
        Some(self.options.workers.max(1))
    }

    fn finish(&self) -> Vec<String> {
        let workers: Vec<Worker> = self.idle().iter_mut().filter_map(Option::take).collect();
        let mut violations = Vec::new();
        for (broken, advice) in workers.into_iter().map(Worker::finish) {
            violations.extend(broken);
            violations.extend(advice.filter(|_| self.options.report.is_some()));
        }
        let exchange = Arc::clone(&self.exchange());
        if let Err(error) = exchange.remove() {
            let path = exchange.path().display();
            violations.push(format!(
                "{path}: the adapter left files that cannot be removed ({error}); remove the folder by hand"
            ));
        }
        match self.problems.load(Ordering::Relaxed) {
            0 => {}
            1 => violations.push("1 message should be corrected".to_owned()),
            problems => violations.push(format!("{problems} messages should be corrected")),
        }
        violations
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use crate::Adapters;

    #[test]
    fn the_end_of_a_process_ends_none_of_another_host() {
        let script = r#"read -r line
echo '{"runtime":{"name":"shell","version":"1"}}'
while read -r line; do
  seq=${line#*\"seq\":}; seq=${seq%%,*}
  case "$line" in
    *'"run"'*) echo "{\"seq\":$seq,\"error\":{\"phase\":\"load\",\"message\":\"no\"}}" ;;
    *) exit ;;
  esac
done
"#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adapter.sh");
        fs::write(&path, script).unwrap();
        let command = format!("sh {}", path.display());
        let host = || {
            let launch = Launch::find(&command, &Adapters::installed()).unwrap();
            Subprocess::start(launch, Options::default(), &Stop::default()).unwrap()
        };
        let (first, second) = (host(), host());
        let model = Bytes::new();
        let request = Request { id: "model", model: &model, folder: None, inputs: &[], outputs: &[], ask: Ask::RUN };
        let answer = |ran: Ran| (ran.ended.message().to_owned(), ran.flaky);
        // The first process of this host ends.
        assert_eq!(first.run_alone(&request).map(answer), Some(("no".to_owned(), None)));
        assert_eq!(answer(second.run(&request)), ("no".to_owned(), None));
        assert!(first.finish().is_empty() && second.finish().is_empty());
    }
}
