//! Compiles the models of the suite to Rust, and writes a `#[test]` for each case.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use onnx_conformance_harness::reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_harness::{ElementType, SuiteCase, ValueType, cases};

/// Cases of the operators that the compiler has, and of `Sign`, which it does not have. A larger compiler selects a profile, such as
/// `@pr`, or everything.
const PATTERNS: &[&str] =
    &["ai.onnx/{Abs,Neg,Relu,Sign}-*/**/T=float", "ai.onnx/{Abs,Neg,Relu}-*/refuse/**", "!**/large/**"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let (mut names, mut tests) = (BTreeSet::new(), format!("const PATTERNS: &[&str] = &{PATTERNS:?};\n"));
    for case in cases(PATTERNS)? {
        let case = case?;
        let mut name = identifier(case.id());
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let control = case.control().map(|control| compile(&control));
        let control = control.map_or("None".to_owned(), |control| format!("Some({control})"));
        write!(tests, "\n#[test]\nfn {name}() {{\n    check({:?}, {}, {control});\n}}\n", case.id(), compile(&case))?;
    }
    let folder = std::env::var("OUT_DIR")?;
    Ok(std::fs::write(Path::new(&folder).join("conformance.rs"), tests)?)
}

/// Returns the name of a test: `ai_onnx_abs_13_known_values_t_float`.
fn identifier(id: &str) -> String {
    id.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns an expression of type `Compiled` for the model of a case.
fn compile(case: &SuiteCase) -> String {
    match function_of(case) {
        Ok(name) => format!("Ok(compiled_runtime::{name})"),
        Err(reason) => format!("Err(NotCompiled::{reason})"),
    }
}

/// Compiles a model of one node: its function, or the reason why there is none.
fn function_of(case: &SuiteCase) -> Result<&'static str, String> {
    let invalid = |reason: &str| format!("Invalid({reason:?})");
    let unsupported = |what: &str| format!("Unsupported({what:?})");
    let model = ModelProto::decode(case.model().clone()).map_err(|error| invalid(&error.to_string()))?;
    let opset =
        model.opset_import.iter().find(|import| import.domain().is_empty()).map_or(0, |import| import.version());
    let graph = model.graph.ok_or_else(|| invalid("the model has no graph"))?;
    let [node] = graph.node.as_slice() else { return Err(unsupported("graphs of several nodes")) };
    let function = match node.op_type() {
        "Abs" => "abs",
        "Neg" => "neg",
        "Relu" => "relu",
        other => return Err(unsupported(&format!("operator ai.onnx/{other}"))),
    };
    // The first versions have an attribute without a meaning.
    if node.attribute.iter().any(|attribute| opset >= 6 || attribute.name() != "consumed_inputs") {
        return Err(invalid("the operator has no such attribute"));
    }
    let is_unary = node.input.len() == 1 && node.output.len() == 1 && node.input.iter().all(|name| !name.is_empty());
    if !is_unary {
        return Err(invalid("the operator has one input and one output"));
    }
    let declared = graph.input.first().and_then(|input| decode::value_type(input.r#type.as_ref()?).ok());
    match declared {
        Some(ValueType::Tensor(ElementType::Float)) => Ok(function),
        Some(other) => Err(unsupported(&other.to_string())),
        None => Err(invalid("the input has no type")),
    }
}
