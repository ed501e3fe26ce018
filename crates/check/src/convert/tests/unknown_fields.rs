//! Unknown fields in a converted file: they keep their bytes and their order, or the file is refused.

use std::collections::BTreeMap;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::encode::field;
use onnx_conformance_reference::proto::measure::Kind;
use onnx_conformance_reference::proto::{Message, ModelProto};

use crate::convert::wire::fields;
use crate::convert::write::WriteError;
use crate::convert::{Target, convert};
use crate::limits::Limits;
use crate::scan::scan;

/// Model with edits in the main graph, in a subgraph and in a function.
const MODEL: &str = r#"<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
    g (float[2, 3] x) => (float[2] y) <bool condition = {1}, int64[1] axes = {1}> {
        s = Relu (x)
        r = ReduceSum <keepdims = 0> (s, axes)
        y = If (condition) <
            then_branch = then () => (a) { a = ReduceSum <keepdims = 0> (x, axes) },
            else_branch = other () => (b) { b = local.total (x) }
        >
    }
    <domain: "local", opset_import: ["" : 13]>
    total (v) => (w) { axes = Constant <value_ints = [1]> () w = ReduceSum <keepdims = 0> (v, axes) }"#;

/// Adds a field 99 at the start and a field 100 at the end of every message, each with its own number.
fn marked(message: &[u8], kind: Kind, next: &mut u64, is_marked: &dyn Fn(Kind) -> bool) -> Vec<u8> {
    let mark = |number: u32, next: &mut u64| {
        *next += 1;
        field(number, 12, format!("vendor{next:06}").as_bytes())
    };
    let mut marked_message = Vec::new();
    if is_marked(kind) {
        marked_message.extend(mark(99, next));
    }
    for one in fields(message, 0..message.len()) {
        let one = one.unwrap();
        let child = kind.field(one.number);
        match one.payload.filter(|_| child.is_message()) {
            Some(payload) => {
                let inner = marked(&message[payload], child, next, is_marked);
                marked_message.extend(field(u32::try_from(one.number).unwrap(), inner.len() as u64, &inner));
            }
            None => marked_message.extend(&message[one.whole]),
        }
    }
    if is_marked(kind) {
        marked_message.extend(mark(100, next));
    }
    marked_message
}

/// The marks of a file, in order.
fn marks(file: &[u8]) -> Vec<String> {
    let found = file.windows(12).filter(|window| window.starts_with(b"vendor"));
    found.map(|mark| String::from_utf8(mark.to_vec()).unwrap()).collect()
}

fn target(opset: i64) -> Target {
    Target { opsets: BTreeMap::from([("ai.onnx".to_owned(), opset)]), ..Target::default() }
}

/// Converts a file and checks that the written model equals the converted one.
fn converted(file: &[u8], target: &Target) -> Result<Vec<u8>, WriteError> {
    let scan = scan(file, &Limits::default()).unwrap();
    let conversion = convert(&scan.model, target).unwrap_or_else(|refusal| panic!("{refusal}"));
    let written = conversion.file(&scan.model, file)?.bytes(file);
    assert_eq!(ModelProto::decode(written.as_slice()).unwrap(), conversion.model);
    Ok(written)
}

#[test]
fn fields_of_every_message_keep_their_bytes_and_their_order() {
    let plain = parse_model(MODEL).unwrap().encode_to_vec();
    let mut count = 0;
    // The constant that becomes an attribute remains an initializer, too, so no message disappears.
    let file = marked(&plain, Kind::Model, &mut count, &|_| true);
    assert!(count > 50 && marks(&file).len() as u64 == count, "{count}");
    let written = converted(&file, &target(12)).unwrap();
    assert_eq!(marks(&written), marks(&file));
    assert!(written.windows(7).filter(|window| *window == b"vendor0").count() as u64 == count);
}

#[test]
fn unchanged_parts_keep_every_byte() {
    let plain = parse_model(MODEL).unwrap().encode_to_vec();
    let file = marked(&plain, Kind::Model, &mut 0, &|kind| kind == Kind::Node);
    let same = Target { ir: Some(8), ..Target::default() };
    assert_eq!(converted(&file, &same).unwrap(), file);
    let raised = converted(&file, &Target { ir: Some(9), ..Target::default() }).unwrap();
    let differ = file.iter().zip(&raised).filter(|(one, other)| one != other).count();
    assert_eq!((raised.len(), differ), (file.len(), 1));
    // Split messages, fields out of order, and varints longer than necessary.
    let split = [
        field(7, plain_part(1).len() as u64, &plain_part(1)),
        vec![0x08, 0x88, 0x80, 0x00],
        field(8, 2, &[0x10, 13]),
        field(7, plain_part(2).len() as u64, &plain_part(2)),
    ]
    .concat();
    let written = converted(&split, &target(12)).unwrap();
    assert!(written.windows(4).any(|window| window == [0x08, 0x88, 0x80, 0x00]));
    assert!(marks(&written).is_empty());
}

/// One of the two parts of a graph; each has a node that an edit changes.
fn plain_part(number: usize) -> Vec<u8> {
    let text = format!(
        r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x{number}) => (float[2] y{number}) <int64[1] axes{number} = {{1}}>
        {{ y{number} = ReduceSum <keepdims = 0> (x{number}, axes{number}) }}"#
    );
    parse_model(&text).unwrap().graph.unwrap().encode_to_vec()
}

#[test]
fn removing_an_unknown_field_with_an_attribute_is_refused() {
    let text = r#"<ir_version: 8, opset_import: ["" : 12]>
        g (float[2, 3] x) => (float[2] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }"#;
    let plain = parse_model(text).unwrap().encode_to_vec();
    let file = marked(&plain, Kind::Model, &mut 0, &|kind| kind == Kind::Attribute);
    let error = converted(&file, &target(13)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("node 0 (ReduceSum): removing attribute 'axes' would also remove field 99 of AttributeProto"),
        "{error}"
    );
    let file = marked(&plain, Kind::Model, &mut 0, &|kind| kind == Kind::Node);
    assert_eq!(marks(&converted(&file, &target(13)).unwrap()), marks(&file));
}
