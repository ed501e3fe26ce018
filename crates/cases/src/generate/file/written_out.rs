//! Expansion of the shorthands of op.yaml: cases are moved out of constraints, `given` blocks into cases, type groups
//! become types.

use std::collections::BTreeSet;

use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{Changes, MeaningChange, OperatorVersion};

use crate::case::{Level, TextRange};
use crate::generate::file::anchors::first_anchor;
use crate::generate::file::op_file::{CaseFile, ConstraintFile, GivenFile, OperatorFile, RefusalFile, RuleOf};
use crate::generate::file::ordered::Ordered;
use crate::generate::file::since::Since;
use crate::generate::file::type_list::{TypeGroups, UnknownType};
use crate::generate::file::yaml_text::YamlText;

/// Id of the rule that the formula of an operator is, or its summary if it has no formula.
const FORMULA: &str = "formula";

/// Error of expanding the shorthands of a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExpansionError {
    /// `until` is given with ranges of versions.
    #[error("`until` cannot be combined with ranges in `since`, which have their own ends")]
    UntilWithRanges,
    /// A case uses a block of `given` that does not exist.
    #[error("`given` has no '{name}', only {}", .known.join(", "))]
    UnknownBlock {
        /// The name of the block.
        name: String,
        /// The names of all blocks.
        known: Vec<String>,
    },
    /// The operator does not have the parameter at a position that a recipe names.
    #[error("{version} has no {kind} at the position '{name}' of the recipe")]
    NoParameter {
        /// The newest version of the operator.
        version: OperatorVersion,
        /// The kind of parameter: `input` or `output`.
        kind: &'static str,
        /// The name in the recipe, such as `$1`.
        name: String,
    },
    /// A list of types is invalid.
    #[error(transparent)]
    Type(#[from] UnknownType),
}

/// Refuses anchors and aliases: shared parts of cases have names under `given`.
pub(crate) fn refuse_anchors(source: YamlText<'_>) -> Result<(), Box<YamlError>> {
    match first_anchor(source.text) {
        None => Ok(()),
        Some(place) => {
            let message = "YAML anchors and aliases are not supported here".to_owned();
            let help = "write shared parts under `given`, and `given: NAME` in the cases".to_owned();
            Err(source.error(place, message, Some(help)))
        }
    }
}

/// Moves the cases and refusals of the constraints after those of the file, and shared parts into the cases.
pub(crate) fn expand_shorthands(
    source: YamlText<'_>,
    mut file: OperatorFile,
    groups: &TypeGroups,
) -> Result<OperatorFile, Box<YamlError>> {
    for case in &mut file.cases {
        case.constraint = Some(FORMULA.to_owned());
    }
    for (id, constraint) in &mut file.constraints.0 {
        constraint.line = line_of(source.text, id);
        if let Some(rule_of) = constraint.rule_of {
            constraint.says = sentence(&file.changes, rule_of, &constraint.cases).map_err(|message| {
                let help = Some("write the sentence under `says`, or correct the version".to_owned());
                source.error((constraint.line.unwrap_or(1), 3), format!("{id}: {message}"), help)
            })?;
        }
        file.cases.extend(std::mem::take(&mut constraint.cases).into_iter().map(|mut case| {
            case.constraint = Some(id.clone());
            case
        }));
        file.refuse.extend(std::mem::take(&mut constraint.refuse).into_iter().map(|mut refusal| {
            refusal.constraint = Some(id.clone());
            refusal
        }));
    }
    if file.cases.iter().any(|case| case.constraint.as_deref() == Some(FORMULA)) {
        let says = [&file.formula, &file.summary].into_iter().find(|text| !text.is_empty()).cloned();
        let line = line_of(source.text, FORMULA).or_else(|| line_of(source.text, "summary"));
        let rule = ConstraintFile { says: says.unwrap_or_default(), line, ..ConstraintFile::default() };
        file.constraints.0.insert(0, (FORMULA.to_owned(), rule));
    }
    for case in &mut file.cases {
        check_use(source, case)?;
        check_since(case.since.as_ref(), case.until)
            .and_then(|()| insert_given(case, &file.given))
            .and_then(|()| Ok(resolve(case, groups)?))
            .map_err(|error| source.error_at_case(&case.name, error.to_string(), None))?;
    }
    for case in &file.cases {
        check_why(source, &case.name, case.level, [&case.why, &case.note])?;
    }
    for refusal in &file.refuse {
        check_why(source, &refusal.name, refusal.level, [&refusal.why, &refusal.note])?;
        check_since(refusal.since.as_ref(), refusal.until)
            .map_err(|error| source.error_at_case(&refusal.name, error.to_string(), None))?;
    }
    check_names(source, "refusal", file.refuse.iter().map(|refusal| refusal.name.as_str()))?;
    let is_used = |name: &&str| file.cases.iter().any(|case| case.given.0.iter().any(|other| other == *name));
    if let Some(name) = file.given.keys().find(|name| !is_used(name)) {
        let place = (line_of(source.text, name).unwrap_or(1), 1);
        let help = Some("remove it, or name it under `given` in a case".to_owned());
        return Err(source.error(place, format!("no case uses '{name}' of `given`"), help));
    }
    Ok(file)
}

