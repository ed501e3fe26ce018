//! Tensors in the model: their types, dimensions and stored elements, which are counted without being read.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{AttributeProto, SparseTensorProto, TensorProto};
use onnx_conformance_reference::tensor::packing::packed_len;

use crate::finding::{Finding, Place};
use crate::infer::NodeId;
use crate::rules::RuleId;
use crate::scan::DataField;
use crate::validity::context::Context;
use crate::validity::external;

/// Checks the initializers of all graphs, and the tensors in attributes.
pub(super) fn check(context: &mut Context<'_, '_>) {
    for id in context.bodies().ids() {
        let body = context.bodies().body(id);
        if let Some(graph) = body.graph() {
            for tensor in &graph.initializer {
                let item =
                    || Place { item: Some(format!("initializer '{}'", tensor.name())), ..context.bodies().place(id) };
                let found = problems(context, tensor).into_iter().map(|finding| Finding { place: item(), ..finding });
                let found: Vec<Finding> = found.collect();
                for finding in found {
                    context.push(finding);
                }
            }
            for sparse in &graph.sparse_initializer {
                let name = sparse.values.as_ref().map_or("", |values| values.name());
                let item = format!("sparse initializer '{name}'");
                let place = Place { item: Some(item), ..context.bodies().place(id) };
                check_sparse(context, sparse, &place);
            }
        }
        for (node, index) in body.nodes().iter().zip(0..) {
            for attribute in &node.attribute {
                check_attribute(context, NodeId { body: id, index }, attribute);
            }
        }
    }
    external::check_alignment(context);
}

fn check_attribute(context: &mut Context<'_, '_>, node: NodeId, attribute: &AttributeProto) {
    let tensors = attribute.all_tensors();
    let sparse = attribute.all_sparse_tensors();
    if tensors.clone().next().is_none() && sparse.clone().next().is_none() {
        return;
    }
    let item = format!("tensor in attribute '{}'", attribute.name());
    let place = Place { item: Some(item), ..context.bodies().place_of(node) };
    for tensor in tensors {
        for finding in problems(context, tensor) {
            context.push(Finding { place: place.clone(), ..finding });
        }
    }
    for sparse in sparse {
        check_sparse(context, sparse, &place);
    }
}

/// Number of elements in a field. For varints only bounds are known without reading them.
#[derive(Clone, Copy)]
struct Amount {
    field: DataField,
    /// Entries of a list, or bytes of raw data.
    min: u64,
    max: u64,
}

/// The nonempty fields of a tensor, with the numbers of their elements.
fn amounts(context: &Context<'_, '_>, tensor: &TensorProto) -> Vec<Amount> {
    let exact = |field, count: usize| Amount { field, min: count as u64, max: count as u64 };
    if let Some(stored) = context.scan.stored(tensor).filter(|stored| stored.is_elided) {
        let amount = |stored: &crate::scan::StoredField| {
            let (min, max) = match stored.field {
                DataField::RawData => (stored.listed, stored.listed),
                DataField::FloatData => (stored.listed / 4, stored.listed / 4),
                DataField::DoubleData => (stored.listed / 8, stored.listed / 8),
                DataField::StringData => (0, 0),
                _ => (stored.listed.div_ceil(10), stored.listed),
            };
            Amount { field: stored.field, min: min + stored.singles, max: max + stored.singles }
        };
        return stored.fields.iter().map(amount).filter(|amount| amount.max > 0).collect();
    }
    let all = [
        exact(DataField::RawData, tensor.raw_data.as_ref().map_or(0, bytes::Bytes::len)),
        exact(DataField::FloatData, tensor.float_data.len()),
        exact(DataField::Int32Data, tensor.int32_data.len()),
        exact(DataField::StringData, tensor.string_data.len()),
        exact(DataField::Int64Data, tensor.int64_data.len()),
        exact(DataField::DoubleData, tensor.double_data.len()),
        exact(DataField::Uint64Data, tensor.uint64_data.len()),
    ];
    all.into_iter().filter(|amount| amount.max > 0).collect()
}

/// The field for elements of a type that are not raw, and the number of its entries for `count` elements.
fn typed_field(element: ElementType, count: usize) -> (DataField, Option<usize>) {
    use ElementType as E;
    match element {
        E::Float => (DataField::FloatData, Some(count)),
        E::Complex64 => (DataField::FloatData, count.checked_mul(2)),
        E::Double => (DataField::DoubleData, Some(count)),
        E::Complex128 => (DataField::DoubleData, count.checked_mul(2)),
        E::Int64 => (DataField::Int64Data, Some(count)),
        E::Uint64 | E::Uint32 => (DataField::Uint64Data, Some(count)),
        E::String => (DataField::StringData, Some(count)),
        other if matches!(other.bits(), 2 | 4) => (DataField::Int32Data, packed_len(other, count)),
        _ => (DataField::Int32Data, Some(count)),
    }
}

