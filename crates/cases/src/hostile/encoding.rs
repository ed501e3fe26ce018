//! Encodings: files that are truncated, padded, or no protobuf at all.

use onnx_conformance_reference::proto::{GraphProto, Message, ModelProto, encode};

use crate::hostile::draft::{Attack, DraftResult, ValidModel, negation};
use crate::hostile::wire::{field, integer, long_varint};

/// Field numbers of `ModelProto`.
const IR_VERSION: u32 = 1;
const MODEL_VERSION: u32 = 5;
const GRAPH: u32 = 7;

/// A field number that no message of ONNX has.
const UNKNOWN: u32 = 1000;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "empty_file",
        says: "a file of no bytes is no model",
        make: || negation()?.refused_as(|_| Vec::new()),
    },
    Attack {
        name: "zeros",
        says: "64 KiB of zeros: the number of a field is never 0",
        make: || negation()?.refused_as(|_| vec![0; 1 << 16]),
    },
    Attack {
        name: "text",
        says: "the text syntax in place of the encoding",
        make: || negation()?.refused_as(|_| b"<ir_version: 7> g (float[2] x) => (float[2] y) { y = Neg (x) }".to_vec()),
    },
    Attack {
        name: "half",
        says: "the second half of the file is missing",
        make: || negation()?.refused_as(|bytes| bytes.get(..bytes.len() / 2).unwrap_or_default().to_vec()),
    },
    Attack {
        name: "only_the_first_fields",
        says: "the file ends where a field ends, before the graph",
        make: || negation()?.refused_as(|_| integer(IR_VERSION, 7)),
    },
    Attack {
        name: "varint_without_end",
        says: "the file ends within a varint",
        make: || negation()?.refused_as(|bytes| [bytes, key(MODEL_VERSION, 0), vec![0x80; 2]].concat()),
    },
    Attack {
        name: "varint_of_11_bytes",
        says: "a varint has at most 10 bytes",
        make: || negation()?.refused_as(|bytes| [key(MODEL_VERSION, 0), vec![0x80; 10], vec![1], bytes].concat()),
    },
    Attack {
        name: "varint_of_a_megabyte",
        says: "a varint whose million bytes all say that more follow",
        make: || negation()?.refused_as(|bytes| [key(MODEL_VERSION, 0), vec![0x80; 1 << 20], vec![1], bytes].concat()),
    },
    Attack {
        name: "overlong_varint",
        says: "a varint of 10 bytes where one would do, which is valid",
        make: || negation()?.answered_as(|bytes| [bytes, key(IR_VERSION, 0), long_varint(7, 10)].concat()),
    },
    Attack {
        name: "overlong_key",
        says: "the key of a field in 5 bytes where one would do, which is valid",
        make: || negation()?.answered_as(|bytes| [bytes, long_varint(key_number(IR_VERSION, 0), 5), vec![7]].concat()),
    },
    Attack {
        name: "length_beyond_the_end",
        says: "a length of 2^31 - 1 in a short file",
        make: || length((1 << 31) - 1),
    },
    Attack { name: "length_of_32_bits", says: "a length of 2^32 - 1 in a short file", make: || length((1 << 32) - 1) },
    Attack { name: "length_2_to_the_62", says: "a length of 2^62 in a short file", make: || length(1 << 62) },
    Attack { name: "length_minus_1", says: "a length of -1", make: || length(u64::MAX) },
    Attack {
        name: "length_that_wraps_to_the_true_one",
        says: "a length 2^32 above the true one, which is right in 32 bits",
        make: || negation()?.refused_as(|bytes| with_length(&bytes, |length| length + (1 << 32))),
    },
    Attack {
        name: "inner_length_beyond_the_outer",
        says: "a node that is longer than the graph around it, and ends within the file",
        make: || {
            negation()?.refused_as(|bytes| {
                let graph = encode::field(1, 64, &[0x22, 3, b'N', b'e', b'g']);
                [integer(IR_VERSION, 7), field(GRAPH, &graph), bytes].concat()
            })
        },
    },
    Attack {
        name: "packed_numbers_torn",
        says: "packed numbers that end within one",
        make: || {
            negation()?.refused_as(|bytes| {
                let tensor = field(1, &[0x80]);
                [bytes, field(GRAPH, &field(5, &tensor))].concat()
            })
        },
    },
    Attack {
        name: "field_number_0",
        says: "the number of a field is never 0",
        make: || negation()?.refused_as(|bytes| [bytes, vec![0, 0]].concat()),
    },
    Attack {
        name: "wire_type_6",
        says: "there is no wire type 6",
        make: || negation()?.refused_as(|bytes| [bytes, key(UNKNOWN, 6)].concat()),
    },
    Attack {
        name: "wire_type_7",
        says: "there is no wire type 7",
        make: || negation()?.refused_as(|bytes| [bytes, key(UNKNOWN, 7)].concat()),
    },
    Attack {
        name: "fixed_number_torn",
        says: "the file ends within a number of 8 bytes",
        make: || negation()?.refused_as(|bytes| [bytes, key(UNKNOWN, 1), vec![1, 2, 3]].concat()),
    },
    Attack {
        name: "end_of_a_group_that_never_began",
        says: "a group ends that has not begun",
        make: || negation()?.refused_as(|bytes| [bytes, key(UNKNOWN, 4)].concat()),
    },
    Attack {
        name: "groups_without_end",
        says: "100,000 groups in each other, none of which ends",
        make: || negation()?.refused_as(|bytes| [bytes, key(UNKNOWN, 3).repeat(100_000)].concat()),
    },
    Attack {
        name: "groups_of_depth_100",
        says: "an unknown field of 100 groups in each other, which is valid",
        make: || groups(100),
    },
    Attack {
        name: "groups_of_depth_100000",
        says: "an unknown field of 100,000 groups in each other, which is valid",
        make: || groups(100_000),
    },
    Attack {
        name: "unknown_field",
        says: "an unknown field of 1 MiB, which is passed over",
        make: || negation()?.answered_as(|bytes| [bytes, field(UNKNOWN, &vec![7; 1 << 20])].concat()),
    },
    Attack {
        name: "graph_in_two_parts",
        says: "two fields of the one graph, which are merged",
        make: || {
            let valid = negation()?;
            let split = in_two_parts(&valid);
            valid.answered_as(|_| split)
        },
    },
    Attack {
        name: "graph_in_100000_parts",
        says: "100,000 empty fields of the one graph behind the true one, which are merged",
        make: || negation()?.answered_as(|bytes| [bytes, field(GRAPH, &[]).repeat(100_000)].concat()),
    },
    Attack {
        name: "half_a_million_empty_nodes",
        says: "a megabyte of nodes of no bytes, each of which takes a hundred times its size in memory",
        make: || negation()?.refused_as(|bytes| [bytes, field(GRAPH, &field(1, &[]).repeat(500_000))].concat()),
    },
    Attack {
        name: "half_a_million_empty_tensors",
        says: "a megabyte of initializers of no bytes, each of which takes a hundred times its size in memory",
        make: || negation()?.refused_as(|bytes| [bytes, field(GRAPH, &field(5, &[]).repeat(500_000))].concat()),
    },
];

