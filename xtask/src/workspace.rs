//! Folders of the workspace.

use std::env;
use std::path::{Path, PathBuf};

/// Folder below specs/ of the operator versions of the next release of ONNX.
pub(crate) const NEXT: &str = "next";

/// Returns the workspace's root folder.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Returns cargo's target folder.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}
