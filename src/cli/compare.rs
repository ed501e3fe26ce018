//! `compare`: what changed from one run to another.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::results::read;
use crate::cli::{exit, output};
use crate::report::compare::compare;

/// How the comparison is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The results before
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The results after
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let ((before, old), (after, new)) = (read(&arguments.old)?, read(&arguments.new)?);
    if before.suite != after.suite {
        output::note("the two runs are of different suites: a case may have changed, and not the runtime");
    }
    let comparison = compare(&old, &new);
    let text = match arguments.format {
        Format::Text => comparison.to_text(),
        Format::Json => serde_json::to_string_pretty(&comparison)? + "\n",
        Format::Markdown => comparison.to_markdown(),
    };
    output::line(text.trim_end())?;
    Ok(if comparison.is_worse() { exit::REGRESSION } else { exit::SUCCESS })
}
