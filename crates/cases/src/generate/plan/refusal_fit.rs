//! A refusal of op.yaml at a version: its fit and its alternatives.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::OpSpec;

use crate::generate::file::alternatives::{AlternativeAxis, AlternativeError, combinations};
use crate::generate::file::op_file::{OperatorFile, RefusalFile};
use crate::generate::plan::error::FitError;
use crate::generate::plan::fit::CaseAtVersion;

/// Returns the first reason why a refusal fits none of these versions, or `None` if it fits any.
pub(crate) fn reason_not_applicable(
    file: &OperatorFile,
    refusal: &RefusalFile,
    versions: &[&OpSpec],
) -> Option<FitError> {
    let mut first = None;
    let control = file.cases.iter().find(|case| case.name == refusal.control)?;
    let case = control.control_with_violation(refusal);
    let known = |name: &String| control.inputs.get(name).is_some() || control.set.get(name).is_some();
    let unknown = |name: &&String| {
        !known(name) && !control.bind.0.iter().any(|(_, how)| how.strip_prefix("attribute ") == Some(name.as_str()))
    };
    if let Some(name) = refusal.without.iter().find(unknown) {
        return Some(FitError::NothingToOmit(name.clone()));
    }
    for spec in versions.iter().filter(|spec| refusal.covers(spec.version.since)) {
        let fits = CaseAtVersion::new(file, control, spec).and_then(|_| CaseAtVersion::incomplete(file, &case, spec));
        first.get_or_insert(fits.err()?);
    }
    first.or(Some(FitError::NoVersion))
}

/// Returns the alternatives of a refusal: the name of each, and its index on each axis. Axes that only the control has
/// keep the control's alternative.
pub(crate) fn alternatives(
    file: &RefusalFile,
    case_at_version: &CaseAtVersion<'_>,
    control: &CaseAtVersion<'_>,
    control_choices: &[usize],
) -> Result<Vec<(String, Vec<usize>)>, AlternativeError> {
    let control_picks: BTreeMap<String, usize> =
        control.axes().into_iter().map(|axis| axis.name).zip(control_choices.iter().copied()).collect();
    let is_own = |axis: &AlternativeAxis| {
        let mut names = file.inputs.keys().chain(file.set.keys());
        names.any(|name| axis.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let axes = case_at_version.axes();
    let own: Vec<AlternativeAxis> = axes.iter().filter(|axis| is_own(axis)).cloned().collect();
    let rows = combinations(&own, false)?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let labels: Vec<String> =
                own.iter().zip(&row).map(|(axis, &pick)| format!("{}={}", axis.name, axis.labels[pick])).collect();
            let mut own_picks = row.into_iter();
            let pick = |axis: &AlternativeAxis| {
                if is_own(axis) {
                    own_picks.next().unwrap_or(0)
                } else {
                    control_picks.get(&axis.name).copied().unwrap_or(0)
                }
            };
            (labels.join(","), axes.iter().map(pick).collect())
        })
        .collect())
}
