//! The limits hold: the newest kernel of every operator is run with inflated inputs and attributes of the operator's own cases.
//! It ends within twice its memory and twice its time limit.
//!
//! `LIMITS_ONLY=ai.onnx/Conv` runs the operators with this prefix. `LIMITS_ALL=1` runs every case of every version instead of one
//! case per operator, which takes hours.

mod check;
mod hostile;
mod inflate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onnx_conformance::reference::deadline::Deadline;
use onnx_conformance::reference::executor::run;
use onnx_conformance::reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance::reference::kernels::framework::registry::{self, Kernel};
use onnx_conformance::reference::model::{LoadLimits, read_model};
use onnx_conformance::reference::proto::decode::NoExternalData;
use onnx_conformance::reference::spec::OperatorVersion;
use onnx_conformance::reference::value::Value;
use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::suite::{CaseGroup, Source, Suite};
use peak_alloc::PeakAlloc;
use rayon::prelude::*;

use inflate::{Hostile, hostile};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Limits of a run.
const BYTES: usize = 64 << 20;
const TIME: Duration = Duration::from_millis(500);

/// Returns a lock, so that one test runs at a time: they measure the memory of the whole program.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cost of a run without its inputs.
struct Cost {
    time: Duration,
    bytes: usize,
    end: String,
}

impl Cost {
    fn is_over(&self) -> bool {
        self.time > 2 * TIME || self.bytes > 2 * BYTES
    }
}

fn measure(hostile: &Hostile) -> Cost {
    let inputs: BTreeMap<String, Value> = hostile.inputs.clone();
    MEMORY.reset_peak_usage();
    let (before, started) = (MEMORY.current_usage(), Instant::now());
    let deadline = Deadline::new(move || started.elapsed() > TIME);
    let loading = LoadLimits { bytes: BYTES, deadline: deadline.clone() };
    let limits = ExecutionLimits { bytes: BYTES, deadline, ..ExecutionLimits::default() };
    let end = match read_model(hostile.model.clone(), &NoExternalData, &loading) {
        Ok(model) => match run(&model, inputs, limits) {
            Ok(_) => "outputs".to_owned(),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    Cost { time: started.elapsed(), bytes: MEMORY.peak_usage().saturating_sub(before), end }
}

/// Returns the cost of a run. It is repeated while it exceeds its time, since another program may have used the processor.
fn cheapest(hostile: &Hostile) -> Cost {
    let mut cost = measure(hostile);
    for _ in 0..4 {
        if cost.is_over() {
            cost = measure(hostile);
        }
    }
    cost
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Returns true for the group of an operator version that introduces the operator's newest kernel.
fn is_driven(group: &str) -> bool {
    let only = std::env::var("LIMITS_ONLY").unwrap_or_default();
    let Ok(version) = group.parse::<OperatorVersion>() else { return false };
    let kernel = |since| registry::find(&OperatorVersion { since, ..version.clone() }).map(Kernel::row);
    let newest =
        kernel(version.since) == kernel(u32::MAX) && kernel(version.since).is_some_and(|row| row.2 == version.since);
    group.starts_with(&only) && (newest || is_set("LIMITS_ALL"))
}

/// Returns the case with the most inputs and attributes as representative of an operator version, or all cases.
fn representatives(cases: Vec<Case>) -> Vec<Case> {
    let runs: Vec<Case> = cases.into_iter().filter(|case| case.refusal.is_none()).collect();
    if is_set("LIMITS_ALL") {
        return runs;
    }
    let weight = |case: &Case| (case.data.first().map_or(0, |data| data.inputs.len()), case.model.len());
    runs.into_iter().max_by_key(weight).into_iter().collect()
}

/// Processes that share the operators, one core each: a process measures one run at a time.
const PROCESSES: usize = 2;

/// Environment variable with the number of the part that a process measures.
const PART: &str = "LIMITS_PART";

/// Prefix of the lines in which a process names an operator version to measure again.
const AGAIN: &str = "again: ";

type Groups<'a> = Vec<(&'a (dyn Source + Send), CaseGroup)>;

#[test]
#[expect(clippy::print_stdout, reason = "the figures that docs/robustness.md states, for --nocapture")]
fn every_operator_ends_within_its_limits() {
    let _alone = alone();
    let suite = Suite::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")).unwrap();
    let driven: Groups<'_> = suite.groups().unwrap().into_iter().filter(|(_, unit)| is_driven(&unit.name)).collect();
    if let Ok(part) = std::env::var(PART) {
        let part: usize = part.parse().unwrap();
        let costs = costs(&driven.into_iter().skip(part).step_by(PROCESSES).collect(), measure);
        println!("{} models", costs.len());
        print_greatest(&costs);
        costs.iter().filter(|(_, cost, _)| cost.is_over()).for_each(|(group, ..)| println!("{AGAIN}{group}"));
        assert!(costs.len() > 1000 / PROCESSES || is_set("LIMITS_ONLY"), "only {} models were run", costs.len());
        return;
    }
    let printed = printed_by_parts();
    println!("{printed}");
    // The parts may have slowed each other down. Nothing else runs now.
    let again: BTreeSet<&str> = printed.lines().filter_map(|line| line.strip_prefix(AGAIN)).collect();
    let costs = costs(&driven.into_iter().filter(|(_, unit)| again.contains(&*unit.name)).collect(), cheapest);
    let faults: Vec<&str> = costs.iter().filter(|(_, cost, _)| cost.is_over()).map(|(.., line)| &**line).collect();
    assert!(faults.is_empty(), "{} go beyond:\n{}", faults.len(), faults.join("\n"));
}

/// Returns the output of a process for each part, which all run at the same time.
fn printed_by_parts() -> String {
    let run = |part: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["every_operator_ends_within_its_limits", "--exact", "--nocapture"]).env(PART, part.to_string());
        command.output().unwrap()
    };
    let ended: Vec<Output> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..PROCESSES).map(|part| scope.spawn(move || run(part))).collect();
        started.into_iter().map(|process| process.join().unwrap()).collect()
    });
    for output in &ended {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    ended.iter().map(|output| String::from_utf8_lossy(&output.stdout)).collect()
}

