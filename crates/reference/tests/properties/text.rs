//! ONNX's text syntax: a written model parses to the same model, and no text crashes the parser.

use std::fmt::{Display, Write as _};

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{
    parse_function, parse_graph, parse_model, parse_nodes, parse_value_type,
};
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto,
    ValueInfoProto,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::config;

/// Quotes a string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn list<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    items.iter().map(write).collect::<Vec<_>>().join(", ")
}

fn element(code: Option<i32>) -> impl Display {
    ElementType::from_code(code.unwrap()).unwrap()
}

fn write_shape(shape: Option<&TensorShapeProto>) -> String {
    match shape {
        None => "[]".to_owned(),
        Some(shape) if shape.dim.is_empty() => String::new(),
        Some(shape) => format!(
            "[{}]",
            list(&shape.dim, |dim| match &dim.value {
                None => "?".to_owned(),
                Some(dimension::Value::DimParam(name)) => quoted(name),
                Some(dimension::Value::DimValue(size)) => size.to_string(),
            })
        ),
    }
}

fn write_type(value_type: &TypeProto) -> String {
    use type_proto::Value as V;
    match value_type.value.as_ref().unwrap() {
        V::TensorType(tensor) => format!("{}{}", element(tensor.elem_type), write_shape(tensor.shape.as_ref())),
        V::SparseTensorType(sparse) => {
            format!("sparse_tensor({}{})", element(sparse.elem_type), write_shape(sparse.shape.as_ref()))
        }
        V::SequenceType(sequence) => format!("seq({})", write_type(sequence.elem_type.as_ref().unwrap())),
        V::OptionalType(optional) => format!("optional({})", write_type(optional.elem_type.as_ref().unwrap())),
        V::MapType(map) => {
            format!("map({}, {})", element(map.key_type), write_type(map.value_type.as_ref().unwrap()))
        }
        V::OpaqueType(opaque) => format!("opaque({}, {})", opaque.domain(), opaque.name()),
    }
}

fn write_value(value: &ValueInfoProto) -> String {
    let of = value.r#type.as_ref().map_or_else(String::new, |of| write_type(of) + " ");
    of + &quoted(value.name())
}

/// Writes the values of a tensor of strings or of 64-bit integers.
fn write_tensor(tensor: &TensorProto) -> String {
    let values = match &tensor.raw_data {
        Some(bytes) => {
            let integers: Vec<i64> = bytes.as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect();
            list(&integers, i64::to_string)
        }
        None => list(&tensor.string_data, |text| quoted(std::str::from_utf8(text).unwrap())),
    };
    format!(
        "{}[{}] {} = {{{values}}}",
        element(tensor.data_type),
        list(&tensor.dims, i64::to_string),
        quoted(tensor.name())
    )
}

