//! Feature preprocessing of ai.onnx.ml: selecting, scaling, normalizing, imputing, encoding.

use std::collections::HashMap;

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, broken_for_all_sizes, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::ml::shapes;
use crate::tensor::Tensor;
use crate::tensor::sum::sum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.ml", "ArrayFeatureExtractor", 1, array_feature_extractor).shape(shapes::extracted),
    Kernel::in_domain("ai.onnx.ml", "Binarizer", 1, binarizer).shape(rules::same),
    Kernel::in_domain("ai.onnx.ml", "FeatureVectorizer", 1, feature_vectorizer).shape(shapes::joined),
    Kernel::in_domain("ai.onnx.ml", "Imputer", 1, imputer).shape(rules::same),
    Kernel::in_domain("ai.onnx.ml", "Normalizer", 1, normalizer).shape(rules::same),
    Kernel::in_domain("ai.onnx.ml", "OneHotEncoder", 1, one_hot_encoder).shape(shapes::one_hot),
    Kernel::in_domain("ai.onnx.ml", "Scaler", 1, scaler).shape(rules::same),
];

/// Returns the rows and columns of a tensor `[N, C]`, or of `[C]`, which is one row.
pub(super) fn rows_and_columns(tensor: &Tensor) -> Result<(usize, usize)> {
    match *tensor.shape() {
        [columns] => Ok((1, columns)),
        [rows, columns] => Ok((rows, columns)),
        ref shape => Err(invalid(format!("the input has shape {shape:?}; it must be [N, C] or [C]"))),
    }
}

/// `ArrayFeatureExtractor`: selects along the last axis. A 1-D input gives a matrix of one row.
fn array_feature_extractor(call: &Call<'_>) -> Result {
    let (data, indices) = (call.tensor(0)?, call.budget.read_indices(call.tensor(1)?)?);
    let Some((&features, batch)) = data.shape().split_last() else {
        return Err(invalid("the input is a scalar, which has no last axis to select along"));
    };
    let position = |&index: &i64| {
        usize::try_from(index).ok().filter(|&index| index < features).ok_or_else(|| {
            broken("C1", format!("index {index} is outside [0, {features}), the last axis of the input"))
        })
    };
    let columns: Vec<usize> = indices.iter().map(position).collect::<Result<_>>()?;
    let mut shape = if batch.is_empty() { vec![1] } else { batch.to_vec() };
    let rows: usize = shape.iter().product();
    shape.push(columns.len());
    let positions = (0..rows).flat_map(|row| columns.iter().map(move |column| row * features + column));
    Ok(call.gather(data, &shape, positions)?.into())
}

/// `Binarizer`: 1 if the element is greater than the threshold, else 0.
fn binarizer(call: &Call<'_>) -> Result {
    let (x, threshold) = (call.tensor(0)?, call.float("threshold")?);
    let ones: Vec<bool> = if x.element_type().is_integer() && threshold.is_finite() {
        // An integer is greater than a number if it is greater than the number's floor.
        #[expect(clippy::cast_possible_truncation, reason = "floored, and the cast saturates far outside int64")]
        let floor = libm::floor(threshold) as i128;
        call.budget.collect(x.stream(Tensor::integers).map(|value| value > floor))?
    } else {
        call.budget.collect(x.stream(Tensor::floats).map(|value| value > threshold))?
    };
    Ok(call.allocate(x.element_type(), x.shape())?.bools(ones)?.into())
}