/// Runs the inflated cases of operator versions. Returns the name of the version, the cost and a line about it for each run.
fn costs(driven: &Groups<'_>, measure: fn(&Hostile) -> Cost) -> Vec<(String, Cost, String)> {
    let mut costs = Vec::new();
    // Created in parallel, as many as fit into memory, and run one at a time.
    let made = driven.chunks(32 / PROCESSES).flat_map(|driven| {
        let of_group = |(source, unit): &(&(dyn Source + Send), CaseGroup)| {
            let cases = representatives(source.load(unit, &|_| true).unwrap());
            cases.into_iter().map(|case| (unit.name.clone(), case)).collect::<Vec<_>>()
        };
        driven.par_iter().flat_map_iter(of_group).collect::<Vec<(String, Case)>>()
    });
    for (group, case) in made {
        for hostile in hostile(&case, is_set("LIMITS_ALL")) {
            let cost = measure(&hostile);
            let (seconds, megabytes) = (cost.time.as_secs_f64(), cost.bytes >> 20);
            let end: String = cost.end.chars().take(160).collect();
            let line = format!("{} {}: {seconds:.2} s, {megabytes} MB, {end}", case.id, hostile.what);
            costs.push((group.clone(), cost, line));
        }
    }
    costs
}

#[expect(clippy::print_stdout, reason = "the figures that docs/robustness.md states, for --nocapture")]
fn print_greatest(costs: &[(String, Cost, String)]) {
    let mut costs: Vec<_> = costs.iter().collect();
    costs.sort_by_key(|(_, cost, _)| std::cmp::Reverse(cost.time));
    costs.iter().take(5).for_each(|(.., line)| println!("slowest: {line}"));
    costs.sort_by_key(|(_, cost, _)| std::cmp::Reverse(cost.bytes));
    costs.iter().take(5).for_each(|(.., line)| println!("largest: {line}"));
}
