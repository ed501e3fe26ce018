//! Label encoders and maps of ai.onnx.ml.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::ml::preprocessing::rows_and_columns;
use crate::kernels::ml::shapes;
use crate::model::Attribute;
use crate::tensor::{Tensor, TensorBuilder};
use crate::types::ValueType;
use crate::value::{Map, MapKey, Sequence, Value};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.ml", "CastMap", 1, cast_map).shape(shapes::cast_map).typed(shapes::cast_map_type),
    Kernel::in_domain("ai.onnx.ml", "CategoryMapper", 1, category_mapper)
        .shape(rules::same)
        .typed(shapes::swapped_type),
    Kernel::in_domain("ai.onnx.ml", "DictVectorizer", 1, dict_vectorizer)
        .shape(shapes::vectorized)
        .typed(shapes::map_value_type),
    Kernel::in_domain("ai.onnx.ml", "LabelEncoder", 1, class_encoder).shape(rules::same).typed(shapes::swapped_type),
    Kernel::in_domain("ai.onnx.ml", "LabelEncoder", 2, |call| label_encoder(call, Equality::Bits))
        .shape(rules::same)
        .typed(shapes::encoded_type),
    Kernel::in_domain("ai.onnx.ml", "LabelEncoder", 4, |call| label_encoder(call, Equality::Numbers))
        .shape(rules::same)
        .typed(shapes::encoded_type),
    Kernel::in_domain("ai.onnx.ml", "ZipMap", 1, zip_map).shape(rules::not_inferred).typed(shapes::zipped_type),
];

/// Values by key.
struct Dictionary {
    keys: Tensor,
    values: Tensor,
    /// Value of an element that is not a key.
    default: Tensor,
}

impl Dictionary {
    /// Replaces each element of the input with the value of its key, or with the default.
    fn translate(&self, call: &Call<'_>, equality: Equality) -> Result {
        let Dictionary { keys, values, default } = self;
        let x = call.tensor(0)?;
        if keys.len() != values.len() {
            let (keys, values) = (keys.len(), values.len());
            return Err(invalid(format!("there are {keys} keys and {values} values; the numbers must be equal")));
        }
        // The table has an entry per key, and spare capacity.
        call.budget.count(keys.len(), 4 * size_of::<(&str, usize)>())?;
        let places: Vec<Option<usize>> = if x.element_type() == ElementType::String {
            let table: HashMap<&str, usize> =
                keys.strings().iter().enumerate().map(|(index, key)| (&**key, index)).collect();
            call.budget.collect(x.strings().iter().map(|text| table.get(&**text).copied()))?
        } else {
            let table: HashMap<u64, usize> = (0..keys.len()).map(|index| (equality.code(keys, index), index)).collect();
            call.budget.collect((0..x.len()).map(|index| table.get(&equality.code(x, index)).copied()))?
        };
        let positions = places.into_iter().map(|place| place.map_or((1, 0), |index| (0, index)));
        Ok(call.allocate(values.element_type(), x.shape())?.gather_from(&[values, default], positions)?.into())
    }
}

/// Equality of numbers as keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Equality {
    /// Bitwise equality: zeros differ by sign, NaNs by payload.
    Bits,
    /// Numeric equality, and all NaNs are equal.
    Numbers,
}

impl Equality {
    /// Returns a code that is the same for equal elements of one type.
    fn code(self, tensor: &Tensor, index: usize) -> u64 {
        let (element, bits) = (tensor.element_type(), tensor.bits_at(index));
        if self == Equality::Bits || !element.is_float() {
            return bits;
        }
        // Adding positive zero unifies the zeros, and rounding unifies the NaNs.
        element.encode(element.decode_f64(bits) + 0.0)
    }
}

/// `CategoryMapper`: integers to strings or back, by two parallel lists.
fn category_mapper(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    check_direction(call, x)?;
    let integers = integer_list(call, "cats_int64s")?.ok_or_else(|| invalid("cats_int64s is not set"))?;
    let strings = string_list(call, "cats_strings")?.ok_or_else(|| invalid("cats_strings is not set"))?;
    dictionary(call, strings, integers)?.translate(call, Equality::Numbers).rule("C3")
}

/// `LabelEncoder` below version 2: strings to their index in a list, or back.
fn class_encoder(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    check_direction(call, x)?;
    let classes = string_list(call, "classes_strings")?.ok_or_else(|| invalid("classes_strings is not set"))?;
    let count = classes.len();
    let indices = call.integers(ElementType::Int64, &[count], (0..count).map(|index| index as i128))?;
    dictionary(call, classes, indices)?.translate(call, Equality::Numbers)
}

