//! Fuzzing on a stable toolchain: inputs are generated and run in separate processes, so that the death of a process is a
//! finding.
//!
//! A worker generates inputs from the seed, and writes each to a file before running it. It reports panics, slow runs and
//! findings of the target itself. Its death or a hang is detected from outside.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use onnx_conformance_fuzz_targets::{Random, TARGETS, Target};
use peak_alloc::PeakAlloc;
use rayon::prelude::*;

use crate::workspace;

/// Allocator of this program, which measures the peak.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// CPU time after which a run is a hang. Wall time would be unreliable on a busy machine.
const HANG: Duration = Duration::from_secs(30);

/// Maximum number of such periods without output if the worker gets no CPU time or sleeps.
const MAX_WAITS: u32 = 10;

/// Number of inputs made from one seed input.
const MUTANTS: usize = 200;

/// Default stack size of threads.
const STACK: usize = 2 << 20;

/// Maximum number of findings, after which a target is given up.
const MAX_FINDINGS: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Targets; all if none are named
    targets: Vec<String>,

    /// Seconds to fuzz each target
    #[arg(long, default_value_t = 20)]
    seconds: u64,

    /// Random seed: the same number generates the same inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Run this input once, in this process
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Write this many seed inputs of each target below target/fuzz/corpus, for cargo-fuzz
    #[arg(long, value_name = "COUNT")]
    corpus: Option<u64>,

    /// Run as the worker process
    #[arg(long, hide = true)]
    worker: bool,
}

/// Fuzzes, replays an input, or writes a corpus.
pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let targets = chosen(&arguments.targets)?;
    if let Some(path) = &arguments.input {
        let [target] = targets.as_slice() else { bail!("--input needs exactly one target") };
        return replay(target, path);
    }
    if let Some(count) = arguments.corpus {
        for target in targets {
            write_corpus(target, count, arguments.seed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.worker {
        let [target] = targets.as_slice() else { bail!("a worker needs exactly one target") };
        worker(target, arguments);
        return Ok(ExitCode::SUCCESS);
    }
    // A worker takes one processor, so there are as many at a time as processors.
    let found: usize = targets.par_iter().map(|target| supervise(target, arguments)).sum::<anyhow::Result<usize>>()?;
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(const { &TARGETS }.iter().collect());
    }
    let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    names
        .iter()
        .map(|name| {
            Target::named(name).with_context(|| format!("there is no target '{name}'; the targets are {}", known()))
        })
        .collect()
}

fn folder(target: &Target) -> PathBuf {
    workspace::target().join("fuzz").join(target.name)
}

fn replay(target: &Target, path: &Path) -> anyhow::Result<ExitCode> {
    let input = fs::read(path).with_context(|| path.display().to_string())?;
    let started = Instant::now();
    let result = on_a_small_stack(|| target.run(&input));
    let took = started.elapsed();
    let (text, code) = match result {
        Ok(taken) => (if taken { "taken" } else { "refused" }.to_owned(), ExitCode::SUCCESS),
        Err(bug) => (bug.to_string(), ExitCode::FAILURE),
    };
    anstream::println!("{} in {took:?}: {text}", target.name);
    Ok(code)
}

fn write_corpus(target: &Target, count: u64, seed: u64) -> anyhow::Result<()> {
    let folder = workspace::target().join("fuzz/corpus").join(target.name);
    fs::create_dir_all(&folder)?;
    let mut random = Random::new(&format!("{} {seed}", target.name));
    for number in 0..count {
        fs::write(folder.join(format!("{number:05}")), target.seed(&mut random))?;
    }
    anstream::println!("{count} inputs in {}", folder.display());
    Ok(())
}

/// Location of the last panic.
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Generates and runs inputs until the time is over. Prints one line per event on standard output.
fn worker(target: &Target, arguments: &Arguments) {
    on_a_small_stack(|| {
        let end = Instant::now() + Duration::from_secs(arguments.seconds);
        let folder = folder(target);
        let current = folder.join("current");
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map_or_else(String::new, ToString::to_string);
            *PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = place;
        }));
        let mut random = Random::new(&format!("{} {}", target.name, arguments.seed));
        let mut said = Instant::now();
        let (mut runs, mut taken) = (0u64, 0u64);
        while Instant::now() < end {
            let seed = target.seed(&mut random);
            for number in 0..MUTANTS {
                let input = if number == 0 { seed.clone() } else { target.mutate(&mut random, &seed) };
                if let Err(error) = fs::write(&current, &input) {
                    return anstream::println!("failed {}: {error}", current.display());
                }
                match watched(target, &input) {
                    Ok(was_taken) => taken += u64::from(was_taken),
                    Err((kind, text)) => {
                        let name = format!("{kind}-{}-{runs}", arguments.seed);
                        let _ = fs::copy(&current, folder.join(&name));
                        anstream::println!("finding {name} {}", text.replace('\n', "\\n"));
                    }
                }
                runs += 1;
                if said.elapsed() > Duration::from_millis(500) {
                    anstream::println!("runs {runs} {taken}");
                    said = Instant::now();
                }
                if Instant::now() >= end {
                    break;
                }
            }
        }
        anstream::println!("runs {runs} {taken}");
    });
}

