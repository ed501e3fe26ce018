//! External data of a converted model that is written to a different folder, or that moves into the model's file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::ValueEnum;
use onnx_conformance_check::convert::inline_external;
use onnx_conformance_harness::whole_file::WholeFile;
use onnx_conformance_reference::proto::decode::external_data;
use onnx_conformance_subject::FolderData;
use onnx_conformance_subject::unique::create_unique;

use crate::cli::limits::Allowance;
use crate::cli::usage::Usage;

/// Treatment of external data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum External {
    /// Copy the data files to the folder of FILE
    Copy,
    /// Create hard links to the data files in the folder of FILE
    Link,
    /// Move the data into FILE, which may then have at most 2 GiB
    Inline,
}

/// Data files to create beside a model.
#[derive(Debug, Default)]
pub(crate) struct DataFiles {
    /// The original and the new path of each file.
    files: Vec<(PathBuf, PathBuf)>,
    is_linked: bool,
}

impl DataFiles {
    /// Plans the data files of a model in folder `from` for its copy in folder `to`. An existing file is replaced only with
    /// `force`.
    pub(crate) fn plan(
        external: External,
        locations: &BTreeSet<String>,
        (from, to): (&Path, &Path),
        force: bool,
    ) -> anyhow::Result<DataFiles> {
        let mut plan = DataFiles { files: Vec::new(), is_linked: external == External::Link };
        for location in locations {
            let is_inside = !location.is_empty()
                && Path::new(location).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let (old, new) = (from.join(location), to.join(location));
            if !is_inside || !old.is_file() {
                bail!("external data '{location}' is not a file in the folder of the model, so it cannot be copied");
            }
            if new.exists() && same_file::is_same_file(&old, &new).unwrap_or(false) {
                continue;
            }
            if new.exists() && !(force && new.is_file()) {
                let shown = new.display();
                bail!(Usage(format!("{shown} already exists; choose another folder, or overwrite it with --force")));
            }
            plan.files.push((old, new));
        }
        Ok(plan)
    }

    /// Creates the files. If one cannot be created, those that did not exist before are removed.
    pub(crate) fn create(&self) -> anyhow::Result<CreatedFiles> {
        let mut created = CreatedFiles { paths: Vec::new() };
        for (old, new) in &self.files {
            let is_new = !new.exists();
            self.create_one(old, new).with_context(|| new.display().to_string())?;
            if is_new {
                created.paths.push(new.clone());
            }
        }
        Ok(created)
    }

    fn create_one(&self, old: &Path, new: &Path) -> anyhow::Result<()> {
        let folder = new.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if self.is_linked {
            // A link cannot replace a file, but a rename can.
            let (temporary, ()) = create_unique(folder, ".link.", |path| fs::hard_link(old, path))
                .context("cannot create a hard link; --external copy copies the data")?;
            return fs::rename(&temporary, new).inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(Into::into);
        }
        let mut file = WholeFile::beside(new)?;
        io::copy(&mut File::open(old)?, &mut file)?;
        file.put()?;
        Ok(())
    }
}

/// New files, which are removed unless they are kept.
#[derive(Debug)]
pub(crate) struct CreatedFiles {
    paths: Vec<PathBuf>,
}

impl CreatedFiles {
    /// Retains the files: the model that refers to them is written.
    pub(crate) fn retain(mut self) {
        self.paths.clear();
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            // There is no remedy if it fails.
            let _ = fs::remove_file(path);
        }
    }
}

/// Moves the external data of a model into its file.
pub(crate) fn inline(file: Bytes, folder: &Path, allowance: Allowance) -> anyhow::Result<Bytes> {
    let data = FolderData::new(Some(folder), allowance.deadline());
    let read = |tensor: &_| external_data(tensor, &data).map_err(|error| error.to_string());
    Ok(inline_external(&file, &read)?.map_or(file, Bytes::from))
}