/// Builds the dictionary from strings to integers or back, by the type of the input.
fn dictionary(call: &Call<'_>, strings: Tensor, integers: Tensor) -> Result<Dictionary> {
    Ok(match call.tensor(0)?.element_type() {
        ElementType::String => {
            Dictionary { keys: strings, values: integers, default: default_of(call, ElementType::Int64)? }
        }
        _ => Dictionary { keys: integers, values: strings, default: default_of(call, ElementType::String)? },
    })
}

/// Refuses a default value that is set alone and does not have the output's type.
fn check_direction(call: &Call<'_>, x: &Tensor) -> Result<()> {
    let (own, other) = match x.element_type() {
        ElementType::String => ("default_int64", "default_string"),
        _ => ("default_string", "default_int64"),
    };
    if call.has(other) && !call.has(own) {
        let element = x.element_type();
        return Err(invalid(format!("{other} is set, but the input is {element}, for which {own} is the default")));
    }
    Ok(())
}

/// Returns the default value of a type, from its attribute.
fn default_of(call: &Call<'_>, element: ElementType) -> Result<Tensor> {
    match element {
        ElementType::String => Ok(call.allocate(element, &[])?.strings([Arc::from(call.string("default_string")?)])?),
        element if element.is_float() => call.floats(element, &[], [call.float("default_float")?]),
        element => call.integers(element, &[], [i128::from(call.int("default_int64")?)]),
    }
}

fn label_encoder(call: &Call<'_>, equality: Equality) -> Result {
    let x = call.tensor(0)?;
    let (keys, values) = (one_list(call, "keys")?, one_list(call, "values")?);
    if keys.element_type() != x.element_type() {
        let (keys, x) = (keys.element_type(), x.element_type());
        return Err(broken("C9", format!("the keys are {keys}, but the input is {x}; set keys of that type")));
    }
    let default = match call.tensor_attribute("default_tensor") {
        Some(default) if default.element_type() == values.element_type() && default.len() == 1 => default.clone(),
        Some(default) => {
            let values = values.element_type();
            return Err(broken(
                "C10",
                format!("default_tensor is {default:?}; it must be one {values}, the type of the values"),
            ));
        }
        None => default_of(call, values.element_type())?,
    };
    Dictionary { keys, values, default }.translate(call, equality).rule("C7")
}

/// Returns the only list that is set among `PREFIX_floats`, `_int64s`, `_strings` and `_tensor`.
fn one_list(call: &Call<'_>, prefix: &str) -> Result<Tensor> {
    let tensor = call.tensor_attribute(&format!("{prefix}_tensor")).cloned();
    if let Some(tensor) = tensor.as_ref().filter(|tensor| tensor.rank() != 1) {
        return Err(broken("C11", format!("{prefix}_tensor has shape {:?}; it must have one axis", tensor.shape())));
    }
    let lists = [
        float_list(call, &format!("{prefix}_floats"))?,
        integer_list(call, &format!("{prefix}_int64s"))?,
        string_list(call, &format!("{prefix}_strings"))?,
        tensor,
    ];
    let mut set = lists.into_iter().flatten();
    match (set.next(), set.next()) {
        (Some(list), None) => Ok(list),
        (None, _) => Err(broken("C9", format!("no {prefix}_* attribute is set; one must be"))),
        (Some(_), Some(_)) => Err(broken("C9", format!("several {prefix}_* attributes are set; only one may be"))),
    }
}

/// Reads a list of floats, bit by bit.
fn float_list(call: &Call<'_>, name: &str) -> Result<Option<Tensor>> {
    let Some(Attribute::Floats(values)) = call.attributes.get(name) else { return Ok(None) };
    let buffer = call.allocate(ElementType::Float, &[values.len()])?;
    Ok(Some(buffer.bits(values.iter().map(|value| u64::from(value.to_bits())))?))
}

fn integer_list(call: &Call<'_>, name: &str) -> Result<Option<Tensor>> {
    let list = |values: &[i64]| {
        call.integers(ElementType::Int64, &[values.len()], values.iter().map(|&value| i128::from(value)))
    };
    call.optional_ints(name).map(list).transpose()
}

fn string_list(call: &Call<'_>, name: &str) -> Result<Option<Tensor>> {
    let list = |values: Vec<Arc<str>>| Ok(call.allocate(ElementType::String, &[values.len()])?.strings(values)?);
    call.optional_strings(name).map(list).transpose()
}

