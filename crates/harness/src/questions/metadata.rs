//! The metadata that a tool drops: documentation, and entries of `metadata_props`.
//!
//! ONNX's texts do not say that a tool keeps them, so no outcome depends on it. A sixteenth of the models that a tool
//! rewrites correctly are sent to it again, with metadata in every part.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, Variant};
use onnx_conformance_reference::proto::onnx::StringStringEntryProto;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, NodeProto, ValueInfoProto, decode};
use onnx_conformance_subject::{Ask, Ended, Host, Request, Response};
use serde::{Deserialize, Serialize};

use crate::run::id_digest;

/// A part of a model that has metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metadata {
    /// The model itself.
    Model,
    /// Its main graph.
    Graph,
    /// The inputs and outputs of the main graph.
    Values,
    /// The nodes of the main graph that the tool keeps: the same operator with the same first output.
    Nodes,
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Metadata::Model => "model",
            Metadata::Graph => "graph",
            Metadata::Values => "values",
            Metadata::Nodes => "nodes",
        })
    }
}

/// Numbers of models by the part whose metadata the tool dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataCounts {
    /// Number of models with metadata about which the tool was asked.
    pub asked: usize,
    /// Number of models that lost metadata of a part.
    #[serde(flatten)]
    pub dropped: BTreeMap<Metadata, usize>,
}

impl MetadataCounts {
    /// Counts the parts whose metadata one model lost.
    pub(crate) fn count(&mut self, dropped: &BTreeSet<Metadata>) {
        self.asked += 1;
        for part in dropped {
            *self.dropped.entry(*part).or_default() += 1;
        }
    }

    /// Adds other numbers.
    pub(crate) fn add(&mut self, other: &MetadataCounts) {
        self.asked += other.asked;
        other.dropped.iter().for_each(|(part, count)| *self.dropped.entry(*part).or_default() += count);
    }
}

impl fmt::Display for MetadataCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{asked: {}", self.asked)?;
        self.dropped.iter().try_for_each(|(part, count)| write!(f, ", {part}: {count}"))?;
        f.write_str("}")
    }
}

/// The first IR version in which parts other than the model have `metadata_props`.
const IR_OF_ENTRIES: i64 = 10;

/// The documentation of every part.
const TEXT: &str = "Documentation of this part.";

/// Returns true if the model of a case is also sent to a tool with metadata.
pub(super) fn is_asked(id: &str) -> bool {
    // The last digit, since the first ones decide about the part of the suite.
    id_digest(Variant::split_id(id).0).ends_with('0')
}

/// Sends the model of a case to a tool with metadata in every part, and returns the parts that lose it; `None` if the
/// answer is not a model.
pub(super) fn dropped(case: &Case, folder: Option<&Path>, ask: Ask, subject: &dyn Host) -> Option<BTreeSet<Metadata>> {
    let before = documented(decode::model(case.model.clone()).ok()?);
    let bytes = Bytes::from(before.encode_to_vec());
    let ended = subject.run(&Request::asking(&case.id, &bytes, folder, ask)).ended;
    let Ended::Answered(Response::Model(answer)) = ended else { return None };
    Some(lost(&before, &decode::model(answer).ok()?))
}

/// Returns a model with metadata in every part.
fn documented(mut model: ModelProto) -> ModelProto {
    let entry = StringStringEntryProto { key: Some("part".to_owned()), value: Some(TEXT.to_owned()) };
    let has_entries = model.ir_version() >= IR_OF_ENTRIES;
    model.doc_string = Some(TEXT.to_owned());
    model.metadata_props.push(entry.clone());
    let Some(graph) = model.graph.as_mut() else { return model };
    graph.doc_string = Some(TEXT.to_owned());
    graph.metadata_props.extend(has_entries.then(|| entry.clone()));
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        info.doc_string = Some(TEXT.to_owned());
        info.metadata_props.extend(has_entries.then(|| entry.clone()));
    }
    for node in &mut graph.node {
        let rare = node.rare_mut();
        rare.doc_string = Some(TEXT.into());
        rare.metadata_props.extend(has_entries.then(|| entry.clone()));
    }
    model
}

/// Documentation and entries of a part.
type PartMetadata<'a> = (&'a str, &'a [StringStringEntryProto]);

