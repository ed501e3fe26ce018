//! What generated cases promise of the values that fills make: none is a tie, every partial sum is exact, sums do not cancel,
//! and no place is written twice.

mod cancellation;
mod exact_sums;
mod largest;
mod made;
mod quantized_sums;
mod ties;
mod writes;
