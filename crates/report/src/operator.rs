//! An operator version as terminal text, with the content of its site page.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use onnx_conformance_cases::generate::{ConstraintFile, GenerateError, OperatorCatalog, OperatorFile, RuleOf};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::findings::{FindingError, Findings};
use onnx_conformance_reference::spec::diff::{self, DiffError};
use onnx_conformance_reference::spec::{FormalParameter, LookupError, OpSpec, OperatorVersion, Specs};

use crate::colours::{BAD, BOLD, DIM, GOOD, NOTE, UNSURE};
use crate::signature;
use crate::site::{Column, Levels, VersionTable, colour_of, letter_of, states, words_of};

/// An error while describing an operator version.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// The version does not exist.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Two versions cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The op.yaml cannot be read.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// A findings file is invalid.
    #[error(transparent)]
    Findings(#[from] FindingError),
}

/// Describes an operator version in colour: signature, types per version, results of the runtimes of these columns, changes,
/// rules, cases, findings.
pub fn describe(version: &OperatorVersion, columns: &[Column]) -> Result<String, DescribeError> {
    let specs = Specs::embedded();
    let sinces: Vec<u32> = specs.versions(&version.domain, &version.name).collect();
    let of_since =
        |since: &u32| VersionTable::new(&OperatorVersion::new(&version.domain, &version.name, *since), columns);
    let tables: Vec<VersionTable> = sinces.iter().map(of_since).collect::<Result<_, LookupError>>()?;
    let file = OperatorCatalog::shared().get(version)?;
    let mut text = head(version, file)?;
    if let Some(table) = tables.iter().find(|table| table.version.since == version.since) {
        parameters(&mut text, table.spec);
        measured(&mut text, table, columns);
        types(&mut text, &tables, columns);
        changes(&mut text, version, &sinces)?;
        rules(&mut text, version, file);
        shares(&mut text, version, columns);
        cases(&mut text, table);
    }
    findings(&mut text, version)?;
    Ok(text)
}

pub(crate) fn head(version: &OperatorVersion, file: &OperatorFile) -> Result<String, DescribeError> {
    let specs = Specs::embedded();
    let (spec, opsets) = (specs.get(version)?, specs.opsets(version)?);
    let mut notes = vec![if opsets.start() == opsets.end() {
        format!("opset {}", opsets.start())
    } else {
        format!("opsets {} to {}", opsets.start(), opsets.end())
    }];
    notes.extend(
        specs
            .releases()
            .ok()
            .and_then(|all| all.first_with(&version.domain, version.since))
            .map(|it| format!("since ONNX {}", it.onnx)),
    );
    notes.push(format!("shape inference {}", if spec.shape_inference { "yes" } else { "no" }));
    notes.extend(spec.function.map(|kind| format!("function: {kind}")));
    notes.extend(spec.deprecated.then(|| "deprecated".to_owned()));
    notes.extend(spec.experimental.then(|| "experimental".to_owned()));
    Ok(format!(
        "{BOLD}{}{BOLD:#}: {}\n{}\n\n  {}\n",
        version.qualified(),
        notes.join(", "),
        line(&file.summary),
        signature::line(spec)
    ))
}

/// Adds the attributes, inputs and outputs.
pub(crate) fn parameters(text: &mut String, spec: &OpSpec) {
    let attributes = spec.attributes.iter().map(|(name, it)| {
        let rest = match (&it.default, it.required) {
            (Some(default), _) => format!("default {default}"),
            (None, true) => "required".to_owned(),
            (None, false) => "no default".to_owned(),
        };
        let values = spec.facts.values(name);
        let rest = if values.is_empty() { rest } else { format!("{rest}; {}", values.join(", ")) };
        [name.clone(), it.kind.to_string(), rest]
    });
    section(text, "attributes", &attributes.collect::<Vec<_>>());
    let formals = |formals: &[FormalParameter]| {
        let row =
            |formal: &FormalParameter| [formal.name.clone(), formal.kind.to_string(), formal.presence.to_string()];
        formals.iter().map(row).collect::<Vec<_>>()
    };
    section(text, "inputs", &formals(&spec.inputs));
    section(text, "outputs", &formals(&spec.outputs));
}

