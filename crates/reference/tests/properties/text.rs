//! ONNX's text syntax: a written model parses to the same model, and no text crashes the parser.

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{
    parse_function, parse_graph, parse_model, parse_nodes, parse_value_type, print_model,
};
use onnx_conformance_reference::proto::node::RareFields;
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, Text, TypeProto,
    ValueInfoProto, texts,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use prost::Message;

use crate::config;

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
    (prop_oneof![integers, strings, numbers()], name)
        .prop_map(|(tensor, name)| TensorProto { name: Some(name), ..tensor })
}

/// Generates a tensor of any type but strings. NaNs of 32 and 64 bits have no payload, since no text expresses one.
fn numbers() -> impl Strategy<Value = TensorProto> {
    let types = ElementType::ALL.iter().copied().filter(|element| *element != ElementType::String);
    (select(types.collect::<Vec<_>>()), vec(any::<[u8; 16]>(), 0..3)).prop_map(|(element, words)| {
        let mut bytes = words.concat();
        match element.component() {
            ElementType::Bool => bytes.iter_mut().for_each(|byte| *byte &= 1),
            ElementType::Float => {
                for word in bytes.as_chunks_mut::<4>().0 {
                    *word = plain_nan(f32::from_le_bytes(*word)).to_le_bytes();
                }
            }
            ElementType::Double => {
                for word in bytes.as_chunks_mut::<8>().0 {
                    let value = f64::from_le_bytes(*word);
                    *word = if value.is_nan() { f64::NAN } else { value }.to_le_bytes();
                }
            }
            _ => {}
        }
        let component = usize::try_from(element.component().bits()).unwrap();
        let parts = if element.component() == element { 1 } else { 2 };
        let count = bytes.len() * 8 / component / parts;
        TensorProto {
            data_type: Some(element.code()),
            dims: vec![i64::try_from(count).unwrap()],
            raw_data: Some(bytes.into()),
            ..TensorProto::default()
        }
    })
}

/// Removes the payload of a NaN.
fn plain_nan(value: f32) -> f32 {
    if value.is_nan() { f32::NAN.copysign(value) } else { value }
}

/// Generates any float: infinities, NaNs of both signs, subnormal numbers and both zeros among them.
fn float() -> impl Strategy<Value = f32> {
    let special = vec![0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1e-45];
    prop_oneof![any::<u32>().prop_map(|bits| plain_nan(f32::from_bits(bits))), select(special)]
}

fn attributes(graph: BoxedStrategy<GraphProto>) -> impl Strategy<Value = Vec<AttributeProto>> {
    use AttributeType as A;
    let of = |kind: AttributeType| AttributeProto { r#type: Some(kind as i32), ..AttributeProto::default() };
    let texts = vec(any::<String>(), 0..3).prop_map(|texts| texts.into_iter().map(Bytes::from).collect());
    let value = prop_oneof![
        any::<i64>().prop_map(move |i| AttributeProto { i: Some(i), ..of(A::Int) }),
        float().prop_map(move |f| AttributeProto { f: Some(f), ..of(A::Float) }),
        any::<String>().prop_map(move |s| AttributeProto { s: Some(s.into()), ..of(A::String) }),
        vec(any::<i64>(), 0..3).prop_map(move |ints| AttributeProto { ints, ..of(A::Ints) }),
        vec(float(), 0..3).prop_map(move |floats| AttributeProto { floats, ..of(A::Floats) }),
        texts.prop_map(move |strings| AttributeProto { strings, ..of(A::Strings) }),
        tensor().prop_map(move |tensor| AttributeProto { t: Some(Box::new(tensor)), ..of(A::Tensor) }),
        value_type().prop_map(move |tp| AttributeProto { tp: Some(Box::new(tp)), ..of(A::TypeProto) }),
        graph.prop_map(move |graph| AttributeProto { g: Some(Box::new(graph)), ..of(A::Graph) }),
        (any::<String>(), select(vec![A::Int, A::Floats, A::Graph]))
            .prop_map(move |(name, kind)| AttributeProto { ref_attr_name: Some(name), ..of(kind) }),
    ];
    let named = |(name, value): (String, AttributeProto)| AttributeProto { name: Some(name), ..value };
    vec((identifier(), value).prop_map(named), 0..3)
}

fn as_text(text: Option<String>) -> Option<Text> {
    text.map(Into::into)
}

fn nodes(graph: BoxedStrategy<GraphProto>) -> impl Strategy<Value = Vec<NodeProto>> {
    let domain = option::of(vec(identifier(), 1..3).prop_map(|parts| parts.join(".")));
    let names = || vec(any::<String>(), 0..3).prop_map(texts);
    let (name, domain) = (option::of(any::<String>()).prop_map(as_text), domain.prop_map(as_text));
    let op_type = identifier().prop_map(|name| as_text(Some(name)));
    let rare = option::of(identifier()).prop_map(|overload| {
        overload.map(|overload| Box::new(RareFields { overload: as_text(Some(overload)), ..RareFields::default() }))
    });
    let node = (name, domain, op_type, rare, attributes(graph), names(), names()).prop_map(
        |(name, domain, op_type, rare, attribute, input, output)| NodeProto {
            name,
            domain,
            op_type,
            attribute,
            input,
            output,
            rare,
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
    fn a_printed_model_reads_back(model in model()) {
        let text = print_model(&model, usize::MAX).unwrap();
        let read = parse_model(&text);
        // Compared as bytes, since a NaN differs from itself.
        prop_assert_eq!(read.as_ref().map(Message::encode_to_vec), Ok(model.encode_to_vec()), "{}", text);
        prop_assert_eq!(print_model(&read.unwrap(), usize::MAX), Ok(text));
    }

    #[test]
    fn a_model_with_something_else_in_it_is_read_or_refused(
        model in model(),
        from in any::<prop::sample::Index>(),
        removed in 0_usize..20,
        put in prop_oneof!["[]\\[{}()<>=@:.,\"\\\\#0-9a-z -]{0,3}", any::<String>()],
    ) {
        let text: Vec<char> = print_model(&model, usize::MAX).unwrap().chars().collect();
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
