//! `cargo xtask import-specs`: imports the version files, releases.yaml, texts.yaml and the texts from the onnx package, and
//! checks the committed files against it.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_reference::spec::diff::compare;
use onnx_conformance_reference::spec::{OpSpec, Release, Releases, TextFacts, Texts, yaml};
use serde::Deserialize;
use walkdir::WalkDir;

use crate::texts::changes::compare as compare_texts;
use crate::texts::{history, package, rules, standard};
use crate::vendor::Package;
use crate::workspace::NEXT;
use crate::{emit, python, vendor, workspace};

/// Environment of the package that the committed files are from.
const ENVIRONMENT: &str = "import-specs";
const SCRIPT: &str = include_str!("import_specs.py");
const RELEASES: &str = "releases.yaml";
const TEXTS: &str = "texts.yaml";

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Compare the committed files with the package, field by field, and write nothing.
    #[arg(long)]
    check: bool,
    /// Write or check specs/texts/history.txt instead: the changes of texts over all releases, read from their packages.
    #[arg(long)]
    history: bool,
    /// Print the changes of texts in a wheel, such as a development build, and write nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "history"])]
    wheel: Option<PathBuf>,
}

/// Contents of a package: version files, releases.yaml, texts.yaml and onnx.proto.
#[derive(Deserialize)]
pub(crate) struct Dump {
    pub(crate) schemas: Vec<OpSpec>,
    /// Rows of the package's own table of releases.
    table: Vec<Release>,
    /// IR version and opsets of the package itself. It is named for the version of the package.
    own: Release,
    pub(crate) texts: BTreeMap<String, TextFacts>,
    proto: String,
    /// Texts by sentence, which another script reads.
    #[serde(skip)]
    pub(crate) sentences: standard::Texts,
    /// The releases up to that of the package.
    #[serde(skip)]
    pub(crate) releases: Releases,
    /// Remarks about the package.
    #[serde(skip)]
    pub(crate) notes: Vec<String>,
    /// Requirement of the package.
    #[serde(skip)]
    requirement: String,
}

impl Dump {
    /// Reads a package, which is installed in an environment of the given name.
    pub(crate) fn read(package: &Package, environment: &str) -> Result<Dump> {
        let requirement = package.requirement();
        let python = python::environment(environment, &[&requirement])?;
        let mut dump: Dump =
            serde_json::from_slice(&python::run(&python, SCRIPT, &[])?).context("the script's output")?;
        dump.sentences = package::installed(&python)?;
        standard::add_proto(&mut dump.sentences, &dump.proto);
        let committed = yaml::read::<Releases>("specs/releases.yaml", &fs::read_to_string(specs().join(RELEASES))?)?;
        let own = Release { onnx: package.release.clone(), ..dump.own.clone() };
        (dump.releases, dump.notes) = table::releases(&dump.table, &own, &committed, &requirement)?;
        dump.requirement = requirement;
        Ok(dump)
    }

    /// Returns the files other than version files, by their paths below specs/.
    fn whole_files(&self) -> BTreeMap<String, String> {
        let texts = Texts { texts: self.texts.clone() };
        BTreeMap::from([
            (RELEASES.to_owned(), emit::releases_file(&self.releases)),
            (TEXTS.to_owned(), emit::texts_file(&texts)),
            (standard::PATH.to_owned(), standard::file(&self.requirement, &self.sentences)),
        ])
    }
}

/// Returns the interpreter of the environment with the `onnx` package, which is created if it is missing.
pub(crate) fn environment() -> Result<PathBuf> {
    python::environment(ENVIRONMENT, &[&vendor::newest()?.requirement()])
}

/// Returns the folder of the specs.
fn specs() -> PathBuf {
    workspace::root().join("specs")
}

/// Writes the files, or checks them.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.history {
        return history::run(arguments.check);
    }
    if let Some(wheel) = &arguments.wheel {
        print_changes(&standard::committed()?, &package::of_wheel(wheel)?);
        return Ok(());
    }
    let dump = Dump::read(&vendor::newest()?, ENVIRONMENT)?;
    dump.notes.iter().for_each(|note| anstream::println!("note: {note}"));
    // Without committed texts that can be read, there is nothing to compare.
    if let (false, Ok(old)) = (arguments.check, standard::committed()) {
        print_changes(&old, &dump.sentences);
    }
    let found = if arguments.check { check(&dump, &committed()?) } else { write(&dump)? };
    for line in &found {
        anstream::println!("{line}");
    }
    let (files, what) = (dump.schemas.len() + dump.whole_files().len(), &dump.requirement);
    if !found.is_empty() && arguments.check {
        bail!("specs/ differs from {what} in {} places; run `cargo xtask import-specs`", found.len());
    }
    anstream::println!("{files} files in specs/ are equal to {what}");
    Ok(())
}

/// Prints the sentences that change under a fixed version number, with the rules and cases that test them.
fn print_changes(old: &standard::Texts, new: &standard::Texts) {
    let changes = compare_texts(old, new);
    let catalog = OperatorCatalog::embedded();
    for change in &changes {
        anstream::print!("{change}");
        for line in rules::about(&catalog, change) {
            anstream::println!("= {line}");
        }
    }
    let versions: BTreeSet<&str> =
        changes.iter().flat_map(|change| &change.places).filter_map(|(place, _)| standard::version(place)).collect();
    anstream::println!("texts of {} operator versions changed under a fixed number", versions.len());
}