/// `FeatureVectorizer`: concatenates the columns of all inputs. `inputdimensions` truncates each input, or pads it with
/// zeros.
fn feature_vectorizer(call: &Call<'_>) -> Result {
    let inputs = call.tensors(0)?;
    let sizes: Vec<(usize, usize)> =
        inputs.iter().map(|input| rows_and_columns(input)).collect::<Result<_>>().rule("C5")?;
    let rows = sizes.first().map_or(0, |&(rows, _)| rows);
    if let Some((other, _)) = sizes.iter().find(|&&(other, _)| other != rows) {
        return Err(broken("C4", format!("the inputs have {rows} and {other} rows; the numbers must be equal")));
    }
    let widths = match call.optional_ints("inputdimensions") {
        None => sizes.iter().map(|&(_, columns)| columns).collect(),
        Some(widths) if widths.len() == inputs.len() => widths
            .iter()
            .map(|&width| {
                usize::try_from(width)
                    .map_err(|_| invalid(format!("inputdimensions contains {width}, which is not a size")))
            })
            .collect::<Result<Vec<_>>>()?,
        Some(widths) => {
            let (found, expected) = (widths.len(), inputs.len());
            return Err(broken("C4", format!("inputdimensions has {found} entries for {expected} inputs")));
        }
    };
    let total = widths.iter().try_fold(0usize, |total, &width| total.checked_add(width));
    let total = total.ok_or_else(|| invalid("the sum of inputdimensions overflows"))?;
    let zero = Tensor::of_integers(call.tensor(0)?.element_type(), &[], &[0])?;
    let mut sources = inputs.clone();
    sources.push(&zero);
    let parts: Vec<(usize, usize)> = sizes.iter().map(|&(_, columns)| columns).zip(widths).collect();
    let parts = &parts;
    let from = |row: usize| {
        parts.iter().enumerate().flat_map(move |(which, &(columns, width))| {
            (0..width).map(
                move |column| {
                    if column < columns { (which, row * columns + column) } else { (parts.len(), 0) }
                },
            )
        })
    };
    let joined = call.allocate(zero.element_type(), &[rows, total])?.gather_from(&sources, (0..rows).flat_map(from))?;
    let shape = joined.shape();
    if joined.element_type().is_integer() {
        return Ok(call.integers(ElementType::Float, shape, joined.stream(Tensor::integers))?.into());
    }
    Ok(call.floats(ElementType::Float, shape, joined.stream(Tensor::floats))?.into())
}

/// `Imputer`: replaces elements equal to one value, where NaN equals NaN. The replacement is one value, or one per
/// feature.
fn imputer(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let element = x.element_type();
    if call.has("imputed_value_floats") && call.has("imputed_value_int64s") {
        return Err(broken(
            "C5",
            "imputed_value_floats and imputed_value_int64s are both set; omit the one of the other type",
        ));
    }
    let (replaced, imputed): (Vec<bool>, Tensor) = if element.is_float() {
        let value = call.float("replaced_value_float")?;
        let same = |x: f64| x == value || (x.is_nan() && value.is_nan());
        let imputed = call.optional_floats("imputed_value_floats").unwrap_or_default();
        (call.budget.collect(x.stream(Tensor::floats).map(same))?, call.floats(element, &[imputed.len()], imputed)?)
    } else {
        let value = i128::from(call.int("replaced_value_int64")?);
        let imputed = call.optional_ints("imputed_value_int64s").unwrap_or_default();
        (
            call.budget.collect(x.stream(Tensor::integers).map(|x| x == value))?,
            integers_that_fit(call, element, imputed)?,
        )
    };
    let features = x.shape().last().copied().unwrap_or(1);
    let stride = match imputed.len() {
        1 => 0,
        count if count == features && count > 0 => 1,
        0 => return Err(broken("C5", format!("no imputed value is set for {element}, the type of the input"))),
        count => return Err(broken("C1", format!("{count} imputed values are set for {features} features"))),
    };
    let positions = replaced
        .into_iter()
        .enumerate()
        .map(|(index, replaced)| if replaced { (1, index % features * stride) } else { (0, index) });
    Ok(call.allocate(element, x.shape())?.gather_from(&[x, &imputed], positions)?.into())
}

