//! Cases as ordinary ONNX test folders with a manifest, for any runner. They can be read back as the same suite.
//!
//! `manifest.jsonl` has a line for each case: its id, its folder, the digests of its files, and data that the files
//! cannot hold, such as the rule of each output. Refusals are in `refuse/`, each with its control in `control/`.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use hmac_sha256::Hash;
use onnx_conformance_reference::proto::{decode, encode};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::case::{
    Case, DataSet, Expected, ExpectedOutput, Level, MAX_BINARY, Named, OutputEvidence, Part, Refusal, RuleRef,
    UpstreamOverride, digest, external_locations, files, open_regular, read_file, read_lines,
};
use crate::suite::releases::{hexadecimal, sha256};
use crate::suite::{CaseGroup, Source, SuiteError};

/// The name of the manifest.
pub(super) const MANIFEST: &str = "manifest.jsonl";

/// Folder name of a case whose folder is the exported folder itself.
const ALONE: &str = ".";

/// Bytes of a file that are copied at a time.
const COPIED_AT_ONCE: usize = 1 << 16;

/// The version of the manifest's format.
const FORMAT: u32 = 2;

/// The first line of a manifest.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: u32,
    tool: String,
    suite: String,
}

/// A line of a manifest, for one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    folder: String,
    level: Level,
    /// True if the case is about special values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    edge: bool,
    /// True if the model attacks the runtime.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hostile: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<OutputEvidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<UpstreamOverride>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<RuleRef>,
    data: Vec<Set>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refuse: Option<Refused>,
    /// The digest of each file, by its path in the folder.
    sha256: BTreeMap<String, String>,
}

/// A data set, as declarations of its files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    inputs: Vec<Port>,
    outputs: Vec<Output>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    name: String,
    r#type: ValueType,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    name: String,
    rule: Rule,
}

/// The rule that judges an output: an expectation with types instead of values. The values are in files named by
/// [`Part`].
type Rule = Expected<ValueType, ValueType>;

/// Returns the file name of a value, without its extension.
fn file_name(number: usize, part: Part) -> String {
    match part {
        Part::Output(0) => format!("output_{number}"),
        Part::Output(other) => format!("output_{number}_{other}"),
        Part::Bound => format!("bound_{number}"),
        Part::Law => format!("law_{number}"),
        Part::Source => format!("source_{number}"),
    }
}

/// The refusal of a negative case.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    rule: String,
    control: Box<Entry>,
    /// True if only a run shows the violation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    only_at_run_time: bool,
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SuiteError + '_ {
    |error| SuiteError::Io { path: path.to_owned(), error }
}

fn file_error(path: &Path, rule: impl Into<String>) -> SuiteError {
    SuiteError::File { path: path.to_owned(), rule: rule.into() }
}

/// Writes a case to a folder, which must be new or empty. It becomes an ordinary test folder with a manifest, so the case is
/// judged as in the suite.
pub fn export_case(folder: &Path, case: &Case) -> Result<(), SuiteError> {
    let mut exporter = Exporter::new(folder, &digest(std::slice::from_ref(case)))?;
    let entry = write_case(&exporter.temporary, ALONE, case, &BTreeMap::new())?;
    exporter.line(&entry)?;
    exporter.finish()
}

/// A folder of exported cases that is being written.
#[derive(Debug)]
pub struct Exporter {
    /// The folder where the cases are written, next to the final one, until all are complete.
    temporary: PathBuf,
    folder: PathBuf,
    manifest: std::io::BufWriter<std::fs::File>,
    folders: BTreeSet<String>,
    /// Number of cases written.
    pub written: usize,
}