fn write_attribute(attribute: &AttributeProto) -> String {
    let text = |text: &Bytes| quoted(std::str::from_utf8(text).unwrap());
    let value = match (&attribute.ref_attr_name, attribute.r#type()) {
        (Some(name), _) => format!("@{}", quoted(name)),
        (None, AttributeType::Int) => attribute.i().to_string(),
        (None, AttributeType::Float) => format!("{:?}", attribute.f()),
        (None, AttributeType::String) => text(attribute.s.as_ref().unwrap()),
        (None, AttributeType::Ints) => format!("[{}]", list(&attribute.ints, i64::to_string)),
        (None, AttributeType::Floats) => format!("[{}]", list(&attribute.floats, |value| format!("{value:?}"))),
        (None, AttributeType::Strings) => format!("[{}]", list(&attribute.strings, text)),
        (None, AttributeType::Tensor) => write_tensor(attribute.t.as_ref().unwrap()),
        (None, AttributeType::TypeProto) => write_type(attribute.tp.as_ref().unwrap()),
        (None, AttributeType::Graph) => write_graph(attribute.g.as_ref().unwrap()),
        (None, other) => panic!("no attribute of type {other:?} is made"),
    };
    format!("{}: {} = {value}", attribute.name(), attribute.r#type().as_str_name().to_ascii_lowercase())
}

fn write_node(node: &NodeProto) -> String {
    let names = |names: &[String]| list(names, |name| quoted(name));
    let label = node.name.as_ref().map_or_else(String::new, |name| format!("[{}] ", quoted(name)));
    let domain = node.domain.as_ref().map_or_else(String::new, |domain| format!("{domain}."));
    let overload = node.overload.as_ref().map_or_else(String::new, |overload| format!(":{overload}"));
    let attributes = match node.attribute.as_slice() {
        [] => String::new(),
        attributes => format!(" <{}>", list(attributes, write_attribute)),
    };
    let operator = format!("{domain}{}{overload}{attributes}", node.op_type());
    format!("{label}{} = {operator} ({})\n", names(&node.output), names(&node.input))
}

fn write_nodes(nodes: &[NodeProto]) -> String {
    format!("{{ # nodes\n{}}}", nodes.iter().map(write_node).collect::<String>())
}

fn write_graph(graph: &GraphProto) -> String {
    let values = [list(&graph.value_info, write_value), list(&graph.initializer, write_tensor)];
    let values: Vec<String> = values.into_iter().filter(|values| !values.is_empty()).collect();
    let (inputs, outputs) = (list(&graph.input, write_value), list(&graph.output, write_value));
    format!("{} ({inputs}) => ({outputs}) <{}> {}", graph.name(), values.join(", "), write_nodes(&graph.node))
}

fn write_opsets(imports: &[OperatorSetIdProto]) -> String {
    format!("[{}]", list(imports, |import| format!("{} : {}", quoted(import.domain()), import.version())))
}

fn write_function(function: &FunctionProto) -> String {
    let mut text = format!("<opset_import: {}", write_opsets(&function.opset_import));
    for (key, value) in
        [("domain", &function.domain), ("overload", &function.overload), ("doc_string", &function.doc_string)]
    {
        let _ = value.iter().try_for_each(|value| write!(text, ", {key}: {}", quoted(value)));
    }
    let attributes: Vec<String> = function.attribute.iter().map(|name| quoted(name)).collect();
    let attributes: Vec<String> =
        attributes.into_iter().chain(function.attribute_proto.iter().map(write_attribute)).collect();
    let attributes = if attributes.is_empty() { String::new() } else { format!("<{}>", attributes.join(", ")) };
    let [inputs, outputs] = [&function.input, &function.output].map(|names| list(names, |name| quoted(name)));
    format!("{text}> {}{attributes} ({inputs}) => ({outputs}) {}", quoted(function.name()), write_nodes(&function.node))
}

fn write_model(model: &ModelProto) -> String {
    let mut text = format!("<ir_version: {}", model.ir_version());
    let _ = write!(text, ", opset_import: {}", write_opsets(&model.opset_import));
    for (key, value) in [
        ("producer_name", &model.producer_name),
        ("producer_version", &model.producer_version),
        ("domain", &model.domain),
        ("doc_string", &model.doc_string),
    ] {
        let _ = value.iter().try_for_each(|value| write!(text, ", {key}: {}", quoted(value)));
    }
    let entry = |entry: &StringStringEntryProto| format!("{}: {}", quoted(entry.key()), quoted(entry.value()));
    let _ = write!(text, ", metadata_props: [{}]>", list(&model.metadata_props, entry));
    let functions: Vec<String> = model.functions.iter().map(write_function).collect();
    format!("{text}\n{}\n{}", write_graph(model.graph.as_ref().unwrap()), functions.join("\n"))
}

fn identifier() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,4}"
}

/// Generates the shape of a value; `None` if the rank is unknown.
fn value_shape() -> impl Strategy<Value = Option<TensorShapeProto>> {
    let dimension = option::of(prop_oneof![
        any::<i64>().prop_map(dimension::Value::DimValue),
        any::<String>().prop_map(dimension::Value::DimParam),
    ]);
    let dimension = dimension.prop_map(|value| Dimension { denotation: None, value });
    option::of(vec(dimension, 0..3).prop_map(|dim| TensorShapeProto { dim }))
}

fn code() -> impl Strategy<Value = Option<i32>> {
    select(ElementType::ALL.to_vec()).prop_map(|element| Some(element.code()))
}

