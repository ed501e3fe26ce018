//! Shapes and types of `ai.onnx.ml`: an input is `[N, C]`, or `[C]` for one row.

use crate::dtype::ElementType;
use crate::infer::{List, NodeView, Shape};
use crate::model::graph::Dim;
use crate::types::ValueType;

/// The number of rows and columns of an input.
fn rows_and_columns(view: &NodeView<'_, '_>, position: usize) -> Option<(Dim, Dim)> {
    match view.shape(position) {
        None => Some((Dim::Unknown, Dim::Unknown)),
        Some(shape) => match shape.as_slice() {
            [columns] => Some((Dim::Size(1), columns.clone())),
            [rows, columns] => Some((rows.clone(), columns.clone())),
            _ => None,
        },
    }
}

/// The number of entries of an attribute of numbers or strings; `None` if it is unknown.
fn entries(view: &NodeView<'_, '_>, name: &str) -> Option<usize> {
    if view.attributes.is_open(name) {
        return None;
    }
    let Some(attribute) = view.attributes.get(name) else { return Some(0) };
    Some(attribute.ints.len().max(attribute.strings.len()).max(attribute.floats.len()))
}

/// `ArrayFeatureExtractor`: the selected features of each row.
pub(super) fn extracted(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let selected = view.shape(1).map_or(Dim::Unknown, |indices| Dim::product(&indices));
    shape.pop()?;
    if shape.is_empty() {
        shape.push(Dim::Size(1));
    }
    shape.push(selected);
    Some(shape)
}

/// `FeatureVectorizer`: the sum of `inputdimensions`, or of the columns.
pub(super) fn joined(view: &NodeView<'_, '_>) -> Option<Shape> {
    let inputs = 0..view.inputs.len();
    let columns = inputs.map(|position| rows_and_columns(view, position).map(|(_, columns)| columns));
    let width = match view.ints("inputdimensions") {
        List::Given(widths) => Dim::sum(&widths.into_iter().map(Dim::from_int).collect::<Vec<_>>()),
        List::Absent => Dim::sum(&columns.collect::<Option<Vec<_>>>()?),
        List::Unknown => Dim::Unknown,
    };
    Some(vec![rows_and_columns(view, 0)?.0, width])
}

/// `OneHotEncoder`: an axis for the categories after those of the input.
pub(super) fn one_hot(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let (integers, strings) = (entries(view, "cats_int64s"), entries(view, "cats_strings"));
    shape.push(integers.zip(strings).map_or(Dim::Unknown, |(integers, strings)| Dim::Size(integers.max(strings))));
    Some(shape)
}

/// `DictVectorizer`: one row with an entry for each word of the vocabulary.
pub(super) fn vectorized(view: &NodeView<'_, '_>) -> Option<Shape> {
    let words = entries(view, "string_vocabulary")?.max(entries(view, "int64_vocabulary")?);
    Some(vec![Dim::Size(1), Dim::Size(words)])
}

/// `CastMap`: a vector of the entries, or of `max_map` if the keys are positions.
pub(super) fn cast_map(view: &NodeView<'_, '_>) -> Option<Shape> {
    let size = match view.text("map_form")? {
        "SPARSE" => view.int("max_map").map_or(Dim::Unknown, Dim::from_int),
        _ => Dim::Unknown,
    };
    Some(vec![size])
}

/// `LinearRegressor`: a score for each of `targets`.
pub(super) fn regressed(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![rows_and_columns(view, 0)?.0, view.int("targets").map_or(Dim::Unknown, Dim::from_int)])
}

/// `SVMRegressor`: one score.
pub(super) fn regressed_to_one(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![rows_and_columns(view, 0)?.0, Dim::Size(1)])
}

/// `TreeEnsemble` and `TreeEnsembleRegressor`: a score for each of `n_targets`.
pub(super) fn scored_by_trees(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![rows_and_columns(view, 0)?.0, view.int("n_targets").map_or(Dim::Unknown, Dim::from_int)])
}

/// A label for each row, and scores.
fn classified(view: &NodeView<'_, '_>, width: Dim) -> Vec<Option<Shape>> {
    let rows = rows_and_columns(view, 0).map(|(rows, _)| rows);
    vec![rows.clone().map(|rows| vec![rows]), rows.map(|rows| vec![rows, width])]
}

