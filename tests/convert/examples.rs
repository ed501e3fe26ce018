//! Examples of conversions: `docs/conversions.md`. Each is a case of the suite that gives its expected outputs before and after,
//! or a small model in half precision.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use onnx_conformance::check::Limits;
use onnx_conformance::check::convert::half::{HalfRequest, to_half};
use onnx_conformance::check::convert::{Target, convert, inline_functions};
use onnx_conformance_cases::case::{Case, Variant, vary};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{parse_model, print_model};
use onnx_conformance_reference::proto::{ModelProto, decode};
use onnx_conformance_reference::spec::OperatorVersion;

/// Command that writes the page.
const COMMAND: &str = "CONVERT_EXAMPLES=1 cargo test --test convert";

/// First lines of the page.
const HEAD: &str = "
# Conversions by example

A node before and after its conversion to the adjacent version of its operator, for each kind of edit that the cases of the suite need. The
test that writes this page runs both models: they give the same outputs. [convert](convert.md) describes the rules.

";

/// Introduction of the examples of half precision.
const HALF_HEAD: &str = "
## Half precision

`--float16`, without runs: [what is kept in float by measurement](convert.md#what-is-kept-in-float-by-measurement) depends on inputs.
";

/// Maximum number of elements of a tensor in an example.
const MAX_ELEMENTS: usize = 12;

/// Maximum number of characters of an example.
const MAX_LENGTH: usize = 1_200;

/// Maximum number of examples of a pair.
const MAX_EXAMPLES: usize = 3;

/// Small models for `--float16`, each with its title.
const HALF: &[(&str, &str)] = &[
    ("Inputs and outputs stay in float, and weights are rounded", HALF_WEIGHTS),
    ("A value that is read in both types has one Cast", HALF_BOTH),
    ("Attributes select the type", HALF_ATTRIBUTES),
    ("Sizes are computed in float", HALF_SIZES),
    ("Casts between the two types are replaced", HALF_CASTS),
    ("Subgraphs read captured values in their type", HALF_BRANCHES),
    ("Carried values of a loop have one type", HALF_LOOP),
    ("A statistic that the operator computes in float stays so", HALF_MEAN),
    ("Functions are replaced by their nodes", HALF_FUNCTION),
];

const HALF_WEIGHTS: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) <float[2] w = {0.1, 3}> { t = Mul (x, w) y = Neg (t) }"#;

const HALF_BOTH: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (uint8[2] q, float[2] y) <float s = {0.5}, uint8 z = {0}> {
        t = Exp (x) q = QuantizeLinear (t, s, z) y = Neg (t)
    }"#;

const HALF_ATTRIBUTES: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (int64[2] x) => (float[2] y) {
        a = Cast <to = 1> (x) s = Shape (x) b = ConstantOfShape <value = float[1] {0.5}> (s) y = Add (a, b)
    }"#;

const HALF_SIZES: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[N] x) => (float[M] y) <float h = {0.5}> {
        s = Shape (x) f = Cast <to = 1> (s) m = Mul (f, h) i = Cast <to = 7> (m)
        o = ConstantOfShape <value = float[1] {1}> (i) y = Neg (o)
    }"#;

const HALF_CASTS: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float16[2] x) => (float16[2] y) { a = Cast <to = 1> (x) b = Exp (a) c = Cast <to = 10> (b) y = Neg (c) }"#;

const HALF_BRANCHES: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <
            then_branch = one () => (float[2] a) { a = Neg (x) },
            else_branch = two () => (float[2] b) { b = Abs (x) }
        >
    }"#;

const HALF_LOOP: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}> {
        y = Loop (n, c, x) <
            body = b (int64 i, bool d, float[2] s) => (bool e, float[2] u) { e = Identity (d) u = Mul (s, s) }
        >
    }"#;

const HALF_MEAN: &str = r#"<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y, float[2, 1] m) <float[3] s = {1, 2, 3}> {
        y, m = LayerNormalization <axis = -1> (x, s)
    }"#;

const HALF_FUNCTION: &str = r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]>
    g (float[2] x) => (float[2] y) { [call] y = l.scaled <alpha = 3.0> (x) }
    <domain: "l", opset_import: ["" : 13]> scaled <alpha> (v) => (w) {
        c = Constant <value_float : float = @alpha> () w = Mul (v, c)
    }"#;

