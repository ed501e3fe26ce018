//! `compare`: what changed between two runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::{exit, output, results};
use crate::report::compare::Comparison;
use crate::run::Read;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The results file of the older run
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The results file of the newer run
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// In which form the changes are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print at most this many cases of each kind; 0 for all. JSON has all
    #[arg(long, value_name = "N", default_value_t = 30)]
    show: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (old, new) = (results::read(&arguments.old)?, results::read(&arguments.new)?);
    for (path, read) in [(&arguments.old, &old), (&arguments.new, &new)] {
        note_missing(&path.display().to_string(), read);
    }
    let comparison = Comparison::new(&old, &new);
    if !comparison.is_same_suite {
        output::note("the two runs are of different suites: a case of one name may be another");
    }
    let most = if arguments.show == 0 { usize::MAX } else { arguments.show };
    let text = match arguments.format {
        Format::Text => comparison.text(most),
        Format::Markdown => comparison.markdown(most),
        Format::Json => serde_json::to_string_pretty(&comparison)?,
    };
    output::line(&text)?;
    Ok(if comparison.is_worse() { exit::REGRESSION } else { exit::SUCCESS })
}

fn note_missing(place: &str, read: &Read) {
    if read.missing() > 0 {
        let (missing, cases) = (read.missing(), read.header.selected.cases);
        output::note(&format!("{place}: {missing} of {cases} cases have no result; the run did not come to its end"));
    }
}
