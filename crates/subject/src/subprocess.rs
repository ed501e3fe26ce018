//! A runtime behind the adapter protocol: a pool of processes, what is made of their deaths, and their files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::exchange::RequestFiles;
use crate::exchange_folder::ExchangeFolder;
use crate::id::CaseId;
use crate::message::{Answer, Answered, Command, Problem, advice};
use crate::stderr::masked;
use crate::worker::{Limits, Worker, WorkerExit};
use crate::{Declaration, Ended, Host, Launch, Ran, Request, Response, Stop, StopReason};

/// How often in a row a process is started again in vain.
const STARTS: usize = 3;

/// After how many crashes of an operator version, all in the same words and again in a second run, another is believed at
/// once.
const EQUAL: usize = 3;

/// The numbers of requests are from this to its double: all as long as each other, and such that every language reads them
/// exactly.
const NUMBERS: u64 = 1 << 52;

/// How an adapter is run.
pub struct Options {
    /// How many processes there are.
    pub workers: usize,
    /// What a process may take.
    pub limits: Limits,
    /// How many processes may die in a row without an answer.
    pub restarts: usize,
    /// Whether each request is put to a process of its own.
    pub isolate: bool,
    /// Where each problem with a message is told as it comes, what is otherwise let pass included.
    pub report: Option<Report>,
}

impl Default for Options {
    fn default() -> Options {
        Options { workers: 1, limits: Limits::default(), restarts: 200, isolate: false, report: None }
    }
}

/// A function that is told of problems.
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
    /// Makes the numbers of requests, which no adapter can foresee.
    numbers: RandomState,
    /// How often an operator version has crashed in the same words twice.
    crashes: Mutex<BTreeMap<(String, String), usize>>,
    starts: AtomicU64,
    deaths: AtomicUsize,
    problems: AtomicUsize,
}

