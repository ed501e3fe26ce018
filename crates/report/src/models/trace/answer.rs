//! Result of a search, as text and as files.

use std::fmt::Write as _;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_cases::case::{FolderData, Named, external_locations};
use onnx_conformance_check::finding::NodePlace;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode, encode};
use onnx_conformance_reference::value::Value;

use crate::describe_case::shown;

/// Maximum number of nodes that are listed.
const MAX_LISTED: usize = 20;

/// Maximum bytes of external data that are copied into a written model; a larger file is linked.
const MAX_COPIED: usize = 64 << 20;

/// Result of a search for the nodes that a runtime computes differently.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The runtime with its version.
    pub runtime: String,
    /// Source of the expected values.
    pub reference: String,
    /// Number of nodes of the main graph.
    pub nodes: usize,
    /// Number of runs on the runtime and on the reference.
    pub runs: [usize; 2],
    /// The nodes whose outputs are random.
    pub random: Vec<NodePlace>,
    /// The outcome.
    pub outcome: TraceOutcome,
}

/// Outcome of a search.
#[derive(Clone, Debug)]
pub enum TraceOutcome {
    /// All outputs agree.
    Same {
        /// Number of compared outputs.
        outputs: usize,
    },
    /// The runtime also fails on a model with the same versions that only copies its input.
    EveryModel {
        /// Message of the runtime.
        message: String,
    },
    /// The whole file differs, but the same nodes as a new file do not.
    OnlyWhole {
        /// The difference.
        message: String,
    },
    /// Nodes that differ, given the reference's values.
    Found(Box<Traced>),
}

/// Cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The node alone differs.
    Node,
    /// The node alone exceeds the bound of its operator, and later nodes enlarge the difference.
    Grows {
        /// Number of nodes that show the difference together.
        nodes: usize,
    },
    /// The nodes differ together, although each of them alone agrees.
    Graph,
}

/// The nodes that differ, as a separate model.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The cause.
    pub fault: Fault,
    /// The nodes.
    pub places: Vec<NodePlace>,
    /// The end of the whole model.
    pub whole: String,
    /// The difference of these nodes.
    pub shown: String,
    /// The nodes as a model. External data is relative to the folder of the original.
    pub model: Bytes,
    /// Its inputs.
    pub inputs: Vec<Named>,
    /// The reference's outputs.
    pub expected: Vec<Named>,
    /// The runtime's outputs, if it gave some.
    pub actual: Option<Vec<Named>>,
}

/// Files of a case folder.
#[derive(Clone, Debug, Default)]
pub struct CaseFiles {
    /// Contents by path in the folder.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files of the original model's folder that the model refers to.
    pub linked: Vec<String>,
}

impl Trace {
    /// Describes the result in a few lines.
    pub fn text(&self) -> String {
        let mut text = format!("{} against {}, {}\n", self.runtime, self.reference, counted(self.nodes, "node"));
        match &self.outcome {
            TraceOutcome::Same { .. } | TraceOutcome::EveryModel { .. } => {}
            TraceOutcome::OnlyWhole { message } => drop(writeln!(text, "the model: {message}")),
            TraceOutcome::Found(found) => drop(writeln!(text, "the model: {}", found.whole)),
        }
        let _ = writeln!(text, "{}", self.summary());
        match &self.outcome {
            TraceOutcome::Same { .. } | TraceOutcome::OnlyWhole { .. } => {}
            TraceOutcome::EveryModel { .. } => text.push_str(
                "no node is to blame: a model with the same opsets and IR version that only copies its input fails, too; \
                 `convert --opset` or `convert --ir` writes other versions\n",
            ),
            TraceOutcome::Found(found) => found.push_text(&mut text),
        }
        if !self.random.is_empty() {
            let random = listed(&self.random).join(", ");
            let _ = writeln!(
                text,
                "random: {random}; of what depends on it only types and shapes were compared, and the search went on behind it \
                 with the values of {}",
                self.reference
            );
        }
        let [runtime, reference] = self.runs;
        let _ = writeln!(text, "{} on {}, {reference} on {}", counted(runtime, "run"), self.runtime, self.reference);
        text
    }

    /// Describes the outcome in one line.
    pub(super) fn summary(&self) -> String {
        match &self.outcome {
            TraceOutcome::Same { outputs } => format!("the same: {} within the bounds", counted(*outputs, "output")),
            TraceOutcome::EveryModel { message } => format!("the model does not load: {message}"),
            TraceOutcome::OnlyWhole { .. } => {
                "no part of it shows this: the same nodes in a new file agree, so it depends on what only the file has, such as \
                 value_info, names and metadata, or it changes from run to run"
                    .to_owned()
            }
            TraceOutcome::Found(found) => match found.places.as_slice() {
                [only] => format!("first difference: {only}: {}", found.shown),
                places => format!("first difference: {} together: {}", counted(places.len(), "node"), found.shown),
            },
        }
    }

    /// Returns true if nothing differs.
    pub fn is_same(&self) -> bool {
        matches!(self.outcome, TraceOutcome::Same { .. })
    }
}

