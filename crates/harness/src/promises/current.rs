//! Comparison of a version of the suite with the suite of this program. Of its cases, only those are made that may have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use onnx_conformance_cases::case::{CaseId, FrozenCase};
use onnx_conformance_cases::suite::{
    Filter, RecordedCase, SUITE_VERSION, SelectedGroup, Suite, SuiteError, recorded_cases,
};
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_reference::spec::OperatorVersion;

use crate::promises::changes::Changes;
use crate::promises::frozen_list::{FrozenList, FrozenListError, is_recorded_as};
use crate::promises::renames::Renames;

impl Changes {
    /// Compares an earlier version with a suite of the embedded specs. A case with the same level and digest in `records/` has not
    /// changed, and a new case in a group that has lost none is not a renamed one. Neither is made.
    pub fn since(earlier: &FrozenList, suite: &Suite, renames: &Renames) -> Result<Changes, FrozenListError> {
        let chosen = suite.choose(&Filter::default())?;
        let comparison = Comparison::new(earlier, &chosen, renames);
        let compared = map_items(None, &chosen, |group: &SelectedGroup<'_>| comparison.compare(group));
        let (mut cases, mut new) = (BTreeMap::new(), Vec::new());
        for group in compared.into_iter().collect::<Result<Vec<_>, SuiteError>>()? {
            cases.extend(group.known);
            new.extend(group.new);
        }
        let later = FrozenList { suite: SUITE_VERSION.to_owned(), cases };
        Ok(Changes::between(earlier, &later, renames).with_new(new))
    }
}

/// An earlier version, and the cases of this program that may be renamed ones of it.
struct Comparison<'a> {
    earlier: &'a FrozenList,
    /// Groups that have lost a case.
    losing: BTreeSet<&'a str>,
    /// New ids of recorded renames.
    renamed: BTreeSet<String>,
}

/// The cases of a group.
struct ComparedGroup {
    /// Cases with their facts.
    known: Vec<(String, FrozenCase)>,
    /// Ids of further cases, which are new.
    new: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn new(earlier: &'a FrozenList, chosen: &[SelectedGroup<'_>], renames: &Renames) -> Comparison<'a> {
        let current: HashSet<&str> = chosen.iter().flat_map(|(_, _, ids)| ids).map(String::as_str).collect();
        let lost: Vec<&'a str> = earlier.cases.keys().map(String::as_str).filter(|id| !current.contains(id)).collect();
        let renamed = renames.renamed(lost.iter().copied(), &earlier.suite);
        Comparison {
            earlier,
            losing: lost.iter().copied().map(|id| CaseId::parse(id).group()).collect(),
            renamed: renamed.into_iter().map(|(_, new)| new).collect(),
        }
    }

    fn compare(&self, (source, group, ids): &SelectedGroup<'_>) -> Result<ComparedGroup, SuiteError> {
        let version: Option<OperatorVersion> = group.name.parse().ok();
        let recorded = version.iter().flat_map(recorded_cases);
        let recorded: HashMap<&str, &RecordedCase> = recorded.map(|case| (case.id.as_str(), case)).collect();
        let mut compared = ComparedGroup { known: Vec::new(), new: Vec::new() };
        let mut unknown: HashSet<&str> = HashSet::new();
        for id in ids {
            let frozen = self.earlier.cases.get(id);
            let same = frozen.zip(recorded.get(id.as_str())).filter(|(frozen, case)| is_recorded_as(frozen, case));
            if let Some((frozen, _)) = same {
                compared.known.push((id.clone(), *frozen));
            } else if frozen.is_none() && !self.may_be_renamed(id) {
                compared.new.push(id.clone());
            } else {
                unknown.insert(id);
            }
        }
        if !unknown.is_empty() {
            let cases = source.load(group, &|id| unknown.contains(id))?;
            compared.known.extend(cases.iter().map(|case| (case.id.clone(), FrozenCase::new(case))));
        }
        Ok(compared)
    }

    fn may_be_renamed(&self, id: &str) -> bool {
        self.losing.contains(CaseId::parse(id).group()) || self.renamed.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::Generated;

    use super::*;
    use crate::promises::changes::Kind;

    fn frozen(case: &RecordedCase) -> FrozenCase {
        FrozenCase { level: case.facts.level, digest: case.digest, without_bounds: case.digest, tolerance: 0.0 }
    }

    #[test]
    fn changed_renamed_and_new_cases_are_found() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 13);
        let [changed, renamed, new, ..] = recorded_cases(&version) else { panic!("Abs-13 has no three cases") };
        let mut cases: BTreeMap<String, FrozenCase> =
            recorded_cases(&version).iter().map(|case| (case.id.clone(), frozen(case))).collect();
        let others = FrozenCase { level: changed.facts.level, ..frozen(renamed) };
        cases.insert(changed.id.clone(), others);
        cases.remove(&renamed.id);
        cases.insert("ai.onnx/Abs-13/old/T=float".to_owned(), frozen(renamed));
        cases.remove(&new.id);
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let earlier = FrozenList { suite: "0.0.1".to_owned(), cases };
        let changes = Changes::since(&earlier, &suite, &Renames::default()).unwrap();
        assert_eq!(changes.cases[&Kind::Changed], [changed.id.as_str()]);
        assert_eq!(changes.renamed["ai.onnx/Abs-13/old/T=float"], renamed.id);
        assert_eq!((changes.count(Kind::Renamed), changes.cases.len()), (1, 3));
        let of_abs: Vec<&String> =
            changes.cases[&Kind::New].iter().filter(|id| id.starts_with("ai.onnx/Abs-13/")).collect();
        assert_eq!(of_abs, [&new.id]);
        assert!(changes.cases[&Kind::New].is_sorted() && changes.count(Kind::New) > 100_000);
    }
}
