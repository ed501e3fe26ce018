//! Promises of generated cases about filled values: none is a tie, every partial sum is exact, sums do not cancel, and no element
//! is written twice.

mod cancellation;
mod exact_sums;
mod largest;
mod made;
mod quantized_sums;
mod ties;
mod writes;
