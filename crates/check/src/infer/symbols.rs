//! Sizes to try for the dimensions of a node that have none: a node that fails for all of them has no valid size.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::infer::{List, NodeView, Size, ValueFact};
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

use crate::infer::roles::{Role, role};

/// Sizes that are tried for every node. 1 is first, because its message is shown; 60 has many divisors.
const USUAL: [usize; 7] = [1, 0, 2, 3, 4, 5, 60];

/// Largest size to try.
const MAX_SIZE: usize = 1 << 16;

/// Maximum length of a list whose values are all tried as sizes.
const MAX_VALUES: usize = 16;

/// Maximum number of numbers of a node that sizes are derived from.
const MAX_NUMBERS: usize = 12;

/// Maximum number of assignments of sizes to try. A node with more is not judged.
const MAX_ASSIGNMENTS: usize = 640;

/// Largest window that decides a size. For larger windows, sizes are tried.
const MAX_WINDOW: i64 = 128;

/// First opset at which operators broadcast as numpy does.
const NUMPY_BROADCASTING: u32 = 7;

/// Operators whose inputs broadcast to each other: a dimension of 1 fits whatever another size of it fits.
const BROADCASTING: [&str; 24] = [
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Equal",
    "Expand",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Pow",
    "Sub",
    "Sum",
    "Where",
    "Xor",
];

/// Operators that compute the items of a batch one by one, along axis 0 of the first input.
const BATCHED: [&str; 6] = ["BatchNormalization", "Conv", "ConvInteger", "ConvTranspose", "MaxPool", "SpaceToDepth"];

/// Batched operators whose spatial axes, from 2 on, may have any size.
const ANY_SPACE: [&str; 7] = [
    "DepthToSpace",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GroupNormalization",
    "InstanceNormalization",
    "LRN",
];

/// Batched operators that are valid for any spatial size of at least their window.
const WINDOWED: [&str; 5] = ["AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool"];

/// Free dimension of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Symbol {
    /// A name, which is one size wherever it occurs.
    Name(String),
    /// A formula of names, some of which are not dimensions by themselves. It is one size wherever it occurs.
    Formula(String),
    /// An axis of an input.
    Axis(usize, usize),
}

/// Treatment of the dimensions that are formulas of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Formulas {
    /// Sizes that follow from their names, if all of these are dimensions of the node, too.
    Evaluated,
    /// Any sizes. If a node fails for all of them, it also fails for sizes that follow from names.
    Independent,
}

/// Returns true if a dimension of a node's inputs is a formula.
pub(super) fn has_formulas(view: &NodeView<'_, '_>) -> bool {
    dims(view).any(|(dim, ..)| matches!(dim, Dim::Sum(_)))
}

/// The facts about a node's inputs for each assignment of sizes to its free dimensions; `None` if there are too many to
/// try, or if the node has none.
///
/// The sizes are the usual ones, every number of the node (sizes, attributes, constants), and their sums, products and
/// quotients: if the node is valid with any sizes, it is valid with some assignment of these. A dimension gets a
/// single size if that size is known to be valid whenever any is.
pub(super) fn assignments(view: &NodeView<'_, '_>, formulas: Formulas) -> Option<Vec<Vec<Option<ValueFact>>>> {
    if view.spec.facts.tied_sizes {
        return None;
    }
    let free = Free::from_view(view, formulas);
    let all = free.symbols(view);
    let (fixed, symbols): (Vec<_>, Vec<_>) =
        all.iter().map(|symbol| (symbol, free.sufficient_size(view, symbol))).partition(|(_, size)| size.is_some());
    let fixed: Vec<(&Symbol, usize)> = fixed.into_iter().filter_map(|(symbol, size)| Some((symbol, size?))).collect();
    let symbols: Vec<&Symbol> = symbols.into_iter().map(|(symbol, _)| symbol).collect();
    // In other domains, lengths of lists of floats and strings decide sizes.
    if view.spec.version.domain != DEFAULT_DOMAIN && !symbols.is_empty() {
        return None;
    }
    let sizes = if symbols.is_empty() { vec![1] } else { sizes(view)? };
    let exponent = u32::try_from(symbols.len()).ok()?;
    let count = sizes.len().checked_pow(exponent).filter(|count| *count <= MAX_ASSIGNMENTS && !all.is_empty())?;
    let assignment = |number: usize| {
        let mut rest = number;
        let mut digits = fixed.clone();
        for symbol in &symbols {
            digits.push((*symbol, sizes.get(rest.checked_rem(sizes.len())?).copied()?));
            rest = rest.checked_div(sizes.len())?;
        }
        Some(bind(view, &digits))
    };
    // bounded: by MAX_ASSIGNMENTS.
    (0..count).map(assignment).collect()
}

