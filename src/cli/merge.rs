//! `merge`: the results of several shards as one file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::cli::results::{ResultsFile, read};
use crate::cli::{exit, output};
use crate::run::Header;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The results of the shards
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Where the whole goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (mut whole, mut first): (BTreeMap<_, _>, Option<(Header, &PathBuf)>) = (BTreeMap::new(), None);
    for path in &arguments.files {
        let (header, results) = read(path)?;
        if let Some((expected, of)) = &first
            && let Some(conflict) = expected.conflict(&header)
        {
            bail!("{} and {} are not of one run: {conflict}", of.display(), path.display());
        }
        first.get_or_insert((header, path));
        for result in results {
            if let Some((_, other)) = whole.get(&result.id) {
                let other: &PathBuf = other;
                bail!(
                    "{}: {} has a result in {} already; name each shard once",
                    path.display(),
                    result.id,
                    other.display()
                );
            }
            whole.insert(result.id.clone(), (result, path.clone()));
        }
    }
    let Some((header, _)) = first else { return Ok(exit::NOTHING) };
    let header = Header { selected: whole.len(), ..header };
    let mut file = ResultsFile::create(&arguments.output, &header)?;
    for (result, _) in whole.values() {
        file.add(result)?;
    }
    output::line(&format!("{} of {} cases in {}", whole.len(), header.chosen, arguments.output.display()))?;
    if whole.len() < header.chosen {
        output::note(&format!(
            "{} cases are missing: a shard was left out, or did not come to its end",
            header.chosen - whole.len()
        ));
        return Ok(exit::REGRESSION);
    }
    Ok(exit::SUCCESS)
}
