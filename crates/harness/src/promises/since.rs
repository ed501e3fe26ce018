//! Cases that changed since the suite version for which an expectation file or a results file was written.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, FrozenCase};
use onnx_conformance_cases::suite::{Suite, SuiteError};

use crate::promises::changes::Kind;
use crate::promises::frozen_list::FrozenList;
use crate::promises::renames::Renames;

/// Returns the given cases that are new or changed since a list was frozen, by kind of change. A case that was only
/// renamed is unchanged, and entries follow the rename.
pub fn changes_since(
    frozen: &FrozenList,
    renames: &Renames,
    suite: &Suite,
    ids: &[&str],
) -> Result<BTreeMap<Kind, Vec<String>>, SuiteError> {
    let mut changed: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for_each(frozen, renames, suite, ids, &mut |id, kind| {
        if let Some(kind) = kind.filter(|kind| *kind != Kind::Renamed) {
            changed.entry(kind).or_default().push(id);
        }
    })?;
    Ok(changed)
}

/// Returns the given cases whose content and level have not changed since a list was frozen. Their ids may have
/// changed.
pub fn unchanged_since(
    frozen: &FrozenList,
    renames: &Renames,
    suite: &Suite,
    ids: &[&str],
) -> Result<BTreeSet<String>, SuiteError> {
    let mut unchanged = BTreeSet::new();
    for_each(frozen, renames, suite, ids, &mut |id, kind| {
        if matches!(kind, None | Some(Kind::Renamed)) {
            unchanged.insert(id);
        }
    })?;
    Ok(unchanged)
}

/// Passes each of these cases that exists to `sink`, with its change since a list was frozen; `None` if it is the same.
fn for_each(
    frozen: &FrozenList,
    renames: &Renames,
    suite: &Suite,
    ids: &[&str],
    sink: &mut dyn FnMut(String, Option<Kind>),
) -> Result<(), SuiteError> {
    let renamed = renames.renamed(frozen.cases.keys().map(String::as_str), &frozen.suite);
    let renamed: BTreeMap<&str, &str> = renamed.iter().map(|(old, new)| (new.as_str(), *old)).collect();
    let paths: Vec<&str> = ids.iter().map(|id| CaseId::parse(id).path).collect();
    suite.find_each(&paths, &mut |case| {
        let old = renamed.get(case.id.as_str()).copied();
        let kind = match frozen.cases.get(old.unwrap_or(&case.id)) {
            None => Some(Kind::New),
            Some(earlier) => FrozenCase::new(&case).change_since(earlier).map(Kind::from),
        };
        sink(case.id, kind.or(old.map(|_| Kind::Renamed)));
        Ok(())
    })
}

/// Describes the changed cases among the unexpected failures of a run: `failures` of them with the expectations of `place`, which
/// are for an earlier version of the suite.
pub fn describe_changes(place: &str, version: &str, failures: usize, changed: &BTreeMap<Kind, Vec<String>>) -> String {
    let count: usize = changed.values().map(Vec::len).sum();
    let kind = |(kind, ids): (&Kind, &Vec<String>)| {
        let first = ids.first().map_or("", String::as_str);
        format!("\n{:>7} {kind}, such as {first}", ids.len())
    };
    let kinds: String = changed.iter().map(kind).collect();
    format!(
        "{count} of {failures} unexpected failures are of cases that differ from suite {version}, for which {place} was \
         written:{kinds}\n`onnx-conformance diff suite@{version}` lists all changes"
    )
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::Generated;

    use super::*;

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
        let list = FrozenList::parse("0.0.1", &format!("suite 0.0.1\n{}\n", lines.join("\n"))).unwrap();
        let renames = "- {since: 0.0.2, old: ai.onnx/Abs-13/old/, new: ai.onnx/Abs-13/ranks/}\n";
        let renames = Renames::parse("renames.yaml", renames).unwrap();
        let ids = [&raised, &format!("{new}@constants"), &same, &renamed, &renamed_and_raised, "folder/other"];
        let changed = changes_since(&list, &renames, &suite, &ids).unwrap();
        assert_eq!(
            changed,
            BTreeMap::from([
                (Kind::Raised, vec![raised.clone(), renamed_and_raised.clone()]),
                (Kind::New, vec![new.clone()])
            ])
        );
        let unchanged = unchanged_since(&list, &renames, &suite, &ids).unwrap();
        assert_eq!(unchanged, BTreeSet::from([same, renamed]));
    }

    #[test]
    fn changed_cases_are_described_by_kind() {
        let changed = BTreeMap::from([
            (Kind::New, vec!["a/A-1/new".to_owned()]),
            (Kind::Raised, vec!["a/A-1/x".to_owned(), "a/A-1/y".to_owned()]),
        ]);
        assert_eq!(
            describe_changes("mine.yaml", "0.1.0", 4, &changed),
            "3 of 4 unexpected failures are of cases that differ from suite 0.1.0, for which mine.yaml was written:\n      2 \
             raised, such as a/A-1/x\n      1 new, such as a/A-1/new\n`onnx-conformance diff suite@0.1.0` lists all changes"
        );
    }
}
