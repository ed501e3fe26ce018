//! Seeded faults in real models: each that reaches the outputs is found at the right node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::Target;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::onnx::StringStringEntryProto;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{
    Message as _, ModelProto, NodeProto, OperatorSetIdProto, decode, encode, texts,
};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_subject::{Ask, Builtin, Declaration, Ended, Host, Ran, Request, Response};

use super::reference::Seen;
use super::*;
use crate::models::comparison::Steps;
use crate::models::generated_inputs::InputPlan;

/// Memory limit of the built-in executor.
const BYTES: usize = 1 << 30;

/// Change of what the built-in executor computes.
#[derive(Clone, Debug)]
enum Seed {
    /// Multiplies the output of this name by a factor.
    Scaled(String, f32),
    /// Multiplies the second output by a factor, if the first is computed in the same model.
    Fused(String, String),
    /// A model that computes the output fails when it runs.
    Fails(String),
    /// A model that computes both outputs does not load.
    Refused(String, String),
}

/// Returns the positions of the nodes that were found.
fn positions(found: &Traced) -> Vec<usize> {
    found.places.iter().map(|place| place.index).collect()
}

/// The built-in executor with a seeded fault.
struct Seeded(Seed);

impl Seeded {
    /// Returns the outputs that must be in a model for the fault to show.
    fn names(&self) -> Vec<&str> {
        match &self.0 {
            Seed::Scaled(name, _) | Seed::Fails(name) => vec![name],
            Seed::Fused(first, second) | Seed::Refused(first, second) => vec![first, second],
        }
    }
}

impl Host for Seeded {
    fn declaration(&self) -> Declaration {
        Declaration::named("seeded", "1")
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let builtin = Builtin::new(Duration::from_mins(1));
        let mut model = decode::model(request.model.clone()).unwrap();
        let graph = model.graph.as_mut().unwrap();
        let computes = |name: &str| graph.node.iter().any(|node| node.output.iter().any(|output| output == name));
        if !self.names().into_iter().all(computes) {
            return builtin.run(request);
        }
        let (name, factor) = match &self.0 {
            Seed::Scaled(name, factor) => (name, *factor),
            Seed::Fused(_, name) => (name, 3.0),
            Seed::Fails(_) => return Ended::Answered(Response::run_error("a kernel failed")).into(),
            Seed::Refused(..) => return Ended::Answered(Response::load_error("a pattern is not supported")).into(),
        };
        scale(&mut model, name, factor);
        let bytes = model.encode_to_vec().into();
        builtin.run(&Request { model: &bytes, ..*request })
    }
}

/// Inserts nodes that multiply an output.
fn scale(model: &mut ModelProto, name: &str, factor: f32) {
    let graph = model.graph.as_mut().unwrap();
    let position = graph.node.iter().position(|node| node.output.iter().any(|output| output == name)).unwrap();
    let (right, scale) = (format!("{name} as it should be"), format!("{name} factor"));
    graph.node[position].output.iter_mut().filter(|output| *output == name).for_each(|it| *it = right.as_str().into());
    let multiply = NodeProto {
        op_type: Some("Mul".into()),
        input: texts([&right, &scale]),
        output: texts([name]),
        ..NodeProto::default()
    };
    graph.node.insert(position + 1, multiply);
    let factor = Tensor::of_floats(ElementType::Float, &[], &[f64::from(factor)]).unwrap();
    graph.initializer.push(encode::tensor(&factor, &scale));
}

/// A model of an exporter, with inputs.
struct Sample {
    path: PathBuf,
    bytes: Bytes,
    model: ModelProto,
    inputs: Vec<Named>,
    types: BTreeMap<String, ValueType>,
}

fn question<'a>(sample: &'a Sample, runtime: &'a dyn Host) -> TraceQuestion<'a> {
    TraceQuestion {
        model: &sample.bytes,
        folder: sample.path.parent(),
        inputs: &sample.inputs,
        runtime,
        reference: Reference::Builtin(BYTES),
        types: BTreeMap::new(),
        deadline: Deadline::never(),
        bytes: BYTES,
    }
}

fn trace(sample: &Sample, runtime: &dyn Host) -> Result<Trace, TraceError> {
    trace_model(&question(sample, runtime))
}

