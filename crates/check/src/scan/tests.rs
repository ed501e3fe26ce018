use std::cell::Cell;
use std::io;

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message, ModelProto, NodeProto, TensorProto, ValueInfoProto, texts};
use onnx_conformance_reference::spec::Specs;

use crate::limits::Limits;
use crate::scan::{DataField, Source, scan};
use crate::validity::check;

fn model() -> ModelProto {
    let text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }";
    parse_model(text).unwrap()
}

/// Returns the only finding of a file: its rule and its text.
fn refusal(bytes: &[u8]) -> (&'static str, String) {
    let finding = scan(bytes, &Limits::default()).map(|_| ()).unwrap_err();
    (finding.rule.id(), finding.to_string())
}

#[test]
fn files_that_are_not_models_are_identified() {
    for (bytes, rule, name) in [
        (&b""[..], "file/empty", "the file is empty"),
        (b"\x20\0\0\0ORTM....", "file/no-model", "ORT format"),
        (b"\x1c\0\0\0TFL3....", "file/no-model", "TensorFlow Lite"),
        (b"PK\x03\x04....", "file/no-model", "zip"),
        (b"\x1f\x8b\x08\0", "file/no-model", "gzip"),
        (b"\x89HDF\r\n\x1a\n", "file/no-model", "HDF5"),
        (b"\x80\x04\x95", "file/no-model", "pickle"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "file/no-model", "Git LFS"),
        (b"{\"nodes\": []}", "file/no-model", "JSON"),
        (b"<!DOCTYPE html>", "file/no-model", "HTML"),
        (b"import numpy\n", "file/no-model", "a text"),
        (&[0xff; 40], "file/malformed", "byte 0"),
    ] {
        let (found, text) = refusal(bytes);
        assert!(found == rule && text.contains(name), "{bytes:?}: {text}");
    }
    let tensor =
        TensorProto { dims: vec![2], data_type: Some(1), float_data: vec![1.0, 2.0], ..TensorProto::default() };
    let (rule, text) = refusal(&tensor.encode_to_vec());
    assert!(rule == "file/no-model" && text.contains("TensorProto (tensor(float)[2])"), "{text}");
}

#[test]
fn a_broken_encoding_has_the_byte() {
    let bytes = model().encode_to_vec();
    let (rule, text) = refusal(&bytes[..bytes.len() - 3]);
    assert!(rule == "file/truncated" && text.contains("declares") && text.contains("are left"), "{text}");
    let mut broken = bytes.clone();
    let at = bytes.windows(3).position(|window| window == b"Neg").unwrap();
    // The length of the operator's name.
    broken[at - 1] = 60;
    let (rule, text) = refusal(&broken);
    assert!(rule == "file/malformed" && text.contains(&format!("byte {}", at - 2)), "{text}");
}

#[test]
fn strings_that_are_not_utf8_are_findings() {
    let mut bytes = model().encode_to_vec();
    let at = bytes.windows(3).position(|window| window == b"Neg").unwrap();
    bytes[at + 2] = 0xff;
    let report = check(bytes.as_slice(), None, &Limits::default());
    let found: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id()).collect();
    assert!(found.contains(&"file/text"), "{found:?}");
    let finding = report.findings.iter().find(|finding| finding.rule.id() == "file/text").unwrap();
    assert_eq!(finding.offset, Some(at as u64));
}

/// File with zeros between a head and a tail, which counts the bytes read.
struct Sparse {
    head: Vec<u8>,
    zeros: u64,
    tail: Vec<u8>,
    read: Cell<u64>,
}

impl Source for Sparse {
    fn len(&self) -> u64 {
        self.head.len() as u64 + self.zeros + self.tail.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read.set(self.read.get() + buffer.len() as u64);
        for (byte, at) in buffer.iter_mut().zip(offset..) {
            let behind = at.checked_sub(self.head.len() as u64);
            *byte = match behind {
                None => self.head[usize::try_from(at).unwrap()],
                Some(behind) if behind < self.zeros => 0,
                Some(behind) => self.tail[usize::try_from(behind - self.zeros).unwrap()],
            };
        }
        Ok(())
    }
}

/// A length-delimited field whose bytes are incomplete.
fn open_field(number: u64, length: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(number << 3 | 2, &mut bytes);
    prost::encoding::encode_varint(length, &mut bytes);
    bytes.extend(rest);
    bytes
}

#[test]
fn weights_of_ten_gigabytes_are_not_read() {
    let zeros = 10u64 << 30;
    let count = i64::try_from(zeros / 4).unwrap();
    let tensor =
        TensorProto { dims: vec![count], data_type: Some(1), name: Some("w".to_owned()), ..TensorProto::default() };
    let tensor = [tensor.encode_to_vec(), open_field(9, zeros, &[])].concat();
    let initializer = open_field(5, tensor.len() as u64 + zeros, &tensor);
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]> g () => (float[{count}] y) {{ y = Neg (w) }}");
    let model = parse_model(&text).unwrap();
    let graph = model.graph.clone().unwrap().encode_to_vec();
    let rest = ModelProto { graph: None, ..model }.encode_to_vec();
    let head = open_field(7, initializer.len() as u64 + zeros + graph.len() as u64, &initializer);
    let source = Sparse { head, zeros, tail: [graph, rest].concat(), read: Cell::new(0) };
    let report = check(&source, None, &Limits::default());
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let scan = report.scan.unwrap();
    let stored = scan.stored(&scan.model.graph.as_ref().unwrap().initializer[0]).unwrap();
    let field = &stored.fields[0];
    assert_eq!((field.field, field.parts[0].1, stored.is_elided), (DataField::RawData, zeros, true));
    assert!(source.read.get() < 1 << 20, "{} bytes were read", source.read.get());
}