/// Reads the files under specs/ that the task writes, by their paths below it.
fn committed() -> Result<BTreeMap<String, String>> {
    let root = specs();
    let mut files = BTreeMap::new();
    // Those of the next release are of another package.
    let is_released = |entry: &walkdir::DirEntry| entry.path() != root.join(NEXT);
    for entry in WalkDir::new(&root).into_iter().filter_entry(is_released) {
        let entry = entry?;
        let path = entry.path().strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        let stem = path.rsplit('/').next().and_then(|name| name.strip_suffix(".yaml"));
        let is_version = stem.is_some_and(|stem| stem.starts_with(|c: char| c.is_ascii_digit()));
        if entry.file_type().is_file() && (is_version || [RELEASES, TEXTS, standard::PATH].contains(&path.as_str())) {
            files.insert(path, fs::read_to_string(entry.path())?);
        }
    }
    Ok(files)
}

fn path_of(spec: &OpSpec) -> String {
    format!("{}/{}/{}.yaml", spec.version.domain, spec.version.name, spec.version.since)
}

/// Writes every changed file and removes files of unknown versions. Returns a list of its actions.
pub(crate) fn write(dump: &Dump) -> Result<Vec<String>> {
    let (root, committed) = (specs(), committed()?);
    let mut files = dump.whole_files();
    for schema in &dump.schemas {
        files.insert(path_of(schema), emit::version_file(schema));
    }
    let mut done = Vec::new();
    for (path, text) in &files {
        if committed.get(path) != Some(text) {
            write_file(&root.join(path), text)?;
            done.push(format!("wrote specs/{path}"));
        }
    }
    for path in committed.keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(root.join(path)).with_context(|| format!("cannot remove specs/{path}"))?;
        done.push(format!("removed specs/{path}, which is not an operator version"));
    }
    Ok(done)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns every difference between the committed files and the package.
fn check(dump: &Dump, committed: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut extra: BTreeMap<&str, &str> = committed.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    for schema in &dump.schemas {
        let path = path_of(schema);
        let differences = match extra.remove(path.as_str()) {
            Some(text) => differences(schema, &path, text),
            None => vec!["the file is missing".to_owned()],
        };
        found.extend(differences.into_iter().map(|difference| format!("specs/{path}: {difference}")));
    }
    for (path, text) in dump.whole_files() {
        if extra.remove(path.as_str()) != Some(text.as_str()) {
            found.push(format!("specs/{path}: differs from the package"));
        }
    }
    found.extend(extra.keys().map(|path| format!("specs/{path}: {} has no such operator version", dump.requirement)));
    found
}

/// Returns the differences of a committed file from the package: by field, or else in formatting.
fn differences(schema: &OpSpec, path: &str, text: &str) -> Vec<String> {
    let committed: OpSpec = match yaml::read(&format!("specs/{path}"), text) {
        Ok(committed) => committed,
        Err(error) => return vec![error.to_string()],
    };
    if committed == *schema {
        let written = emit::version_file(&committed) == text;
        return if written { Vec::new() } else { vec!["the file differs from the output of import-specs".to_owned()] };
    }
    let mut fields: Vec<String> = compare(&committed, schema).iter().map(ToString::to_string).collect();
    if committed.version != schema.version {
        fields.push(format!("it describes {}", committed.version.qualified()));
    }
    if fields.is_empty() {
        fields.push("the formal parameters differ".to_owned());
    }
    fields
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::spec::{Specs, VersionFacts, embedded};

    use super::*;

    #[test]
    fn the_committed_files_are_written_as_this_task_writes_them() {
        let specs = Specs::embedded();
        for version in specs.all() {
            let text = emit::version_file(specs.get(&version).unwrap());
            assert_eq!(specs.text(&version), Some(text.as_str()), "{}", version.qualified());
        }
        let releases = emit::releases_file(specs.releases().unwrap());
        assert_eq!(embedded::file(RELEASES), Some(releases.as_str()));
        let texts = emit::texts_file(&Texts::read(specs).unwrap());
        assert_eq!(embedded::file(TEXTS), Some(texts.as_str()));
    }

    #[test]
    fn a_difference_names_the_field() {
        let specs = Specs::embedded();
        // op.yaml has the changes and the facts.
        let schema = &OpSpec {
            changes: Vec::new(),
            facts: VersionFacts::default(),
            ..specs.find("", "Shape", 15).unwrap().clone()
        };
        let text = emit::version_file(schema).replace("default: 0", "default: 1").replace("    - tensor(int8)\n", "");
        let found = differences(schema, "ai.onnx/Shape/15.yaml", &text);
        assert_eq!(found, ["attribute start has default 0 instead of default 1", "tensor(int8) added to T"]);
        assert_eq!(differences(schema, "ai.onnx/Shape/15.yaml", &emit::version_file(schema)), Vec::<String>::new());
    }
}
