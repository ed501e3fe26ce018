//! Cases of operators between no-ops, one group per operator version: a part of those that the variant `wrapped` has.

use std::collections::BTreeSet;

use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::{Case, NO_OPS, Variant, digest_of_texts, vary};
use crate::suite::wrapped_record::{GROUP, PATH, WrappedRecord, fraction, plain_id, select};
use crate::suite::{CaseGroup, Generated, Source, SuiteError};

/// Cases of operators between no-ops.
#[derive(Debug)]
pub struct WrappedCases {
    /// The cases without no-ops.
    plain: Generated,
}

impl WrappedCases {
    /// Common prefix of the ids.
    pub const GROUP: &str = GROUP;

    /// Path of the record.
    pub const RECORD: &str = PATH;

    /// Returns the recorded cases of the embedded op.yaml files.
    pub fn embedded() -> WrappedCases {
        WrappedCases { plain: Generated::embedded() }
    }

    /// Returns the ids of all cases, sorted.
    pub fn all_ids() -> &'static [String] {
        &WrappedRecord::embedded().ids
    }

    /// Returns the id of the case without no-ops: `ai.onnx/Abs-13/x` of `graph/wrapped/ai.onnx/Abs-13/x`. Returns `None` for any
    /// other id.
    pub fn plain_id(id: &str) -> Option<&str> {
        plain_id(id)
    }

    /// Returns true if the record has exactly the cases that are selected from all cases of an operator version.
    pub fn is_recorded(version: &OperatorVersion, cases: &[Case]) -> bool {
        let recorded = WrappedRecord::embedded().ids_of(&format!("{GROUP}/{}", version.qualified()));
        recorded.unwrap_or_default() == select(version, cases)
    }

    /// Returns true if the program can make the cases of a group.
    fn can_be_made(&self, group: &str) -> bool {
        plain_id(group).is_some_and(|plain| self.plain.find_group(plain).is_ok_and(|found| found.is_some()))
    }
}

impl Source for WrappedCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        let groups = WrappedRecord::embedded().groups().filter(|name| self.can_be_made(name));
        Ok(groups.map(|name| CaseGroup { name: name.to_owned() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        let found = WrappedRecord::embedded().ids_of(name).filter(|_| self.can_be_made(name));
        Ok(found.map(|_| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(WrappedRecord::embedded().ids_of(&group.name).unwrap_or_default().to_vec())
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let recorded = WrappedRecord::embedded().ids_of(&group.name).unwrap_or_default();
        let chosen: BTreeSet<&str> = recorded.iter().filter(|id| wanted(id)).filter_map(|id| plain_id(id)).collect();
        let Some(name) = plain_id(&group.name) else { return Ok(Vec::new()) };
        let cases = self.plain.load(&CaseGroup { name: name.to_owned() }, &|id| chosen.contains(id))?;
        let is_missing = |id: &&&str| cases.iter().all(|case| case.id != **id);
        if let Some(missing) = chosen.iter().find(is_missing) {
            return Err(without_form(missing));
        }
        let wrapped = |case: &Case| {
            let wrapped = vary(case, Variant::Wrapped).ok_or_else(|| without_form(&case.id))?;
            Ok(Case { id: format!("{GROUP}/{}", case.id), ..wrapped })
        };
        cases.iter().map(wrapped).collect()
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(digest_of_texts([NO_OPS, &fraction()]))
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(GROUP)
    }
}

/// Returns the error for a recorded case that does not exist, or has no wrapped form.
fn without_form(id: &str) -> SuiteError {
    let rule = format!("{id} does not exist or has no form between no-ops; run `cargo xtask gen`");
    SuiteError::File { path: PATH.into(), rule }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(version: &str) -> Vec<Case> {
        Generated::embedded().load(&CaseGroup { name: version.to_owned() }, &|_| true).unwrap()
    }

    #[test]
    fn a_case_is_the_variant_under_another_id() {
        let source = WrappedCases::embedded();
        let group = CaseGroup { name: "graph/wrapped/ai.onnx/Conv-11".to_owned() };
        let ids = source.ids(&group).unwrap();
        let loaded = source.load(&group, &|id| id == ids[0]).unwrap();
        let [case] = &loaded[..] else { panic!("{} cases", loaded.len()) };
        let all = cases("ai.onnx/Conv-11");
        let plain = all.iter().find(|plain| WrappedCases::plain_id(&ids[0]) == Some(&plain.id)).unwrap();
        let variant = vary(plain, Variant::Wrapped).unwrap();
        assert_eq!((case.id.as_str(), &case.model), (ids[0].as_str(), &variant.model));
        assert_eq!(source.find_group("graph/wrapped/ai.onnx/Conv-2").unwrap(), None);
    }

    #[test]
    fn the_record_is_what_is_selected() {
        for name in ["ai.onnx/Conv-11", "ai.onnx.ml/Scaler-1", "ai.onnx/SequenceEmpty-11"] {
            assert!(WrappedCases::is_recorded(&name.parse().unwrap(), &cases(name)), "{name}");
        }
        let all = WrappedCases::all_ids();
        assert!(all.is_sorted() && (3000..5000).contains(&all.len()), "{}", all.len());
    }
}
