//! All planned cases of one operator version.

use onnx_conformance_reference::spec::OperatorVersion;

use crate::generate::plan::catalog::{GenerateError, OperatorCatalog};
use crate::generate::plan::refusals::{PlannedRefusal, refusals};
use crate::generate::plan::version::{PlannedCase, VersionContext};

/// All cases of an operator version.
pub(crate) struct VersionPlan<'a> {
    /// The version with its op.yaml.
    pub(crate) version: VersionContext<'a>,
    /// Positive cases.
    pub(crate) cases: Vec<PlannedCase<'a>>,
    /// Negative cases.
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

/// Returns the ids of a version's cases, in order, without making them. It is an error if a case of the file is made in
/// no version.
pub fn ids(operators: &OperatorCatalog, version: &OperatorVersion) -> Result<Vec<String>, GenerateError> {
    operators.check_whole(version)?;
    let plan = VersionPlan::new(operators, version)?;
    let cases = plan.cases.into_iter().map(|planned| planned.id);
    Ok(cases.chain(plan.refusals.into_iter().map(|refusal| refusal.id)).collect())
}
