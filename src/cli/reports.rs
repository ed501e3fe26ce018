//! Report files of a run.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use onnx_conformance_report::reporter::{BadgeReporter, JunitReporter, MarkdownReporter, Reporter};

use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::usage::{Usage, ValueError};

/// Options for report files.
#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Write a report to a file: junit=FILE for `JUnit` XML, by cause beyond 10,000 cases, junit-cases=FILE for every case,
    /// markdown=FILE for a summary for a CI job, badge=FILE for shields.io. May be given several times
    #[arg(long = "report", value_name = "FORMAT=FILE")]
    reports: Vec<ReportFile>,
}

/// A report format and its output file: `junit=junit.xml`.
#[derive(Clone, Debug)]
struct ReportFile {
    format: Format,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Junit,
    JunitCases,
    Markdown,
    Badge,
}

impl FromStr for ReportFile {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ReportFile, ValueError> {
        let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or(ValueError::Report)?;
        let format = match format {
            "junit" => Format::Junit,
            "junit-cases" => Format::JunitCases,
            "markdown" => Format::Markdown,
            "badge" => Format::Badge,
            _ => return Err(ValueError::Report),
        };
        Ok(ReportFile { format, path: path.into() })
    }
}

impl ReportOptions {
    /// Returns true if a report is given.
    pub(crate) fn are_given(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Fails if a report would replace a file that the command also reads or writes, or a file of another kind.
    pub(crate) fn check(&self, mut files: OutputFiles) -> Result<(), Usage> {
        self.reports.iter().try_for_each(|ReportFile { format, path }| {
            let kind = match format {
                Format::Junit | Format::JunitCases => Kind::Junit,
                Format::Markdown => Kind::Summary,
                Format::Badge => Kind::Badge,
            };
            files.add(path, kind)
        })
    }

    /// Returns a reporter per file.
    pub(crate) fn reporters(&self) -> impl Iterator<Item = Box<dyn Reporter>> {
        self.reports.iter().map(|ReportFile { format, path }| match format {
            Format::Junit => Box::new(JunitReporter::new(path)) as Box<dyn Reporter>,
            Format::JunitCases => Box::new(JunitReporter::of_cases(path)),
            Format::Markdown => Box::new(MarkdownReporter(path.clone())),
            Format::Badge => Box::new(BadgeReporter(path.clone())),
        })
    }
}
