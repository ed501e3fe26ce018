//! Seed inputs: the project's own cases and files, those that can be read quickly.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::generate::{OperatorCatalog, cases, ids};
use onnx_conformance_cases::suite::{CaseGroup, Releases, Source, VendoredCases};
use onnx_conformance_harness::run::{Header, Selected, write_header};
use onnx_conformance_reference::proto::{Message, ModelProto, encode};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Declaration;

use crate::Random;
use crate::pick::{pick, place};

static OPERATORS: LazyLock<OperatorCatalog> = LazyLock::new(OperatorCatalog::embedded);

static VERSIONS: LazyLock<Vec<OperatorVersion>> =
    LazyLock::new(|| Specs::embedded().all().filter(|version| OPERATORS.has(version)).collect());

/// The vendored cases of every release; empty if they cannot be read.
static VENDORED: LazyLock<Vec<(VendoredCases, Vec<CaseGroup>)>> = LazyLock::new(|| {
    let all = Releases::embedded().and_then(|releases| VendoredCases::all(&releases)).unwrap_or_default();
    all.into_iter().filter_map(|cases| cases.groups().ok().map(|groups| (cases, groups))).collect()
});

fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Returns the model of a case, with its inputs as initializers.
pub(crate) fn model(random: &mut Random) -> Vec<u8> {
    let case = if random.below(4) == 0 { vendored(random) } else { generated(random) };
    case.map_or_else(Vec::new, |case| with_inputs(&case))
}

/// Returns a realistic model: of a case, with variable or constant inputs, or of an exporter.
pub(crate) fn realistic_model(random: &mut Random) -> Vec<u8> {
    static EXPORTED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let files = ["skl2onnx", "torch"].map(|name| std::fs::read_dir(project("testdata/exporters").join(name)));
        let mut paths: Vec<PathBuf> = files.into_iter().flatten().flatten().flatten().map(|file| file.path()).collect();
        paths.sort_unstable();
        paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
    });
    match random.below(8) {
        0 => pick(random, &EXPORTED).cloned().unwrap_or_default(),
        1 | 2 => model(random),
        3 => vendored(random).map_or_else(Vec::new, |case| case.model.to_vec()),
        4 => {
            // Constants replace the inputs.
            let file = model(random);
            let Ok(mut model) = ModelProto::decode(file.as_slice()) else { return file };
            if let Some(graph) = &mut model.graph {
                let known: Vec<String> = graph.initializer.iter().map(|it| it.name().to_owned()).collect();
                graph.input.retain(|input| !known.iter().any(|name| name == input.name()));
            }
            model.encode_to_vec()
        }
        _ => generated(random).map_or_else(Vec::new, |case| case.model.to_vec()),
    }
}

fn generated(random: &mut Random) -> Option<Case> {
    let version = pick(random, &VERSIONS)?;
    let ids = ids(&OPERATORS, version).ok()?;
    let id = pick(random, &ids)?;
    cases(&OPERATORS, version, &|other| other == id).ok()?.pop()
}

fn vendored(random: &mut Random) -> Option<Case> {
    let (vendored, groups) = pick(random, &VENDORED)?;
    vendored.load(pick(random, groups)?, &|_| true).ok()?.pop()
}

fn with_inputs(case: &Case) -> Vec<u8> {
    let Ok(mut model) = ModelProto::decode(case.model.clone()) else { return case.model.to_vec() };
    if let (Some(graph), Some(data)) = (&mut model.graph, case.data.first()) {
        for input in &data.inputs {
            match &input.value {
                Value::Tensor(tensor) => graph.initializer.push(encode::tensor(tensor, &input.name)),
                Value::Sparse(sparse) => graph.sparse_initializer.push(encode::sparse_tensor(sparse, &input.name)),
                _ => {}
            }
        }
    }
    model.encode_to_vec()
}