/// The number of class labels.
fn labels(view: &NodeView<'_, '_>, integers: &str) -> Option<usize> {
    Some(entries(view, integers)?.max(entries(view, "classlabels_strings")?))
}

/// `LinearClassifier`: a score for each vector of coefficients; one vector for two labels gives two.
pub(super) fn linear_classes(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let width = || {
        let columns = rows_and_columns(view, 0)?.1.size()?;
        let targets = entries(view, "coefficients")?.checked_div(columns.max(1))?;
        let is_pair = targets == 1 && labels(view, "classlabels_ints")? == 2;
        Some(Dim::Size(if is_pair { 2 } else { targets }))
    };
    classified(view, width().unwrap_or(Dim::Unknown))
}

/// `SVMClassifier`: probabilities, scores of classes, or of pairs of them.
pub(super) fn svm_classes(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let width = || {
        let classes = labels(view, "classlabels_ints")?;
        let has_vectors = entries(view, "vectors_per_class")? > 0 && entries(view, "support_vectors")? > 0;
        let has_probabilities = entries(view, "prob_a")? > 0;
        if classes < 2 {
            return None;
        }
        if has_vectors && !has_probabilities {
            let pairs = classes.checked_mul(classes.checked_sub(1)?)?.checked_div(2)?;
            return Some(Dim::Size(pairs.max(2)));
        }
        Some(Dim::Size(classes))
    };
    classified(view, width().unwrap_or(Dim::Unknown))
}

/// `TreeEnsembleClassifier`: a score for each label; two if all votes are for one of at most two classes.
pub(super) fn tree_classes(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let width = || {
        let classes = labels(view, "classlabels_int64s")?;
        let List::Given(votes) = view.ints("class_ids") else { return None };
        let is_binary = classes <= 2
            && votes.first().is_some_and(|only| (0..2).contains(only) && votes.iter().all(|vote| vote == only));
        Some(Dim::Size(if is_binary { 2 } else { classes }))
    };
    classified(view, width().unwrap_or(Dim::Unknown))
}

/// Strings for integers, and integers for strings.
pub(super) fn swapped_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    match view.value_type(0)? {
        ValueType::Tensor(ElementType::String) => Some(ValueType::Tensor(ElementType::Int64)),
        ValueType::Tensor(ElementType::Int64) => Some(ValueType::Tensor(ElementType::String)),
        _ => None,
    }
}

/// `LabelEncoder` from version 2 on: the type of the list of values.
pub(super) fn encoded_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let has = |name| view.attributes.has(name);
    let element = match (view.attributes.tensor("values_tensor"), has("values_strings"), has("values_int64s")) {
        (Some(values), ..) => ElementType::from_code(values.data_type())?,
        (None, true, _) => ElementType::String,
        (None, false, true) => ElementType::Int64,
        (None, false, false) if has("values_floats") => ElementType::Float,
        _ => return None,
    };
    Some(ValueType::Tensor(element))
}

/// `DictVectorizer`: the type of the map's values.
pub(super) fn map_value_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    match view.value_type(0)? {
        ValueType::Map(_, value) => Some((**value).clone()),
        _ => None,
    }
}

/// `CastMap`: the type that `cast_to` names.
pub(super) fn cast_map_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let element = match view.text("cast_to")? {
        "TO_FLOAT" => ElementType::Float,
        "TO_STRING" => ElementType::String,
        "TO_INT64" => ElementType::Int64,
        _ => return None,
    };
    Some(ValueType::Tensor(element))
}

/// Labels are strings if there are any, else integers.
fn label_element(view: &NodeView<'_, '_>) -> Option<ElementType> {
    let strings = entries(view, "classlabels_strings")?;
    Some(if strings > 0 { ElementType::String } else { ElementType::Int64 })
}

/// The type of a classifier's labels.
pub(super) fn label_type(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    if position == 0 { label_element(view).map(ValueType::Tensor) } else { None }
}

/// `ZipMap`: a map from labels to scores for each row.
pub(super) fn zipped_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let score = Box::new(ValueType::Tensor(ElementType::Float));
    Some(ValueType::Sequence(Box::new(ValueType::Map(label_element(view)?, score))))
}
