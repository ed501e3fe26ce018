//! Einsum: sums of products over named indices. Operand elements are converted one by one, where a product needs them.

#![expect(
    clippy::indexing_slicing,
    reason = "the plan checks every term against the rank of its operand, and positions are walks over the shapes"
)]

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::dtype::ElementType;
use crate::infer::{MAX_RANK, NodeView, Shape, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::broken;
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::parallel::try_for_each_block;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::read::Elements;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::CompensatedSum;

pub(super) const KERNELS: &[Kernel] = &[Kernel::with_magnitude("Einsum", 12, einsum, magnitude).shape(result)];

/// Name of a dimension. Ellipsis dimensions order before letters, and capitals before lower-case letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Index {
    /// A dimension of the ellipsis, counted from its first.
    Ellipsis(usize),
    Letter(char),
}

/// Symbol of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    Ellipsis,
    Letter(char),
}

/// Equation applied to the shapes of its operands.
#[derive(Debug)]
struct Plan {
    /// Index of each dimension of each operand.
    operands: Vec<Vec<Index>>,
    /// Size of each index.
    sizes: BTreeMap<Index, usize>,
    /// Indices of the result.
    output: Vec<Index>,
    /// Indices that are summed over.
    summed: Vec<Index>,
}

/// Violated rule of an equation, and the reason.
type Violation = (&'static str, String);

impl Plan {
    fn new(equation: &str, shapes: &[&[usize]]) -> Result<Plan> {
        let refuse =
            |(rule, why): Violation| broken(rule, format!("equation '{equation}' on shapes {shapes:?}: {why}"));
        let compact = compact(equation);
        let (left, right) = sides(&compact);
        let terms = left.split(',').map(symbols).collect::<Result<Vec<_>, Violation>>().map_err(refuse)?;
        if terms.len() != shapes.len() {
            return Err(refuse(("C6", format!("it has {} terms for {} inputs", terms.len(), shapes.len()))));
        }
        let ellipsis = ellipsis_rank(&terms, shapes).map_err(refuse)?;
        let operands: Vec<Vec<Index>> = terms.iter().map(|term| indices(term, ellipsis)).collect();
        let sizes = sizes(&operands, shapes).map_err(refuse)?;
        let output = match right {
            Some(right) => indices(&symbols(right).map_err(refuse)?, ellipsis),
            None => implicit_output(&operands),
        };
        for (at, index) in output.iter().enumerate() {
            if !sizes.contains_key(index) || output[..at].contains(index) {
                return Err(refuse(("C1", "the result names an index twice, or one that no input has".to_owned())));
            }
        }
        let summed = sizes.keys().filter(|index| !output.contains(index)).copied().collect();
        Ok(Plan { operands, sizes, output, summed })
    }

    /// Returns the sizes of some indices.
    fn dims(&self, indices: &[Index]) -> Vec<usize> {
        indices.iter().map(|index| self.sizes.get(index).copied().unwrap_or(1)).collect()
    }

    /// Returns a walk over some indices that reads an operand. An index that occurs twice steps along both dimensions.
    /// One of size 1, or absent, does not step.
    fn walk(&self, operand: &[Index], shape: &[usize], over: &[Index]) -> StridedIter {
        let own = strides(shape);
        let steps: Vec<isize> = over
            .iter()
            .map(|index| {
                let dims = (0..shape.len()).filter(|&axis| operand[axis] == *index && shape[axis] != 1);
                dims.map(|axis| own[axis].cast_signed()).sum()
            })
            .collect();
        StridedIter::new(&self.dims(over), &steps, 0)
    }
}

/// Returns an equation without spaces.
fn compact(equation: &str) -> String {
    equation.chars().filter(|&letter| letter != ' ').collect()
}

/// Returns the terms of the operands, and the term of the result if there is an arrow.
fn sides(compact: &str) -> (&str, Option<&str>) {
    match compact.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (compact, None),
    }
}

