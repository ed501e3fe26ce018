//! `report`: the page and the compatibility matrix, from results files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use crate::cli::{exit, print, results_file};
use crate::report::pages::{Measurement, write_pages};
use crate::report::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Results files, one for each runtime that the page compares
    #[arg(value_name = "RESULTS", required = true)]
    files: Vec<PathBuf>,

    /// The folder that index.html and matrix.md are written into
    #[arg(short, long, value_name = "DIR", default_value = "target/report")]
    output: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mut measurements = Vec::new();
    for path in &arguments.files {
        let read = results_file::read(path)?;
        if !read.is_complete() {
            let (missing, cases) = (read.missing(), read.header.selected.cases);
            print::note(&format!(
                "{}: {missing} of {cases} cases have no result; they count as untested",
                path.display()
            ));
        }
        measurements.push(Measurement { header: read.header, results: read.results });
    }
    let suites: BTreeSet<&str> = measurements.iter().map(|measurement| measurement.header.digest.as_str()).collect();
    if suites.len() > 1 {
        print::note("the results are of different suites: a case of one name may be another");
    }
    let written = write_pages(&arguments.output, &measurements, None)?;
    for (measurement, totals) in measurements.iter().zip(&written.totals) {
        print::line(&format!("{}\n{totals}", terminal::runtime(&measurement.header.runtime)))?;
    }
    print::line(&format!("wrote {}; matrix.md is beside it", written.page.display()))?;
    Ok(exit::SUCCESS)
}
