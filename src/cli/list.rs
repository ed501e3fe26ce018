//! `list`: the ids of cases.

use clap::Args;

use crate::cli::{exit, options, print};
use crate::report::escape;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    let ids = arguments.selection.open(&filter)?.ids(&filter)?;
    if ids.is_empty() {
        print::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let ids: Vec<String> = ids.iter().map(|id| escape::line(id)).collect();
    print::line(&ids.join("\n"))?;
    Ok(exit::SUCCESS)
}