impl Traced {
    fn push_text(&self, text: &mut String) {
        if self.places.len() > 1 {
            for place in listed(&self.places) {
                let _ = writeln!(text, "  {place}");
            }
        }
        let _ = writeln!(text, "{}", self.cause());
        for input in &self.inputs {
            let _ = writeln!(text, "  input {} = {}", input.name, shown(&input.value));
        }
        for expected in &self.expected {
            let _ = writeln!(text, "  expected {} = {}", expected.name, shown(&expected.value));
        }
        for actual in self.actual.iter().flatten() {
            let _ = writeln!(text, "  actual {} = {}", actual.name, shown(&actual.value));
        }
    }

    /// Describes the cause.
    pub(super) fn cause(&self) -> String {
        match self.fault {
            Fault::Node => "the node alone shows it, given the expected inputs: the fault is the node's".to_owned(),
            Fault::Grows { nodes } => format!(
                "the node alone is beyond the bound of its operator; the difference grows until it shows behind {nodes} nodes"
            ),
            Fault::Graph => {
                "each node alone agrees, given the expected inputs: it only shows in the graph, as with a fusion or \
                             another rewrite; fewer consecutive nodes do not show it"
                    .to_owned()
            }
        }
    }

    /// Returns the files of a case folder of ONNX, with an issue text. `folder` has the external data.
    pub fn files(&self, trace: &Trace, folder: Option<&Path>, command: &str) -> CaseFiles {
        let mut files = CaseFiles::default();
        let mut model = self.model.to_vec();
        if let Ok(decoded) = decode::model(self.model.clone())
            && !external_locations(&decoded).is_empty()
        {
            match with_own_data(&decoded, &FolderData::new(folder, Deadline::never())) {
                Some(bytes) => model = bytes,
                None => files.linked = external_locations(&decoded).into_iter().collect(),
            }
        }
        files.files.push(("model.onnx".to_owned(), model));
        let sets = [
            ("test_data_set_0", "input", Some(&self.inputs)),
            ("test_data_set_0", "output", Some(&self.expected)),
            ("actual/test_data_set_0", "output", self.actual.as_ref()),
        ];
        for (set, kind, values) in sets {
            for (number, Named { name, value }) in values.into_iter().flatten().enumerate() {
                files.files.push((format!("{set}/{kind}_{number}.pb"), encode::value(value, name)));
            }
        }
        files.files.push(("issue.md".to_owned(), self.issue(trace, command).into_bytes()));
        files
    }

    /// Writes a report for the maintainers of the runtime.
    fn issue(&self, trace: &Trace, command: &str) -> String {
        let what = match (self.places.as_slice(), self.fault) {
            ([only], _) => only.to_string(),
            (places, _) => format!("{} in a row", counted(places.len(), "node")),
        };
        let mut text = format!("# {}: {what}\n\n{}\n\n", trace.runtime, self.shown);
        if self.places.len() > 1 {
            text.push_str("The nodes:\n\n");
            for place in listed(&self.places) {
                let _ = writeln!(text, "- {place}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "Against {}: {}.\n", trace.reference, self.cause());
        let _ = writeln!(
            text,
            "`model.onnx` has {} of a model with {}; `test_data_set_0` has the inputs and the expected outputs{}. The whole model: {}\n",
            counted(self.places.len(), "node"),
            counted(trace.nodes, "node"),
            if self.actual.is_some() { ", `actual` those of the runtime" } else { "" },
            self.whole,
        );
        for (kind, values) in
            [("input", Some(&self.inputs)), ("expected", Some(&self.expected)), ("actual", self.actual.as_ref())]
        {
            for Named { name, value } in values.into_iter().flatten() {
                let _ = writeln!(text, "- {kind} `{name}`: {}", described(value));
            }
        }
        let _ =
            writeln!(text, "\nTo reproduce it in this folder, with onnx-conformance {}:\n", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(text, "    {command}");
        text
    }
}

/// Shows a value, for a text in markdown.
fn described(value: &Value) -> String {
    format!("`{}`", shown(value).replace('`', "'").replace(['\n', '\r'], " "))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns the first of a list, and the number of the others.
fn listed(all: &[NodePlace]) -> Vec<String> {
    let mut first: Vec<String> = all.iter().take(MAX_LISTED).map(NodePlace::to_string).collect();
    first.extend(all.len().checked_sub(MAX_LISTED + 1).map(|more| format!("and {} more", more + 1)));
    first
}

/// Returns the model with its external data in its own file; `None` if that is large or unreadable.
fn with_own_data(model: &ModelProto, data: &FolderData) -> Option<Vec<u8>> {
    let mut own = model.clone();
    let mut size = 0_usize;
    for tensor in own.graph.iter_mut().flat_map(|graph| &mut graph.initializer) {
        if tensor.data_location() != DataLocation::External {
            continue;
        }
        let length = tensor.external_data.iter().find(|entry| entry.key() == "length");
        size = size.saturating_add(length.and_then(|entry| entry.value().parse().ok()).unwrap_or(0));
        if size > MAX_COPIED {
            return None;
        }
        let read = decode::tensor(tensor, data).ok()?;
        *tensor = encode::tensor(&read, tensor.name());
    }
    external_locations(&own).is_empty().then(|| own.encode_to_vec())
}
