//! Fuzzing on a stable toolchain: inputs are made and run in processes of their own, so that the end of one is a finding.
//!
//! A worker makes input after input from the seed, and writes each down before it runs it. It reports a panic, a run that
//! takes too long and whatever the target itself finds; that it dies or hangs is seen from outside.

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

/// The allocator of this program, which counts.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A run that takes so long by the processor's clock is a hang; the machine may be busy.
const HANG: Duration = Duration::from_secs(30);

/// How often so long may pass without a word, if the worker does not get the processor, or sleeps.
const MOST_WAITS: u32 = 10;

/// The inputs made from one seed input.
const MUTANTS: usize = 200;

/// The stack of a thread that asks for no other.
const STACK: usize = 2 << 20;

/// The findings after which a target is given up.
const MOST_FINDINGS: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The targets; all of them unless some are named
    targets: Vec<String>,

    /// How long to fuzz each target
    #[arg(long, default_value_t = 20)]
    seconds: u64,

    /// What the inputs are made from: the same number makes the same inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Run this input once, in this process
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Write this many seed inputs of each target below target/fuzz/corpus, for cargo-fuzz
    #[arg(long, value_name = "COUNT")]
    corpus: Option<u64>,

    /// Be the process that runs the inputs
    #[arg(long, hide = true)]
    worker: bool,
}

/// Fuzzes, replays an input, or writes a corpus.
pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let targets = chosen(&arguments.targets)?;
    if let Some(path) = &arguments.input {
        let [target] = targets.as_slice() else { bail!("name the one target that the input is for") };
        return replay(target, path);
    }
    if let Some(count) = arguments.corpus {
        for target in targets {
            write_corpus(target, count, arguments.seed)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.worker {
        let [target] = targets.as_slice() else { bail!("a worker runs one target") };
        worker(target, arguments);
        return Ok(ExitCode::SUCCESS);
    }
    // A worker takes one processor, so there are as many at a time as there are processors.
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
        .map(|name| Target::named(name).with_context(|| format!("there is no target '{name}'; there are {}", known())))
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
        Err(finding) => (finding, ExitCode::FAILURE),
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

/// Where the last panic was.
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Makes and runs inputs until the time is over. Says on standard output what happens, a line each.
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

/// Runs an input and tells a finding by its kind. What takes over twice its time must do so three times, and by the
/// processor's clock as well: the machine may be busy. So must what takes too much memory: some things are read once.
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
            Ok(Err(finding)) => return Err(("finding", finding)),
            Ok(Ok(taken)) if took <= 2 * target.time && is_within_memory => return Ok(taken),
            Ok(Ok(_)) => {}
        }
    }
    if fastest <= 2 * target.time {
        return Err(("large", format!("{smallest} bytes")));
    }
    Err(("slow", format!("{fastest:?}")))
}

/// What a process, or this one, `self`, has worked so far, to a hundredth of a second; without end where the system does not
/// tell.
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
    format!("{place}: {}", text.unwrap_or("a panic without a text"))
}

fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.expect("a thread starts").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the workers of a target have done.
#[derive(Default)]
struct Counts {
    runs: u64,
    taken: u64,
    /// The findings, each without what differs from input to input.
    findings: BTreeSet<String>,
}

/// Runs workers until the time is over, and keeps the input of each finding. The number of findings.
fn supervise(target: &Target, arguments: &Arguments) -> anyhow::Result<usize> {
    let folder = folder(target);
    fs::create_dir_all(&folder)?;
    let started = Instant::now();
    let mut counts = Counts::default();
    // A worker that died starts again from another seed, or it would die of the same input.
    for restart in 0.. {
        let left = Duration::from_secs(arguments.seconds).saturating_sub(started.elapsed());
        if (restart > 0 && left.is_zero()) || counts.findings.len() >= MOST_FINDINGS {
            break;
        }
        let seed = arguments.seed + (restart << 32);
        let mut child = Command::new(std::env::current_exe()?)
            .args(["fuzz", target.name, "--worker", "--seed", &seed.to_string()])
            .args(["--seconds", &left.as_secs().max(1).to_string()])
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("stderr"))?)
            .spawn()?;
        let is_whole = watch(target, &mut child, &folder, &mut counts)?;
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

/// Listens to a worker to its end. Whether it ended by itself.
fn watch(target: &Target, child: &mut Child, folder: &Path, counts: &mut Counts) -> anyhow::Result<bool> {
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
                        tell(target, &folder.join(name), text, counts)?;
                    }
                    _ => bail!("the worker of {} says '{line}'", target.name),
                }
            }
            Err(RecvTimeoutError::Timeout)
                if waits < MOST_WAITS
                    && processor_time(&child.id().to_string()).saturating_sub(worked) < HANG.mul_f64(0.9) =>
            {
                waits += 1;
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                keep(target, folder, "hang", &format!("no answer in {HANG:?}"), counts)?;
                return Ok(false);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                if status.success() {
                    return Ok(true);
                }
                keep(target, folder, "death", &status.to_string(), counts)?;
                return Ok(false);
            }
        }
        if counts.findings.len() >= MOST_FINDINGS {
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

/// Keeps the input that the worker has written last, and tells of it.
fn keep(target: &Target, folder: &Path, kind: &str, text: &str, counts: &mut Counts) -> anyhow::Result<()> {
    let path = folder.join(format!("{kind}-{}", counts.findings.len()));
    fs::copy(folder.join("current"), &path)?;
    tell(target, &path, text, counts)
}

/// Says what was found and how it is run again, unless it was found before.
fn tell(target: &Target, path: &Path, text: &str, counts: &mut Counts) -> anyhow::Result<()> {
    let kind = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = kind.split('-').next().unwrap_or_default();
    // A panic is known by its place, anything else by its first words.
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