/// Returns the map of an input.
fn map_input<'a>(call: &Call<'a>) -> Result<&'a Map> {
    match call.value(0)? {
        Value::Map(map) => Ok(map),
        other => Err(KernelError::Internal(format!("the input is {other}, not a map"))),
    }
}

/// Returns the values of a map as tensors of one element.
fn map_values(map: &Map) -> Result<Vec<&Tensor>> {
    map.entries.values().map(single_element).collect()
}

fn single_element(value: &Value) -> Result<&Tensor> {
    let single = value.as_tensor().filter(|tensor| tensor.len() == 1);
    single.ok_or_else(|| invalid(format!("a value of the map is {value}, which is not a single element")))
}

/// Returns the value for a missing map entry: zero or the empty string.
fn missing_value(element: ElementType) -> Result<Tensor> {
    Ok(match element {
        ElementType::String => Tensor::of_strings(&[], &[""])?,
        _ => Tensor::of_integers(element, &[], &[0])?,
    })
}

/// `DictVectorizer`: the values of a map in the order of a vocabulary, `[1, C]`.
fn dict_vectorizer(call: &Call<'_>) -> Result {
    let map = map_input(call)?;
    let vocabulary: Vec<MapKey> =
        match (call.optional_ints("int64_vocabulary"), call.optional_strings("string_vocabulary")) {
            (Some(keys), None) => keys.iter().map(|&key| MapKey::Integer(key.into())).collect(),
            (None, Some(keys)) => keys.into_iter().map(MapKey::String).collect(),
            (None, None) => {
                return Err(broken("C4", "neither int64_vocabulary nor string_vocabulary is set; one must be"));
            }
            _ => return Err(broken("C4", "int64_vocabulary and string_vocabulary are both set; only one may be")),
        };
    let of_strings = call.has("string_vocabulary");
    if (map.key_type == ElementType::String) != of_strings {
        let words = if of_strings { "strings" } else { "integers" };
        return Err(broken("C5", format!("the keys of the map are {}, but the vocabulary has {words}", map.key_type)));
    }
    let places: BTreeMap<&MapKey, usize> = map.entries.keys().enumerate().map(|(index, key)| (key, index)).collect();
    let listed: BTreeSet<&MapKey> = vocabulary.iter().collect();
    if let Some(key) = map.entries.keys().find(|key| !listed.contains(key)) {
        return Err(broken("C3", format!("the key {} of the map is not in the vocabulary", key_text(key))));
    }
    let element = map.value_type.element_type();
    let missing_value = missing_value(element)?;
    let mut sources = map_values(map)?;
    sources.push(&missing_value);
    let missing = sources.len() - 1;
    let positions = vocabulary.iter().map(|key| (places.get(key).copied().unwrap_or(missing), 0));
    Ok(call.allocate(element, &[1, vocabulary.len()])?.gather_from(&sources, positions)?.into())
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Integer(key) => key.to_string(),
        MapKey::String(key) => format!("{key:?}"),
    }
}

/// `CastMap`: the values of a map in the order of its keys, or at the positions that its keys give.
fn cast_map(call: &Call<'_>) -> Result {
    let map = map_input(call)?;
    let types =
        [("TO_FLOAT", ElementType::Float), ("TO_INT64", ElementType::Int64), ("TO_STRING", ElementType::String)];
    let element = call.one_of("cast_to", &types).rule("C5")?;
    let mut sources = map_values(map)?;
    let missing_value = missing_value(map.value_type.element_type())?;
    let sparse = call.one_of("map_form", &[("DENSE", false), ("SPARSE", true)]).rule("C5")?;
    let mut positions: Vec<usize> = if sparse { sparse_positions(call, map)? } else { (0..sources.len()).collect() };
    let after_last = sources.len();
    for index in &mut positions {
        *index = after_last.min(*index);
    }
    sources.push(&missing_value);
    let buffer = call.allocate(map.value_type.element_type(), &[positions.len()])?;
    let gathered = buffer.gather_from(&sources, positions.iter().map(|&index| (index, 0)))?;
    let absent = call.budget.collect(positions.iter().map(|&index| index == after_last))?;
    call.budget.count(absent.len(), size_of::<i128>())?;
    Ok(convert(&gathered, &absent, call.allocate(element, gathered.shape())?)?.into())
}

