//! Nodes written as separate models.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onnx_conformance_cases::suite::sha256;
use onnx_conformance_check::finding::{Finding, PathStep, Place};
use onnx_conformance_check::infer::NodeId;
use onnx_conformance_check::rules::Level;
use onnx_conformance_harness::measure::NodeVerdict;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_reference::proto::Message as _;
use serde::Serialize;

use crate::models::runtimes::RuntimeReport;
use crate::models::single_node::{Origin, SingleNodeError};

/// Maximum length of the name of a model, function or subgraph in a file name.
const MAX_NAME: usize = 80;

/// Maximum length of the place of a node in a file name.
const MAX_PLACE: usize = 120;

/// Maximum total size of all files. Each node that reads a weight has its own copy.
const MAX_TOTAL: u64 = 512 << 20;

/// The nodes to write, and the destination.
#[derive(Clone, Debug)]
pub struct Saving {
    folder: PathBuf,
    nodes: Vec<String>,
    is_single: bool,
    /// Number of bytes that may still be written.
    left: Arc<AtomicU64>,
}

/// Reason why a node is not written.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    /// The node cannot be extracted.
    #[error(transparent)]
    Node(#[from] SingleNodeError),
    /// All files together exceed the limit.
    #[error("all files together would exceed the limit of {MAX_TOTAL} bytes; select this node alone with --node")]
    OverLimit,
}

/// A node that was requested.
#[derive(Clone, Debug, Serialize)]
pub struct SavedNode {
    /// The node, as named in findings.
    pub node: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Reason why there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// True if writing the file failed.
    #[serde(skip)]
    pub has_failed: bool,
    /// The requested names that matched it.
    #[serde(skip)]
    pub asked: Vec<String>,
}

impl SavedNode {
    /// Creates the entry of a node that is not written yet.
    fn at(place: &Place) -> SavedNode {
        SavedNode { node: place.to_string(), file: None, why: None, has_failed: false, asked: Vec::new() }
    }
}

/// Files that were written for a model, with their names in the report.
#[derive(Debug, Default)]
struct NewFiles(BTreeMap<String, PathBuf>);

impl NewFiles {
    /// Removes the files, and records that in the entries of their nodes and of the nodes that were not written.
    fn remove(&self, nodes: &mut [SavedNode]) {
        for path in self.0.values() {
            // There is no remedy if it fails.
            let _ = std::fs::remove_file(path);
        }
        let is_gone = |node: &&mut SavedNode| match &node.file {
            Some(file) => self.0.contains_key(file),
            None => node.why.is_none(),
        };
        for node in nodes.iter_mut().filter(is_gone) {
            node.file = None;
            node.why = Some("not written, since the file of another node cannot be written".to_owned());
        }
    }
}

impl Saving {
    /// Writes below a folder, which is created. `nodes` has names, positions in the main graph or outputs of nodes, or `all`. If
    /// it is empty, the conspicuous nodes are written. For a single model, file names begin with the model's name without its
    /// folder.
    pub fn new(folder: PathBuf, nodes: Vec<String>, is_single: bool) -> Saving {
        Saving { folder, nodes, is_single, left: Arc::new(AtomicU64::new(MAX_TOTAL)) }
    }

    /// Writes the named nodes of a model, or else the conspicuous ones: with a problem on a runtime, or with a finding if no
    /// runtime is requested. If a file cannot be written, no new file of the model stays.
    pub(super) fn save(
        &self,
        file: &Path,
        origin: &Origin<'_>,
        findings: &[Finding],
        runtimes: &[RuntimeReport],
    ) -> Vec<SavedNode> {
        let ids: Vec<(NodeId, Vec<String>)> = if !self.nodes.is_empty() {
            named(origin, &self.nodes)
        } else if runtimes.is_empty() {
            with_findings(origin, findings).into_iter().map(|id| (id, Vec::new())).collect()
        } else {
            nodes_at_risk(runtimes).into_iter().map(|id| (id, Vec::new())).collect()
        };
        let (mut nodes, mut new, mut has_failed) = (Vec::new(), NewFiles::default(), false);
        for (id, asked) in ids {
            let node = if has_failed {
                SavedNode::at(&origin.inferred.bodies.place_of(id))
            } else {
                self.save_node(file, origin, id, &mut new)
            };
            has_failed |= node.has_failed;
            nodes.push(SavedNode { asked, ..node });
        }
        if has_failed {
            new.remove(&mut nodes);
        }
        nodes
    }