fn integers_that_fit(call: &Call<'_>, element: ElementType, values: &[i64]) -> Result<Tensor> {
    if let Some(value) = values.iter().find(|&&value| element.saturate(i128::from(value)) != element.wrap(value.into()))
    {
        return Err(broken(
            "C5",
            format!("the imputed value {value} does not fit into {element}, the type of the input"),
        ));
    }
    call.integers(element, &[values.len()], values.iter().map(|&value| i128::from(value)))
}

/// `Normalizer`: divides each row by its maximum, its sum of absolute values, or its Euclidean norm, unless that is 0.
fn normalizer(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (_, columns) = rows_and_columns(x).rule("C7")?;
    let divisor = call
        .one_of::<fn(&[f64]) -> f64>(
            "norm",
            &[
                ("MAX", |row| row.iter().copied().fold(f64::NEG_INFINITY, maximum)),
                ("L1", |row| sum(row.iter().map(|value| value.abs()))),
                ("L2", |row| libm::sqrt(sum(row.iter().map(|value| value * value)))),
            ],
        )
        .rule("C2")?;
    let mut values = call.budget.read_floats(x)?;
    for row in values.chunks_exact_mut(columns.max(1)) {
        let divisor = divisor(row);
        if divisor != 0.0 {
            for value in row.iter_mut() {
                *value /= divisor;
            }
        }
    }
    Ok(call.floats(ElementType::Float, x.shape(), values)?.into())
}

/// Returns the larger number, or NaN if either is NaN.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// `OneHotEncoder`: adds an axis with a 1 at the index of the element's category.
fn one_hot_encoder(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (places, count) = match (call.optional_ints("cats_int64s"), call.optional_strings("cats_strings")) {
        (Some(_), Some(_)) => {
            return Err(broken("C5", "cats_int64s and cats_strings are both set; only one may be"));
        }
        (None, Some(categories)) if x.element_type() == ElementType::String => {
            (category_indices(call, x.strings(), &categories)?, categories.len())
        }
        (Some(categories), None) if x.element_type() != ElementType::String => {
            (categories_of(call, x, categories)?, categories.len())
        }
        _ => {
            return Err(broken("C5", format!("no categories are set for {}, the type of the input", x.element_type())));
        }
    };
    if !call.flag("zeros")?
        && let Some(index) = places.iter().position(Option::is_none)
    {
        return Err(broken("C3", format!("element {index} of the input is in no category, and zeros is 0")));
    }
    let mut shape = x.shape().to_vec();
    shape.push(count);
    let ones = places.iter().flat_map(|&place| (0..count).map(move |index| place == Some(index)));
    Ok(call.allocate(ElementType::Float, &shape)?.bools(ones)?.into())
}

/// Returns the index of each number, truncated to an integer, among the categories.
fn categories_of(call: &Call<'_>, x: &Tensor, categories: &[i64]) -> Result<Vec<Option<usize>>> {
    let categories: Vec<i128> = categories.iter().map(|&category| i128::from(category)).collect();
    let mut found = category_indices(call, &call.budget.read_integers(x)?, &categories)?;
    if x.element_type().is_float() {
        for (place, value) in found.iter_mut().zip(x.stream(Tensor::floats)) {
            place.take_if(|_| !value.is_finite());
        }
    }
    Ok(found)
}

/// Returns the index of each item in a list of keys. Of equal keys, the last counts.
fn category_indices<T: std::hash::Hash + Eq>(call: &Call<'_>, items: &[T], keys: &[T]) -> Result<Vec<Option<usize>>> {
    let table: HashMap<&T, usize> = keys.iter().enumerate().map(|(index, key)| (key, index)).collect();
    call.budget.collect(items.iter().map(|item| table.get(item).copied()))
}