impl Exporter {
    /// Starts a folder, which must be new or empty. `suite` is the digest of the sources of the cases.
    pub fn new(folder: &Path, suite: &str) -> Result<Exporter, SuiteError> {
        let is_free = !folder.exists() || std::fs::read_dir(folder).map_err(io(folder))?.next().is_none();
        if !is_free {
            return Err(file_error(folder, "is not empty; name a new folder"));
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let temporary = folder.with_file_name(format!(".{name}.export-{}", std::process::id()));
        std::fs::create_dir_all(&temporary).map_err(io(&temporary))?;
        let path = temporary.join(MANIFEST);
        let file = std::fs::File::create(&path).map_err(io(&path))?;
        let manifest = std::io::BufWriter::new(file);
        let folder = folder.to_owned();
        let mut exporter = Exporter { temporary, folder, manifest, folders: BTreeSet::new(), written: 0 };
        let tool = env!("CARGO_PKG_VERSION").to_owned();
        exporter.line(&Head { format: FORMAT, tool, suite: suite.to_owned() })?;
        Ok(exporter)
    }

    /// Writes a case. Files in `original` replace its own, such as those of its release.
    pub fn add(&mut self, case: &Case, original: &BTreeMap<String, Bytes>) -> Result<(), SuiteError> {
        let base = safe(&case.id);
        let base = if case.refusal.is_some() { format!("refuse/{base}") } else { base };
        let mut folder = base.clone();
        let mut number = 1;
        // Two ids may give the same folder name on a file system with fewer characters. The manifest distinguishes
        // them.
        while !self.folders.insert(folder.to_lowercase()) {
            number += 1;
            folder = format!("{base}~{number}");
        }
        let entry = write_case(&self.temporary, &folder, case, original)?;
        self.written += 1;
        self.line(&entry)
    }

    fn line<T: Serialize>(&mut self, value: &T) -> Result<(), SuiteError> {
        let path = self.temporary.join(MANIFEST);
        let text = serde_json::to_string(value).map_err(|error| file_error(&path, error.to_string()))?;
        writeln!(self.manifest, "{text}").map_err(io(&path))
    }

    /// Moves the finished folder to its place.
    pub fn finish(mut self) -> Result<(), SuiteError> {
        self.manifest.flush().map_err(io(&self.temporary))?;
        if self.folder.exists() {
            std::fs::remove_dir(&self.folder).map_err(io(&self.folder))?;
        }
        std::fs::rename(&self.temporary, &self.folder).map_err(io(&self.folder))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // After `finish` it is already gone. After an error, no partial files remain.
        let _ = std::fs::remove_dir_all(&self.temporary);
    }
}

/// Converts an id to a path that every file system accepts.
fn safe(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_./=,+@".contains(c) { c } else { '_' }).collect()
}

fn write_case(root: &Path, folder: &str, case: &Case, original: &BTreeMap<String, Bytes>) -> Result<Entry, SuiteError> {
    let home = root.join(folder);
    let mut contents = files(case);
    contents.extend(more_files(case));
    contents.retain(|(name, _)| !original.contains_key(name));
    contents.extend(original.iter().map(|(name, bytes)| (name.clone(), bytes.to_vec())));
    let mut digests = BTreeMap::new();
    for (name, bytes) in contents {
        let path = home.join(&name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(io(parent))?;
        }
        std::fs::write(&path, &bytes).map_err(io(&path))?;
        digests.insert(name, sha256(&bytes));
    }
    for (name, path) in external(case)? {
        if !original.contains_key(&name) {
            let digest = copy(&path, &home.join(&name))?;
            digests.insert(name, digest);
        }
    }
    let refuse = match &case.refusal {
        None => None,
        Some(Refusal { rule, control, only_at_run_time }) => {
            let control = write_case(root, &format!("{folder}/control"), control, &BTreeMap::new())?;
            Some(Refused { rule: rule.clone(), control: Box::new(control), only_at_run_time: *only_at_run_time })
        }
    };
    let data = case.data.iter().map(|data| Set {
        inputs: data
            .inputs
            .iter()
            .map(|input| Port { name: input.name.clone(), r#type: input.value.value_type() })
            .collect(),
        outputs: data
            .outputs
            .iter()
            .map(|output| Output { name: output.name.clone(), rule: rule(&output.expected) })
            .collect(),
    });
    let (level, judged) = level_of_files(case, original);
    Ok(Entry {
        id: case.id.clone(),
        folder: folder.to_owned(),
        level,
        edge: case.is_edge,
        hostile: case.is_hostile,
        evidence: case.evidence.clone(),
        judged,
        rule: case.rule.clone(),
        data: data.collect(),
        refuse,
        sha256: digests,
    })
}

/// Returns the level and the rule for the written files. The original files of a release contain values that a later
/// release fixed, and no correct runtime returns them.
fn level_of_files(case: &Case, original: &BTreeMap<String, Bytes>) -> (Level, Option<UpstreamOverride>) {
    match case.judged {
        Some(UpstreamOverride::Mended | UpstreamOverride::Restored) if !original.is_empty() => {
            (Level::Open, Some(UpstreamOverride::Defective))
        }
        judged => (case.level, judged),
    }
}

/// Returns the values without a file in an ordinary test folder: further allowed values, and inputs of dropouts.
fn more_files(case: &Case) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (set, data) in case.data.iter().enumerate() {
        for (number, output) in data.outputs.iter().enumerate() {
            for (part, value) in output.expected.parts() {
                if !matches!(part, Part::Output(0) | Part::Bound) {
                    let name = format!("test_data_set_{set}/{}.pb", file_name(number, part));
                    files.push((name, encode::value(&value, &output.name)));
                }
            }
        }
    }
    files
}

/// Copies a file of at most 2 GiB, a block at a time, and returns its hash. A sparse file may be larger than any disk.
fn copy(from: &Path, to: &Path) -> Result<String, SuiteError> {
    let (source, size) = open_regular(from).map_err(io(from))?;
    if size > MAX_BINARY {
        return Err(file_error(from, format!("is larger than the limit of {MAX_BINARY} bytes")));
    }
    // The file may grow meanwhile.
    let mut source = source.take(MAX_BINARY);
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent).map_err(io(parent))?;
    let mut target = std::fs::File::create(to).map_err(io(to))?;
    let (mut digest, mut block) = (Hash::new(), vec![0; COPIED_AT_ONCE]);
    loop {
        let read = source.read(&mut block).map_err(io(from))?;
        let part = block.get(..read).unwrap_or_default();
        if part.is_empty() {
            return Ok(hexadecimal(&digest.finalize()));
        }
        digest.update(part);
        target.write_all(part).map_err(io(to))?;
    }
}

/// Returns the model's external data files, by location, if they exist and are within its folder.
pub(super) fn external(case: &Case) -> Result<Vec<(String, PathBuf)>, SuiteError> {
    let (Some(home), Ok(model)) = (&case.folder, decode::model(case.model.clone())) else { return Ok(Vec::new()) };
    let top = home.canonicalize().map_err(io(home))?;
    let mut files = Vec::new();
    for name in external_locations(&model) {
        let is_plain =
            Path::new(&name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let path = home.join(&name);
        if is_plain && path.is_file() && path.canonicalize().is_ok_and(|path| path.starts_with(&top)) {
            files.push((name, path));
        }
    }
    Ok(files)
}

fn rule(expected: &Expected) -> Rule {
    let value = |_, value: &Value| Ok::<_, Infallible>(value.value_type());
    let Ok(rule) = expected.try_map(value, |_, tensor| Ok(ValueType::Tensor(tensor.element_type())));
    rule
}

/// A folder written by an [`Exporter`].
#[derive(Debug)]
pub struct Exported {
    root: PathBuf,
    suite: String,
    entries: BTreeMap<String, Entry>,
    /// Largest total size in bytes of the files of a case.
    memory: Option<u64>,
}

impl Exported {
    /// Reads the manifest of a folder.
    pub fn open(root: &Path) -> Result<Exported, SuiteError> {
        let path = root.join(MANIFEST);
        let mut lines = read_lines(&path).map_err(io(&path))?.enumerate();
        let at = |number: usize| path.with_file_name(format!("{MANIFEST}:{}", number + 1));
        let (_, first) = lines.next().ok_or_else(|| file_error(&path, "is empty; export the cases again"))?;
        let first = first.map_err(io(&path))?;
        let head: Head = serde_json::from_str(&first).map_err(|error| file_error(&at(0), error.to_string()))?;
        if head.format != FORMAT {
            return Err(file_error(
                &path,
                format!("has format {}, but this program reads format {FORMAT}", head.format),
            ));
        }
        let mut entries = BTreeMap::new();
        for (number, line) in lines {
            let line = line.map_err(io(&at(number)))?;
            let entry: Entry =
                serde_json::from_str(&line).map_err(|error| file_error(&at(number), error.to_string()))?;
            if let Some(duplicate) = entries.insert(entry.id.clone(), entry) {
                return Err(file_error(&at(number), format!("duplicate case {}", duplicate.id)));
            }
        }
        Ok(Exported { root: root.to_owned(), suite: head.suite, entries, memory: None })
    }

    /// Reads the manifest of a folder below another. The ids of its cases are prefixed with the path of the folder, and
    /// are the path alone if the folder is the case itself.
    pub fn open_below(top: &Path, root: &Path) -> Result<Exported, SuiteError> {
        let mut exported = Exported::open(root)?;
        let path = root.strip_prefix(top).unwrap_or(root).to_string_lossy().replace('\\', "/");
        let rename = |mut entry: Entry| {
            entry.id = if entry.folder == ALONE { path.clone() } else { format!("{path}/{}", entry.id) };
            (entry.id.clone(), entry)
        };
        exported.entries = exported.entries.into_values().map(rename).collect();
        Ok(exported)
    }

    fn read(&self, entry: &Entry) -> Result<Case, SuiteError> {
        if entry.folder.split('/').any(|part| part == "..") || Path::new(&entry.folder).is_absolute() {
            return Err(file_error(
                &self.root.join(MANIFEST),
                format!("{}: the folder is outside the suite", entry.id),
            ));
        }
        let home = self.root.join(&entry.folder);
        let is_read = |name: &&String| *name == "model.onnx" || name.starts_with("test_data_set_");
        let files = entry.sha256.keys().filter(is_read).map(|name| home.join(name));
        let case = || Case { level: entry.level, is_edge: entry.edge, ..Case::without_data(&entry.id) };
        SuiteError::check_size(self.memory, files, case)?;
        let file = |name: &str| -> Result<Bytes, SuiteError> {
            let path = home.join(name);
            let expected = entry.sha256.get(name).ok_or_else(|| file_error(&path, "is not in the manifest"))?;
            let bytes = read_file(&path, MAX_BINARY).map_err(io(&path))?;
            if sha256(&bytes) != *expected {
                return Err(file_error(
                    &path,
                    format!(
                        "was changed after the export: its sha256 differs; export the case again, or remove {MANIFEST}"
                    ),
                ));
            }
            Ok(bytes.into())
        };
        let data_set = |(set, ports)| {
            data_set(&home.join(format!("test_data_set_{set}")), ports, |name| {
                file(&format!("test_data_set_{set}/{name}"))
            })
        };
        let data = entry.data.iter().enumerate().map(data_set).collect::<Result<_, _>>()?;
        let refusal = |Refused { rule, control, only_at_run_time }: &Refused| {
            let control = Box::new(self.read(control)?);
            Ok::<_, SuiteError>(Refusal { rule: rule.clone(), control, only_at_run_time: *only_at_run_time })
        };
        let refusal = entry.refuse.as_ref().map(refusal).transpose()?;
        let has_more = entry.sha256.keys().any(|name| name != "model.onnx" && !name.starts_with("test_data_set_"));
        let model = file("model.onnx")?;
        Ok(Case {
            folder: has_more.then_some(home),
            refusal,
            level: entry.level,
            is_edge: entry.edge,
            is_hostile: entry.hostile,
            evidence: entry.evidence.clone(),
            judged: entry.judged,
            rule: entry.rule.clone(),
            ..Case::new(entry.id.clone(), model, data)
        })
    }
}

/// Reads a data set from its folder, whose files `file` reads.
fn data_set(
    folder: &Path,
    ports: &Set,
    file: impl Fn(&str) -> Result<Bytes, SuiteError>,
) -> Result<DataSet, SuiteError> {
    let value = |name: &str, declared: &ValueType| -> Result<Value, SuiteError> {
        let name = format!("{name}.pb");
        decode::value(file(&name)?, declared).map_err(|error| file_error(&folder.join(&name), error.to_string()))
    };
    let inputs = ports.inputs.iter().enumerate().map(|(number, port)| {
        let value = value(&format!("input_{number}"), &port.r#type)?;
        Ok(Named { name: port.name.clone(), value })
    });
    let outputs = ports.outputs.iter().enumerate().map(|(number, output)| {
        let stored = |part: Part, declared: &ValueType| value(&file_name(number, part), declared);
        let tensor = |part: Part, declared: &ValueType| match stored(part, declared)? {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(file_error(folder, format!("{} contains {declared}, not a tensor", file_name(number, part)))),
        };
        Ok(ExpectedOutput { name: output.name.clone(), expected: output.rule.try_map(stored, tensor)? })
    });
    Ok(DataSet {
        inputs: inputs.collect::<Result<_, SuiteError>>()?,
        outputs: outputs.collect::<Result<_, SuiteError>>()?,
    })
}

impl Source for Exported {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(self.entries.keys().map(|id| CaseGroup { name: id.clone() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(self.entries.contains_key(name).then(|| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(vec![group.name.clone()])
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(self.suite.clone())
    }

    fn limit(&mut self, memory: u64) {
        self.memory = Some(memory);
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let entry = self.entries.get(&group.name).filter(|_| wanted(&group.name));
        entry.map(|entry| self.read(entry)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
