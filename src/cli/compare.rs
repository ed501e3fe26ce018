//! `compare`: the changes between two runs, or between two versions of a runtime.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use onnx_conformance_cases::case::{TextRelease, Variant, read_text};
use onnx_conformance_cases::suite::{Generated, Suite};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::{MeasuredDigests, Measurement, Measurements};
use onnx_conformance_harness::run::Read;
use onnx_conformance_report::compare::Comparison;
use onnx_conformance_report::version_changes::{Side, VersionChanges};

use crate::cli::runtime_name::RuntimeName;
use crate::cli::usage::Usage;
use crate::cli::{options, print, results_file};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Results file of the older run, expectation file of a measured version, or a measured version such as onnxruntime@1.31.1
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The newer one, in any of these forms
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Compare results files even if they are truncated or some cases have no result
    #[arg(long)]
    allow_incomplete: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print at most this many cases of each kind, or lines if a measurement is compared; 0 for all. JSON always has all
    #[arg(long, value_name = "N", default_value = "30", value_parser = options::shown, allow_negative_numbers = true)]
    show: usize,

    /// Print everything, as --show 0 does. By default, output that exceeds the screen of a terminal is also shortened
    #[arg(long, conflicts_with = "show")]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

/// Something to compare.
#[derive(Debug)]
enum Compared {
    /// A results file.
    Results(Box<Read>),
    /// An expectation file of a measured version.
    File(Box<Measurement>),
    /// An embedded measurement.
    Embedded(&'static Measurement),
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        matches!(self.format, Format::Text) && !self.all && self.show != usize::MAX
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (old, new) = (open(&arguments.old)?, open(&arguments.new)?);
    let mut is_incomplete = false;
    for (path, compared) in [(&arguments.old, &old), (&arguments.new, &new)] {
        if let Compared::Results(read) = compared {
            note_missing(&path.display().to_string(), read);
            is_incomplete |= !read.is_complete();
        }
    }
    let most = if arguments.all { usize::MAX } else { arguments.show };
    let is_worse = if let (Compared::Results(old), Compared::Results(new)) = (&old, &new) {
        runs(old, new, arguments.format, most)?
    } else {
        let sides = [(&arguments.old, &old), (&arguments.new, &new)];
        versions(sides.map(|(path, compared)| (path.as_path(), compared)), arguments.format, most)?
    };
    if is_incomplete && !arguments.allow_incomplete {
        print::note(
            "cases without a result cannot be compared; finish the run with --resume, or use --allow-incomplete",
        );
        return Ok(exit::HARNESS);
    }
    Ok(if is_worse { exit::REGRESSION } else { exit::SUCCESS })
}

/// Prints the changes between two runs. Returns true if a case got worse.
fn runs(old: &Read, new: &Read, format: Format, most: usize) -> anyhow::Result<bool> {
    let comparison = Comparison::new(old, new);
    if !comparison.is_same_suite {
        print::note("the two runs used different suites, so cases with the same id may differ");
    }
    note_other_texts("the two runs were", old.header.text, new.header.text);
    match format {
        Format::Text => print::line(&comparison.text(most))?,
        Format::Markdown => print::line(&comparison.markdown(most))?,
        Format::Json => print::json(&comparison)?,
    }
    Ok(comparison.is_worse())
}

/// Prints the changes between two versions, at least one of which is a measurement. Returns true if a case got worse.
fn versions(sides: [(&Path, &Compared); 2], format: Format, most: usize) -> anyhow::Result<bool> {
    for (path, compared) in sides {
        if let Compared::Results(read) = compared {
            check_run(path, read)?;
        }
    }
    let [old, new] = sides.map(|(_, compared)| match compared {
        Compared::Results(read) => Side::from_results(read),
        Compared::File(measurement) => Side::from_measurement(measurement),
        Compared::Embedded(measurement) => Side::from_measurement(measurement),
    });
    let changes = VersionChanges::new(&old, &new, Findings::embedded()?);
    match format {
        Format::Text => print::line(&changes.text(most))?,
        Format::Markdown => print::line(&changes.markdown(most))?,
        Format::Json => print::json(&changes)?,
    }
    Ok(changes.is_worse())
}

/// Fails if a run cannot be compared with a measurement, and prints a note if it used another suite.
fn check_run(path: &Path, read: &Read) -> anyhow::Result<()> {
    let (place, variant) = (path.display(), read.header.selected.variant);
    if variant != Variant::Runtime {
        bail!(Usage(format!("{place}: is about the variant {variant}; measurements are about {}", Variant::Runtime)));
    }
    if read.header.digest != Suite::project(None, Generated::embedded())?.digest()? {
        print::note(&format!("{place}: the run used another suite, so cases with the same id may differ"));
    }
    note_other_texts(&format!("{place} and measurements were"), read.header.text, Some(TextRelease::newest()));
    Ok(())
}

/// Prints a note if runs were judged by the texts of different releases.
fn note_other_texts(which: &str, old: Option<TextRelease>, new: Option<TextRelease>) {
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        print::note(&format!("{which} judged by the texts of ONNX {old} and {new}, so the levels of cases may differ"));
    }
}

/// Opens a file, or finds the measurement of this name.
fn open(argument: &Path) -> anyhow::Result<Compared> {
    let is_yaml = argument.extension().is_some_and(|it| it == "yaml" || it == "yml");
    if is_yaml {
        return Ok(Compared::File(Box::new(measurement(argument)?)));
    }
    let name = argument.to_str().filter(|_| !argument.exists()).unwrap_or_default();
    let named = RuntimeName::parse(name);
    let all = Measurements::among(&named.name);
    let is_runtime = all.runtimes().iter().any(|(known, _)| *known == named.name);
    if !is_runtime && named.version.is_none() {
        return Ok(Compared::Results(Box::new(results_file::read(argument)?)));
    }
    let measurement = all.get(&named.name, named.version.as_deref().unwrap_or_default())?.ok_or_else(|| {
        Usage(format!(
            "{}: no such file or measurement; write NAME@VERSION of a measured version: {}",
            line(name),
            all.names()
        ))
    })?;
    Ok(Compared::Embedded(measurement))
}

/// Reads the measurement in an expectation file, with the digests next to it.
fn measurement(path: &Path) -> anyhow::Result<Measurement> {
    let place = path.display().to_string();
    let text = read_text(path).with_context(|| place.clone())?;
    let beside = MeasuredDigests::path(path);
    let digests =
        if beside.exists() { Some(read_text(&beside).with_context(|| beside.display().to_string())?) } else { None };
    let measurement = Measurement::read(&place, &text, digests.as_deref())?;
    let without_version = || {
        format!(
            "{place}: has no `version`, so it is not the measurement of a version; `run --update-expectations` with a file \
             called RUNTIME/VERSION.yaml writes one"
        )
    };
    measurement.with_context(without_version)
}

fn note_missing(place: &str, read: &Read) {
    if read.missing() > 0 {
        let (missing, cases) = (read.missing(), read.header.selected.cases);
        print::note(&format!("{place}: {missing} of {cases} cases have no result; the run did not finish"));
    }
}