#[test]
fn elements_with_individual_keys_are_skipped_too() {
    let mut tensor =
        TensorProto { dims: vec![10_000], data_type: Some(1), name: Some("w".to_owned()), ..TensorProto::default() }
            .encode_to_vec();
    for _ in 0..10_000 {
        tensor.extend([4 << 3 | 5, 0, 0, 0x80, 0x3f]);
    }
    let mut bytes = model().encode_to_vec();
    bytes.extend(open_field(
        7,
        open_field(5, tensor.len() as u64, &tensor).len() as u64,
        &open_field(5, tensor.len() as u64, &tensor),
    ));
    let report = check(bytes.as_slice(), None, &Limits::default());
    assert!(report.is_valid(), "{:?}", report.findings);
    let scan = report.scan.unwrap();
    let stored = scan.stored(&scan.model.graph.as_ref().unwrap().initializer[0]).unwrap();
    assert_eq!((stored.fields[0].singles, stored.fields[0].parts.len()), (10_000, 1));
}

#[test]
fn limits_of_depth_memory_and_time_hold() {
    let mut nested: Vec<u8> = Vec::new();
    for _ in 0..10_000 {
        nested = open_field(1, 0, &[]).into_iter().take(1).chain(length(&nested)).collect();
        nested = [vec![5 << 3 | 2], length(&[vec![6 << 3 | 2], length(&nested)].concat())].concat();
        if nested.len() > 4000 {
            break;
        }
    }
    let bytes = [vec![7 << 3 | 2], length(&[vec![1 << 3 | 2], length(&nested)].concat())].concat();
    assert_eq!(refusal(&bytes).0, "file/nesting");
    let bytes = model().encode_to_vec();
    let limits = Limits { bytes: 64, ..Limits::default() };
    assert_eq!(scan(bytes.as_slice(), &limits).unwrap_err().rule.id(), "file/limit");
    let limits = Limits { deadline: Deadline::new(|| true), ..Limits::default() };
    let report = check(bytes.as_slice(), None, &limits);
    assert!(report.findings.iter().any(|finding| finding.rule.id() == "file/limit"));
}

fn length(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    prost::encoding::encode_varint(bytes.len() as u64, &mut all);
    all.extend(bytes);
    all
}

#[test]
fn a_hundred_thousand_nodes_are_checked_in_a_line() {
    let mut model = model();
    let graph = model.graph.as_mut().unwrap();
    let count = 100_000;
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    graph.node = (0..count)
        .map(|at| NodeProto {
            op_type: Some("Neg".into()),
            input: texts([name(at)]),
            output: texts([name(at + 1)]),
            ..NodeProto::default()
        })
        .collect();
    graph.output = vec![ValueInfoProto { name: Some(name(count)), ..graph.output[0].clone() }];
    let report = check(model.encode_to_vec().as_slice(), None, &Limits::default());
    assert!(report.findings.is_empty(), "{:?}", report.findings.first());
    // In reverse order every node but the last is out of place, and the limit of findings applies.
    model.graph.as_mut().unwrap().node.reverse();
    let report = check(model.encode_to_vec().as_slice(), None, &Limits { findings: 100, ..Limits::default() });
    assert_eq!((report.findings.len(), report.findings[0].rule.id()), (101, "value/unsorted"));
    let cut = report.findings.last().unwrap();
    assert_eq!((cut.rule.id(), cut.message.as_str()), ("file/limit", "only 100 of 99999 errors are listed"));
}

#[test]
fn unknown_fields_are_reported_with_their_place() {
    let field = |number: u32, payload: &[u8]| {
        onnx_conformance_reference::proto::encode::field(number, payload.len() as u64, payload)
    };
    let mut bytes = model().encode_to_vec();
    assert!(scan(bytes.as_slice(), &Limits::default()).unwrap().unknown.first.is_empty());
    let at = bytes.len() as u64;
    bytes.extend(field(8, &[field(1, b"local"), vec![0x10, 1], field(3, b"x")].concat()));
    bytes.extend(field(99, b"a"));
    bytes.extend(field(7, &field(5, &[field(13, &field(4, b"y")), field(15, b"z")].concat())));
    let unknown = scan(bytes.as_slice(), &Limits::default()).unwrap().unknown;
    let places: Vec<String> = unknown.first.iter().map(crate::scan::UnknownField::place).collect();
    assert_eq!(
        places,
        [
            "field 3 of field 8 (opset_import) of ModelProto",
            "field 99 of ModelProto",
            "field 4 of field 13 (external_data) of TensorProto",
            "field 15 of TensorProto",
        ]
    );
    assert_eq!((unknown.count, unknown.first[0].offset), (4, at + 11));
    bytes.extend((0..1000).flat_map(|_| field(100, b"b")));
    let report = check(bytes.as_slice(), None, &Limits::default());
    let finding = report.findings.iter().find(|finding| finding.rule.id() == "file/unknown-field").unwrap();
    let expected = format!(
        "byte {}: field 3 of field 8 (opset_import) of ModelProto is not defined by ONNX {}, and 1003 more such \
         fields",
        at + 11,
        Specs::embedded().newest_release()
    );
    assert_eq!((finding.message.as_str(), finding.offset), (expected.as_str(), Some(at + 11)));
    assert_eq!(report.scan.unwrap().unknown.first.len(), 100);
}
