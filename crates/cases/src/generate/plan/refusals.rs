//! Planned refusals, from the signature and from op.yaml.

use std::collections::HashSet;

use crate::case::{Level, RefusalKind, TextRange};
use crate::generate::plan::catalog::GenerateError;
use crate::generate::plan::error::PlanError;
use crate::generate::plan::fit::CaseAtVersion;
use crate::generate::plan::node_plan::NodePlan;
use crate::generate::plan::refusal_fit::alternatives;
use crate::generate::plan::signature_refusals::{SignatureRefusal, SignatureRefusals};
use crate::generate::plan::version::{PlannedCase, VersionContext};

/// A refusal that is planned but not made.
#[derive(Debug)]
pub(crate) struct PlannedRefusal {
    pub(crate) id: String,
    pub(crate) rule: String,
    /// The kind, which the id shows.
    pub(crate) kind: RefusalKind,
    /// The broken constraint; `None` for a refusal from the signature.
    pub(crate) constraint: Option<String>,
    pub(crate) level: Level,
    /// The releases whose texts decide the level, unless all do.
    pub(crate) text: Option<TextRange>,
    pub(crate) why: String,
    pub(crate) note: String,
    /// True if only a run shows the violation, and not the model. Checkers are not asked about such a case.
    pub(crate) only_at_run_time: bool,
    /// The position of the control among the planned cases.
    pub(crate) control: usize,
    /// The node that breaks the rule.
    pub(crate) node: NodePlan,
    /// The name in op.yaml; `None` for a refusal from the signature.
    pub(crate) name: Option<String>,
}

/// Plans the refusals of a version: those from its signature, and those of the file with their controls.
pub(crate) fn refusals(
    version: &VersionContext<'_>,
    cases: &[PlannedCase<'_>],
) -> Result<Vec<PlannedRefusal>, GenerateError> {
    let of_signature = SignatureRefusals::find(version.spec, cases).into_iter();
    let mut refusals: Vec<PlannedRefusal> =
        of_signature.filter_map(|refusal| broken_signature(version, cases, refusal)).collect();
    add_refusals_of_file(version, cases, &mut refusals)?;
    let prefix = format!("{}/refuse", version.spec.version.qualified());
    let mut ids = HashSet::new();
    for refusal in &mut refusals {
        let shown = RefusalKind::from_name(&refusal.id);
        refusal.id = format!("{prefix}/{}", refusal.id);
        let mistake = if shown == refusal.kind {
            let is_new = ids.insert(refusal.id.clone());
            (!is_new).then(|| format!("two refusals have the id {}", refusal.id))
        } else {
            let (shown, kind) = (shown.words(), refusal.kind.words());
            Some(format!("by its id, {shown}, but {kind}; rename the refusal {}", refusal.id))
        };
        if let Some(message) = mistake {
            return Err(match &refusal.name {
                Some(name) => version.at(name, message),
                None => GenerateError::Refused { id: refusal.id.clone(), reason: message },
            });
        }
    }
    Ok(refusals)
}

fn broken_signature(
    version: &VersionContext<'_>,
    cases: &[PlannedCase<'_>],
    refusal: SignatureRefusal,
) -> Option<PlannedRefusal> {
    let SignatureRefusal { id, rule, control, violation } = refusal;
    let (level, kind) = (violation.level(), violation.kind());
    let mut node = (*cases.get(control)?.instance.node).clone();
    violation.apply(version.spec, &mut node);
    let (why, note) = (violation.why().to_owned(), String::new());
    Some(PlannedRefusal {
        id,
        rule,
        kind,
        constraint: None,
        level,
        text: None,
        why,
        note,
        only_at_run_time: false,
        control,
        node,
        name: None,
    })
}

/// Adds the refusals of op.yaml.
fn add_refusals_of_file(
    version: &VersionContext<'_>,
    cases: &[PlannedCase<'_>],
    refusals: &mut Vec<PlannedRefusal>,
) -> Result<(), GenerateError> {
    for file in version.file.refuse.iter().filter(|file| file.covers(version.spec.version.since)) {
        let found = cases.iter().enumerate().find(|(_, planned)| planned.case.name == file.control);
        let Some((control, planned)) = found else { continue };
        let case = planned.case.control_with_violation(file);
        let Ok(case_at_version) = CaseAtVersion::incomplete(version.file, &case, version.spec) else { continue };
        let error = |error: PlanError| version.at(&file.name, error);
        let rule = version.rule(file.constraint.as_deref()).map_or_else(|| in_words(&file.name), |rule| rule.says);
        let alternatives = alternatives(file, &case_at_version, &planned.case_at_version, &planned.instance.choices)
            .map_err(|alternative| error(alternative.into()))?;
        for (label, choices) in alternatives {
            let node = NodePlan::new(&case_at_version, &choices, &planned.instance.types).map_err(error)?;
            refusals.push(PlannedRefusal {
                id: if label.is_empty() { file.name.clone() } else { format!("{}/{label}", file.name) },
                rule: rule.clone(),
                kind: RefusalKind::Sentence,
                constraint: file.constraint.clone(),
                level: file.level,
                text: file.text,
                why: file.why.clone(),
                note: file.note.clone(),
                only_at_run_time: file.only_at_run_time,
                control,
                node: node.ok_or_else(|| error(PlanError::OutOfRange))?,
                name: Some(file.name.clone()),
            });
        }
    }
    Ok(())
}

/// Formats a name as words, for a refusal that breaks no rule of the file.
fn in_words(name: &str) -> String {
    name.replace('_', " ")
}
