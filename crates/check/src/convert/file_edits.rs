//! Edits of a whole file: removed documentation, metadata and training graphs, sizes for named dimensions, and external data moved into
//! the file. All other bytes are kept.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use onnx_conformance_reference::proto::measure::Kind;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::{tensor_proto, type_proto};
use onnx_conformance_reference::proto::{Message as _, ModelProto, TensorProto, TypeProto, ValueInfoProto};

use super::model::PlacedEdit;
use super::wire::{BrokenEncoding, FieldEdit, Rope, WireField, fields, rewrite};
use super::write::BrokenFile;
use crate::shorten::shorten;

// Field numbers in `onnx.proto`.
const DIMENSION_VALUE: u64 = 1;
const DIMENSION_NAME: u64 = 2;
const MODEL_TRAINING: u64 = 20;
const GRAPH_VALUES: [u64; 3] = [11, 12, 13];
const TENSOR_RAW_DATA: u64 = 9;
const TENSOR_EXTERNAL_DATA: u64 = 13;
const TENSOR_DATA_LOCATION: u64 = 14;

/// Maximum number of bytes of a file that protobuf decoders accept: 2 GiB less one byte.
const MAX_FILE: usize = (1 << 31) - 1;

/// Maximum number of characters of a name in an edit.
const MAX_SHOWN: usize = 80;

/// Part of a model that does not affect its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strip {
    /// Every `doc_string`.
    Docs,
    /// Every `metadata_props`.
    Metadata,
    /// Training graphs.
    Training,
}

impl Strip {
    /// Returns true if a field of a message belongs to the part.
    fn has(self, kind: Kind, number: u64) -> bool {
        match self {
            Strip::Docs => matches!(
                (kind, number),
                (Kind::Model | Kind::Node, 6)
                    | (Kind::Graph, 10)
                    | (Kind::Attribute, 13)
                    | (Kind::Tensor, 12)
                    | (Kind::ValueInfo, 3)
                    | (Kind::Function, 8)
            ),
            Strip::Metadata => matches!(
                (kind, number),
                (Kind::Model | Kind::Function, 14)
                    | (Kind::Graph | Kind::Tensor, 16)
                    | (Kind::Node, 9)
                    | (Kind::ValueInfo, 4)
            ),
            Strip::Training => (kind, number) == (Kind::Model, MODEL_TRAINING),
        }
    }

    /// Describes the removal of this many fields.
    fn edit(self, count: usize) -> String {
        let s = if count == 1 { "" } else { "s" };
        match self {
            Strip::Docs => format!("{count} doc_string{s} removed"),
            Strip::Metadata => {
                format!("{count} entr{} of metadata_props removed", if count == 1 { "y" } else { "ies" })
            }
            Strip::Training => format!("{count} training graph{s} removed"),
        }
    }
}

/// Requested edits of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEdits {
    /// The parts to remove.
    pub strip: BTreeSet<Strip>,
    /// Sizes of named dimensions of the main graph's inputs, outputs and values.
    pub dimensions: BTreeMap<String, i64>,
}

/// An edited file: parts of the original file with new bytes between them.
#[derive(Debug)]
pub struct EditedFile {
    /// The edits.
    pub edits: Vec<PlacedEdit>,
    rope: Rope,
}

impl EditedFile {
    /// Assembles the bytes; `file` must be the original file.
    pub fn bytes(&self, file: &[u8]) -> Vec<u8> {
        self.rope.bytes_of(file)
    }
}

impl FileEdits {
    /// Edits the model in a file; `None` if nothing changes.
    pub fn apply(&self, file: &[u8]) -> Result<Option<EditedFile>, BrokenFile> {
        let mut removed: BTreeMap<Strip, usize> = BTreeMap::new();
        let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
        let mut is_main = false;
        let mut edit = |kind: Kind, depth: usize, field: &WireField| -> Result<FieldEdit, BrokenEncoding> {
            if let Some(strip) = self.strip.iter().find(|strip| strip.has(kind, field.number)) {
                *removed.entry(*strip).or_default() += 1;
                return Ok(FieldEdit::Replace(Rope::default()));
            }
            // A dimension has the same name in other graphs, but need not have the same size.
            match depth {
                0 => is_main = false,
                1 => is_main = kind == Kind::Graph && GRAPH_VALUES.contains(&field.number),
                _ => {}
            }
            match self.size(file, kind, field)? {
                Some((name, new)) if is_main => {
                    *bound.entry(name).or_default() += 1;
                    Ok(FieldEdit::Replace(new))
                }
                _ => Ok(FieldEdit::Enter),
            }
        };
        let rope = rewrite(file, &mut edit).map_err(BrokenFile)?;
        let of_dimension = |(name, count): (&str, usize)| {
            let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
            let size = self.dimensions.get(name).copied().unwrap_or_default();
            format!("dimension {} becomes {size} in {places}", shorten(name, MAX_SHOWN))
        };
        let texts = removed.into_iter().map(|(strip, count)| strip.edit(count));
        let texts = texts.chain(bound.into_iter().map(of_dimension));
        let edits: Vec<PlacedEdit> = texts.map(|text| PlacedEdit { place: "model".to_owned(), text }).collect();
        Ok(rope.map(|rope| EditedFile { edits, rope }))
    }

