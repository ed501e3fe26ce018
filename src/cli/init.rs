//! `init`: the first expectation file of a runtime.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::case::Variant;
use crate::cli::run::rewrite;
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::{Progress, exit, options, output};
use crate::report::terminal;
use crate::run::{Event, Expectations, Header, Summary, plan, run};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,

    #[command(flatten)]
    runtime: RuntimeOptions,

    /// Expect the runtime to fail recommendations too, not only what the standard requires
    #[arg(long)]
    strict: bool,

    /// Where the file goes [default: expectations/<runtime>.yaml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    let suite = arguments.selection.open()?;
    let plan = plan(&suite, &filter, Variant::Runtime)?;
    if plan.selected == 0 {
        output::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let stop = stopped_by_interrupt()?;
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    let default = || options::project_folder("expectations").join(format!("{}.yaml", declaration.name));
    let path = arguments.output.clone().unwrap_or_else(default);
    if path.exists() {
        bail!(
            "{}: is there already; rewrite it with `onnx-conformance run{} --update-expectations`, or remove it",
            path.display(),
            arguments.runtime.spelt()
        );
    }
    let (mut summary, mut all, mut broken) = (Summary::default(), Vec::new(), 0_usize);
    let mut progress = Progress::new(plan.selected);
    run(&plan, &*runtime, &stop, |event| match event {
        Event::Finished(result) => {
            summary.add(&result);
            progress.show(&summary);
            all.push(*result);
        }
        Event::Broken(error) => {
            broken += 1;
            output::note(&format!("broken case: {error}"));
        }
    });
    progress.finish();
    runtime.finish();
    if stop.is_set() {
        return ended_early(&stop);
    }
    if broken > 0 {
        bail!("{broken} units of cases could not be had, so the file would not be whole");
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    output::line(&format!("{} cases, {}", summary.total(), terminal::counts(&summary)))?;
    let header = Header::new(declaration, Variant::Runtime, suite.digest()?, plan.selected, plan.selected);
    let strict = arguments.strict || arguments.runtime.runtime == BUILTIN;
    rewrite(&path, &Expectations::none(&header.runtime.name), &header, &all, strict)
}