/// Model before and after a conversion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Example {
    /// Number of characters of both models.
    length: usize,
    id: String,
    edits: Vec<String>,
    before: String,
    after: String,
}

/// Examples of a pair by kind: the text of the edits without numbers, and the number of outputs.
pub(crate) type Examples = BTreeMap<(String, usize), Example>;

/// Examples of all pairs of an operator version and another one.
pub(crate) type Pairs<'a> = BTreeMap<&'a (OperatorVersion, u32), &'a Examples>;

/// Adds a case as an example, if it is converted by edits of nodes, and shorter than the one of this kind.
pub(crate) fn add(examples: &mut Examples, case: &Case, target: &Target) {
    let constant = vary(case, Variant::Initializers);
    for case in [Some(case), constant.as_ref()].into_iter().flatten() {
        let model = decode::model(case.model.clone()).unwrap();
        let Ok(conversion) = convert(&model, target) else { continue };
        let edits = conversion.edits.iter().filter(|edit| !edit.concerns_model());
        let edits: Vec<String> = edits.map(|edit| edit.text.clone()).collect();
        let Some((before, after)) = printed(&model).zip(printed(&conversion.model)) else { return };
        let length = before.len() + after.len();
        if edits.is_empty() || length > MAX_LENGTH {
            return;
        }
        let kind = edits.join("; ").chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let outputs = model.graph.as_ref().map_or(0, |graph| graph.output.len());
        let example = Example { length, id: case.id.clone(), edits, before, after };
        let known = examples.entry((kind, outputs)).or_insert_with(|| example.clone());
        if example < *known {
            *known = example;
        }
        return;
    }
}

/// Prints the graph of a model; `None` if it has large tensors, or what the text syntax lacks.
fn printed(model: &ModelProto) -> Option<String> {
    let mut model = model.clone();
    let graph = model.graph.as_mut()?;
    graph.name = Some("g".to_owned());
    graph.value_info.clear();
    let text = print_model(&model, MAX_ELEMENTS).ok()?;
    let (_, graph) = text.split_once(">\n")?;
    Some(graph.trim_end().to_owned())
}

/// Adds a model before and after.
fn add_models(page: &mut String, before: &str, after: &str) {
    let _ = write!(page, "\n```\n{before}\n```\n\nbecomes\n\n```\n{after}\n```\n");
}

/// Returns the page of the examples of all pairs.
fn page(pairs: &Pairs<'_>) -> String {
    let mut page = format!("<!-- Generated by `{COMMAND}`; do not edit. -->{HEAD}");
    let mut last: Option<&OperatorVersion> = None;
    for ((version, since), of_pair) in pairs.iter().filter(|(_, of_pair)| !of_pair.is_empty()) {
        if last.is_none_or(|last| (&last.domain, &last.name) != (&version.domain, &version.name)) {
            let name = if version.domain == "ai.onnx" { String::new() } else { format!("{}/", version.domain) };
            let _ = write!(page, "\n## {name}{}\n", version.name);
        }
        last = Some(version);
        let _ = write!(page, "\n### {version} at {since}\n");
        let mut examples: Vec<&Example> = of_pair.values().collect();
        examples.sort();
        for example in examples.into_iter().take(MAX_EXAMPLES) {
            for edit in &example.edits {
                let _ = write!(page, "\n- {edit}");
            }
            page.push('\n');
            add_models(&mut page, &example.before, &example.after);
        }
    }
    page.push_str(HALF_HEAD);
    for (title, text) in HALF {
        let model = parse_model(text).unwrap();
        let limits = Limits::default();
        let inlined = inline_functions(&model, &limits.deadline).model;
        let half = to_half(&inlined, &HalfRequest::new(ElementType::Float16), &limits).unwrap();
        let _ = write!(page, "\n### {title}\n");
        add_models(&mut page, &printed(&model).unwrap(), &printed(&half.model).unwrap());
    }
    page
}

/// Compares the page with the examples of the pairs, or writes it.
pub(crate) fn check(pairs: &Pairs<'_>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/conversions.md");
    let page = page(pairs);
    if std::env::var_os("CONVERT_EXAMPLES").is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let line = stored.lines().zip(page.lines()).take_while(|(stored, now)| stored == now).count() + 1;
    assert!(stored == page, "{} is stale from line {line} on; write it with {COMMAND}", path.display());
}
