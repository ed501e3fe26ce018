//! What must be refused: what the signature tells by itself, and what op.yaml adds.

use std::collections::{BTreeMap, HashSet};

use onnx_conformance_reference::spec::OpSpec;

use crate::case::{Case, DataSet, Level, Refusal, RuleRef};
use crate::generate::choice::AlternativeAxis;
use crate::generate::instance::{CaseAtVersion, NodeDraft, combinations};
use crate::generate::model::{Declared, single_node_model};
use crate::generate::operator::{CaseFile, OperatorFile, RefusalFile};
use crate::generate::operators::GenerateError;
use crate::generate::signature;
use crate::generate::version::{Planned, VersionContext};
use crate::generate::violation::{Violation, apply};

/// A refusal that is planned but not made.
pub(super) struct PlannedRefusal {
    pub(super) id: String,
    pub(super) rule: String,
    pub(super) level: Level,
    /// The position of the control among the planned cases.
    pub(super) control: usize,
    pub(super) violation: Violation,
}

/// The refusals of a version: what its signature excludes, and what the file adds, against the controls that it names.
pub(super) fn planned(
    version: &VersionContext<'_>,
    cases: &[Planned<'_>],
) -> Result<Vec<PlannedRefusal>, GenerateError> {
    let mut refusals = signature::refusals(version.spec, cases);
    for file in version.file.refuse.iter().filter(|file| file.covers(version.spec.version.since)) {
        let Some(control) = cases.iter().position(|planned| planned.case.name == file.control) else { continue };
        let case = broken(cases[control].case, file);
        let Ok(fitted) = CaseAtVersion::incomplete(version.file, &case, version.spec) else { continue };
        let alternatives =
            alternatives(file, &fitted, &cases[control]).map_err(|message| version.at(&file.name, message))?;
        for (label, choices) in alternatives {
            refusals.push(PlannedRefusal {
                id: if label.is_empty() { file.name.clone() } else { format!("{}/{label}", file.name) },
                rule: version.file.constraints.get(&file.constraint).cloned().unwrap_or_default(),
                level: file.level,
                control,
                violation: Violation::Written { name: file.name.clone(), choices },
            });
        }
    }
    let prefix = format!("{}/refuse", version.spec.version.qualified());
    let mut ids = HashSet::new();
    for refusal in &mut refusals {
        refusal.id = format!("{prefix}/{}", refusal.id);
        if !ids.insert(refusal.id.clone()) {
            let message = format!("two refusals have the id {}", refusal.id);
            return Err(match &refusal.violation {
                Violation::Written { name, .. } => version.at(name, message),
                _ => GenerateError::Refused { id: refusal.id.clone(), reason: message },
            });
        }
    }
    Ok(refusals)
}

/// Why a refusal fits none of these versions, the first of them; nothing if it fits any.
pub(super) fn reason_not_applicable(
    file: &OperatorFile,
    refusal: &RefusalFile,
    versions: &[&OpSpec],
) -> Option<String> {
    let mut first = None;
    let control = file.cases.iter().find(|case| case.name == refusal.control)?;
    let case = broken(control, refusal);
    let known = |name: &String| control.inputs.get(name).is_some() || control.set.get(name).is_some();
    let unknown = |name: &&String| {
        !known(name) && !control.bind.0.iter().any(|(_, how)| how.strip_prefix("attribute ") == Some(name.as_str()))
    };
    if let Some(name) = refusal.without.iter().find(unknown) {
        return Some(format!("its control gives no '{name}' to leave out"));
    }
    for spec in versions.iter().filter(|spec| refusal.covers(spec.version.since)) {
        let fits = CaseAtVersion::new(file, control, spec).and_then(|_| CaseAtVersion::incomplete(file, &case, spec));
        first.get_or_insert(fits.err()?);
    }
    first.or_else(|| Some("since and until leave none of the versions".to_owned()))
}

/// What the alternatives of a refusal are called, and which alternative of each axis they are. Alternatives that the
/// control alone has are as in the control.
fn alternatives(
    file: &RefusalFile,
    fitted: &CaseAtVersion<'_>,
    control: &Planned<'_>,
) -> Result<Vec<(String, Vec<usize>)>, String> {
    let of_control: BTreeMap<String, usize> =
        control.fitted.axes().into_iter().map(|axis| axis.name).zip(control.instance.choices.iter().copied()).collect();
    let is_own = |axis: &AlternativeAxis| {
        let mut names = file.inputs.keys().chain(file.set.keys());
        names.any(|name| axis.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let axes = fitted.axes();
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
                    of_control.get(&axis.name).copied().unwrap_or(0)
                }
            };
            (labels.join(","), axes.iter().map(pick).collect())
        })
        .collect())
}

