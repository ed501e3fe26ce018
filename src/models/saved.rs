//! Nodes that are written as models of their own.

use std::io;
use std::path::{Path, PathBuf};

use onnx_conformance_check::finding::{Finding, PathStep, Place};
use onnx_conformance_check::infer::NodeId;
use onnx_conformance_check::rules::Level;
use onnx_conformance_reference::proto::Message as _;
use serde::Serialize;

use crate::measure::NodeVerdict;
use crate::models::runtimes::RuntimeReport;
use crate::models::single_node::Origin;
use crate::whole_file::write_whole;

/// Which nodes are written, and where.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The folder, which is made.
    pub folder: PathBuf,
    /// Names, positions in the main graph or outputs of nodes, or `all`; those that stand out where there are none.
    pub nodes: Vec<String>,
    /// Whether one model is checked, so that its name alone names its files.
    pub is_single: bool,
}

/// A node that was to be written.
#[derive(Clone, Debug, Serialize)]
pub struct SavedNode {
    /// The node, as findings name it.
    pub node: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the file could not be written.
    #[serde(skip)]
    pub has_failed: bool,
    /// The names that asked for it.
    #[serde(skip)]
    pub asked: Vec<String>,
}

impl Saving {
    /// Writes the nodes of a model that were named, or else those that stand out: on a runtime, or by a finding.
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
            not_plainly_fine(runtimes).into_iter().map(|id| (id, Vec::new())).collect()
        };
        ids.into_iter().map(|(id, asked)| SavedNode { asked, ..self.save_node(file, origin, id) }).collect()
    }

    fn save_node(&self, file: &Path, origin: &Origin<'_>, id: NodeId) -> SavedNode {
        let place = origin.inferred.bodies.place_of(id);
        let mut saved =
            SavedNode { node: place.to_string(), file: None, why: None, has_failed: false, asked: Vec::new() };
        match origin.single_node(id) {
            Ok(model) => {
                let path = self.folder.join(format!("{}.{}.onnx", self.prefix(file), file_part(&place)));
                match write_new(&path, &model.encode_to_vec()) {
                    Ok(()) => saved.file = Some(path.display().to_string()),
                    Err(error) => {
                        saved.why = Some(format!("{}: {error}", path.display()));
                        saved.has_failed = true;
                    }
                }
            }
            Err(why) => saved.why = Some(why),
        }
        saved
    }

    /// What the names of a model's files begin with.
    fn prefix(&self, file: &Path) -> String {
        let named = if self.is_single { file.file_stem().map_or(file, Path::new) } else { file };
        let text = named.to_string_lossy();
        let text = text.strip_suffix(".onnx").unwrap_or(&text);
        plain(text.trim_start_matches(['.', '/', '\\']))
    }
}

/// The nodes with these names, positions or outputs, each with the names that asked for it.
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

/// The nodes of which an error or a warning speaks.
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

/// The first node of each kind of which no runtime was measured to compute it right, special values aside.
fn not_plainly_fine(runtimes: &[RuntimeReport]) -> Vec<NodeId> {
    let kinds = runtimes.iter().flat_map(|runtime| &runtime.kinds);
    let worse = kinds.filter(|kind| kind.answer.verdict > NodeVerdict::RunsButForSpecialValues);
    let mut ids: Vec<NodeId> = worse.filter_map(|kind| kind.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// A place as a part of a file's name: `12-then_branch.4-Add`.
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
    parts.join(".")
}

/// Text that every file system takes in a name.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    text.chars().take(80).map(plain).collect()
}

/// Writes a file that may be there with the same bytes, and with no others.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match std::fs::symlink_metadata(path) {
        Err(_) => write_whole(path, bytes),
        Ok(found) if found.is_file() && std::fs::read(path).is_ok_and(|old| old == bytes) => Ok(()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there, and is another; name another folder")),
    }
}
