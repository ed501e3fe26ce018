//! Identification of files that are not models.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{GraphProto, Message, TensorProto};

use crate::finding::{Finding, Place};
use crate::rules::RuleId;
use crate::scan::source::Source;

/// Bytes at the beginning that identify a file.
const HEAD_BYTES: usize = 512;

/// Maximum size of a file that is decoded completely for identification.
const MAX_DECODED_BYTES: u64 = 64 << 20;

/// File format, identified by bytes at a fixed position.
struct Format {
    at: usize,
    magic: &'static [u8],
    name: &'static str,
    edit: &'static str,
}

const fn format(at: usize, magic: &'static [u8], name: &'static str, edit: &'static str) -> Format {
    Format { at, magic, name, edit }
}

/// Formats that begin unlike any model: none of them starts with a field of `ModelProto`.
const FORMATS: [Format; 17] = [
    format(4, b"ORTM", "a model in the ORT format of ONNX Runtime", "use the .onnx file that it was converted from"),
    format(4, b"TFL3", "a TensorFlow Lite model", "convert it to ONNX, for instance with tf2onnx"),
    format(
        0,
        b"version https://git-lfs",
        "a pointer of Git LFS instead of the file",
        "download the file with git lfs pull",
    ),
    format(
        0,
        b"PK\x03\x04",
        "a zip archive, as PyTorch and NumPy save",
        "export the model to ONNX, or unpack the archive",
    ),
    format(0, b"\x89HDF\r\n", "an HDF5 file, as Keras saves", "convert the model to ONNX, for instance with tf2onnx"),
    format(0, b"\x1f\x8b", "compressed with gzip", "unpack it with gunzip"),
    format(0, b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with unzstd"),
    format(0, b"\xfd7zXZ\0", "compressed with xz", "unpack it with unxz"),
    format(0, b"BZh", "compressed with bzip2", "unpack it with bunzip2"),
    format(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    format(257, b"ustar", "a tar archive", "unpack it with tar"),
    format(0, b"\x93NUMPY", "a NumPy array", "use the file of the model"),
    format(0, b"GGUF", "a GGUF model of llama.cpp", "export the model to ONNX"),
    format(0, b"\x80\x02", "a Python pickle, as PyTorch saves", "export the model with torch.onnx.export"),
    format(0, b"\x80\x03", "a Python pickle", "export the model to ONNX"),
    format(0, b"\x80\x04", "a Python pickle, as scikit-learn's models are saved", "convert the model with skl2onnx"),
    format(0, b"\x80\x05", "a Python pickle, as scikit-learn's models are saved", "convert the model with skl2onnx"),
];

/// Identifies a file that begins with the first bytes of another format.
pub(super) fn identify_magic<S: Source + ?Sized>(source: &S) -> Option<Finding> {
    let head = head(source);
    let is = |format: &&Format| head.get(format.at..).is_some_and(|bytes| bytes.starts_with(format.magic));
    FORMATS.iter().find(is).map(|format| not_a_model(format.name, format.edit))
}

/// Identifies a file that is known not to be a model.
pub(super) fn identify_content<S: Source + ?Sized>(source: &S) -> Option<Finding> {
    let head = head(source);
    if head.get(8..).is_some_and(|bytes| bytes.starts_with(b"{\"")) {
        return Some(not_a_model("a safetensors file, which contains only weights", "export the model to ONNX"));
    }
    if let Some(finding) = text(&head) {
        return Some(finding);
    }
    if source.len() > MAX_DECODED_BYTES {
        return None;
    }
    // bounded: by MAX_DECODED_BYTES.
    let mut bytes = vec![0; usize::try_from(source.len()).ok()?];
    source.read_at(0, &mut bytes).ok()?;
    if let Some(finding) = tensor(&bytes) {
        return Some(finding);
    }
    let graph = GraphProto::decode(bytes.as_slice()).ok()?;
    let is_graph = graph.node.iter().any(|node| node.op_type.is_some()) && !graph.output.is_empty();
    is_graph.then(|| {
        not_a_model("a GraphProto, which is only the graph of a model", "wrap it in a ModelProto with opset_import")
    })
}

/// Identifies a tensor, as stored in a data set of a test.
fn tensor(bytes: &[u8]) -> Option<Finding> {
    let tensor = TensorProto::decode(bytes).ok()?;
    let element = ElementType::from_code(tensor.data_type?)?;
    let name = format!("a TensorProto (tensor({element}){:?}), as in the data sets of test cases", tensor.dims);
    Some(not_a_model(&name, "use the model.onnx of the test case"))
}

fn text(head: &[u8]) -> Option<Finding> {
    let text = std::str::from_utf8(head.get(..head.len().min(HEAD_BYTES / 2))?).or_else(|error| {
        // The last character may be truncated.
        std::str::from_utf8(
            head.get(..error.valid_up_to()).filter(|valid| valid.len() > HEAD_BYTES / 4).unwrap_or_default(),
        )
    });
    let text = text.ok().filter(|text| !text.is_empty())?;
    if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    Some(match text.trim_start().chars().next() {
        Some('{' | '[') => not_a_model("JSON", "use the protobuf file (.onnx) of the model"),
        Some('<') if text.contains("ir_version") => {
            not_a_model("a model in ONNX's text syntax", "encode it with onnx.parser.parse_model and onnx.save")
        }
        Some('<') => not_a_model("an XML or HTML document", "download the file itself, not the web page about it"),
        _ => not_a_model("a text file", "use the protobuf file (.onnx) of the model"),
    })
}

fn head<S: Source + ?Sized>(source: &S) -> Vec<u8> {
    // bounded: by HEAD_BYTES.
    let mut head = vec![0; usize::try_from(source.len()).map_or(HEAD_BYTES, |length| length.min(HEAD_BYTES))];
    match source.read_at(0, &mut head) {
        Ok(()) => head,
        Err(_) => Vec::new(),
    }
}

fn not_a_model(name: &str, edit: &str) -> Finding {
    Finding::new(RuleId::FileNoModel, Place::default(), format!("not an ONNX model: the file is {name}"))
        .with_edit(edit)
}
