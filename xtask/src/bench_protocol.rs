//! `cargo xtask bench-protocol`: measures the harness's overhead per case.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_harness::run::{Event, plan, run};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_subject::message::{Answer, Answered, Command, Failure, Started, ValueFile};
use onnx_conformance_subject::{Declaration, Host as _, Launch, Limits, Options, Phase, Stop, StopReason, Subprocess};
use serde::Serialize;

use crate::workspace;

/// Maximum overhead per case.
const MAX_ADDED: Duration = Duration::from_millis(1);

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Cases to run, as globs over their ids; by default the node tests of the newest release
    filters: Vec<String>,
    /// Number of rounds; the fastest counts.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// Runs the cases through a minimal adapter, one at a time.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("this build is not optimized; run `cargo run --release -p xtask -- bench-protocol`");
    }
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    let newest = [format!("onnx-{}/node/**", Specs::embedded().newest_release())];
    let filters = if arguments.filters.is_empty() { newest.as_slice() } else { arguments.filters.as_slice() };
    let plan = plan(&suite, &Filter::new(filters)?, Variant::Runtime)?;
    let mut fastest = Duration::MAX;
    for _ in 0..arguments.rounds.max(1) {
        let (cases, whole, adapter) = round(&plan)?;
        let added = whole.saturating_sub(adapter) / cases;
        fastest = fastest.min(added);
        anstream::println!(
            "{cases} cases in {whole:.2?}, of which {adapter:.2?} in the adapter: the harness adds {added:.0?} a case"
        );
    }
    ensure!(fastest < MAX_ADDED, "the harness adds {fastest:.0?} to a case, and may add {MAX_ADDED:?}");
    Ok(())
}

/// Returns the number of cases, the total time, and the time in the adapter.
fn round(plan: &onnx_conformance_harness::run::Plan<'_>) -> Result<(u32, Duration, Duration)> {
    let note = workspace::target().join("bench-protocol.txt");
    let launch = Launch {
        program: std::env::current_exe()?,
        arguments: vec!["echo-adapter".to_owned(), note.display().to_string()],
        environment: std::collections::BTreeMap::new(),
        folder: None,
        help: String::new(),
        file: None,
    };
    let limits = Limits { timeout: Duration::from_mins(1), memory: Some(4_000_000_000) };
    let stop = Stop::default();
    let runtime = Subprocess::start(launch, Options { limits, restarts: 1, ..Options::default() }, &stop)?;
    let (started, mut cases) = (Instant::now(), 0);
    run(plan, &runtime, &stop, |event| cases += u32::from(matches!(event, Event::Finished(_))));
    let whole = started.elapsed();
    let problems = runtime.finish();
    ensure!(problems.is_empty(), "{}", problems.join("; "));
    if let Some(StopReason::Failed(reason)) = stop.reason() {
        bail!("{reason}");
    }
    ensure!(cases > 0, "no case was run");
    let text = fs::read_to_string(&note).with_context(|| note.display().to_string())?;
    Ok((cases, whole, Duration::from_nanos(text.parse()?)))
}

/// Options of the adapter.
#[derive(clap::Args)]
pub(crate) struct Echo {
    /// File for the number of nanoseconds that it was busy.
    note: PathBuf,
}

/// An adapter that copies the only input of a model to its only output and fails on any other model.
pub(crate) fn echo(arguments: &Echo) -> Result<()> {
    let mut busy = Duration::ZERO;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let started = Instant::now();
        match serde_json::from_str(&line)? {
            Command::Start { .. } => {
                let runtime = Declaration::named("echo", env!("CARGO_PKG_VERSION"));
                answer(&Started { runtime })?;
            }
            Command::Run { seq, inputs, outputs, .. } => {
                let result = match (&inputs[..], &outputs[..]) {
                    ([input], [output]) if [input, output].iter().all(|file| is_tensor(file)) => {
                        copy(Path::new(&input.path), Path::new(&output.path))?
                    }
                    _ => Answered::Error(Failure {
                        phase: Phase::Load,
                        message: "expected one tensor as input and one as output".to_owned(),
                    }),
                };
                answer(&Answer { seq, result })?;
            }
            Command::Optimize { .. } => anyhow::bail!("the adapter does not declare `optimize`"),
            Command::Ask { ask, .. } => anyhow::bail!("the adapter does not declare `{ask}`"),
            Command::Stop {} => break,
        }
        busy += started.elapsed();
    }
    fs::write(&arguments.note, busy.as_nanos().to_string())?;
    Ok(())
}

fn is_tensor(file: &ValueFile) -> bool {
    file.value_type.starts_with("tensor(")
}

/// Copies a tensor without its name, since the name is the input's.
fn copy(input: &Path, output: &Path) -> Result<Answered> {
    use onnx_conformance_reference::proto::{Message as _, TensorProto};
    let Ok(tensor) = TensorProto::decode(fs::read(input)?.as_slice()) else {
        return Ok(Answered::Error(Failure { phase: Phase::Load, message: "not a tensor".to_owned() }));
    };
    fs::write(output, TensorProto { name: None, ..tensor }.encode_to_vec())?;
    Ok(Answered::Ok)
}

fn answer<T: Serialize>(answer: &T) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
