//! All cases of one operator version, as they are planned.

use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::Level;
use crate::generate::plan::catalog::{GenerateError, OperatorCatalog};
use crate::generate::plan::refusals::{PlannedRefusal, refusals};
use crate::generate::plan::version::{PlannedCase, VersionContext};

/// All cases of an operator version.
pub(crate) struct VersionPlan<'a> {
    /// What they are planned from.
    pub(crate) version: VersionContext<'a>,
    /// What must run.
    pub(crate) cases: Vec<PlannedCase<'a>>,
    /// What must be refused.
    pub(crate) refusals: Vec<PlannedRefusal>,
}

impl<'a> VersionPlan<'a> {
    /// Plans the cases of a version.
    pub(crate) fn new(
        operators: &'a OperatorCatalog,
        version: &OperatorVersion,
    ) -> Result<VersionPlan<'a>, GenerateError> {
        let version = VersionContext::new(operators, version)?;
        let cases = version.cases()?;
        let refusals = refusals(&version, &cases)?;
        Ok(VersionPlan { version, cases, refusals })
    }
}

/// The ids of a version's cases, in order, without making them. A case that makes none in any version is an error.
pub fn ids(operators: &OperatorCatalog, version: &OperatorVersion) -> Result<Vec<String>, GenerateError> {
    operators.check_whole(version)?;
    let plan = VersionPlan::new(operators, version)?;
    let cases = plan.cases.into_iter().map(|planned| planned.id);
    Ok(cases.chain(plan.refusals.into_iter().map(|refusal| refusal.id)).collect())
}

/// What is known of a case before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutline {
    /// The id.
    pub id: String,
    /// How binding the expectation is.
    pub level: Level,
    /// Whether it must be refused.
    pub is_refusal: bool,
}

/// The outlines of a version's cases, in order.
pub fn outlines(operators: &OperatorCatalog, version: &OperatorVersion) -> Result<Vec<CaseOutline>, GenerateError> {
    let plan = VersionPlan::new(operators, version)?;
    let level = |level: Level| plan.version.level(level);
    let cases = plan.cases.iter().map(|planned| (&planned.id, planned.case.level, false));
    let refusals = plan.refusals.iter().map(|refusal| (&refusal.id, refusal.level, true));
    let all = cases.chain(refusals);
    Ok(all.map(|(id, of, is_refusal)| CaseOutline { id: id.clone(), level: level(of), is_refusal }).collect())
}