    fn save_node(&self, file: &Path, origin: &Origin<'_>, id: NodeId, new: &mut NewFiles) -> SavedNode {
        let place = origin.inferred.bodies.place_of(id);
        let mut saved = SavedNode::at(&place);
        let encoded = if self.left.load(Ordering::Relaxed) > 0 {
            origin.single_node(id).map_err(SaveError::from).and_then(|model| self.counted(model.encode_to_vec()))
        } else {
            Err(SaveError::OverLimit)
        };
        match encoded {
            Ok(bytes) => {
                let path = self.folder.join(format!("{}.{}.onnx", self.prefix(file), file_part(&place)));
                match write_new(&path, &bytes) {
                    Ok(is_new) => {
                        let name = path.display().to_string();
                        saved.file = Some(name.clone());
                        if is_new {
                            new.0.insert(name, path);
                        }
                    }
                    Err(error) => {
                        saved.why = Some(format!("{}: {error}", path.display()));
                        saved.has_failed = true;
                    }
                }
            }
            Err(error) => saved.why = Some(error.to_string()),
        }
        saved
    }

    /// Returns the bytes if they are within the limit. After the first excess, no more nodes are written.
    fn counted(&self, bytes: Vec<u8>) -> Result<Vec<u8>, SaveError> {
        let size = bytes.len() as u64;
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        taken.map(|_| bytes).map_err(|_| {
            self.left.store(0, Ordering::Relaxed);
            SaveError::OverLimit
        })
    }

    /// Returns the common prefix of a model's file names.
    fn prefix(&self, file: &Path) -> String {
        let named = if self.is_single { file.file_stem().map_or(file, Path::new) } else { file };
        let text = named.to_string_lossy();
        let text = text.strip_suffix(".onnx").unwrap_or(&text);
        plain(text.trim_start_matches(['.', '/', '\\']))
    }
}

/// Returns the nodes with these names, positions or outputs, each with the names that matched.
fn named(origin: &Origin<'_>, names: &[String]) -> Vec<(NodeId, Vec<String>)> {
    let bodies = &origin.inferred.bodies;
    let asked = |id: NodeId| {
        let place = bodies.place_of(id);
        let is_in_main_graph = matches!(place.path[..], [PathStep::Graph(_)]);
        let node = place.node.unwrap_or_else(|| bodies.node_place(id));
        let is_it = |name: &&String| {
            *name == "all"
                || (!name.is_empty() && (**name == node.name || **name == node.output))
                || (is_in_main_graph && name.parse() == Ok(node.index))
        };
        let asked: Vec<String> = names.iter().filter(is_it).cloned().collect();
        (!asked.is_empty()).then_some((id, asked))
    };
    origin.inferred.nodes().filter_map(asked).collect()
}

/// Returns the nodes with an error or a warning.
fn with_findings(origin: &Origin<'_>, findings: &[Finding]) -> Vec<NodeId> {
    let is_about = |place: &Place, finding: &&Finding| {
        finding.level <= Level::Warning && finding.place.node == place.node && finding.place.path == place.path
    };
    let has_finding = |id: &NodeId| {
        let place = origin.inferred.bodies.place_of(*id);
        findings.iter().any(|finding| is_about(&place, &finding))
    };
    if findings.is_empty() { Vec::new() } else { origin.inferred.nodes().filter(has_finding).collect() }
}

