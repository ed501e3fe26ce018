//! `coverage`: which operator versions and type cells the chosen cases run through, and which they leave out.

use std::time::Duration;

use clap::Args;
use onnx_conformance_reference::spec::Specs;

use crate::cli::{exit, options, output};
use crate::report::coverage::Coverage;
use crate::run::{Event, plan, run};
use crate::runtime::{Builtin, Stop};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    let suite = arguments.selection.open()?;
    let plan = plan(&suite, &filter)?;
    if plan.selected == 0 {
        output::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let (mut coverage, mut broken) = (Coverage::new(Specs::embedded())?, 0);
    run(&plan, &Builtin::new(Duration::from_mins(1)), &Stop::default(), |event| match event {
        Event::Finished(result) => coverage.add(&result),
        Event::Broken(error) => {
            broken += 1;
            output::note(&format!("broken case: {error}"));
        }
    });
    for missing in coverage.missing(&filter) {
        output::line(&missing)?;
    }
    output::line(&coverage.summary())?;
    Ok(if broken > 0 { exit::HARNESS } else { exit::SUCCESS })
}
