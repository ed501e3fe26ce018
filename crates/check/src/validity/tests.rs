//! Models with their expected findings, as rule and place; together they cover every rule for models.

use std::collections::BTreeSet;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message, ModelProto, onnx};

use crate::limits::Limits;
use crate::rules::RuleId;
use crate::scan::Folder;
use crate::validity::check;

/// Folder with one file.
struct OneFile;

impl Folder for OneFile {
    fn size_of(&self, location: &str) -> Option<u64> {
        (location == "w.bin").then_some(8)
    }
}

/// Returns the rules of the findings of a model, in order, without notes.
fn rules(bytes: &[u8]) -> Vec<&'static str> {
    let report = check(bytes, Some(&OneFile), &Limits::default());
    for finding in &report.findings {
        assert!(!finding.message.is_empty() && !finding.message.ends_with('.'), "{finding}");
    }
    report.findings.iter().map(|finding| finding.rule.id()).collect()
}

const ROWS: &[(&str, &[&str])] = &[
    // A model without findings.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }", &[]),
    // Versions and imports.
    ("<opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) }", &["ir/missing"]),
    ("<ir_version: 99, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) }", &["ir/unknown"]),
    ("<ir_version: 2, opset_import: [\"\" : 5]> g (float x) => (float y) { y = Neg (x) }", &["ir/old"]),
    ("<ir_version: 4, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) }", &["ir/opset"]),
    ("<ir_version: 3, opset_import: [\"\" : 7]> g () => (float y) <float w = {1}> { y = Neg (w) }", &["ir/initializer"]),
    ("<ir_version: 8, opset_import: [\"\" : 13]> g (int4[2] x) => (int4[2] y) { y = Identity (x) }", &["node/type", "ir/feature"]),
    ("<ir_version: 10, opset_import: [\"\" : 0]> g (float x) => (float y) { y = Neg (x) }", &["opset/invalid"]),
    ("<ir_version: 10, opset_import: [\"\" : 99]> g (float x) => (float y) { y = Neg (x) }", &["opset/unknown"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx\" : 20]> g (float x) => (float y) { y = Neg (x) }", &["opset/twice"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"\" : 21]> g (float x) => (float y) { y = Neg (x) }", &["opset/repeated"]),
    ("<ir_version: 10, opset_import: [\"com.x\" : 1]> g (float x) => (float y) { y = com.x.Op (x) }", &["opset/foreign"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = com.x.Op (x) }", &["opset/not-imported"]),
    // Operators.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Negg (x) }", &["node/operator"]),
    ("<ir_version: 10, opset_import: [\"\" : 13]> g (float x) => (float y) { y = Gelu (x) }", &["node/opset"]),
    ("<ir_version: 10, opset_import: [\"\" : 10]> g (float[1,1,2,2] x, float[4] s) => (float[1,1,2,2] y) { y = Upsample (x, s) }", &["node/deprecated"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Add (x) }", &["node/arity"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg <a = 1> (x) }", &["node/attribute"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Softmax <axis = 1.5> (x) }", &["node/attribute-type"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Cast (x) }", &["node/attribute-missing"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 2, 3] x) => (float[1, 2, 3] y) { y = Gelu <approximate = \"Tanh\"> (x) }", &["node/attribute-value", "node/constraint"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (int64 x) => (int64 y) { y = Ceil (x) }", &["node/type"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x, float[3] z) => (float[2] y) { y = Add (x, z) }", &["node/constraint"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) z = Neg (x) }", &["node/dead"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x, int64[c] i) => (y) { y = Gather <axis = 1000> (x, i) }",
      &["graph/output-type", "node/constraint"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x) => (float[a, b] y) { y = Softmax <axis = 2> (x) }", &["node/constraint"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x, int64[c] i) => (float[a, c] y) { y = Gather <axis = 1> (x, i) }", &[]),
    // Too many elements to run with.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 64, 55, 55] x) => (float[1, 128, 55, 55] y) { y = Concat <axis = 7> (x, x) }",
      &["node/constraint"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 64, 55, 55] x) => (float[1, 128, 55, 55] y) { y = Concat <axis = 1> (x, x) }", &[]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[1000000000000, 1000000000000] x) => (y) { y = Softmax <axis = -3> (x) }",
      &["graph/output-type", "node/constraint"]),
    // Names and order.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (q) }", &["value/undefined"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (z) z = Neg (x) }", &["value/unsorted"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (z) z = Neg (y) }", &["value/cycle"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) y = Abs (x) }", &["value/twice"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x, float x) => (float y) { y = Neg (x) }", &["graph/input-name"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { z = Neg (x) }", &["graph/output-missing", "node/dead"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y, float y) { y = Neg (x) }", &["graph/output-twice"]),
    // Declared types and shapes.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (double y) { y = Neg (x) }", &["value/type"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[3] y) { y = Neg (x) }", &["value/shape"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (x) => (float y) { y = Neg (x) }", &["graph/input-type"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (y) { y = Neg (x) }", &["graph/output-type"]),
    // Subgraphs.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (bool b, float x) => (float y) {
        y = If (b) <then_branch = t () => (float a) { a = Neg (x) }, else_branch = e () => (float c, float d) { c = Abs (x) d = Neg (x) }>
      }", &["subgraph/arity"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (bool b, float x) => (y) {
        y = If (b) <then_branch = t () => (float a) { a = Neg (x) }, else_branch = e () => (double c) { c = Cast <to = 11> (x) }>
      }", &["graph/output-type", "subgraph/type"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g (int64 m, bool b, float x) => (float y) {
        y = Loop (m, b, x) <body = l (int64 i, bool b, float s) => (bool c, float t) { c = Identity (b) t = Neg (s) }>
      }", &["value/shadowed"]),
    // Tensors.
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[2] y) <float[2] w = [\"location\": \"w.bin\"]> { y = Neg (w) }", &[]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[3] y) <float[3] w = [\"location\": \"w.bin\"]> { y = Neg (w) }", &["external/size"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[2] y) <float[2] w = [\"location\": \"v.bin\"]> { y = Neg (w) }", &["external/missing"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[2] y) <float[2] w = [\"location\": \"../w.bin\"]> { y = Neg (w) }", &["external/location"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float y) <float w = [\"location\": \"w.bin\", \"offset\": \"+4\"]> { y = Neg (w) }", &["external/entry"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float y) <float w = [\"location\": \"w.bin\", \"offset\": \"4\"]> { y = Neg (w) }", &[]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[2] y) <float[2] w = [\"offset\": \"0\"]> { y = Neg (w) }", &["external/entry"]),
    ("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float y) <float w = {1}, float w = {2}> { y = Neg (w) }", &["tensor/name"]),
    // Functions.
    ("<ir_version: 7, opset_import: [\"\" : 13, \"l\" : 1]> g (float x) => (float y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 13]> f (a) => (b) { b = Neg (a) }", &["opset/foreign", "ir/function"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float x) => (float y) { y = l.f (x, x) }
      <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { b = Neg (a) }", &["opset/foreign", "function/arity"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float x) => (float y) { y = l.f <k = 1> (x) }
      <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { b = Neg (a) }", &["opset/foreign", "function/attribute"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float x) => (float y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 21]> f <alpha> (a) => (b) { b = Elu <alpha: float = @alpha> (a) }", &["opset/foreign", "function/attribute-missing"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float x) => (float y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 20]> f (a) => (b) { b = Neg (a) }", &["opset/foreign", "function/opset"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float x) => (float y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 21, \"l\" : 1]> f (a) => (b) { b = l.f (a) }", &["opset/foreign", "function/recursive"]),
    ("<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (int64 x) => (int64 y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { b = Ceil (a) }", &["opset/foreign", "node/type"]),
];

#[test]
fn models_have_the_findings_of_their_rows() {
    let mut mismatches = Vec::new();
    for (text, expected) in ROWS {
        let found = rules(&parse_model(text).unwrap().encode_to_vec());
        let found: BTreeSet<&str> = found.into_iter().collect();
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        // A finding that repeats for every call of a function is listed once.
        let found: BTreeSet<&str> =
            found.into_iter().filter(|rule| *rule != "opset/foreign" || expected.contains(rule)).collect();
        if found != expected {
            mismatches.push(format!("{text}\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert!(mismatches.is_empty(), "{} rows:\n{}", mismatches.len(), mismatches.join("\n"));
}

/// Returns an encoded model after a change.
fn changed(change: impl FnOnce(&mut ModelProto)) -> Vec<u8> {
    let text =
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
        a = Add (x, w) y = l.f (a)
      }
      <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { b = Neg (a) }";
    let mut model = parse_model(text).unwrap();
    change(&mut model);
    model.encode_to_vec()
}

fn tensor(model: &mut ModelProto) -> &mut onnx::TensorProto {
    &mut model.graph.as_mut().unwrap().initializer[0]
}

fn node(model: &mut ModelProto) -> &mut onnx::NodeProto {
    &mut model.graph.as_mut().unwrap().node[0]
}

#[expect(clippy::too_many_lines, reason = "a list of changes, each with the rule that it breaks")]
#[test]
fn messages_without_a_text_form_are_found() {
    let check = |rule: &str, change: &dyn Fn(&mut ModelProto)| {
        let found = rules(&changed(change));
        assert!(found.contains(&rule), "{rule}: {found:?}");
    };
    assert_eq!(rules(&changed(|_| ())), ["opset/foreign"]);
    check("model/no-graph", &|model| model.graph = None);
    check("opset/missing", &|model| model.opset_import.clear());
    check("graph/name", &|model| model.graph.as_mut().unwrap().name = None);
    check("tensor/type", &|model| tensor(model).data_type = Some(99));
    check("tensor/dims", &|model| tensor(model).dims = vec![-2]);
    // More bytes than any number can hold, for stored and for external data.
    check("tensor/dims", &|model| tensor(model).dims = vec![1 << 62]);
    check("tensor/dims", &|model| {
        tensor(model).dims = vec![1 << 62];
        tensor(model).data_location = Some(onnx::tensor_proto::DataLocation::External.into());
    });
    check("tensor/fields", &|model| tensor(model).int32_data = vec![1]);
    check("tensor/field", &|model| {
        tensor(model).raw_data = None;
        tensor(model).float_data.clear();
        tensor(model).int64_data = vec![1, 2];
    });
    check("tensor/size", &|model| tensor(model).dims = vec![3]);
    check("tensor/segment", &|model| tensor(model).segment = Some(onnx::tensor_proto::Segment::default()));
    check("tensor/text", &|model| {
        *tensor(model) = onnx::TensorProto {
            name: Some("w".to_owned()),
            data_type: Some(8),
            string_data: vec![bytes::Bytes::from_static(b"\xff")],
            ..Default::default()
        };
    });
    check("tensor/sparse", &|model| {
        let values = onnx::TensorProto { name: Some("s".to_owned()), ..tensor(model).clone() };
        let sparse = onnx::SparseTensorProto { values: Some(values), indices: None, dims: vec![4] };
        model.graph.as_mut().unwrap().sparse_initializer.push(sparse);
    });
    check("value/type-form", &|model| {
        let input = model.graph.as_mut().unwrap().input[0].r#type.as_mut().unwrap();
        if let Some(onnx::type_proto::Value::TensorType(tensor)) = &mut input.value {
            tensor.elem_type = Some(99);
        }
    });
    let attribute = |name: &str, kind: i32| onnx::AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(kind),
        i: Some(1),
        ..Default::default()
    };
    check("node/attribute-form", &|model| node(model).attribute = vec![attribute("a", 1)]);
    check("node/attribute-twice", &|model| node(model).attribute = vec![attribute("a", 2), attribute("a", 2)]);
    check("node/attribute-reference", &|model| {
        let reference = onnx::AttributeProto { ref_attr_name: Some("b".to_owned()), i: None, ..attribute("a", 2) };
        node(model).attribute = vec![reference];
    });
    check("function/twice", &|model| model.functions.push(model.functions[0].clone()));
    check("function/attribute-twice", &|model| model.functions[0].attribute = vec!["k".to_owned(), "k".to_owned()]);
    check("node/experimental", &|model| {
        *node(model) = onnx::NodeProto {
            op_type: Some("FlexAttention".to_owned()),
            domain: Some("ai.onnx.preview".to_owned()),
            output: vec!["a".to_owned()],
            ..Default::default()
        };
        model
            .opset_import
            .push(onnx::OperatorSetIdProto { domain: Some("ai.onnx.preview".to_owned()), version: Some(1) });
    });
}

#[test]
fn the_tests_reach_every_rule() {
    let own = include_str!("tests.rs");
    let scans = include_str!("../scan/tests.rs");
    for rule in RuleId::ALL {
        let written = format!("\"{}\"", rule.id());
        assert!(own.contains(&written) || scans.contains(&written), "no test has a finding of {rule}");
    }
}

#[test]
fn the_lowest_ir_version_says_why() {
    let report = |bytes: &[u8]| check(bytes, None, &Limits::default()).facts.unwrap().ir;
    let ir = report(&changed(|model| model.functions.clear()));
    assert_eq!((ir.lowest, ir.lowest_text().as_str()), (4, "needs IR 4 or newer: initializers that are not inputs"));
    assert!(ir.allows(9) && !ir.allows(3) && ir.declared == Some(10));
    let ir = report(&changed(|model| tensor(model).data_type = Some(21)));
    assert_eq!(ir.lowest_text(), "needs IR 10 or newer: uint4");
    assert_eq!(ir.release.map(|need| need.ir), Some(10));
}
