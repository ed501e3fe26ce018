//! `TfIdfVectorizer`: counts of n-grams.

use std::collections::HashMap;
use std::hash::Hash;

use crate::dtype::ElementType;
use crate::infer::{List, NodeView, Shape};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("TfIdfVectorizer", 9, tf_idf_vectorizer).shape(counts_per_row)];

/// N-grams of a pool. Tokens are numbered, and each n-gram maps to its places in the pool.
struct Pool<'a> {
    ngrams: HashMap<Vec<usize>, Vec<usize>>,
    /// Output coordinate of each n-gram.
    coordinates: &'a [i64],
}

/// Conversion of counts to elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weighting {
    Count,
    Presence,
    WeightedCount,
}

fn tf_idf_vectorizer(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    match (x.element_type(), call.optional_strings("pool_strings"), call.optional_ints("pool_int64s")) {
        (_, Some(_), Some(_)) => Err(broken("C6", "pool_strings and pool_int64s are both set; one must be")),
        (ElementType::String, Some(pool), None) => vectorize(call, x, x.strings(), &pool),
        (ElementType::Int32 | ElementType::Int64, None, Some(pool)) => {
            vectorize(call, x, &call.budget.read_indices(x)?, pool)
        }
        (element, ..) => Err(broken("C6", format!("no pool is set for {element}, the type of the input"))),
    }
}

fn vectorize<T: Hash + Eq>(call: &Call<'_>, x: &Tensor, tokens: &[T], pool: &[T]) -> Result {
    let (rows, columns) = match *x.shape() {
        [] => (1, 1),
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        ref shape => return Err(broken("C8", format!("the input has shape {shape:?}; it must be [C] or [N, C]"))),
    };
    let mut numbers: HashMap<&T, usize> = HashMap::new();
    let pool: Vec<usize> = pool
        .iter()
        .map(|token| {
            let next = numbers.len();
            *numbers.entry(token).or_insert(next)
        })
        .collect();
    let pool = Pool::from_call(call, &pool)?;
    let width = pool.coordinates.iter().copied().max().map_or(0, |max| max.saturating_add(1));
    let width = usize::try_from(width).map_err(|_| invalid("ngram_indexes contains a negative index"))?;
    let weighting = Weighting::from_call(call)?;
    let weights = weights(call, pool.coordinates.len())?;
    let count = rows.checked_mul(width).ok_or_else(|| invalid("the number of counts overflows"))?;
    let mut out: Vec<f64> = call.budget.scratch(count)?;
    let mut found: Vec<u32> = call.budget.scratch(pool.coordinates.len())?;
    for row in 0..rows {
        let tokens = tokens.iter().skip(row * columns).take(columns);
        let budget = call.budget.nested();
        let tokens = budget.collect(tokens.map(|token| numbers.get(token).copied()))?;
        budget.count_work(tokens.len() + found.len())?;
        found.fill(0);
        pool.count(call, &tokens, &mut found)?;
        for (index, (&found, &coordinate)) in found.iter().zip(pool.coordinates).enumerate() {
            let weight = weights.as_ref().and_then(|weights| weights.get(index)).copied().unwrap_or(1.0);
            let slot = usize::try_from(coordinate).ok().and_then(|coordinate| out.get_mut(row * width + coordinate));
            if let (Some(slot), true) = (slot, found > 0) {
                *slot += match weighting {
                    Weighting::Count => f64::from(found),
                    Weighting::Presence => weight,
                    Weighting::WeightedCount => weight * f64::from(found),
                };
            }
        }
    }
    let shape = if x.rank() == 2 { vec![rows, width] } else { vec![width] };
    Ok(call.floats(ElementType::Float, &shape, out)?.into())
}

impl Weighting {
    fn from_call(call: &Call<'_>) -> Result<Weighting> {
        call.one_of(
            "mode",
            &[("TF", Weighting::Count), ("IDF", Weighting::Presence), ("TFIDF", Weighting::WeightedCount)],
        )
        .rule("C7")
    }
}

/// Returns the weight of each n-gram of the pool, or `None` if all are 1.
fn weights(call: &Call<'_>, ngrams: usize) -> Result<Option<Vec<f64>>> {
    match call.optional_floats("weights") {
        Some(weights) if weights.len() == ngrams => Ok(Some(weights)),
        Some(weights) => {
            let found = weights.len();
            Err(broken(
                "C4",
                format!("weights has {found} elements and ngram_indexes {ngrams}; the numbers must be equal"),
            ))
        }
        None => Ok(None),
    }
}

/// Returns a length or count, which must not be negative.
fn non_negative(call: &Call<'_>, name: &str) -> Result<usize> {
    let value = call.int(name)?;
    usize::try_from(value).map_err(|_| invalid(format!("{name} is {value}; it cannot be negative")))
}

