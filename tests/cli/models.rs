//! Small models, valid and invalid, and test folders with them.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::onnx::StringStringEntryProto;
use onnx_conformance::reference::proto::{
    GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto, encode, texts,
};
use onnx_conformance::reference::tensor::Tensor;
use onnx_conformance::reference::types::ValueType;
use onnx_conformance::reference::value::Value;
use tempfile::TempDir;

/// A temporary folder of test folders.
pub(crate) struct Folder {
    home: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder { home: TempDir::new().unwrap() }
    }

    /// Creates a folder with one passing case.
    pub(crate) fn with_identity(name: &str) -> Folder {
        let folder = Folder::new();
        folder.add(name, &identity().encode_to_vec());
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    /// Returns the path of a file as an argument.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns the folder as an argument.
    pub(crate) fn argument(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path().join(name), bytes).unwrap();
        self.file(name)
    }

    /// Adds a case: the bytes of a model, an input and an output of three floats.
    pub(crate) fn add(&self, name: &str, model: &[u8]) -> PathBuf {
        let case = self.path().join(name);
        let set = case.join("test_data_set_0");
        fs::create_dir_all(&set).unwrap();
        fs::write(case.join("model.onnx"), model).unwrap();
        fs::write(set.join("input_0.pb"), encode::value(&three(), "x")).unwrap();
        fs::write(set.join("output_0.pb"), encode::value(&three(), "y")).unwrap();
        case
    }
}

/// Three floats.
pub(crate) fn three() -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[3], &[1.0, 2.0, 3.0]).unwrap())
}

/// Creates a node of ONNX's own domain.
pub(crate) fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |names: &[&str]| texts(names.iter().copied());
    NodeProto { op_type: Some(operator.into()), input: names(inputs), output: names(outputs), ..NodeProto::default() }
}

/// Creates a model from the input `x` to the output `y`, three floats each.
pub(crate) fn model(opset: i64, nodes: Vec<NodeProto>) -> ModelProto {
    let info = |name: &str| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Float), Some(&[3]))),
        ..ValueInfoProto::default()
    };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(opset) }],
        graph: Some(GraphProto {
            name: Some("graph".to_owned()),
            node: nodes,
            input: vec![info("x")],
            output: vec![info("y")],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

/// `y = x`.
pub(crate) fn identity() -> ModelProto {
    model(13, vec![node("Identity", &["x"], &["y"])])
}

/// `y = x + c`, where `c` is the tensor given.
pub(crate) fn with_initializer(tensor: TensorProto) -> ModelProto {
    let mut model = model(13, vec![node("Sum", &["x", "c"], &["y"])]);
    if let Some(graph) = &mut model.graph {
        graph.initializer.push(TensorProto { name: Some("c".to_owned()), ..tensor });
    }
    model
}

/// Creates a float tensor with this many bytes, whatever its dims.
pub(crate) fn raw(dims: &[i64], bytes: usize) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: Some(ElementType::Float.code()),
        raw_data: Some(vec![0; bytes].into()),
        ..TensorProto::default()
    }
}

/// Creates a tensor of three floats stored in another file.
pub(crate) fn external(location: &str) -> TensorProto {
    let entry = StringStringEntryProto { key: Some("location".to_owned()), value: Some(location.to_owned()) };
    TensorProto { data_location: Some(1), external_data: vec![entry], raw_data: None, ..raw(&[3], 0) }
}

/// Three floats. The last one differs from that of [`three`].
pub(crate) fn four() -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[3], &[1.0, 2.0, 4.0]).unwrap())
}