    /// Returns the new field for a dimension with one of the names.
    fn size(&self, file: &[u8], kind: Kind, field: &WireField) -> Result<Option<(&str, Rope)>, BrokenEncoding> {
        let (Kind::Shape, 1, Some(payload)) = (kind, field.number, field.payload.clone()) else { return Ok(None) };
        let (mut name, mut dimension) = (None, Rope::default());
        for part in fields(file, payload) {
            let part = part?;
            match (part.number, part.payload) {
                (DIMENSION_NAME, Some(text)) => name = file.get(text),
                (DIMENSION_VALUE, _) => name = None,
                _ => dimension.copy(part.whole),
            }
        }
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let Some((name, size)) = name.and_then(|name| self.dimensions.get_key_value(name)) else { return Ok(None) };
        dimension.number(DIMENSION_VALUE, *size);
        let mut new = Rope::default();
        new.nested(field.number, dimension);
        Ok(Some((name, new)))
    }
}

/// Returns the names of dimensions of the main graph's inputs, outputs and values.
pub fn dimension_names(model: &ModelProto) -> BTreeSet<&str> {
    fn add<'m>(declared: &'m TypeProto, names: &mut BTreeSet<&'m str>) {
        use type_proto::Value as V;
        let (shape, inner) = match &declared.value {
            Some(V::TensorType(tensor)) => (tensor.shape.as_ref(), None),
            Some(V::SparseTensorType(tensor)) => (tensor.shape.as_ref(), None),
            Some(V::SequenceType(sequence)) => (None, sequence.elem_type.as_deref()),
            Some(V::OptionalType(optional)) => (None, optional.elem_type.as_deref()),
            Some(V::MapType(map)) => (None, map.value_type.as_deref()),
            Some(V::OpaqueType(_)) | None => (None, None),
        };
        names.extend(shape.iter().flat_map(|shape| &shape.dim).filter_map(|dim| match &dim.value {
            Some(dimension::Value::DimParam(name)) if !name.is_empty() => Some(name.as_str()),
            _ => None,
        }));
        if let Some(inner) = inner {
            add(inner, names);
        }
    }
    let mut names = BTreeSet::new();
    let graphs = model.graph.iter();
    let infos = graphs.flat_map(|graph| graph.input.iter().chain(&graph.output).chain(&graph.value_info));
    infos.filter_map(|info: &ValueInfoProto| info.r#type.as_ref()).for_each(|declared| add(declared, &mut names));
    names
}

/// Error of moving external data into a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// The file is not a model.
    #[error(transparent)]
    Broken(#[from] BrokenFile),
    /// The data of a tensor cannot be read. The reason names the tensor.
    #[error("{0}")]
    Data(String),
    /// The file would be larger than protobuf decoders accept.
    #[error(
        "the file would have over {MAX_FILE} bytes, which protobuf decoders do not accept; keep the data in separate files"
    )]
    TooLarge,
}

impl From<BrokenEncoding> for InlineError {
    fn from(error: BrokenEncoding) -> InlineError {
        InlineError::Broken(BrokenFile(error))
    }
}