fn value_type() -> impl Strategy<Value = TypeProto> {
    use type_proto::Value as V;
    let of = |value| TypeProto { denotation: None, value: Some(value) };
    let (tensor, sparse) = ((code(), value_shape()), (code(), value_shape()));
    let leaf = prop_oneof![
        3 => tensor.prop_map(move |(elem_type, shape)| of(V::TensorType(type_proto::Tensor { elem_type, shape }))),
        1 => sparse.prop_map(move |(elem_type, shape)| {
            of(V::SparseTensorType(type_proto::SparseTensor { elem_type, shape }))
        }),
        1 => (identifier(), identifier()).prop_map(move |(domain, name)| {
            of(V::OpaqueType(type_proto::Opaque { domain: Some(domain), name: Some(name) }))
        }),
    ];
    leaf.prop_recursive(3, 6, 1, move |inner| {
        (0..3, code(), inner).prop_map(move |(kind, key_type, inner)| {
            let inner = Some(Box::new(inner));
            of(match kind {
                0 => V::SequenceType(Box::new(type_proto::Sequence { elem_type: inner })),
                1 => V::OptionalType(Box::new(type_proto::Optional { elem_type: inner })),
                _ => V::MapType(Box::new(type_proto::Map { key_type, value_type: inner })),
            })
        })
    })
}

fn values() -> impl Strategy<Value = Vec<ValueInfoProto>> {
    let value = (any::<String>(), option::of(value_type())).prop_map(|(name, of)| ValueInfoProto {
        name: Some(name),
        r#type: of,
        ..ValueInfoProto::default()
    });
    vec(value, 0..3)
}

/// Generates a tensor whose name differs from that of every value.
fn tensor() -> impl Strategy<Value = TensorProto> {
    let of = |element: ElementType, count: usize| TensorProto {
        data_type: Some(element.code()),
        dims: vec![1, i64::try_from(count).unwrap()],
        ..TensorProto::default()
    };
    let integers = vec(any::<i64>(), 0..4).prop_map(move |values| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        TensorProto { raw_data: Some(bytes.into()), ..of(ElementType::Int64, values.len()) }
    });
    let strings = vec(any::<String>(), 0..4).prop_map(move |values| {
        let count = values.len();
        TensorProto { string_data: values.into_iter().map(Bytes::from).collect(), ..of(ElementType::String, count) }
    });
    let name = any::<String>().prop_map(|name| format!("tensor {name}"));
    (prop_oneof![integers, strings], name).prop_map(|(tensor, name)| TensorProto { name: Some(name), ..tensor })
}

