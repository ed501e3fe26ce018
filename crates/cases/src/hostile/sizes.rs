//! Sizes: tensors in the model whose dimensions and data do not match, or whose number of elements overflows any
//! integer.

use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::{TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{ModelProto, SparseTensorProto, TensorProto, TypeProto, ValueInfoProto};

use crate::hostile::draft::{
    Attack, DraftError, DraftResult, ValidModel, first_weight, floats, graph, integers, negation, shape, valid_model,
    weight,
};

/// 3 times this is 2 modulo 2^64.
const THIRD: i64 = 6_148_914_691_236_517_206;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "elements_wrap_to_0",
        says: "2^32 x 2^32 elements and no data: the product is 0 in 64 bits",
        make: || dims(&[1 << 32, 1 << 32], &[]),
    },
    Attack {
        name: "elements_wrap_to_what_is_there",
        says: "3 x 6148914691236517206 elements and two floats: the product is 2 in 64 bits",
        make: || dims(&[3, THIRD], &[1.0, -2.0]),
    },
    Attack {
        name: "bytes_wrap_to_0",
        says: "2^62 floats and no data: their bytes are 0 in 64 bits",
        make: || dims(&[1 << 62], &[]),
    },
    Attack {
        name: "bytes_wrap_to_what_is_there",
        says: "2^62 + 2 floats and two of them: their bytes are 8 in 64 bits",
        make: || dims(&[(1 << 62) + 2], &[1.0, -2.0]),
    },
    Attack {
        name: "elements_wrap_in_32_bits",
        says: "65536 x 65536 elements and no data: the product is 0 in 32 bits",
        make: || dims(&[1 << 16, 1 << 16], &[]),
    },
    Attack { name: "largest_dimension", says: "a dimension of 2^63 - 1 and no data", make: || dims(&[i64::MAX], &[]) },
    Attack {
        name: "negative_dimensions_of_positive_product",
        says: "-1 x -2 elements and two floats: the product is 2",
        make: || dims(&[-1, -2], &[1.0, -2.0]),
    },
    Attack { name: "smallest_dimension", says: "a dimension of -2^63", make: || dims(&[i64::MIN], &[1.0, -2.0]) },
    Attack { name: "terabyte_without_data", says: "2^38 floats and no data", make: || dims(&[1 << 38], &[]) },
    Attack {
        name: "packed_size_wraps",
        says: "2^63 - 1 elements of 4 bits in one byte: to round up to bytes goes beyond 64 bits",
        make: || {
            let text = r#"<ir_version: 10, opset_import: ["" : 21]> g () => (int64[1] n) <int4[2] w = {1, 2}> { n = Shape (w) }"#;
            let control = valid_model(text, Vec::new(), vec![("n", shape(&[2]))])?;
            control.refused(|model| {
                first_weight(model, |tensor| {
                    tensor.dims = vec![i64::MAX];
                    tensor.int32_data.clear();
                    tensor.raw_data = Some(vec![0x21].into());
                });
            })
        },
    },
    Attack {
        name: "zero_beside_the_largest",
        says: "0 x 2^62 x 2^62 elements and no data, which is valid: there are none",
        make: || {
            let text =
                r#"<ir_version: 7, opset_import: ["" : 13]> g () => (int64[3] n) <float[1] w = {1}> { n = Shape (w) }"#;
            let valid = valid_model(text, Vec::new(), vec![("n", shape(&[0, 1 << 62, 1 << 62]))])?;
            valid
                .changed(|model| first_weight(model, |tensor| set_data(tensor, &[0, 1 << 62, 1 << 62], &[])))
                .answered()
        },
    },
    Attack {
        name: "fewer_strings",
        says: "3 strings, of which one is there",
        make: || {
            let text = r#"<ir_version: 7, opset_import: ["" : 13]> g () => (int64[1] n) <string[3] w = {"a", "b", "c"}> { n = Shape (w) }"#;
            let control = valid_model(text, Vec::new(), vec![("n", shape(&[3]))])?;
            control.refused(|model| first_weight(model, |tensor| tensor.string_data.truncate(1)))
        },
    },
    Attack {
        name: "element_type_minus_1",
        says: "an element type of number -1",
        make: || weight()?.refused(|model| first_weight(model, |tensor| tensor.data_type = Some(-1))),
    },
    Attack {
        name: "element_type_2_to_the_31",
        says: "an element type of number 2^31 - 1",
        make: || weight()?.refused(|model| first_weight(model, |tensor| tensor.data_type = Some(i32::MAX))),
    },
    Attack {
        name: "sparse_index_beyond",
        says: "a sparse tensor of 4 elements, one of which stands at place 2^40",
        make: || sparse(&[4], &[0, 1 << 40]),
    },
    Attack {
        name: "sparse_index_negative",
        says: "a sparse tensor one of whose elements stands at place -2^40",
        make: || sparse(&[4], &[-(1 << 40), 1]),
    },
    Attack {
        name: "sparse_size_wraps",
        says: "a sparse tensor of 2^32 x 2^32 elements: the product is 0 in 64 bits",
        make: || sparse(&[1 << 32, 1 << 32], &[0, 1]),
    },
    Attack {
        name: "sparse_terabyte",
        says: "a sparse tensor of 2^40 elements, two of which are there, which is valid",
        make: || {
            let text = r#"<ir_version: 8, opset_import: ["" : 15]> g () => (int64[1] n) { n = Shape (w) }"#;
            let valid = valid_model(text, Vec::new(), vec![("n", shape(&[1 << 40]))])?;
            valid.changed(|model| set_sparse(model, &[1 << 40], &[0, 1])).answered()
        },
    },
    Attack {
        name: "sparse_without_values",
        says: "a sparse tensor with places and without values",
        make: || {
            sparse_model()?.refused(|model| {
                graph(model).sparse_initializer.iter_mut().for_each(|sparse| sparse.values = None);
            })
        },
    },
    Attack {
        name: "declared_terabyte_between",
        says: "the size that the model declares for a value between two nodes is 2^40, and the value has 2 elements",
        make: || declared(1 << 40),
    },
    Attack {
        name: "declared_minus_1_between",
        says: "the size that the model declares for a value between two nodes is -1",
        make: || declared(-1),
    },
    Attack {
        name: "declared_rank_1000_between",
        says: "the rank that the model declares for a value between two nodes is 1,000",
        make: || negated_twice()?.changed(|model| declare(model, &[1; 1000])).any(),
    },
    Attack {
        name: "output_declared_smaller",
        says: "the model declares one element for an output that has 2",
        make: || {
            let one = |model: &mut ModelProto| {
                if let Some(info) = graph(model).output.first_mut() {
                    info.r#type = Some(tensor_type(&[1]));
                }
            };
            negation()?.changed(one).any()
        },
    },
    Attack { name: "rank_1000", says: "a tensor of rank 1,000, which is valid", make: || rank(1000) },
    Attack { name: "rank_65536", says: "a tensor of rank 65,536, which is valid", make: || rank(65_536) },
    Attack {
        name: "rank_1000_transposed",
        says: "a tensor of rank 1,000 and its transpose, which is valid",
        make: || rank_of("t = Transpose (w) n = Size (t)", 1000),
    },
    Attack {
        name: "rank_1000_broadcast",
        says: "a tensor of rank 1,000 beside one of rank 1, which is valid",
        make: || rank_of("o = Constant <value = float[1] {1}> () t = Add (w, o) n = Size (t)", 1000),
    },
];

