//! Unique: the distinct entries of a tensor.

use std::cmp::Ordering;

use crate::dtype::{ElementType, Kind};
use crate::infer::{NodeView, Shape};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::movement::compress::entries;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::{around_axis, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("Unique", 11, unique).shapes_of_all(distinct)];

/// Returns the distinct elements, or slices along an axis, with first occurrences, the group of each entry, and counts.
fn unique(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let (data, axis) = match call.optional_int("axis") {
        Some(axis) => (input.clone(), normalize_axis(axis, input.rank()).rule("C5")?),
        None => (input.with_shape(vec![input.len()])?, 0),
    };
    let rows = Rows::new(call, &data, axis)?;
    let sorted = call.int("sorted")?;
    if !(0..=1).contains(&sorted) {
        return Err(broken("C6", format!("sorted is {sorted}; it must be 0 or 1")));
    }
    let groups = rows.groups(call, sorted == 1)?;
    let firsts: Vec<usize> = groups.iter().filter_map(|group| group.first().copied()).collect();
    let mut inverse: Vec<usize> = call.budget.scratch(rows.count)?;
    for (index, group) in groups.iter().enumerate() {
        for &member in group {
            if let Some(slot) = inverse.get_mut(member) {
                *slot = index;
            }
        }
    }
    let list = |values: &mut dyn ExactSizeIterator<Item = usize>| {
        let count = values.len();
        call.integers(ElementType::Int64, &[count], values.map(|value| value as i128))
    };
    let values = entries(call, &data, axis, &firsts)?;
    let indices = list(&mut firsts.iter().copied())?;
    let inverse = list(&mut inverse.into_iter())?;
    let counts = list(&mut groups.iter().map(Vec::len))?;
    Ok(vec![values, indices, inverse, counts].into())
}

/// Entries of an axis as rows of keys that compare like the elements.
struct Rows {
    keys: Vec<i128>,
    count: usize,
    length: usize,
}

impl Rows {
    fn new(call: &Call<'_>, data: &Tensor, axis: usize) -> Result<Rows> {
        let count = data.shape().get(axis).copied().unwrap_or(0);
        let length = data.len().checked_div(count).unwrap_or(0);
        let mut keys: Vec<i128> = call.budget.scratch(data.len())?;
        let (_, inner) = around_axis(data.shape(), axis);
        for (index, key) in element_keys(call, data)?.into_iter().enumerate() {
            let (outer, entry, column) = (index / inner / count, index / inner % count, index % inner);
            if let Some(slot) = keys.get_mut(entry * length + outer * inner + column) {
                *slot = key;
            }
        }
        Ok(Rows { keys, count, length })
    }

    fn row(&self, index: usize) -> &[i128] {
        self.keys.get(index * self.length..(index + 1) * self.length).unwrap_or(&[])
    }

    /// Groups equal rows by ascending index. The groups are ordered by their rows, or by their first indices.
    fn groups(&self, call: &Call<'_>, sorted: bool) -> Result<Vec<Vec<usize>>> {
        let mut order: Vec<usize> = call.budget.scratch(self.count)?;
        order.iter_mut().enumerate().for_each(|(index, slot)| *slot = index);
        order.sort_by(|&a, &b| self.row(a).cmp(self.row(b)));
        // Each group is a separate list.
        call.budget.count(self.count, size_of::<Vec<usize>>() + 4 * size_of::<usize>())?;
        let mut groups: Vec<Vec<usize>> =
            order.chunk_by(|&a, &b| self.row(a) == self.row(b)).map(<[usize]>::to_vec).collect();
        if !sorted {
            groups.sort_by_key(|group| group.first().copied());
        }
        Ok(groups)
    }
}

