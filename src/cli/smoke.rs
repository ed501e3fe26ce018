//! `smoke`: checks if an adapter follows the protocol, and explains errors.

use std::path::PathBuf;

use clap::Args;
use onnx_conformance_cases::suite::export_case;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::smoke::{Verdict, smoke};
use onnx_conformance_report::terminal;

use crate::cli::print;
use crate::cli::runtime::{RuntimeOptions, ended_early};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    runtime: RuntimeOptions,

    /// Write each model that is not ok, with its inputs and expected outputs, as a test folder to this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let stop = stopped_by_interrupt();
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    print::line(&terminal::runtime(&declaration))?;
    let (mut correct, mut unsupported, mut failing, mut wrong) = (0_usize, 0_usize, 0_usize, 0_usize);
    let (mut printed, mut kept) = (Ok(()), Ok(()));
    smoke(&*runtime, |about, verdict, case| {
        if stop.is_set() || printed.is_err() {
            return;
        }
        if let Some(folder) = arguments.keep.as_ref().filter(|_| verdict != Verdict::Correct && kept.is_ok()) {
            kept = export_case(&folder.join(about.replace(' ', "_")), case);
        }
        printed = match verdict {
            Verdict::Correct => {
                correct += 1;
                print::line(&format!("ok           {about}"))
            }
            Verdict::Unsupported(message) => {
                unsupported += 1;
                print::line(&format!("unsupported  {about}: {}", escape::message(&message)))
            }
            Verdict::Runtime(message) => {
                failing += 1;
                print::line(&format!("RUNTIME      {about}: {}", escape::message(&message)))
            }
            Verdict::Wrong(message) => {
                wrong += 1;
                print::line(&format!("WRONG        {about}: {}", escape::message(&message)))
            }
        };
    })?;
    printed?;
    kept?;
    for problem in runtime.finish() {
        wrong += 1;
        print::line(&format!("WRONG        {problem}"))?;
    }
    if stop.is_set() {
        return ended_early(&stop);
    }
    let advice = if wrong > 0 { "; `run --validate` names each message that breaks the protocol" } else { "" };
    print::line(&format!(
        "{correct} ok, {unsupported} unsupported, {failing} failing in the runtime, {wrong} wrong{advice}"
    ))?;
    Ok(if wrong == 0 { exit::SUCCESS } else { exit::REGRESSION })
}