/// Hand-written models.
const MODELS: [&str; 5] = [
    "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1], producer_name: \"a \\\"b\\\"\">
g (float[N, ?, 3] x, seq(int64[]) s) => (optional(float) y) <float w = {1.5}, int64[2] v> { # a comment
    [\"label\"] y = local.f:over <a = 2> (x, w)
}
<domain: \"local\", opset_import: [\"\" : 21], overload: \"over\">
f <a, b: float = 1> (x, w) => (y) { y = Add (x, w) }",
    "<ir_version: 8, opset_import: [\"\" : 17]>
g (int64 m, bool c, float v) => (float last, int64[] trips) { last, trips = Loop <
    body = b (int64 i, bool before, float x) => (bool after, float twice, int64 trip) {
        twice = Add (x, x)
        limit = Constant <value = float {8}> ()
        after = Less (twice, limit)
        trip = Identity (i) }> (m, c, v) }",
    "<ir_version: 8, opset_import: [\"\" : 12, \"ai.onnx.ml\" : 3]>
g (float[2, 3] x) => (float[2, 3] y) <float[2] a = {-1e3, inf}, int4[3] b = {1, -2, 7}> {
    y = Op <i = 1, f = -1e3, s = \"t\", is = [1, 2], fs: floats = [1, 2.5], none: strings = [], u: undefined = @outer,
        t: float = 3, tp = seq(float[2]), ts = [int8 {1}, int8 {2}], g = h (x) => (y) { y = Identity (x) }> (x) }",
    "g (float[2] x) => (float[2] y) { \"y:0\", z = Op (\"a/b\", , x) y = Abs (z) }",
    "map(int64, optional(seq(sparse_tensor(float[2, N]))))",
];

/// Returns a text in ONNX's syntax.
pub(crate) fn syntax(random: &mut Random) -> Vec<u8> {
    pick(random, &MODELS).map_or_else(Vec::new, |text| text.as_bytes().to_vec())
}

/// Returns a spec file with its path on the first line.
pub(crate) fn specs(random: &mut Random) -> Vec<u8> {
    let Some(version) = pick(random, &VERSIONS) else { return Vec::new() };
    let folder = format!("{}/{}", version.domain, version.name);
    let text = if random.below(2) == 0 {
        let text = Specs::embedded().text(version).unwrap_or_default();
        format!("# {folder}/{}.yaml\n{text}", version.since)
    } else {
        let text = OPERATORS.text(version).unwrap_or_default();
        format!("# {folder}/op.yaml\n{text}")
    };
    text.into_bytes()
}

/// Returns some entries of an expectation file.
pub(crate) fn expectations(random: &mut Random) -> Vec<u8> {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let folders = ["expectations", "expectations/releases"].map(|folder| std::fs::read_dir(project(folder)));
        let entries = folders.into_iter().flatten().flatten().filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        paths.sort();
        paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
    });
    let Some((head, entries)) = pick(random, &FILES).and_then(|text| text.split_once("expect:\n")) else {
        return b"runtime: a\nexpect:\n  # a comment\n  - {cases: a/*, outcome: error, reason: r}\n".to_vec();
    };
    let lines: Vec<&str> = entries.lines().collect();
    let start = place(random, lines.len());
    let kept = lines.iter().skip(start).skip_while(|line| !line.starts_with("  - ")).take(20);
    let kept: Vec<&str> = kept.copied().collect();
    format!("{head}expect:\n{}\n", kept.join("\n")).into_bytes()
}

/// Returns a results file of a few lines.
pub(crate) fn results(random: &mut Random) -> Vec<u8> {
    const RESULTS: [&str; 4] = [
        "{\"id\":\"a/b\",\"outcome\":\"pass\",\"level\":\"required\",\"ms\":0.5}\n",
        "{\"id\":\"a/c\",\"outcome\":\"mismatch\",\"message\":\"m\",\"inputs\":\"i\",\"ulps\":4,\"level\":\"open\",\"evidence\":[{\"output\":\"y\",\"sources\":[\"literal\"]}],\"ms\":1.0}\n",
        "{\"id\":\"a/d@constants\",\"outcome\":\"unsupported\",\"missing\":\"operator ai.onnx/Abs\",\"level\":\"required\",\"judged\":\"draws\",\"ms\":1e300}\n",
        "{\"id\":\"a/e\",\"outcome\":\"error\",\"message\":\"\\u0000\\ud83d\\ude00\",\"level\":\"recommended\",\"executed_cells\":[\"ai.onnx/Abs-13\"],\"declared_cells\":[\"x\"],\"ms\":0}\n",
    ];
    let mut text = Vec::new();
    let header = Header::new(Declaration::named("fuzz", "1"), "digest".to_owned(), Selected::default());
    let _ = write_header(&mut text, &header);
    for _ in 0..random.below(5) {
        text.extend(pick(random, &RESULTS).into_iter().flat_map(|line| line.as_bytes()));
    }
    text
}

/// Returns a message of an adapter, a type, and the file of a value.
pub(crate) fn answers(random: &mut Random) -> Vec<u8> {
    const MESSAGES: [&str; 5] = [
        "{\"runtime\":{\"name\":\"a\",\"version\":\"1\",\"opsets\":{\"ai.onnx\":[7,21]},\"types\":[\"float\",\"int64\"],\"variants\":[\"runtime\"]}}",
        "{\"seq\":1,\"ok\":true}",
        "{\"seq\":18446744073709551615,\"unsupported\":{\"what\":\"operator ai.onnx/Abs-13\",\"message\":\"m\"}}",
        "{\"seq\":2,\"error\":{\"phase\":\"load\",\"message\":\"\"}}",
        "{\"seq\":3,\"unsupported\":{\"what\":\"tensor(bfloat16) in ai.onnx/Abs-13\",\"message\":\"m\"}}",
    ];
    let line = pick(random, &MESSAGES).copied().unwrap_or_default();
    let case = vendored(random);
    let value = case.iter().flat_map(|case| &case.data).flat_map(|data| &data.inputs).next();
    let (declared, file) = match value {
        Some(input) => (input.value.value_type().to_string(), encode::value(&input.value, &input.name)),
        None => ("tensor(float)".to_owned(), Vec::new()),
    };
    [line.as_bytes(), b"\n", declared.as_bytes(), b"\n", &file].concat()
}