/// Runs an input and returns findings by kind. A run that exceeds twice its time limit must do so three times, and also
/// in CPU time, because the machine may be busy. The same holds for memory, because some data is only loaded once.
fn watched(target: &Target, input: &[u8]) -> Result<bool, (&'static str, String)> {
    let (mut fastest, mut smallest) = (Duration::MAX, usize::MAX);
    for _ in 0..3 {
        MEMORY.reset_peak_usage();
        let (started, worked, before) = (Instant::now(), processor_time("self"), MEMORY.current_usage());
        let result = catch_unwind(AssertUnwindSafe(|| target.run(input)));
        let took = started.elapsed().min(processor_time("self").saturating_sub(worked));
        fastest = fastest.min(took);
        smallest = smallest.min(MEMORY.peak_usage().saturating_sub(before));
        let is_within_memory = target.memory.is_none_or(|memory| smallest <= memory);
        match result {
            Err(panic) => return Err(("panic", text_of(panic.as_ref()))),
            Ok(Err(bug)) => return Err(("finding", bug.to_string())),
            Ok(Ok(taken)) if took <= 2 * target.time && is_within_memory => return Ok(taken),
            Ok(Ok(_)) => {}
        }
    }
    if fastest <= 2 * target.time {
        return Err(("large", format!("{smallest} bytes")));
    }
    Err(("slow", format!("{fastest:?}")))
}

/// Returns the CPU time of a process, or of this one (`self`), in steps of a hundredth of a second; `Duration::MAX` if the system
/// does not report it.
fn processor_time(process: &str) -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(11).take(2);
    let ticks: Option<Vec<u32>> = fields.map(|field| field.parse().ok()).collect();
    ticks.filter(|ticks| ticks.len() == 2).map_or(Duration::MAX, |ticks| TICK * ticks.iter().sum::<u32>())
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let place = PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
    format!("{place}: {}", text.unwrap_or("a panic without a message"))
}

fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.expect("a thread starts").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Counts of a target's workers.
#[derive(Default)]
struct Counts {
    runs: u64,
    taken: u64,
    /// The findings, without the parts that differ between inputs.
    findings: BTreeSet<String>,
}