/// Reads the models of exporters that run on generated inputs.
fn samples() -> Vec<Sample> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/exporters");
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.extension().is_some_and(|end| end == "onnx")).filter_map(|path| sample(&path)).collect()
}

fn sample(path: &Path) -> Option<Sample> {
    let bytes: Bytes = std::fs::read(path).unwrap().into();
    let model = decode::model(bytes.clone()).unwrap();
    let plan = InputPlan::new(model.graph.as_ref().unwrap());
    (0..plan.ways()).find_map(|way| {
        let inputs = plan.inputs(way, 0, &Limits::default()).ok()?;
        let request = Request {
            id: "sample",
            model: &bytes,
            folder: path.parent(),
            inputs: &inputs,
            outputs: &[],
            ask: Ask::RUN,
        };
        let mut seen = Seen::default();
        Reference::Builtin(BYTES).run(&request, &Deadline::never(), &mut seen).ok()?;
        let types = seen.types;
        Some(Sample { path: path.to_owned(), bytes: bytes.clone(), model: model.clone(), inputs, types })
    })
}

impl Sample {
    /// Returns the position and the first output of each node of float tensors that is not a constant.
    fn float_nodes(&self) -> Vec<(usize, &str)> {
        let float = ValueType::Tensor(ElementType::Float);
        let nodes = self.model.graph.as_ref().unwrap().node.iter().enumerate();
        nodes
            .filter(|(_, node)| node.op_type() != "Constant")
            .filter_map(|(at, node)| Some((at, node.output.first()?.as_str())))
            .filter(|(_, name)| self.types.get(*name) == Some(&float))
            .collect()
    }
}

fn found(sample: &Sample, seed: &Seed) -> Option<Box<Traced>> {
    match trace(sample, &Seeded(seed.clone())).unwrap().outcome {
        TraceOutcome::Same { .. } => None,
        TraceOutcome::Found(found) => Some(found),
        other => panic!("{} {seed:?}: {other:?}", sample.path.display()),
    }
}

#[test]
fn a_wrong_node_of_a_real_model_is_found() {
    let (mut wrong, mut failing) = (0, 0);
    for sample in samples() {
        for (at, name) in sample.float_nodes() {
            if let Some(found) = found(&sample, &Seed::Scaled(name.to_owned(), 1.1)) {
                let place = format!("{} {name}", sample.path.display());
                assert_eq!((positions(&found), found.fault), (vec![at], Fault::Node), "{place}: {}", found.shown);
                wrong += 1;
            }
        }
        let nodes = sample.float_nodes();
        let Some(&(at, name)) = nodes.get(nodes.len() / 2) else { continue };
        let found = found(&sample, &Seed::Fails(name.to_owned())).unwrap();
        assert_eq!((positions(&found), found.fault), (vec![at], Fault::Node));
        assert!(found.actual.is_none() && found.shown == "fails when run: a kernel failed", "{}", found.shown);
        failing += 1;
    }
    assert!(wrong >= 30 && failing >= 10, "{wrong} wrong, {failing} failing");
}

#[test]
fn another_runtime_may_have_the_right_values() {
    let samples = samples();
    // Behind tens of quantizations, a factor of 1.1 is no larger than what rounding either way makes.
    let nodes = |sample: &&Sample| Steps::of_nodes(sample.model.graph.iter().flat_map(|graph| &graph.node));
    let exact = samples.iter().filter(|sample| nodes(sample) == Steps::None);
    let sample = exact.max_by_key(|sample| sample.float_nodes().len()).unwrap();
    let builtin = Builtin::new(Duration::from_mins(1));
    let mut count = 0;
    for (at, name) in sample.float_nodes().into_iter().step_by(3) {
        let seeded = Seeded(Seed::Scaled(name.to_owned(), 1.1));
        let question = TraceQuestion {
            reference: Reference::Host(&builtin),
            types: sample.types.clone(),
            ..question(sample, &seeded)
        };
        let trace = trace_model(&question).unwrap();
        if let TraceOutcome::Found(found) = &trace.outcome {
            assert_eq!((positions(found), trace.reference.starts_with("builtin ")), (vec![at], true));
            count += 1;
        }
    }
    assert!(count >= 3, "{count}");
}

/// A runtime that has a seeded fault in models at one opset.
struct AtOpset(i64, Seeded);