/// Parses a term.
fn symbols(term: &str) -> Result<Vec<Symbol>, Violation> {
    let mut symbols = Vec::new();
    let mut rest = term;
    while let Some(letter) = rest.chars().next() {
        let (symbol, length) = match letter {
            'a'..='z' | 'A'..='Z' => (Symbol::Letter(letter), 1),
            '.' if rest.starts_with("...") && !symbols.contains(&Symbol::Ellipsis) => (Symbol::Ellipsis, 3),
            _ => {
                let rule = if letter == '.' { "C4" } else { "C5" };
                return Err((rule, format!("'{term}' contains '{letter}'; only letters and one '...' are allowed")));
            }
        };
        symbols.push(symbol);
        rest = &rest[length..];
    }
    Ok(symbols)
}

/// Returns the number of dimensions of the ellipsis, which must be the same in every term.
fn ellipsis_rank<D: Debug>(terms: &[Vec<Symbol>], shapes: &[&[D]]) -> Result<usize, Violation> {
    let mut known = None;
    for (term, shape) in terms.iter().zip(shapes) {
        let letters = term.iter().filter(|symbol| **symbol != Symbol::Ellipsis).count();
        let has_ellipsis = letters < term.len();
        let rest = shape.len().checked_sub(letters).filter(|&rest| has_ellipsis || rest == 0);
        let Some(rest) = rest else {
            return Err(("C6", format!("a term of {letters} letters does not name the dimensions of {shape:?}")));
        };
        if has_ellipsis && *known.get_or_insert(rest) != rest {
            return Err(("C4", "the ellipsis stands for different numbers of dimensions".to_owned()));
        }
    }
    Ok(known.unwrap_or(0))
}

/// Returns the indices of a term, with its ellipsis expanded.
fn indices(term: &[Symbol], ellipsis: usize) -> Vec<Index> {
    let write_out = |symbol: &Symbol| -> Vec<Index> {
        match *symbol {
            Symbol::Ellipsis => (0..ellipsis).map(Index::Ellipsis).collect(),
            Symbol::Letter(letter) => vec![Index::Letter(letter)],
        }
    };
    term.iter().flat_map(write_out).collect()
}

/// Returns the size of each index. Dimensions of size 1 broadcast.
fn sizes(operands: &[Vec<Index>], shapes: &[&[usize]]) -> Result<BTreeMap<Index, usize>, Violation> {
    let mut sizes = BTreeMap::new();
    for (operand, shape) in operands.iter().zip(shapes) {
        for (index, &dim) in operand.iter().zip(*shape) {
            let size = sizes.entry(*index).or_insert(dim);
            if *size == 1 {
                *size = dim;
            }
            if dim != 1 && dim != *size {
                return Err(("C6", format!("one index has sizes {size} and {dim}")));
            }
        }
    }
    Ok(sizes)
}

/// Returns the output without an arrow: the ellipsis, then the letters that occur exactly once, capitals first.
fn implicit_output(operands: &[Vec<Index>]) -> Vec<Index> {
    let mut counts: BTreeMap<Index, usize> = BTreeMap::new();
    operands.iter().flatten().for_each(|index| *counts.entry(*index).or_default() += 1);
    let is_kept = |(index, count): (Index, usize)| (count == 1 || matches!(index, Index::Ellipsis(_))).then_some(index);
    counts.into_iter().filter_map(is_kept).collect()
}

/// Numbers in which a contraction multiplies and adds.
trait Arithmetic {
    type Number: Clone + Default + Send;

    /// Product of no factors.
    const ONE: Self::Number;

    /// Reads an element of an operand.
    fn read(elements: &Elements, index: usize) -> Self::Number;

    fn multiply(a: Self::Number, b: Self::Number) -> Self::Number;

    fn sum(terms: impl Iterator<Item = Self::Number>) -> Self::Number;
}

/// Floats, in compensated sums.
struct Floats;

impl Arithmetic for Floats {
    type Number = f64;
    const ONE: f64 = 1.0;

    fn read(elements: &Elements, index: usize) -> f64 {
        elements.float(index)
    }

