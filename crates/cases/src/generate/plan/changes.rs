//! Check of the changes of meaning: each has a case that shows it, with outputs by hand.

use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{Changes, MeaningChange, OpSpec};

use crate::generate::file::op_file::{CaseFile, OperatorFile};
use crate::generate::file::yaml_text::YamlText;
use crate::generate::plan::concrete::ConcreteCases;
use crate::generate::plan::fit::CaseAtVersion;

/// Checks that each change is one of an existing version, and that a case shows it. Every case that it names must have
/// outputs by hand and be made in the version or in the one before.
pub(crate) fn check(source: YamlText<'_>, file: &OperatorFile, newest_first: &[&OpSpec]) -> Result<(), Box<YamlError>> {
    for (since, changes) in &file.changes.0 {
        let pair = newest_first.windows(2).find(|pair| pair[0].version.since == *since);
        for (number, change) in changes.iter().enumerate() {
            check_one(file, change, pair).map_err(|Mistake { word, message, help }| {
                source.error(Changes::place(source.text, *since, number, &word), message, Some(help))
            })?;
        }
    }
    Ok(())
}

/// A mistake in a change, and the word to point at.
struct Mistake {
    word: String,
    message: String,
    help: String,
}

fn check_one(file: &OperatorFile, change: &MeaningChange, pair: Option<&[&OpSpec]>) -> Result<(), Mistake> {
    let mistake = |word: &str, message: String, help: String| Mistake { word: word.to_owned(), message, help };
    let Some(&[later, earlier]) = pair else {
        let help = "a change belongs to a version that follows another one".to_owned();
        return Err(mistake("says", format!("{} has no such version with one before it", file.op), help));
    };
    let mut is_shown = later.deprecated;
    for name in &change.cases {
        let Some(case) = file.cases.iter().find(|case| case.name == *name) else {
            let help = "it lists cases of the file, or of the recipes that it uses".to_owned();
            return Err(mistake(name, format!("the change names the case '{name}', which does not exist"), help));
        };
        if !case.outputs.0.iter().any(|(_, output)| output.is_by_hand()) {
            let help = "write its outputs under `outputs`, or name a case that has them".to_owned();
            return Err(mistake(name, format!("the case '{name}' has no outputs written by hand"), help));
        }
        let is_made_later = is_made(file, case, later);
        if !is_made_later && !is_made(file, case, earlier) {
            let help = "name a case of one of them".to_owned();
            let versions = format!("{} and {}", earlier.version, later.version);
            return Err(mistake(name, format!("the case '{name}' applies to neither {versions}"), help));
        }
        is_shown |= is_made_later;
    }
    for silent in &change.silent {
        let sides = [earlier, later].map(|spec| format!("{}/", spec.version.qualified()));
        let name = sides.iter().find_map(|side| silent.example.strip_prefix(side.as_str())?.split('/').next());
        if !name.is_some_and(|name| file.cases.iter().any(|case| case.name == name)) {
            let help = format!("write the id of a case, which begins with {} or {}", sides[0], sides[1]);
            let message = format!("the example '{}' is no case of the two versions", silent.example);
            return Err(mistake("example", message, help));
        }
        is_shown = true;
    }
    if is_shown {
        return Ok(());
    }
    let help = format!("name a case of {} under `cases`, or the example of a silent change", later.version);
    Err(mistake("says", format!("no case shows the change in {}", later.version), help))
}

/// Returns true if a case is made in a version, with any alternative and types.
fn is_made(file: &OperatorFile, case: &CaseFile, spec: &OpSpec) -> bool {
    let case_at_version = CaseAtVersion::new(file, case, spec);
    case_at_version.is_ok_and(|case_at_version| {
        ConcreteCases::new(&case_at_version).and_then(ConcreteCases::cases).is_ok_and(|cases| !cases.is_empty())
    })
}
