//! `export`: cases as ordinary ONNX test folders for any runner, or in one file.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::{TextRelease, Variant};
use onnx_conformance_cases::suite::{Archive, ArchiveFacts, Exporter, Filter, SUITE_VERSION, Suite};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::run::{Plan, plan};
use onnx_conformance_harness::whole_file::write_whole;

use crate::cli::suggest::note_nothing_matches;
use crate::cli::usage::Usage;
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Output folder, which must be new or empty; with --archive a new file
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Write one file for programs in other languages instead of a folder
    #[arg(long)]
    archive: bool,

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
    if arguments.archive {
        return archive(arguments, &suite, &plan, &patterns);
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

/// Writes an archive. Its profile is `all`, the selected one, or `selection` if there are other filters.
fn archive(arguments: &Arguments, suite: &Suite, plan: &Plan<'_>, patterns: &[String]) -> anyhow::Result<u8> {
    let path = &arguments.folder;
    if path.exists() {
        bail!(Usage(format!("{} exists; choose a new file", path.display())));
    }
    let mut archive = Archive::default();
    for group in plan.groups() {
        for case in plan.load(group)? {
            archive.add(&case)?;
        }
    }
    let written = archive.len();
    let text = TextRelease::newest().to_string();
    let profile = match patterns {
        [] => "all",
        [pattern] => pattern.strip_prefix('@').unwrap_or("selection"),
        _ => "selection",
    };
    let digest = suite.digest()?;
    let facts = ArchiveFacts { suite: SUITE_VERSION, digest: &digest, profile, text: &text };
    let bytes = archive.finish(&facts);
    write_whole(path, &bytes).with_context(|| path.display().to_string())?;
    print::line(&format!("wrote {written} cases to {}, {} bytes", path.display(), bytes.len()))?;
    Ok(exit::SUCCESS)
}