/// Returns integer keys that order like the elements. NaN is one value above all others, strings order by code point,
/// and complex numbers by their real part first.
fn element_keys(call: &Call<'_>, data: &Tensor) -> Result<Vec<i128>> {
    let element = data.element_type();
    let place = |element: ElementType, bits: u64| element.ordered(bits).unwrap_or(i128::from(i64::MAX));
    match element.kind() {
        Kind::String => string_keys(call, data),
        Kind::Complex => {
            let place = |part: f64| place(ElementType::Double, part.to_bits());
            call.budget.collect(data.stream(Tensor::complexes).map(|z| (place(z.re) << 64) + place(z.im)))
        }
        Kind::Float => call.budget.collect((0..data.len()).map(|index| place(element, data.bits_at(index)))),
        Kind::Signed | Kind::Unsigned | Kind::Bool => call.budget.read_integers(data),
    }
}

fn string_keys(call: &Call<'_>, data: &Tensor) -> Result<Vec<i128>> {
    let strings = data.strings();
    let mut different: Vec<&str> = call.budget.collect(strings.iter().map(AsRef::as_ref))?;
    different.sort_unstable();
    different.dedup();
    let key = |text: &str| different.partition_point(|other| other.cmp(&text) == Ordering::Less) as i128;
    call.budget.collect(strings.iter().map(|text| key(text)))
}

/// An unknown number of entries, except for the group of each entry of the axis or of the flat input.
fn distinct(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let list = || Some(vec![Dim::Unknown]);
    if view.attributes.is_open("axis") {
        return vec![None, list(), list(), list()];
    }
    let shape = view.shape(0);
    if !view.attributes.has("axis") {
        let count = shape.map_or(Dim::Unknown, |shape| Dim::product(&shape));
        return vec![list(), list(), Some(vec![count]), list()];
    }
    let axis = shape.as_ref().and_then(|shape| view.axis("axis", shape.len()));
    let mut count = Dim::Unknown;
    let values = shape.and_then(|mut shape| {
        count = std::mem::replace(shape.get_mut(axis?)?, Dim::Unknown);
        Some(shape)
    });
    vec![values, list(), Some(vec![count]), list()]
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::tensor::TensorBuilder;
    use crate::testing::{floats, ints, newest, node, strings, typed};
    use crate::value::Value;

    /// Returns the four outputs.
    fn unique(data: Tensor, axis: Option<i64>, sorted: i64) -> [Tensor; 4] {
        let mut unique = node("Unique", newest()).input(data).set("sorted", sorted).outputs(4);
        if let Some(axis) = axis {
            unique = unique.set("axis", axis);
        }
        let tensor = |value: Value| value.as_tensor().cloned().unwrap();
        <[Tensor; 4]>::try_from(unique.run().unwrap().into_iter().map(tensor).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_kind_has_an_order() {
        let text = strings(&[3], &["b", "é", "B"]);
        assert_eq!(unique(text, None, 1)[0], strings(&[3], &["B", "b", "é"]));
        let extreme = typed(ElementType::Uint64, &[3], &[18e18, 0.0, 9e18]);
        assert_eq!(unique(extreme, None, 1)[0].floats(), [0.0, 9e18, 18e18]);
        let nan = floats(&[4], &[f64::NAN, f64::INFINITY, f64::NAN, f64::NEG_INFINITY]);
        let [values, _, inverse, _] = unique(nan, None, 1);
        assert!(values.floats()[2].is_nan());
        assert_eq!(inverse, ints(&[4], &[2, 1, 2, 0]));
        let parts = [(1.0, 2.0), (1.0, -2.0), (-1.0, 9.0)].map(|(re, im)| Complex::new(re, im));
        let complex = TensorBuilder::unlimited(ElementType::Complex64, vec![3]).unwrap().complexes(parts).unwrap();
        assert_eq!(unique(complex, None, 1)[1], ints(&[3], &[2, 1, 0]));
    }

    #[test]
    fn empty_slices_are_equal() {
        let [values, _, inverse, counts] = unique(floats(&[2, 0], &[]), Some(0), 1);
        assert_eq!((values.shape(), inverse, counts), (&[1, 0][..], ints(&[2], &[0, 0]), ints(&[1], &[2])));
    }
}
