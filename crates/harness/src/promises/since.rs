//! Cases that changed since the suite version for which an expectation file was written.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{CaseId, FrozenCase};
use onnx_conformance_cases::suite::{Suite, SuiteError};

use crate::promises::changes::Kind;
use crate::promises::profile::Profile;

/// Returns the version in the value of `suite:` of an expectation file, such as `0.1.0 08fcdb34d27a364b`. An older file has only
/// the digest.
pub fn suite_version(suite: &str) -> Option<&str> {
    suite.split(' ').next().filter(|word| word.contains('.'))
}

/// Returns those of these cases that are new or have changed since a list was frozen, by kind of change.
pub fn changes_since(frozen: &Profile, suite: &Suite, ids: &[&str]) -> Result<BTreeMap<Kind, Vec<String>>, SuiteError> {
    let mut changed: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let paths: Vec<&str> = ids.iter().map(|id| CaseId::parse(id).path).collect();
    suite.find_each(&paths, &mut |case| {
        let kind = match frozen.cases.get(&case.id) {
            None => Some(Kind::New),
            Some(earlier) => FrozenCase::new(&case).change_since(earlier).map(Kind::from),
        };
        if let Some(kind) = kind {
            changed.entry(kind).or_default().push(case.id);
        }
        Ok(())
    })?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::Generated;

    use super::*;

    #[test]
    fn a_value_names_a_version_or_only_a_digest() {
        assert_eq!(suite_version("0.1.0 08fcdb34d27a364b"), Some("0.1.0"));
        assert_eq!(suite_version("08fcdb34d27a364b"), None);
        assert_eq!(suite_version(""), None);
    }

    #[test]
    fn changed_cases_are_found_by_kind() {
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        let [raised, new, same] =
            ["T=float", "T=double", "T=float16"].map(|end| format!("ai.onnx/Abs-13/ranks/X=2x3x4/{end}"));
        let frozen = |id: &str| FrozenCase::new(&suite.find(id).unwrap().unwrap());
        let open = frozen(&raised).to_string().replace("required", "open");
        let text = format!("suite 0.0.1\n{raised} {open}\n{same} {}\n", frozen(&same));
        let profile = Profile::parse("0.0.1", &text).unwrap();
        let ids = [raised.as_str(), &format!("{new}@constants"), &same, "folder/other"];
        let changed = changes_since(&profile, &suite, &ids).unwrap();
        assert_eq!(changed, BTreeMap::from([(Kind::Raised, vec![raised.clone()]), (Kind::New, vec![new])]));
    }
}