/// A model with an initializer of these dimensions and floats.
fn dims(dims: &[i64], data: &[f32]) -> DraftResult {
    weight()?.refused(|model| first_weight(model, |tensor| set_data(tensor, dims, data)))
}

fn set_data(tensor: &mut TensorProto, dims: &[i64], data: &[f32]) {
    tensor.dims = dims.to_vec();
    tensor.float_data.clear();
    tensor.raw_data = Some(data.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into());
}

/// A model with a sparse initializer of 4 elements.
fn sparse_model() -> Result<ValidModel, DraftError> {
    let text = r#"<ir_version: 8, opset_import: ["" : 15]> g () => (int64[1] n) { n = Shape (w) }"#;
    Ok(valid_model(text, Vec::new(), vec![("n", shape(&[4]))])?.changed(|model| set_sparse(model, &[4], &[0, 1])))
}

fn sparse(dims: &[i64], places: &[i64]) -> DraftResult {
    sparse_model()?.refused(|model| set_sparse(model, dims, places))
}

fn set_sparse(model: &mut ModelProto, dims: &[i64], places: &[i64]) {
    let tensor = |name: &str, data_type: i32, raw_data: Vec<u8>| TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(data_type),
        dims: vec![2],
        raw_data: Some(raw_data.into()),
        ..TensorProto::default()
    };
    let values = [1_f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let indices = places.iter().flat_map(|place| place.to_le_bytes()).collect();
    let (values, indices) = (Some(tensor("w", 1, values)), Some(tensor("", 7, indices)));
    graph(model).sparse_initializer = vec![SparseTensorProto { values, indices, dims: dims.to_vec() }];
}

fn tensor_type(sizes: &[i64]) -> TypeProto {
    let dim = |size: &i64| Dimension { value: Some(dimension::Value::DimValue(*size)), ..Dimension::default() };
    let shape = TensorShapeProto { dim: sizes.iter().map(dim).collect() };
    let tensor = type_proto::Tensor { elem_type: Some(1), shape: Some(shape) };
    TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() }
}

fn negated_twice() -> Result<ValidModel, DraftError> {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { a = Neg (x) y = Neg (a) }"#;
    valid_model(text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[1.0, -2.0]))])
}

fn declare(model: &mut ModelProto, sizes: &[i64]) {
    let name = Some("a".to_owned());
    graph(model).value_info =
        vec![ValueInfoProto { name, r#type: Some(tensor_type(sizes)), ..ValueInfoProto::default() }];
}

/// A model that declares a size for a value between two nodes.
fn declared(size: i64) -> DraftResult {
    negated_twice()?.changed(|model| declare(model, &[size])).any()
}

fn rank(rank: usize) -> DraftResult {
    rank_of("n = Size (w)", rank)
}

/// A model with an initializer of a rank, whose nodes compute the number of its elements.
fn rank_of(nodes: &str, rank: usize) -> DraftResult {
    let text =
        format!(r#"<ir_version: 7, opset_import: ["" : 13]> g () => (int64 n) <float[1] w = {{1}}> {{ {nodes} }}"#);
    let valid = valid_model(&text, Vec::new(), vec![("n", integers(&[], &[1]))])?;
    valid.changed(|model| first_weight(model, |tensor| tensor.dims = vec![1; rank])).answered()
}
