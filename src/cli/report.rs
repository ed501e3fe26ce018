//! `report`: writes the site, from the committed measurements and from results files.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnx_conformance_cases::suite::{Generated, Suite};
use onnx_conformance_harness::exit;
use onnx_conformance_report::site::{BaseUrl, Column, Extra, Step, write_site};

use crate::cli::progress::Waiting;
use crate::cli::standard_text::standard_texts;
use crate::cli::usage::Usage;
use crate::cli::{browser_module, print, results_file};

/// Number of leading bytes of a front page that identify the site.
const HEAD: u64 = 1 << 10;

/// Title of the front page.
const TITLE: &str = "<title>ONNX, measured</title>";

/// Content and output folder of the site.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Results files of `run --results`, each shown as a runtime next to the measured ones
    #[arg(value_name = "RESULTS")]
    files: Vec<PathBuf>,

    /// Also show the differences between the standard's texts of operator versions, from an installed `onnx` package
    #[arg(long)]
    text: bool,

    /// Address of the published site, such as `https://example.org/onnx/`. Adds a sitemap, a page for unknown addresses, and absolute
    /// addresses for previews of links
    #[arg(long, value_name = "URL")]
    base_url: Option<BaseUrl>,

    /// Program for browsers, with which the pages check models and run cases: `onnx_conformance_browser.wasm` of this version
    /// [default: the one that is installed with this program]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,

    /// Output folder. index.html is the front page
    #[arg(short, long, value_name = "DIR", default_value = "target/report")]
    output: PathBuf,
}

impl Arguments {
    /// Returns the program for browsers that the options name.
    pub fn named_module(&self) -> anyhow::Result<Option<Vec<u8>>> {
        self.module.as_deref().map(browser_module::read).transpose()
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let module = match arguments.named_module()? {
        Some(module) => Some(module),
        None => browser_module::installed()?,
    };
    let can_compute = module.is_some();
    let code = write(arguments, Extra { module, ..Extra::default() })?;
    if !can_compute {
        print::note(browser_module::MISSING);
    }
    Ok(code)
}

/// Fails if the folder contains files other than an earlier site.
fn check_folder(folder: &Path) -> Result<(), Usage> {
    let mut front = String::new();
    let _ = File::open(folder.join("index.html")).and_then(|file| file.take(HEAD).read_to_string(&mut front));
    let is_free = !folder.exists() || fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
    if is_free || front.contains(TITLE) {
        return Ok(());
    }
    Err(Usage(format!("{} is neither empty nor an earlier report; choose a new folder with -o", folder.display())))
}

/// Writes the site, with the optional information about the suite itself and the program for the browser.
pub fn write(arguments: &Arguments, mut extra: Extra) -> anyhow::Result<u8> {
    check_folder(&arguments.output)?;
    let waiting = Waiting::new("reading the measurements");
    if arguments.text {
        extra.texts = Some(standard_texts()?);
    }
    extra.base_url.clone_from(&arguments.base_url);
    let suite = Suite::project(None, Generated::embedded())?;
    let digest = suite.digest()?;
    let mut columns = Column::committed()?;
    for path in &arguments.files {
        columns.push(Column::from_results(&path.display().to_string(), &results_file::read(path)?, &digest));
    }
    let progress = |step: Step| waiting.show(step.work, step.items);
    let written = write_site(&arguments.output, columns, &digest, extra, &progress)?;
    drop(waiting);
    for remark in &written.remarks {
        print::note(remark);
    }
    let size = written.largest.div_ceil(1024);
    print::line(&format!("wrote {}: {} files, the largest of {size} KB", written.page.display(), written.files))?;
    Ok(exit::SUCCESS)
}
