//! The examples of every rule in `rules/*.yaml`, and more models with their expected findings.

use std::collections::BTreeSet;

use onnx_conformance_reference::model::text::{parse_graph, parse_model};
use onnx_conformance_reference::proto::encode::field;
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, Message, ModelProto, NodeProto, onnx, texts};

use crate::convert::{Target, convert};
use crate::finding::Finding;
use crate::limits::Limits;
use crate::rules::{Example, Level, RuleId};
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

/// Models that no entry of `rules/*.yaml` has: similar ones that are valid, and other ways to break a rule.
const ROWS: &[(&str, &[&str])] = &[
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = com.x.Op (x) }",
        &["opset/not-imported"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x, int64[c] i) => (y) { y = Gather <axis = 1000> (x, i) }",
        &["graph/output-type", "node/constraint"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x) => (float[a, b] y) { y = Softmax <axis = 2> (x) }",
        &["node/constraint"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[a, b] x, int64[c] i) => (float[a, c] y) { y = Gather <axis = 1> (x, i) }",
        &[],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 64, 55, 55] x) => (float[1, 128, 55, 55] y) { y = Concat <axis = 7> (x, x) }",
        &["node/constraint"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 64, 55, 55] x) => (float[1, 128, 55, 55] y) { y = Concat <axis = 1> (x, x) }",
        &[],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[1000000000000, 1000000000000] x) => (y) { y = Softmax <axis = -3> (x) }",
        &["graph/output-type", "node/constraint"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[2] y) <float[2] w = [\"offset\": \"0\"]> { y = Neg (w) }",
        &["external/entry"],
    ),
    (
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (int64 x) => (int64 y) { y = l.f (x) }
      <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { b = Ceil (a) }",
        &["node/type"],
    ),
    (
        "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]> g (float[2] w, float[2] x) => (float[2] d) {
            h = Mul (w, x)
            y = Neg (h)
            d = ai.onnx.preview.training.Gradient <xs = [\"h\"], zs = [\"w\", \"x\"], y = \"y\"> (h, w, x)
        }",
        &["node/constraint"],
    ),
    (
        "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]> g (float[2] w, float[2] x) => (float[2] d) {
            h = Mul (w, x)
            y = Mul (h, w)
            d = ai.onnx.preview.training.Gradient <xs = [\"h\"], zs = [\"w\"], y = \"y\"> (h, w)
        }",
        &[],
    ),
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

