//! `records/others.txt`: digests of the cases of no operator. A program that compares them with those of a measurement neither
//! opens the suite nor contains the tests of ONNX's releases.

use std::collections::BTreeMap;

use super::generated::Generated;
use super::source::SuiteError;
use super::sources::Suite;

/// First line of the record.
const HEAD: &str = "# Written by `cargo xtask gen`: digests of the cases of no operator, by the beginning of their ids; do not edit.\n";

/// The text of the record.
static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/others.txt"));

/// Returns the recorded digests of the cases of no operator, by the beginning of their ids, such as `onnx-1.22.0` or
/// `graph/reshapes`.
pub fn recorded_digests_of_others() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEXT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '))
}

/// Returns the digests of the cases of no operator in the project's suite, by the beginning of their ids.
pub fn digests_of_others() -> Result<BTreeMap<String, String>, SuiteError> {
    Suite::project(None, Generated::embedded())?.digests_outside_operators()
}

/// Returns the current text of the record.
pub fn record_of_others() -> Result<String, SuiteError> {
    let lines = digests_of_others()?.into_iter().map(|(name, digest)| format!("{name} {digest}\n"));
    Ok(std::iter::once(HEAD.to_owned()).chain(lines).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_that_of_the_suite() {
        let recorded: Vec<(&str, &str)> = recorded_digests_of_others().collect();
        let current = digests_of_others().unwrap();
        let current: Vec<(&str, &str)> =
            current.iter().map(|(name, digest)| (name.as_str(), digest.as_str())).collect();
        assert_eq!(recorded, current, "records/others.txt is stale; run `cargo xtask gen`");
        assert!(recorded.len() > 50, "{} names", recorded.len());
    }
}
