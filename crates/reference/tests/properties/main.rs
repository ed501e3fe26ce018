//! Property tests over random numbers, shapes and texts.
//!
//! The values are the same in every run; `PROPTEST_RNG_SEED` changes them, and `PROPTEST_CASES` their number.

mod dtype;
mod tensor;
mod text;

use proptest::test_runner::{Config, RngSeed};

/// A number of cases that runs quickly, from a fixed seed. Failures are printed in full, so nothing is stored for the
/// next run.
pub(crate) fn config() -> Config {
    let given = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { 128 };
    let rng_seed = match given.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0),
        seed @ RngSeed::Fixed(_) => seed,
    };
    Config { cases, rng_seed, failure_persistence: None, ..given }
}
