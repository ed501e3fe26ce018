//! Sizes to try for the dimensions of a node that have none: a node that fails for all of them has no valid size.

use std::collections::BTreeSet;

use onnx_conformance_reference::infer::{NodeView, Size, ValueFact};
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

/// Sizes that are tried whatever the node is. 1 is first, because its message is shown; 60 has many divisors.
const USUAL: [usize; 7] = [1, 0, 2, 3, 4, 5, 60];

/// Largest size to try.
const MAX_SIZE: usize = 1 << 16;

/// Maximum length of a list whose values are all tried as sizes.
const MAX_VALUES: usize = 16;

/// Maximum number of numbers in a node from which sizes are made.
const MAX_NUMBERS: usize = 12;

/// Maximum number of assignments of sizes to try. A node with more is not judged.
const MAX_ASSIGNMENTS: usize = 640;

/// Free dimension of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Symbol {
    /// A name, which is one size wherever it occurs.
    Name(String),
    /// An axis of an input.
    Axis(usize, usize),
}

/// The facts about a node's inputs for each assignment of sizes to its free dimensions; `None` if there are too many to
/// try, or if the node has none.
///
/// The sizes are the usual ones, every number of the node (sizes, attributes, constants), and the sums, products and
/// quotients of these: whatever the sizes of a valid node are, some assignment of these is valid, too.
pub(super) fn assignments(view: &NodeView<'_, '_>) -> Option<Vec<Vec<Option<ValueFact>>>> {
    // In other domains, lengths of lists of floats and strings decide sizes.
    if view.spec.version.domain != DEFAULT_DOMAIN || view.spec.facts.tied_sizes {
        return None;
    }
    let symbols: Vec<Symbol> = symbols(view)?.into_iter().collect();
    let sizes = sizes(view)?;
    let exponent = u32::try_from(symbols.len()).ok()?;
    let count = sizes.len().checked_pow(exponent).filter(|count| *count <= MAX_ASSIGNMENTS && exponent > 0)?;
    let assignment = |number: usize| {
        let mut rest = number;
        let mut digits = Vec::new();
        for symbol in &symbols {
            digits.push((symbol, sizes.get(rest.checked_rem(sizes.len())?).copied()?));
            rest = rest.checked_div(sizes.len())?;
        }
        Some(bind(view, &digits))
    };
    // bounded: by MAX_ASSIGNMENTS.
    (0..count).map(assignment).collect()
}

/// The free dimensions of the inputs; `None` if one is a formula of a name that no input has by itself.
fn symbols(view: &NodeView<'_, '_>) -> Option<BTreeSet<Symbol>> {
    let mut symbols = BTreeSet::new();
    let mut are_formulas_bound = true;
    let facts = || view.inputs.iter().copied().zip(0..).filter_map(|(fact, at)| Some((fact?.shape.as_ref()?, at)));
    for (shape, at) in facts() {
        for (dim, axis) in shape.iter().zip(0..) {
            match dim {
                Dim::Name(name) => drop(symbols.insert(Symbol::Name(name.to_string()))),
                Dim::Unknown => drop(symbols.insert(Symbol::Axis(at, axis))),
                Dim::Size(_) | Dim::Sum(_) => {}
            }
        }
    }
    for (shape, _) in facts() {
        for dim in shape {
            if let Dim::Sum(size) = dim {
                let is_bound = |name: &str| symbols.contains(&Symbol::Name(name.to_owned())).then_some(1);
                are_formulas_bound &= size.evaluate(&is_bound).is_some();
            }
        }
    }
    are_formulas_bound.then_some(symbols)
}

/// The sizes to try; `None` if the node has too many numbers, or one that is too large.
fn sizes(view: &NodeView<'_, '_>) -> Option<Vec<usize>> {
    let mut numbers = Numbers::default();
    for (_, attribute) in view.attributes.all() {
        numbers.add(attribute.i());
        numbers.add_list(&attribute.ints);
    }
    for fact in view.inputs.iter().flatten() {
        for dim in fact.shape.iter().flatten() {
            numbers.add(dim.size().and_then(|size| i64::try_from(size).ok()).unwrap_or(0));
        }
        numbers.add_list(&fact.integers().unwrap_or_default());
    }
    if numbers.has_large || numbers.found.len() > MAX_NUMBERS {
        return None;
    }
    let mut derived: BTreeSet<usize> = numbers.found.clone();
    for one in &numbers.found {
        for two in numbers.found.iter().chain(&[2, 3, 4]) {
            derived.insert(one + two);
            derived.extend(one.checked_mul(*two).filter(|product| *product <= MAX_SIZE));
            derived.extend(one.checked_div(*two).filter(|quotient| quotient * two == *one));
        }
    }
    let others = derived.into_iter().filter(|size| !USUAL.contains(size));
    Some(USUAL.into_iter().chain(others).collect())
}

/// Numbers of a node, from 2 on.
#[derive(Default)]
struct Numbers {
    found: BTreeSet<usize>,
    /// True if one is too large to be tried.
    has_large: bool,
}

impl Numbers {
    fn add(&mut self, value: i64) {
        match usize::try_from(value.unsigned_abs()) {
            Ok(0 | 1) => {}
            Ok(value) if value <= MAX_SIZE => drop(self.found.insert(value)),
            // The end of a slice by habit, not a size.
            Ok(value) if value >= i32::MAX.unsigned_abs() as usize => {}
            _ => self.has_large = true,
        }
    }

    /// Adds the largest value of a list, sum and product, and each value of a short one.
    fn add_list(&mut self, values: &[i64]) {
        let magnitudes = || values.iter().filter(|value| **value != 0).map(|value| value.saturating_abs());
        if values.len() <= MAX_VALUES {
            magnitudes().for_each(|value| self.add(value));
            self.add(magnitudes().fold(1, i64::saturating_mul));
        }
        let largest = magnitudes().max().unwrap_or(0);
        for value in [largest, largest.saturating_add(1), magnitudes().fold(0, i64::saturating_add)] {
            self.add(value);
        }
    }
}

/// The facts about a node's inputs, with sizes for the free dimensions.
fn bind(view: &NodeView<'_, '_>, assignment: &[(&Symbol, usize)]) -> Vec<Option<ValueFact>> {
    let size_of = |symbol: &Symbol| assignment.iter().find(|(other, _)| *other == symbol).map(|(_, size)| *size);
    let named = |name: &str| size_of(&Symbol::Name(name.to_owned()));
    let fact = |(fact, at): (Option<&ValueFact>, usize)| {
        let fact = fact?;
        let dim = |(dim, axis): (&Dim, usize)| match dim {
            Dim::Size(_) => dim.clone(),
            Dim::Name(name) => named(name).map_or(Dim::Unknown, Dim::Size),
            Dim::Sum(size) => Size::evaluate(size, &named).map_or(Dim::Unknown, Dim::from_int),
            Dim::Unknown => size_of(&Symbol::Axis(at, axis)).map_or(Dim::Unknown, Dim::Size),
        };
        let shape = fact.shape.as_ref().map(|shape| shape.iter().zip(0..).map(dim).collect());
        Some(ValueFact { shape, ..fact.clone() })
    };
    view.inputs.iter().copied().zip(0..).map(fact).collect()
}
