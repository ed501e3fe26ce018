//! `compare`: the changes between two runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::run::Read;
use onnx_conformance_report::compare::Comparison;

use crate::cli::{options, print, results_file};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Results file of the older run
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// Results file of the newer run
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Compare files even if they are truncated or some cases have no result
    #[arg(long)]
    allow_incomplete: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print at most this many cases of each kind; 0 for all. JSON always has all
    #[arg(long, value_name = "N", default_value = "30", value_parser = options::shown, allow_negative_numbers = true)]
    show: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (old, new) = (results_file::read(&arguments.old)?, results_file::read(&arguments.new)?);
    let mut is_incomplete = false;
    for (path, read) in [(&arguments.old, &old), (&arguments.new, &new)] {
        note_missing(&path.display().to_string(), read);
        is_incomplete |= !read.is_complete();
    }
    let comparison = Comparison::new(&old, &new);
    if !comparison.is_same_suite {
        print::note("the two runs used different suites, so cases with the same id may differ");
    }
    match arguments.format {
        Format::Text => print::line(&comparison.text(arguments.show))?,
        Format::Markdown => print::line(&comparison.markdown(arguments.show))?,
        Format::Json => print::json(&comparison)?,
    }
    if is_incomplete && !arguments.allow_incomplete {
        print::note(
            "cases without a result cannot be compared; finish the run with --resume, or use --allow-incomplete",
        );
        return Ok(exit::HARNESS);
    }
    Ok(if comparison.is_worse() { exit::REGRESSION } else { exit::SUCCESS })
}

fn note_missing(place: &str, read: &Read) {
    if read.missing() > 0 {
        let (missing, cases) = (read.missing(), read.header.selected.cases);
        print::note(&format!("{place}: {missing} of {cases} cases have no result; the run did not finish"));
    }
}
