//! `NodeProto` in little memory: nodes are most of a large model.

use foldhash::{HashMap, HashMapExt as _};
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use prost::{DecodeError, Message};
use smallvec::SmallVec;

use crate::proto::onnx::{AttributeProto, NodeDeviceConfigurationProto, StringStringEntryProto};

/// Text that may be a part of a longer one, which several texts share.
pub use arcstr::Substr as Text;

/// Names of the inputs or outputs of a node.
pub type Texts = SmallVec<[Text; 1]>;

/// Returns names as a node holds them.
pub fn texts<T: Into<Text>>(names: impl IntoIterator<Item = T>) -> Texts {
    names.into_iter().map(Into::into).collect()
}

/// `NodeProto`; ONNX documents its fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeProto {
    /// The names of the inputs; `""` for an omitted one.
    pub input: Texts,
    /// The names of the outputs; `""` for an omitted one.
    pub output: Texts,
    /// The name.
    pub name: Option<Text>,
    /// The operator or function.
    pub op_type: Option<Text>,
    /// The domain of the operator or function.
    pub domain: Option<Text>,
    /// The attributes.
    pub attribute: Vec<AttributeProto>,
    /// Fields that few nodes have.
    pub rare: Option<Box<RareFields>>,
}

/// Fields of `NodeProto` that few nodes have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RareFields {
    /// The overload of the function.
    pub overload: Option<Text>,
    /// The documentation.
    pub doc_string: Option<Text>,
    /// Entries of exporters.
    pub metadata_props: Vec<StringStringEntryProto>,
    /// The devices that compute the node.
    pub device_configurations: Vec<NodeDeviceConfigurationProto>,
}

impl NodeProto {
    /// The name; `""` if there is none.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The operator or function; `""` if there is none.
    pub fn op_type(&self) -> &str {
        self.op_type.as_deref().unwrap_or_default()
    }

    /// The domain; `""` if there is none.
    pub fn domain(&self) -> &str {
        self.domain.as_deref().unwrap_or_default()
    }

    /// The overload; `""` if there is none.
    pub fn overload(&self) -> &str {
        self.rare.as_ref().and_then(|rare| rare.overload.as_deref()).unwrap_or_default()
    }

    /// The entries of exporters.
    pub fn metadata_props(&self) -> &[StringStringEntryProto] {
        self.rare.as_ref().map_or(&[], |rare| &rare.metadata_props)
    }

    /// The devices that compute the node.
    pub fn device_configurations(&self) -> &[NodeDeviceConfigurationProto] {
        self.rare.as_ref().map_or(&[], |rare| &rare.device_configurations)
    }

    /// The fields that few nodes have, for a change.
    pub fn rare_mut(&mut self) -> &mut RareFields {
        self.rare.get_or_insert_default()
    }

    fn texts(&self) -> impl Iterator<Item = &Text> {
        let single = self.name.iter().chain(&self.op_type).chain(&self.domain);
        self.input.iter().chain(&self.output).chain(single)
    }

    /// The same texts, in the same order.
    fn texts_mut(&mut self) -> impl Iterator<Item = &mut Text> {
        let single = self.name.iter_mut().chain(&mut self.op_type).chain(&mut self.domain);
        self.input.iter_mut().chain(&mut self.output).chain(single)
    }
}

/// Stores all names of nodes in one shared text, each name once, and frees reserved memory.
pub fn compact(nodes: &mut [NodeProto]) {
    let mut all = String::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut starts = Vec::new();
    for text in nodes.iter().flat_map(NodeProto::texts) {
        let start = *known.entry(text).or_insert_with(|| {
            all.push_str(text);
            all.len() - text.len()
        });
        starts.push(start);
    }
    // A text has fewer bytes than 2^32.
    if u32::try_from(all.len()).is_err() {
        return;
    }
    let all = Text::from(all);
    for (text, start) in nodes.iter_mut().flat_map(NodeProto::texts_mut).zip(starts) {
        *text = all.substr(start..start + text.len());
    }
    for node in nodes {
        node.input.shrink_to_fit();
        node.output.shrink_to_fit();
        node.attribute.shrink_to_fit();
    }
}

fn encode_text(tag: u32, text: &Text, buf: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, buf);
    encode_varint(text.len() as u64, buf);
    buf.put_slice(text.as_bytes());
}

fn text_len(tag: u32, text: &Text) -> usize {
    key_len(tag) + encoded_len_varint(text.len() as u64) + text.len()
}

fn decode_text(wire_type: WireType, buf: &mut impl Buf, context: DecodeContext) -> Result<Text, DecodeError> {
    let mut text = String::new();
    encoding::string::merge(wire_type, &mut text, buf, context)?;
    Ok(Text::from(text))
}

