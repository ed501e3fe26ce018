//! Types of outputs that no type parameter of an input determines: they depend on attributes or on the value of an input.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;
use onnx_conformance_reference::types::ValueType;

use crate::infer::view::NodeView;

/// The type of an output by a rule of the operator; `None` if the signature determines it, or if it is unknown.
pub(super) fn derived_type(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    let version = &view.spec.version;
    match (version.domain.as_str(), position) {
        (DEFAULT_DOMAIN, 0) => derived_type_of_onnx(view),
        (DEFAULT_DOMAIN, _) if version.name == "LayerNormalization" => element(view, "stash_type", ElementType::Float),
        ("ai.onnx.ml", 0) => derived_type_of_ml(view),
        ("ai.onnx.preview.training", _) => derived_type_of_training(view, position),
        _ => None,
    }
}

fn derived_type_of_onnx(view: &NodeView<'_, '_>) -> Option<ValueType> {
    use ElementType as E;
    match view.spec.version.name.as_str() {
        "Cast" if view.spec.version.since < 6 => {
            Some(ValueType::Tensor(view.attributes.text("to")?.to_ascii_lowercase().parse().ok()?))
        }
        "Cast" | "BitCast" => view.attributes.element("to").map(ValueType::Tensor),
        "Constant" => constant_type(view),
        "ConstantOfShape" if view.attributes.is_open("value") => None,
        "ConstantOfShape" => match view.attributes.tensor("value") {
            Some(value) => ElementType::from_code(value.data_type()).map(ValueType::Tensor),
            None => Some(ValueType::Tensor(E::Float)),
        },
        "EyeLike" | "Bernoulli" | "RandomNormalLike" | "RandomUniformLike" => element_or_input(view, "dtype"),
        "RandomNormal" | "RandomUniform" | "SequenceEmpty" => {
            let tensor = element(view, "dtype", E::Float)?;
            let is_sequence = view.spec.version.name == "SequenceEmpty";
            Some(if is_sequence { ValueType::Sequence(Box::new(tensor)) } else { tensor })
        }
        "Multinomial" => element(view, "dtype", E::Int32),
        "BlackmanWindow" | "HammingWindow" | "HannWindow" | "MelWeightMatrix" => {
            element(view, "output_datatype", E::Float)
        }
        "QuantizeLinear" => quantized(view),
        "DequantizeLinear" => dequantized(view),
        "SequenceConstruct" | "SplitToSequence" => Some(ValueType::Sequence(Box::new(view.value_type(0)?.clone()))),
        "SequenceAt" | "ConcatFromSequence" => match view.value_type(0)? {
            ValueType::Sequence(item) => Some((**item).clone()),
            _ => None,
        },
        "Optional" => {
            let item = match view.value_type(0) {
                Some(item) => item.clone(),
                None if view.inputs.iter().any(Option::is_some) => return None,
                None => decode::value_type(view.attributes.type_proto("type")?).ok()?,
            };
            Some(ValueType::Optional(Box::new(item)))
        }
        "OptionalGetElement" => match view.value_type(0)? {
            ValueType::Optional(item) => Some((**item).clone()),
            other => Some(other.clone()),
        },
        _ => None,
    }
}

fn derived_type_of_ml(view: &NodeView<'_, '_>) -> Option<ValueType> {
    use ElementType as E;
    let tensor = |element| Some(ValueType::Tensor(element));
    match view.spec.version.name.as_str() {
        "CastMap" if view.attributes.is_open("cast_to") => None,
        "CastMap" => match view.attributes.text("cast_to") {
            None | Some("TO_FLOAT") => tensor(E::Float),
            Some("TO_STRING") => tensor(E::String),
            Some("TO_INT64") => tensor(E::Int64),
            Some(_) => None,
        },
        "CategoryMapper" => swapped(view),
        "LabelEncoder" if view.spec.version.since < 2 => swapped(view),
        "LabelEncoder" => {
            let has = |name| view.attributes.has(name);
            match (view.attributes.tensor("values_tensor"), has("values_strings"), has("values_int64s")) {
                (Some(values), ..) => tensor(ElementType::from_code(values.data_type())?),
                (None, true, _) => tensor(E::String),
                (None, false, true) => tensor(E::Int64),
                (None, false, false) if has("values_floats") => tensor(E::Float),
                _ => None,
            }
        }
        "DictVectorizer" => match view.value_type(0)? {
            ValueType::Map(_, value) => Some((**value).clone()),
            _ => None,
        },
        "LinearClassifier" | "SVMClassifier" | "TreeEnsembleClassifier" => Some(ValueType::Tensor(label_type(view)?)),
        "ZipMap" => {
            let value = Box::new(ValueType::Tensor(E::Float));
            Some(ValueType::Sequence(Box::new(ValueType::Map(label_type(view)?, value))))
        }
        _ => None,
    }
}

