//! `list`: the ids of cases.

use clap::Args;

use crate::cli::suggest::note_nothing_matches;
use crate::cli::{exit, options, print};
use crate::report::escape;
use crate::suite::Filter;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let patterns = arguments.selection.patterns()?;
    let filter = arguments.selection.narrowed(Filter::new(&patterns)?)?;
    let suite = arguments.selection.open()?;
    let ids = suite.ids(&filter)?;
    if ids.is_empty() {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    let ids: Vec<String> = ids.iter().map(|id| escape::line(id)).collect();
    print::line(&ids.join("\n"))?;
    Ok(exit::SUCCESS)
}
