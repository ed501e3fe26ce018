//! Generates the ONNX messages from proto/onnx.proto through protox, so that no `protoc` is needed.

use std::path::Path;

use anyhow::{Context, Result};
use prost_build::{Config, Module};

/// Returns the Rust source of crates/reference/src/proto/onnx.rs.
pub(crate) fn generate(root: &Path) -> Result<String> {
    let folder = root.join("proto");
    let files = protox::compile(["onnx.proto"], [&folder]).context("proto/onnx.proto")?;
    let requests = files.file.into_iter().map(|file| (Module::from_protobuf_package_name("onnx"), file)).collect();
    let code =
        Config::new().bytes(["."]).generate(requests)?.into_values().next().context("no message was generated")?;
    Ok(code)
}
