//! `export`: cases as ordinary ONNX test folders, for any runner.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use crate::cli::suggest::note_nothing_matches;
use crate::cli::{exit, options, print};
use crate::suite::{Exporter, Filter};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder that the cases go to; not there yet, or empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    selection: options::Selection,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let patterns = arguments.selection.patterns()?;
    let filter = Filter::new(&patterns)?;
    let suite = arguments.selection.open(&filter)?;
    let chosen = suite.choose(&filter)?;
    if chosen.is_empty() {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    let mut exporter = Exporter::new(&arguments.folder, &suite.digest()?)?;
    for (source, unit, ids) in chosen {
        let ids: HashSet<String> = ids.into_iter().collect();
        for case in source.load(&unit, &|id| ids.contains(id))? {
            exporter.add(&case)?;
        }
    }
    let written = exporter.written;
    exporter.finish()?;
    print::line(&format!("{written} cases in {}", arguments.folder.display()))?;
    Ok(exit::SUCCESS)
}
