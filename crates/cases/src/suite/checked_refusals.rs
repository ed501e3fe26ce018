//! Models that a checker must refuse.

use onnx_conformance_reference::spec::Specs;

use crate::case::{Case, CaseId, Level, RefusalClass, RefusalKind, Variant, vary};
use crate::suite::records::recorded_cases;
use crate::suite::{RecordedCase, Source, SuiteError};

/// A case whose model a checker must refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRefusal {
    /// The id, without variant.
    pub id: String,
    /// The kind of what is wrong with the model.
    pub kind: RefusalKind,
    /// The id of the same model without the violation. `None` for an operator version, whose cases are not made.
    pub control: Option<String>,
}

/// Returns the refusals about which a checker is asked, except those of level `open`: of every operator version by
/// `records/`, and of these topics, whose refusals are made.
pub fn checked_refusals(topics: &[&dyn Source]) -> Result<Vec<CheckedRefusal>, SuiteError> {
    let mut refusals = Vec::new();
    for version in Specs::embedded().all() {
        refusals.extend(recorded_cases(&version).iter().filter_map(of_record));
    }
    let is_refusal = |id: &str| RefusalKind::from_id(CaseId::parse(id)).is_some();
    for source in topics {
        for group in source.groups()? {
            if source.ids(&group)?.iter().any(|id| is_refusal(id)) {
                refusals.extend(source.load(&group, &is_refusal)?.iter().filter_map(of_case));
            }
        }
    }
    Ok(refusals)
}

fn of_record(case: &RecordedCase) -> Option<CheckedRefusal> {
    let facts = &case.facts;
    let is_shown = facts.refusal == Some(RefusalClass::Static) && !facts.only_at_run_time;
    let kind = RefusalKind::from_id(CaseId::parse(&case.id)).filter(|_| is_shown && facts.level != Level::Open)?;
    Some(CheckedRefusal { id: case.id.clone(), kind, control: None })
}

fn of_case(case: &Case) -> Option<CheckedRefusal> {
    let control = Some(case.refusal.as_ref()?.control.id.clone());
    let kind = RefusalKind::from_id(CaseId::parse(&case.id)).filter(|_| case.level != Level::Open)?;
    vary(case, Variant::Check).map(|_| CheckedRefusal { id: case.id.clone(), kind, control })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::suite::{CaseGroup, Generated, GraphCases, IrCases};

    fn all() -> Vec<CheckedRefusal> {
        let format = IrCases::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata"));
        checked_refusals(&[&format, &GraphCases]).unwrap()
    }

    #[test]
    fn a_checker_is_asked_about_what_the_model_shows() {
        let all = all();
        let kind = |id: &str| all.iter().find(|refusal| refusal.id == id).map(|refusal| refusal.kind);
        assert_eq!(kind("ai.onnx/Compress-11/refuse/missing=input"), Some(RefusalKind::MissingInput));
        assert_eq!(kind("ai.onnx/Compress-11/refuse/axis_too_large"), Some(RefusalKind::Sentence));
        assert_eq!(kind("ai.onnx/Compress-11/refuse/condition_too_long"), None, "only a run shows it");
        assert_eq!(kind("ai.onnx/Slice-1/refuse/repeated_axis"), None, "it is open");
        assert_eq!(kind("ir/initializers/refuse/missing-input"), None, "only a run shows it");
        let format = all.iter().find(|refusal| refusal.id == "ir/initializers/refuse/no-input-in-version-3").unwrap();
        let control = Some("ir/initializers/default-in-version-3".to_owned());
        assert_eq!((format.kind, &format.control), (RefusalKind::Format, &control));
    }

    /// The conformance suite compares the records with all cases.
    #[test]
    fn the_refusals_of_a_record_are_those_of_the_cases() {
        let all = all();
        for name in ["ai.onnx/Compress-11", "ai.onnx/Slice-1", "ai.onnx/Loop-16"] {
            let cases = Generated::embedded().load(&CaseGroup { name: name.to_owned() }, &|_| true).unwrap();
            let mut made: Vec<String> = cases.iter().filter_map(of_case).map(|refusal| refusal.id).collect();
            made.sort_unstable();
            let prefix = format!("{name}/");
            let of_version = all.iter().filter(|refusal| refusal.id.starts_with(&prefix));
            let recorded: Vec<&String> = of_version.map(|refusal| &refusal.id).collect();
            assert!(!made.is_empty() && made.iter().eq(recorded), "{name}: {made:?}");
        }
    }
}