fn key_number(number: u32, wire_type: u64) -> u64 {
    u64::from(number) << 3 | wire_type
}

fn key(number: u32, wire_type: u64) -> Vec<u8> {
    encode::varint(key_number(number, wire_type))
}

/// A model whose graph declares this length.
fn length(length: u64) -> DraftResult {
    negation()?.refused_as(|bytes| with_length(&bytes, |_| length))
}

/// Changes the declared length of the graph, the last field of a model.
fn with_length(model: &[u8], change: impl FnOnce(u64) -> u64) -> Vec<u8> {
    let mut model = ModelProto::decode(model).unwrap_or_default();
    let graph = model.graph.take().unwrap_or_default().encode_to_vec();
    [model.encode_to_vec(), encode::field(GRAPH, change(graph.len() as u64), &graph)].concat()
}

/// A model with an unknown field of groups, nested `depth` deep.
fn groups(depth: usize) -> DraftResult {
    let groups = [key(UNKNOWN, 3).repeat(depth), key(UNKNOWN, 4).repeat(depth)].concat();
    negation()?.answered_as(|bytes| [bytes, groups].concat())
}

/// Encodes the model with its inputs in one field of the graph, and the rest in another.
fn in_two_parts(valid: &ValidModel) -> Vec<u8> {
    let mut model = valid.model.clone();
    let mut graph = model.graph.take().unwrap_or_default();
    let inputs = GraphProto { input: std::mem::take(&mut graph.input), ..GraphProto::default() };
    let parts = [inputs.encode_to_vec(), graph.encode_to_vec()].map(|part| field(GRAPH, &part));
    [model.encode_to_vec(), parts.concat()].concat()
}