/// Gives cases and refusals the texts of their rule, unless they have their own, and checks that texts decide each level.
pub(crate) fn inherit_texts(source: YamlText<'_>, file: &mut OperatorFile) -> Result<(), Box<YamlError>> {
    let OperatorFile { cases, refuse, constraints, .. } = file;
    let inherit =
        |name: &str, constraint: Option<&str>, level: Level, text: &mut Option<TextRange>, reasons: [&String; 2]| {
            let rule = constraint.and_then(|id| constraints.get(id));
            let of_rule = rule.and_then(|rule| rule.text).filter(|_| level != Level::Open);
            check_text(source, name, level, *text)?;
            *text = text.or(of_rule);
            let has_reason =
                reasons.iter().any(|reason| !reason.is_empty()) || rule.is_some_and(|rule| !rule.note.is_empty());
            if text.is_some() && !has_reason {
                let help = "add `why`: what the other texts say, and why they leave the case open";
                let message = format!("'{name}' is open by some texts without a reason");
                return Err(source.error_at_case(name, message, Some(help.to_owned())));
            }
            Ok(())
        };
    for case in cases {
        let CaseFile { name, constraint, level, text, why, note, .. } = case;
        inherit(name, constraint.as_deref(), *level, text, [why, note])?;
    }
    for refusal in refuse {
        let RefusalFile { name, constraint, level, text, why, note, .. } = refusal;
        inherit(name, constraint.as_deref(), *level, text, [why, note])?;
    }
    Ok(())
}

/// Checks that a case whose level some texts decide is not open by all of them.
fn check_text(source: YamlText<'_>, name: &str, level: Level, text: Option<TextRange>) -> Result<(), Box<YamlError>> {
    if text.is_none() || level != Level::Open {
        return Ok(());
    }
    let help = "omit `text`, or write the level that these texts decide; by other texts the case is open";
    Err(source.error_at_case(
        name,
        format!("'{name}' is open by every text, so `text` decides nothing"),
        Some(help.to_owned()),
    ))
}

/// Checks that a level below required has a reason.
fn check_why(source: YamlText<'_>, name: &str, level: Level, reasons: [&String; 2]) -> Result<(), Box<YamlError>> {
    if level == Level::Required || reasons.iter().any(|reason| !reason.is_empty()) {
        return Ok(());
    }
    let help = "add `why`: the sentence of the text that is missing or ambiguous, or what else a runtime may do";
    Err(source.error_at_case(name, format!("'{name}' is {level} without a reason"), Some(help.to_owned())))
}

/// Returns the sentence of a change of meaning that is a rule. Of several changes, it is the one that names one of these
/// cases.
fn sentence(changes: &Changes, rule_of: RuleOf, cases: &[CaseFile]) -> Result<String, String> {
    let (RuleOf::From(since) | RuleOf::Before(since)) = rule_of;
    let written = |change: &MeaningChange| match rule_of {
        RuleOf::From(_) => Some(format!("from version {since} on: {}", change.says.trim_end_matches('.'))),
        RuleOf::Before(_) => change.was.as_ref().map(|was| format!("below version {since}: {was}")),
    };
    let of_version = changes.0.get(&since).map_or(&[][..], Vec::as_slice);
    let names = |change: &MeaningChange| cases.iter().any(|case| change.cases.contains(&case.name));
    let mut found: Vec<(&MeaningChange, String)> =
        of_version.iter().filter_map(|change| Some((change, written(change)?))).collect();
    if found.len() > 1 {
        found.retain(|(change, _)| names(change));
    }
    match found.as_slice() {
        [(_, sentence)] => Ok(sentence.clone()),
        [] => Err(format!("`changes` has no such change at version {since}")),
        _ => Err(format!("several changes at version {since} name its cases")),
    }
}