/// `Scaler`: subtracts the offset, then multiplies by the scale. Each is one number, or one per feature.
fn scaler(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let features = x.shape().last().copied().unwrap_or(1);
    let (offset, scale) = (call.optional_floats("offset"), call.optional_floats("scale"));
    if let (Some(offset), Some(scale)) = (&offset, &scale)
        && offset.len() != scale.len()
    {
        let (offset, scale) = (offset.len(), scale.len());
        return Err(broken_for_all_sizes(
            "C3",
            format!("offset has {offset} elements and scale {scale}; the numbers must be equal"),
        ));
    }
    let (offset, scale) = (offset.unwrap_or_else(|| vec![0.0]), scale.unwrap_or_else(|| vec![1.0]));
    for (name, values) in [("offset", &offset), ("scale", &scale)] {
        if values.len() != 1 && values.len() != features || values.is_empty() {
            let found = values.len();
            return Err(broken("C2", format!("{name} has {found} elements, but the input has {features} features")));
        }
    }
    let parameter = |values: &[f64], index: usize| values.get(index % values.len()).copied().unwrap_or(0.0);
    let scaled = |(index, value): (usize, f64)| (value - parameter(&offset, index)) * parameter(&scale, index);
    Ok(call.floats(ElementType::Float, x.shape(), x.stream(Tensor::floats).enumerate().map(scaled))?.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node_of, strings};

    fn ml(op: &str) -> OneNode {
        node_of("ai.onnx.ml", op, 1)
    }

    #[test]
    fn a_vector_of_features_is_one_row() {
        let select = |x, y| ml("ArrayFeatureExtractor").input(x).input(y);
        let y = select(strings(&[2], &["a", "b"]), ints(&[3], &[1, 1, 0])).tensor();
        assert_eq!((y.shape(), y.strings().concat()), (&[1, 3][..], "bba".to_owned()));
        for index in [-1, 2] {
            assert!(select(floats(&[2], &[1.0, 2.0]), ints(&[1], &[index])).error().contains("outside [0, 2)"));
        }
    }

    #[test]
    fn a_threshold_is_compared_with_integers_beyond_doubles() {
        let y = ml("Binarizer")
            .input(ints(&[2], &[1 << 24, (1 << 53) + 1]))
            .set("threshold", 9_007_199_254_740_992.0f32)
            .tensor();
        assert_eq!(y.floats(), [0.0, 1.0], "an integer that f64 does not hold");
    }

    #[test]
    fn vectorized_inputs_are_truncated_or_padded() {
        let join = || ml("FeatureVectorizer").input(ints(&[2, 2], &[1, 2, 3, 4])).input(ints(&[2, 1], &[5, 6]));
        let y = join().set("inputdimensions", &[1, 2][..]).tensor();
        assert_eq!((y.shape(), y.floats()), (&[2, 3][..], vec![1.0, 5.0, 0.0, 3.0, 6.0, 0.0]));
        assert!(join().set("inputdimensions", &[1][..]).error().contains("1 entries for 2 inputs"));
    }

    #[test]
    fn imputing_needs_a_value() {
        assert!(ml("Imputer").input(ints(&[1], &[0])).error().contains("no imputed value"));
    }

    #[test]
    fn sums_and_lengths_are_of_absolute_values() {
        let rows: [(&str, &[f64], &[f64]); 2] = [
            ("L1", &[1.0, -3.0, 0.0], &[0.25, -0.75, 0.0]),
            ("L2", &[3.0, -4.0, 0.0], &[0.6f32.into(), (-0.8f32).into(), 0.0]),
        ];
        for (norm, row, expected) in rows {
            let y = ml("Normalizer").input(floats(&[1, 3], row)).set("norm", norm).tensor();
            assert_eq!(y.floats(), expected, "{norm} of {row:?}");
        }
        assert!(ml("Normalizer").input(floats(&[], &[1.0])).error().contains("must be [N, C] or [C]"));
    }

    #[test]
    fn nan_is_in_no_category_and_strings_need_string_categories() {
        let encode = |x| ml("OneHotEncoder").input(x).set("cats_int64s", &[4, 0][..]);
        assert_eq!(encode(floats(&[1], &[f64::NAN])).tensor().floats(), [0.0, 0.0]);
        assert!(encode(strings(&[1], &["a"])).error().contains("no categories"));
    }
}
