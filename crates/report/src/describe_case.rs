//! A case as text for people: the model's nodes, the inputs, and the expected outputs.

use std::fmt::Write;

use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, decode, onnx,
};
use onnx_conformance_reference::value::Value;

use onnx_conformance_cases::case::{Case, DataSet, Expected};
use onnx_conformance_cases::compare::Accuracy;
use onnx_conformance_harness::escape::line;

/// Maximum number of tensor elements to print.
const MAX_ELEMENTS: usize = 64;

/// Formats a case as text.
pub fn describe(case: &Case) -> String {
    let mut text = format!("case {}\nlevel {}", line(&case.id), case.level);
    if let Some(evidence) = case.evidence_text() {
        let _ = write!(text, ", evidence: {evidence}");
    }
    if let Some(decided) = case.text {
        let _ = write!(text, "\ntext: {decided}");
    }
    if let Some(rule) = &case.rule {
        let verb = if case.refusal.is_some() { "violates" } else { "shows" };
        let _ = write!(text, "\n{verb} {}", line(&rule.to_string()));
    }
    for (title, reason) in [("because", &case.why), ("note", &case.note)] {
        if !reason.is_empty() {
            let _ = write!(text, "\n{title}: {}", line(reason));
        }
    }
    text.push_str("\n\n");
    text.push_str(&describe_parts(case));
    text
}

/// Formats the model, the inputs and the expected outputs.
pub fn describe_parts(case: &Case) -> String {
    let mut text = String::new();
    match decode::model(case.model.clone()) {
        Ok(model) => describe_model(&mut text, &model),
        Err(error) => drop(write!(text, "not a model: {error}")),
    }
    describe_data(&mut text, case);
    text
}

fn describe_model(text: &mut String, model: &ModelProto) {
    let imports: Vec<String> = model
        .opset_import
        .iter()
        .map(|import| {
            let domain = if import.domain().is_empty() { "ai.onnx" } else { import.domain() };
            format!("{} {}", line(domain), import.version())
        })
        .collect();
    let _ = write!(text, "model of IR version {}, opset {}", model.ir_version(), imports.join(", "));
    if let Some(graph) = &model.graph {
        describe_graph(text, graph, 1);
    }
    for function in &model.functions {
        let _ = write!(
            text,
            "\n  function {}({}) -> {}",
            line(function.name()),
            line(&function.input.join(", ")),
            line(&function.output.join(", "))
        );
        function.node.iter().for_each(|node| describe_node(text, node, 2));
    }
}

fn describe_data(text: &mut String, case: &Case) {
    for data in &case.data {
        text.push_str("\n\ninputs");
        for input in &data.inputs {
            let _ = write!(text, "\n  {} = {}", line(&input.name), shown(&input.value));
        }
        if let Some(refusal) = &case.refusal {
            let _ = write!(text, "\n\nmust be refused: {}\ncontrol {}", line(&refusal.rule), line(&refusal.control.id));
            continue;
        }
        let _ = write!(text, "\n\n{}", describe_expected(data));
    }
}

/// Formats the expected outputs of a data set, a line or two each.
pub fn describe_expected(data: &DataSet) -> String {
    let mut text = "expected".to_owned();
    for output in &data.outputs {
        let name = line(&output.name);
        let _ = match &output.expected {
            Expected::Value(value, Accuracy::Bounded(bound)) => {
                let bound = shown(&Value::Tensor(bound.clone()));
                write!(text, "\n  {name} = {}\n    within {bound}", shown(value))
            }
            Expected::Value(value, accuracy) => write!(text, "\n  {name} = {}\n    {accuracy}", shown(value)),
            Expected::AnyOf(values) => {
                let values: Vec<String> = values.iter().map(shown).collect();
                write!(text, "\n  {name} = one of {}", values.join(" or "))
            }
            other => {
                let (value_type, shape) = other.declared();
                let shape = shape.map_or(String::new(), |shape| format!("{shape:?}"));
                write!(text, "\n  {name}: {value_type}{shape}, {}", freedom(other))
            }
        };
    }
    text
}

fn describe_graph(text: &mut String, graph: &GraphProto, depth: usize) {
    let indent = "  ".repeat(depth);
    let parameters = |infos: &[ValueInfoProto]| infos.iter().map(parameter).collect::<Vec<_>>().join(", ");
    let _ = write!(
        text,
        "\n{indent}{}({}) -> ({})",
        line(graph.name()),
        parameters(&graph.input),
        parameters(&graph.output)
    );
    for tensor in &graph.initializer {
        let name = line(tensor.name());
        let _ = match decode::tensor(tensor, &decode::NoExternalData) {
            Ok(value) => write!(text, "\n{indent}  {name} = {}", shown(&Value::Tensor(value))),
            Err(_) => write!(text, "\n{indent}  {name} = initializer of dims {:?}, external data", tensor.dims),
        };
    }
    graph.node.iter().for_each(|node| describe_node(text, node, depth + 1));
}

fn parameter(info: &ValueInfoProto) -> String {
    let Some(declared) = &info.r#type else { return line(info.name()).into_owned() };
    let value_type =
        decode::value_type(declared).map_or_else(|error| error.to_string(), |value_type| value_type.to_string());
    format!("{}: {value_type}{}", line(info.name()), shape_text(declared))
}