/// An adapter that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program cannot be run.
    #[error("cannot start {program}: {error}; {help}")]
    Program {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
        /// What to look at.
        help: String,
    },
    /// The program did not say what it is.
    #[error("{program} did not answer `start`: {message}")]
    Silent {
        /// The program.
        program: String,
        /// What it did instead.
        message: String,
    },
    /// There is no room for files.
    #[error("no folder for the files of cases can be made: {0}")]
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
        let (worker, declaration) = Worker::start(&launch, "0", options.limits, stop).map_err(|death| match death {
            WorkerExit::NotStarted(error) => StartError::Program { program, error, help: launch.help.clone() },
            WorkerExit::Stopped => StartError::Stopped,
            death if launch.folder.is_none() => StartError::Silent { program, message: death.to_string() },
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
            starts: AtomicU64::new(0),
            deaths: AtomicUsize::new(0),
            problems: AtomicUsize::new(0),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Option<Worker>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place in the pool; the one that was used last is the first to be used again.
    fn take(&self) -> Option<Worker> {
        let idle = self.freed.wait_while(self.idle(), |idle| idle.is_empty());
        idle.unwrap_or_else(PoisonError::into_inner).pop().flatten()
    }

    fn give_back(&self, worker: Option<Worker>) {
        self.idle().push(worker);
        self.freed.notify_one();
    }

    /// Runs a request in a worker, started if need be; afterwards the worker is there only if it lives.
    fn attempt(&self, place: &mut Option<Worker>, request: &Request<'_>) -> Result<Response, WorkerExit> {
        let mut worker = match place.take() {
            Some(worker) => worker,
            None => self.start_again()?,
        };
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let seq = NUMBERS + self.numbers.hash_one(number) % NUMBERS;
        let (mut files, command) = match self.write(seq, request) {
            Ok(written) => written,
            Err(error) => return Err(self.give_up(format!("the files of {} cannot be written: {error}", request.id))),
        };
        let answered = self.answer(&mut worker, seq, &command, &files);
        let (death, removed) = match (answered, files.remove()) {
            (Ok(response), Ok(())) => {
                self.deaths.store(0, Ordering::Relaxed);
                *place = Some(worker).filter(|_| !self.options.isolate);
                return Ok(response);
            }
            (Ok(_), Err(problem)) => (worker.broken(problem), files.remove()),
            (Err(death), removed) => (death, removed),
        };
        if removed.is_err() {
            // The requests that follow are not blamed for what this one has left. Without a new folder they find the old one.
            let _ = self.replace_exchange();
        }
        Err(death)
    }

    /// Puts a request to a worker and reads its answer. After an error the process is no more.
    fn answer(
        &self,
        worker: &mut Worker,
        seq: u64,
        command: &Command,
        files: &RequestFiles,
    ) -> Result<Response, WorkerExit> {
        let answer = worker.run(seq, command, files)?;
        self.advise(&answer);
        Ok(match answer.result {
            Answered::Ok => match files.read() {
                Ok(values) => Response::Outputs { values, cells: Vec::new() },
                Err(problem) => return Err(worker.broken(problem)),
            },
            Answered::Unsupported(missing) => Response::Unsupported { what: missing.what, message: missing.message },
            Answered::Error(failure) => Response::Error { phase: failure.phase, message: failure.message },
        })
    }

    /// Writes the files of a request, in a new folder of the run where the adapter has removed or closed the old one.
    fn write(&self, seq: u64, request: &Request<'_>) -> io::Result<(RequestFiles, Command)> {
        let exchange = Arc::clone(&self.exchange());
        RequestFiles::write(&exchange, seq, request).or_else(|error| {
            let fresh = self.replace_exchange().map_err(|_| error)?;
            RequestFiles::write(&fresh, seq, request)
        })
    }

    /// Gives the requests that follow a new folder of the run. The old one ends with the last request that has files in it.
    fn replace_exchange(&self) -> io::Result<Arc<ExchangeFolder>> {
        let fresh = Arc::new(ExchangeFolder::new(self.options.workers)?);
        let old = std::mem::replace(&mut *self.exchange(), Arc::clone(&fresh));
        drop(old);
        Ok(fresh)
    }

    fn exchange(&self) -> MutexGuard<'_, Arc<ExchangeFolder>> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process in the place of one that is no more. One that says otherwise than the first cannot be used.
    fn start_again(&self) -> Result<Worker, WorkerExit> {
        let mut last = String::new();
        for _ in 0..STARTS {
            let mark = format!("{}", 1 + self.starts.fetch_add(1, Ordering::Relaxed));
            match Worker::start(&self.launch, &mark, self.options.limits, &self.stop) {
                Ok((worker, declaration)) if declaration == self.declaration => return Ok(worker),
                Ok(_) => "it says of itself other than the first process did".clone_into(&mut last),
                Err(WorkerExit::Stopped) => return Err(WorkerExit::Stopped),
                Err(death) => last = death.to_string(),
            }
        }
        Err(self.give_up(format!("{} cannot be started again: {last}", self.launch.program.display())))
    }

    /// Ends the run, since no case can be run any more.
    fn give_up(&self, reason: String) -> WorkerExit {
        self.stop.set(StopReason::Failed(reason));
        WorkerExit::Stopped
    }

    /// Counts a death, and ends the run when nothing else comes.
    fn mourn(&self, death: &WorkerExit) {
        if matches!(death, WorkerExit::Stopped) {
            return;
        }
        let deaths = self.deaths.fetch_add(1, Ordering::Relaxed) + 1;
        if deaths >= self.options.restarts.max(1) {
            self.give_up(format!("{deaths} processes in a row ended without an answer, the last so: {death}"));
        }
        if let WorkerExit::Broken(problem, _) = death {
            self.report(problem);
        }
    }

    fn report(&self, problem: &Problem) {
        if let Some(report) = &self.options.report {
            self.problems.fetch_add(1, Ordering::Relaxed);
            report(&told(problem));
        }
    }

    fn advise(&self, answer: &Answer) {
        if self.options.report.is_some()
            && let Some((rule, fix)) = advice(answer)
        {
            self.report(&Problem::new(&serde_json::to_vec(answer).unwrap_or_default(), rule, fix));
        }
    }

    /// What becomes of a request in whose run a process died: it is put once more, alone, to a fresh process, and that run
    /// counts. An earlier request may have left the first process broken.
    fn run_again(&self, place: &mut Option<Worker>, request: &Request<'_>, first: String) -> Ran {
        let known = (group(request.id).to_owned(), first);
        if self.crashes().get(&known).is_some_and(|count| *count >= EQUAL) {
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

    /// Counts a death, and says what it is for the request that it came in.
    fn ended(&self, death: WorkerExit) -> Ended {
        self.mourn(&death);
        match death {
            WorkerExit::Exited(message) => Ended::Crash(message),
            WorkerExit::Timeout(message) => Ended::Timeout(message),
            WorkerExit::OutOfMemory(message) => Ended::OutOfMemory(message),
            death @ WorkerExit::Broken(..) => Ended::ProtocolError(masked(&death.to_string())),
            // The run is over, and the case has no result.
            death @ (WorkerExit::Stopped | WorkerExit::NotStarted(_)) => Ended::Crash(death.to_string()),
        }
    }
}

/// The operator version that a case is about; any other case is about itself.
fn group(id: &str) -> &str {
    let parsed = CaseId::parse(id);
    if parsed.version().is_some() { parsed.group() } else { id }
}

/// A problem on lines of its own.
fn told(problem: &Problem) -> String {
    let mut text = format!("protocol: {}\n    way out: {}", problem.rule, problem.fix);
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
            Ended::Crash(first) if !self.stop.is_set() => self.run_again(&mut place, request, first),
            ended => ended.into(),
        };
        self.give_back(place);
        ran
    }

    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        if self.options.isolate || self.stop.is_set() {
            return None;
        }
        // The process that was there ends.
        drop(self.take());
        let mut place = None;
        let ended = self.attempt(&mut place, request).map_or_else(|death| self.ended(death), Ended::Answered);
        self.give_back(place);
        Some(ended.into())
    }

    fn jobs(&self) -> Option<usize> {
        Some(self.options.workers.max(1))
    }

    fn finish(&self) -> Vec<String> {
        let workers: Vec<Worker> = self.idle().iter_mut().filter_map(Option::take).collect();
        let mut wrong = Vec::new();
        for (broken, advice) in workers.into_iter().map(Worker::finish) {
            wrong.extend(broken);
            wrong.extend(advice.filter(|_| self.options.report.is_some()));
        }
        let exchange = Arc::clone(&self.exchange());
        if let Err(error) = exchange.remove() {
            let path = exchange.path().display();
            wrong.push(format!("{path}: the adapter left what cannot be removed ({error}); remove the folder by hand"));
        }
        match self.problems.load(Ordering::Relaxed) {
            0 => {}
            1 => wrong.push("1 message is not as it should be".to_owned()),
            problems => wrong.push(format!("{problems} messages are not as they should be")),
        }
        wrong
    }
}