/// Changes that the entries of `rules/*.yaml` describe in words, by rule. Each turns the good model into the bad one.
const CHANGES: &[(&str, Change)] = &[
    ("file/truncated", Change::Bytes(|bytes| bytes.truncate(bytes.len() - 3))),
    (
        "file/nesting",
        Change::Model(|model| {
            let mut graph = GraphProto { name: Some("inner".to_owned()), ..GraphProto::default() };
            for _ in 0..200 {
                let attribute = AttributeProto {
                    name: Some("body".to_owned()),
                    r#type: Some(5),
                    g: Some(Box::new(graph)),
                    ..Default::default()
                };
                let node =
                    NodeProto { op_type: Some("Loop".into()), attribute: vec![attribute], ..NodeProto::default() };
                graph = GraphProto { node: vec![node], ..GraphProto::default() };
            }
            model.graph = Some(graph);
        }),
    ),
    (
        "file/limit",
        Change::Model(|model| {
            let graph = model.graph.as_mut().unwrap();
            graph.node.extend((0..10_001).map(|at| NodeProto {
                op_type: Some("Neg".into()),
                input: texts(["q"]),
                output: texts([format!("n{at}")]),
                ..NodeProto::default()
            }));
        }),
    ),
    (
        "file/text",
        Change::Bytes(|bytes| {
            let at = bytes.windows(3).position(|window| window == b"Neg").unwrap();
            bytes[at + 2] = 0xff;
        }),
    ),
    ("file/unknown-field", Change::Bytes(|bytes| bytes.extend(field(99, 1, b"a")))),
    ("model/no-graph", Change::Model(|model| model.graph = None)),
    (
        "ir/skipped",
        Change::Model(|model| {
            let entry = onnx::StringStringEntryProto { key: Some("a".to_owned()), value: Some("b".to_owned()) };
            node(model).rare_mut().metadata_props.push(entry);
        }),
    ),
    ("opset/missing", Change::Model(|model| model.opset_import.clear())),
    ("graph/name", Change::Model(|model| model.graph.as_mut().unwrap().name = None)),
    ("subgraph/name", Change::Model(|model| node(model).attribute[0].g.as_mut().unwrap().name = None)),
    (
        "value/type-form",
        Change::Model(|model| {
            let input = model.graph.as_mut().unwrap().input[0].r#type.as_mut().unwrap();
            if let Some(onnx::type_proto::Value::TensorType(tensor)) = &mut input.value {
                tensor.elem_type = Some(99);
            }
        }),
    ),
    ("tensor/type", Change::Model(|model| tensor(model).data_type = Some(99))),
    ("tensor/dims", Change::Model(|model| tensor(model).dims = vec![-2])),
    ("tensor/fields", Change::Model(|model| tensor(model).int32_data = vec![1])),
    (
        "tensor/field",
        Change::Model(|model| {
            tensor(model).raw_data = None;
            tensor(model).float_data.clear();
            tensor(model).int64_data = vec![1, 2];
        }),
    ),
    ("tensor/size", Change::Model(|model| tensor(model).dims = vec![3])),
    ("tensor/segment", Change::Model(|model| tensor(model).segment = Some(onnx::tensor_proto::Segment::default()))),
    (
        "tensor/text",
        Change::Model(|model| {
            tensor(model).string_data = vec![bytes::Bytes::from_static(b"\xff")];
        }),
    ),
    (
        "tensor/sparse",
        Change::Model(|model| {
            let values = onnx::TensorProto { name: Some("s".to_owned()), ..tensor(model).clone() };
            let sparse = onnx::SparseTensorProto { values: Some(values), indices: None, dims: vec![4] };
            model.graph.as_mut().unwrap().sparse_initializer.push(sparse);
        }),
    ),
    ("node/attribute-form", Change::Model(|model| node(model).attribute[0].r#type = Some(1))),
    (
        "node/attribute-twice",
        Change::Model(|model| {
            let attribute = node(model).attribute[0].clone();
            node(model).attribute.push(attribute);
        }),
    ),
    (
        "node/attribute-reference",
        Change::Model(|model| {
            node(model).attribute[0].i = None;
            node(model).attribute[0].ref_attr_name = Some("b".to_owned());
        }),
    ),
    (
        "node/experimental",
        Change::Model(|model| {
            node(model).op_type = Some("FlexAttention".into());
            node(model).domain = Some("ai.onnx.preview".into());
            model
                .opset_import
                .push(onnx::OperatorSetIdProto { domain: Some("ai.onnx.preview".to_owned()), version: Some(1) });
        }),
    ),
    ("function/twice", Change::Model(|model| model.functions.push(model.functions[0].clone()))),
    (
        "function/attribute-twice",
        Change::Model(|model| {
            model.functions[0].attribute = vec!["k".to_owned(), "k".to_owned()];
        }),
    ),
    ("tensor/location", Change::Model(|model| tensor(model).data_location = Some(2))),
    (
        "tensor/bits",
        Change::Model(|model| {
            tensor(model).raw_data = None;
            tensor(model).int32_data = vec![8, 64];
        }),
    ),
    ("external/fields", Change::Model(|model| tensor(model).float_data = vec![1.0, 2.0])),
    (
        "graph/quantization",
        Change::Model(|model| {
            let annotation = onnx::TensorAnnotation {
                tensor_name: Some("x".to_owned()),
                quant_parameter_tensor_names: vec![pair("SCALE_TENSOR", "nowhere")],
            };
            model.graph.as_mut().unwrap().quantization_annotation.push(annotation);
        }),
    ),
    ("training/initialization", Change::Model(|model| training(model).initialization = None)),
    ("training/algorithm", Change::Model(|model| training(model).algorithm = Some(algorithm("nowhere")))),
    ("training/binding-key", Change::Model(|model| training(model).update_binding = vec![pair("x", "v")])),
    ("training/binding-twice", Change::Model(|model| training(model).update_binding.push(pair("w", "v")))),
    (
        "training/binding-value",
        Change::Model(|model| training(model).initialization_binding = vec![pair("w", "nowhere")]),
    ),
    ("device/configuration", Change::Model(|model| devices(model).device = vec!["cpu:0".to_owned()])),
    ("device/reference", Change::Model(|model| drop(devices(model).name.replace("other".to_owned())))),
    ("device/tensor", Change::Model(|model| sharding(model).tensor_name = Some("z".to_owned()))),
    ("device/axis", Change::Model(|model| sharding(model).sharded_dim[0].axis = Some(2))),
    ("device/shards", Change::Model(|model| sharding(model).sharded_dim[0].simple_sharding[0].num_shards = None)),
];

/// Change of a good model.
enum Change {
    Model(fn(&mut ModelProto)),
    Bytes(fn(&mut Vec<u8>)),
}

/// Returns the bytes of the bad model of a rule, or the problem of its entry.
fn bad_model(rule: RuleId) -> Result<Vec<u8>, String> {
    match rule.bad() {
        Example::Text(text) => Ok(parse_model(text)
            .map_err(|error| format!("'bad' is not a model in text form: {error}"))?
            .encode_to_vec()),
        Example::Hex(hex) => {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            Ok((0..hex.len()).step_by(2).map(byte).collect())
        }
        Example::Change(words) => {
            let mut model = parse_model(rule.good()).map_err(|error| format!("'good' is not a model: {error}"))?;
            let Some((_, change)) = CHANGES.iter().find(|(id, _)| *id == rule.id()) else {
                return Err(format!("add the change '{words}' to CHANGES in crates/check/src/validity/tests.rs"));
            };
            match change {
                Change::Model(change) => {
                    change(&mut model);
                    Ok(model.encode_to_vec())
                }
                Change::Bytes(change) => {
                    let mut bytes = model.encode_to_vec();
                    change(&mut bytes);
                    Ok(bytes)
                }
            }
        }
    }
}

/// Returns the problems of the entry of a rule. Its bad model must have findings of the rule and of `also` only. Its good
/// model must have none of a level above note.
fn problems(rule: RuleId) -> Vec<String> {
    let bad = match bad_model(rule) {
        Ok(bad) => bad,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    let found: BTreeSet<&str> = rules(&bad).into_iter().collect();
    let expected: BTreeSet<&str> = rule.also().iter().copied().chain([rule.id()]).collect();
    if !found.contains(rule.id()) {
        problems.push(format!("'bad' has no finding of the rule, but of {found:?}; write a model that breaks it"));
    } else if found != expected {
        problems.push(format!(
            "'bad' has findings of {found:?}; list the others under 'also', which has {:?}",
            rule.also()
        ));
    }
    match parse_model(rule.good()) {
        Ok(model) => {
            let report = check(&model.encode_to_vec(), Some(&OneFile), &Limits::default());
            let is_unwanted = |finding: &&Finding| finding.level != Level::Note || finding.rule == rule;
            for finding in report.findings.iter().filter(is_unwanted) {
                problems.push(format!("'good' is not valid: {finding}"));
            }
        }
        Err(error) => problems.push(format!("'good' is not a model in text form: {error}")),
    }
    problems
}

#[test]
fn every_rule_is_found_in_its_bad_model_only() {
    let mut mismatches = Vec::new();
    for rule in RuleId::ALL {
        mismatches.extend(problems(rule).into_iter().map(|problem| format!("{}: {rule}: {problem}", rule.place())));
    }
    assert!(mismatches.is_empty(), "{} problems:\n{}", mismatches.len(), mismatches.join("\n"));
    let is_used = |id: &str| RuleId::ALL.iter().any(|rule| rule.id() == id && matches!(rule.bad(), Example::Change(_)));
    for (id, _) in CHANGES {
        assert!(is_used(id), "CHANGES has {id}, but no rule of this id has a change; remove it");
    }
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

fn node(model: &mut ModelProto) -> &mut NodeProto {
    &mut model.graph.as_mut().unwrap().node[0]
}

fn pair(key: &str, value: &str) -> onnx::StringStringEntryProto {
    onnx::StringStringEntryProto { key: Some(key.to_owned()), value: Some(value.to_owned()) }
}

/// An algorithm that computes `v` from `w` and another value of the main graph.
fn algorithm(other: &str) -> GraphProto {
    parse_graph(&format!("step () => (float[2] v) {{ v = Sub (w, {other}) }}")).unwrap()
}

/// Adds valid training information to a model that computes `y` from the initializer `w`.
fn training(model: &mut ModelProto) -> &mut onnx::TrainingInfoProto {
    let start = "start () => (float[2] s) { s = Constant <value = float[2] {0, 0}> () }";
    model.training_info.push(onnx::TrainingInfoProto {
        initialization: Some(parse_graph(start).unwrap()),
        algorithm: Some(algorithm("y")),
        initialization_binding: vec![pair("w", "s")],
        update_binding: vec![pair("w", "v")],
    });
    &mut model.training_info[0]
}

/// Adds a valid configuration of two devices, over which the first node shards its input `x` along the last axis.
fn devices(model: &mut ModelProto) -> &mut onnx::DeviceConfigurationProto {
    let half = onnx::SimpleShardedDimProto { num_shards: Some(2), dim: None };
    let sharding = onnx::ShardingSpecProto {
        tensor_name: Some("x".to_owned()),
        device: vec![0, 1],
        sharded_dim: vec![onnx::ShardedDimProto { axis: Some(-1), simple_sharding: vec![half] }],
        ..onnx::ShardingSpecProto::default()
    };
    node(model).rare_mut().device_configurations.push(onnx::NodeDeviceConfigurationProto {
        configuration_id: Some("both".to_owned()),
        sharding_spec: vec![sharding],
        pipeline_stage: None,
    });
    model.configuration.push(onnx::DeviceConfigurationProto {
        name: Some("both".to_owned()),
        num_devices: Some(2),
        device: Vec::new(),
    });
    &mut model.configuration[0]
}

fn sharding(model: &mut ModelProto) -> &mut onnx::ShardingSpecProto {
    devices(model);
    &mut node(model).rare_mut().device_configurations[0].sharding_spec[0]
}

#[test]
fn valid_training_information_and_device_configurations_have_no_findings() {
    let text = "<ir_version: 11, opset_import: [\"\" : 23]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
        y = Add (x, w)
      }";
    let mut model = parse_model(text).unwrap();
    training(&mut model);
    devices(&mut model);
    assert_eq!(rules(&model.encode_to_vec()), Vec::<&str>::new());
}

#[test]
fn constants_follow_the_inputs_of_a_subgraph_before_ir_version_4() {
    let found = |ir: i64, inputs: &str| {
        let text = format!(
            r#"<ir_version: {ir}, opset_import: ["" : 8]> g (int64 m, bool b, float x) => (float y) {{
                y = Loop (m, b, x) <body = l ({inputs}) => (bool c, float t) {{ c = Identity (d) t = Add (s, k) }}>
            }}"#
        );
        rules(&parse_model(&text).unwrap().encode_to_vec())
    };
    assert_eq!(found(3, "int64 i, bool d, float s, float k = {1}"), Vec::<&str>::new());
    assert!(found(3, "float k = {1}, int64 i, bool d, float s").contains(&"subgraph/initializer"));
    assert!(found(3, "int64 i, bool d, float s = {2}, float k = {1}").contains(&"subgraph/arity"));
    assert!(found(4, "int64 i, bool d, float s, float k = {1}").contains(&"subgraph/initializer"));
}

#[test]
fn sizes_that_no_number_holds_are_found_in_stored_and_external_tensors() {
    let found = rules(&changed(|model| tensor(model).dims = vec![1 << 62]));
    assert!(found.contains(&"tensor/dims"), "{found:?}");
    let found = rules(&changed(|model| {
        tensor(model).dims = vec![1 << 62];
        tensor(model).data_location = Some(onnx::tensor_proto::DataLocation::External.into());
    }));
    assert!(found.contains(&"tensor/dims"), "{found:?}");
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

#[test]
fn a_deprecated_operator_has_a_way_out() {
    for (operator, opset) in [("Upsample", 10), ("Upsample", 13), ("Scatter", 11)] {
        let inputs = if operator == "Scatter" { "x, i, x" } else { "x, s" };
        let text = format!(
            r#"<ir_version: 8, opset_import: ["" : {opset}]>
            g (float[1, 2] x, int64[1, 2] i, float[2] s) => (float[a, b] y) {{ y = {operator} ({inputs}) }}"#
        );
        let report = check(&parse_model(&text).unwrap().encode_to_vec(), None, &Limits::default());
        let finding = report.findings.iter().find(|finding| finding.rule == RuleId::NodeDeprecated).unwrap();
        assert!(finding.edit.as_deref().is_some_and(|edit| edit.contains("convert --opset")), "{text}: {finding}");
        // The edit holds: a later opset has no such node.
        let converted = convert(&parse_model(&text).unwrap(), &Target::opset(opset + 2));
        let nodes = converted.unwrap_or_else(|refusal| panic!("{text}: {refusal}")).model.graph.unwrap().node;
        assert!(nodes.iter().all(|node| node.op_type() != operator), "{text}");
    }
}

#[test]
fn a_finding_about_a_graph_has_the_fix_of_its_rule() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y, float[2] y) { y = Neg (x) }"#;
    let report = check(&parse_model(text).unwrap().encode_to_vec(), None, &Limits::default());
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    let edit = "add an Identity node for the second output and give it a name of its own";
    assert_eq!((finding.rule, finding.edit.as_deref()), (RuleId::GraphOutputTwice, Some(edit)));
}

