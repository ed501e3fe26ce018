//! Roles of dimensions: some dimensions of a node may have any size, or any common size.

mod kind;
mod layers;
mod movement;
mod products;

use onnx_conformance_reference::infer::NodeView;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

pub(super) use kind::Role;

/// Operators of ai.onnx.ml that compute the rows of their first input one by one.
const ROW_BY_ROW: [&str; 13] = [
    "ArrayFeatureExtractor",
    "Imputer",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "ZipMap",
];

/// Operators that take a first input of any sizes. Other inputs or attributes may restrict its rank.
const ANY_FIRST_INPUT: [&str; 12] = [
    "CenterCropPad",
    "Clip",
    "Flatten",
    "OneHot",
    "Resize",
    "Slice",
    "Squeeze",
    "TfIdfVectorizer",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "Upsample",
];

/// Returns the role of an axis of an input.
pub(super) fn role(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Role {
    let name = view.spec.version.name.as_str();
    let known = if view.spec.version.domain == DEFAULT_DOMAIN {
        role_in_onnx(view, at, axis)
    } else if name == "FeatureVectorizer" {
        joined_features(view, axis)
    } else {
        // An input of one axis is a row.
        let is_row = ROW_BY_ROW.contains(&name) && (at, axis) == (0, 0) && view.rank(0) == Some(2);
        is_row.then_some(Role::Free)
    };
    known.unwrap_or(Role::Other)
}

/// Returns the role of an axis of an operator of the default domain, if it has any.
fn role_in_onnx(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let name = view.spec.version.name.as_str();
    match name {
        // A size of 1 is squeezed if any is.
        _ if ANY_FIRST_INPUT.contains(&name) => (at == 0).then_some(Role::Free),
        // A size of 1 fits any other size of the same letter.
        "Einsum" => Some(Role::Free),
        "Concat" => {
            let joined = view.axis("axis", view.rank(at)?)?;
            Some(if axis == joined { Role::Free } else { Role::Linked(axis) })
        }
        "GridSample" => match (at, axis) {
            (0 | 1, 0) => Some(Role::Linked(0)),
            (0, _) => Some(Role::Free),
            // The last axis has the coordinates.
            (1, _) if axis.checked_add(1) != view.rank(1) => Some(Role::Free),
            _ => None,
        },
        // The last axis has the real and imaginary parts. An inverse of one side needs more than one element.
        "DFT" => (at == 0 && axis.checked_add(1) != view.rank(0) && !view.flag("inverse")?).then_some(Role::Free),
        "Pad" => movement::padded(view, at),
        "Split" | "TopK" => movement::beside(view, at, axis),
        "Compress" => movement::compressed(view, at, axis),
        "ReverseSequence" => movement::reversed(view, at, axis),
        "Gather" | "GatherElements" | "GatherND" | "Scatter" | "ScatterElements" | "ScatterND" => {
            movement::indexed(view, at, axis)
        }
        "MatMul" => products::product(view, at, axis),
        "MatMulInteger" => products::integer_product(view, at, axis),
        "Gemm" => products::general_product(view, at, axis),
        "Conv" | "ConvTranspose" => products::convolved(view, at, axis),
        "BatchNormalization" => layers::batch_normalized(view, at, axis),
        "RNN" | "GRU" | "LSTM" => layers::recurrent(view, at, axis),
        "LayerNormalization" => layers::batch_of_layers(view, at, axis),
        "PRelu" => layers::sloped(view, at, axis),
        "QuantizeLinear" | "DequantizeLinear" => layers::quantized(view, at, axis),
        "Attention" => layers::attended(view, at, axis),
        "RotaryEmbedding" => layers::rotated(view, at, axis),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => layers::scored(view, at, axis),
        "RoiAlign" => layers::aligned(view, at, axis),
        "NonMaxSuppression" => layers::suppressed(at, axis),
        _ => None,
    }
}

/// Returns the role of an axis of `FeatureVectorizer`, which truncates or pads the columns of each input. All inputs have the same rows.
fn joined_features(view: &NodeView<'_, '_>, axis: usize) -> Option<Role> {
    let is_matrix = (0..view.inputs.len()).all(|at| view.rank(at) == Some(2));
    is_matrix.then_some(if axis == 0 { Role::Linked(0) } else { Role::Free })
}
