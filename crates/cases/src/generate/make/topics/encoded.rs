//! Patterns of encodings: a tensor that is stored in its typed field or in raw bytes, and passed to the output.

use crate::case::Level;
use crate::generate::file::alternatives::OneOrEach;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::topics::file::{FormFile, PatternFile};
use crate::generate::make::topics::tensor::{EncodingFile, TensorFile};

/// Returns a pattern for each way in which an encoding stores its tensor.
pub(crate) fn patterns_of_encodings(encodings: &[EncodingFile]) -> Vec<PatternFile> {
    let ways = |encoding: &EncodingFile| {
        let (typed, raw) = encoding.stored.given();
        [("typed", typed), ("raw", raw)].into_iter().filter(|(_, is_given)| *is_given).map(|(way, _)| way).collect()
    };
    let pattern = |encoding: &EncodingFile| {
        let ways: Vec<&str> = ways(encoding);
        ways.into_iter().map(|way| encoded(encoding, way)).collect::<Vec<_>>()
    };
    encodings.iter().flat_map(pattern).collect()
}

fn encoded(encoding: &EncodingFile, way: &str) -> PatternFile {
    let dims: Vec<String> = encoding.dims.iter().map(i64::to_string).collect();
    let shape = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
    let output = encoding.output.as_ref().unwrap_or(&encoding.r#type);
    let operator = encoding.operator.as_deref().unwrap_or("Identity");
    let tensor = TensorFile {
        name: "w".to_owned(),
        r#type: Some(encoding.r#type.clone()),
        dims: encoding.dims.clone(),
        stored: encoding.stored.only(way == "raw"),
        ..TensorFile::default()
    };
    let value = ValueFile {
        r#type: Some(output.clone()),
        values: Some(OneOrEach::One(encoding.values.clone())),
        ..ValueFile::default()
    };
    let newest = if operator == "Identity" { 25 } else { 28 };
    let note = encoding.note.as_deref().map(|note| format!("{note}/")).unwrap_or_default();
    PatternFile {
        name: format!("{way}/{note}T={}", encoding.r#type),
        says: "the typed field and raw bytes of a tensor mean the same elements (onnx.proto, TensorProto)".to_owned(),
        level: Level::Required,
        threads: Vec::new(),
        good: FormFile {
            model: Some(format!(
                "<ir_version: 13, opset_import: [\"\" : {newest}]> g () => ({output}{shape} y) {{ y = {operator} (w) }}"
            )),
            initializers: vec![tensor],
            outputs: Ordered(vec![("y".to_owned(), value)]),
            ..FormFile::default()
        },
        near: Ordered::default(),
        refused: Ordered::default(),
        without: Ordered::default(),
    }
}