impl Host for AtOpset {
    fn declaration(&self) -> Declaration {
        self.1.declaration()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let model = decode::model(request.model.clone()).unwrap();
        let opset =
            model.opset_import.iter().find(|import| import.domain().is_empty()).map(OperatorSetIdProto::version);
        if opset == Some(self.0) { self.1.run(request) } else { Builtin::new(Duration::from_mins(1)).run(request) }
    }
}

/// Compares a model with itself at opset 12, on a runtime with a fault at one opset.
fn against_opset_12(sample: &Sample, opset: i64, name: &str) -> Result<Trace, TraceError> {
    let runtime = AtOpset(opset, Seeded(Seed::Scaled(name.to_owned(), 1.1)));
    let target = Target { opsets: BTreeMap::from([("ai.onnx".to_owned(), 12)]), ..Target::default() };
    let opsets = OtherOpsets { target, label: "opset 12".to_owned(), limits: Limits::default() };
    let question = TraceQuestion {
        reference: Reference::Converted(&runtime, &opsets),
        types: sample.types.clone(),
        ..question(sample, &runtime)
    };
    trace_model(&question)
}

#[test]
fn a_node_that_differs_at_another_opset_is_found() {
    let (mut found, mut refused) = (0, 0);
    for sample in samples() {
        let imports = &sample.model.opset_import;
        let opset = imports.iter().find(|import| import.domain().is_empty()).map_or(0, OperatorSetIdProto::version);
        let nodes = sample.float_nodes();
        let Some(&(at, name)) = nodes.get(nodes.len() / 2).filter(|_| opset > 12) else { continue };
        // The fault is at the opset of the model, then at the other one.
        for faulty in [opset, 12] {
            match against_opset_12(&sample, faulty, name) {
                Err(TraceError::NotConverted { .. }) => refused += 1,
                trace => match trace.unwrap().outcome {
                    TraceOutcome::Found(traced) => {
                        assert_eq!(positions(&traced), [at], "{} {name}", sample.path.display());
                        found += 1;
                    }
                    // The factor does not reach the outputs.
                    outcome => assert!(matches!(outcome, TraceOutcome::Same { .. }), "{outcome:?}"),
                },
            }
        }
    }
    assert!(found >= 10 && refused >= 2, "{found} found, {refused} refused");
}

#[test]
fn a_wrong_fusion_in_a_real_model_is_found_with_its_nodes() {
    let mut counts = [0; 2];
    for sample in samples() {
        let nodes = sample.float_nodes();
        let graph = sample.model.graph.as_ref().unwrap();
        for &(at, name) in &nodes {
            let reads = |(next, _): &&(usize, &str)| graph.node[*next].input.iter().any(|input| input == name);
            let Some(&(next, next_name)) = nodes.iter().find(reads) else { continue };
            let seeds = [
                Seed::Fused(name.to_owned(), next_name.to_owned()),
                Seed::Refused(name.to_owned(), next_name.to_owned()),
            ];
            for (count, seed) in counts.iter_mut().zip(seeds) {
                let Some(found) = found(&sample, &seed) else { continue };
                let ends = (positions(&found).first().copied(), positions(&found).last().copied());
                assert_eq!(ends, (Some(at), Some(next)), "{} {seed:?}: {:?}", sample.path.display(), found.places);
                assert_eq!(found.fault, Fault::Graph);
                *count += 1;
            }
        }
    }
    assert!(counts.iter().all(|count| *count >= 30), "{counts:?}");
}

#[test]
fn a_right_runtime_agrees_on_every_model() {
    let samples = samples();
    assert!(samples.len() >= 12, "{}", samples.len());
    for sample in &samples {
        let trace = trace(sample, &Builtin::new(Duration::from_mins(1))).unwrap();
        assert!(trace.is_same() && trace.runs == [1, 1], "{}: {}", sample.path.display(), trace.text());
    }
}

fn made(text: &str) -> Sample {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, parse_model(text).unwrap().encode_to_vec()).unwrap();
    sample(&path).unwrap()
}