/// Runs workers until the time is over, and keeps the input of each finding. Returns the number of findings.
fn supervise(target: &Target, arguments: &Arguments) -> anyhow::Result<usize> {
    let folder = folder(target);
    fs::create_dir_all(&folder)?;
    let started = Instant::now();
    let mut counts = Counts::default();
    // A dead worker is restarted with another seed, because the same input would kill it again.
    for restart in 0.. {
        let left = Duration::from_secs(arguments.seconds).saturating_sub(started.elapsed());
        if (restart > 0 && left.is_zero()) || counts.findings.len() >= MAX_FINDINGS {
            break;
        }
        let seed = arguments.seed + (restart << 32);
        let mut child = Command::new(std::env::current_exe()?)
            .args(["fuzz", target.name, "--worker", "--seed", &seed.to_string()])
            .args(["--seconds", &left.as_secs().max(1).to_string()])
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("stderr"))?)
            .spawn()?;
        let is_whole = watch(target, &mut child, &mut counts)?;
        if is_whole {
            break;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let (runs, taken, findings) = (counts.runs, counts.taken, counts.findings.len());
    anstream::println!(
        "{}: {runs} inputs, {taken} taken, {:.0} a second, {findings} findings, seed {}",
        target.name,
        runs as f64 / seconds,
        arguments.seed
    );
    Ok(findings)
}

/// Reads the output of a worker until its end. Returns true if it exited by itself.
fn watch(target: &Target, child: &mut Child, counts: &mut Counts) -> anyhow::Result<bool> {
    let lines = lines_of(child)?;
    let (runs, taken) = (counts.runs, counts.taken);
    let (mut worked, mut waits) = (processor_time(&child.id().to_string()), 0);
    loop {
        match lines.recv_timeout(HANG) {
            Ok(line) => {
                (worked, waits) = (processor_time(&child.id().to_string()), 0);
                match line.split_once(' ') {
                    Some(("runs", numbers)) => {
                        let mut numbers = numbers.split(' ').filter_map(|number| number.parse::<u64>().ok());
                        counts.runs = runs + numbers.next().unwrap_or(0);
                        counts.taken = taken + numbers.next().unwrap_or(0);
                    }
                    Some(("finding", text)) => {
                        let (name, text) = text.split_once(' ').unwrap_or((text, ""));
                        report(target, &folder(target).join(name), text, counts)?;
                    }
                    _ => bail!("the worker of {} says '{line}'", target.name),
                }
            }
            Err(RecvTimeoutError::Timeout)
                if waits < MAX_WAITS
                    && processor_time(&child.id().to_string()).saturating_sub(worked) < HANG.mul_f64(0.9) =>
            {
                waits += 1;
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                save_current(target, "hang", &format!("no answer in {HANG:?}"), counts)?;
                return Ok(false);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                if status.success() {
                    return Ok(true);
                }
                save_current(target, "death", &status.to_string(), counts)?;
                return Ok(false);
            }
        }
        if counts.findings.len() >= MAX_FINDINGS {
            child.kill()?;
            child.wait()?;
            return Ok(true);
        }
    }
}

fn lines_of(child: &mut Child) -> anyhow::Result<Receiver<String>> {
    let out = child.stdout.take().context("the worker has no standard output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}

/// Copies the last input that the worker wrote, and reports it.
fn save_current(target: &Target, kind: &str, text: &str, counts: &mut Counts) -> anyhow::Result<()> {
    let folder = folder(target);
    let path = folder.join(format!("{kind}-{}", counts.findings.len()));
    fs::copy(folder.join("current"), &path)?;
    report(target, &path, text, counts)
}

/// Prints a finding and the command that reproduces it, unless it is known.
fn report(target: &Target, path: &Path, text: &str, counts: &mut Counts) -> anyhow::Result<()> {
    let kind = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = kind.split('-').next().unwrap_or_default();
    // A panic is identified by its location, other findings by their first words.
    let words: String = match text.split_once(": ").filter(|_| kind == "panic") {
        Some((place, _)) => place.to_owned(),
        None => text.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect(),
    };
    let is_new = counts.findings.insert(format!("{kind} {words}"));
    if !is_new {
        return Ok(fs::remove_file(path)?);
    }
    let shown = path.strip_prefix(workspace::root()).unwrap_or(path).display();
    anstream::eprintln!("{kind}: {text}\n  cargo xtask fuzz {} --input {shown}", target.name);
    Ok(())
}
