//! External data of a converted model that is written to a different folder, or that moves into the model's file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::ValueEnum;
use onnx_conformance_check::convert::{PlacedEdit, inline_external};
use onnx_conformance_harness::whole_file::WholeFile;
use onnx_conformance_reference::proto::decode::external_data;
use onnx_conformance_subject::FolderData;
use onnx_conformance_subject::unique::create_unique;

use crate::cli::limits::Allowance;
use crate::cli::usage::Usage;
use crate::cli::verify::folder_of;

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
    /// Number of files whose data moves into the model.
    inlined: usize,
}

impl DataFiles {
    /// Describes a model that gets the data of this many files.
    pub(crate) fn inlined(count: usize) -> DataFiles {
        DataFiles { inlined: count, ..DataFiles::default() }
    }

    /// Plans the data files of a model in folder `from` for the new model `output`. An existing file is replaced only with `force`.
    pub(crate) fn plan(
        external: External,
        locations: &BTreeSet<String>,
        (from, output): (&Path, &Path),
        force: bool,
    ) -> anyhow::Result<DataFiles> {
        let to = folder_of(output);
        let mut plan = DataFiles { is_linked: external == External::Link, ..DataFiles::default() };
        for location in locations {
            let is_inside = !location.is_empty()
                && Path::new(location).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let (old, new) = (from.join(location), to.join(location));
            if !is_inside || !old.is_file() {
                bail!("external data '{location}' is not a file in the folder of the model, so it cannot be copied");
            }
            if output.file_name().is_some_and(|name| to.join(name) == new) {
                let shown = output.display();
                bail!(Usage(format!(
                    "{shown} is the place of the model's external data '{location}'; choose another file"
                )));
            }
            if plan.is_in_place(&old, &new) {
                continue;
            }
            let shown = new.display();
            if new.exists() && !new.is_file() {
                bail!(Usage(format!("{shown} is not a regular file; choose another folder")));
            }
            if new.exists() && !force {
                bail!(Usage(format!("{shown} already exists; choose another folder, or overwrite it with --force")));
            }
            plan.files.push((old, new));
        }
        Ok(plan)
    }

    /// Returns true if a data file needs no action. A hard link to the original is not a copy of it.
    fn is_in_place(&self, old: &Path, new: &Path) -> bool {
        if self.is_linked {
            return same_file::is_same_file(old, new).unwrap_or(false);
        }
        old.canonicalize().is_ok_and(|old| new.canonicalize().is_ok_and(|new| old == new))
    }

    /// Describes the files.
    pub(crate) fn edit(&self) -> Option<PlacedEdit> {
        let files =
            |count: usize| if count == 1 { "1 data file is".to_owned() } else { format!("{count} data files are") };
        let text = match (self.inlined, self.files.len()) {
            (0, 0) => return None,
            (0, count) => format!("{} {}", files(count), if self.is_linked { "linked" } else { "copied" }),
            (1, _) => "the data of 1 file moves into the model".to_owned(),
            (count, _) => format!("the data of {count} files moves into the model"),
        };
        Some(PlacedEdit { place: "model".to_owned(), text })
    }

    /// Creates the folder of the new model if there are files.
    pub(crate) fn create_folder(&self, output: &Path) -> anyhow::Result<CreatedFiles> {
        let mut created = CreatedFiles::default();
        if !self.files.is_empty() {
            created.create_folder(folder_of(output))?;
        }
        Ok(created)
    }

    /// Creates the files, and adds them to those created so far.
    pub(crate) fn create(&self, created: &mut CreatedFiles) -> anyhow::Result<()> {
        for (old, new) in &self.files {
            created.create_folder(folder_of(new))?;
            let is_new = !new.exists();
            self.create_one(old, new).with_context(|| new.display().to_string())?;
            if is_new {
                created.paths.push(new.clone());
            }
        }
        Ok(())
    }

    fn create_one(&self, old: &Path, new: &Path) -> anyhow::Result<()> {
        if self.is_linked {
            // A hard link to a symbolic link would be another symbolic link, whose target depends on its folder.
            let target = old.canonicalize()?;
            // A link cannot replace a file, but a rename can.
            let (temporary, ()) = create_unique(folder_of(new), ".link.", |path| fs::hard_link(&target, path))
                .context("cannot create a hard link; --external copy copies the data")?;
            return fs::rename(&temporary, new).inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(Into::into);
        }
        let mut file = WholeFile::beside(new)?;
        io::copy(&mut File::open(old)?, &mut file)?;
        file.put()?;
        Ok(())
    }
}

/// New files and folders, which are removed unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct CreatedFiles {
    paths: Vec<PathBuf>,
    /// The folders, each before those in it.
    folders: Vec<PathBuf>,
}

impl CreatedFiles {
    /// Creates a folder and those around it that do not exist.
    fn create_folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let missing = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        missing.reverse();
        self.folders.extend(missing);
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))
    }

    /// Retains the files: the model that refers to them is written.
    pub(crate) fn retain(mut self) {
        self.paths.clear();
        self.folders.clear();
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            // There is no remedy if it fails.
            let _ = fs::remove_file(path);
        }
        for folder in self.folders.iter().rev() {
            // A folder with other files stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Moves the external data of a model into its file.
pub(crate) fn inline(file: Bytes, folder: &Path, allowance: Allowance) -> anyhow::Result<Bytes> {
    let data = FolderData::new(Some(folder), allowance.deadline());
    let read = |tensor: &_| external_data(tensor, &data).map_err(|error| error.to_string());
    Ok(inline_external(&file, &read)?.map_or(file, Bytes::from))
}