/// Moves the external data of all tensors into the file; `read` returns the bytes of a tensor, or an error that names
/// the tensor. Returns the new file, or `None` if no tensor has external data.
pub fn inline_external(
    file: &[u8],
    read: &dyn Fn(&TensorProto) -> Result<Bytes, String>,
) -> Result<Option<Vec<u8>>, InlineError> {
    let mut total = file.len();
    let mut edit = |kind: Kind, _: usize, field: &WireField| -> Result<FieldEdit, InlineError> {
        let payload = field.payload.clone().filter(|_| kind.field(field.number) == Kind::Tensor);
        let Some(payload) = payload else { return Ok(FieldEdit::Enter) };
        let mut tensor = Rope::default();
        let mut is_external = false;
        for part in fields(file, payload.clone()) {
            let part = part?;
            match part.number {
                TENSOR_EXTERNAL_DATA => is_external = true,
                TENSOR_DATA_LOCATION | TENSOR_RAW_DATA => {}
                _ => tensor.copy(part.whole),
            }
        }
        if !is_external {
            return Ok(FieldEdit::Keep);
        }
        let decoded = TensorProto::decode(file.get(payload).unwrap_or_default()).unwrap_or_default();
        if decoded.data_location() != tensor_proto::DataLocation::External {
            return Ok(FieldEdit::Keep);
        }
        let data = read(&decoded).map_err(InlineError::Data)?;
        total = total.saturating_add(data.len());
        if total > MAX_FILE {
            return Err(InlineError::TooLarge);
        }
        tensor.bytes(TENSOR_RAW_DATA, &data);
        let mut new = Rope::default();
        new.nested(field.number, tensor);
        Ok(FieldEdit::Replace(new))
    };
    Ok(rewrite(file, &mut edit)?.map(|rope| rope.bytes_of(file)))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    const MODEL: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[N, 3, M] x, seq(float[N]) s, bool c) => (float[N, 3, M] y) {
            t = Neg (x)
            y = If (c) <
                then_branch = then () => (float[N, 3, M] a) { a = Identity (t) },
                else_branch = other () => (float[N, 3, M] b) { b = Identity (x) }
            >
        }"#;

    #[test]
    fn a_named_dimension_becomes_a_size_in_the_main_graph() {
        let model = parse_model(MODEL).unwrap();
        assert_eq!(dimension_names(&model).into_iter().collect::<Vec<_>>(), ["M", "N"]);
        let edits = FileEdits { dimensions: BTreeMap::from([("N".to_owned(), 0)]), ..FileEdits::default() };
        let file = model.encode_to_vec();
        let edited = edits.apply(&file).unwrap().unwrap();
        let texts: Vec<&str> = edited.edits.iter().map(|edit| edit.text.as_str()).collect();
        assert_eq!(texts, ["dimension N becomes 0 in 3 places"]);
        let expected = MODEL
            .replace("g (float[N, 3, M] x, seq(float[N]) s", "g (float[0, 3, M] x, seq(float[0]) s")
            .replace("=> (float[N, 3, M] y)", "=> (float[0, 3, M] y)");
        assert_eq!(edited.bytes(&file), parse_model(&expected).unwrap().encode_to_vec());
        assert!(FileEdits::default().apply(&file).unwrap().is_none());
    }

    #[test]
    fn stripped_parts_are_removed_in_every_message() {
        let mut model = parse_model(MODEL).unwrap();
        let file = model.encode_to_vec();
        model.doc_string = Some("a".to_owned());
        let graph = model.graph.as_mut().unwrap();
        graph.doc_string = Some("b".to_owned());
        graph.input[0].doc_string = Some("c".to_owned());
        graph.node[1].attribute[0].g.as_deref_mut().unwrap().node[0].rare_mut().doc_string = Some("d".into());
        let documented = model.encode_to_vec();
        let docs = FileEdits { strip: BTreeSet::from([Strip::Docs]), ..FileEdits::default() };
        let edited = docs.apply(&documented).unwrap().unwrap();
        assert_eq!((edited.edits[0].text.as_str(), edited.bytes(&documented)), ("4 doc_strings removed", file));
        let others = FileEdits { strip: BTreeSet::from([Strip::Metadata, Strip::Training]), ..FileEdits::default() };
        assert!(others.apply(&documented).unwrap().is_none());
    }

    #[test]
    fn external_data_moves_into_the_file() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]>
            g () => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Neg (w) }"#;
        let model = parse_model(text).unwrap();
        let file = model.encode_to_vec();
        let read = |_: &TensorProto| Ok(Bytes::from_static(&[0, 0, 128, 63, 0, 0, 0, 64]));
        let inlined = inline_external(&file, &read).unwrap().unwrap();
        let inlined = ModelProto::decode(inlined.as_slice()).unwrap();
        let tensor = &inlined.graph.as_ref().unwrap().initializer[0];
        assert!(tensor.external_data.is_empty() && tensor.data_location.is_none());
        assert_eq!(tensor.raw_data.as_deref(), Some(&[0, 0, 128, 63, 0, 0, 0, 64][..]));
        let fails = |_: &TensorProto| Err("tensor 'w': no such file".to_owned());
        assert_eq!(inline_external(&file, &fails).unwrap_err().to_string(), "tensor 'w': no such file");
        assert!(inline_external(&inlined.encode_to_vec(), &read).unwrap().is_none());
    }
}
