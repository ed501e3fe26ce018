//! `export`: cases as ordinary ONNX test folders, for any runner.

use std::fs;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Exporter, Filter};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::run::plan;

use crate::cli::suggest::note_nothing_matches;
use crate::cli::usage::Usage;
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Output folder, which must be new or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    selection: options::Selection,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let patterns = arguments.selection.patterns()?;
    let filter = arguments.selection.narrowed(Filter::new(&patterns)?)?;
    let suite = arguments.selection.open()?;
    let evidence = arguments.selection.sources.evidence()?;
    let plan = plan(&suite, &filter, Variant::Runtime)?.confirmed_by(&evidence);
    if plan.selected == 0 {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    let folder = arguments.folder.display();
    if arguments.folder.exists() && !fs::read_dir(&arguments.folder).is_ok_and(|mut files| files.next().is_none()) {
        bail!(Usage(format!("{folder} is not an empty folder; choose a new one")));
    }
    let mut exporter = Exporter::new(&arguments.folder, &suite.digest()?)?;
    for group in plan.groups() {
        let (source, ..) = group;
        for case in plan.load(group)? {
            exporter.add(&case, &source.files(&case.id)?)?;
        }
    }
    let written = exporter.written;
    exporter.finish()?;
    print::line(&format!("wrote {written} cases to {folder}"))?;
    Ok(exit::SUCCESS)
}
