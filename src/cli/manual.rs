//! `completions`: shell completion scripts and manual pages.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::whole_file::write_whole;

use crate::cli::print;

/// The name of the program.
const NAME: &str = "onnx-conformance";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell, such as bash: `onnx-conformance completions bash > ~/.local/share/bash-completion/completions/onnx-conformance`
    #[arg(value_enum, required_unless_present = "man")]
    shell: Option<Shell>,

    /// Write the manual pages of the program and its subcommands into this folder; - prints the program's page
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments, mut command: Command) -> anyhow::Result<u8> {
    if let Some(folder) = &arguments.man {
        return write_manual(folder, command);
    }
    if let Some(shell) = arguments.shell {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, NAME, &mut script);
        print::raw(&script)?;
    }
    Ok(exit::SUCCESS)
}

fn write_manual(folder: &Path, mut command: Command) -> anyhow::Result<u8> {
    command.build();
    if folder == Path::new("-") {
        print::raw(&page(command)?)?;
        return Ok(exit::SUCCESS);
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut pages = vec![(NAME.to_owned(), command.clone())];
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let name = format!("{NAME}-{}", sub.get_name());
        pages.extend(sub.get_subcommands().map(|nested| (format!("{name}-{}", nested.get_name()), nested.clone())));
        pages.push((name, sub.clone()));
    }
    for (name, command) in pages {
        let path = folder.join(format!("{name}.1"));
        write_whole(&path, &page(command)?).with_context(|| path.display().to_string())?;
    }
    print::line(&format!("wrote the manual pages of {NAME} to {}", folder.display()))?;
    Ok(exit::SUCCESS)
}

fn page(command: Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).context("the manual page cannot be created")?;
    page.flush()?;
    Ok(page)
}