/// The control case with what a refusal writes in its place, and without what it leaves out.
pub(super) fn broken(case: &CaseFile, file: &RefusalFile) -> CaseFile {
    let mut case = case.clone();
    for (name, input) in &file.inputs.0 {
        case.inputs.0.retain(|(other, _)| other != name);
        case.inputs.0.push((name.clone(), input.clone()));
    }
    for (name, setting) in &file.set.0 {
        case.set.0.retain(|(other, _)| other != name);
        case.set.0.push((name.clone(), setting.clone()));
    }
    case.inputs.0.retain(|(name, _)| !file.without.contains(name));
    case.set.0.retain(|(name, _)| !file.without.contains(name));
    case.bind
        .0
        .retain(|(_, how)| !how.strip_prefix("attribute ").is_some_and(|name| file.without.iter().any(|w| w == name)));
    case.request = file.request.clone().or(case.request);
    case
}

/// Makes a planned refusal.
pub(super) fn make(
    version: &VersionContext<'_>,
    cases: &[Planned<'_>],
    refusal: &PlannedRefusal,
) -> Result<Case, GenerateError> {
    let nothing = || GenerateError::Refused { id: refusal.id.clone(), reason: "it has no control".to_owned() };
    let planned = cases.get(refusal.control).ok_or_else(nothing)?;
    let control = version.make(planned)?;
    let mut parts = version.parts(planned)?;
    let mut outputs: Vec<Declared> = control.data.iter().flat_map(|data| &data.outputs).map(declared).collect();
    if let Violation::Written { name, choices } = &refusal.violation {
        parts = written(version, planned, name, choices)?;
        let more = version.guess_outputs(planned, &parts);
        outputs.retain(|output| parts.output_names.contains(&output.name));
        outputs.extend(more.into_iter().filter(|more| !control.data.iter().any(|data| has_output(data, &more.name))));
    }
    apply(version.spec, &refusal.violation, &mut parts);
    Ok(Case {
        id: refusal.id.clone(),
        model: single_node_model(version.spec, planned.opset, &parts, &outputs),
        folder: None,
        data: vec![DataSet { inputs: parts.inputs, outputs: Vec::new() }],
        refusal: Some(Refusal { rule: refusal.rule.clone(), control: Box::new(control) }),
        level: version.level(refusal.level),
        evidence: Vec::new(),
        judged: None,
        rule: broken_rule(version, &refusal.violation),
    })
}

/// The constraint of op.yaml that a violation breaks; none for what the signature excludes.
fn broken_rule(version: &VersionContext<'_>, violation: &Violation) -> Option<RuleRef> {
    let Violation::Written { name, .. } = violation else { return None };
    let file = version.file.refuse.iter().find(|file| file.name == *name)?;
    version.operators.rule(&version.spec.version, &file.constraint)
}

fn declared(output: &crate::case::ExpectedOutput) -> Declared {
    let (value_type, shape) = output.expected.declared();
    Declared { name: output.name.clone(), value_type, shape }
}

fn has_output(data: &DataSet, name: &str) -> bool {
    data.outputs.iter().any(|output| output.name == name)
}

/// The node of a refusal of op.yaml.
fn written(
    version: &VersionContext<'_>,
    planned: &Planned<'_>,
    name: &str,
    choices: &[usize],
) -> Result<NodeDraft, GenerateError> {
    let wrong = |message: &str| version.at(name, message.to_owned());
    let file = version.file.refuse.iter().find(|file| file.name == name).ok_or_else(|| wrong("is not there"))?;
    let case = broken(planned.case, file);
    let fitted =
        CaseAtVersion::incomplete(version.file, &case, version.spec).map_err(|reason| version.at(name, reason))?;
    let seed = format!("{}/refuse/{name}", version.spec.version.qualified());
    fitted
        .parts(choices, &planned.instance.types, Some(&seed))
        .map_err(|message| version.at(name, message))?
        .ok_or_else(|| wrong("its types cannot hold its values"))
}
