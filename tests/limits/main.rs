//! The limits hold: the newest kernel of every operator is run with inflated inputs and attributes of the operator's own cases.
//! It ends within twice its memory and twice its time limit.
//!
//! `LIMITS_ONLY=ai.onnx/Conv` runs the operators with this prefix. `LIMITS_ALL=1` runs every case of every version instead of one
//! case per operator, which takes hours.

mod check;
mod hostile;
mod inflate;

use std::collections::BTreeMap;
use std::path::Path;
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
use onnx_conformance_cases::suite::Suite;
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

#[test]
#[expect(clippy::print_stdout, reason = "the figures that docs/robustness.md states, for --nocapture")]
fn every_operator_ends_within_its_limits() {
    let _alone = alone();
    let suite = Suite::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")).unwrap();
    let (mut costs, mut faults) = (Vec::new(), Vec::new());
    let driven: Vec<_> = suite.groups().unwrap().into_iter().filter(|(_, unit)| is_driven(&unit.name)).collect();
    // Created in parallel, as many as fit into memory, and run one at a time.
    let made = driven.chunks(32).flat_map(|driven| {
        let made = driven.par_iter().map(|(source, unit)| representatives(source.load(unit, &|_| true).unwrap()));
        made.flatten_iter().collect::<Vec<Case>>()
    });
    for case in made {
        for hostile in hostile(&case, is_set("LIMITS_ALL")) {
            let cost = cheapest(&hostile);
            let (seconds, megabytes) = (cost.time.as_secs_f64(), cost.bytes >> 20);
            let end: String = cost.end.chars().take(160).collect();
            let line = format!("{} {}: {seconds:.2} s, {megabytes} MB, {end}", case.id, hostile.what);
            if cost.is_over() {
                faults.push(line.clone());
            }
            costs.push((cost.time, cost.bytes, line));
        }
    }
    println!("{} models", costs.len());
    costs.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
    costs.iter().take(5).for_each(|(.., line)| println!("slowest: {line}"));
    costs.sort_by_key(|(_, bytes, _)| std::cmp::Reverse(*bytes));
    costs.iter().take(5).for_each(|(.., line)| println!("largest: {line}"));
    assert!(faults.is_empty(), "{} of {} go beyond:\n{}", faults.len(), costs.len(), faults.join("\n"));
    assert!(costs.len() > 1000 || is_set("LIMITS_ONLY"), "only {} models were run", costs.len());
}
