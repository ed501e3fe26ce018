//! Promises of generated cases about filled values: none is a tie, every partial sum is exact, sums do not cancel, and no element
//! is written twice.

mod node_case;
mod totals;

mod cancellation;
mod exact_sums;
mod largest;
mod quantized_sums;
mod ties;
mod writes;

pub(crate) use totals::Totals;