/// Returns, for each output position, the index of its map entry, or an index after the last one.
fn sparse_positions(call: &Call<'_>, map: &Map) -> Result<Vec<usize>> {
    let size = call.int("max_map")?;
    let size = usize::try_from(size).map_err(|_| invalid(format!("max_map is {size}, which is not a length")))?;
    let mut positions: Vec<usize> = call.budget.scratch(size)?;
    positions.fill(usize::MAX);
    for (index, key) in map.entries.keys().enumerate() {
        let slot = match key {
            MapKey::Integer(key) => usize::try_from(*key).ok().and_then(|key| positions.get_mut(key)),
            MapKey::String(_) => None,
        };
        let outside = || {
            broken("C3", format!("the key {} of the map is outside [0, {size}), the range of max_map", key_text(key)))
        };
        *slot.ok_or_else(outside)? = index;
    }
    Ok(positions)
}

/// Parses a map value as a number, or returns 0 if it is absent.
fn number((text, &absent): (&Arc<str>, &bool)) -> Result<f64> {
    match (absent, text.trim().parse::<f64>()) {
        (true, _) => Ok(0.0),
        (false, Ok(value)) => Ok(value),
        (false, Err(_)) => Err(invalid(format!("the value {text:?} of the map is not a number"))),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number beyond every integer becomes the nearest")]
fn truncated(value: f64) -> i128 {
    value as i128
}

/// Converts strings or floats to another type. Absent values are that type's zero or empty string.
fn convert(source: &Tensor, absent: &[bool], buffer: TensorBuilder) -> Result<Tensor> {
    let element = buffer.element_type();
    let strings = source.strings();
    match (source.element_type(), element) {
        (ElementType::String, ElementType::String) => Ok(buffer.strings(strings.iter().cloned())?),
        (ElementType::String, ElementType::Int64) => {
            let whole = |(text, &absent): (&Arc<str>, &bool)| match text.trim().parse::<i64>() {
                _ if absent => Ok(0),
                Ok(value) => Ok(i128::from(value)),
                Err(_) => number((text, &absent)).map(truncated),
            };
            let integers: Vec<i128> = strings.iter().zip(absent).map(whole).collect::<Result<_>>()?;
            Ok(buffer.integers(integers)?)
        }
        (ElementType::String, _) => {
            let numbers: Vec<f64> = strings.iter().zip(absent).map(number).collect::<Result<_>>()?;
            Ok(buffer.floats(numbers)?)
        }
        (_, ElementType::String) => {
            let text = |(index, &absent): (usize, &bool)| {
                let mut text = String::new();
                if !absent {
                    // Writing to a string cannot fail.
                    let _ = source.write_element(&mut text, index);
                }
                Arc::from(text.strip_suffix(".0").unwrap_or(&text))
            };
            Ok(buffer.strings(absent.iter().enumerate().map(text))?)
        }
        _ => Ok(buffer.floats(source.stream(Tensor::floats))?),
    }
}

/// `ZipMap`: a map per row, from the labels to the row's elements.
fn zip_map(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (rows, columns) = rows_and_columns(x)?;
    let keys: Vec<MapKey> =
        match (call.optional_ints("classlabels_int64s"), call.optional_strings("classlabels_strings")) {
            (Some(keys), None) => keys.iter().map(|&key| MapKey::Integer(key.into())).collect(),
            (None, Some(keys)) => keys.into_iter().map(MapKey::String).collect(),
            (None, None) => {
                return Err(broken("C2", "neither classlabels_int64s nor classlabels_strings is set; one must be"));
            }
            _ => return Err(broken("C2", "classlabels_int64s and classlabels_strings are both set; only one may be")),
        };
    if keys.len() != columns {
        let keys = keys.len();
        return Err(broken("C1", format!("the input has {columns} columns, but {keys} labels are set")));
    }
    let key_type = if call.has("classlabels_strings") { ElementType::String } else { ElementType::Int64 };
    let value_type = ValueType::Tensor(ElementType::Float);
    let map = |row: usize| {
        call.budget.count_work(columns)?;
        let entry = |(column, key): (usize, &MapKey)| {
            Ok((key.clone(), Value::Tensor(call.gather(x, &[], [row * columns + column])?)))
        };
        let entries: BTreeMap<MapKey, Value> = keys.iter().enumerate().map(entry).collect::<Result<_>>()?;
        Ok(Value::Map(Map { key_type, value_type: value_type.clone(), entries: Arc::new(entries) }))
    };
    let maps = (0..rows).map(map).collect::<Result<Vec<_>>>()?;
    let item_type = ValueType::Map(key_type, Box::new(value_type.clone()));
    Ok(Value::Sequence(Sequence::new(item_type, maps)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node_of, strings, typed};

    fn ml(op: &str, version: i64) -> OneNode {
        node_of("ai.onnx.ml", op, version)
    }

    fn map_of(entries: &[(MapKey, Tensor)], key_type: ElementType, element: ElementType) -> Value {
        let entries = entries.iter().map(|(key, value)| (key.clone(), Value::Tensor(value.clone()))).collect();
        Value::Map(Map { key_type, value_type: ValueType::Tensor(element), entries: Arc::new(entries) })
    }

    fn floats_by_integer(entries: &[(i128, f64)]) -> Value {
        let entries: Vec<_> =
            entries.iter().map(|&(key, value)| (MapKey::Integer(key), floats(&[], &[value]))).collect();
        map_of(&entries, ElementType::Int64, ElementType::Float)
    }

    #[test]
    fn a_default_of_the_other_type_is_refused() {
        let mapper = ml("CategoryMapper", 1)
            .input(strings(&[], &["x"]))
            .set("cats_int64s", &[7, -1][..])
            .set("cats_strings", &["seven", "minus"][..]);
        assert!(mapper.set("default_string", "y").error().contains("default_string is set"));
    }

    #[test]
    fn version_2_compares_bits_and_version_4_numbers() {
        let nans = [0x7fc0_0000, 0x7fc0_0001].map(f32::from_bits);
        let x = [nans[0], nans[1], 0.0, -0.0].map(|value| u64::from(value.to_bits()));
        let x = TensorBuilder::unlimited(ElementType::Float, vec![4]).unwrap().bits(x).unwrap();
        for (version, expected) in [(2, [-1, 5, -1, 6]), (4, [5, 5, 6, 6])] {
            let keys = [nans[1], -0.0];
            let y = ml("LabelEncoder", version)
                .input(x.clone())
                .set("keys_floats", &keys[..])
                .set("values_int64s", &[5, 6][..]);
            assert_eq!(y.tensor().integers(), expected, "version {version}");
        }
    }

    #[test]
    fn keys_values_and_defaults_must_match() {
        let encode =
            |x| ml("LabelEncoder", 4).input(x).set("keys_tensor", typed(ElementType::Int16, &[2], &[3.0, 3.0]));
        let x = typed(ElementType::Int16, &[2], &[3.0, 4.0]);
        let values = typed(ElementType::Double, &[2], &[1.0, 0.1]);
        let error = encode(x.clone()).set("values_tensor", values).set("default_tensor", ints(&[], &[1]));
        assert!(error.error().contains("must be one double"));
        assert!(encode(x.clone()).set("values_int64s", &[1][..]).error().contains("2 keys and 1 values"));
        assert!(encode(ints(&[], &[1])).set("values_int64s", &[1, 2][..]).error().contains("the keys are int16"));
        assert!(encode(x).error().contains("no values_* attribute"));
    }

    #[test]
    fn a_dictionary_becomes_a_row() {
        let entries = [("c", 8), ("a", 4)].map(|(key, value)| (MapKey::String(Arc::from(key)), ints(&[], &[value])));
        let map = map_of(&entries, ElementType::String, ElementType::Int64);
        let vectorize = |words: &[&str]| ml("DictVectorizer", 1).input(map.clone()).set("string_vocabulary", words);
        let y = vectorize(&["a", "c", "b", "z"]).tensor();
        assert_eq!((y.shape(), y.integers()), (&[1, 4][..], vec![4, 8, 0, 0]));
        assert!(vectorize(&["a"]).error().contains("the key \"c\" of the map is not in the vocabulary"));
    }

    #[test]
    fn fractions_in_a_map_are_truncated_or_written_briefly() {
        let map = floats_by_integer(&[(3, 2.5), (0, -1.0)]);
        let cast = || ml("CastMap", 1).input(map.clone());
        assert_eq!(cast().set("cast_to", "TO_INT64").tensor().integers(), [-1, 2]);
        assert_eq!(cast().set("cast_to", "TO_STRING").tensor().strings().join(" "), "-1 2.5");
        let sparse = || cast().set("map_form", "SPARSE");
        assert!(sparse().set("max_map", 3).error().contains("the key 3 of the map is outside [0, 3)"));
        assert!(sparse().set("max_map", i64::MAX).run().is_err());
    }

    #[test]
    fn different_numbers_of_columns_and_labels_are_reported() {
        let zip = ml("ZipMap", 1).input(floats(&[1, 3], &[0.0; 3])).set("classlabels_strings", &["b", "a"][..]);
        assert!(zip.error().contains("3 columns, but 2 labels"));
    }
}