/// Swaps strings and integers.
fn swapped(view: &NodeView<'_, '_>) -> Option<ValueType> {
    match view.value_type(0)? {
        ValueType::Tensor(ElementType::String) => Some(ValueType::Tensor(ElementType::Int64)),
        ValueType::Tensor(ElementType::Int64) => Some(ValueType::Tensor(ElementType::String)),
        _ => None,
    }
}

/// The type of class labels: strings if there are any.
fn label_type(view: &NodeView<'_, '_>) -> Option<ElementType> {
    if view.attributes.is_open("classlabels_strings") {
        return None;
    }
    let texts = view.attributes.get("classlabels_strings").is_some_and(|labels| !labels.strings.is_empty());
    Some(if texts { ElementType::String } else { ElementType::Int64 })
}

/// Optimizers: the new values have the types of the tensors that they replace.
fn derived_type_of_training(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    let lists = match view.spec.version.name.as_str() {
        "Adagrad" | "Momentum" => 3,
        "Adam" => 4,
        _ => return None,
    };
    let count = view.inputs.len().checked_sub(2)? / lists;
    view.value_type(2 + position.checked_rem(count)?).cloned()
}

fn constant_type(view: &NodeView<'_, '_>) -> Option<ValueType> {
    use ElementType as E;
    let element = if let Some(value) = view.attributes.tensor("value") {
        ElementType::from_code(value.data_type())?
    } else if let Some(sparse) = view.attributes.get("sparse_value") {
        ElementType::from_code(sparse.sparse_tensor.as_ref()?.values.as_ref()?.data_type())?
    } else if view.attributes.has("value_float") || view.attributes.has("value_floats") {
        E::Float
    } else if view.attributes.has("value_int") || view.attributes.has("value_ints") {
        E::Int64
    } else if view.attributes.has("value_string") || view.attributes.has("value_strings") {
        E::String
    } else {
        return None;
    };
    Some(ValueType::Tensor(element))
}

/// The type of the zero point, or the type given by `output_dtype`, or `uint8`.
fn quantized(view: &NodeView<'_, '_>) -> Option<ValueType> {
    if view.inputs.get(2).copied().flatten().is_some() {
        return view.value_type(2).cloned();
    }
    named_type(view, "output_dtype", Some(ValueType::Tensor(ElementType::Uint8)))
}

/// The type given by `output_dtype`, or the type of the scale.
fn dequantized(view: &NodeView<'_, '_>) -> Option<ValueType> {
    if view.spec.version.since < 23 {
        return None;
    }
    named_type(view, "output_dtype", view.value_type(1).cloned())
}

/// The type given by an attribute, or the default if it is 0 or omitted; `None` if it is unknown.
fn named_type(view: &NodeView<'_, '_>, name: &str, default: Option<ValueType>) -> Option<ValueType> {
    if view.attributes.is_open(name) {
        return None;
    }
    match view.attributes.int(name).unwrap_or(0) {
        0 => default,
        _ => view.attributes.element(name).map(ValueType::Tensor),
    }
}

fn element(view: &NodeView<'_, '_>, name: &str, default: ElementType) -> Option<ValueType> {
    if view.attributes.is_open(name) {
        return None;
    }
    if view.attributes.has(name) {
        view.attributes.element(name).map(ValueType::Tensor)
    } else {
        Some(ValueType::Tensor(default))
    }
}

fn element_or_input(view: &NodeView<'_, '_>, name: &str) -> Option<ValueType> {
    if view.attributes.is_open(name) {
        return None;
    }
    if view.attributes.has(name) {
        view.attributes.element(name).map(ValueType::Tensor)
    } else {
        view.value_type(0).cloned()
    }
}