impl<'a> Pool<'a> {
    /// Reads the n-grams of numbered tokens. Those with n = 1 come first, and `ngram_counts` gives the start of each n.
    fn from_call(call: &Call<'a>, tokens: &[usize]) -> Result<Pool<'a>> {
        let coordinates = call.ints("ngram_indexes")?;
        if let Some(index) = coordinates.iter().find(|&&index| index < 0) {
            return Err(invalid(format!("ngram_indexes contains {index}, which is negative")));
        }
        let starts = call.ints("ngram_counts")?;
        let ends = starts.iter().skip(1).map(|&end| usize::try_from(end).ok()).chain([Some(tokens.len())]);
        let mut ngrams: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
        let mut next = 0;
        for ((n, &start), end) in (1..).zip(starts).zip(ends) {
            let part = usize::try_from(start).ok().zip(end).and_then(|(start, end)| tokens.get(start..end));
            let part = part.filter(|part| part.len() % n == 0).ok_or_else(|| {
                let count = tokens.len();
                let message =
                    format!("ngram_counts {starts:?} does not split the pool of {count} tokens into {n}-grams");
                broken("C9", message)
            })?;
            for ngram in part.chunks_exact(n) {
                ngrams.entry(ngram.to_vec()).or_default().push(next);
                next += 1;
            }
        }
        if next != coordinates.len() {
            let found = coordinates.len();
            return Err(broken("C1", format!("the pool has {next} n-grams, but ngram_indexes has {found} elements")));
        }
        Ok(Pool { ngrams, coordinates })
    }

    /// Counts the n-grams in a row of tokens for every number of skips. Single tokens do not depend on it.
    fn count(&self, call: &Call<'_>, tokens: &[Option<usize>], found: &mut [u32]) -> Result<()> {
        let (min, max) = (non_negative(call, "min_gram_length")?.max(1), non_negative(call, "max_gram_length")?);
        let skips = non_negative(call, "max_skip_count")?;
        let mut ngram = Vec::new();
        for n in min..=max.min(tokens.len()) {
            let steps = if n == 1 { 1 } else { skips.saturating_add(1).min(tokens.len()) };
            for step in 1..=steps {
                let Some(reach) = step.checked_mul(n - 1).filter(|&reach| reach < tokens.len()) else { break };
                for start in 0..tokens.len() - reach {
                    call.budget.count_work(n)?;
                    ngram.clear();
                    ngram.extend(tokens.iter().skip(start).step_by(step).take(n).map_while(|&token| token));
                    for &place in self.ngrams.get(&ngram).filter(|_| ngram.len() == n).into_iter().flatten() {
                        if let Some(count) = found.get_mut(place) {
                            *count += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The largest of `ngram_indexes` plus 1, for each row of a matrix.
fn counts_per_row(view: &NodeView<'_, '_>) -> Option<Shape> {
    let width = match view.ints("ngram_indexes") {
        List::Given(indices) => indices.iter().max().map_or(Dim::Size(0), |max| Dim::from_int(max.saturating_add(1))),
        List::Unknown | List::Absent => Dim::Unknown,
    };
    match view.shape(0)?.as_slice() {
        [rows, _] => Some(vec![rows.clone(), width]),
        [] | [_] => Some(vec![width]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::Tensor;
    use crate::testing::{OneNode, ints, node, strings};

    /// The pool holds the 1-grams 1 and 2, with coordinates 3 and 0, and the 2-gram (1, 2), with coordinate 1.
    fn vectorizer(x: Tensor, skips: i64) -> OneNode {
        node("TfIdfVectorizer", 9)
            .input(x)
            .set("mode", "TF")
            .set("min_gram_length", 1)
            .set("max_gram_length", 2)
            .set("max_skip_count", skips)
            .set("ngram_counts", &[0, 2][..])
            .set("ngram_indexes", &[3, 0, 1][..])
            .set("pool_int64s", &[1, 2, 1, 2][..])
    }

    #[test]
    fn skips_may_exceed_the_number_of_tokens() {
        let skipped = vectorizer(ints(&[4], &[1, 1, 2, 2]), i64::MAX).tensor();
        assert_eq!(skipped.floats(), [2.0, 4.0, 0.0, 2.0]);
    }

    #[test]
    fn pools_that_do_not_divide_are_refused() {
        let x = || ints(&[1], &[1]);
        assert!(vectorizer(x(), 0).set("ngram_counts", &[0, 1][..]).error().contains("into 2-grams"));
        assert!(vectorizer(x(), 0).set("ngram_counts", &[0, 9][..]).error().contains("into 1-grams"));
        assert!(vectorizer(x(), 0).set("ngram_indexes", &[0, 1][..]).error().contains("has 3 n-grams"));
        assert!(vectorizer(x(), 0).set("ngram_indexes", &[0, 1, -1][..]).error().contains("negative"));
        assert!(vectorizer(x(), 0).set("weights", &[1.0f32][..]).error().contains("weights has 1"));
        assert!(vectorizer(strings(&[1], &["1"]), 0).error().contains("no pool is set for string"));
        let wide = vectorizer(x(), 0).set("ngram_indexes", &[0, 1, i64::MAX][..]);
        assert!(wide.run().is_err());
    }
}
