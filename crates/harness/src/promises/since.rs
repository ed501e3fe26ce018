//! Cases that changed since the suite version for which an expectation file was written.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{CaseId, FrozenCase};
use onnx_conformance_cases::suite::{Suite, SuiteError};

use crate::promises::changes::Kind;
use crate::promises::profile::Profile;
use crate::promises::renames::Renames;

/// Returns the version in the value of `suite:` of an expectation file, such as `0.1.0 08fcdb34d27a364b`. An older file has only
/// the digest.
pub fn suite_version(suite: &str) -> Option<&str> {
    suite.split(' ').next().filter(|word| word.contains('.'))
}

/// Returns those of these cases that are new, renamed or changed since a list was frozen, by kind of change.
pub fn changes_since(
    frozen: &Profile,
    renames: &Renames,
    suite: &Suite,
    ids: &[&str],
) -> Result<BTreeMap<Kind, Vec<String>>, SuiteError> {
    let mut changed: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let renamed = renames.renamed(frozen.cases.keys().map(String::as_str));
    let renamed: BTreeMap<&str, &str> = renamed.iter().map(|(old, new)| (new.as_str(), *old)).collect();
    let paths: Vec<&str> = ids.iter().map(|id| CaseId::parse(id).path).collect();
    suite.find_each(&paths, &mut |case| {
        let old = renamed.get(case.id.as_str()).copied();
        let kind = match frozen.cases.get(old.unwrap_or(&case.id)) {
            None => Some(Kind::New),
            Some(earlier) => FrozenCase::new(&case).change_since(earlier).map(Kind::from),
        };
        if let Some(kind) = kind.or(old.map(|_| Kind::Renamed)) {
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
        let [raised, new, same, renamed, renamed_and_raised] =
            ["T=float", "T=double", "T=float16", "T=int8", "T=int16"]
                .map(|end| format!("ai.onnx/Abs-13/ranks/X=2x3x4/{end}"));
        let frozen = |id: &str| FrozenCase::new(&suite.find(id).unwrap().unwrap()).to_string();
        let open = |id: &str| frozen(id).replace("required", "open");
        let old = |id: &str| id.replace("/ranks/", "/old/");
        let lines = [
            format!("{raised} {}", open(&raised)),
            format!("{same} {}", frozen(&same)),
            format!("{} {}", old(&renamed), frozen(&renamed)),
            format!("{} {}", old(&renamed_and_raised), open(&renamed_and_raised)),
        ];
        let profile = Profile::parse("0.0.1", &format!("suite 0.0.1\n{}\n", lines.join("\n"))).unwrap();
        let renames = "- {since: 0.0.2, old: ai.onnx/Abs-13/old/, new: ai.onnx/Abs-13/ranks/}\n";
        let renames = Renames::parse("renames.yaml", renames).unwrap();
        let ids = [&raised, &format!("{new}@constants"), &same, &renamed, &renamed_and_raised, "folder/other"];
        let changed = changes_since(&profile, &renames, &suite, &ids).unwrap();
        assert_eq!(
            changed,
            BTreeMap::from([
                (Kind::Raised, vec![raised, renamed_and_raised]),
                (Kind::New, vec![new]),
                (Kind::Renamed, vec![renamed])
            ])
        );
    }
}