#[test]
fn an_import_that_no_node_uses_is_a_note_and_asks_for_no_ir_version() {
    let text = |node: &str| {
        let text = format!(
            r#"<ir_version: 7, opset_import: ["" : 13, "ai.onnx.ml" : 5, "com.x" : 1]> g (float[2] x) => (float[2] y) {{ y = {node} (x) }}"#
        );
        rules(&parse_model(&text).unwrap().encode_to_vec())
    };
    assert_eq!(text("Neg"), ["opset/unused"]);
    assert_eq!(text("ai.onnx.ml.Binarizer"), ["ir/opset", "opset/unused"]);
}

#[test]
fn metadata_of_every_part_is_checked() {
    type Part = fn(&mut ModelProto) -> &mut Vec<onnx::StringStringEntryProto>;
    fn graph(model: &mut ModelProto) -> &mut GraphProto {
        model.graph.as_mut().unwrap()
    }
    let text = r#"<ir_version: 9, opset_import: ["" : 17, "f" : 1]>
        g (float[1] x) => (float[1] y) <float[1] w = {1}, float[1] a> {
            c = Constant <value = float[1] {1}> () a = Add (x, w) b = Add (a, c) y = f.h (b)
        }
        <domain: "f", opset_import: ["" : 17]> h (p) => (q) { q = Neg (p) }"#;
    let parts: [(Part, &str); 8] = [
        (|model| &mut model.functions[0].metadata_props, "function 'h'"),
        (|model| &mut model.functions[0].node[0].rare_mut().metadata_props, "the node"),
        (|model| &mut graph(model).metadata_props, "the graph"),
        (|model| &mut graph(model).node[1].rare_mut().metadata_props, "the node"),
        (|model| &mut graph(model).node[0].attribute[0].t.as_mut().unwrap().metadata_props, "attribute 'value'"),
        (|model| &mut graph(model).input[0].metadata_props, "value 'x'"),
        (|model| &mut graph(model).value_info[0].metadata_props, "value 'a'"),
        (|model| &mut graph(model).initializer[0].metadata_props, "initializer 'w'"),
    ];
    for (part, name) in parts {
        let mut model = parse_model(text).unwrap();
        let entry = |value: &str| onnx::StringStringEntryProto { key: Some("k".to_owned()), value: Some(value.into()) };
        part(&mut model).extend(["1", "2"].map(entry));
        let report = check(model.encode_to_vec().as_slice(), None, &Limits::default());
        let found: Vec<(&str, &str)> =
            report.findings.iter().map(|finding| (finding.rule.id(), finding.message.as_str())).collect();
        let twice = format!("metadata_props of {name} has the key 'k' twice");
        assert!(found.contains(&("model/metadata-key", twice.as_str())), "{name}: {found:?}");
        assert_eq!(found.iter().filter(|(rule, _)| *rule == "ir/skipped").count(), 1, "{name}: {found:?}");
    }
}
