//! `run --smoke`: checks if an adapter follows the protocol, and explains errors.

use std::path::Path;

use onnx_conformance_cases::suite::export_case;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::smoke::{Verdict, smoke};
use onnx_conformance_report::terminal;

use crate::cli::print;
use crate::cli::runtime::{RuntimeOptions, ended_early};

/// Runs the small models. Those that are not ok are written to the folder, if there is one.
pub(crate) fn check_adapter(runtime: &RuntimeOptions, failures: Option<&Path>) -> anyhow::Result<u8> {
    let stop = stopped_by_interrupt();
    let runtime = match runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop, false),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    print::line(&terminal::runtime(&declaration))?;
    let (mut correct, mut unsupported, mut failing, mut wrong) = (0_usize, 0_usize, 0_usize, 0_usize);
    let (mut printed, mut written) = (Ok(()), Ok(()));
    smoke(&*runtime, |about, verdict, case| {
        if stop.is_set() || printed.is_err() {
            return;
        }
        if let Some(folder) = failures.filter(|_| verdict != Verdict::Correct && written.is_ok()) {
            written = export_case(&folder.join(about.replace(' ', "_")), case);
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
    written?;
    for problem in runtime.finish() {
        wrong += 1;
        print::line(&format!("WRONG        {problem}"))?;
    }
    if stop.is_set() {
        return ended_early(&stop, false);
    }
    let advice = if wrong > 0 { "; `run --validate` names each message that breaks the protocol" } else { "" };
    print::line(&format!(
        "{correct} ok, {unsupported} unsupported, {failing} failing in the runtime, {wrong} wrong{advice}"
    ))?;
    Ok(if wrong == 0 { exit::SUCCESS } else { exit::REGRESSION })
}
