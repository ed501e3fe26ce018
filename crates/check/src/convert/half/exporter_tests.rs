//! Models of exporters in half precision.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto};

use crate::convert::half::tests::errors;
use crate::convert::half::{HalfError, HalfRequest, to_half};
use crate::limits::Limits;

fn onnx_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            onnx_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "onnx") {
            found.push(path);
        }
    }
}

#[test]
fn models_of_exporters_become_valid_models() {
    let (mut files, mut converted) = (Vec::new(), 0);
    onnx_files(Path::new("../../testdata/exporters"), &mut files);
    for file in &files {
        let model = ModelProto::decode(fs::read(file).unwrap().as_slice()).unwrap();
        let known: BTreeSet<String> = errors(&model).into_iter().map(|finding| finding.message).collect();
        for element in [ElementType::Float16, ElementType::Bfloat16] {
            let half = match to_half(&model, &HalfRequest::new(element), &Limits::default()) {
                Ok(half) => half,
                Err(HalfError::Cast { .. } | HalfError::NoImport) => continue,
                Err(error) => panic!("{}: {error}", file.display()),
            };
            converted += usize::from(half.half_nodes > 0);
            let new = errors(&half.model).into_iter().find(|finding| !known.contains(&finding.message));
            assert_eq!(new, None, "{} in {element}", file.display());
        }
    }
    assert!(converted > files.len(), "{converted} of {}", files.len());
}