/// Formats the declared shape of a tensor, such as `[N, 3, ?]`; empty if there is none.
pub fn shape_text(declared: &onnx::TypeProto) -> String {
    use onnx::tensor_shape_proto::dimension::Value as Dim;
    let Some(onnx::type_proto::Value::TensorType(tensor)) = &declared.value else { return String::new() };
    let Some(shape) = &tensor.shape else { return String::new() };
    let dims: Vec<String> = shape
        .dim
        .iter()
        .map(|dim| match &dim.value {
            Some(Dim::DimValue(size)) => size.to_string(),
            Some(Dim::DimParam(name)) => line(name).into_owned(),
            None => "?".to_owned(),
        })
        .collect();
    format!("[{}]", dims.join(", "))
}

fn describe_node(text: &mut String, node: &NodeProto, depth: usize) {
    let indent = "  ".repeat(depth);
    let domain = if node.domain().is_empty() { String::new() } else { format!("{}.", line(node.domain())) };
    let outputs: Vec<&str> = node.output.iter().map(|name| if name.is_empty() { "-" } else { name }).collect();
    let inputs: Vec<&str> = node.input.iter().map(|name| if name.is_empty() { "-" } else { name }).collect();
    let (plain, graphs): (Vec<_>, Vec<_>) = node.attribute.iter().partition(|attribute| attribute.g.is_none());
    let attributes: Vec<String> =
        plain.iter().map(|attribute| format!("{} = {}", line(attribute.name()), attribute_text(attribute))).collect();
    let attributes = if attributes.is_empty() { String::new() } else { format!(" <{}>", attributes.join(", ")) };
    let _ = write!(
        text,
        "\n{indent}{} = {domain}{}{attributes} ({})",
        line(&outputs.join(", ")),
        line(node.op_type()),
        line(&inputs.join(", "))
    );
    for (attribute, graph) in graphs.iter().filter_map(|attribute| Some((attribute, attribute.g.as_deref()?))) {
        let _ = write!(text, "\n{indent}  {} =", line(attribute.name()));
        describe_graph(text, graph, depth + 2);
    }
}

/// Formats the value of an attribute.
pub(crate) fn attribute_text(attribute: &AttributeProto) -> String {
    use onnx::attribute_proto::AttributeType as A;
    let string = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    if let Some(reference) = &attribute.ref_attr_name {
        return format!("@{}", line(reference));
    }
    match attribute.r#type() {
        A::Float => format!("{:?}", attribute.f()),
        A::Int => attribute.i().to_string(),
        A::String => string(attribute.s()),
        A::Floats => format!("{:?}", attribute.floats),
        A::Ints => format!("{:?}", attribute.ints),
        A::Strings => format!("[{}]", attribute.strings.iter().map(|s| string(s)).collect::<Vec<_>>().join(", ")),
        A::Tensor => match attribute.t.as_deref().map(|tensor| decode::tensor(tensor, &decode::NoExternalData)) {
            Some(Ok(tensor)) => shown(&Value::Tensor(tensor)),
            _ => "external data".to_owned(),
        },
        A::TypeProto => attribute
            .tp
            .as_ref()
            .and_then(|declared| decode::value_type(declared).ok())
            .map_or_else(|| "a type".to_owned(), |value_type| value_type.to_string()),
        other => format!("of type {}", other.as_str_name()),
    }
}

/// Formats the rule of an output without an exact expected value, with the values if only their order may differ.
fn freedom(expected: &Expected) -> String {
    let rule = expected.rule();
    match expected {
        Expected::Set(value) => format!("{rule} {}", shown(value)),
        Expected::PermutedAlongAxis(tensor, _) => format!("{rule} {}", shown(&Value::Tensor(tensor.clone()))),
        _ => rule,
    }
}

/// Formats a value in one line, truncated if it is long.
pub fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    match value {
        Value::Tensor(tensor) => {
            text.push(' ');
            let _ = tensor.write_elements(&mut text, MAX_ELEMENTS);
        }
        Value::Sparse(sparse) => {
            let _ = write!(text, " values {:?} at {:?}", sparse.values, sparse.indices);
        }
        Value::Sequence(sequence) => {
            let items: Vec<String> = sequence.items.iter().map(shown).collect();
            let _ = write!(text, " [{}]", items.join("; "));
        }
        Value::Optional(optional) => {
            if let Some(item) = &optional.item {
                let _ = write!(text, " {}", shown(item));
            }
        }
        Value::Map(map) => {
            let entries: Vec<String> =
                map.entries.iter().map(|(key, value)| format!("{key:?}: {}", shown(value))).collect();
            let _ = write!(text, " {{{}}}", entries.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::{Generated, Suite};

    #[test]
    fn a_case_names_the_rule_that_it_shows_or_breaks() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let check = |id: &str, expected: &str| {
            let case = suite.find(id).unwrap().unwrap();
            let text = describe(&case);
            assert!(text.contains(expected) && text.contains("specs/ai.onnx/Sum/op.yaml:"), "{text}");
        };
        check("ai.onnx/Sum-13/broadcast_known_values/T=float", "\nshows C");
        check("ai.onnx/Sum-13/refuse/shapes_do_not_broadcast", "\nviolates C");
        let nan = describe(&suite.find("ai.onnx/Clip-13/nan/T=float").unwrap().unwrap());
        assert!(nan.starts_with("case ai.onnx/Clip-13/nan/T=float\nlevel recommended"), "{nan}");
        assert!(nan.contains("\nnote: NumPy hands NaN on.\n"), "{nan}");
        let refused = describe(&suite.find("ai.onnx/Abs-13/refuse/surplus-input").unwrap().unwrap());
        assert!(refused.contains("\nbecause: The signature excludes"), "{refused}");
    }
}
