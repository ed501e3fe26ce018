//! Documentation and `metadata_props` of a node, which a conversion copies to the nodes that it adds for it.

use onnx_conformance_reference::proto::onnx::StringStringEntryProto;
use onnx_conformance_reference::proto::{NodeProto, Text};

/// Maximum size of copied metadata in bytes. Longer metadata stays with the node itself.
const MAX_BYTES: usize = 1 << 16;

/// Documentation and `metadata_props` of a node.
#[derive(Clone, Debug)]
pub(super) struct NodeMetadata {
    doc_string: Option<Text>,
    entries: Vec<StringStringEntryProto>,
}

impl NodeMetadata {
    /// Returns the metadata of a node; `None` if there is none, or too much to copy.
    pub(super) fn of(node: &NodeProto) -> Option<NodeMetadata> {
        let doc_string = node.rare.as_ref().and_then(|rare| rare.doc_string.clone());
        let entries = node.metadata_props();
        let size = entries.iter().map(|entry| entry.key().len() + entry.value().len()).sum::<usize>();
        let size = size + doc_string.as_ref().map_or(0, Text::len);
        let is_copied = (doc_string.is_some() || !entries.is_empty()) && size <= MAX_BYTES;
        is_copied.then(|| NodeMetadata { doc_string, entries: entries.to_vec() })
    }

    /// Gives a node this metadata. Its name stays, since names of nodes are unique.
    pub(super) fn describe(&self, node: &mut NodeProto) {
        let rare = node.rare_mut();
        rare.doc_string.clone_from(&self.doc_string);
        rare.metadata_props.clone_from(&self.entries);
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};

    use super::*;
    use crate::convert::{Target, convert};

    /// Returns a model at opset 10 with a node that opset 9 expands, which has a name, an entry and this documentation.
    fn documented(text: &str) -> ModelProto {
        let model =
            r#"<ir_version: 10, opset_import: ["" : 10]> g (float[2] x) => (float[2] y) { y = ThresholdedRelu (x) }"#;
        let mut model = parse_model(model).unwrap();
        let node = &mut model.graph.as_mut().unwrap().node[0];
        node.name = Some("n".into());
        let entry = StringStringEntryProto { key: Some("source".to_owned()), value: Some("a.py:1".to_owned()) };
        node.rare_mut().metadata_props.push(entry);
        node.rare_mut().doc_string = Some(text.into());
        model
    }

    fn converted(model: &ModelProto) -> Vec<NodeProto> {
        convert(model, &Target::opset(9)).unwrap().model.graph.unwrap().node
    }

    #[test]
    fn every_node_of_an_expansion_has_the_metadata_and_one_the_name() {
        let model = documented("Activation.");
        let nodes = converted(&model);
        assert!(nodes.len() > 2, "{nodes:?}");
        let text = |node: &NodeProto| node.rare.as_ref().and_then(|rare| rare.doc_string.clone()).unwrap_or_default();
        for node in &nodes {
            assert_eq!((text(node).as_str(), node.metadata_props().len()), ("Activation.", 1), "{node:?}");
        }
        let names: Vec<&str> = nodes.iter().map(NodeProto::name).filter(|name| !name.is_empty()).collect();
        assert_eq!(names, ["n"]);
    }

    #[test]
    fn long_metadata_stays_with_the_node_itself() {
        let nodes = converted(&documented(&"a".repeat(MAX_BYTES)));
        let described: Vec<&str> =
            nodes.iter().filter(|node| !node.metadata_props().is_empty()).map(NodeProto::name).collect();
        assert_eq!(described, ["n"]);
    }

    #[test]
    fn the_file_has_the_metadata_of_added_nodes() {
        let model = documented("Activation.");
        let bytes = model.encode_to_vec();
        let conversion = convert(&model, &Target::opset(9)).unwrap();
        let file = conversion.file(&model, &bytes).unwrap().bytes(&bytes);
        assert_eq!(decode::model(file.into()).unwrap(), conversion.model);
    }
}