/// Adds rows in columns under a title; nothing if there are no rows.
pub(crate) fn section<const N: usize>(text: &mut String, title: &str, rows: &[[String; N]]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{BOLD}{title}{BOLD:#}");
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}

fn measured(text: &mut String, table: &VersionTable, columns: &[Column]) {
    let states = table.states(Levels::Required, columns.len());
    let row = |(column, state): (&Column, _)| {
        let colour = colour_of(state);
        [
            format!("{} {}", line(&column.runtime), line(&column.version)),
            format!("{colour}{}{colour:#}", words_of(state)),
        ]
    };
    section(text, "measured results, required cases", &columns.iter().zip(&states).map(row).collect::<Vec<_>>());
}

/// Adds a row per type of each type parameter. For each version it has a letter per runtime.
fn types(text: &mut String, tables: &[VersionTable], columns: &[Column]) {
    let width = columns.len().max(2);
    let mut rows = vec![[
        String::new(),
        tables.iter().map(|table| pad(&table.version.since.to_string(), width)).collect::<String>(),
    ]];
    let mut names: BTreeSet<(String, String)> = BTreeSet::new();
    for table in tables {
        names.extend(table.types().into_iter().flat_map(|(label, parameters)| {
            parameters.into_iter().map(move |parameter| (parameter.to_owned(), label.clone()))
        }));
    }
    for (parameter, label) in names {
        let cell = |table: &VersionTable| {
            let is_there = table.types().get(&label).is_some_and(|all| all.contains(&parameter.as_str()));
            if !is_there {
                return pad("", width);
            }
            let states = states(&table.cases_of(&parameter, &label), Levels::Required, columns.len());
            let letter = |state| {
                let colour = colour_of(state);
                format!("{colour}{}{colour:#}", letter_of(state))
            };
            let gap = pad("", width.saturating_sub(states.len()));
            states.iter().map(letter).chain([gap]).collect()
        };
        rows.push([format!("{parameter} {label}"), tables.iter().map(cell).collect()]);
    }
    let named: Vec<String> =
        columns.iter().map(|column| format!("{} {}", line(&column.runtime), line(&column.version))).collect();
    section(text, "types by version", &rows);
    let _ = writeln!(
        text,
        "  a letter each for {}:\n  {GOOD}r{GOOD:#} right, {GOOD}i{GOOD:#} inexact, {NOTE}p{NOTE:#} partly declined, {DIM}d{DIM:#} declined, \
         {UNSURE}a{UNSURE:#} accepts invalid models, {UNSURE}e{UNSURE:#} refuses valid models, \
         {UNSURE}s{UNSURE:#} wrong in special values,\n  {BAD}w{BAD:#} wrong, {BAD}c{BAD:#} crashes or hangs, \
         {DIM}n{DIM:#} opset not accepted, {DIM}o{DIM:#} recorded, {DIM}?{DIM:#} not measured",
        named.join(", ")
    );
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}  ")
}

/// Adds the changes since the previous version.
pub(crate) fn changes(text: &mut String, version: &OperatorVersion, sinces: &[u32]) -> Result<(), DescribeError> {
    let Some(before) = sinces.iter().rfind(|since| **since < version.since) else { return Ok(()) };
    let diff = diff::versions(Specs::embedded(), &version.domain, &version.name, *before, version.since)?;
    let _ = writeln!(text, "\nchanges since {}-{before}", version.name);
    if diff.changes.is_empty() {
        let _ = writeln!(text, "  nothing in signature or meaning");
    }
    for change in &diff.changes {
        let _ = writeln!(text, "  {}", line(&change.to_string()));
    }
    Ok(())
}

/// Adds the rules and the accuracy. A change of this version is already listed as a change, and a rule of other
/// versions is omitted.
fn rules(text: &mut String, version: &OperatorVersion, file: &OperatorFile) {
    let applies = |rule: &ConstraintFile| match rule.rule_of {
        None => true,
        Some(RuleOf::From(since)) => since < version.since,
        Some(RuleOf::Before(since)) => version.since < since,
    };
    let rules = file.constraints.0.iter().filter(|(_, rule)| applies(rule));
    let rules = rules.map(|(id, rule)| [id.clone(), line(&rule.says).into_owned()]);
    section(text, "rules", &rules.collect::<Vec<_>>());
    section(text, "accuracy", &file.accuracy.sentences().into_iter().map(|(of, rule)| [of, rule]).collect::<Vec<_>>());
}