    fn multiply(a: f64, b: f64) -> f64 {
        a * b
    }

    fn sum(terms: impl Iterator<Item = f64>) -> f64 {
        let mut sum = CompensatedSum::default();
        terms.for_each(|term| sum.add(term));
        sum.value()
    }
}

/// Absolute values of floats.
struct Magnitudes;

impl Arithmetic for Magnitudes {
    type Number = f64;
    const ONE: f64 = 1.0;

    fn read(elements: &Elements, index: usize) -> f64 {
        elements.float(index).abs()
    }

    fn multiply(a: f64, b: f64) -> f64 {
        a * b
    }

    fn sum(terms: impl Iterator<Item = f64>) -> f64 {
        Floats::sum(terms)
    }
}

/// Integers, which wrap.
struct Integers;

impl Arithmetic for Integers {
    type Number = i128;
    const ONE: i128 = 1;

    fn read(elements: &Elements, index: usize) -> i128 {
        elements.integer(index)
    }

    fn multiply(a: i128, b: i128) -> i128 {
        a.wrapping_mul(b)
    }

    fn sum(terms: impl Iterator<Item = i128>) -> i128 {
        terms.fold(0, i128::wrapping_add)
    }
}

/// Computes, for each element of the result, the sum of the products of one element of each operand.
fn contract<A: Arithmetic>(call: &Call<'_>, plan: &Plan) -> Result<Vec<A::Number>> {
    let operands = call.tensors(0)?;
    let count = element_count(&plan.dims(&plan.output))?;
    let terms = element_count(&plan.dims(&plan.summed))?;
    let walks = |over: &[Index], count: usize| -> Result<Vec<Vec<usize>>> {
        let walk = |(term, tensor): (&Vec<Index>, &&Tensor)| -> Result<Vec<usize>> {
            let mut positions: Vec<usize> = call.budget.scratch(count)?;
            if count > 0 {
                let walk = plan.walk(term, tensor.shape(), over);
                call.budget.timed(positions.iter_mut().zip(walk)).for_each(|(slot, position)| *slot = position);
            }
            Ok(positions)
        };
        plan.operands.iter().zip(&operands).map(walk).collect()
    };
    let (starts, offsets) = (walks(&plan.output, count)?, walks(&plan.summed, terms)?);
    let operands: Vec<Elements> = operands.into_iter().map(Tensor::elements).collect();
    let mut out: Vec<A::Number> = call.budget.scratch(count)?;
    let size = 1 + (1 << 12) / (terms + 1);
    try_for_each_block(&mut out, size, |block, slots| -> Result<()> {
        for (index, slot) in (block * size..).zip(slots) {
            call.budget.count_work(terms)?;
            let product = |term: usize| {
                let factors = operands
                    .iter()
                    .enumerate()
                    .map(|(operand, elements)| A::read(elements, starts[operand][index] + offsets[operand][term]));
                factors.fold(A::ONE, A::multiply)
            };
            *slot = A::sum(call.budget.timed(0..terms).map(product));
        }
        Ok(())
    })?;
    Ok(out)
}

/// Einsum: for each element of the result, the sum of the products of one element of each operand.
fn einsum(call: &Call<'_>) -> Result {
    let inputs = call.tensors(0)?;
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
    let plan = Plan::new(call.string("equation")?, &shapes)?;
    let (element, shape) = (call.tensor(0)?.element_type(), plan.dims(&plan.output));
    if element.is_float() {
        let values = contract::<Floats>(call, &plan)?;
        return Ok(call.floats(element, &shape, values)?.into());
    }
    let values = contract::<Integers>(call, &plan)?;
    Ok(call.integers(element, &shape, values)?.into())
}

fn magnitude(call: &Call<'_>) -> Result {
    let inputs = call.tensors(0)?;
    let shapes: Vec<&[usize]> = inputs.iter().map(|input| input.shape()).collect();
    let plan = Plan::new(call.string("equation")?, &shapes)?;
    let values = contract::<Magnitudes>(call, &plan)?;
    Ok(call.floats(ElementType::Double, &plan.dims(&plan.output), values)?.into())
}