fn attributes(graph: BoxedStrategy<GraphProto>) -> impl Strategy<Value = Vec<AttributeProto>> {
    use AttributeType as A;
    let of = |kind: AttributeType| AttributeProto { r#type: Some(kind as i32), ..AttributeProto::default() };
    let float = || any::<f32>();
    let texts = vec(any::<String>(), 0..3).prop_map(|texts| texts.into_iter().map(Bytes::from).collect());
    let value = prop_oneof![
        any::<i64>().prop_map(move |i| AttributeProto { i: Some(i), ..of(A::Int) }),
        float().prop_map(move |f| AttributeProto { f: Some(f), ..of(A::Float) }),
        any::<String>().prop_map(move |s| AttributeProto { s: Some(s.into()), ..of(A::String) }),
        vec(any::<i64>(), 0..3).prop_map(move |ints| AttributeProto { ints, ..of(A::Ints) }),
        vec(float(), 0..3).prop_map(move |floats| AttributeProto { floats, ..of(A::Floats) }),
        texts.prop_map(move |strings| AttributeProto { strings, ..of(A::Strings) }),
        tensor().prop_map(move |tensor| AttributeProto { t: Some(tensor), ..of(A::Tensor) }),
        value_type().prop_map(move |tp| AttributeProto { tp: Some(tp), ..of(A::TypeProto) }),
        graph.prop_map(move |graph| AttributeProto { g: Some(graph), ..of(A::Graph) }),
        (any::<String>(), select(vec![A::Int, A::Floats, A::Graph]))
            .prop_map(move |(name, kind)| AttributeProto { ref_attr_name: Some(name), ..of(kind) }),
    ];
    let named = |(name, value): (String, AttributeProto)| AttributeProto { name: Some(name), ..value };
    vec((identifier(), value).prop_map(named), 0..3)
}

fn nodes(graph: BoxedStrategy<GraphProto>) -> impl Strategy<Value = Vec<NodeProto>> {
    let domain = option::of(vec(identifier(), 1..3).prop_map(|parts| parts.join(".")));
    let names = || vec(any::<String>(), 0..3);
    let (name, overload) = (option::of(any::<String>()), option::of(identifier()));
    let node = (name, domain, identifier(), overload, attributes(graph), names(), names()).prop_map(
        |(name, domain, op_type, overload, attribute, input, output)| NodeProto {
            name,
            domain,
            op_type: Some(op_type),
            overload,
            attribute,
            input,
            output,
            ..NodeProto::default()
        },
    );
    vec(node, 0..3)
}

/// Generates a graph; the subgraphs in its nodes come from `inner`.
fn graph_of(inner: BoxedStrategy<GraphProto>) -> impl Strategy<Value = GraphProto> {
    // No type and no float word begins like this.
    let name = identifier().prop_map(|name| format!("g_{name}"));
    (name, values(), values(), values(), vec(tensor(), 0..2), nodes(inner)).prop_map(
        |(name, input, output, value_info, initializer, node)| GraphProto {
            name: Some(name),
            input,
            output,
            value_info,
            initializer,
            node,
            ..GraphProto::default()
        },
    )
}

fn graph() -> BoxedStrategy<GraphProto> {
    let empty = Just(GraphProto { name: Some("empty".to_owned()), ..GraphProto::default() }).boxed();
    graph_of(graph_of(empty).boxed()).boxed()
}

fn opsets() -> impl Strategy<Value = Vec<OperatorSetIdProto>> {
    let import = (any::<String>(), any::<i64>())
        .prop_map(|(domain, version)| OperatorSetIdProto { domain: Some(domain), version: Some(version) });
    vec(import, 0..3)
}

fn function() -> impl Strategy<Value = FunctionProto> {
    let empty = Just(GraphProto { name: Some("empty".to_owned()), ..GraphProto::default() }).boxed();
    let names = || vec(any::<String>(), 0..3);
    let text = || option::of(any::<String>());
    let attributes = (names(), attributes(empty.clone()));
    let head = (opsets(), text(), text(), text(), any::<String>());
    (head, attributes, names(), names(), nodes(empty)).prop_map(
        |((opset_import, domain, overload, doc_string, name), (attribute, attribute_proto), input, output, node)| {
            FunctionProto {
                name: Some(name),
                domain,
                overload,
                doc_string,
                opset_import,
                attribute,
                attribute_proto,
                input,
                output,
                node,
                ..FunctionProto::default()
            }
        },
    )
}

fn model() -> impl Strategy<Value = ModelProto> {
    let entry = (any::<String>(), any::<String>())
        .prop_map(|(key, value)| StringStringEntryProto { key: Some(key), value: Some(value) });
    let text = || option::of(any::<String>());
    let head = (any::<i64>(), opsets(), [text(), text(), text(), text()], vec(entry, 0..3));
    (head, graph(), vec(function(), 0..2)).prop_map(
        |((ir_version, opset_import, texts, metadata_props), graph, functions)| {
            let [producer_name, producer_version, domain, doc_string] = texts;
            ModelProto {
                ir_version: Some(ir_version),
                opset_import,
                producer_name,
                producer_version,
                domain,
                doc_string,
                metadata_props,
                graph: Some(graph),
                functions,
                ..ModelProto::default()
            }
        },
    )
}

/// Parses a text as each of the supported constructs.
fn read(text: &str) -> [bool; 5] {
    [
        parse_model(text).is_ok(),
        parse_graph(text).is_ok(),
        parse_function(text).is_ok(),
        parse_nodes(text).is_ok(),
        parse_value_type(text).is_ok(),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_model_that_is_written_out_is_read_as_it_was(model in model()) {
        let text = write_model(&model);
        prop_assert_eq!(parse_model(&text), Ok(model), "{}", text);
    }

    #[test]
    fn a_model_with_something_else_in_it_is_read_or_refused(
        model in model(),
        from in any::<prop::sample::Index>(),
        removed in 0_usize..20,
        put in prop_oneof!["[]\\[{}()<>=@:.,\"\\\\#0-9a-z -]{0,3}", any::<String>()],
    ) {
        let text: Vec<char> = write_model(&model).chars().collect();
        let from = from.index(text.len());
        let (before, after) = (&text[..from], &text[text.len().min(from + removed)..]);
        read(&before.iter().copied().chain(put.chars()).chain(after.iter().copied()).collect::<String>());
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), words in vec(identifier(), 0..9)) {
        read(&text);
        read(&words.join(" "));
    }
}
