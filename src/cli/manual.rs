//! `completions` and `man`: shell completion scripts and manual pages.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::whole_file::write_whole;

use crate::cli::print;

/// The name of the program.
const NAME: &str = "onnx-conformance";

#[derive(Debug, Args)]
pub(crate) struct CompletionArguments {
    /// The shell, such as bash: `onnx-conformance completions bash > ~/.local/share/bash-completion/completions/onnx-conformance`
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write the pages of the program and its subcommands into this folder, instead of printing the program's page
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &CompletionArguments, mut command: Command) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, NAME, &mut script);
    print::raw(&script)?;
    Ok(exit::SUCCESS)
}

pub(crate) fn man(arguments: &ManArguments, mut command: Command) -> anyhow::Result<u8> {
    command.build();
    let Some(folder) = &arguments.output else {
        print::raw(&page(command)?)?;
        return Ok(exit::SUCCESS);
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
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