/// Encodes like the generated messages: fields in the order of their numbers.
impl Message for NodeProto {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        self.input.iter().for_each(|text| encode_text(1, text, buf));
        self.output.iter().for_each(|text| encode_text(2, text, buf));
        self.name.iter().for_each(|text| encode_text(3, text, buf));
        self.op_type.iter().for_each(|text| encode_text(4, text, buf));
        self.attribute.iter().for_each(|attribute| encoding::message::encode(5, attribute, buf));
        let rare = self.rare.as_deref();
        rare.and_then(|rare| rare.doc_string.as_ref()).into_iter().for_each(|text| encode_text(6, text, buf));
        self.domain.iter().for_each(|text| encode_text(7, text, buf));
        let Some(rare) = rare else { return };
        rare.overload.iter().for_each(|text| encode_text(8, text, buf));
        rare.metadata_props.iter().for_each(|entry| encoding::message::encode(9, entry, buf));
        rare.device_configurations.iter().for_each(|device| encoding::message::encode(10, device, buf));
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        let (field, result) = match tag {
            1 => ("input", decode_text(wire_type, buf, context).map(|text| self.input.push(text))),
            2 => ("output", decode_text(wire_type, buf, context).map(|text| self.output.push(text))),
            3 => ("name", decode_text(wire_type, buf, context).map(|text| self.name = Some(text))),
            4 => ("op_type", decode_text(wire_type, buf, context).map(|text| self.op_type = Some(text))),
            5 => ("attribute", encoding::message::merge_repeated(wire_type, &mut self.attribute, buf, context)),
            6 => {
                let text = decode_text(wire_type, buf, context);
                ("doc_string", text.map(|text| self.rare_mut().doc_string = Some(text)))
            }
            7 => ("domain", decode_text(wire_type, buf, context).map(|text| self.domain = Some(text))),
            8 => {
                let text = decode_text(wire_type, buf, context);
                ("overload", text.map(|text| self.rare_mut().overload = Some(text)))
            }
            9 => {
                let entries = &mut self.rare_mut().metadata_props;
                ("metadata_props", encoding::message::merge_repeated(wire_type, entries, buf, context))
            }
            10 => {
                let devices = &mut self.rare_mut().device_configurations;
                ("device_configurations", encoding::message::merge_repeated(wire_type, devices, buf, context))
            }
            _ => return encoding::skip_field(wire_type, tag, buf, context),
        };
        result.map_err(|mut error: DecodeError| {
            error.push("NodeProto", field);
            error
        })
    }

    fn encoded_len(&self) -> usize {
        let list = |tag, texts: &Texts| texts.iter().map(|text| text_len(tag, text)).sum::<usize>();
        let single = |tag, text: &Option<Text>| text.as_ref().map_or(0, |text| text_len(tag, text));
        let rare = self.rare.as_deref().map_or(0, |rare| {
            single(6, &rare.doc_string)
                + single(8, &rare.overload)
                + encoding::message::encoded_len_repeated(9, &rare.metadata_props)
                + encoding::message::encoded_len_repeated(10, &rare.device_configurations)
        });
        list(1, &self.input)
            + list(2, &self.output)
            + single(3, &self.name)
            + single(4, &self.op_type)
            + encoding::message::encoded_len_repeated(5, &self.attribute)
            + single(7, &self.domain)
            + rare
    }

    fn clear(&mut self) {
        *self = NodeProto::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::encode::field;

    fn text(number: u32, text: &str) -> Vec<u8> {
        field(number, text.len() as u64, text.as_bytes())
    }

    fn every_field() -> Vec<u8> {
        let attribute = text(1, "axis");
        let entry = [text(1, "k"), text(2, "v")].concat();
        let device = text(1, "d");
        [
            text(1, "x"),
            text(1, ""),
            text(2, "y"),
            text(3, "n"),
            text(4, "Add"),
            field(5, attribute.len() as u64, &attribute),
            text(6, "doc"),
            text(7, "domain"),
            text(8, "over"),
            field(9, entry.len() as u64, &entry),
            field(10, device.len() as u64, &device),
        ]
        .concat()
    }

    #[test]
    fn every_field_keeps_its_bytes() {
        let bytes = every_field();
        let node = NodeProto::decode(bytes.as_slice()).unwrap();
        assert_eq!((node.input.as_slice(), node.output.as_slice()), (&*texts(["x", ""]), &*texts(["y"])));
        assert_eq!((node.name(), node.op_type(), node.domain(), node.overload()), ("n", "Add", "domain", "over"));
        assert_eq!((node.metadata_props()[0].key(), node.device_configurations()[0].configuration_id()), ("k", "d"));
        assert_eq!(node.attribute[0].name(), "axis");
        assert_eq!((node.encode_to_vec(), node.encoded_len()), (bytes.clone(), bytes.len()));
        // An unknown field is skipped, and the last of several values counts.
        let node =
            NodeProto::decode([text(3, "first"), text(90, "other"), text(3, "last")].concat().as_slice()).unwrap();
        assert_eq!((node.encode_to_vec(), node.rare), (text(3, "last"), None));
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_an_error_with_its_field() {
        let error = NodeProto::decode(field(4, 1, &[0xff]).as_slice()).unwrap_err().to_string();
        assert!(error.contains("NodeProto.op_type"), "{error}");
    }

    #[test]
    fn compact_nodes_share_each_name() {
        let node = NodeProto::decode(every_field().as_slice()).unwrap();
        let reader = NodeProto { input: texts(["y"]), output: texts(["z"]), ..NodeProto::default() };
        let nodes = [node, reader];
        let mut compacted = nodes.clone();
        compact(&mut compacted);
        assert_eq!(nodes, compacted);
        let (written, read) = (&compacted[0].output[0], &compacted[1].input[0]);
        assert!(Text::shallow_eq(written, read));
    }
}
