//! What holds of any numbers, shapes and texts: properties, each tried on values that are drawn for it.
//!
//! The draws are the same in every run; `PROPTEST_RNG_SEED` gives others, and `PROPTEST_CASES` more.

mod dtype;
mod tensor;
mod text;

use proptest::test_runner::{Config, RngSeed};

/// As many draws as take no time, from a fixed seed. What fails is printed in full, so nothing is kept for the next run.
pub(crate) fn config() -> Config {
    let given = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { 128 };
    let rng_seed = match given.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0),
        seed @ RngSeed::Fixed(_) => seed,
    };
    Config { cases, rng_seed, failure_persistence: None, ..given }
}