/// Returns the parts of a model whose metadata another one does not have.
fn lost(before: &ModelProto, after: &ModelProto) -> BTreeSet<Metadata> {
    let mut lost = BTreeSet::new();
    let mut compare = |part: Metadata, (text, entries): PartMetadata<'_>, (new_text, new_entries): PartMetadata<'_>| {
        if !new_text.contains(text) || entries.iter().any(|entry| !new_entries.contains(entry)) {
            lost.insert(part);
        }
    };
    compare(
        Metadata::Model,
        (before.doc_string(), &before.metadata_props),
        (after.doc_string(), &after.metadata_props),
    );
    let (Some(old), Some(new)) = (&before.graph, &after.graph) else { return lost };
    compare(Metadata::Graph, (old.doc_string(), &old.metadata_props), (new.doc_string(), &new.metadata_props));
    for (old, new) in pairs(values(old), &values(new).collect::<Vec<_>>(), |a, b| a.name() == b.name()) {
        compare(Metadata::Values, (old.doc_string(), &old.metadata_props), (new.doc_string(), &new.metadata_props));
    }
    let is_same = |a: &NodeProto, b: &NodeProto| {
        (a.op_type(), a.domain(), a.output.first()) == (b.op_type(), b.domain(), b.output.first())
    };
    for (old, new) in pairs(old.node.iter(), &new.node.iter().collect::<Vec<_>>(), is_same) {
        compare(Metadata::Nodes, of_node(old), of_node(new));
    }
    lost
}

/// Returns the inputs and outputs of a graph.
fn values(graph: &GraphProto) -> impl Iterator<Item = &ValueInfoProto> {
    graph.input.iter().chain(&graph.output)
}

/// Pairs each item with the first equal item among the others.
fn pairs<'a, T>(
    items: impl Iterator<Item = &'a T>,
    others: &[&'a T],
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<(&'a T, &'a T)> {
    items.filter_map(|item| Some((item, others.iter().copied().find(|other| is_same(item, other))?))).collect()
}

fn of_node(node: &NodeProto) -> PartMetadata<'_> {
    let text = node.rare.as_ref().and_then(|rare| rare.doc_string.as_deref());
    (text.unwrap_or_default(), node.metadata_props())
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;
    use crate::questions::judge;
    use crate::questions::test_tools::{SUB, Tool, case, model};
    use crate::run::Outcome;

    /// A change of a model, and the parts whose metadata it removes.
    type Change = (fn(&mut ModelProto), &'static [Metadata]);

    #[test]
    fn each_part_is_counted_on_its_own() {
        let text =
            r#"<ir_version: 10, opset_import: ["" : 21]> g (float[2] a) => (float[2] y) { b = Neg (a) y = Neg (b) }"#;
        let before = documented(parse_model(text).unwrap());
        assert_eq!(lost(&before, &before), BTreeSet::new());
        let changes: [Change; 6] = [
            (|model| model.metadata_props.clear(), &[Metadata::Model]),
            (|model| model.graph.as_mut().unwrap().doc_string = None, &[Metadata::Graph]),
            (|model| model.graph.as_mut().unwrap().output[0].metadata_props.clear(), &[Metadata::Values]),
            (|model| model.graph.as_mut().unwrap().node[1].rare_mut().doc_string = None, &[Metadata::Nodes]),
            // A removed node cannot keep its metadata, and a longer text is not a loss.
            (|model| drop(model.graph.as_mut().unwrap().node.remove(0)), &[]),
            (|model| model.doc_string = Some(format!("Optimized. {}", model.doc_string())), &[]),
        ];
        for (number, (change, parts)) in changes.into_iter().enumerate() {
            let mut after = before.clone();
            change(&mut after);
            assert_eq!(lost(&before, &after), parts.iter().copied().collect::<BTreeSet<_>>(), "change {number}");
        }
    }

    #[test]
    fn old_models_get_no_entries_that_their_readers_skip() {
        let text = r#"<ir_version: 9, opset_import: ["" : 20]> g (float[2] a) => (float[2] y) { y = Neg (a) }"#;
        let model = documented(parse_model(text).unwrap());
        let graph = model.graph.as_ref().unwrap();
        assert_eq!((model.metadata_props.len(), graph.metadata_props.len()), (1, 0));
        assert!(values(graph).all(|info| info.metadata_props.is_empty() && info.doc_string() == TEXT));
        let is_plain = |(text, entries): PartMetadata<'_>| text == TEXT && entries.is_empty();
        assert!(graph.node.iter().map(of_node).all(is_plain));
    }

    #[test]
    fn dropped_metadata_is_counted_and_decides_no_outcome() {
        // The digests of the first id and not of the second end with 0.
        let asked = |id: &str| Case { id: Variant::Optimize.id(id), ..case(Variant::Optimize) };
        let (sampled, other) = (asked("ai.onnx/Sub-13/n2"), asked("ai.onnx/Sub-13/known_values/T=float"));
        let strips = Tool(|_: &Request<'_>| Ended::Answered(Response::Model(model(13, SUB))));
        let echo = Tool(|request: &Request<'_>| Ended::Answered(Response::Model(request.model.clone())));
        let of = |case: &Case, tool: &dyn Host| {
            let result = judge(case, tool);
            assert_eq!(result.outcome, Outcome::Pass, "{}", result.message);
            result.dropped.map(|parts| parts.into_iter().collect::<Vec<_>>())
        };
        let all = vec![Metadata::Model, Metadata::Graph, Metadata::Values, Metadata::Nodes];
        assert_eq!((of(&sampled, &strips), of(&sampled, &echo), of(&other, &strips)), (Some(all), Some(vec![]), None));
    }
}
