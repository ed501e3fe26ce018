//! `smoke`: whether an adapter follows the protocol, in words.

use clap::Args;

use crate::cli::runtime::{RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::{exit, print};
use crate::report::{escape, terminal};
use crate::runtime::{Verdict, smoke};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    runtime: RuntimeOptions,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let stop = stopped_by_interrupt()?;
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    print::line(&terminal::runtime(&declaration))?;
    let (mut correct, mut unsupported, mut wrong, mut printed) = (0_usize, 0_usize, 0_usize, Ok(()));
    smoke(&*runtime, |about, verdict| {
        if stop.is_set() || printed.is_err() {
            return;
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
            Verdict::Wrong(message) => {
                wrong += 1;
                print::line(&format!("WRONG        {about}: {}", escape::message(&message)))
            }
        };
    })?;
    printed?;
    for problem in runtime.finish() {
        wrong += 1;
        print::line(&format!("WRONG        {problem}"))?;
    }
    if stop.is_set() {
        return ended_early(&stop);
    }
    let advice = if wrong > 0 { "; docs/protocol.md has the rules" } else { "" };
    print::line(&format!("{correct} ok, {unsupported} unsupported, {wrong} wrong{advice}"))?;
    Ok(if wrong == 0 { exit::SUCCESS } else { exit::REGRESSION })
}