/// Returns the first node of each kind that some runtime is not known to compute correctly, special values aside.
fn nodes_at_risk(runtimes: &[RuntimeReport]) -> Vec<NodeId> {
    let kinds = runtimes.iter().flat_map(|runtime| &runtime.kinds);
    let worse = kinds.filter(|kind| kind.answer.verdict > NodeVerdict::RunsButForSpecialValues);
    let mut ids: Vec<NodeId> = worse.filter_map(|kind| kind.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Formats a place as part of a file name: `12-then_branch.4-Add`.
fn file_part(place: &Place) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Graph(_) | PathStep::Call(_) => None,
        PathStep::Function(name) => Some(plain(name)),
        PathStep::Subgraph { node, attribute } => Some(plain(&format!("{}-{attribute}", node.index))),
    };
    let mut parts: Vec<String> = place.path.iter().filter_map(step).collect();
    if let Some(node) = &place.node {
        let operator = node.short_operator();
        let operator = operator.rsplit('/').next().unwrap_or(operator);
        parts.push(plain(&format!("{}-{operator}", node.index)));
    }
    shortened(&parts.join("."), MAX_PLACE)
}

/// Replaces characters that some file systems do not allow in names.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    shortened(text, MAX_NAME).chars().map(plain).collect()
}

/// Truncates a text to at most `most` characters. A truncated text ends with a digest of the whole.
fn shortened(text: &str, most: usize) -> String {
    /// Number of digits of the digest.
    const DIGEST: usize = 16;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(DIGEST + 1)).collect();
    format!("{start}-{:.DIGEST$}", sha256(text.as_bytes()))
}

/// Writes a file, and returns true if it is new. An existing file with the same bytes is kept, any other is an error.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match std::fs::symlink_metadata(path) {
        Err(_) => write_whole(path, bytes).map(|()| true),
        Ok(found) if found.is_file() && is_same(&found, path, bytes) => Ok(false),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another file with this name exists; choose another folder",
        )),
    }
}

fn is_same(found: &Metadata, path: &Path, bytes: &[u8]) -> bool {
    found.len() == bytes.len() as u64 && std::fs::read(path).is_ok_and(|old| old == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_beginning_and_a_digest_of_the_whole() {
        let long = |end: &str| plain(&format!("{}{end}", "model/".repeat(20)));
        assert_eq!(long("a").len(), MAX_NAME);
        assert!(long("a").starts_with("model-model-") && long("a") != long("b"));
        assert_eq!(plain(&"é".repeat(81)).len(), MAX_NAME);
        assert_eq!(plain("exported/a b"), "exported-a-b");
    }

    #[test]
    fn new_files_are_removed_if_another_one_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let node = |name: &str, file: Option<&str>, why: Option<&str>| SavedNode {
            node: name.to_owned(),
            file: file.map(|file| path(file).display().to_string()),
            why: why.map(str::to_owned),
            has_failed: name == "fails",
            asked: Vec::new(),
        };
        assert!(write_new(&path("old"), b"1").unwrap() && !write_new(&path("old"), b"1").unwrap());
        assert!(write_new(&path("old"), b"2").is_err() && write_new(&path("new"), b"1").unwrap());
        let new = NewFiles(BTreeMap::from([(path("new").display().to_string(), path("new"))]));
        let mut nodes = [
            node("old", Some("old"), None),
            node("new", Some("new"), None),
            node("fails", None, Some("the disk is full")),
            node("next", None, None),
        ];
        new.remove(&mut nodes);
        assert!(path("old").exists() && !path("new").exists());
        let why: Vec<&str> = nodes.iter().map(|node| node.why.as_deref().unwrap_or_default()).collect();
        let gone = "not written, since the file of another node cannot be written";
        assert_eq!(why, ["", gone, "the disk is full", gone]);
        assert!(nodes[0].file.is_some() && nodes[1].file.is_none());
    }

    #[test]
    fn all_files_together_have_a_limit() {
        let saving = Saving::new(PathBuf::new(), Vec::new(), true);
        saving.left.store(10, Ordering::Relaxed);
        assert!(saving.counted(vec![0; 8]).is_ok());
        // Bytes of another model also count.
        assert!(
            saving.clone().counted(vec![0; 3]).unwrap_err().to_string().contains("exceed the limit of 536870912 bytes")
        );
        assert!(saving.counted(vec![0; 1]).is_err());
    }
}