/// The size of each index of the result. Sizes of an index broadcast.
fn result(view: &NodeView<'_, '_>) -> Option<Shape> {
    const MAX_DIMS: usize = 1 << 16;
    let shapes: Vec<&[Dim]> = view.inputs.iter().map(|input| (*input)?.shape.as_deref()).collect::<Option<_>>()?;
    if shapes.iter().map(|shape| shape.len()).sum::<usize>() > MAX_DIMS {
        return None;
    }
    let compact = compact(view.text("equation")?);
    let (left, right) = sides(&compact);
    let terms: Vec<Vec<Symbol>> = left.split(',').map(|term| symbols(term).ok()).collect::<Option<_>>()?;
    let ellipsis = ellipsis_rank(&terms, &shapes).ok().filter(|_| terms.len() == shapes.len())?;
    let operands: Vec<Vec<Index>> = terms.iter().map(|term| indices(term, ellipsis)).collect();
    let mut sizes: BTreeMap<Index, Dim> = BTreeMap::new();
    for (index, dim) in operands.iter().zip(&shapes).flat_map(|(operand, shape)| operand.iter().zip(*shape)) {
        let size = sizes.entry(*index).or_insert(Dim::Size(1));
        *size = rules::broadcast_dim(size.clone(), dim.clone())?;
    }
    let output = match right {
        Some(right) => indices(&symbols(right).ok()?, ellipsis),
        None => implicit_output(&operands),
    };
    if output.len() > MAX_RANK {
        return None;
    }
    output.iter().map(|index| sizes.get(index).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::testing::{floats, node, typed};

    fn run(equation: &str, inputs: &[Tensor]) -> (Vec<usize>, Vec<f64>) {
        let call =
            inputs.iter().cloned().fold(node("Einsum", 12).set("equation", equation), crate::testing::OneNode::input);
        let result = call.tensor();
        (result.shape().to_vec(), result.floats())
    }

    fn matrix() -> Tensor {
        floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])
    }

    #[test]
    fn a_scalar_has_an_empty_term() {
        for equation in ["", "->"] {
            assert_eq!(run(equation, &[floats(&[], &[3.0])]), (vec![], vec![3.0]), "{equation}");
        }
    }

    #[test]
    fn an_empty_axis_gives_an_empty_result() {
        assert_eq!(run("ij->j", &[floats(&[2, 0], &[])]), (vec![0], vec![]));
    }

    /// An 8-bit operand is not converted whole: the limit is too low for that.
    #[test]
    fn a_large_operand_is_read_where_it_is_multiplied() {
        let weight = typed(ElementType::Uint8, &[1 << 12, 8], &vec![1.0; 1 << 15]);
        let limits = ExecutionLimits { bytes: 8 << 15, ..ExecutionLimits::default() };
        let call = node("Einsum", 12).set("equation", "j,ij->i").input(typed(ElementType::Uint8, &[8], &[2.0; 8]));
        let result = call.input(weight).limits(limits).tensor();
        assert!(result.floats() == vec![16.0; 1 << 12]);
    }

    #[test]
    fn integers_wrap() {
        let bytes = typed(ElementType::Uint8, &[2], &[200.0, 100.0]);
        assert_eq!(run("i->", std::slice::from_ref(&bytes)).1, [44.0]);
        assert_eq!(run("i,i->i", &[bytes.clone(), bytes]).1, [64.0, 16.0]);
    }

    #[test]
    fn meaningless_equations_are_refused() {
        for equation in ["i.j", "....", "...ij...", "ij->i->j"] {
            let call = node("Einsum", 12).set("equation", equation).input(matrix());
            assert!(call.run().is_err(), "{equation} was taken");
        }
        let uneven = node("Einsum", 12).set("equation", "ij,jk").input(matrix()).input(floats(&[3, 1], &[0.0; 3]));
        assert!(uneven.error().contains("sizes 2 and 3"));
    }
}