/// Resolves the type lists of a case.
pub(crate) fn resolve(case: &mut CaseFile, groups: &TypeGroups) -> Result<(), UnknownType> {
    let lists = case.only.0.iter_mut().chain(&mut case.except.0);
    lists.map(|(_, list)| list).try_for_each(|list| list.resolve(groups))
}

/// Returns the number, counted from 1, of the line that begins with a key.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let is_key = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    text.lines().position(is_key).map(|at| at + 1)
}

/// Checks that a case has a name, or uses recipes and has no other key.
fn check_use(source: YamlText<'_>, case: &CaseFile) -> Result<(), Box<YamlError>> {
    let name = case.uses.first().map_or(case.name.as_str(), String::as_str);
    let at = |message: String, help: &str| {
        let mut lines = source.text.lines();
        let line = lines.position(|line| line.contains("use:") && line.contains(name)).map_or(1, |at| at + 1);
        Err(source.error((line, 1), message, Some(help.to_owned())))
    };
    let empty = CaseFile { uses: case.uses.clone(), constraint: case.constraint.clone(), ..CaseFile::default() };
    match case.uses.is_empty() {
        true if case.name.is_empty() => at("a case has no name".to_owned(), "add `name`, or `use` with recipes"),
        false if *case != empty => {
            at(format!("a case that uses '{name}' has other keys"), "`use` must be the only key; write a separate case")
        }
        _ => Ok(()),
    }
}

fn check_names<'a>(
    source: YamlText<'a>,
    kind: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), Box<YamlError>> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let place = source.places(name).last().unwrap_or((1, 1));
            let help = "names become part of ids, so each must be unique".to_owned();
            return Err(source.error(place, format!("duplicate {kind} '{name}'"), Some(help)));
        }
    }
    Ok(())
}

/// Checks that `until` is not given with ranges, which have their own ends.
fn check_since(since: Option<&Since>, until: Option<u32>) -> Result<(), ExpansionError> {
    match (since, until) {
        (Some(Since::Ranges(_)), Some(_)) => Err(ExpansionError::UntilWithRanges),
        _ => Ok(()),
    }
}

/// Adds the entries of the blocks before those of the case. The case's own entry replaces one of the same name.
fn insert_given(case: &mut CaseFile, blocks: &Ordered<GivenFile>) -> Result<(), ExpansionError> {
    let mut given = GivenFile::default();
    for name in &case.given.0 {
        let Some(block) = blocks.get(name) else {
            let known = blocks.keys().map(str::to_owned).collect();
            return Err(ExpansionError::UnknownBlock { name: name.clone(), known });
        };
        merge(&mut given.names, &block.names);
        merge(&mut given.inputs, &block.inputs);
        merge(&mut given.captured, &block.captured);
        merge(&mut given.set, &block.set);
        merge(&mut given.only, &block.only);
        merge(&mut given.except, &block.except);
        merge(&mut given.outputs, &block.outputs);
        given.nodes = block.nodes.clone().or(given.nodes);
        given.accuracy = block.accuracy.clone().or(given.accuracy);
    }
    prepend(&mut case.names, given.names);
    prepend(&mut case.inputs, given.inputs);
    prepend(&mut case.captured, given.captured);
    prepend(&mut case.set, given.set);
    prepend(&mut case.only, given.only);
    prepend(&mut case.except, given.except);
    prepend(&mut case.outputs, given.outputs);
    case.nodes = case.nodes.take().or(given.nodes);
    case.accuracy = case.accuracy.take().or(given.accuracy);
    Ok(())
}

fn merge<V: Clone>(all: &mut Ordered<V>, more: &Ordered<V>) {
    for (name, value) in &more.0 {
        match all.0.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value.clone(),
            None => all.0.push((name.clone(), value.clone())),
        }
    }
}

fn prepend<V: Clone>(own: &mut Ordered<V>, mut given: Ordered<V>) {
    if !given.0.is_empty() {
        merge(&mut given, own);
        *own = given;
    }
}
