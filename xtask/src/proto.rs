//! Generates the ONNX messages from proto/onnx.proto through protox, so that no `protoc` is needed.

use std::path::Path;

use anyhow::{Context, Result};
use prost_build::{Config, Module};

/// Returns the Rust source of crates/reference/src/proto/onnx.rs.
pub(crate) fn generate(root: &Path) -> Result<String> {
    let folder = root.join("proto");
    let files = protox::compile(["onnx.proto"], [&folder]).context("proto/onnx.proto")?;
    let requests = files.file.into_iter().map(|file| (Module::from_protobuf_package_name("onnx"), file)).collect();
    let mut config = Config::new();
    config.bytes(["."]).extern_path(".onnx.NodeProto", "crate::proto::node::NodeProto");
    // A node has many attributes, and few of them have any of these.
    for field in ["t", "g", "sparse_tensor", "tp"] {
        config.boxed(format!(".onnx.AttributeProto.{field}"));
    }
    config.generate(requests)?.into_values().next().context("no message was generated")
}
