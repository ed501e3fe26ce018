//! Check of traps: every version of a trap has one of its cases, with outputs by hand.

use std::collections::BTreeSet;

use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::spec::yaml::YamlError;

use crate::generate::file::op_file::{CaseFile, OperatorFile};
use crate::generate::file::trap::{TrapFile, place};
use crate::generate::file::yaml_text::YamlText;
use crate::generate::plan::concrete::ConcreteCases;
use crate::generate::plan::fit::CaseAtVersion;

/// Checks that each trap applies to some version, and that each of its versions has one of its cases. Every case of the
/// trap must be made in one of these versions and have outputs by hand.
pub(crate) fn check(source: YamlText<'_>, file: &OperatorFile, specs: &[&OpSpec]) -> Result<(), Box<YamlError>> {
    for (number, trap) in file.traps.iter().enumerate() {
        check_one(file, trap, specs).map_err(|Mistake { word, message, help }| {
            source.error(place(source.text, number, &word), message, Some(help))
        })?;
    }
    Ok(())
}

/// A mistake in a trap, and the word to point at.
struct Mistake {
    word: String,
    message: String,
    help: String,
}

fn check_one(file: &OperatorFile, trap: &TrapFile, specs: &[&OpSpec]) -> Result<(), Mistake> {
    let mistake = |word: &str, message: String, help: String| Mistake { word: word.to_owned(), message, help };
    let covered: Vec<&OpSpec> = specs.iter().copied().filter(|spec| trap.covers(spec.version.since)).collect();
    if covered.is_empty() {
        let sinces: BTreeSet<u32> = specs.iter().map(|spec| spec.version.since).collect();
        let help = format!("since and until exclude all versions: {sinces:?}");
        return Err(mistake("since", format!("the trap applies to no version of {}", file.op), help));
    }
    let mut shown = BTreeSet::new();
    for name in &trap.cases {
        let Some(case) = file.cases.iter().find(|case| case.name == *name) else {
            let help = "it lists cases of the file, or of the recipes that it uses".to_owned();
            return Err(mistake(name, format!("the trap names the case '{name}', which does not exist"), help));
        };
        if !case.outputs.0.iter().any(|(_, output)| output.is_by_hand()) {
            let help = "write its outputs under `outputs`, or name a case that has them".to_owned();
            return Err(mistake(name, format!("the case '{name}' has no outputs written by hand"), help));
        }
        let made: Vec<u32> =
            covered.iter().filter(|spec| is_made(file, case, spec)).map(|spec| spec.version.since).collect();
        if made.is_empty() {
            let help = "correct since and until of the trap, or remove the name".to_owned();
            return Err(mistake(name, format!("the case '{name}' applies to no version of the trap"), help));
        }
        shown.extend(made);
    }
    match covered.iter().find(|spec| !shown.contains(&spec.version.since)) {
        None => Ok(()),
        Some(spec) => {
            let help = "name a case of that version, or correct since and until".to_owned();
            Err(mistake("cases", format!("no case shows the trap in {}-{}", file.op, spec.version.since), help))
        }
    }
}

/// Returns true if a case is made in a version, with any alternative and types.
fn is_made(file: &OperatorFile, case: &CaseFile, spec: &OpSpec) -> bool {
    let case_at_version = CaseAtVersion::new(file, case, spec);
    case_at_version.is_ok_and(|case_at_version| {
        ConcreteCases::new(&case_at_version).and_then(ConcreteCases::cases).is_ok_and(|cases| !cases.is_empty())
    })
}