/// The problems of a tensor; the caller sets the places.
fn problems(context: &Context<'_, '_>, tensor: &TensorProto) -> Vec<Finding> {
    let stored = context.scan.stored(tensor);
    let offset = stored.and_then(|stored| stored.fields.first()?.parts.first()).map(|(offset, _)| *offset);
    let finding = |rule, message: String| Finding { offset, ..Finding::new(rule, Place::default(), message) };
    let mut found = Vec::new();
    if stored.is_some_and(|stored| stored.is_segment) {
        found.push(
            finding(RuleId::TensorSegment, "the tensor is a segment of another tensor".to_owned())
                .with_edit("store the whole tensor"),
        );
    }
    if let Some(location) = tensor.data_location.filter(|code| DataLocation::try_from(*code).is_err()) {
        found
            .push(finding(RuleId::TensorLocation, format!("data_location {location} is neither DEFAULT nor EXTERNAL")));
    }
    let code = tensor.data_type();
    let Some(element) = ElementType::from_code(code) else {
        let newest = ElementType::ALL.len();
        found.push(finding(
            RuleId::TensorType,
            format!("data_type {code} is not an element type; 1 to {newest} are known"),
        ));
        return found;
    };
    let dims: Option<Vec<usize>> = tensor.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let count = dims.and_then(|dims| {
        if dims.contains(&0) { Some(0) } else { dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim)) }
    });
    let Some(count) = count else {
        found.push(finding(RuleId::TensorDims, format!("dimensions {:?} are not a valid shape", tensor.dims)));
        return found;
    };
    if element != ElementType::String && packed_len(element, count).is_none() {
        let message = format!("the size of {element}{:?} in bytes overflows", tensor.dims);
        found.push(finding(RuleId::TensorDims, message));
        return found;
    }
    let amounts = amounts(context, tensor);
    if let [_, _, ..] = amounts.as_slice() {
        let names: Vec<&str> = amounts.iter().map(|amount| amount.field.name()).collect();
        found.push(finding(
            RuleId::TensorFields,
            format!("the elements are stored in {}, but only one field may contain them", names.join(" and ")),
        ));
        return found;
    }
    if tensor.data_location() == DataLocation::External {
        found.extend(amounts.first().map(|amount| {
            let message = format!("the elements are in a file, but {} contains some, too", amount.field.name());
            finding(RuleId::ExternalFields, message)
        }));
        let needed = if element == ElementType::String { None } else { packed_len(element, count) };
        found.extend(external::problems(context, tensor, needed));
        return found;
    }
    let problem = size_problem(tensor, element, count, amounts.first().copied());
    found.extend(problem.map(|(rule, message)| finding(rule, message)));
    found.extend(surplus_bits(tensor, element).map(|message| finding(RuleId::TensorBits, message)));
    if tensor.string_data.iter().any(|text| std::str::from_utf8(text).is_err()) {
        found.push(finding(RuleId::TensorText, "an element of string_data is not UTF-8".to_owned()));
    }
    found
}

/// Returns the problem of the first entry of 6-bit floats that has further bits. Large tensors are not read.
fn surplus_bits(tensor: &TensorProto, element: ElementType) -> Option<String> {
    let entry = tensor.int32_data.iter().find(|entry| element.bits() == 6 && !(0..64).contains(*entry))?;
    Some(format!("an entry of int32_data is {entry}, but an element of {element} has 6 bits"))
}

/// Checks that the elements are in the right field, and that their number is correct.
fn size_problem(
    tensor: &TensorProto,
    element: ElementType,
    count: usize,
    amount: Option<Amount>,
) -> Option<(RuleId, String)> {
    let shape = &tensor.dims;
    let (expected, entries) = typed_field(element, count);
    let Some(amount) = amount else {
        let message = || format!("the tensor stores no elements, but {element}{shape:?} has {count}");
        return (count > 0).then(|| (RuleId::TensorSize, message()));
    };
    let (needed, unit) = match amount.field {
        DataField::RawData if element == ElementType::String => {
            return Some((RuleId::TensorField, "the strings are stored in raw_data instead of string_data".to_owned()));
        }
        DataField::RawData => (packed_len(element, count), "bytes"),
        field if field != expected => {
            let message =
                format!("elements of type {element} are stored in {} instead of {}", field.name(), expected.name());
            return Some((RuleId::TensorField, message));
        }
        _ => (entries, "entries"),
    };
    let needed = needed.and_then(|needed| u64::try_from(needed).ok())?;
    if (amount.min..=amount.max).contains(&needed) {
        return None;
    }
    let stored_count =
        if amount.min == amount.max { amount.min.to_string() } else { format!("at most {}", amount.max) };
    let name = amount.field.name();
    let message = format!("{name} contains {stored_count} {unit}, but {element}{shape:?} needs {needed}");
    Some((RuleId::TensorSize, message))
}

fn check_sparse(context: &mut Context<'_, '_>, sparse: &SparseTensorProto, place: &Place) {
    let parts = [("values", &sparse.values), ("indices", &sparse.indices)];
    let mut is_complete = true;
    for (name, part) in parts {
        let Some(tensor) = part else { continue };
        is_complete &= context.scan.stored(tensor).is_none();
        for finding in problems(context, tensor) {
            is_complete = false;
            let message = format!("{name}: {}", finding.message);
            context.push(Finding { place: place.clone(), message, ..finding });
        }
    }
    // Large tensors are not read, so their positions are not checked.
    if !is_complete {
        return;
    }
    if let Err(error) = decode::sparse_tensor(sparse, &NoExternalData) {
        context.push(Finding::new(RuleId::TensorSparse, place.clone(), error.to_string()));
    }
}