#[test]
fn behind_a_random_node_the_search_goes_on() {
    let sample = made(
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) {
            r = RandomUniformLike (x)
            a = Add (x, r)
            y = Exp (a)
        }"#,
    );
    let same = trace(&sample, &Builtin::new(Duration::from_mins(1))).unwrap();
    assert!(same.is_same() && same.random.len() == 1, "{}", same.text());
    let found = found(&sample, &Seed::Scaled("y".to_owned(), 2.0)).unwrap();
    assert_eq!(positions(&found), [2]);
}

#[test]
fn a_small_fault_is_found_where_it_begins_to_grow() {
    let sample = made(
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) <float one = {1}> {
            a = Relu (x)
            b = Add (a, one)
            c = Sub (b, a)
            d = Sub (c, one)
            y = Tanh (d)
        }"#,
    );
    let found = found(&sample, &Seed::Scaled("b".to_owned(), 1.0001)).unwrap();
    assert_eq!((positions(&found), found.fault), (vec![1], Fault::Grows { nodes: 3 }));
}

/// Refuses every model.
struct Refuses;

impl Host for Refuses {
    fn declaration(&self) -> Declaration {
        Declaration::named("refuses", "1")
    }

    fn run(&self, _: &Request<'_>) -> Ran {
        Ended::Answered(Response::load_error("opset 13 is too new")).into()
    }
}

#[test]
fn a_file_that_a_runtime_refuses_for_its_versions_has_no_wrong_node() {
    let sample =
        made(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) { a = Abs (x) y = Exp (a) }"#);
    let trace = trace(&sample, &Refuses).unwrap();
    assert!(matches!(&trace.outcome, TraceOutcome::EveryModel { message } if message == "opset 13 is too new"));
}

#[test]
fn a_case_folder_has_the_node_with_its_values() {
    let sample =
        made(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) { a = Abs (x) y = Exp (a) }"#);
    let trace = trace(&sample, &Seeded(Seed::Scaled("y".to_owned(), 2.0))).unwrap();
    let TraceOutcome::Found(found) = &trace.outcome else { panic!("{}", trace.text()) };
    let written = found.files(&trace, None, "onnx-conformance trace model.onnx");
    let names: Vec<&str> = written.files.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb"];
    assert_eq!(names, [&all[..], &["actual/test_data_set_0/output_0.pb", "issue.md"]].concat());
    let issue = String::from_utf8(written.files.last().unwrap().1.clone()).unwrap();
    assert!(issue.starts_with("# seeded 1: node 1 for 'y' (Exp-13)\n\noutput 'y': "), "{issue}");
    assert!(issue.contains("onnx-conformance trace model.onnx"), "{issue}");
}

#[test]
fn parts_read_external_data_where_it_is_and_a_written_one_contains_it() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
        a = Abs (x)
        y = MatMul (a, w)
    }"#;
    let folder = tempfile::tempdir().unwrap();
    let mut model = parse_model(text).unwrap();
    let tensor = &mut model.graph.as_mut().unwrap().initializer[0];
    let weights = decode::tensor(tensor, &decode::NoExternalData).unwrap();
    std::fs::write(folder.path().join("w.bin"), weights.bytes()).unwrap();
    tensor.float_data.clear();
    tensor.raw_data = None;
    tensor.data_location = Some(DataLocation::External.into());
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    tensor.external_data =
        vec![entry("location", "w.bin".to_owned()), entry("length", weights.bytes().len().to_string())];
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, model.encode_to_vec()).unwrap();

    let sample = sample(&path).unwrap();
    let trace = trace(&sample, &Seeded(Seed::Scaled("y".to_owned(), 2.0))).unwrap();
    let TraceOutcome::Found(found) = &trace.outcome else { panic!("{}", trace.text()) };
    assert_eq!(positions(found), [1]);
    let tensor_of = |bytes: &[u8]| {
        let model = decode::model(bytes.to_vec().into()).unwrap();
        model.graph.unwrap().initializer.remove(0)
    };
    assert_eq!(tensor_of(&found.model).data_location(), DataLocation::External);
    let written = found.files(&trace, Some(folder.path()), "");
    assert_eq!(decode::tensor(&tensor_of(&written.files[0].1), &decode::NoExternalData).unwrap(), weights);
    assert!(written.linked.is_empty());
    // A file that cannot be read is linked, which fails where it is written.
    assert_eq!(found.files(&trace, None, "").linked, ["w.bin"]);
}