/// Returns the dimensions of the inputs, with the position of the input and the axis.
fn dims<'v>(view: &'v NodeView<'_, '_>) -> impl Iterator<Item = (&'v Dim, usize, usize)> {
    let facts = view.inputs.iter().copied().zip(0..);
    facts.flat_map(|(fact, at)| {
        let shape = fact.and_then(|fact| fact.shape.as_ref());
        shape.into_iter().flatten().zip(0..).map(move |(dim, axis)| (dim, at, axis))
    })
}

/// Free dimensions of a node's inputs. `names` are dimensions by themselves; a formula has a size as soon as its names
/// have one.
struct Free<'v> {
    names: BTreeSet<&'v str>,
    formulas: Formulas,
    /// True if a formula follows from the names.
    has_formulas: bool,
    /// Free dimensions that may have any size.
    any: BTreeSet<Symbol>,
    /// Free dimensions that must be equal to a known size.
    tied: BTreeMap<Symbol, usize>,
}

/// Dimension of an input.
struct Place {
    symbol: Option<Symbol>,
    size: Option<usize>,
    role: Role,
}

impl<'v> Free<'v> {
    fn from_view(view: &'v NodeView<'_, '_>, formulas: Formulas) -> Free<'v> {
        let name = |(dim, ..): (&'v Dim, usize, usize)| match dim {
            Dim::Name(name) => Some(&**name),
            _ => None,
        };
        let mut free = Free {
            names: dims(view).filter_map(name).collect(),
            formulas,
            has_formulas: false,
            any: BTreeSet::new(),
            tied: BTreeMap::new(),
        };
        free.has_formulas =
            dims(view).any(|(dim, at, axis)| matches!(dim, Dim::Sum(_)) && free.symbol(dim, at, axis).is_none());
        // A formula restricts the names in it.
        if formulas == Formulas::Independent || !has_formulas(view) {
            let place = |(dim, at, axis): (&Dim, usize, usize)| Place {
                symbol: free.symbol(dim, at, axis),
                size: dim.size(),
                role: role(view, at, axis),
            };
            let places: Vec<Place> = dims(view).map(place).collect();
            free.any = of_any_size(&places);
            free.tied = of_known_size(&places);
        }
        free
    }

    /// Returns the free dimension at an axis; `None` if it is a size, or follows from names.
    fn symbol(&self, dim: &Dim, at: usize, axis: usize) -> Option<Symbol> {
        match dim {
            Dim::Size(_) => None,
            Dim::Name(name) => Some(Symbol::Name(name.to_string())),
            Dim::Unknown => Some(Symbol::Axis(at, axis)),
            Dim::Sum(_) if self.formulas == Formulas::Independent => Some(Symbol::Formula(dim.to_string())),
            Dim::Sum(size) => {
                let is_bound = |name: &str| self.names.contains(name).then_some(1);
                size.evaluate(&is_bound).is_none().then(|| Symbol::Formula(dim.to_string()))
            }
        }
    }

    /// Returns the free dimensions of the inputs.
    fn symbols(&self, view: &NodeView<'_, '_>) -> BTreeSet<Symbol> {
        dims(view).filter_map(|(dim, at, axis)| self.symbol(dim, at, axis)).collect()
    }

    /// Returns a size that is valid for a node if any size is.
    fn sufficient_size(&self, view: &NodeView<'_, '_>, symbol: &Symbol) -> Option<usize> {
        let operator = view.spec.version.name.as_str();
        // The size of a formula follows from the sizes of its names.
        if self.has_formulas {
            return None;
        }
        if self.any.contains(symbol) {
            return Some(1);
        }
        if let Some(size) = self.tied.get(symbol) {
            return Some(*size);
        }
        if BROADCASTING.contains(&operator) {
            return (view.since() >= NUMPY_BROADCASTING).then_some(1);
        }
        let is_here = |place: &(&Dim, usize, usize)| self.symbol(place.0, place.1, place.2).as_ref() == Some(symbol);
        let is_in =
            |is_axis: &dyn Fn(usize) -> bool| dims(view).filter(is_here).all(|(_, at, axis)| at == 0 && is_axis(axis));
        let [is_batched, is_any_space, is_windowed] =
            [&BATCHED[..], &ANY_SPACE[..], &WINDOWED[..]].map(|operators| operators.contains(&operator));
        if (is_batched || is_any_space || is_windowed) && is_in(&|axis| axis == 0) {
            return Some(1);
        }
        let is_spatial = is_in(&|axis| axis >= 2);
        if is_spatial && is_any_space {
            Some(1)
        } else if is_spatial && is_windowed {
            self.window(view)
        } else {
            None
        }
    }

    /// Returns the size at which the window of an operator fits; `None` if it is unknown.
    fn window(&self, view: &NodeView<'_, '_>) -> Option<usize> {
        let list = |name: &str| match view.ints(name) {
            List::Unknown => None,
            List::Absent => Some(Vec::new()),
            List::Given(values) => Some(values),
        };
        let taps = |(dim, axis): (Dim, usize)| match self.symbol(&dim, 1, axis) {
            Some(symbol) => self.any.contains(&symbol).then_some(1),
            None => i64::try_from(dim.size()?).ok(),
        };
        let kernel: Vec<i64> = if view.is_given(1) {
            view.shape(1)?.into_iter().zip(0..).skip(2).map(taps).collect::<Option<_>>()?
        } else {
            list("kernel_shape")?
        };
        if list("pads")?.iter().any(|pad| *pad < 0) {
            return None;
        }
        let largest = |values: Vec<i64>| values.into_iter().max().unwrap_or(1);
        let reach = largest(kernel).checked_sub(1)?.checked_mul(largest(list("dilations")?))?;
        let size = reach.checked_add(1).filter(|size| (1..=MAX_WINDOW).contains(size))?;
        usize::try_from(size).ok()
    }
}

/// Returns the free dimensions that may have any size, alone or in common with others of them.
fn of_any_size(places: &[Place]) -> BTreeSet<Symbol> {
    let in_roles = |is_in: &dyn Fn(Role) -> bool| -> BTreeSet<Symbol> {
        places.iter().filter(|place| is_in(place.role)).filter_map(|place| place.symbol.clone()).collect()
    };
    let bound = in_roles(&|role| role == Role::Other);
    let mut any: BTreeSet<Symbol> = in_roles(&|_| true).difference(&bound).cloned().collect();
    loop {
        // If a linked group contains another dimension, that one decides the size of the group.
        let is_other = |place: &&Place| place.symbol.as_ref().is_none_or(|symbol| !any.contains(symbol));
        let tied: BTreeSet<Role> = places.iter().filter(is_other).map(|place| place.role).collect();
        let sized = in_roles(&|role| matches!(role, Role::Linked(_)) && tied.contains(&role));
        let left: BTreeSet<Symbol> = any.difference(&sized).cloned().collect();
        if left.len() == any.len() {
            return any;
        }
        any = left;
    }
}

/// Returns the free dimensions that are linked with a known size, and that size: no other one can be valid.
fn of_known_size(places: &[Place]) -> BTreeMap<Symbol, usize> {
    let linked = || places.iter().filter(|place| matches!(place.role, Role::Linked(_)));
    let sizes: BTreeMap<Role, usize> = linked().filter_map(|place| Some((place.role, place.size?))).collect();
    linked().filter_map(|place| Some((place.symbol.clone()?, *sizes.get(&place.role)?))).collect()
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
    derived.extend(list_lengths(view));
    let others = derived.into_iter().filter(|size| !USUAL.contains(size));
    Some(USUAL.into_iter().chain(others).collect())
}

/// Returns the lengths of lists with one or two numbers for each axis, if the length of some input is unknown.
fn list_lengths(view: &NodeView<'_, '_>) -> Vec<usize> {
    if !view.inputs.iter().flatten().any(|fact| fact.rank() == Some(1) && fact.sizes().is_none()) {
        return Vec::new();
    }
    let ranks = view.inputs.iter().flatten().filter_map(|fact| fact.rank());
    ranks.flat_map(|rank| [rank, rank.saturating_mul(2)]).collect()
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
            Dim::Sum(size) => match size_of(&Symbol::Formula(dim.to_string())) {
                Some(size) => Dim::Size(size),
                None => Size::evaluate(size, &named).map_or(Dim::Unknown, Dim::from_int),
            },
            Dim::Unknown => size_of(&Symbol::Axis(at, axis)).map_or(Dim::Unknown, Dim::Size),
        };
        let shape = fact.shape.as_ref().map(|shape| shape.iter().zip(0..).map(dim).collect());
        Some(ValueFact { shape, ..fact.clone() })
    };
    view.inputs.iter().copied().zip(0..).map(fact).collect()
}