/// Adds the shares of the error bounds that outputs take, by type, of the runtimes whose measurements have them.
fn shares(text: &mut String, version: &OperatorVersion, columns: &[Column]) {
    let mut rows = Vec::new();
    for column in columns {
        for used in column.accuracy.iter().flat_map(|accuracy| accuracy.by_type(version)) {
            let runtime = format!("{} {}", line(&column.runtime), line(&column.version));
            rows.push([runtime, used.element.to_string(), used.words()]);
        }
    }
    section(text, "measured accuracy, cases with an error bound", &rows);
}

/// Adds the behaviours with their case counts and types.
fn cases(text: &mut String, table: &VersionTable) {
    let mut rows = Vec::new();
    for (position, behaviour) in table.behaviours.iter().enumerate() {
        let of_it: Vec<_> = table.cases.iter().filter(|case| case.behaviour == position).collect();
        let types: BTreeSet<&str> =
            of_it.iter().filter_map(|case| case.types.first()).map(|(_, label)| label.as_str()).collect();
        let mut notes = vec![behaviour.level.to_string()];
        notes.extend(behaviour.is_edge.then(|| "special values".to_owned()));
        let types = if behaviour.is_refusal { String::new() } else { types.into_iter().collect::<Vec<_>>().join(" ") };
        rows.push([behaviour.name.clone(), of_it.len().to_string(), notes.join(", "), types]);
    }
    section(text, &format!("cases, `onnx-conformance run '{}/NAME*'`", table.version.qualified()), &rows);
}

fn findings(text: &mut String, version: &OperatorVersion) -> Result<(), DescribeError> {
    let about =
        Findings::embedded()?.about(version).map(|finding| [finding.full_id(), line(&finding.title).into_owned()]);
    section(text, "findings, `onnx-conformance show ID`", &about.collect::<Vec<_>>());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::compare::{BoundShare, UsedBound};
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{CaseResult, Header, Outcome, Read, Selected};
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_subject::Declaration;

    #[test]
    fn the_accuracy_of_a_runtime_is_described_by_type() {
        let bound = |element, share| CaseResult {
            bound: Some(UsedBound { element, ulps: Some(8), share }),
            ..result("ai.onnx/Softmax-13/rows/T=float", Outcome::Pass)
        };
        let [float, double] = [ElementType::Float, ElementType::Double];
        let results =
            vec![bound(float, BoundShare::Exact), bound(float, BoundShare::Eighth), bound(double, BoundShare::Exact)];
        let header = Header::new(Declaration::named("mine", "1"), "d".to_owned(), Selected::default());
        let column = Column::from_results("a.jsonl", &Read { header, results, is_torn: false }, "d");
        let text = describe(&OperatorVersion::new("ai.onnx", "Softmax", 13), &[column]).unwrap();
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected = "\nmeasured accuracy, cases with an error bound\n  mine 1  float   1 of 2 exact, the others within 1/8 of \
                        the bound\n  mine 1  double  all 1 exact\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_version_is_described_by_everything_that_is_known() {
        let columns = Column::committed().unwrap();
        let newest: Vec<Column> =
            columns.into_iter().filter(|column| ["1.32.0", "1.23.2"].contains(&column.version.as_str())).collect();
        let text = describe(&OperatorVersion::new("ai.onnx", "Softmax", 13), &newest).unwrap();
        assert!(text.contains("\u{1b}["), "no colours in\n{text}");
        let text = anstream::adapter::strip_str(&text).to_string();
        for part in [
            "ai.onnx/Softmax-13: opsets 13 to ",
            "\n  output = Softmax <axis> (input)\n",
            "\nattributes\n  axis  int  default -1\n",
            "onnxruntime 1.32.0  ",
            "\nchanges since Softmax-11\n",
            "\n  T bfloat16  ",
            "  Softmax-13: Works along `axis` alone, the last axis by default. Before, all axes ",
            "last_axis_by_default",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }
}
