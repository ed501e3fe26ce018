//! Attributes and their values.

use bytes::Bytes;

use super::literal::{float, next_is_type, tensor, value_type};
use super::scanner::{Literal, Scanner, TextError};
use super::structure::graph;
use crate::proto::AttributeProto;
use crate::proto::onnx::attribute_proto::AttributeType;

/// Parses `<name: type = value, ...>`, which is optional.
pub(super) fn attributes(scanner: &mut Scanner<'_>) -> Result<Vec<AttributeProto>, TextError> {
    let mut attributes = Vec::new();
    if scanner.take('<') {
        loop {
            let name = scanner.identifier("the name of an attribute")?.to_owned();
            attributes.push(attribute(scanner, name)?);
            if !scanner.take(',') {
                break;
            }
        }
        scanner.expect('>')?;
    }
    Ok(attributes)
}

/// Parses the part after the name: `: type = value`. The type is optional unless the value is an empty list.
pub(super) fn attribute(scanner: &mut Scanner<'_>, name: String) -> Result<AttributeProto, TextError> {
    let place = scanner.place();
    let declared = if scanner.take(':') { declared_type(scanner)? } else { AttributeType::Undefined };
    scanner.expect('=')?;
    let mut proto = if scanner.take('[') { list(scanner, place, declared)? } else { single(scanner, declared)? };
    if declared == AttributeType::Undefined && proto.ref_attr_name.is_none() && proto.r#type.is_none() {
        return Err(scanner.error_at(place, &format!("attribute '{name}' needs a type, as in '{name}: ints = []'")));
    }
    proto.name = Some(name);
    Ok(proto)
}

/// Parses the name of an attribute type; ONNX prints `undefined` for a reference without a type.
fn declared_type(scanner: &mut Scanner<'_>) -> Result<AttributeType, TextError> {
    let place = scanner.place();
    let name = scanner.identifier("the type of the attribute")?;
    let known = (!name.contains(|c: char| c.is_ascii_uppercase()))
        .then(|| AttributeType::from_str_name(&name.to_ascii_uppercase()))
        .flatten();
    known.ok_or_else(|| {
        scanner.error_at(place, &format!("'{name}' is not an attribute type, such as int, floats or graph"))
    })
}

/// Pairs of an item type and its list type.
const LISTS: [(AttributeType, AttributeType); 6] = [
    (AttributeType::Float, AttributeType::Floats),
    (AttributeType::Int, AttributeType::Ints),
    (AttributeType::String, AttributeType::Strings),
    (AttributeType::Tensor, AttributeType::Tensors),
    (AttributeType::Graph, AttributeType::Graphs),
    (AttributeType::TypeProto, AttributeType::TypeProtos),
];

/// Parses the items of a list, all of one type, and the closing bracket.
fn list(scanner: &mut Scanner<'_>, place: usize, declared: AttributeType) -> Result<AttributeProto, TextError> {
    let item_type = LISTS.iter().find(|(_, list)| *list == declared).map(|(item, _)| *item);
    if item_type.is_none() && declared != AttributeType::Undefined {
        return Err(scanner.error_at(place, "a list needs the type of a list, such as ints"));
    }
    let mut expected = item_type.unwrap_or(AttributeType::Undefined);
    let mut all = AttributeProto { r#type: known(declared), ..AttributeProto::default() };
    let mut first = true;
    while !scanner.take(']') {
        if !first {
            scanner.expect(',')?;
        }
        first = false;
        let place = scanner.place();
        let item = single(scanner, expected)?;
        let pair = LISTS.iter().find(|(single, _)| item.r#type == Some(*single as i32));
        let Some((item_type, list_type)) = pair.filter(|_| item.ref_attr_name.is_none()) else {
            return Err(scanner.error_at(place, "a list cannot contain references"));
        };
        expected = *item_type;
        all.r#type = Some(*list_type as i32);
        all.floats.extend(item.f);
        all.ints.extend(item.i);
        all.strings.extend(item.s);
        all.tensors.extend(item.t.map(|tensor| *tensor));
        all.graphs.extend(item.g.map(|graph| *graph));
        all.type_protos.extend(item.tp.map(|declared| *declared));
    }
    Ok(all)
}

fn known(kind: AttributeType) -> Option<i32> {
    (kind != AttributeType::Undefined).then_some(kind as i32)
}

/// Parses one value, of the expected type if that is known: an integer is then accepted as a float.
fn single(scanner: &mut Scanner<'_>, expected: AttributeType) -> Result<AttributeProto, TextError> {
    let place = scanner.place();
    let mut proto = AttributeProto::default();
    if scanner.take('@') {
        proto.ref_attr_name = Some(scanner.name("the name of an attribute of the function")?);
        proto.r#type = known(expected);
        return Ok(proto);
    }
    let found = if next_is_type(scanner) {
        let declared = value_type(scanner)?;
        let name = scanner.take_name()?;
        if scanner.take('=') || name.is_some() || scanner.peek() == Some('{') {
            proto.t = Some(Box::new(tensor(scanner, name.unwrap_or_default(), &declared)?));
            AttributeType::Tensor
        } else {
            proto.tp = Some(Box::new(declared));
            AttributeType::TypeProto
        }
    } else if scanner.peek_identifier().is_some() && !scanner.next_is_float_word() {
        proto.g = Some(Box::new(graph(scanner)?));
        AttributeType::Graph
    } else {
        literal(scanner, &mut proto, expected)?
    };
    if expected != AttributeType::Undefined && expected != found {
        let (expected, found) = (expected.as_str_name(), found.as_str_name());
        return Err(scanner.error_at(place, &format!("the type is {expected}, but the value is {found}")));
    }
    proto.r#type = Some(found as i32);
    Ok(proto)
}

fn literal(
    scanner: &mut Scanner<'_>,
    proto: &mut AttributeProto,
    expected: AttributeType,
) -> Result<AttributeType, TextError> {
    let place = scanner.place();
    match scanner.literal()? {
        Literal::Integer(value) if expected == AttributeType::Float => {
            proto.f = Some(float(&value.to_string()).map_err(|error| scanner.error_at(place, &error.to_string()))?);
            Ok(AttributeType::Float)
        }
        Literal::Integer(value) => {
            let fits = i64::try_from(value);
            proto.i = Some(fits.map_err(|_| scanner.error_at(place, &format!("{value} does not fit 64 bits")))?);
            Ok(AttributeType::Int)
        }
        Literal::Float(text) => {
            proto.f = Some(float(text).map_err(|error| scanner.error_at(place, &error.to_string()))?);
            Ok(AttributeType::Float)
        }
        Literal::String(text) => {
            proto.s = Some(Bytes::from(text));
            Ok(AttributeType::String)
        }
    }
}
